//! [`Work`]: the origin of the threads that the mechanism carries, and the meaning of their jobs.
//!
//! | | threads of a load (`posts.rs`) | threads of other programs (`programs.rs`) |
//! |---|---|---|
//! | a job is | the job that the manager releases | the time between a wake-up and a sleep |
//! | it ends when | the thread reports the end, and sleeps | the thread sleeps |
//! | threads | are those of the set, from beginning to end | come and go |

use super::shared;
use super::threads::CarriedThread;
use crate::manager::carrier::{EndReport, NewJob, NextJob};
use layland_engine::programs::Visit;
use layland_model::{Task, TaskId, TaskMap};
use layland_policy::Refusal;
use std::os::fd::BorrowedFd;

/// The origin of threads; see the file header. `kernel` is the mechanism's record of a thread.
pub(super) trait Work {
    /// Returns true if the run is over when a thread leaves its class.
    fn leaving_ends(&self) -> bool;
    /// Returns true if the process of the threads has died.
    fn is_gone(&self) -> bool;
    /// Ends the run.
    fn end(&self);

    /// Returns the number of notifications from other sources than the mechanism.
    fn rung(&self) -> u32;
    /// Returns a descriptor that becomes readable on such a notification.
    fn bell(&self) -> Option<BorrowedFd<'_>>;
    /// Resets the descriptor of [`bell`](Self::bell).
    fn heard(&self);

    /// Returns true if the thread has ended its job. It may still be awake.
    fn has_ended(&self, id: TaskId, thread: &CarriedThread) -> bool;
    /// Returns true if the thread has also fallen asleep since; until then it needs its CPU.
    fn is_done(&self, id: TaskId, thread: &CarriedThread, kernel: &shared::KernelThread) -> bool;
    /// Returns the wake-up that the job belongs to, unless it has ended and the thread has fallen
    /// asleep.
    fn wake_of(
        &self,
        id: TaskId,
        thread: &CarriedThread,
        kernel: &shared::KernelThread,
    ) -> Option<u32>;
    /// Returns the end and the execution time of a job that is done.
    fn report(
        &self,
        id: TaskId,
        thread: &CarriedThread,
        kernel: &shared::KernelThread,
    ) -> EndReport;

    /// Announces the first job of a task, which is still to come.
    fn expect(&self, id: TaskId, first: &NextJob, kernel: &shared::KernelThread);
    /// Starts a new job of the task.
    fn begin(
        &mut self,
        id: TaskId,
        job: &NewJob,
        thread: &mut CarriedThread,
        kernel: &shared::KernelThread,
    );
    /// Aborts the job.
    fn give_up(&mut self, id: TaskId, thread: &mut CarriedThread, kernel: &shared::KernelThread);

    /// Returns a thread of another program that has come, woken or gone. `left` lists the threads
    /// that have left their class.
    fn visit(
        &mut self,
        left: &mut Vec<usize>,
        threads: &mut TaskMap<CarriedThread>,
        kernel: &[shared::KernelThread],
    ) -> Option<Visit>;
    /// Answers the oldest request to enter: the thread becomes task `id`, unless it was refused.
    fn entered(
        &mut self,
        id: TaskId,
        parameters: &Task,
        refused: Option<&Refusal>,
        thread: &mut CarriedThread,
        kernel: &shared::KernelThread,
    );
    /// Reports that the thread has left.
    fn left(&mut self, id: TaskId);
}
