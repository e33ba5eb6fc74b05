//! Layland's traces: what every engine reports while it runs ([`Recorder`]), and what is made of
//! it. A recorded run is a [`Trace`].

pub mod csv;
pub mod diff;
mod indicator;
pub mod inversion;
pub mod json;
mod labels;
mod mark;
mod record;
mod replay;
pub mod statistics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod window;

pub use indicator::{LevelStretch, level_stretches, raised};
pub use labels::Labels;
pub use mark::{Mark, MarkKind};
pub use record::{Answer, Both, Errno, Job, JobEnd, JobRecord, NoRecord, Recorder, Segment, Trace};
pub use statistics::{
    Counters, CpuSummary, Percentiles, Statistics, Summary, TaskCounters, TaskSummary,
};
pub use window::{FirstMiss, Refusals, Window};
