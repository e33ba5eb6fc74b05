//! Adaptively partitioned EDF with all of its rules of placement, beside a slow twin: a program that goes through
//! every nanosecond and keeps lists, written from the tables in `layland-policy/src/adaptive.rs`.

use layland_model::{Duration, Rate, Service, System, Task, TaskId, Time};
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::registry;
use layland_trace::Trace;
use proptest::prelude::*;
use std::cell::Cell;

/// The options of a policy, as the twin reads them.
#[derive(Clone, Copy, Debug)]
struct Rules {
    pulls: bool,
    fallback: bool,
    place: &'static str,
    worst: bool,
    limit: (i64, i64),
}

impl Rules {
    /// True if threads are pushed and pulled as in the kernel of the authors.
    fn kernel(self) -> bool {
        ["kernel", "pulling"].contains(&self.place)
    }

    fn spec(self) -> String {
        let name = if self.pulls { "a2pedf" } else { "apedf" };
        let fallback = if self.fallback { "on" } else { "off" };
        let fit = if self.worst { "worst" } else { "first" };
        let (of, whole) = self.limit;
        let place = self.place;
        format!("{name}:fallback={fallback}:place={place}:fit={fit}:limit={of}/{whole}")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    Asleep,
    Queued,
    Throttled,
}

struct Thread {
    budget: i64,
    period: i64,
    execution: i64,
    offset: i64,
    rank: i64,
    cpu: usize,
    state: State,
    left: i64,
    due: i64,
    /// The rest of the ready job; none if there is no job.
    job: Option<i64>,
    started_jobs: i64,
    placed: bool,
    started: bool,
}

struct Twin {
    rules: Rules,
    now: i64,
    threads: Vec<Thread>,
    runs: Vec<Option<usize>>,
    need: Vec<bool>,
}

impl Twin {
    fn new(system: &System, rules: Rules) -> Twin {
        let thread = |(_, task): (TaskId, &Task)| Thread {
            budget: task.reservation().ns(),
            period: task.period.ns(),
            execution: task.own_wcet().ns(),
            offset: task.offset.ns(),
            rank: task.rank,
            cpu: 0,
            state: State::Out,
            left: 0,
            due: 0,
            job: None,
            started_jobs: 0,
            placed: false,
            started: false,
        };
        let cpus = system.platform.cpu_count();
        let threads = system.tasks.iter().map(thread).collect();
        Twin { rules, now: 0, threads, runs: vec![None; cpus], need: vec![false; cpus] }
    }

    fn queue(&self, c: usize) -> Vec<usize> {
        let here = |&p: &usize| self.threads[p].state == State::Queued && self.threads[p].cpu == c;
        let mut queue: Vec<usize> = (0..self.threads.len()).filter(here).collect();
        queue
            .sort_by_key(|&p| (self.threads[p].due, self.runs[c] != Some(p), self.threads[p].rank));
        queue
    }

    fn running(&self, c: usize) -> Option<usize> {
        self.runs[c].filter(|p| self.queue(c).contains(p))
    }

    fn earliest(&self, c: usize) -> Option<i64> {
        self.queue(c).first().map(|&p| self.threads[p].due)
    }

    /// The bandwidth of the threads of a CPU, apart from one.
    fn load(&self, c: usize, without: Option<usize>) -> Rate {
        let here =
            (0..self.threads.len()).filter(|&p| self.threads[p].cpu == c && without != Some(p));
        here.map(|p| self.share(p)).sum()
    }

    fn share(&self, p: usize) -> Rate {
        Rate::new(self.threads[p].budget, self.threads[p].period)
    }

    fn limit(&self) -> Rate {
        Rate::new(self.rules.limit.0, self.rules.limit.1)
    }

    fn is_overloaded(&self, c: usize) -> bool {
        self.load(c, None) > self.limit()
    }

    /// The CPU that takes a thread without being overloaded.
    fn fitting(&self, p: usize) -> Option<usize> {
        let all = 0..self.runs.len();
        let fits = |&c: &usize| &self.load(c, Some(p)) + &self.share(p) <= self.limit();
        if self.rules.worst {
            all.filter(fits).min_by_key(|&c| (self.load(c, Some(p)), c))
        } else {
            all.into_iter().find(fits)
        }
    }

    fn waits(&self, p: usize) -> bool {
        let thread = &self.threads[p];
        self.runs[thread.cpu].is_some_and(|running| thread.due >= self.threads[running].due)
    }

