//! The manager: it turns what happens into events, asks the policy, and lets a carrier
//! (`carrier.rs`) carry out the decisions (`enact.rs`). Jobs, requests and the order of a round are
//! those of all engines ([`layland_engine`]); only the sources of events differ:
//!
//! | event | source |
//! |---|---|
//! | release, timer, request | the monotonic clock: one absolute time-out for the earliest of all |
//! | completion | the report of a thread, which also wakes the manager |
//! | end | the same report, of a thread that was preempted meanwhile |
//! | join, leave, and the releases of threads of other programs | the carrier, through visits |
//! | budget exhausted | the same time-out, then the clock of the thread |
//!
//! One *round* drains every report, then reads the clock once, sends the policy all events up to
//! that time ([`rounds::round`]), and lets it decide. So the `now` of a round is not before any of
//! its events. Rounds follow each other until there are no events.
//!
//! Deviations from the simulator, all of them because time passes while the manager works:
//!
//! 1. An instant of the policy is one round; events that become due within a round belong to the
//!    next.
//! 2. A job may end while it is being preempted: the policy receives this event in the next round
//!    ([`Ended`](layland_policy::Event::Ended)). If it runs the job again before that, the job
//!    completes at once, and its thread is not given the CPU.
//! 3. The clock of the thread measures a budget, and exhaustion may be reported late, but never
//!    early. A policy that schedules threads accounts for budgets itself, from its events; for such
//!    a policy a budget is measured by the time since `Run`, as its contract says.
//!
//! If CPUs can act before the manager has decided, the manager uses its spare time to ask clones of
//! the policy for the next decisions ([`ahead`](layland_engine::ahead)). The policy receives the
//! actions of CPUs as events, and its own decisions take precedence.
//!
//! If the policy has a fixed order, threads can release and end their jobs themselves, and the manager
//! sleeps meanwhile: see `monitor.rs`. A run can also have a dispatcher on each CPU instead of one
//! manager, and a lock for each group of CPUs that share their tasks: see `dispatchers.rs`.
//!
//! Nothing else here allocates once the run has begun, except for requests of the system. The
//! allocations of the policy itself are not covered.

pub(crate) mod carrier;
pub(crate) mod dispatchers;
mod enact;
mod engine;
mod jobs;
pub(crate) mod levels;
pub(crate) mod monitor;
pub(crate) mod overheads;
#[cfg(test)]
mod tests;

use crate::kernel::markers::Markers;
use crate::log::{Entry, Log};
use carrier::Carrier;
use layland_engine::ahead::{AnswerTable, Situation};
use layland_engine::streams::Stream;
use layland_engine::{Ledger, rounds};
use layland_model::{CpuId, CpuMap, Duration, JobId, System, TaskId, Time};
use layland_policy::Policy;
use layland_trace::Job;
use monitor::Timers;
use overheads::Measured;

/// The number of records that are kept free to end the run in order.
const RESERVE: usize = 4096;
/// The rest of a budget below which it counts as exhausted: clocks are not more precise.
pub(crate) const BUDGET_GRAIN: i64 = 1_000;
/// The minimum time that a job with a budget runs before the manager checks it again. With a
/// shorter time, a manager that shares the CPU would have to check before the job has run at all.
const LEAST_LOOK: Duration = Duration::from_us(50);
/// The number of jobs that can wait behind one of their task before the manager has to allocate.
const WAITING: usize = 256;

