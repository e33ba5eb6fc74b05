//! Layland's report: recorded runs, guarantees, tables and distributions in one HTML file that
//! opens from disk, without a network and without other files.
//!
//! A [`Report`] is a plain value: commands fill it and call
//! [`html`](Report::html). The page presents the most important results
//! first, and then the runs, one below the other on a common time axis.
//!
//! ```
//! use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
//! use layland_report::{Line, Report, Run, Severity};
//! use layland_trace::{Job, JobEnd, Labels, Recorder, Segment, Trace};
//! let mut trace = Trace::default();
//! let id = JobId { task: TaskId(0), seq: 0 };
//! let (start, end) = (Time::ZERO, Time::from_ms(3));
//! trace.executed(&Segment { job: id, cpu: CpuId(0), start, end, overhead: Duration::ZERO });
//! let job = Job { id, arrival: start, release: start, deadline: Time::from_ms(2) };
//! trace.ended(&job, end, JobEnd::Completed, Service::from_ms(3));
//! trace.over(Time::from_ms(4), false);
//!
//! let labels = Labels { tasks: vec!["<brake>".to_owned()].into(), cpus: 1, ..Labels::default() };
//! let mut report = Report::new("An example", labels);
//! report.runs.push(Run::new("g-edf", trace));
//! report.lines.push(Line::new(Severity::Bad, "g-edf misses a deadline"));
//! let html = report.html();
//! assert!(html.starts_with("<!doctype html>") && html.contains("&lt;brake&gt;"));
//! ```
//!
//! The page keeps 64-bit times exact (see `encode.rs`). Its scripts are the files in `assets/js`,
//! concatenated in one function. uPlot draws distributions (MIT, its license text is in
//! `assets/vendor` and in every page).

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod distribution;
mod encode;
mod guarantee;
mod line;
mod page;
pub mod playground;
mod report;
mod run;
mod story;

pub use distribution::{Distribution, Series};
pub use encode::COLUMNS;
pub use guarantee::{Answer, Growth, Guarantee, GuaranteedTask, Guarantees, TaskBound, TestResult};
pub use line::{Line, Severity};
pub use report::{Report, Table};
pub use run::Run;
pub use story::{blame, headline};