    /// Global EDF: a CPU without threads, its own before others, or else the latest one.
    fn later(&self, p: usize) -> Option<usize> {
        if !self.rules.fallback {
            return None;
        }
        let (own, due) = (self.threads[p].cpu, self.threads[p].due);
        let order = || std::iter::once(own).chain((0..self.runs.len()).filter(move |&c| c != own));
        if let Some(free) = order().find(|&c| self.queue(c).is_empty()) {
            return Some(free);
        }
        let latest = order().max_by_key(|&c| {
            let place = order().position(|other| other == c);
            (self.earliest(c), std::cmp::Reverse(place))
        })?;
        self.earliest(latest).filter(|&earliest| due < earliest).map(|_| latest)
    }

    fn algorithm_1(&self, p: usize) -> usize {
        let thread = &self.threads[p];
        if thread.placed && !self.is_overloaded(thread.cpu) {
            return thread.cpu;
        }
        if let Some(c) = self.fitting(p) {
            return c;
        }
        let runs_until = |c: usize| {
            let first = self.running(c).map(|p| self.threads[p].due);
            first.or(self.earliest(c)).unwrap_or(i64::MAX)
        };
        let mut h = 0;
        for j in 1..self.runs.len() {
            if runs_until(j) > runs_until(h) {
                h = j;
            }
        }
        if self.rules.fallback && runs_until(h) > thread.due { h } else { thread.cpu }
    }

    fn arrive(&mut self, p: usize, wakes: bool, is_late: bool) {
        let placed = std::mem::replace(&mut self.threads[p].placed, true);
        let own = self.threads[p].cpu;
        let kernel = self.rules.kernel();
        let to = if kernel {
            let moves = wakes && (!placed || self.is_overloaded(own) && self.waits(p));
            let place = || self.fitting(p).or_else(|| self.later(p));
            moves.then(place).flatten().unwrap_or(own)
        } else if self.rules.place == "waiting" && placed && !self.waits(p) {
            own
        } else {
            self.threads[p].placed = placed;
            let to = self.algorithm_1(p);
            self.threads[p].placed = true;
            to
        };
        self.enter(p, to);
        if kernel && !is_late {
            if !wakes {
                self.push(to);
            } else if !self.need[to] {
                while self.push(to) {}
            }
        }
    }

    fn enter(&mut self, p: usize, c: usize) {
        let started = self.runs[c] == Some(p);
        let thread = &mut self.threads[p];
        (thread.cpu, thread.state, thread.started) = (c, State::Queued, started);
        if self.running(c).is_none() || self.queue(c).first() != self.runs[c].as_ref() {
            self.need[c] = true;
        }
    }

    fn leave(&mut self, p: usize, state: State) {
        let c = self.threads[p].cpu;
        self.need[c] |= self.runs[c] == Some(p);
        self.threads[p].state = state;
    }

    /// The earliest thread that waits on a CPU; of those that were not preempted, if preempted ones stay.
    fn waiting(&self, c: usize, preempted_stay: bool) -> Option<usize> {
        let may_move =
            |&p: &usize| self.runs[c] != Some(p) && !(preempted_stay && self.threads[p].started);
        let mut queue: Vec<usize> = self.queue(c).into_iter().filter(may_move).collect();
        queue.sort_by_key(|&p| (self.threads[p].due, self.threads[p].rank));
        queue.first().copied()
    }

    fn push(&mut self, c: usize) -> bool {
        if !self.is_overloaded(c) {
            return false;
        }
        let Some(p) = self.waiting(c, true) else { return false };
        let runs = self.running(c).map(|running| self.threads[running].due);
        let to = match self.fitting(p) {
            Some(to) => Some(to),
            None if runs.is_some_and(|due| self.threads[p].due < due) => {
                self.need[c] = true;
                None
            }
            None => self.later(p),
        };
        let Some(to) = to.filter(|&to| to != c) else { return false };
        self.leave(p, State::Asleep);
        self.enter(p, to);
        true
    }

