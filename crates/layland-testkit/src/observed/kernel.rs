//! A kernel that schedules threads of SCHED_FIFO, SCHED_DEADLINE and the ordinary class, and writes
//! its actions as a trace.
//!
//! It shares no code with the readers of traces or the analyses, so the response times that it
//! reports are the truth with which they are compared. At each instant the most important ready
//! threads get the CPUs that they may use.

use std::fmt::Write;

/// An action of a thread after a wake-up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// The thread needs a CPU for this time.
    Run(i64),
    /// The thread sleeps for this time, as it does at the end of its jobs.
    Sleep(i64),
    /// The thread waits for this time in a state that cannot be interrupted.
    Block(i64),
}

/// A job: a wake-up, and the actions after it.
#[derive(Clone, Debug)]
pub(super) struct Activation {
    pub(super) at: i64,
    pub(super) acts: Vec<Act>,
}

/// An interval in which a thread has another priority, and may show yet another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lent {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) priority: i32,
    pub(super) shown: i32,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservedThread {
    pub(super) name: String,
    pub(super) pid: u32,
    /// The priority in the kernel's numbering.
    pub(super) priority: i32,
    pub(super) cpus: Vec<usize>,
    pub(super) activations: Vec<Activation>,
    /// Runtime, deadline and period under SCHED_DEADLINE.
    pub(super) server: Option<[i64; 3]>,
    pub(super) lent: Vec<Lent>,
    pub(super) is_born: bool,
    pub(super) dies: bool,
}

/// The visible activity of a thread between a wake-up and its next sleep.
#[derive(Clone, Copy, Debug)]
pub(super) struct AwakePeriod {
    pub(super) thread: usize,
    pub(super) from: i64,
    pub(super) end: Option<i64>,
    /// True if the thread is born or dies in it.
    pub(super) is_life_event: bool,
}

/// A run: its trace, and its actual events.
pub(super) struct KernelRun {
    pub(super) text: String,
    pub(super) seen: Vec<AwakePeriod>,
}

/// The value of the clock at time 0.
const CLOCK: i64 = 100_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Asleep,
    Pausing { until: i64 },
    Ready,
}

struct ThreadState {
    status: Status,
    next: usize,
    backlog: Vec<usize>,
    acts: Vec<Act>,
    left: i64,
    since: i64,
    eligible: i64,
    turn: u64,
    on: Option<usize>,
    last: usize,
    state: &'static str,
    deadline: i64,
    budget: i64,
    throttled: Option<i64>,
    is_newborn: bool,
    is_dead: bool,
}

impl ThreadState {
    fn asleep(thread: &ObservedThread) -> ThreadState {
        ThreadState {
            status: Status::Asleep,
            next: 0,
            backlog: Vec::new(),
            acts: Vec::new(),
            left: 0,
            since: 0,
            eligible: 0,
            turn: 0,
            on: None,
            last: thread.cpus[0],
            state: "S",
            deadline: i64::MIN,
            budget: 0,
            throttled: None,
            is_newborn: false,
            is_dead: false,
        }
    }

    /// Takes the activations that are due, and ends a throttling that is over.
    fn arrive(&mut self, thread: &ObservedThread, now: i64) {
        while self.next < thread.activations.len() && thread.activations[self.next].at <= now {
            self.backlog.push(self.next);
            self.next += 1;
        }
        if self.throttled.is_some_and(|at| at <= now)
            && let Some([runtime, _, period]) = thread.server
        {
            self.throttled = None;
            self.deadline += period;
            self.budget = runtime;
        }
    }

    /// Goes on with the acts of a running thread, up to the first one that takes time. Returns true
    /// if a job ends, for an observer.
    fn go_on(&mut self, thread: &ObservedThread, now: i64) -> bool {
        let mut has_ended = false;
        while self.left == 0 {
            match self.acts.first().copied() {
                Some(Act::Run(length)) => self.left = length,
                Some(Act::Sleep(length)) => {
                    has_ended = true;
                    (self.status, self.state) = (Status::Pausing { until: now + length }, "S");
                }
                Some(Act::Block(length)) => {
                    (self.status, self.state) = (Status::Pausing { until: now + length }, "D");
                }
                None if !self.backlog.is_empty() => {
                    self.acts = thread.activations[self.backlog.remove(0)].acts.clone();
                    continue;
                }
                None => {
                    has_ended = true;
                    let is_last = self.next >= thread.activations.len();
                    self.is_dead = thread.dies && is_last;
                    (self.status, self.state) =
                        (Status::Asleep, if self.is_dead { "X" } else { "S" });
                }
            }
            if !self.acts.is_empty() {
                self.acts.remove(0);
            }
            if self.status != Status::Ready {
                break;
            }
        }
        if self.status == Status::Ready
            && self.budget == 0
            && let Some([_, deadline, period]) = thread.server
        {
            self.throttled = Some(self.deadline - deadline + period);
            self.state = "R";
        }
        has_ended
    }

