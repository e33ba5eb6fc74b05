//! The content of a row.

use crate::cpus::Choice;
use crate::once::Once;
use layland_model::Task;

/// A task whose affinity is still a selection to be resolved.
pub(super) struct Row {
    pub task: Task,
    pub has_rank: bool,
    pub has_affinity: bool,
    pub affinity: Choice,
    /// True for a job that comes once, whose period follows from the other tasks.
    pub is_once: bool,
}

impl Row {
    /// Returns the single job of the task at this position, if it has one.
    pub(super) fn once(&self, task: usize) -> Option<Once> {
        self.is_once.then_some(Once { task, deadline: self.task.deadline })
    }
}