/// The manager's state of the thread of a task.
#[derive(Debug, Default)]
pub(crate) struct ThreadRun {
    /// Within a decision, the CPU that the policy chose for it; otherwise its present CPU.
    pub want: Option<CpuId>,
    /// The execution time of the job when it lost its CPU, and when it was given its CPU.
    pub used: i64,
    pub used_on: i64,
    /// The time at which it last lost a CPU.
    pub off: Time,
    /// True if the policy has ever run the job.
    pub has_run: bool,
    /// True if the job was released in this round, or its first dispatch is still to be measured.
    pub fresh: bool,
    /// If it waited for a job that ended on its CPU: the time from that end to the call that gave
    /// it the CPU.
    pub follows: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct CpuRun {
    pub task: Option<TaskId>,
    pub want: Option<TaskId>,
    /// True if its job has reported its end, in this round.
    ended: bool,
    budget: Option<Duration>,
    budget_end: Time,
    /// The execution time of the job when the budget was granted; `None` until it is known.
    budget_from: Option<i64>,
    pub busy_since: Option<Time>,
    /// Within a decision: the thread that had to leave, and its time; and the time of the new one.
    pub left: Option<(TaskId, Time)>,
    pub began: Option<Time>,
    /// The time since which it has its present job, and the time at which it lost the one before.
    pub since: Time,
    pub free_since: Time,
    /// The time at which its last job ended, if it has run nothing since.
    pub ended_at: Option<Time>,
}

/// The end of a run.
pub(crate) struct Finished {
    pub log: Log,
    /// The position of the first record that was written after the last round, at `end`.
    pub closing: usize,
    pub measured: Measured,
    pub end: Time,
    pub interrupted: bool,
    pub log_full: bool,
    pub events: u64,
    pub decisions: u64,
    /// The unsupported action of the policy, if there was one.
    pub unsupported: Option<String>,
}

pub(crate) struct Manager<'a, C> {
    system: &'a System,
    pub ledger: Ledger<Box<dyn Policy>, ThreadRun>,
    /// The execution times of jobs when they lost their CPUs, if the policy is to receive them.
    lost: Vec<(JobId, i64)>,
    /// The tasks by rank; and those of them whose jobs, in this round, have ended without a CPU.
    by_rank: Vec<TaskId>,
    over: Vec<TaskId>,
    pub carrier: C,
    pub markers: Option<&'a Markers>,
    pub log: Log,
    pub measured: Measured,
    pub cpus: CpuMap<CpuRun>,
    epoch_ns: i64,
    end: Time,
    unsupported: Option<String>,
    /// The next decisions of the policy; and true if all of them are known.
    table: AnswerTable,
    situation: Situation,
    looked_ahead: bool,
    /// In this round: true if a job is released; and the time that the policy took for its events.
    releases: bool,
    heard_ns: i64,
    /// True if the threads release and end their jobs themselves (`monitor.rs`).
    are_self_releasing: bool,
    timers: Timers,
    is_log_full: bool,
}

/// The initial state of a manager.
pub(crate) struct Start<'a> {
    pub system: &'a System,
    pub policy: Box<dyn Policy>,
    pub markers: Option<&'a Markers>,
    pub log: Log,
    pub seed: u64,
    pub epoch_ns: i64,
    pub end: Time,
}

impl<'a, C: Carrier> Manager<'a, C> {
    pub fn new(start: Start<'a>, carrier: C) -> Self {
        let Start { system, policy, markers, log, seed, epoch_ns, end } = start;
        let (n, m) = (system.tasks.len(), system.platform.cpu_count());
        let mut ledger: Ledger<_, ThreadRun> = Ledger::new(system, policy, seed, |work| work.ns());
        ledger.reserve(4 * n + 64, 8 * (n + m) + 64, WAITING);
        // A task that joins passes its parameters to the policy, when the manager may not allocate
        // any more.
        ledger.streams.values_mut().for_each(Stream::own);
        let cpu = || CpuRun {
            task: None,
            want: None,
            ended: false,
            budget: None,
            budget_end: Time::NEVER,
            budget_from: None,
            busy_since: None,
            left: None,
            began: None,
            since: Time::ZERO,
            free_since: Time::ZERO,
            ended_at: None,
        };
        Self {
            system,
            ledger,
            lost: Vec::with_capacity(2 * m),
            by_rank: system.by_rank(),
            over: Vec::with_capacity(n),
            carrier,
            markers,
            log,
            measured: Measured::default(),
            cpus: (0..m).map(|_| cpu()).collect(),
            epoch_ns,
            end,
            unsupported: None,
            table: AnswerTable::new(m, n),
            situation: Situation::default(),
            looked_ahead: false,
            releases: false,
            heard_ns: 0,
            are_self_releasing: false,
            timers: Timers::default(),
            is_log_full: false,
        }
    }

