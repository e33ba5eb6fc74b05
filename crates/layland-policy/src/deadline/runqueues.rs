//! Per-CPU run queues of threads with servers, shared by SCHED_DEADLINE and the adaptive
//! partitioners.
//!
//! Each CPU has a queue of the threads that may run there, and runs the first. Policies differ in
//! the queues that they put threads into, and in the times at which they move them. The trait
//! [`Rules`] captures these differences.
//!
//! | specification | here | meaning |
//! |---|---|---|
//! | `rq[c]` | [`Queue`] | the queued threads, with the running one |
//! | `curr[c]` | `curr[c]` | the thread that CPU `c` runs |
//! | `need[c]` | `need` | the CPUs that have to reschedule |
//! | `p.cpu` | [`ReservedThread::cpu`] | the current or last queue of `p` |
//! | `earliest(c)` | [`RunQueues::earliest`] | the earliest deadline queued on `c` |
//!
//! Order within a queue, by the option `tie`: `running`: deadline, then the running thread, then the
//! smaller rank; `rank`: deadline, then rank; `fifo`: deadline, then the time of enqueueing.
//!
//! `instant.rs` defines the order of events in one instant, `speeds.rs` the speeds that follow
//! bandwidths, and `activity.rs` the bandwidth in use.
//!
//! A thread is charged for the time in which it holds a CPU. If an engine measures the processor
//! time that the thread really received (`Measured`), the difference is refunded to its server or
//! charged, too: a pause of a real machine throttles no thread.
#![expect(non_snake_case, reason = "Q, T and D are the symbols of the papers")]

mod activity;
mod instant;
mod invariants;
mod jobs;
mod load;
mod requests;
mod rules;
mod sources;
mod speeds;
mod thread;

pub use instant::Threads;
pub(crate) use requests::Renewal;
pub(crate) use rules::Rules;
pub(crate) use thread::ReservedThread;

use load::CpuLoads;
use sources::Sources;

use super::accounts::Accounts;
use super::cpudl::Cpudl;
use super::price::{Arith, Price};
use super::server::ServerState;
use super::sorted::Sorted;
use crate::{Action, Note, TimerId};
use layland_model::{
    CpuId, CpuMap, CpuSet, Duration, JobId, MoveReason, Rate, Service, Speed, System, TaskId,
    TaskMap, Time,
};
use std::collections::BTreeSet;

/// The order of equal deadlines in one run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// The running thread first, then by rank.
    Running,
    /// By rank.
    Rank,
    /// By the time of enqueueing, as Linux does.
    Fifo,
}

/// The queued threads of one CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// All queued threads, by deadline and tie.
    order: Sorted<(Time, i64, TaskId)>,
    /// The queued threads that may use other CPUs, by deadline and rank.
    movable: Sorted<(Time, u32, TaskId)>,
}

impl Queue {
    /// Returns the earliest deadline.
    #[inline]
    fn earliest(&self) -> Option<Time> {
        self.order.first().map(|&(d, ..)| d)
    }
}

/// The common state of all policies with per-CPU run queues: see the file header.
#[derive(Clone, Debug)]
pub(crate) struct RunQueues {
    pub now: Time,
    pub threads: TaskMap<ReservedThread>,
    pub curr: CpuMap<Option<TaskId>>,
    /// The CPUs of each cluster, and the online ones among them.
    pub clusters: Vec<CpuSet>,
    pub usable: Vec<CpuSet>,
    pub cpudl: Vec<Cpudl>,
    /// `U_j`, if the policy needs it.
    pub load: Option<CpuLoads>,
    /// True if a decision may depend on `started` of a thread.
    pub remembers_starts: bool,
    sources: Sources,
    tie: Tie,
    lag_reset: bool,
    queues: CpuMap<Queue>,
    need: CpuSet,
    online: CpuSet,
    speeds: CpuMap<Speed>,
    /// True if a nanosecond of some CPU is a fraction of one of work, or several.
    has_other_speeds: bool,
    /// True if a server that is used up continues at once with its next deadline.
    pub(crate) postpones: bool,
    /// The time for which a late server that is throttled stays away.
    pub(crate) throttle_cost: Duration,
    /// True if CPUs have different speeds and the policy takes them into account.
    knows_speeds: bool,
    /// The arithmetic of budgets.
    arith: Arith,
    /// The bandwidth in use, if the policy needs it, and whether threads may reclaim the rest.
    accounts: Option<Accounts>,
    reclaims: bool,
    /// The bandwidth of threads that have left, until their zero-lag times.
    departed: Vec<thread::Departed>,
    /// The price of a nanosecond for the thread on each CPU, valid from the time in `since`.
    prices: CpuMap<Price>,
    /// The denominator of the speeds, if they follow the bandwidth.
    speed_grid: Option<i64>,
    /// The number of enqueueings so far.
    enqueued: i64,
    /// True if an engine has measured: a queued thread may then have received more than its budget.
    measured: bool,
    /// The time up to which the thread on each CPU has been charged.
    since: CpuMap<Time>,
    /// The jobs that the engine runs, the CPUs on which these may differ, and the CPUs that need a
    /// new budget.
    running: CpuMap<Option<JobId>>,
    touched: CpuSet,
    regrant: CpuSet,
    /// Threads whose jobs may have other dates.
    dated: Vec<TaskId>,
    /// Replenishments due now, by seat.
    due_timers: BTreeSet<(u32, TaskId)>,
    /// The threads by seat, which is their place in the order of ranks.
    seats: Vec<TaskId>,
    out: Vec<Action>,
}

