//! Per-CPU run queues of threads with servers: what SCHED_DEADLINE and the adaptive partitioners
//! share.
//!
//! Each CPU has a queue of the threads that may run there, and runs the first; what differs between
//! policies is which queue a thread is put into, and when it is moved. That is the trait [`Rules`].
//!
//! | specification | here | meaning |
//! |---|---|---|
//! | `rq[c]` | [`Queue`] | the queued threads, with the running one |
//! | `curr[c]` | `curr[c]` | the thread that CPU `c` runs |
//! | `need[c]` | `need` | the CPUs that have to reschedule |
//! | `p.cpu` | [`Thread::cpu`] | the queue that `p` is in, or was in last |
//! | `earliest(c)` | [`RunQueues::earliest`] | the earliest deadline queued on `c` |
//!
//! Order within a queue, by the option `tie`: `running`: deadline, then the running thread, then the
//! smaller rank; `rank`: deadline, then rank; `fifo`: deadline, then the time of enqueueing.
//!
//! What happens in one instant, and in which order, is in `instant.rs`; speeds that follow bandwidths are in
//! `speeds.rs`, and which bandwidth is in use in `activity.rs`.
//!
//! A thread is charged for the time in which it holds a CPU. Where an engine measures what it really got
//! (`Measured`), the difference goes back to its server, or is charged, too: a pause of a real machine
//! throttles nobody.
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
pub(crate) use thread::Thread;

use load::Load;
use sources::Sources;

use super::accounts::Accounts;
use super::cpudl::Cpudl;
use super::price::{Arith, Price};
use super::server::ServerState;
use super::sorted::Sorted;
use crate::{Action, Note, TimerId};
use layland_model::{
    CpuId, CpuMap, CpuSet, Duration, JobId, MoveReason, Service, Speed, System, TaskId, TaskMap,
    Time,
};
use std::collections::BTreeSet;

/// How equal deadlines in one run queue are ordered.
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
    /// All of them, by deadline and tie.
    order: Sorted<(Time, i64, TaskId)>,
    /// Those that may use other CPUs, by deadline and rank.
    movable: Sorted<(Time, u32, TaskId)>,
}

impl Queue {
    /// The earliest deadline.
    #[inline]
    fn earliest(&self) -> Option<Time> {
        self.order.first().map(|&(d, ..)| d)
    }
}

/// The state that all policies with per-CPU run queues share: see the file header.
#[derive(Clone, Debug)]
pub(crate) struct RunQueues {
    pub now: Time,
    pub threads: TaskMap<Thread>,
    pub curr: CpuMap<Option<TaskId>>,
    /// The CPUs of each cluster, and those of them that are online.
    pub clusters: Vec<CpuSet>,
    pub usable: Vec<CpuSet>,
    pub cpudl: Vec<Cpudl>,
    /// `U_j`, where a policy asked for it.
    pub load: Option<Load>,
    sources: Sources,
    tie: Tie,
    lag_reset: bool,
    queues: CpuMap<Queue>,
    need: CpuSet,
    online: CpuSet,
    speeds: CpuMap<Speed>,
    /// Whether a server that is used up goes on at once with its next deadline.
    pub(crate) postpones: bool,
    /// Whether threads know the speeds of CPUs, which are not all the same.
    knows_speeds: bool,
    /// How budgets are counted.
    arith: Arith,
    /// Which bandwidth is in use, where a policy needs to know, and whether threads may reclaim the rest.
    accounts: Option<Accounts>,
    reclaims: bool,
    /// The bandwidth of threads that have left, until their zero-lag times.
    departed: Vec<thread::Departed>,
    /// What a nanosecond costs what each CPU runs, since `since`.
    prices: CpuMap<Price>,
    /// Speeds follow the bandwidth, in multiples of one over this.
    speed_grid: Option<i64>,
    /// Enqueueings so far.
    enqueued: i64,
    /// Whether an engine has measured: then a queued thread may have got more than its budget.
    measured: bool,
    /// Since when what a CPU runs is not accounted for.
    since: CpuMap<Time>,
    /// What the engine runs, CPUs where that may differ, and those that need a new budget.
    running: CpuMap<Option<JobId>>,
    touched: CpuSet,
    regrant: CpuSet,
    /// Threads whose job may have other dates.
    dated: Vec<TaskId>,
    /// Replenishments for now, by seat.
    due_timers: BTreeSet<(u32, TaskId)>,
    /// The threads by seat.
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
                .map(|task| Thread::new(task, &clusters[task.cluster], 0))
                .collect(),
            curr: CpuMap::filled(None, cpus),
            usable: vec![CpuSet::new(); clusters.len()],
            cpudl: vec![Cpudl::default(); clusters.len()],
            clusters,
            load: None,
            sources: Sources::new(cpus),
            tie,
            lag_reset,
            queues: CpuMap::filled(Queue::default(), cpus),
            need: CpuSet::new(),
            online: CpuSet::new(),
            speeds: system.platform.speeds.clone(),
            knows_speeds: false,
            postpones: false,
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

