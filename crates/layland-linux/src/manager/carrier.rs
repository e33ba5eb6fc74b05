//! [`Carrier`]: the interface to the threads of a run.
//!
//! The manager makes no scheduling decision and touches no thread. It keeps the ledger, notifies
//! the policy, writes the log, and lets a carrier carry out the decisions. A carrier knows threads
//! and CPUs, but no policy. Its clock is that of the whole run, and it is the only source of news.
//!
//! A job is *released* to its thread when it gets its first CPU, or earlier. It is *done* when the
//! thread has reported its end. Reports may come at any moment, also of a job that the manager is
//! about to take off its CPU.
//!
//! The changes of a decision are made thread by thread, and take effect at the latest when they are
//! [settled](Carrier::settle). A carrier whose CPUs can act by themselves accepts an [`AnswerTable`] of
//! the next decisions of the policy.

use super::overheads::Measured;
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_model::{CpuId, JobId, Task, TaskId};
use layland_policy::{FixedOrder, Refusal};

/// A new job for a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewJob {
    pub id: JobId,
    /// Its demand.
    pub demand: i64,
    /// Its deadline, by the clock of the carrier.
    #[cfg_attr(not(feature = "ext"), expect(dead_code, reason = "for a caretaker in the kernel"))]
    pub deadline_ns: i64,
    /// The job after it, if that is released by the clock.
    #[cfg_attr(
        not(any(feature = "ext", test)),
        expect(dead_code, reason = "SCHED_FIFO wakes no thread")
    )]
    pub next: Option<NextJob>,
}

/// The next job of a task, which a sleeping thread can begin by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextJob {
    /// Its release, by the clock of the carrier.
    #[cfg_attr(
        not(any(feature = "ext", test)),
        expect(dead_code, reason = "SCHED_FIFO wakes no thread")
    )]
    pub at_ns: i64,
    /// Its demand, if it is known.
    #[cfg_attr(
        not(any(feature = "ext", test)),
        expect(dead_code, reason = "SCHED_FIFO wakes no thread")
    )]
    pub demand: Option<i64>,
    /// The time from its release to its deadline.
    #[cfg_attr(not(feature = "ext"), expect(dead_code, reason = "for a caretaker in the kernel"))]
    pub relative_ns: i64,
}

/// A budget: the job may execute `amount` beyond its execution time `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub from: i64,
    pub amount: i64,
}

/// A thread that came to its CPU before the manager gave it the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct There {
    /// The time at which it came, by the clock of the carrier.
    pub since_ns: i64,
    /// The execution time of its job until then.
    pub used: i64,
}

/// The report of a thread about the job that it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndReport {
    /// The end, by the clock of the carrier.
    pub end_ns: i64,
    /// The execution time of the job in total.
    pub used: i64,
}

/// The first instruction of a thread after it was given a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noticed {
    /// The time since the call that gave it the CPU.
    pub latency_ns: i64,
    /// True if it came from another CPU.
    pub migrated: bool,
    /// The time at which the job of the thread began, if it has begun.
    pub started_ns: Option<i64>,
}

/// Threads, each of which executes the jobs of a task, and their CPUs.
///
/// Times are nanoseconds of the carrier's clock, and execution times are nanoseconds of processor
/// time. No method may allocate.
pub(crate) trait Carrier {
    // Time, and news.

    /// Returns the time of the carrier's clock.
    fn clock_ns(&self) -> i64;
    /// Returns a number that changes whenever there is news: a job is done, or the run is to end.
    fn news(&self) -> u32;
    /// Waits while `news` is the latest, until `until_ns` at the latest.
    fn wait(&mut self, news: u32, until_ns: i64);
    /// Announces the latest time at which the manager plans to be awake.
    fn expect_awake_by(&self, at_ns: i64);
    /// Returns true if the run is to end now.
    fn is_stopped(&self) -> bool;
    /// Returns true if the reason is that the manager was late, and no longer controls the threads.
    fn is_tripped(&self) -> bool;

    // Reports of threads.