    fn awake_period(&self, thread: usize, end: Option<i64>) -> AwakePeriod {
        let is_life_event = self.is_newborn || self.is_dead;
        AwakePeriod { thread, from: self.since, end, is_life_event }
    }

    /// Returns true if the thread wakes up.
    fn wakes(&mut self, thread: &ObservedThread, now: i64) -> bool {
        match self.status {
            Status::Asleep if !self.is_dead && !self.backlog.is_empty() => {
                self.acts = thread.activations[self.backlog.remove(0)].acts.clone();
                self.since = now;
                true
            }
            // To an observer, a sleep ends a job, but a wait for a disk does not.
            Status::Pausing { until } if until <= now => {
                self.since = if self.state == "S" { now } else { self.since };
                true
            }
            Status::Asleep | Status::Pausing { .. } | Status::Ready => false,
        }
    }

    /// Makes a thread ready: under SCHED_DEADLINE by the rule for servers that wake up.
    fn wake(&mut self, thread: &ObservedThread, now: i64) {
        self.status = Status::Ready;
        if let Some([runtime, deadline, period]) = thread.server
            && self.throttled.is_none()
            && (self.deadline <= now
                || i128::from(self.budget) * i128::from(period)
                    > i128::from(self.deadline - now) * i128::from(runtime))
        {
            (self.deadline, self.budget) = (now + deadline, runtime);
        }
        if let Some([_, deadline, period]) = thread.server
            && self.throttled.is_none()
            && self.budget == 0
        {
            self.throttled = Some(self.deadline - deadline + period);
        }
        if let Some(Act::Run(length)) = self.acts.first().copied() {
            self.left = length;
            self.acts.remove(0);
        }
    }
}

/// Runs the threads up to a time. `latency` returns the time from a wake-up until the thread is ready.
pub(super) fn run(
    cpus: usize,
    threads: &[ObservedThread],
    until: i64,
    latency: &mut dyn FnMut() -> i64,
) -> KernelRun {
    let mut states: Vec<ThreadState> = threads.iter().map(ThreadState::asleep).collect();
    let mut running: Vec<Option<usize>> = vec![None; cpus];
    let (mut text, mut seen, mut turn, mut now) =
        (String::from("# tracer: nop\n"), Vec::new(), 0, 0);
    loop {
        // Ends come before starts: a thread whose job ends when its next job arrives does not sleep.
        for (number, (thread, own)) in threads.iter().zip(&mut states).enumerate() {
            own.arrive(thread, now);
            if own.status == Status::Ready && own.on.is_some() && own.go_on(thread, now) {
                seen.push(own.awake_period(number, Some(now)));
                own.is_newborn = false;
            }
            let is_new = thread.is_born && own.turn == 0;
            if own.wakes(thread, now) {
                own.wake(thread, now);
                own.is_newborn |= is_new;
                own.eligible = now + latency();
                turn += 1;
                own.turn = turn;
                let event = if is_new { "sched_wakeup_new" } else { "sched_waking" };
                // The interrupt is attributed to the thread that has the CPU.
                let has_it = running[own.last].map(|at| &threads[at]);
                wake_up(&mut text, now, event, (thread, own.last), has_it);
            }
        }
        let before = running.clone();
        assign(threads, &mut states, &mut running, now);
        switches(threads, &states, (&before, &running), now, &mut text);
        let next = next_event(threads, &states, now);
        let Some(next) = next.filter(|&next| next < until) else { break };
        for own in states.iter_mut().filter(|own| own.on.is_some()) {
            own.left -= next - now;
            own.budget = (own.budget - (next - now)).max(0);
        }
        now = next;
    }
    let awake = states.iter().enumerate().filter(|(_, own)| match own.status {
        Status::Ready => true,
        Status::Pausing { .. } => own.state == "D",
        Status::Asleep => false,
    });
    seen.extend(awake.map(|(thread, own)| own.awake_period(thread, None)));
    KernelRun { text, seen }
}

/// Writes that a thread wakes up.
fn wake_up(
    text: &mut String,
    now: i64,
    event: &str,
    (thread, cpu): (&ObservedThread, usize),
    has_it: Option<&ObservedThread>,
) {
    let who = has_it
        .map_or_else(|| "<idle>-0".to_owned(), |thread| format!("{}-{}", thread.name, thread.pid));
    let shown = priority(thread, now).1;
    let (name, pid) = (&thread.name, thread.pid);
    let what = format!("{event}: comm={name} pid={pid} prio={shown} target_cpu={cpu:03}");
    line(text, now, &who, cpu, "d.h4.", &what);
}

