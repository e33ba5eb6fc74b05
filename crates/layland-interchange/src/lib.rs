//! Converts between Layland's traces and the formats of other tools.
//!
//! ```text
//!                  +--> perfetto   ui.perfetto.dev
//!   Trace, Labels -+--> tables     polars, DuckDB, pandas
//!                  +<-> st_trace   LITMUS^RT
//!                  +<-> kernel     trace-cmd, perf, tracefs
//! ```
//!
//! | module | format | for |
//! |---|---|---|
//! | [`perfetto`] | Perfetto trace, `.pftrace` | <https://ui.perfetto.dev>, its trace processor and SQL |
//! | [`tables`] | Parquet, one file per table | polars, DuckDB, pandas, Spark, R |
//! | [`st_trace`] | the scheduling traces of LITMUS^RT | its `st-draw`, `st-job-stats`, `st-dump`, and traces of its kernels |
//! | [`kernel`] | Linux kernel traces as text | `trace-cmd`, `perf script`, tracefs, and our own runs |
//! | [`rt_app_log`] | the logs of rt-app, one for each thread | statistics of its loops |
//!
//! [`infer`](mod@infer) derives a task set from a
//! trace of threads about which nothing else is known.
//!
//! [`columns`] writes tables; the experiments use it, too. Every writer
//! produces the same bytes for the same trace on any machine, and no input
//! makes a reader panic. Perfetto, tables and `st_trace` can also be written
//! while a run is reported, in bounded memory for runs of any length.
//!
//! ```
//! use layland_interchange::kernel;
//! use layland_model::{CpuId, Duration, JobId, TaskId, Time};
//! use layland_trace::{Labels, Recorder, Segment, Trace};
//! let mut trace = Trace::default();
//! let job = JobId { task: TaskId(0), seq: 0 };
//! let (start, end, overhead) = (Time::from_ms(1), Time::from_ms(3), Duration::ZERO);
//! trace.executed(&Segment { job, cpu: CpuId(0), start, end, overhead });
//! trace.over(Time::from_ms(4), false);
//! let labels = Labels { tasks: vec!["brake".to_owned()].into(), cpus: 1, ..Labels::default() };
//!
//! // As the kernel of a machine would have traced it: any tool for such traces reads this.
//! let text = kernel::write(&trace, &labels, 0);
//! assert!(text.contains("next_comm=brake"));
//! ```

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

#[cfg(feature = "tables")]
pub mod columns;
pub mod infer;
pub mod kernel;
pub mod perfetto;
#[cfg(test)]
mod random;
pub mod rt_app_log;
mod sorter;
pub mod st_trace;
#[cfg(feature = "tables")]
pub mod tables;