    pub fn clock(&self) -> Time {
        self.time_of(self.carrier.clock_ns())
    }

    /// Converts a point of the clock to a time of the run.
    pub fn time_of(&self, clock_ns: i64) -> Time {
        Time::from_ns(clock_ns - self.epoch_ns)
    }

    pub fn absolute_ns(&self, at: Time) -> i64 {
        self.epoch_ns.saturating_add(at.ns())
    }

    /// Writes a record of this round.
    pub fn note(&mut self, entry: Entry) {
        self.log.push(self.ledger.now, entry);
    }

    /// Returns the ready job of a task, or the last one.
    pub fn job(&self, id: TaskId) -> JobId {
        self.ledger.tasks[id].job.id
    }

    pub fn thread(&self, id: TaskId) -> &ThreadRun {
        &self.ledger.tasks[id].own
    }

    pub fn thread_mut(&mut self, id: TaskId) -> &mut ThreadRun {
        &mut self.ledger.tasks[id].own
    }

    /// Returns the CPU that has the thread of a task.
    fn cpu_of(&self, id: TaskId) -> Option<CpuId> {
        self.cpus.iter().find(|(_, run)| run.task == Some(id)).map(|(cpu, _)| cpu)
    }

    /// Announces the first jobs to the carrier.
    pub fn announce(&mut self) {
        for id in self.system.tasks.ids() {
            if let Some(first) = self.next_job(id) {
                self.carrier.expect(id, first);
            }
        }
    }

    /// Runs to the end.
    pub fn run(self) -> Finished {
        self.run_with_carrier().0
    }

    /// Like [`run`](Self::run), but also returns the carrier.
    pub fn run_with_carrier(mut self) -> (Finished, C) {
        rounds::begin(&mut self);
        let mut due_ns = i64::MAX;
        let log_full = loop {
            // Read the news before the reports, so that later news ends the wait below.
            let heard = self.carrier.news();
            let woke = self.carrier.clock_ns();
            self.carrier.expect_awake_by(woke);
            let before = self.ledger.events;
            while self.round() {
                if self.carrier.is_tripped() {
                    break;
                }
            }
            let log_full = self.log.is_full(RESERVE);
            if self.is_over() || log_full {
                break log_full;
            }
            let next = self.next_time();
            let wake_at = self.absolute_ns(next);
            self.carrier.expect_awake_by(wake_at);
            // A look at a budget that is not used up is an invocation, too. News that was read before is
            // none.
            if self.ledger.events > before || woke >= due_ns {
                self.measured.invocation.record(self.carrier.clock_ns() - woke);
            }
            due_ns = wake_at;
            if self.carrier.acts_ahead() && (self.ledger.events > before || !self.looked_ahead) {
                self.look_ahead(heard, wake_at);
            }
            self.carrier.wait(heard, wake_at);
        };
        self.carrier.expect_awake_by(i64::MAX);
        self.finish(log_full)
    }

    /// Offers the carrier the next decisions of the policy. Stops when there is news or the manager
    /// has to be awake.
    fn look_ahead(&mut self, heard: u32, until_ns: i64) {
        let cpus = &self.cpus;
        let ends = cpus.values().filter(|run| run.task.is_some()).map(|run| run.budget_end);
        let budget_end = ends.min().unwrap_or(Time::NEVER);
        let ledger = &self.ledger;
        let on = |cpu: CpuId| cpus[cpu].task.map(|id| ledger.tasks[id].job.id);
        self.situation.update(ledger, on, budget_end);
        let at = self.clock().max(ledger.now);
        let carrier = &self.carrier;
        let interrupted = || carrier.news() != heard || carrier.clock_ns() >= until_ns;
        self.looked_ahead = self.table.fill(&*ledger.policy, at, &self.situation, interrupted);
        self.carrier.offer(&self.table);
    }

