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

use crate::RunError;
use crate::fifo::worker::{NO_JOB, Post, SharedState, park_signal};
use crate::kernel::sys::{self, RUN, Tid, WAIT};
use crate::manager::carrier::{Carrier, EndReport, Grant, NewJob, NextJob, Noticed, There};
use crate::manager::overheads::Measured;
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_model::{CpuId, CpuMap, Index, System, Task, TaskId, TaskMap};
use layland_policy::Refusal;
use std::sync::atomic::Ordering;

/// The state of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ThreadState {
    /// It waits for a job.
    #[default]
    Asleep,
    /// It holds a CPU.
    Running,
    /// It has a job, but the lowest priority.
    Demoted,
    /// It has a job, and waits in the signal handler.
    Parked,
}

/// The manager's record of a thread.
#[derive(Debug, Default)]
struct ThreadRecord {
    state: ThreadState,
    tid: Tid,
    /// True if it has the priority to run; and the CPU of the machine that it is tied to.
    promoted: bool,
    host: usize,
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
    /// The CPU of the machine that carries each CPU of the platform.
    hosts: &'a CpuMap<usize>,
    threads: TaskMap<ThreadRecord>,
}

impl<'a> FifoThreads<'a> {
    /// Prepares the threads of these tasks, which have started. Each gets its first CPU and the
    /// priority to run, which tests the operations of the run.
    pub fn prepare(
        system: &System,
        shared: &'a SharedState,
        hosts: &'a CpuMap<usize>,
    ) -> Result<FifoThreads<'a>, RunError> {
        let thread = |id: TaskId| {
            let tid = Tid(shared.post(id).tid.load(Ordering::Acquire));
            // The first CPU that the task may use.
            let allowed = system.allowed_cpus(id);
            let host = hosts[allowed.lowest().unwrap_or(CpuId(0))];
            let help = || "choose other CPUs with --on-cpus".to_owned();
            sys::pin(tid, host)
                .map_err(|error| RunError::refused("failed to choose a CPU", &error, help()))?;
            sys::set_fifo(tid, RUN).map_err(|error| {
                let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
                RunError::refused("no real-time priority", &error, help)
            })?;
            Ok(ThreadRecord { tid, host, promoted: true, ..ThreadRecord::default() })
        };
        let threads = system.tasks.ids().map(thread).collect::<Result<_, RunError>>()?;
        Ok(FifoThreads { shared, hosts, threads })
    }

    fn post(&self, task: TaskId) -> &'a Post {
        self.shared.post(task)
    }

    /// Lets a parked thread continue at its present priority.
    fn unpark(&mut self, id: TaskId) {
        let post = self.post(id);
        if self.threads[id].state == ThreadState::Parked {
            post.park.store(0, Ordering::Release);
            sys::wake(&post.park);
            self.threads[id].state = ThreadState::Demoted;
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
        self.shared.awake_by_ns.store(at_ns, Ordering::Relaxed);
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
            // This fails only if the thread has ended, and then it no longer runs.
            let _ = sys::set_fifo(self.threads[id].tid, WAIT);
            measured.demotions += 1;
            self.threads[id].promoted = false;
        }
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
        if thread.state == ThreadState::Parked {
            post.park.store(0, Ordering::Release);
            sys::wake(&post.park);
        }
        if !thread.promoted {
            let _ = sys::set_fifo(thread.tid, RUN);
            thread.promoted = true;
        }
        if !thread.sent {
            thread.sent = true;
            thread.gate = thread.gate.wrapping_add(1);
            post.demand.store(thread.demand, Ordering::Relaxed);
            post.seq.store(thread.seq, Ordering::Relaxed);
            // Last, because this store publishes the demand and the number of the job.
            post.gate.store(thread.gate, Ordering::Release);
            sys::wake(&post.gate);
        }
        thread.state = ThreadState::Running;
        None
    }

    /// Nothing to do: the manager checks the clock of the thread in time.
    fn limit(&mut self, _cpu: CpuId, _grant: Option<Grant>) {}

    /// Nothing to do: each call takes effect in the kernel at once.
    fn settle(&mut self, _measured: &mut Measured) {}

    /// Parks every waiting thread of the CPU, which would otherwise run at the lowest priority.
    fn clear(&mut self, cpu: CpuId, measured: &mut Measured) -> bool {
        let host = self.hosts[cpu];
        let mut found = false;
        for index in 0..self.threads.len() {
            let id = TaskId::from_index(index);
            let thread = &self.threads[id];
            if thread.state != ThreadState::Demoted || thread.host != host || self.is_done(id) {
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
            self.threads[id].state = ThreadState::Parked;
            measured.parks += 1;
            found = true;
        }
        found
    }

    fn give_up(&mut self, id: TaskId) {
        self.unpark(id);
        let post = self.post(id);
        let thread = &mut self.threads[id];
        if thread.sent {
            thread.gate = thread.gate.wrapping_add(1);
            post.demand.store(NO_JOB, Ordering::Relaxed);
            post.gate.store(thread.gate, Ordering::Release);
            sys::wake(&post.gate);
            thread.sent = false;
        }
        thread.state = ThreadState::Asleep;
    }

    fn forget(&mut self, id: TaskId) {
        self.unpark(id);
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
