//! Period transformation (Huang et al. 2014, Section 2.3, Eq. 3).

use crate::{Answer, MixedSet, NoBound};
use layland_model::{TaskId, TaskMap};

/// How a task is cut into slices. The unit is 1 / resolution of a nanosecond: plain nanoseconds for a
/// resolution of 1. The run-time mechanism must use the same integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// `n_i`: how many.
    pub count: i64,
    /// `p_i = floor(K T_i / n_i)`: the length of each. Zero makes the set unschedulable.
    pub length: i64,
    /// `q_i = ceil(K C_i(z_i) / n_i)`: what the task may execute in each.
    pub budget: i64,
}

/// What the analysis finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transformed {
    /// `K`: in how many units a nanosecond is divided.
    pub resolution: i64,
    /// The tasks, highest priority first.
    pub order: Vec<TaskId>,
    /// How each task is cut.
    pub slices: TaskMap<Slices>,
    /// The end of the busy period that starts with the first slice, in units of 1 / `K` ns.
    pub response: TaskMap<Result<i64, NoBound>>,
    /// Whether the set is accepted.
    pub answer: Answer,
}

/// Eq. 3 compared with deadlines. Not sound.
pub fn paper(set: &MixedSet, resolution: i64) -> Transformed {
    let _ = (set, resolution);
    unimplemented!()
}

/// Eq. 3 where every slice must end in its own segment. Sound.
pub fn safe(set: &MixedSet, resolution: i64) -> Transformed {
    let _ = (set, resolution);
    unimplemented!()
}
