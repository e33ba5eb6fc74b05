//! Programs: tasks that come and go while a run goes on, for as long as it goes on.
//!
//! A program that enters becomes a task: it is given the lowest free [`TaskId`], and the policy is asked
//! ([`Event::Join`](layland_policy::Event::Join)). When the program has left, or was refused, its id is free
//! for another one. Nothing of the old task is mistaken for the new one:
//!
//! - The numbers of jobs go on: the first job of the new task follows the last one of the old, so that a
//!   [`JobId`](layland_model::JobId) names one job of the whole run.
//! - An id is free only after the decision that follows its `Leave`: what the policy says of the old task, it has
//!   said by then.
//! - Nothing that the old task had waits any more: no arrival, no ready job, no dates.
//!
//! A task of the set that has left frees its id as well, unless a later request of the set names it.

use layland_model::{CpuId, Task, TaskId, Time};
use layland_policy::Refusal;
use std::sync::Arc;

/// What comes or goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Visit {
    /// It asks to enter, with these parameters. Offset and listed releases count from now.
    Enters(Arc<Task>),
    /// The program that is this task leaves.
    Leaves(TaskId),
    /// The thread of this program has woken: a job of it is there from `at` on. Of tasks whose jobs come when their
    /// threads wake, and whose streams release none (`jobs` is 0). One that has a ready job goes on with it.
    Wakes {
        /// Which.
        task: TaskId,
        /// When, at the latest now.
        at: Time,
    },
    /// A CPU of the machine comes, or goes.
    Cpu {
        /// Which.
        cpu: CpuId,
        /// Whether it is there from now on.
        online: bool,
    },
}

/// Where programs come from: a list, a generator, a socket.
pub trait Programs {
    /// When the next program comes or goes; [`Time::NEVER`] if none does.
    fn next(&self) -> Time;
    /// What happens next, if it happens by `now`.
    fn visit(&mut self, now: Time) -> Option<Visit>;
    /// The program that asked to enter last was given this id, and is let in unless it is refused.
    fn entered(&mut self, now: Time, task: TaskId, refused: Option<&Refusal>);
}

/// No programs come: the tasks are those of the set.
#[derive(Clone, Copy, Debug)]
pub struct NoPrograms;

impl Programs for NoPrograms {
    #[inline]
    fn next(&self) -> Time {
        Time::NEVER
    }
    fn visit(&mut self, _now: Time) -> Option<Visit> {
        None
    }
    fn entered(&mut self, _now: Time, _task: TaskId, _refused: Option<&Refusal>) {}
}
