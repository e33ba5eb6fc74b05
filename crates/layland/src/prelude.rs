//! The items that most programs need: `use layland::prelude::*;`.

pub use layland_analysis::{Tardiness, Verdict};
pub use layland_config::{Format, parse_inline};
pub use layland_guarantee::{AssessOptions, Assessment, assess};
pub use layland_model::{
    CpuId, CpuSet, Duration, JobId, Platform, Rate, Service, System, Task, TaskId, Time,
};
pub use layland_policy::{Action, Event, Policy, PolicyInfo, Registry};
pub use layland_sim::{Horizon, SimOptions, simulate};
pub use layland_trace::{Both, Counters, Recorder, Statistics, Trace};