/// Returns the thread's actual priority, and the priority that it shows.
fn priority(thread: &ObservedThread, now: i64) -> (i32, i32) {
    let lent = thread.lent.iter().find(|lent| lent.from <= now && now < lent.to);
    lent.map_or((thread.priority, thread.priority), |lent| (lent.priority, lent.shown))
}

fn assign(
    threads: &[ObservedThread],
    states: &mut [ThreadState],
    running: &mut [Option<usize>],
    now: i64,
) {
    let is_ready = |own: &ThreadState| {
        own.status == Status::Ready && own.eligible <= now && own.throttled.is_none()
    };
    let mut ready: Vec<usize> = (0..threads.len()).filter(|&at| is_ready(&states[at])).collect();
    ready.sort_by_key(|&at| {
        let (own, level) = (&states[at], priority(&threads[at], now).0);
        (level, if level == -1 { own.deadline } else { 0 }, own.turn)
    });
    running.fill(None);
    let mut placed = vec![None; threads.len()];
    for at in ready {
        let own = &states[at];
        let first = own.on.unwrap_or(own.last);
        let wanted = std::iter::once(first).chain(threads[at].cpus.iter().copied());
        if let Some(cpu) = wanted.into_iter().find(|&cpu| running[cpu].is_none()) {
            running[cpu] = Some(at);
            placed[at] = Some(cpu);
        }
    }
    for (own, on) in states.iter_mut().zip(placed) {
        own.on = on;
        own.last = on.unwrap_or(own.last);
    }
}

fn switches(
    threads: &[ObservedThread],
    states: &[ThreadState],
    (before, after): (&[Option<usize>], &[Option<usize>]),
    now: i64,
    text: &mut String,
) {
    let mut left: Vec<usize> = (0..before.len()).filter(|&cpu| before[cpu] != after[cpu]).collect();
    let mut is_gone = vec![false; threads.len()];
    while !left.is_empty() {
        // A thread leaves its CPU before it appears on another one.
        let is_free = |&cpu: &usize| {
            after[cpu].is_none_or(|next| !before.contains(&Some(next)) || is_gone[next])
        };
        let at = left.iter().position(is_free).unwrap_or(0);
        let cpu = left.remove(at);
        let side = |thread: Option<usize>| match thread {
            Some(at) => {
                let thread = &threads[at];
                (thread.name.clone(), thread.pid, priority(thread, now).1)
            }
            None => (format!("swapper/{cpu}"), 0, 120),
        };
        let (prev, next) = (side(before[cpu]), side(after[cpu]));
        let state = match before[cpu] {
            None => "R",
            Some(at) if states[at].status == Status::Ready => "R+",
            Some(at) => states[at].state,
        };
        if let Some(at) = before[cpu] {
            is_gone[at] = true;
        }
        let who =
            if prev.1 == 0 { "<idle>-0".to_owned() } else { format!("{}-{}", prev.0, prev.1) };
        line(
            text,
            now,
            &who,
            cpu,
            "d..2.",
            &format!(
                "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={state} ==> next_comm={} \
             next_pid={} next_prio={}",
                prev.0, prev.1, prev.2, next.0, next.1, next.2
            ),
        );
    }
}

fn line(text: &mut String, now: i64, who: &str, cpu: usize, flags: &str, event: &str) {
    let at = CLOCK + now;
    let (seconds, rest) = (at / 1_000_000_000, at % 1_000_000_000);
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{who:>16} [{cpu:03}] {flags} {seconds}.{rest:09}: {event}");
}

fn next_event(threads: &[ObservedThread], states: &[ThreadState], now: i64) -> Option<i64> {
    let of = |(thread, own): (&ObservedThread, &ThreadState)| {
        let lent = thread.lent.iter().flat_map(|lent| [lent.from, lent.to]);
        let ends = own.on.map(|_| now + own.left);
        let used = own.on.filter(|_| thread.server.is_some()).map(|_| now + own.budget);
        let pause = match own.status {
            Status::Pausing { until } => Some(until),
            Status::Ready => Some(own.eligible),
            Status::Asleep => None,
        };
        let comes = thread.activations.get(own.next).map(|activation| activation.at);
        let all = [ends, used, pause, comes, own.throttled].into_iter().flatten().chain(lent);
        all.filter(|&at| at > now).min()
    };
    threads.iter().zip(states).filter_map(of).min()
}

/// Returns the lines from a time on.
pub(super) fn cut(text: &str, from: i64) -> String {
    let is_in = |line: &&str| {
        let time = line.split_whitespace().find_map(|word| word.strip_suffix(':')?.split_once('.'));
        let at = time.and_then(|(seconds, rest)| {
            Some(seconds.parse::<i64>().ok()? * 1_000_000_000 + rest.parse::<i64>().ok()?)
        });
        at.is_none_or(|at| at >= CLOCK + from)
    };
    text.lines().filter(is_in).map(|line| format!("{line}\n")).collect()
}