    /// Returns true if the thread has reported the end of the latest job released to it.
    fn is_done(&self, task: TaskId) -> bool;
    /// Returns the report; only if the job is done.
    fn report(&self, task: TaskId) -> EndReport;
    /// Returns the present execution time of the job; `known` is the result of the last call.
    fn used(&self, task: TaskId, known: i64) -> i64;
    /// Returns the first instruction after the latest dispatch of the thread, once it has happened.
    /// Each is returned only once.
    fn notice(&mut self, task: TaskId) -> Option<Noticed>;
    /// Returns true if [`notice`](Self::notice) has not returned the latest dispatch yet.
    fn is_unnoticed(&self, task: TaskId) -> bool;
    /// Returns true if the job on a CPU was stopped because its budget is exhausted.
    fn is_used_up(&self, cpu: CpuId) -> bool;
    /// Returns the next arrival, departure or wake-up of a thread of another program, or the next
    /// CPU of the machine that came or went.
    fn visit(&mut self) -> Option<Visit>;

    // Actions on threads.

    /// Announces the first job of a task, which is still to come.
    fn expect(&mut self, task: TaskId, first: NextJob);
    /// Gives the task a new job.
    fn begin(&mut self, task: TaskId, job: NewJob);
    /// Takes the CPU from the thread that has it; its job keeps its place. Returns the time at
    /// which the thread had left the CPU, if the CPU has acted before.
    fn lower(&mut self, task: TaskId, measured: &mut Measured) -> Option<i64>;
    /// Gives a CPU to a thread that has none and whose job is not done. No other thread may have
    /// the CPU any more. Releases the job to the thread if necessary. Returns the time since which
    /// the thread has been there, if the CPU has acted before.
    fn raise(&mut self, task: TaskId, cpu: CpuId, measured: &mut Measured) -> Option<There>;
    /// Sets the remaining budget of the job on a CPU, if it has one. A carrier need not enforce it.
    fn limit(&mut self, cpu: CpuId, grant: Option<Grant>);
    /// If the kernel runs the threads by the priorities of their tasks: makes each CPU run the thread
    /// that it was given, whatever the priorities of the others are.
    fn arrange(&mut self, order: &FixedOrder);
    /// Completes the changes of a decision.
    fn settle(&mut self, measured: &mut Measured);
    /// Leaves the CPU idle: no thread may run there. Returns true if a thread had to be stopped.
    fn clear(&mut self, cpu: CpuId, measured: &mut Measured) -> bool;
    /// Aborts the job of a thread that has no CPU.
    fn give_up(&mut self, task: TaskId);
    /// Forgets the job of a task: it is over, and its thread has completed or aborted it, and
    /// sleeps.
    fn forget(&mut self, task: TaskId);

    // Threads of other programs, as `visit` reports them.

    /// Answers the latest request to enter: the program becomes this task, unless it was refused.
    fn entered(&mut self, task: TaskId, parameters: &Task, refused: Option<&Refusal>);
    /// Forgets the program of this task, which has left. Its number may be reused.
    fn left(&mut self, task: TaskId);

    // Autonomous actions of CPUs.

    /// Returns true if CPUs can act before the manager has decided.
    fn acts_ahead(&self) -> bool;
    /// Allows CPUs the actions of this table until the policy receives its next event.
    fn offer(&mut self, table: &AnswerTable);
    /// Stops CPUs from acting by themselves, because the policy is about to receive an event.
    fn withdraw(&mut self);
}

/// A carrier whose threads release and end their jobs themselves: each of them may work for the
/// manager.
pub(crate) trait SelfReleasing: Carrier {
    /// Announces who works for the manager now: the thread of this task, or the manager's own.
    fn enter(&mut self, worker: Option<TaskId>);
    /// Announces that the thread of the task has finished its work. From now on threads of higher
    /// priority may run, also those that it has raised.
    fn leave(&mut self);
    /// Announces the time, by the clock of the carrier, at which the thread of a task releases its next
    /// job; `i64::MAX` while its job is ready, or if there is no next one.
    fn rest(&mut self, task: TaskId, until_ns: i64);
}
