//! Zero-slack scheduling (Huang et al. 2014, Section 2.3).

use crate::{Answer, MixedSet};
use layland_model::{Duration, TaskId, TaskMap};

/// What the analysis finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeroSlack {
    /// The tasks, highest priority first: rate monotonic.
    pub order: Vec<TaskId>,
    /// `Z_i`, from the release; none if there is no feasible value (or a task on which it depends has none).
    /// A task with `Z_i = D_i` needs no timer.
    pub zero_slack: TaskMap<Option<Duration>>,
    /// Whether every task has one.
    pub answer: Answer,
}

/// The original method, as far as Table I lets it be reconstructed. Not sound.
pub fn paper(set: &MixedSet) -> ZeroSlack {
    let _ = set;
    unimplemented!()
}

/// Zero-slack instants that hold for every pattern of releases. Sound.
pub fn safe(set: &MixedSet) -> ZeroSlack {
    let _ = set;
    unimplemented!()
}
