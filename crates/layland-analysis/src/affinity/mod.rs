//! Processor affinities: each task may use some of the CPUs.
//!
//! - [`feasibility`]: can any scheduler do it? Exact for implicit deadlines;
//! - [`hpa_speed`]: how much faster CPUs let hierarchical EDF do whatever is feasible.

pub mod feasibility;
pub mod hpa_speed;