    fn is_over(&self) -> bool {
        self.carrier.is_stopped() || self.unsupported.is_some() || self.clock() >= self.end
    }

    fn next_time(&self) -> Time {
        let mut next = self.end.min(self.ledger.next_time());
        for cpu in self.cpus.values() {
            if cpu.task.is_some() {
                next = next.min(cpu.budget_end);
            }
        }
        next
    }

    /// Returns true if the thread has reported the end of the ready job.
    pub fn is_done(&self, task: TaskId) -> bool {
        self.carrier.is_done(task)
    }

    /// Runs one round. Returns true if there were any events.
    fn round(&mut self) -> bool {
        // Read the reports before the clock, so that `now` is not before any reported end.
        self.find_ended();
        let clock = self.clock();
        if clock < Time::ZERO || clock >= self.end {
            return false;
        }
        self.ledger.now = clock.max(self.ledger.now);
        rounds::round(self)
    }

    /// Finds the jobs that have ended, on CPUs and without one.
    fn find_ended(&mut self) {
        for cpu in self.system.platform.cpus() {
            self.cpus[cpu].ended = self.cpus[cpu].task.is_some_and(|task| self.is_done(task));
        }
        self.find_over();
    }

    /// Finds the jobs that have ended without a CPU. A CPU that acts ahead may have begun and ended
    /// a job that the policy has never run. To the policy this job waits for a CPU, and completes
    /// once it is given one.
    fn find_over(&mut self) {
        let mut over = std::mem::take(&mut self.over);
        over.clear();
        let is_over = |&&id: &&TaskId| {
            let thread = self.thread(id);
            thread.has_run && thread.want.is_none() && self.is_done(id)
        };
        over.extend(self.by_rank.iter().filter(is_over));
        self.over = over;
    }

    fn finish(mut self, log_full: bool) -> (Finished, C) {
        let interrupted = self.carrier.is_stopped() || log_full || self.unsupported.is_some();
        // As in a round. A job that ends later ends after the run.
        self.find_ended();
        let end = self.clock().max(self.ledger.now);
        self.ledger.now = end;
        let closing = self.log.records.len();
        self.tell_over();
        for cpu in self.system.platform.cpus() {
            match self.cpus[cpu].task.filter(|_| self.cpus[cpu].ended) {
                // It ended before the run, and the policy does not need this event.
                Some(task) => self.complete(cpu, task),
                None => self.take_off(cpu),
            }
        }
        for id in self.ledger.tasks.ids() {
            while let Some(job) = self.ledger.next_unready(id) {
                let Job { id: job, arrival, release, deadline } = job;
                self.note(Entry::NeverReady { job, arrival, release, deadline });
            }
        }
        self.note(Entry::Over { interrupted });
        if let Some(markers) = self.markers {
            markers.end(end);
        }
        let Self { log, measured, unsupported, carrier, .. } = self;
        let Ledger { events, decisions, .. } = self.ledger;
        let finished = Finished {
            log,
            closing,
            measured,
            end,
            interrupted,
            log_full,
            events,
            decisions,
            unsupported,
        };
        (finished, carrier)
    }
}

impl CpuRun {
    /// Removes the job, because it ended or was taken away.
    pub fn leave(&mut self) {
        self.task = None;
        self.want = None;
        self.budget = None;
        self.budget_end = Time::NEVER;
    }

    /// Returns true if the thread of a task had to leave, and is not accounted for yet.
    pub fn is_left_by(&self, id: TaskId) -> bool {
        self.left.is_some_and(|(left, _)| left == id)
    }

    /// Starts the budget of the job that the CPU was just given, from this execution time.
    pub fn start_budget(&mut self, used: i64) {
        if self.budget.is_some() {
            self.budget_from = Some(used);
        }
    }
}
