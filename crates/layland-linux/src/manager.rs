//! The manager: it turns what happens into events, asks the policy, and has the decisions carried
//! out (see `enact.rs`). It mirrors the loop of the simulator; what differs is where things come
//! from:
//!
//! | event | comes from |
//! |---|---|
//! | release, timer, request | the monotonic clock: one absolute time-out for the earliest of all |
//! | completion | the report of a worker, which also wakes the manager |
//! | budget exhausted | the same time-out, then the clock of the thread |
//!
//! One *round* drains every report, then reads the clock once, tells the policy everything that has
//! happened up to then in the order of the contract of [`Policy`], and lets it decide. So the `now` of
//! a round is after all that it tells of. Rounds follow each other until nothing has happened.
//!
//! Deviations from the simulator, all of them because time goes on while the manager works:
//!
//! 1. An instant of the policy is one round; what becomes due within a round is told in the next.
//! 2. A job that ends while it is being preempted is still ready to the policy. Its end is told when
//!    the policy runs it again, at once and without giving it the CPU.
//! 3. A budget is measured by the clock of the thread, and may be reported late, never early. To a
//!    policy that schedules threads, and so accounts for budgets itself by what it was told, it is
//!    measured by the time since `Run`, as its contract says.
//!
//! Nothing here allocates once the run has begun, but for requests of the system that change
//! parameters. What the policy does is the policy's business.

mod decisions;
mod jobs;
mod requests;

use crate::log::{Entry, Log};
use crate::markers::Markers;
use crate::overheads::Measured;
use crate::sys::{self, Tid};
use crate::worker::{NO_JOB, Post, Shared};
use layland_engine::streams::{Arrival, Stream};
use layland_model::{
    Behaviour, CpuId, CpuMap, Duration, JobId, Service, System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{Action, Event, Policy, RefusalKind, RequestId, Schedules, TimerId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Records that are kept free to end the run in order.
const RESERVE: usize = 4096;
/// What may be left of a budget for it to count as used up: a clock is not read more precisely.
const BUDGET_GRAIN: i64 = 1_000;
/// How long a job whose budget is not used up yet runs at least before the manager looks again. A manager that
/// shares the CPU and asked for less would have to look again before the job has run at all.
const LEAST_LOOK: Duration = Duration::from_us(50);
/// Jobs that can wait behind one of their task before the manager has to allocate.
const WAITING: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Outside,
    Idle,
    Ready,
    Gone,
}

/// Where the thread of a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    /// It waits for a job.
    Asleep,
    /// It holds a CPU.
    Running,
    /// It has a job, and the lowest priority.
    Demoted,
    /// It has a job, and waits in the signal handler.
    Parked,
}

#[derive(Debug)]
pub(crate) struct TaskRun {
    status: Status,
    blocked: bool,
    pub job: JobId,
    release: Time,
    next_arrival: Time,
    next_release: Time,
    deadline: Duration,
    endless: bool,
    dated: bool,
    demand: i64,
    /// The CPU that the policy wants it on, within a decision; otherwise the one that it is on.
    pub want: Option<CpuId>,
    pub thread: Thread,
    pub tid: Tid,
    /// Whether the thread has the priority to run, and the CPU of the machine it is tied to.
    pub promoted: bool,
    pub host: usize,
    /// The generation of the job, and whether its thread was told of it.
    pub gate: u32,
    pub sent: bool,
    /// What the job had got when it lost its CPU, and when it was given its CPU.
    pub used: i64,
    pub used_on: i64,
    /// The dispatch that is still to be measured: when, whether from another CPU.
    pub turn: u32,
    pub dispatched_ns: Option<i64>,
    pub migrated: bool,
    /// The job was released in this round, or its first dispatch is still to be measured.
    pub fresh: bool,
    /// The jobs that have arrived and wait for this one to end: only where the policy follows arrivals.
    waiting: VecDeque<Waiting>,
}

/// A job that waits for its predecessor.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrival: Time,
    release: Time,
    deadline: Time,
    demand: i64,
}

