//! Processor affinities: each task may use some of the CPUs.
//!
//! - [`feasibility`]: can any scheduler meet the deadlines? Exact for implicit deadlines;
//! - [`fixed_priority`], [`edf`]: response times, for weak, strong and hierarchical scheduling;
//! - [`busy`]: tighter response times, with limited carry-in and the CPUs that a job reaches;
//! - [`lag`]: the tardiness where the CPUs are not overloaded, under strong and hierarchical EDF,
//!   and under `SCHED_DEADLINE`, repaired for semi-partitioned systems;
//! - [`hpa_speed`]: the factor by which CPUs must be faster for hierarchical EDF to schedule every
//!   feasible set.

pub mod busy;
pub mod edf;
pub mod feasibility;
pub mod fixed_priority;
pub mod hpa_speed;
pub mod lag;
pub mod reduction;