    fn pull(&mut self, c: usize) {
        if !self.rules.pulls || !self.queue(c).is_empty() {
            return;
        }
        let kernel = self.rules.kernel();
        let stays = self.rules.place == "kernel";
        let (mut bound, mut best) = (i64::MAX, None);
        for j in (0..self.runs.len()).filter(|&j| j != c) {
            let worst = kernel && self.rules.worst;
            let Some(p) = self.waiting(j, stays).filter(|_| worst || self.is_overloaded(j)) else {
                continue;
            };
            let due = self.threads[p].due;
            let soon = self.running(j).is_some_and(|running| due < self.threads[running].due);
            let fits = &self.load(c, Some(p)) + &self.share(p) <= self.limit();
            if due >= bound || kernel && soon || worst && !fits {
                continue;
            }
            bound = due;
            if kernel && !worst {
                self.leave(p, State::Asleep);
                self.enter(p, c);
            } else {
                best = Some(p);
            }
        }
        if let Some(p) = best {
            self.leave(p, State::Asleep);
            self.enter(p, c);
        }
    }

    fn reschedule(&mut self) {
        while let Some(c) = self.need.iter().position(|&need| need) {
            self.need[c] = false;
            if self.runs[c].is_some() && self.running(c).is_none() {
                self.runs[c] = None;
                self.pull(c);
            }
            self.runs[c] = self.queue(c).first().copied();
            if let Some(p) = self.runs[c] {
                self.threads[p].started = true;
                while self.rules.kernel() && self.push(c) {}
            }
        }
    }

    /// Takes the next job of a thread, if it has arrived.
    fn next_job(&mut self, p: usize) -> bool {
        let thread = &mut self.threads[p];
        let has_come = thread.offset + thread.started_jobs * thread.period <= self.now;
        if has_come {
            thread.started_jobs += 1;
            thread.job = Some(thread.execution);
        }
        has_come
    }

    fn replenish(&mut self, p: usize) {
        let thread = &mut self.threads[p];
        while thread.left <= 0 {
            thread.left += thread.budget;
            thread.due += thread.period;
        }
    }

    fn ends(&mut self, p: usize) {
        if self.threads[p].job == Some(0) {
            self.threads[p].job = None;
            if !self.next_job(p) {
                self.leave(p, State::Asleep);
                return;
            }
        }
        if self.threads[p].left > 0 {
            return;
        }
        let c = self.threads[p].cpu;
        if self.now < self.threads[p].due {
            self.leave(p, State::Throttled);
            return;
        }
        let needed = self.need[c];
        self.leave(p, State::Asleep);
        self.need[c] = needed;
        self.replenish(p);
        self.arrive(p, false, true);
        self.need[c] |= self.runs[c] == Some(p) && self.threads[p].cpu != c;
    }

