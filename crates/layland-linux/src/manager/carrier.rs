//! [`Carrier`]: what carries the threads of a run.
//!
//! The manager decides nothing and touches no thread: it keeps the ledger, tells the policy, writes the log, and has a
//! carrier do what the decision says. A carrier knows threads and CPUs, and no policy. It has a clock, which is that of
//! the whole run, and it is the only source of news.
//!
//! A job is *told* to its thread when it gets its first CPU or before, and is *done* when the thread has reported its
//! end. Reports may come at any moment, also of a job that the manager is about to take off its CPU.
//!
//! What a decision changes is said thread by thread, and is to be in force when it has been [settled](Carrier::settle).
//! A carrier whose CPUs can act by themselves takes a [`Table`] of what the policy would decide next.

use super::overheads::Measured;
use layland_engine::ahead::Table;
use layland_engine::programs::Visit;
use layland_model::{CpuId, JobId, Task, TaskId};
use layland_policy::Refusal;

/// A job that a thread is to execute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewJob {
    pub id: JobId,
    /// What it asks for.
    pub demand: i64,
    /// Its deadline, by the clock of the carrier.
    #[cfg_attr(not(feature = "ext"), expect(dead_code, reason = "for a caretaker in the kernel"))]
    pub deadline_ns: i64,
    /// The job after it, if that is released by the clock.
    #[cfg_attr(
        not(any(feature = "ext", test)),
        expect(dead_code, reason = "SCHED_FIFO wakes nobody")
    )]
    pub next: Option<NextJob>,
}

/// The next job of a task: what a thread that is asleep can begin by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextJob {
    /// When it is released, by the clock of the carrier.
    #[cfg_attr(
        not(any(feature = "ext", test)),
        expect(dead_code, reason = "SCHED_FIFO wakes nobody")
    )]
    pub at_ns: i64,
    /// What it asks for, if that is known.
    #[cfg_attr(
        not(any(feature = "ext", test)),
        expect(dead_code, reason = "SCHED_FIFO wakes nobody")
    )]
    pub demand: Option<i64>,
    /// From its release to its deadline.
    #[cfg_attr(not(feature = "ext"), expect(dead_code, reason = "for a caretaker in the kernel"))]
    pub relative_ns: i64,
}

/// A budget: the job may get this much from when it had got `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub from: i64,
    pub amount: i64,
}

/// A thread that came to its CPU before it was given it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct There {
    /// Since when it has been there, by the clock of the carrier.
    pub since_ns: i64,
    /// What its job had got by then.
    pub used: i64,
}

/// What a thread says of the job that it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// When, by the clock of the carrier.
    pub end_ns: i64,
    /// What the job has got in all.
    pub used: i64,
}

/// The first instruction of a thread after it was given a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noticed {
    /// From the call that gave it the CPU.
    pub latency_ns: i64,
    /// Whether it came from another CPU.
    pub migrated: bool,
    /// When the job of the thread began, if it has begun.
    pub started_ns: Option<i64>,
}

/// Threads, each of which executes the jobs of a task, and the CPUs that they are given.
///
/// Times are nanoseconds of its clock, and what jobs get is nanoseconds of processor time. Nothing here may allocate.
pub(crate) trait Carrier {
    // Time, and news.

    /// Its clock.
    fn clock_ns(&self) -> i64;
    /// A number that changes whenever there is news: a job is done, or the run is to end.
    fn news(&self) -> u32;
    /// Waits while there is no other news than this, until `until_ns` at the latest.
    fn wait(&mut self, news: u32, until_ns: i64);
    /// The manager means to be awake at this time at the latest.
    fn expect_awake_by(&self, at_ns: i64);
    /// Whether the run is to end now.
    fn is_stopped(&self) -> bool;
    /// Whether that is because the manager was late, and the threads are out of its hands.
    fn is_tripped(&self) -> bool;

    // What threads say.

    /// Whether the thread has reported the end of the job that it was told last.
    fn is_done(&self, task: TaskId) -> bool;
    /// What it reported; only if the job is done.
    fn report(&self, task: TaskId) -> Report;
    /// What the job has got by now; `known` is what it had got when that was asked last.
    fn used(&self, task: TaskId, known: i64) -> i64;
    /// The first instruction after the thread was given a CPU last, if it is there and was not asked for before.
    fn notice(&mut self, task: TaskId) -> Option<Noticed>;
    /// Whether that is still to be asked for.
    fn is_unnoticed(&self, task: TaskId) -> bool;
    /// Whether the job on a CPU was stopped because it has got all that it may.
    fn is_used_up(&self, cpu: CpuId) -> bool;
    /// A CPU of the machine or a thread of another program has come, gone or woken, and was not told of before.
    fn visit(&mut self) -> Option<Visit>;

    // What is done to threads.

    /// The first job of a task is still to come.
    fn expect(&mut self, task: TaskId, first: NextJob);
    /// The task has a new job.
    fn begin(&mut self, task: TaskId, job: NewJob);
    /// Takes the CPU from a thread that has it. Its job stays where it is. When the thread had left the CPU, if that
    /// has acted before.
    fn lower(&mut self, task: TaskId, measured: &mut Measured) -> Option<i64>;
    /// Gives the CPU, from which no thread has to go any more, to a thread that has none, and whose job is not done.
    /// The job is told to it if it was not. Since when the thread has been there, if the CPU has acted before.
    fn raise(&mut self, task: TaskId, cpu: CpuId, measured: &mut Measured) -> Option<There>;
    /// What the job on a CPU may still get, if it is limited. A carrier need not stop it then.
    fn limit(&mut self, cpu: CpuId, grant: Option<Grant>);
    /// Everything that a decision changes has been said.
    fn settle(&mut self, measured: &mut Measured);
    /// The CPU is to idle: no thread goes on there. Whether one did.
    fn clear(&mut self, cpu: CpuId, measured: &mut Measured) -> bool;
    /// The thread, which has no CPU, gives up its job.
    fn give_up(&mut self, task: TaskId);
    /// The job of a task is over, and its thread, which is done or has given up, is asleep.
    fn forget(&mut self, task: TaskId);

    // Threads of other programs, which visits tell of.

    /// The program that asked to enter last is this task, unless it was refused.
    fn entered(&mut self, task: TaskId, parameters: &Task, refused: Option<&Refusal>);
    /// The program that was this task has left, and its number may be given to another one.
    fn left(&mut self, task: TaskId);

    // What CPUs do by themselves.

    /// Whether CPUs can act before the manager has decided.
    fn acts_ahead(&self) -> bool;
    /// What CPUs may do from now on, until something is told to the policy.
    fn offer(&mut self, table: &Table);
    /// The policy is about to be told something: CPUs do nothing by themselves.
    fn withdraw(&mut self);
}
