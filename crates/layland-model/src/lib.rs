//! Layland's vocabulary as plain values: points, lengths and amounts in time, exact rates, CPUs,
//! tasks, platforms and the [`System`] that a task-set file describes.
//!
//! Nothing in here knows a scheduling policy, a file format or a floating-point deadline.

mod algorithm;
mod citation;
mod cpuset;
mod id;
pub mod note;
mod platform;
mod rate;
mod rule;
mod system;
mod task;
mod time;
mod validity;
mod wording;

pub use algorithm::{Algorithm, Form, Mechanism, Order, PriorityAssignment};
pub use citation::Citation;
pub use cpuset::{CpuSet, ParseCpuSetError};
pub use id::{CpuId, CpuMap, IdVec, Index, JobId, TaskId, TaskMap};
pub use note::Note;
pub use platform::{Overheads, Platform, Speed};
pub use rate::{Rate, RateSum};
pub use rule::{Group, JobOrder, MoveReason, ScheduleRule};
pub use system::{Change, Provenance, Request, RequestKind, System};
pub use task::{Behaviour, Criticality, ExecutionModel, Levels, Separation, Task};
pub use time::{Duration, ParseTimeError, Service, TIME_LIMIT, Time};
pub use validity::{Field, Invalid, SystemPart};
pub use wording::{counted, nearest};