#[derive(Debug)]
pub(crate) struct CpuRun {
    pub task: Option<TaskId>,
    pub want: Option<TaskId>,
    online: bool,
    /// In this round: its job has reported its end.
    ended: bool,
    budget: Option<Service>,
    budget_end: Time,
    /// What the job had got when the budget was granted; none until it is known.
    budget_from: Option<i64>,
    pub busy_since: Option<Time>,
    /// Within a decision: the thread that had to go, and when; and when the new one came.
    pub left: Option<(TaskId, Time)>,
    pub began: Option<Time>,
    /// Since when it has what it runs.
    pub since: Time,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    Join(TaskId),
    Request(usize),
}

/// How a run ended.
pub(crate) struct Finished {
    pub log: Log,
    pub measured: Measured,
    pub end: Time,
    pub interrupted: bool,
    pub log_full: bool,
    pub events: u64,
    pub decisions: u64,
    /// What the policy wanted that cannot be.
    pub unsupported: Option<String>,
}

pub(crate) struct Manager<'a> {
    system: &'a System,
    policy: Box<dyn Policy>,
    threads: bool,
    /// Whether the policy follows arrivals; and what jobs had got when they lost their CPUs, which it is
    /// to be told.
    follows: bool,
    lost: Vec<(JobId, i64)>,
    pub shared: &'a Shared,
    pub hosts: &'a CpuMap<usize>,
    pub markers: Option<&'a Markers>,
    pub log: Log,
    pub measured: Measured,
    pub tasks: TaskMap<TaskRun>,
    streams: TaskMap<Stream>,
    pub cpus: CpuMap<CpuRun>,
    by_rank: Vec<TaskId>,
    timers: Vec<Time>,
    next_request: usize,
    actions: Vec<Action>,
    asked: Vec<(RequestId, Asked, Option<u32>)>,
    turned_away: TaskMap<Option<RefusalKind>>,
    request_ids: u32,
    epoch_ns: i64,
    end: Time,
    pub now: Time,
    events: u64,
    decisions: u64,
    unsupported: Option<String>,
}

/// What a manager starts from.
pub(crate) struct Start<'a> {
    pub system: &'a System,
    pub policy: Box<dyn Policy>,
    pub shared: &'a Shared,
    pub hosts: &'a CpuMap<usize>,
    pub markers: Option<&'a Markers>,
    pub log: Log,
    pub seed: u64,
    pub epoch_ns: i64,
    pub end: Time,
}

impl<'a> Manager<'a> {
    pub fn new(start: Start<'a>) -> Self {
        let Start { system, policy, shared, hosts, markers, log, seed, epoch_ns, end } = start;
        let threads = policy.needs().schedules == Schedules::Threads;
        let mut streams: TaskMap<Stream> = (system.tasks.iter())
            .map(|(id, task)| Stream::new(id, Arc::new(task.clone()), seed))
            .collect();
        let follows = policy.needs().schedules == Schedules::ArrivingJobs;
        let mut tasks: TaskMap<TaskRun> = (system.tasks.iter())
            .map(|(id, task)| {
                let tid = Tid(shared.post(id).tid.load(Ordering::Acquire));
                let endless = threads && matches!(task.behaviour, Behaviour::Hog);
                TaskRun::new(id, task, tid, endless, streams[id].first())
            })
            .collect();
        if follows {
            tasks.values_mut().for_each(|task| task.waiting.reserve(WAITING));
        }
        let cpu = || CpuRun {
            task: None,
            want: None,
            online: false,
            ended: false,
            budget: None,
            budget_end: Time::NEVER,
            budget_from: None,
            busy_since: None,
            left: None,
            began: None,
            since: Time::ZERO,
        };
        let (n, m) = (system.tasks.len(), system.platform.cpu_count());
        Self {
            system,
            policy,
            threads,
            follows,
            lost: Vec::with_capacity(2 * m),
            shared,
            hosts,
            markers,
            log,
            measured: Measured::default(),
            tasks,
            streams,
            cpus: (0..m).map(|_| cpu()).collect(),
            by_rank: system.by_rank(),
            timers: vec![Time::NEVER; 4 * n + 64],
            next_request: 0,
            actions: Vec::with_capacity(8 * (n + m) + 64),
            asked: Vec::with_capacity(n + system.requests.len()),
            turned_away: TaskMap::filled(None, n),
            request_ids: 0,
            epoch_ns,
            end,
            now: Time::ZERO,
            events: 0,
            decisions: 0,
            unsupported: None,
        }
    }

    pub fn clock(&self) -> Time {
        self.time_of(sys::monotonic_ns())
    }