    /// Goes through one nanosecond, and returns the thread that each CPU runs in it.
    fn step(&mut self) -> Vec<Option<usize>> {
        let ending: Vec<usize> = self.runs.iter().copied().flatten().collect();
        let ending = ending.into_iter().filter(|&p| {
            let thread = &self.threads[p];
            thread.state == State::Queued && (thread.job == Some(0) || thread.left <= 0)
        });
        for p in ending.collect::<Vec<usize>>() {
            self.ends(p);
            self.reschedule();
        }
        let mut order: Vec<usize> = (0..self.threads.len()).collect();
        order.sort_by_key(|&p| self.threads[p].rank);
        for &p in &order {
            if self.threads[p].state == State::Throttled && self.threads[p].due <= self.now {
                self.replenish(p);
                self.arrive(p, false, false);
                self.reschedule();
            }
        }
        for &p in &order {
            let thread = &self.threads[p];
            let asleep = matches!(thread.state, State::Out | State::Asleep);
            if !asleep || !self.next_job(p) {
                continue;
            }
            let (now, thread) = (self.now, &mut self.threads[p]);
            let too_much = thread.left * thread.period > (thread.due - now) * thread.budget;
            if thread.state == State::Out || now >= thread.due {
                (thread.left, thread.due) = (thread.budget, now + thread.period);
            } else if thread.left <= 0 {
                thread.state = State::Throttled;
                continue;
            } else if too_much {
                (thread.left, thread.due) = (thread.budget, now + thread.period);
            }
            self.arrive(p, true, false);
            self.reschedule();
        }
        for p in self.runs.iter().copied().flatten() {
            self.threads[p].left -= 1;
            self.threads[p].job = self.threads[p].job.map(|left| left - 1);
        }
        self.now += 1;
        self.runs.clone()
    }
}

/// Draws threads with budgets above their execution times, up to the capacity and a bit more.
fn systems() -> impl Strategy<Value = System> {
    let task = (2i64..16, 1i64..10, 0i64..3, 0i64..20);
    (2usize..5, prop::collection::vec(task, 3..12), any::<u64>()).prop_map(|(cpus, drawn, seed)| {
        let mut total = Rate::ZERO;
        let mut tasks = Vec::new();
        for (at, (period, budget, spare, offset)) in drawn.into_iter().enumerate() {
            let budget = budget.min(period);
            let more = &total + &Rate::new(budget, period);
            if more > Rate::whole(cpus as i64) {
                continue;
            }
            total = more;
            let execution = Service::from_ns((budget - spare).max(1));
            let mut task = Task::implicit(format!("t{at}"), execution, Duration::from_ns(period));
            task.budget = Some(Service::from_ns(budget));
            task.offset = Duration::from_ns(offset);
            tasks.push(task);
        }
        with_random_ranks(&System::new(cpus, tasks), seed)
    })
}

#[test]
fn every_placement_is_its_twin() {
    const HORIZON: i64 = 240;
    // Pushes are rare.
    const PLACES: [&str; 8] =
        ["printed", "waiting", "kernel", "kernel", "kernel", "pulling", "pulling", "pulling"];
    let rules = (any::<bool>(), any::<bool>(), 0usize..PLACES.len(), any::<bool>(), 0usize..3)
        .prop_map(|(pulls, fallback, place, worst, limit)| Rules {
            pulls,
            fallback,
            place: PLACES[place],
            worst,
            limit: [(1, 1), (19, 20), (3, 4)][limit],
        });
    // The placements under which a thread moved at an arrival, by a push and by a pull.
    let moved: [[Cell<u32>; 3]; 4] = Default::default();
    let cases = ProptestConfig::with_cases(1_200);
    proptest!(cases, |(system in systems(), rules in rules)| {
        let policy = registry().build(&rules.spec(), &system).expect("the options are known");
        let mut trace = Trace::default();
        let options = SimOptions::until(Time::from_ns(HORIZON));
        simulate(&system, policy, &mut trace, &options).expect("the horizon is in range");
        let cpus = system.platform.cpu_count();
        let mut seen = vec![vec![None; cpus]; HORIZON as usize];
        for piece in &trace.segments {
            for at in piece.start.ns()..piece.end.ns() {
                seen[at as usize][piece.cpu.0 as usize] = Some(piece.job.task.0 as usize);
            }
        }
        let mut twin = Twin::new(&system, rules);
        for (at, seen) in seen.iter().enumerate() {
            prop_assert_eq!(&twin.step(), seen, "at {} under {}", at, rules.spec());
        }
        let place = ["printed", "waiting", "kernel", "pulling"].iter().position(|name| *name == rules.place);
        for mark in &trace.marks {
            use layland_model::MoveReason::{Expelled, Placed, Pulled, Pushed};
            if let layland_trace::MarkKind::Note(layland_policy::Note::Moved { why, .. }) = mark.kind {
                let why = match why { Placed => 0, Pushed => 1, Pulled => 2, Expelled => continue };
                let count = &moved[place.unwrap()][why];
                count.set(count.get() + 1);
            }
        }
    });
    let moved = moved.map(|counts| counts.map(|count| count.get()));
    let least = moved.iter().flatten().filter(|&&count| count > 4).count();
    // Threads are pushed with the two rules of the kernel alone.
    assert_eq!((least, moved[0][1], moved[1][1]), (10, 0, 0), "{moved:?}");
}

/// A limit of 1 and the printed rules are the defaults.
#[test]
fn what_is_printed_is_the_default() {
    let tasks = [(4, 10), (4, 12), (6, 14), (9, 15)].into_iter().enumerate().map(|(at, (c, t))| {
        Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
    });
    let system = System::new(2, tasks.collect());
    let schedule = |spec: &str| {
        let policy = registry().build(spec, &system).expect("the options are known");
        let mut trace = Trace::default();
        simulate(&system, policy, &mut trace, &SimOptions::until(Time::from_ns(420))).unwrap();
        trace.segments
    };
    assert_eq!(schedule("apedf"), schedule("apedf:limit=1:place=printed:fit=first:fallback=on"));
    assert_ne!(schedule("apedf"), schedule("apedf:limit=3/4"));
    let refused = |spec: &str| registry().build(spec, &system).err().map(|error| error.to_string());
    assert!(refused("apedf:limit=1.05").is_some_and(|why| why.contains("at most 1")));
    assert_eq!(refused("a2pedf:place=kernel:fit=worst:limit=0.95"), None);
}
