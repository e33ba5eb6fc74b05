//! Processor affinities: each task may use some of the CPUs.
//!
//! - [`feasibility`]: can any scheduler do it? Exact for implicit deadlines;
//! - [`fixed_priority`], [`edf`]: response times, for weak, strong and hierarchical scheduling;
//! - [`busy`]: the same, tighter: with limited carry-in, and by the CPUs that a job reaches;
//! - [`lag`]: how late jobs can be where the CPUs are not overloaded, under strong and hierarchical EDF, and under
//!   `SCHED_DEADLINE`, repaired for semi-partitioned systems;
//! - [`hpa_speed`]: how much faster CPUs let hierarchical EDF do whatever is feasible.

pub mod busy;
pub mod edf;
pub mod feasibility;
pub mod fixed_priority;
pub mod hpa_speed;
pub mod lag;
pub mod reduction;