impl RunQueues {
    pub(crate) fn new(system: &System, tie: Tie, lag_reset: bool) -> RunQueues {
        let cpus = system.platform.cpu_count();
        let clusters = system.platform.clusters.clone();
        let mut rq = RunQueues {
            now: Time::ZERO,
            threads: system
                .tasks
                .values()
                .map(|task| ReservedThread::new(task, &clusters[task.cluster], 0))
                .collect(),
            curr: CpuMap::filled(None, cpus),
            usable: vec![CpuSet::new(); clusters.len()],
            cpudl: vec![Cpudl::default(); clusters.len()],
            clusters,
            load: None,
            remembers_starts: false,
            sources: Sources::new(cpus),
            tie,
            lag_reset,
            queues: CpuMap::filled(Queue::default(), cpus),
            need: CpuSet::new(),
            online: CpuSet::new(),
            speeds: system.platform.speeds.clone(),
            has_other_speeds: !system.platform.is_unit_speed(),
            knows_speeds: false,
            postpones: false,
            throttle_cost: Duration::ZERO,
            arith: Arith::Exact,
            accounts: None,
            reclaims: false,
            departed: Vec::new(),
            prices: CpuMap::filled(Price::Unit, cpus),
            speed_grid: None,
            enqueued: 0,
            measured: false,
            since: CpuMap::filled(Time::ZERO, cpus),
            running: CpuMap::filled(None, cpus),
            touched: CpuSet::new(),
            regrant: CpuSet::new(),
            dated: Vec::new(),
            due_timers: BTreeSet::new(),
            seats: system.by_rank(),
            out: Vec::new(),
        };
        for (seat, &p) in rq.seats.iter().enumerate() {
            rq.threads[p].seat = seat as u32;
        }
        rq
    }

    /// Maintains `load` from now on: the sum of the bandwidths of the threads of each CPU, which is
    /// overloaded above this limit.
    pub(crate) fn keep_load(&mut self, limit: Rate) {
        let mut load = CpuLoads::new(self.curr.len(), limit);
        for thread in self.threads.values() {
            if thread.server.state != ServerState::Dead {
                load.add(thread.cpu, &thread.u);
            }
        }
        self.load = Some(load);
    }

    // --- Queries ------------------------------------------------------------------------------

    /// Returns the first thread in the order of a queue.
    #[inline]
    pub(crate) fn leftmost(&self, c: CpuId) -> Option<TaskId> {
        let &(d, _, first) = self.queues[c].order.first()?;
        match self.curr[c] {
            Some(p)
                if self.tie == Tie::Running
                    && self.is_queued_on(p, c)
                    && self.threads[p].server.deadline() == d =>
            {
                Some(p)
            }
            Some(_) | None => Some(first),
        }
    }

    /// Returns the earliest deadline queued on a CPU.
    #[inline]
    pub(crate) fn earliest(&self, c: CpuId) -> Option<Time> {
        self.queues[c].earliest()
    }

    /// Returns the earliest deadline queued on a CPU apart from that of one thread.
    pub(crate) fn earliest_without(&self, c: CpuId, x: TaskId) -> Option<Time> {
        self.queues[c].order.find(|&(_, _, p)| p != x).map(|&(d, ..)| d)
    }

    #[inline]
    pub(crate) fn is_empty(&self, c: CpuId) -> bool {
        self.queues[c].order.is_empty()
    }

