//! Fixed job priorities (Huang et al. 2014, Section 3.2): a list of priorities for the jobs of one
//! busy period per task. A larger number is a higher priority, 0 is the lowest, all are distinct.

use crate::{Answer, MixedSet};
use layland_model::{Duration, TaskMap};

/// The most jobs in a busy period by default: beyond it an analysis gives up.
pub const JOBS: u64 = 20_000;

/// A busy period and the priorities of its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Whether the set is accepted.
    pub answer: Answer,
    /// `B(0), B(1), ..`: the length of the busy period per level; none if a level has utilization 1
    /// or more.
    pub busy: Option<Vec<Duration>>,
    /// `n_i`: how many jobs each task has in it.
    pub counts: Option<TaskMap<u64>>,
    /// For each task the priorities of its jobs, falling; none if the set is not accepted.
    pub priorities: Option<TaskMap<Vec<u32>>>,
}

/// The improved job-arrival pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Whether the set is accepted.
    pub answer: Answer,
    /// `B(0), B(1), ..`.
    pub busy: Option<Vec<Duration>>,
    /// `s^1, .., s^N`: the latest change from each level to the next.
    pub change: Option<Vec<Duration>>,
    /// `n_i^0, .., n_i^(N-1)` of each task.
    pub counts: Option<TaskMap<Vec<u64>>>,
    /// For each task the priorities of its jobs, falling; none if the set is not accepted.
    pub priorities: Option<TaskMap<Vec<u32>>>,
}

/// FJP-IJA as the paper's example has it. Not sound.
pub fn ija_paper(set: &MixedSet, jobs: u64) -> Pattern {
    let _ = (set, jobs);
    unimplemented!()
}

/// FJP-IJA with jobs counted by a floor. Not sound.
pub fn ija_floor(set: &MixedSet, jobs: u64) -> Pattern {
    let _ = (set, jobs);
    unimplemented!()
}

/// FJP-LB: jobs from the load. Sound.
pub fn load_based(set: &MixedSet, jobs: u64) -> Jobs {
    let _ = (set, jobs);
    unimplemented!()
}

/// A pattern that no run exceeds, and a test of each job that is sound. Sound with lists that are
/// reused as the policy `plrs` does.
pub fn safe(set: &MixedSet, jobs: u64) -> Jobs {
    let _ = (set, jobs);
    unimplemented!()
}
