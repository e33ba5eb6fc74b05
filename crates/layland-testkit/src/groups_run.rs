//! The slow twin of [`layland_policy::task_groups`]: groups with budgets and linked servers, in unit
//! steps. It looks at every nanosecond, keeps lists, and sorts them whenever it needs an order.

use layland_model::{
    CpuId, CpuSet, Index, InnerPolicy, Order, Rate, ScheduleRule, System, Task, TaskId, Time,
};
use layland_policy::task_groups::{ServerEvent, TaskGroups};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use layland_sim::{SimOptions, simulate};
use layland_trace::{JobEnd, Segment, Trace};
use std::sync::{Arc, Mutex};

/// The policy, whose changes of servers are recorded.
#[derive(Clone)]
struct RecordedGroups {
    policy: TaskGroups,
    events: Arc<Mutex<Vec<ServerEvent>>>,
}

impl Policy for RecordedGroups {
    fn on_event(&mut self, now: Time, event: Event) {
        self.policy.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.policy.decide(now, actions);
        let mut events = self.events.lock().expect("no call has panicked");
        events.extend_from_slice(self.policy.events());
    }
    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.policy.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.policy.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
}

/// Simulates the policy until the horizon: the trace, and each change of a server.
///
/// # Errors
/// Returns the error of the simulator.
pub fn recorded(
    system: &System,
    policy: TaskGroups,
    horizon: i64,
) -> Result<(Trace, Vec<ServerEvent>), String> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let policy = RecordedGroups { policy, events: Arc::clone(&events) };
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ns(horizon)))
        .map_err(|error| format!("the simulator fails: {error}"))?;
    let events = std::mem::take(&mut *events.lock().expect("no call has panicked"));
    Ok((trace, events))
}

/// The schedule as `[task, job, cpu, start, end]`, by start and CPU.
pub fn segments(trace: &Trace) -> Vec<[i64; 5]> {
    let mut segments: Vec<&Segment> = trace.segments.iter().collect();
    segments.sort_by_key(|segment| (segment.start, segment.cpu));
    let of = |segment: &&Segment| {
        let (task, cpu) = (segment.job.task.index() as i64, segment.cpu.index() as i64);
        [task, segment.job.seq as i64, cpu, segment.start.ns(), segment.end.ns()]
    };
    segments.iter().map(of).collect()
}

/// The jobs that completed as `[task, job, release, finish]`, in the order in which they did.
pub fn completed(trace: &Trace) -> Vec<[i64; 4]> {
    let ended = trace.jobs.iter().filter_map(|record| match record.end {
        Some((at, JobEnd::Completed)) => Some((at, record.job)),
        Some(_) | None => None,
    });
    let mut completed: Vec<(Time, layland_trace::Job)> = ended.collect();
    let ran_on = |job: &layland_trace::Job| {
        let last = trace.segments.iter().rfind(|segment| segment.job == job.id);
        last.map(|segment| segment.cpu)
    };
    completed.sort_by_key(|(at, job)| (*at, ran_on(job)));
    let of = |(at, job): &(Time, layland_trace::Job)| {
        [job.id.task.index() as i64, job.id.seq as i64, job.arrival.ns(), at.ns()]
    };
    completed.iter().map(of).collect()
}

/// The run of the policy in the form of its twin.
///
/// # Errors
/// Returns the error of the simulator.
pub fn fast(system: &System, horizon: i64) -> Result<SlowRun, String> {
    let policy = TaskGroups::new(system, Order::Deadline);
    let (trace, events) = recorded(system, policy, horizon)?;
    let of = |event: &ServerEvent| {
        let deadline = system.groups[event.group.index()].deadline;
        let left = &event.left * &Rate::whole(deadline.ns());
        let (group, cpu) = (event.group.index(), event.cpu.index());
        let left = left.floor().unwrap_or(i64::MAX);
        (event.at.ns(), group, cpu, event.change.name(), left, event.deadline.ns())
    };
    let mut events: Vec<_> = events.iter().map(of).collect();
    events.retain(|&(at, ..)| at < horizon);
    Ok(SlowRun { segments: segments(&trace), events, jobs: completed(&trace) })
}