    #[inline]
    pub(crate) fn is_queued_on(&self, p: TaskId, c: CpuId) -> bool {
        let thread = &self.threads[p];
        thread.queued && thread.cpu == c
    }

    /// Returns the running thread of a CPU, if it is still in the queue of the CPU.
    #[inline]
    pub(crate) fn running(&self, c: CpuId) -> Option<TaskId> {
        self.curr[c].filter(|&p| self.is_queued_on(p, c))
    }

    #[inline]
    pub(crate) fn deadline(&self, p: TaskId) -> Time {
        self.threads[p].server.deadline()
    }

    #[inline]
    pub(crate) fn needs(&self, c: CpuId) -> bool {
        self.need.contains(c)
    }

    /// Returns the first thread, by deadline and rank, that can be moved away from a CPU (queued,
    /// not running, not due) and that `is_wanted` accepts.
    #[inline]
    pub(crate) fn pushable(
        &self,
        c: CpuId,
        mut is_wanted: impl FnMut(&ReservedThread) -> bool,
    ) -> Option<TaskId> {
        let is_free = |&(_, _, p): &(Time, u32, TaskId)| {
            let thread = &self.threads[p];
            self.curr[c] != Some(p) && !thread.due && is_wanted(thread)
        };
        self.queues[c].movable.find(is_free).map(|&(_, _, p)| p)
    }

    /// Returns the CPUs that a thread can use now.
    pub(crate) fn allowed(&self, p: TaskId) -> CpuSet {
        let thread = &self.threads[p];
        thread.mask.intersection(&self.usable[thread.cluster])
    }

    /// Returns the cluster of a CPU.
    #[inline]
    pub(crate) fn cluster_of(&self, c: CpuId) -> Option<usize> {
        self.clusters.iter().position(|cluster| cluster.contains(c))
    }

    /// Returns true if a set of CPUs contains all CPUs of a cluster.
    pub(crate) fn covers(&self, mask: &CpuSet, cluster: usize) -> bool {
        self.clusters[cluster].is_subset(mask)
    }

