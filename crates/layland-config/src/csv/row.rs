//! The content of a row.

use crate::cpus::Choice;
use layland_model::Task;

/// A task whose affinity is still a selection to be resolved.
pub(super) struct Row {
    pub task: Task,
    pub has_rank: bool,
    pub has_affinity: bool,
    pub affinity: Choice,
}