    /// From now on `load` is the sum of the bandwidths of the threads of each CPU.
    pub(crate) fn keep_load(&mut self) {
        let mut load = Load::new(self.curr.len());
        for thread in self.threads.values() {
            if thread.server.state != ServerState::Dead {
                load.add(thread.cpu, &thread.u);
            }
        }
        self.load = Some(load);
    }

    // --- Looking ------------------------------------------------------------------------------

    /// The first thread in the order of a queue.
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

    /// The earliest deadline queued on a CPU.
    #[inline]
    pub(crate) fn earliest(&self, c: CpuId) -> Option<Time> {
        self.queues[c].earliest()
    }

    /// The same without one thread.
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

    /// What a CPU runs, if that is still in its queue.
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

    /// The first thread, by deadline and rank, that can be moved away from a CPU (queued, not running, not due) and
    /// of which this is true.
    #[inline]
    pub(crate) fn pushable(
        &self,
        c: CpuId,
        mut is_wanted: impl FnMut(&Thread) -> bool,
    ) -> Option<TaskId> {
        let is_free = |&(_, _, p): &(Time, u32, TaskId)| {
            let thread = &self.threads[p];
            self.curr[c] != Some(p) && !thread.due && is_wanted(thread)
        };
        self.queues[c].movable.find(is_free).map(|&(_, _, p)| p)
    }

    /// The CPUs that a thread can use now.
    pub(crate) fn allowed(&self, p: TaskId) -> CpuSet {
        let thread = &self.threads[p];
        thread.mask.intersection(&self.usable[thread.cluster])
    }

    /// The cluster of a CPU.
    #[inline]
    pub(crate) fn cluster_of(&self, c: CpuId) -> Option<usize> {
        self.clusters.iter().position(|cluster| cluster.contains(c))
    }

    /// Whether a set of CPUs has all those of a cluster.
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

    /// Takes a thread out of the queue of its CPU, which reschedules if it ran it.
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

    /// Gives a thread that is not queued another CPU.
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

    /// A CPU reschedules if it runs nothing, or not what comes first.
    pub(crate) fn preempt_check(&mut self, c: CpuId) {
        if self.running(c).is_none() || self.leftmost(c) != self.curr[c] {
            self.need.insert(c);
        }
    }

    /// Where a thread has to go whose CPU it can no longer use: to the lowest that it can; if there is
    /// none, to one that is offline, where it waits.
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

    /// Takes a thread that is not queued off a CPU that it can no longer use.
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

    /// Accounts for what the thread on a CPU did.
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

    /// The ready job of a thread has got this much in all.
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

    /// Makes a CPU run a thread or nothing.
    #[inline]
    fn switch(&mut self, c: CpuId, next: Option<TaskId>) {
        if self.curr[c] != next {
            self.switch_to(c, next);
        }
    }

    fn switch_to(&mut self, c: CpuId, next: Option<TaskId>) {
        self.charge(c);
        self.curr[c] = next;
        self.source_changed(c);
        // Nearly always it costs what it takes, as before.
        if self.reclaims || self.speeds[c] != Speed::UNIT || self.prices[c] != Price::Unit {
            self.prices[c] = self.price(c);
        }
        self.touched.insert(c);
        self.regrant.insert(c);
    }

    /// Gives what a CPU runs its budget anew, if it runs this thread.
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