/// A run of the twin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowRun {
    /// The schedule as `[task, job, cpu, start, end]`, by start and CPU.
    pub segments: Vec<[i64; 5]>,
    /// The changes of servers: time, group, CPU, the change, the budget in parts of the deadline, and
    /// the deadline.
    pub events: Vec<(i64, usize, usize, &'static str, i64, i64)>,
    /// The jobs that completed as `[task, job, release, finish]`, in the order of completion.
    pub jobs: Vec<[i64; 4]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Idle,
    Ready,
    Throttled,
}

struct UnitServer {
    group: usize,
    cpu: usize,
    budget: i64,
    period: i64,
    deadline: i64,
    /// The budget that is left, in parts of `1 / deadline`.
    left: i64,
    due: Option<i64>,
    is: Is,
    pays: bool,
}

struct UnitJob {
    task: usize,
    number: i64,
    release: i64,
    due: i64,
    left: i64,
    place: i64,
    slice: i64,
    has_run: bool,
    last: Option<usize>,
}

struct Slow<'a> {
    system: &'a System,
    cpus: usize,
    servers: Vec<UnitServer>,
    ready: Vec<UnitJob>,
    /// Arrivals that are to come or wait for the job before: task, number, release, work.
    later: Vec<(usize, i64, i64, i64)>,
    running: Vec<Option<usize>>,
    places: i64,
    run: SlowRun,
}

/// Runs explicit releases `(time, work)` for each task under EDF between servers and plain tasks, until
/// the horizon. Every task of a group may use all of its CPUs.
pub fn run(system: &System, releases: &[Vec<(i64, i64)>], horizon: i64) -> SlowRun {
    let cpus = system.platform.cpu_count();
    let mut servers = Vec::new();
    for (group, of) in system.groups.iter().enumerate() {
        for cpu in of.cpus.iter() {
            servers.push(UnitServer {
                group,
                cpu: cpu.index(),
                budget: of.budget.map_or(0, |budget| budget.ns()),
                period: of.period.ns(),
                deadline: of.deadline.ns(),
                left: 0,
                due: None,
                is: Is::Idle,
                pays: false,
            });
        }
    }
    let mut later = Vec::new();
    for (task, of) in releases.iter().enumerate() {
        for (number, &(release, work)) in of.iter().enumerate() {
            later.push((task, number as i64, release, work));
        }
    }
    let running = vec![None; cpus];
    let (ready, run) = (Vec::new(), SlowRun::default());
    let mut slow = Slow { system, cpus, servers, ready, later, running, places: 0, run };
    for now in 0..horizon {
        slow.charge(now);
        slow.ends(now);
        slow.budgets(now);
        slow.arrivals(now);
        slow.activity(now);
        slow.choose(now);
    }
    slow.charge(horizon);
    slow.ends(horizon);
    let mut events = std::mem::take(&mut slow.run.events);
    events.retain(|&(at, ..)| at < horizon);
    slow.run.events = events;
    slow.run.segments.sort_by_key(|&[_, _, cpu, start, _]| (start, cpu));
    slow.run
}

