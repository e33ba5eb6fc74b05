//! What a policy promises of every schedule that it makes, as data that a trace checker can hold
//! against a trace without knowing the policy.

use crate::{CpuSet, TaskId, TaskMap};

/// A property of a schedule, at every instant.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ScheduleRule {
    /// Nothing beyond what holds for every schedule.
    #[default]
    None,
    /// In each group, the `min(m, ready)` ready jobs that come first in the order run, where `m` is
    /// the number of online CPUs of the group: none waits while a CPU is idle or runs a job behind
    /// it in the order.
    HighestFirst {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// What comes first.
        order: JobOrder,
    },
}

/// CPUs, and the tasks whose jobs they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// A strict order of ready jobs; ties go to the smaller rank, then to the smaller task id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOrder {
    /// Earliest absolute deadline first.
    Deadline,
    /// Smallest number first, one per task.
    Fixed(TaskMap<i64>),
}
