//! Selects the contents of a chart, and draws it as wide as the terminal.

use super::terminal;
use clap::ValueEnum;
use layland_chart::gantt::{Charset, Colours, Rows, TextOptions};
use layland_model::Time;
use layland_trace::{Segment, Trace};

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

/// Warns if a chart of the requested time window is empty. Otherwise an empty chart would look as
/// if all deadlines were met.
pub(crate) fn tell_if_idle(asked: Option<(Time, Time)>, trace: &Trace, of: &str) {
    let Some((from, to)) = asked else { return };
    let is_within = |segment: &Segment| segment.start < to && from < segment.end;
    if !trace.segments.iter().any(is_within) {
        terminal::warn(&format!("{of}: no job runs from {from:#} to {to:#}"), None);
    }
}
