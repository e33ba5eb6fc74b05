//! Threads under `SCHED_FIFO`: how decisions are carried out on them.
//!
//! | action | implementation |
//! |---|---|
//! | start a job | tie its sleeping thread to the CPU, if it was elsewhere; raise it to [`RUN`](sys::RUN), if necessary; open its gate |
//! | preempt a job | lower its thread to [`WAIT`](sys::WAIT) |
//! | continue a job | tie its waiting thread to the CPU, if it was elsewhere; raise it |
//! | suspend a job whose CPU is to idle | park its thread (see `worker.rs`) |
//!
//! The news consists of the reports of workers, which ring a bell. A report is identified by the
//! generation of its job.
//!
//! If threads release and end their jobs themselves, each has the priority of its task (`FIRST` for the
//! first place, and so on), and the kernel preempts and continues jobs by itself:
//!
//! | action | implementation |
//! |---|---|
//! | start a job | open its gate |
//! | preempt a job, continue it | nothing, unless the kernel would choose otherwise |
//! | preempt a job of higher priority | lower its thread to [`WAIT`](sys::WAIT) |
//! | continue such a job | raise its thread to its own priority again |
//! | run a job that yields to all others | give its thread the priority [`YIELD`](sys::YIELD), and lower the rest |
//! | suspend a job whose CPU is to idle | park its thread |
//!
//! A thread that raises one of higher priority would lose its CPU in the middle of its work, and with
//! it the lock. So it works at [`CEILING`](sys::CEILING) from then on.

use crate::RunError;
use crate::fifo::worker::{NO_JOB, Post, SharedState, park_signal};
use crate::kernel::sys::{self, CEILING, FIRST, PLACES, RUN, Tid, WAIT, YIELD};
use crate::manager::carrier::{
    Carrier, EndReport, Grant, NewJob, NextJob, Noticed, SelfReleasing, There,
};
use crate::manager::levels::Level;
use crate::manager::overheads::Measured;
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_model::{CpuId, CpuMap, Index, System, Task, TaskId, TaskMap};
use layland_policy::{FixedOrder, Refusal};
use std::sync::atomic::Ordering;

/// The state of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ThreadState {
    /// It waits for a job.
    #[default]
    Asleep,
    /// It holds a CPU.
    Running,
    /// It has a job, but lost its CPU.
    Demoted,
}

/// The manager's record of a thread.
#[derive(Debug, Default)]
struct ThreadRecord {
    state: ThreadState,
    /// True if it waits in the signal handler.
    is_parked: bool,
    tid: Tid,
    level: Level,
    /// The priority at the level [`Own`](Level::Own), and the CPU of the machine that it is tied to.
    own: i32,
    host: usize,
    /// If threads release jobs: the time until which it sleeps.
    rests_until_ns: i64,
    /// The generation of the job; and true if the job has been released to the thread.
    gate: u32,
    sent: bool,
    /// The demand of the job, and its number.
    demand: i64,
    seq: u64,
    /// The dispatch that is still to be measured: its count, its time, and true if it was a
    /// migration.
    turn: u32,
    dispatched_ns: Option<i64>,
    migrated: bool,
}

/// The threads of a run.
pub(crate) struct FifoThreads<'a> {
    shared: &'a SharedState,
    /// The number of the manager that has these threads.
    domain: usize,
    /// The CPU of the machine that carries each CPU of the platform.
    hosts: &'a CpuMap<usize>,
    threads: TaskMap<ThreadRecord>,
    /// True if threads release and end their jobs themselves.
    is_by_order: bool,
    /// In that case: the task whose thread works for the manager, and true if it has the priority
    /// `CEILING` meanwhile.
    worker: Option<TaskId>,
    is_at_ceiling: bool,
    /// The task that each CPU was given.
    chosen: CpuMap<Option<TaskId>>,
}

