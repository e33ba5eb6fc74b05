//! Gantt charts of a window of a [`Trace`]: as text for a terminal, and as SVG for a paper.
//!
//! ```
//! use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
//! use layland_chart::gantt::{Lanes, TextOptions, View};
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
//! let labels = Labels { tasks, cpus: 1, levels: vec![] };
//! let options = TextOptions { width: 51, lanes: Lanes::Tasks, ..TextOptions::default() };
//! let chart = View::new(&trace, &labels).text(&options);
//! assert_eq!(
//!     chart,
//!     "\
//! 0ns to 10ms, 2 tasks, 1 CPU, 1 deadline miss
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
mod scene;
mod svg;
mod text;
mod tikz;

pub use svg::SvgOptions;
pub use text::{Charset, Colours, TextOptions};
pub use tikz::TikzOptions;

use layland_model::{Duration, TaskId, Time, counted};
use layland_trace::{Labels, Trace};
use std::collections::BTreeMap;
use std::fmt;

/// A window of a trace, to be drawn. Times are not negative.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    trace: &'a Trace,
    labels: &'a Labels,
    from: Time,
    to: Time,
}

/// Which lanes a chart has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lanes {
    /// One per CPU: which task runs where.
    Cpus,
    /// One per task: releases, deadlines, misses, execution, waiting.
    Tasks,
    /// CPUs on top, tasks below.
    #[default]
    Both,
}

impl Lanes {
    fn has_cpus(self) -> bool {
        match self {
            Lanes::Cpus | Lanes::Both => true,
            Lanes::Tasks => false,
        }
    }
    fn has_tasks(self) -> bool {
        match self {
            Lanes::Tasks | Lanes::Both => true,
            Lanes::Cpus => false,
        }
    }
}

/// The most segments that [`View::interesting`] shows.
const INTERESTING_SEGMENTS: usize = 240;

impl<'a> View<'a> {
    /// The whole run.
    pub fn new(trace: &'a Trace, labels: &'a Labels) -> View<'a> {
        View { trace, labels, from: Time::ZERO, to: trace.over }
    }

    /// A window from one time to another; at least one nanosecond is shown.
    pub fn window(self, from: Time, to: Time) -> View<'a> {
        View { from, to, ..self }
    }

    /// The window that is worth a first look: about three times the longest period, around the
    /// first deadline miss or else from the start, but no more than about 240 segments.
    ///
    /// The period of a task is taken to be the least time between two arrivals, or else from an
    /// arrival to its deadline.
    pub fn interesting(trace: &'a Trace, labels: &'a Labels) -> View<'a> {
        let over = trace.over.ns().max(1);
        let span = longest_period(trace).map_or(over, |period| period.ns().saturating_mul(3));
        let span = span.clamp(1, over);
        let missed = trace.jobs.iter().filter_map(|record| {
            let missed_at = scene::missed_at(record, trace.over)?;
            Some((missed_at, record.end.map_or(trace.over, |(at, _)| at)))
        });
        let (from, to) = match missed.min() {
            None => (0, span),
            Some((missed_at, _)) => {
                // Two thirds of the window are before the miss: the reasons are there.
                let from = (missed_at.ns() - span / 3 * 2).clamp(0, over - span);
                (from, from + span)
            }
        };
        let view = View { trace, labels, from: Time::from_ns(from), to: Time::from_ns(to) };
        match missed_focus(&view) {
            None => view.with_few_segments(from),
            Some(focus) => view.with_few_segments(focus.ns()),
        }
    }

    /// The start and the end of the window.
    pub fn bounds(&self) -> (Time, Time) {
        (self.from, self.to)
    }

    /// Halves the window around a point until it has few segments.
    fn with_few_segments(self, focus: i64) -> View<'a> {
        let (mut from, mut to) = (self.from.ns(), self.to.ns());
        loop {
            let segments = self.trace.segments.iter();
            let count = segments.filter(|s| s.start.ns() < to && s.end.ns() > from).count();
            if count <= INTERESTING_SEGMENTS || to - from <= 2 {
                return self.window(Time::from_ns(from), Time::from_ns(to));
            }
            let kept = (count / INTERESTING_SEGMENTS + 1) as i64;
            from = focus - (focus - from) / kept.max(2);
            to = (focus + (to - focus) / kept.max(2)).max(from + 1);
        }
    }

    /// As text for a terminal.
    pub fn text(&self, options: &TextOptions) -> String {
        text::draw(self, options)
    }

    /// As an SVG image: the same bytes for the same trace on any machine, no script, no external
    /// font.
    ///
    /// ```
    /// use layland_chart::gantt::{SvgOptions, View};
    /// use layland_trace::{Labels, Trace};
    /// let (trace, labels) = (Trace::default(), Labels::default());
    /// let svg = View::new(&trace, &labels).svg(&SvgOptions::default());
    /// assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    /// ```
    pub fn svg(&self, options: &SvgOptions) -> String {
        svg::draw(self, options)
    }

    /// As a document for LaTeX, which gives a page of the size of the chart (class `standalone`,
    /// package `tikz`). To put the chart into a paper, copy its `tikzpicture` and the colours above
    /// it, or use the package `standalone` and `\input` the file; then `tikz` is all that the paper needs.
    ///
    /// ```
    /// use layland_chart::gantt::{TikzOptions, View};
    /// use layland_trace::{Labels, Trace};
    /// let (trace, labels) = (Trace::default(), Labels::default());
    /// let tex = View::new(&trace, &labels).tikz(&TikzOptions::default());
    /// assert!(tex.contains("\\begin{tikzpicture}") && tex.ends_with("\\end{document}\n"));
    /// ```
    pub fn tikz(&self, options: &TikzOptions) -> String {
        tikz::draw(self, options)
    }
}

