//! Selects the contents of a chart: its rows and its time window.

use super::terminal;
use clap::ValueEnum;
use layland_chart::gantt::{Charset, Colours, Rows, TextOptions};
use layland_model::{Duration, Time};
use layland_trace::{Segment, Trace};

/// The approximate number of jobs and preemptions that fit into a chart.
pub(crate) const SEGMENTS: i64 = 160;

/// The contents of the chart in the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Chart {
    Tasks,
    Cpus,
    Both,
    None,
}

impl Chart {
    /// Returns the rows of the chart; `None` for no chart.
    pub(crate) fn rows(self) -> Option<Rows> {
        match self {
            Chart::Tasks => Some(Rows::Tasks),
            Chart::Cpus => Some(Rows::Cpus),
            Chart::Both => Some(Rows::Both),
            Chart::None => None,
        }
    }
}

/// Returns the options for drawing a chart with characters, as wide as the terminal.
pub(crate) fn text_options(rows: Rows, charset: Charset, colours: Colours) -> TextOptions {
    TextOptions { width: terminal::width(), rows, charset, colours, ..TextOptions::default() }
}

/// Returns the character set of a chart. `ascii` is the option `--ascii`.
pub(crate) fn charset(ascii: bool) -> Charset {
    if ascii { Charset::Ascii } else { Charset::Unicode }
}

/// Returns a window of about this length within a run up to `end`. Two thirds of it lie before the
/// first miss; without a miss it begins at 0. Both its ends are round numbers.
pub(crate) fn window(span: i64, end: Time, first_miss: Option<Time>) -> (Time, Time) {
    let span = span.clamp(1, end.ns());
    let step = step(span);
    let span = Duration::from_ns(span / step * step);
    let from = first_miss
        .map_or(Time::ZERO, |miss| Time::ZERO.max(miss - Duration::from_ns(span.ns() / 3 * 2)));
    let from = Time::from_ns(from.min(end - span).ns() / step * step);
    (from, from + span)
}

/// Warns if a chart of the requested time window is empty. Otherwise an empty chart would look as
/// if all deadlines were met.
pub(crate) fn tell_if_idle(asked: Option<(Time, Time)>, trace: &Trace, of: &str) {
    let Some((from, to)) = asked else { return };
    let is_within = |segment: &Segment| segment.start < to && from < segment.end;
    if !trace.segments.iter().any(is_within) {
        terminal::warn(&format!("{of}: no job runs from {from:#} to {to:#}"), None);
    }
}

/// Returns the unit of the third digit of a number. Charts begin and end at multiples of it.
fn step(length: i64) -> i64 {
    let mut step = 1;
    while length / step >= 1000 {
        step *= 10;
    }
    step
}