impl<'a> FifoThreads<'a> {
    /// Prepares the threads of these tasks, which have started. Each gets its first CPU and the
    /// priority to run, which tests the operations of the run. With an order, threads release and end
    /// their jobs themselves.
    pub fn prepare(
        system: &System,
        shared: &'a SharedState,
        hosts: &'a CpuMap<usize>,
        order: Option<&FixedOrder>,
    ) -> Result<FifoThreads<'a>, RunError> {
        let thread = |id: TaskId| {
            let tid = Tid(shared.post(id).tid.load(Ordering::Acquire));
            // The CPU of the task, or the first one that it may use.
            let allowed = system.allowed_cpus(id);
            let first = || allowed.lowest().unwrap_or(CpuId(0));
            let host = hosts[order.map_or_else(first, |order| order.cpu_of[id])];
            let own = order.map_or(RUN, |order| priority(order.place[id]));
            let help = || "choose other CPUs with --on-cpus".to_owned();
            sys::pin(tid, host)
                .map_err(|error| RunError::refused("failed to choose a CPU", &error, help()))?;
            sys::set_fifo(tid, own).map_err(|error| {
                let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
                RunError::refused("no real-time priority", &error, help)
            })?;
            let rests_until_ns = i64::MAX;
            Ok(ThreadRecord { tid, own, host, rests_until_ns, ..ThreadRecord::default() })
        };
        let threads = system.tasks.ids().map(thread).collect::<Result<_, RunError>>()?;
        Ok(FifoThreads {
            shared,
            domain: 0,
            hosts,
            threads,
            is_by_order: order.is_some(),
            worker: None,
            is_at_ceiling: false,
            chosen: CpuMap::filled(None, hosts.len()),
        })
    }

    /// Returns the threads as those of the manager with this number.
    pub fn of_domain(self, domain: usize) -> FifoThreads<'a> {
        FifoThreads { domain, ..self }
    }

    /// Returns true if there are enough priorities for this order.
    pub fn has_priorities_for(order: &FixedOrder) -> bool {
        order.place.values().all(|&place| place < PLACES)
    }

    fn post(&self, task: TaskId) -> &'a Post {
        self.shared.post(task)
    }

    /// Gives a thread another priority.
    fn set_level(&mut self, id: TaskId, level: Level) {
        let thread = &mut self.threads[id];
        if std::mem::replace(&mut thread.level, level) != level {
            // This fails only if the thread has ended, and then it no longer runs.
            let _ = sys::set_fifo(thread.tid, thread.priority(level));
        }
    }

    /// Makes the thread of a raised job run: it continues, or the job is released to it.
    fn start(&mut self, id: TaskId, level: Level) {
        self.unpark(id);
        self.set_level(id, level);
        let is_called = self.must_be_called(id);
        let post = self.post(id);
        let thread = &mut self.threads[id];
        if !thread.sent {
            thread.sent = true;
            thread.gate = thread.gate.wrapping_add(1);
            post.demand.store(thread.demand, Ordering::Relaxed);
            post.seq.store(thread.seq, Ordering::Relaxed);
            // Last, because this store publishes the demand and the number of the job.
            post.gate.store(thread.gate, Ordering::Release);
            if is_called {
                sys::wake(&post.gate);
            }
        }
    }

    /// Returns true if a thread may sleep when its job is released to it. Its own timer wakes a thread
    /// whose release is past, and the thread that works is awake.
    fn must_be_called(&self, id: TaskId) -> bool {
        let is_awake = self.worker == Some(id)
            || self.is_by_order && self.threads[id].rests_until_ns <= sys::monotonic_ns();
        !is_awake
    }

    /// Makes a thread without a job look at its post.
    fn call(&mut self, id: TaskId) {
        let post = self.post(id);
        let thread = &mut self.threads[id];
        thread.gate = thread.gate.wrapping_add(1);
        post.demand.store(NO_JOB, Ordering::Relaxed);
        post.gate.store(thread.gate, Ordering::Release);
        sys::wake(&post.gate);
    }

    /// Lets a parked thread continue at its present priority.
    fn unpark(&mut self, id: TaskId) {
        if std::mem::take(&mut self.threads[id].is_parked) {
            let post = self.post(id);
            post.park.store(0, Ordering::Release);
            sys::wake(&post.park);
        }
    }

    /// Returns the present priority of a thread.
    fn priority_of(&self, id: TaskId) -> i32 {
        self.threads[id].priority(self.threads[id].level)
    }

    /// To be called before a thread is made to run at this priority: the thread that works keeps its
    /// CPU until it has finished.
    fn keep_cpu_from(&mut self, id: TaskId, priority: i32) {
        if let Some(worker) = self.worker.filter(|&worker| worker != id)
            && !self.is_at_ceiling
            && priority > self.priority_of(worker)
        {
            self.is_at_ceiling = true;
            let _ = sys::set_fifo(self.threads[worker].tid, CEILING);
        }
    }

    /// Gives a thread whose job is over its own priority again.
    fn restore(&mut self, id: TaskId) {
        if self.is_by_order && (self.threads[id].level != Level::Own || self.threads[id].is_parked)
        {
            self.keep_cpu_from(id, self.threads[id].own);
            self.set_level(id, Level::Own);
        }
        self.unpark(id);
        let chosen = self.chosen.values_mut().filter(|chosen| **chosen == Some(id));
        chosen.for_each(|chosen| *chosen = None);
    }
}

