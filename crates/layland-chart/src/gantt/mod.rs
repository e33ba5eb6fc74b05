//! Gantt charts of a window of a [`Trace`](layland_trace::Trace):
//! as text for a terminal, and as SVG, PDF and TikZ for a paper.
//!
//! ```
//! use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
//! use layland_chart::gantt::{Rows, TextOptions, View};
//! use layland_trace::{Job, JobEnd, Labels, Recorder, Segment, Trace};
//! let at = |ms| Time::ZERO + Duration::from_ms(ms);
//! let mut trace = Trace::default();
//! for (task, start, end) in [(0, 0, 4), (1, 4, 10)] {
//!     let id = JobId { task: TaskId(task), seq: 0 };
//!     let job = Job { id, arrival: at(0), release: at(0), deadline: at(8) };
//!     let (start, end) = (at(start), at(end));
//!     trace.executed(&Segment { job: id, cpu: CpuId(0), start, end, overhead: Duration::ZERO });
//!     trace.ended(&job, end, JobEnd::Completed, Service::from_ms(4));
//! }
//! trace.over(at(10), false);
//!
//! let tasks = vec!["fast".to_owned(), "slow".to_owned()].into();
//! let labels = Labels { tasks, cpus: 1, ..Labels::default() };
//! let options = TextOptions { width: 51, rows: Rows::Tasks, ..TextOptions::default() };
//! let chart = View::new(&trace, &labels).text(&options);
//! assert_eq!(
//!     chart,
//!     "\
//! 0 to 10 ms, 2 tasks, 1 CPU, 1 deadline miss
//!            ↑                               ↓
//! A fast     ████████████████
//!            ↑                               ✗      !
//! B slow ✗1  ················████████████████████████
//!            ├───────┬───────┬───────┬───────┬──────┬
//!            0       2       4       6       8     ms
//! ↑ release  ↓ deadline  ✗ missed  ! late end  █ running  · waiting
//! "
//! );
//! ```

mod axis;
mod picture;
mod scene;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod tikz;
mod view;
mod words;

pub use picture::PdfOptions;
pub use svg::SvgOptions;
pub use text::{Charset, Colours, TextOptions};
pub use tikz::TikzOptions;
pub use view::{Rows, View};
