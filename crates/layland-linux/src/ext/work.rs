//! [`Work`]: whose the threads are that the mechanism carries, and what a job of theirs is.
//!
//! | | threads of a load (`posts.rs`) | threads of other programs (`programs.rs`) |
//! |---|---|---|
//! | a job is | what the manager has told | what lies between a wake-up and a sleep |
//! | it ends when | the thread says so, and sleeps | the thread sleeps |
//! | threads | are those of the set, from beginning to end | come and go |

use super::shared;
use super::threads::Thread;
use crate::manager::carrier::{NewJob, NextJob, Report};
use layland_engine::programs::Visit;
use layland_model::{Task, TaskId, TaskMap};
use layland_policy::Refusal;
use std::os::fd::BorrowedFd;

/// See the file header. `kernel` is what the mechanism knows of a thread.
pub(super) trait Work {
    /// Whether the run is over when a thread leaves its class.
    fn leaving_ends(&self) -> bool;
    /// Whether the process of the threads has died.
    fn is_gone(&self) -> bool;
    /// The run is over.
    fn end(&self);

    /// Counts what else than the mechanism has told something.
    fn rung(&self) -> u32;
    /// Becomes readable then.
    fn bell(&self) -> Option<BorrowedFd<'_>>;
    /// The bell was heard.
    fn heard(&self);

    /// Whether the thread has ended its job, and may still be awake.
    fn has_ended(&self, id: TaskId, thread: &Thread) -> bool;
    /// Whether it has, and has fallen asleep since: before that it needs its CPU.
    fn is_done(&self, id: TaskId, thread: &Thread, kernel: &shared::Thread) -> bool;
    /// The wake-up that the job belongs to, unless it has ended and the thread has fallen asleep.
    fn wake_of(&self, id: TaskId, thread: &Thread, kernel: &shared::Thread) -> Option<u32>;
    /// What the thread says of a job that is done.
    fn report(&self, id: TaskId, thread: &Thread, kernel: &shared::Thread) -> Report;

    /// The first job of a task is still to come.
    fn expect(&self, id: TaskId, first: &NextJob, kernel: &shared::Thread);
    /// The task has a new job.
    fn begin(&mut self, id: TaskId, job: &NewJob, thread: &mut Thread, kernel: &shared::Thread);
    /// The job is given up.
    fn give_up(&mut self, id: TaskId, thread: &mut Thread, kernel: &shared::Thread);

    /// A thread of another program that has come, woken or gone; `left` are those that have left their class.
    fn visit(
        &mut self,
        left: &mut Vec<usize>,
        threads: &mut TaskMap<Thread>,
        kernel: &[shared::Thread],
    ) -> Option<Visit>;
    /// Who asked to enter last is this task, unless it was refused.
    fn entered(
        &mut self,
        id: TaskId,
        parameters: &Task,
        refused: Option<&Refusal>,
        thread: &mut Thread,
        kernel: &shared::Thread,
    );
    /// The thread has left.
    fn left(&mut self, id: TaskId);
}
