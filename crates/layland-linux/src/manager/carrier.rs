//! [`Carrier`]: what carries the threads of a run.
//!
//! The manager decides nothing and touches no thread: it keeps the ledger, tells the policy, writes the log, and has a
//! carrier do what the decision says. A carrier knows threads and CPUs, and no policy. It has a clock, which is that of
//! the whole run, and it is the only source of news.
//!
//! A job is *told* to its thread when it gets its first CPU, and is *done* when the thread has reported its end.
//! Reports may come at any moment, also of a job that the manager is about to take off its CPU.

use super::overheads::Measured;
use layland_model::{CpuId, JobId, TaskId};

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

    // What is done to threads.

    /// The task has a new job, of which its thread is not told yet.
    fn begin(&mut self, task: TaskId);
    /// Takes the CPU from a thread that has it. Its job stays where it is.
    fn lower(&mut self, task: TaskId, measured: &mut Measured);
    /// Gives the CPU, from which no thread has to go any more, to a thread that has none, and whose job is not done.
    /// The job, with what it asks for, is told to it if it was not.
    fn raise(&mut self, task: TaskId, cpu: CpuId, job: JobId, demand: i64, measured: &mut Measured);
    /// The CPU is to idle: no thread goes on there. Whether one did.
    fn clear(&mut self, cpu: CpuId, measured: &mut Measured) -> bool;
    /// The thread, which has no CPU, gives up its job.
    fn give_up(&mut self, task: TaskId);
    /// The job of a task is over, and its thread, which is done or has given up, is asleep.
    fn forget(&mut self, task: TaskId);
}