    // --- Queues -------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn set_need(&mut self, c: CpuId) {
        self.need.insert(c);
    }

    fn update_cpudl(&mut self, c: CpuId) {
        let earliest = self.earliest(c);
        for (usable, cpudl) in self.usable.iter().zip(&mut self.cpudl) {
            if usable.contains(c) {
                cpudl.set(c, earliest);
            }
        }
    }

    /// Puts a thread into the queue of its CPU.
    pub(crate) fn enqueue(&mut self, p: TaskId) {
        self.enqueued += 1;
        let thread = &mut self.threads[p];
        debug_assert!(!thread.queued);
        thread.tie = match self.tie {
            Tie::Fifo => self.enqueued,
            Tie::Running | Tie::Rank => i64::from(thread.seat),
        };
        thread.queued = true;
        thread.started = self.curr[thread.cpu] == Some(p);
        thread.server.state = ServerState::Eligible;
        let (c, d) = (thread.cpu, thread.server.deadline());
        let queue = &mut self.queues[c];
        let earliest = queue.earliest();
        queue.order.insert((d, thread.tie, p));
        if thread.migrates {
            queue.movable.insert((d, thread.seat, p));
        }
        self.source_changed(c);
        if self.queues[c].earliest() != earliest {
            self.update_cpudl(c);
        }
    }

    /// Removes a thread from the queue of its CPU, which reschedules if it ran the thread.
    pub(crate) fn dequeue(&mut self, p: TaskId) {
        let c = self.threads[p].cpu;
        if self.curr[c] == Some(p) {
            self.charge(c);
            self.need.insert(c);
        }
        let thread = &mut self.threads[p];
        debug_assert!(thread.queued);
        thread.queued = false;
        let d = thread.server.deadline();
        let queue = &mut self.queues[c];
        let earliest = queue.earliest();
        queue.order.remove(&(d, thread.tie, p));
        if thread.migrates {
            queue.movable.remove(&(d, thread.seat, p));
        }
        self.source_changed(c);
        if self.queues[c].earliest() != earliest {
            self.update_cpudl(c);
        }
    }

    /// Assigns a thread that is not queued to another CPU.
    pub(crate) fn set_cpu(&mut self, p: TaskId, c: CpuId, why: MoveReason) {
        let thread = &mut self.threads[p];
        debug_assert!(!thread.queued);
        let from = std::mem::replace(&mut thread.cpu, c);
        if from == c {
            return;
        }
        if let Some(load) = &mut self.load {
            load.remove(from, &thread.u);
            load.add(c, &thread.u);
        }
        self.transfer(p, [from, c]);
        self.out.push(Action::Note { note: Note::Moved { task: p, from, to: c, why } });
    }

    /// Moves a queued thread to the queue of another CPU.
    pub(crate) fn move_to(&mut self, p: TaskId, c: CpuId, why: MoveReason) {
        self.dequeue(p);
        self.set_cpu(p, c, why);
        self.enqueue(p);
    }

    /// Requests rescheduling of a CPU that runs nothing, or not the first thread of its queue.
    pub(crate) fn preempt_check(&mut self, c: CpuId) {
        if self.running(c).is_none() || self.leftmost(c) != self.curr[c] {
            self.need.insert(c);
        }
    }

    /// Returns the CPU to which a thread must move if it can no longer use its own: the lowest one
    /// that it can use or, if there is none, an offline one of its mask, where it waits.
    #[inline]
    fn refuge(&self, p: TaskId) -> Option<CpuId> {
        let thread = &self.threads[p];
        if thread.mask.contains(thread.cpu) && self.usable[thread.cluster].contains(thread.cpu) {
            return None;
        }
        let allowed = self.allowed(p);
        let among = if allowed.is_empty() { &thread.mask } else { &allowed };
        if among.contains(thread.cpu) { None } else { among.lowest() }
    }

    /// Moves a thread that is not queued off a CPU that it can no longer use.
    pub(crate) fn settle(&mut self, p: TaskId) {
        if let Some(cpu) = self.refuge(p) {
            self.set_cpu(p, cpu, MoveReason::Expelled);
        }
    }

    pub(crate) fn new_period(&mut self, p: TaskId) {
        debug_assert!(!self.threads[p].queued);
        self.threads[p].server.new_period(self.now);
        self.threads[p].set_begin(self.now);
        self.date(p);
    }

    fn replenish(&mut self, p: TaskId) {
        debug_assert!(!self.threads[p].queued);
        let thread = &mut self.threads[p];
        thread.server.replenish();
        if self.lag_reset {
            thread.server.reset_lag(self.now);
        }
        thread.set_begin(self.now);
        let d = thread.server.deadline();
        self.date(p);
        self.out.push(Action::Note { note: Note::Replenished { task: p, deadline: d } });
    }

    /// Charges the thread on a CPU for the time since the last charge.
    #[inline]
    fn charge(&mut self, c: CpuId) {
        let length = self.now - self.since[c];
        if length > Duration::ZERO
            && let Some(p) = self.curr[c]
        {
            let thread = &mut self.threads[p];
            thread.server.charge(length, &self.prices[c]);
            thread.charged += length;
            thread.ran = true;
        }
        self.since[c] = self.now;
    }

    /// Corrects the charge of the ready job of a thread, which has received this much in total.
    fn correct(&mut self, job: JobId, executed: Service) {
        let Some(thread) = self.threads.get(job.task) else { return };
        let c = thread.cpu;
        if self.curr[c] == Some(job.task) {
            self.charge(c);
        }
        let price = self.price_of(job.task, c);
        let thread = &mut self.threads[job.task];
        if thread.job == Some(job.seq) {
            let executed = Duration::from_ns(executed.ns());
            let charged = std::mem::replace(&mut thread.charged, executed);
            thread.server.correct(charged, executed, &price);
            self.measured = true;
        }
    }

    /// Makes a CPU run a thread, or nothing.
    #[inline]
    fn switch(&mut self, c: CpuId, next: Option<TaskId>) {
        if self.curr[c] != next {
            self.switch_to(c, next);
        }
    }

    fn switch_to(&mut self, c: CpuId, next: Option<TaskId>) {
        self.charge(c);
        self.curr[c] = next;
        if let Some(p) = next {
            self.threads[p].started = true;
        }
        self.source_changed(c);
        // Nearly always the price is one, as before: skip the computation.
        if self.reclaims || self.speeds[c] != Speed::UNIT || self.prices[c] != Price::Unit {
            self.prices[c] = self.price(c);
        }
        self.touched.insert(c);
        self.regrant.insert(c);
    }

    /// Grants its budget anew to a thread that is running.
    fn grant_again(&mut self, p: TaskId) {
        let c = self.threads[p].cpu;
        if self.curr[c] == Some(p) {
            self.touched.insert(c);
            self.regrant.insert(c);
        }
    }

    fn set_timer(&mut self, p: TaskId, at: Time) {
        let id = TimerId(self.threads[p].seat);
        self.out.push(Action::SetTimer { id, at });
    }
}
