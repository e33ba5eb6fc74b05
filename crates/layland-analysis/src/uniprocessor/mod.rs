//! One CPU, or several whose tasks are pinned to one each: every test examines each CPU.
//!
//! - [`edf`]: earliest deadline first, by processor demand: exact;
//! - [`edf_response`]: the response times of EDF: exact;
//! - [`deferred`]: these analyses with non-preemptive regions;
//! - [`arrivals`]: the arrivals that all of these count, sporadic or by a curve;
//! - [`fixed_priority`]: response times: exact; utilization bounds; the assignment of priorities.
//! - [`sensitivity`]: the largest WCET of one task.

pub mod arrivals;
pub mod deferred;
pub mod edf;
pub mod edf_response;
pub mod fixed_priority;
pub mod schedule_graph;
pub mod sensitivity;