    /// A point of the monotonic clock as a time of the run.
    pub fn time_of(&self, monotonic_ns: i64) -> Time {
        Time::from_ns(monotonic_ns - self.epoch_ns)
    }

    /// The CPU of the machine that a task starts on: the first that it may use.
    pub fn first_host(&self, id: TaskId) -> usize {
        let allowed = self.system.allowed_cpus(id);
        self.hosts[allowed.lowest().unwrap_or(CpuId(0))]
    }

    fn absolute_ns(&self, at: Time) -> i64 {
        self.epoch_ns.saturating_add(at.ns())
    }

    /// Runs to the end.
    pub fn run(mut self) -> Finished {
        for cpu in self.system.platform.cpus() {
            self.cpus[cpu].online = true;
            self.log.push(self.now, Entry::Online { cpu });
            self.tell(Event::CpuOnline { cpu });
        }
        self.decide();
        let log_full = loop {
            let heard = self.shared.bell.load(Ordering::Acquire);
            let woke = sys::monotonic_ns();
            self.shared.awake_by_ns.store(woke, Ordering::Relaxed);
            let before = self.events;
            while self.round() {
                if self.shared.tripped.load(Ordering::Relaxed) {
                    break;
                }
            }
            let log_full = self.log.is_nearly_full(RESERVE);
            if self.is_over() || log_full {
                break log_full;
            }
            let next = self.next_time();
            let wake_at = self.absolute_ns(next);
            self.shared.awake_by_ns.store(wake_at, Ordering::Relaxed);
            if self.events > before {
                self.measured.invocation.record(sys::monotonic_ns() - woke);
            }
            sys::wait_while_until(&self.shared.bell, heard, wake_at);
        };
        self.shared.awake_by_ns.store(i64::MAX, Ordering::Relaxed);
        self.finish(log_full)
    }

    fn is_over(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
            || self.shared.tripped.load(Ordering::Relaxed)
            || self.unsupported.is_some()
            || self.clock() >= self.end
    }

    fn next_time(&self) -> Time {
        let mut next = self.end;
        for task in self.tasks.values() {
            if task.status != Status::Ready || !task.blocked || self.follows {
                next = next.min(task.next_release);
            }
        }
        for &timer in &self.timers {
            next = next.min(timer);
        }
        for cpu in self.cpus.values() {
            if cpu.task.is_some() {
                next = next.min(cpu.budget_end);
            }
        }
        match self.system.requests.get(self.next_request) {
            Some(request) => next.min(request.at),
            None => next,
        }
    }

    fn tell(&mut self, event: Event) {
        self.events += 1;
        self.policy.on_event(self.now, event);
    }

