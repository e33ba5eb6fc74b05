//! Draws pictures of schedules and of the results of experiments.
//!
//! ```text
//!   Trace --> gantt::View --+--> text   for a terminal
//!             (a window)    +--> SVG    for a browser, a paper
//!                           +--> TikZ   for LaTeX
//!
//!   shapes --> plot::Picture --+--> SVG
//!              (axes, ticks)   +--> PDF
//! ```
//!
//! [`gantt`] draws a window of a trace: executions, releases, deadlines, misses. [`plot`] contains
//! the elements of figures; an experiment determines their contents. Both write SVG through one
//! writer, and the same input gives the same bytes on any machine.
//!
//! ```
//! use layland_chart::gantt::{SvgOptions, TextOptions, View};
//! use layland_model::{CpuId, Duration, JobId, TaskId, Time};
//! use layland_trace::{Labels, Recorder, Segment, Trace};
//! let mut trace = Trace::default();
//! let job = JobId { task: TaskId(0), seq: 0 };
//! let (start, end, overhead) = (Time::ZERO, Time::from_ms(3), Duration::ZERO);
//! trace.executed(&Segment { job, cpu: CpuId(0), start, end, overhead });
//! trace.over(Time::from_ms(4), false);
//!
//! let labels = Labels::numbered(&trace);
//! let view = View::new(&trace, &labels);
//! assert!(view.text(&TextOptions::default()).starts_with("0 to 4 ms, 1 task, 1 CPU"));
//! assert!(view.svg(&SvgOptions::default()).starts_with("<svg "));
//! ```

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod gantt;
pub mod plot;
#[cfg(feature = "png")]
pub mod png;
mod svg;