/// Returns the priority of the threads of tasks at this place.
fn priority(place: usize) -> i32 {
    FIRST - i32::try_from(place).unwrap_or(i32::MAX)
}

impl ThreadRecord {
    fn priority(&self, level: Level) -> i32 {
        match level {
            Level::Own => self.own,
            Level::Yielding => YIELD,
            Level::Waiting => WAIT,
        }
    }
}

impl Carrier for FifoThreads<'_> {
    fn clock_ns(&self) -> i64 {
        sys::monotonic_ns()
    }

    fn news(&self) -> u32 {
        self.shared.bell.load(Ordering::Acquire)
    }

    fn wait(&mut self, news: u32, until_ns: i64) {
        sys::wait_while_until(&self.shared.bell, news, until_ns);
    }

    fn expect_awake_by(&self, at_ns: i64) {
        self.shared.expect_awake_by(self.domain, at_ns);
    }

    fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed) || self.is_tripped()
    }

    fn is_tripped(&self) -> bool {
        self.shared.tripped.load(Ordering::Relaxed)
    }

    fn is_done(&self, id: TaskId) -> bool {
        let thread = &self.threads[id];
        thread.sent && self.post(id).done_gate.load(Ordering::Acquire) == thread.gate
    }

    fn report(&self, id: TaskId) -> EndReport {
        let post = self.post(id);
        EndReport {
            end_ns: post.done_ns.load(Ordering::Relaxed),
            used: post.done_used_ns.load(Ordering::Relaxed),
        }
    }

    fn used(&self, id: TaskId, known: i64) -> i64 {
        let (thread, post) = (&self.threads[id], self.post(id));
        if !thread.sent {
            return known;
        }
        if self.is_done(id) {
            return post.done_used_ns.load(Ordering::Relaxed);
        }
        if post.started_gate.load(Ordering::Acquire) != thread.gate {
            return 0;
        }
        let start = post.started_cpu_ns.load(Ordering::Relaxed);
        sys::cpu_ns(thread.tid).map_or(known, |clock| clock - start).max(known)
    }

    fn notice(&mut self, id: TaskId) -> Option<Noticed> {
        let post = self.post(id);
        let thread = &mut self.threads[id];
        let dispatched = thread.dispatched_ns?;
        if post.seen_turn.load(Ordering::Acquire) != thread.turn {
            return None;
        }
        thread.dispatched_ns = None;
        let seen = post.seen_ns.load(Ordering::Relaxed);
        let has_started = post.started_gate.load(Ordering::Acquire) == thread.gate;
        Some(Noticed {
            latency_ns: seen - dispatched,
            migrated: thread.migrated,
            started_ns: has_started.then(|| post.started_ns.load(Ordering::Relaxed)),
        })
    }

    fn is_unnoticed(&self, id: TaskId) -> bool {
        self.threads[id].dispatched_ns.is_some()
    }

    fn is_used_up(&self, _cpu: CpuId) -> bool {
        false
    }

    /// The threads are tied to CPUs, and the kernel unties them if a CPU goes offline. Such a run
    /// is not adapted; its misses show the loss.
    fn visit(&mut self) -> Option<Visit> {
        None
    }

    fn entered(&mut self, _task: TaskId, _parameters: &Task, _refused: Option<&Refusal>) {}
    fn left(&mut self, _task: TaskId) {}

    /// No thread wakes before it gets a CPU.
    fn expect(&mut self, _task: TaskId, _first: NextJob) {}

    fn begin(&mut self, id: TaskId, job: NewJob) {
        let thread = &mut self.threads[id];
        (thread.demand, thread.seq) = (job.demand, job.id.seq);
        thread.sent = false;
        thread.dispatched_ns = None;
    }

    fn lower(&mut self, id: TaskId, measured: &mut Measured) -> Option<i64> {
        if self.threads[id].sent && !self.is_done(id) {
            // By order, the thread that gets the CPU decides whether this one has to be lowered.
            if !self.is_by_order {
                self.set_level(id, Level::Waiting);
            }
            measured.demotions += 1;
        }
        let chosen = self.chosen.values_mut().filter(|chosen| **chosen == Some(id));
        chosen.for_each(|chosen| *chosen = None);
        let thread = &mut self.threads[id];
        thread.state = if thread.sent { ThreadState::Demoted } else { ThreadState::Asleep };
        None
    }

    fn raise(&mut self, id: TaskId, cpu: CpuId, measured: &mut Measured) -> Option<There> {
        let (post, host) = (self.post(id), self.hosts[cpu]);
        let thread = &mut self.threads[id];
        let began = sys::monotonic_ns();
        thread.turn = thread.turn.wrapping_add(1);
        post.turn.store(thread.turn, Ordering::Release);
        thread.dispatched_ns = Some(began);
        measured.dispatches += 1;
        thread.migrated = thread.host != host;
        if thread.migrated {
            let _ = sys::pin(thread.tid, host);
            thread.host = host;
            measured.migrations += 1;
        }
        thread.state = ThreadState::Running;
        self.chosen[cpu] = Some(id);
        if !self.is_by_order {
            self.start(id, Level::Own);
        }
        None
    }

    /// Nothing to do: the manager checks the clock of the thread in time.
    fn limit(&mut self, _cpu: CpuId, _grant: Option<Grant>) {}

    fn arrange(&mut self, order: &FixedOrder) {
        for index in 0..self.chosen.len() {
            let cpu = CpuId::from_index(index);
            let Some(chosen) = self.chosen[cpu] else { continue };
            for index in 0..self.threads.len() {
                let id = TaskId::from_index(index);
                let thread = &self.threads[id];
                if id == chosen || order.cpu_of[id] != cpu || !thread.sent || thread.is_parked {
                    continue;
                }
                // A thread that has ended its job is about to report that.
                let level = thread.level.of_other(order, chosen, id);
                if level != thread.level && !self.is_done(id) {
                    self.set_level(id, level);
                }
            }
            let thread = &self.threads[chosen];
            let level = Level::of_chosen(order, chosen);
            let is_called = !thread.sent && self.must_be_called(chosen);
            if thread.is_parked || thread.level != level || is_called {
                self.keep_cpu_from(chosen, thread.priority(level));
            }
            self.start(chosen, level);
        }
    }

    /// Nothing to do: each call takes effect in the kernel at once.
    fn settle(&mut self, _measured: &mut Measured) {}

    /// Parks every waiting thread of the CPU, which would otherwise run at the lowest priority.
    fn clear(&mut self, cpu: CpuId, measured: &mut Measured) -> bool {
        let host = self.hosts[cpu];
        let mut found = false;
        for index in 0..self.threads.len() {
            let id = TaskId::from_index(index);
            let thread = &self.threads[id];
            if thread.state != ThreadState::Demoted
                || thread.is_parked
                || thread.host != host
                || self.is_done(id)
            {
                continue;
            }
            let post = self.post(id);
            post.park.store(1, Ordering::Release);
            let sent = sys::signal(thread.tid, park_signal());
            if sent.is_err() {
                // The queue of signals is full. The thread continues at the lowest priority; the
                // next decision retries.
                post.park.store(0, Ordering::Release);
                measured.not_parked += 1;
                continue;
            }
            self.threads[id].is_parked = true;
            measured.parks += 1;
            found = true;
        }
        found
    }

    fn give_up(&mut self, id: TaskId) {
        self.restore(id);
        if std::mem::take(&mut self.threads[id].sent) {
            self.call(id);
        }
        self.threads[id].state = ThreadState::Asleep;
    }

    fn forget(&mut self, id: TaskId) {
        self.restore(id);
        let thread = &mut self.threads[id];
        thread.state = ThreadState::Asleep;
        thread.sent = false;
    }

    fn acts_ahead(&self) -> bool {
        false
    }

    fn offer(&mut self, _table: &AnswerTable) {}

    fn withdraw(&mut self) {}
}

impl SelfReleasing for FifoThreads<'_> {
    fn enter(&mut self, worker: Option<TaskId>) {
        self.worker = worker;
    }

    fn leave(&mut self) {
        if let Some(worker) = self.worker.take()
            && std::mem::take(&mut self.is_at_ceiling)
        {
            let _ = sys::set_fifo(self.threads[worker].tid, self.priority_of(worker));
        }
    }

    fn rest(&mut self, id: TaskId, until_ns: i64) {
        let before = std::mem::replace(&mut self.threads[id].rests_until_ns, until_ns);
        if before == until_ns {
            return;
        }
        self.post(id).rest_ns.store(until_ns, Ordering::Release);
        // Otherwise it would sleep past this time.
        if until_ns < before && self.worker != Some(id) {
            self.keep_cpu_from(id, self.threads[id].own);
            self.call(id);
        }
    }
}
