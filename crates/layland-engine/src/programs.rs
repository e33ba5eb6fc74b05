//! Programs: tasks that join and leave during a run.
//!
//! A program that enters becomes a task: it receives the lowest free [`TaskId`], and the policy
//! decides whether to admit it ([`Event::Join`](layland_policy::Event::Join)). When the program has
//! left, or was refused, another program can reuse its id. The old and the new task cannot be
//! confused:
//!
//! - The sequence numbers continue: the first job of the new task follows the last one of the old
//!   task, so that a [`JobId`](layland_model::JobId) names one job of the whole run.
//! - An id is free only after the decision that follows its `Leave`. By then the policy has made
//!   its last decision about the old task.
//! - Nothing of the old task is pending any more: no arrival, no ready job, no dates.
//!
//! A task of the set that has left frees its id as well, unless a later request of the set names
//! it.

use layland_model::{CpuId, Task, TaskId, Time};
use layland_policy::Refusal;
use std::sync::Arc;

/// An arrival or departure of a program or a CPU.
#[derive(Clone, Debug, PartialEq)]
pub enum Visit {
    /// A program asks to enter with these parameters. Offset and listed releases count from now.
    Enters(Arc<Task>),
    /// The program with this task id leaves.
    Leaves(TaskId),
    /// The thread of this program has woken up: a job has arrived at `at`. This is for tasks whose
    /// jobs arrive when their threads wake up, and whose streams release no jobs (`jobs` is 0). A
    /// task with a ready job continues with that job.
    Wakes {
        /// The task.
        task: TaskId,
        /// The time of the wake-up; at the latest now.
        at: Time,
    },
    /// A CPU of the machine comes or goes.
    Cpu {
        /// The CPU.
        cpu: CpuId,
        /// True if the CPU is available from now on.
        online: bool,
    },
}

/// A source of programs: a list, a generator, a socket.
pub trait Programs {
    /// Returns the time at which the next program joins or leaves; [`Time::NEVER`] if none does.
    fn next(&self) -> Time;
    /// Removes and returns the next change, if it happens by `now`.
    fn visit(&mut self, now: Time) -> Option<Visit>;
    /// Reports the id of the program that asked to enter last, which is admitted unless it is
    /// refused.
    fn entered(&mut self, now: Time, task: TaskId, refused: Option<&Refusal>);
}

/// A source without programs: all tasks are those of the set.
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
