//! One CPU, or several whose tasks are pinned to one each: every test looks at each CPU.
//!
//! - [`edf`]: earliest deadline first, by processor demand: exact;
//! - [`edf_response`]: the response times of EDF: exact;
//! - [`deferred`]: all of that with non-preemptive regions;
//! - [`arrivals`]: what all of these count with, sporadic or by a curve;
//! - [`fixed_priority`]: response times: exact; utilization bounds; the assignment of priorities.

pub mod arrivals;
pub mod deferred;
pub mod edf;
pub mod edf_response;
pub mod fixed_priority;