impl Slow<'_> {
    fn task(&self, task: usize) -> &Task {
        &self.system.tasks[TaskId::from_index(task)]
    }

    fn group_of(&self, task: usize) -> Option<usize> {
        self.task(task).group.map(Index::index)
    }

    fn quantum(&self, task: usize) -> i64 {
        match self.group_of(task).map(|group| self.system.groups[group].inner) {
            Some(InnerPolicy::RoundRobin(quantum)) => quantum.ns(),
            Some(_) | None => i64::MAX,
        }
    }

    fn log(&mut self, now: i64, server: usize, change: &'static str) {
        let UnitServer { group, cpu, left, due, .. } = self.servers[server];
        self.run.events.push((now, group, cpu, change, left, due.unwrap_or(-1)));
    }

    /// The unit before now is over.
    fn charge(&mut self, now: i64) {
        for server in self.servers.iter_mut().filter(|server| server.pays) {
            server.left -= server.deadline;
        }
        for cpu in 0..self.cpus {
            let Some(task) = self.running[cpu] else { continue };
            let Some(job) = self.ready.iter_mut().find(|job| job.task == task) else { continue };
            job.left -= 1;
            job.slice = job.slice.saturating_sub(i64::from(job.slice < i64::MAX));
            job.has_run = true;
            job.last = Some(cpu);
            let key = [job.task as i64, job.number, cpu as i64];
            let goes_on = self
                .run
                .segments
                .iter_mut()
                .find(|segment| segment[..3] == key && segment[4] == now - 1);
            match goes_on {
                Some(segment) => segment[4] = now,
                None => self.run.segments.push([key[0], key[1], key[2], now - 1, now]),
            }
        }
    }

    fn admit(&mut self, at: usize) {
        let (task, number, release, work) = self.later.remove(at);
        let due = release + self.task(task).deadline.ns();
        let slice = self.quantum(task);
        self.places += 1;
        let (place, left) = (self.places, work);
        let job =
            UnitJob { task, number, release, due, left, place, slice, has_run: false, last: None };
        self.ready.push(job);
    }

    /// The first arrival of a task that is still to come.
    fn next_of(&self, task: usize) -> Option<usize> {
        let of = |at: &usize| self.later[*at].0 == task;
        (0..self.later.len()).filter(of).min_by_key(|&at| self.later[at].1)
    }

    fn ends(&mut self, now: i64) {
        for cpu in 0..self.cpus {
            let Some(task) = self.running[cpu] else { continue };
            let Some(at) = self.ready.iter().position(|job| job.task == task) else { continue };
            if self.ready[at].left == 0 {
                let job = self.ready.remove(at);
                self.running[cpu] = None;
                self.run.jobs.push([task as i64, job.number, job.release, now]);
                if let Some(next) = self.next_of(task).filter(|&next| self.later[next].2 < now) {
                    self.admit(next);
                }
            }
        }
        for cpu in 0..self.cpus {
            let Some(task) = self.running[cpu] else { continue };
            let is_over = |job: &UnitJob| job.task == task && job.slice == 0;
            if let Some(at) = self.ready.iter().position(is_over) {
                self.places += 1;
                self.ready[at].place = self.places;
                self.ready[at].slice = self.quantum(task);
            }
        }
    }

    fn budgets(&mut self, now: i64) {
        let mut by_cpu: Vec<usize> = (0..self.servers.len()).collect();
        by_cpu.sort_by_key(|&at| (self.servers[at].cpu, at));
        for at in by_cpu {
            let server = &mut self.servers[at];
            if !server.pays || server.left >= server.deadline {
                continue;
            }
            let next = server.due.unwrap_or(0) - server.deadline + server.period;
            if now >= next {
                server.left += server.budget * server.deadline;
                server.due = Some(server.due.unwrap_or(0) + server.period);
                self.log(now, at, "postpone");
            } else {
                server.is = Is::Throttled;
                server.pays = false;
                self.log(now, at, "throttle");
            }
        }
        for at in 0..self.servers.len() {
            let server = &mut self.servers[at];
            let next = server.due.unwrap_or(0) - server.deadline + server.period;
            if server.is == Is::Throttled && now >= next {
                server.left += server.budget * server.deadline;
                server.due = Some(server.due.unwrap_or(0) + server.period);
                server.is = Is::Ready;
                self.log(now, at, "replenish");
            }
        }
    }

    fn arrivals(&mut self, now: i64) {
        for task in 0..self.system.tasks.len() {
            if self.ready.iter().any(|job| job.task == task) {
                continue;
            }
            if let Some(next) = self.next_of(task).filter(|&next| self.later[next].2 <= now) {
                self.admit(next);
            }
        }
    }

    fn activity(&mut self, now: i64) {
        for at in 0..self.servers.len() {
            let group = self.servers[at].group;
            let has_work = self.ready.iter().any(|job| self.group_of(job.task) == Some(group));
            match (has_work, self.servers[at].is) {
                (false, Is::Idle) | (true, Is::Ready | Is::Throttled) => {}
                (false, Is::Ready | Is::Throttled) => {
                    self.servers[at].is = Is::Idle;
                    self.servers[at].pays = false;
                    self.log(now, at, "idle");
                }
                (true, Is::Idle) => {
                    let change = self.servers[at].wake(now);
                    self.log(now, at, change);
                }
            }
        }
    }

    fn choose(&mut self, _now: i64) {
        let mut gives_way = vec![false; self.servers.len()];
        loop {
            // On each CPU: the deadline, servers before tasks, the rank; and the server or the task.
            let mut first: Vec<Option<(i64, bool, usize)>> = vec![None; self.cpus];
            for (cpu, first) in first.iter_mut().enumerate() {
                let mut all = Vec::new();
                for (at, server) in self.servers.iter().enumerate() {
                    if server.cpu == cpu && server.is == Is::Ready && !gives_way[at] {
                        all.push((server.due.unwrap_or(0), false, at));
                    }
                }
                for job in &self.ready {
                    let own = self.task(job.task).affinity.as_ref().and_then(CpuSet::lowest);
                    if self.group_of(job.task).is_none() && own == Some(CpuId::from_index(cpu)) {
                        all.push((job.due, true, job.task));
                    }
                }
                *first = all.into_iter().min();
            }
            let mut next: Vec<Option<usize>> = vec![None; self.cpus];
            for (cpu, first) in first.iter().enumerate() {
                if let Some((_, true, task)) = first {
                    next[cpu] = Some(*task);
                }
            }
            for group in 0..self.system.groups.len() {
                let is_served = |cpu: &usize| {
                    first[*cpu]
                        .is_some_and(|(_, is_task, at)| !is_task && self.servers[at].group == group)
                };
                let served: Vec<usize> = (0..self.cpus).filter(is_served).collect();
                let mut best: Vec<&UnitJob> = self
                    .ready
                    .iter()
                    .filter(|job| self.group_of(job.task) == Some(group))
                    .collect();
                best.sort_by_key(|job| self.order(group, job));
                best.truncate(served.len());
                let mut rest = Vec::new();
                for job in best {
                    match served.iter().find(|&&cpu| self.running[cpu] == Some(job.task)) {
                        Some(&cpu) => next[cpu] = Some(job.task),
                        None => rest.push(job),
                    }
                }
                let mut others = Vec::new();
                for job in rest {
                    match job.last.filter(|cpu| served.contains(cpu) && next[*cpu].is_none()) {
                        Some(cpu) => next[cpu] = Some(job.task),
                        None => others.push(job),
                    }
                }
                for job in others {
                    if let Some(&cpu) = served.iter().find(|&&cpu| next[cpu].is_none()) {
                        next[cpu] = Some(job.task);
                    }
                }
            }
            let mut is_settled = true;
            for cpu in 0..self.cpus {
                if let (Some((_, false, at)), None) = (first[cpu], next[cpu]) {
                    gives_way[at] = true;
                    is_settled = false;
                }
            }
            if !is_settled {
                continue;
            }
            for (at, server) in self.servers.iter_mut().enumerate() {
                let is_first =
                    first[server.cpu].is_some_and(|(_, is_task, of)| !is_task && of == at);
                server.pays = gives_way[at] || is_first;
            }
            self.running = next;
            return;
        }
    }

    /// The order of jobs within a group: the smaller one comes first.
    fn order(&self, group: usize, job: &UnitJob) -> (bool, i64, i64) {
        let inner = self.system.groups[group].inner;
        let priority = self.task(job.task).priority.unwrap_or(0);
        let (urgency, place) = match inner {
            InnerPolicy::Fp | InnerPolicy::RoundRobin(_) | InnerPolicy::NonpreemptiveFp => {
                (priority, job.place)
            }
            InnerPolicy::Edf | InnerPolicy::NonpreemptiveEdf => (job.due, job.task as i64),
            InnerPolicy::Fifo => (0, job.place),
        };
        (inner.is_preemptive() || !job.has_run, urgency, place)
    }
}

impl UnitServer {
    /// The wake-up rule.
    fn wake(&mut self, now: i64) -> &'static str {
        let UnitServer { budget, period, deadline, left, .. } = *self;
        self.is = Is::Ready;
        let is_over =
            |due: i64| now >= due - deadline + period || (deadline == period && now >= due);
        let Some(due) = self.due.filter(|&due| !is_over(due)) else {
            (self.left, self.due) = (budget * deadline, Some(now + deadline));
            return "new";
        };
        if now >= due {
            self.left = 0;
        }
        if self.left < deadline {
            self.is = Is::Throttled;
            return "wait";
        }
        // `left / deadline` of budget in `due - now`, against `budget` in `deadline`.
        if left <= (due - now) * budget {
            return "keep";
        }
        if deadline == period {
            (self.left, self.due) = (budget * deadline, Some(now + deadline));
            return "new";
        }
        self.left = budget * (due - now);
        if self.left < deadline {
            self.is = Is::Throttled;
        }
        "revised"
    }
}