/// The first miss in a window.
fn missed_focus(view: &View) -> Option<Time> {
    let missed =
        view.trace.jobs.iter().filter_map(|record| scene::missed_at(record, view.trace.over));
    missed.filter(|&at| view.from <= at && at <= view.to).min()
}

fn longest_period(trace: &Trace) -> Option<Duration> {
    let mut by_task: BTreeMap<TaskId, Vec<(Time, Time)>> = BTreeMap::new();
    for record in &trace.jobs {
        let job = &record.job;
        by_task.entry(job.id.task).or_default().push((job.arrival, job.deadline));
    }
    let period = |mut jobs: Vec<(Time, Time)>| {
        jobs.sort_unstable();
        let gaps = jobs.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let relative_deadline = || jobs.first().map(|&(arrival, deadline)| deadline - arrival);
        gaps.filter(|&gap| gap > Duration::ZERO).min().or_else(relative_deadline)
    };
    by_task.into_values().filter_map(period).filter(|&period| period > Duration::ZERO).max()
}

/// A time or a length of time that is printed as the types of the model are, whatever its value: a
/// window may end anywhere.
#[derive(Clone, Copy)]
struct Nanoseconds(i64);

impl From<Time> for Nanoseconds {
    fn from(at: Time) -> Self {
        Nanoseconds(at.ns())
    }
}
impl From<Duration> for Nanoseconds {
    fn from(length: Duration) -> Self {
        Nanoseconds(length.ns())
    }
}
impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == i64::MAX {
            return f.write_str("never");
        }
        let (sign, ns) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        // The largest unit that keeps it exact with at most three decimals.
        let units = [("s", 1_000_000_000, 1_000_000), ("ms", 1_000_000, 1_000), ("us", 1_000, 1)];
        let unit = units.into_iter().find(|&(_, scale, step)| ns >= scale && ns % step == 0);
        let Some((unit, scale, step)) = unit else { return write!(f, "{sign}{ns}ns") };
        let decimals = format!(".{:03}", ns % scale / step);
        let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{sign}{}{decimals}{unit}", ns / scale)
    }
}

/// `1 deadline miss`, `no deadline miss`.
fn counted_misses(count: usize) -> String {
    match count {
        0 => "no deadline miss".to_owned(),
        _ => counted(count, "deadline miss"),
    }
}

#[cfg(test)]
mod tests;