    pub fn post(&self, task: TaskId) -> &'a Post {
        self.shared.post(task)
    }

    /// Whether the thread has reported the end of the ready job.
    pub fn is_done(&self, task: TaskId) -> bool {
        let run = &self.tasks[task];
        run.sent && self.post(task).done_gate.load(Ordering::Acquire) == run.gate
    }

    /// One round: whether anything had happened.
    fn round(&mut self) -> bool {
        // Reports first, the clock second: so `now` is after every end that is told.
        for cpu in self.system.platform.cpus() {
            self.cpus[cpu].ended = self.cpus[cpu].task.is_some_and(|task| self.is_done(task));
        }
        let clock = self.clock();
        if clock < Time::ZERO || clock >= self.end {
            return false;
        }
        let now = clock.max(self.now);
        self.now = now;
        let before = self.events;
        for cpu in self.system.platform.cpus() {
            let Some(task) = self.cpus[cpu].task else { continue };
            if self.cpus[cpu].ended {
                self.complete(cpu, task);
            } else if self.cpus[cpu].budget_end <= now {
                self.check_budget(cpu, task);
            }
        }
        for timer in 0..self.timers.len() {
            if self.timers[timer] <= now {
                let id = TimerId(timer as u32);
                let due = std::mem::replace(&mut self.timers[timer], Time::NEVER);
                self.measured.timer.record((now - due).ns());
                self.log.push(now, Entry::Timer { id });
                self.tell(Event::Timer { id });
            }
        }
        for at in 0..self.by_rank.len() {
            let task = self.by_rank[at];
            let run = &self.tasks[task];
            if run.next_release <= now || (run.status == Status::Idle && !run.waiting.is_empty()) {
                self.arrive(task);
            }
        }
        while let Some(request) = self.system.requests.get(self.next_request)
            && request.at <= now
        {
            self.ask(self.next_request);
            self.next_request += 1;
        }
        if self.events == before {
            if !self.asked.is_empty() {
                self.grant();
            }
            return false;
        }
        self.decide();
        true
    }

    fn finish(mut self, log_full: bool) -> Finished {
        let interrupted = self.shared.stop.load(Ordering::Relaxed)
            || self.shared.tripped.load(Ordering::Relaxed)
            || log_full
            || self.unsupported.is_some();
        let now = self.clock().max(self.now);
        self.now = now;
        for cpu in self.system.platform.cpus() {
            let done = self.cpus[cpu].task.filter(|&task| self.is_done(task));
            if let Some(task) = done {
                // It ended before the run did, and nobody needs to be told.
                self.complete(cpu, task);
            } else {
                self.vacate(cpu);
            }
        }
        let end = now;
        for id in self.system.tasks.ids() {
            let task = &mut self.tasks[id];
            if task.status != Status::Ready || !task.blocked {
                continue;
            }
            let stream = &mut self.streams[id];
            let mut job = task.job;
            while let Some(next) = task.waiting.pop_front() {
                job.seq = job.seq.wrapping_add(1);
                let Waiting { arrival, release, deadline, demand: _ } = next;
                self.log.push(end, Entry::NeverReady { job, arrival, release, deadline });
            }
            while task.next_release <= now {
                job.seq = job.seq.wrapping_add(1);
                let (arrival, release) = (task.next_arrival, task.next_release);
                let deadline = arrival + task.deadline;
                self.log.push(end, Entry::NeverReady { job, arrival, release, deadline });
                // What it would have asked for, so that the stream stays in step.
                let _ = stream.demand(job.seq);
                task.set_next(stream.next(job.seq, arrival));
            }
        }
        self.log.push(end, Entry::Over { interrupted });
        if let Some(markers) = self.markers {
            markers.end(end);
        }
        let Self { log, measured, events, decisions, unsupported, .. } = self;
        Finished { log, measured, end, interrupted, log_full, events, decisions, unsupported }
    }
}

impl TaskRun {
    fn new(id: TaskId, task: &Task, tid: Tid, endless: bool, first: Option<Arrival>) -> TaskRun {
        let mut run = TaskRun {
            status: Status::Outside,
            blocked: false,
            // The first release makes this 0.
            job: JobId { task: id, seq: u64::MAX },
            release: Time::NEVER,
            next_arrival: Time::NEVER,
            next_release: Time::NEVER,
            deadline: task.deadline,
            endless,
            dated: false,
            demand: NO_JOB,
            want: None,
            thread: Thread::Asleep,
            tid,
            promoted: false,
            host: usize::MAX,
            gate: 0,
            sent: false,
            used: 0,
            used_on: 0,
            turn: 0,
            dispatched_ns: None,
            migrated: false,
            fresh: false,
            waiting: VecDeque::new(),
        };
        run.set_next(first);
        run
    }

    fn set_next(&mut self, arrival: Option<Arrival>) {
        (self.next_arrival, self.next_release) =
            arrival.map_or((Time::NEVER, Time::NEVER), |arrival| (arrival.at, arrival.release));
    }

    /// A new job is ready.
    fn begin(&mut self) {
        self.sent = false;
        (self.used, self.used_on) = (0, 0);
        self.dispatched_ns = None;
    }

    pub fn demand(&self) -> i64 {
        self.demand
    }

    /// When the ready job could have run first.
    pub fn release(&self) -> Time {
        self.release
    }
}

impl CpuRun {
    /// It runs nothing, because its job ended or was taken away.
    pub fn leave(&mut self) {
        self.task = None;
        self.want = None;
        self.budget = None;
        self.budget_end = Time::NEVER;
    }

    /// Whether the thread of a task had to go, and is not accounted for.
    pub fn is_left_by(&self, id: TaskId) -> bool {
        self.left.is_some_and(|(left, _)| left == id)
    }

    /// The job that it was just given had got this much.
    pub fn start_budget(&mut self, used: i64) {
        if self.budget.is_some() {
            self.budget_from = Some(used);
        }
    }
}
