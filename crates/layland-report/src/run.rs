//! A recorded run, as shown in a report.

use layland_model::Time;
use layland_trace::{Labels, Statistics, Summary, Trace};

/// A recorded run with its name.
#[derive(Clone, Debug)]
pub struct Run {
    /// The policy, or another name that distinguishes this run from the others.
    pub name: String,
    /// The trace of the run.
    pub trace: Trace,
    /// The range of time in which the trace is complete; by default the whole run.
    pub shown: Option<(Time, Time)>,
    /// The figures of the whole run, if the trace is only a part of it.
    pub summary: Option<Summary>,
    /// A further remark on the run.
    pub note: Option<String>,
}

impl Run {
    /// Returns a run with a complete trace.
    pub fn new(name: impl Into<String>, trace: Trace) -> Run {
        Run { name: name.into(), trace, shown: None, summary: None, note: None }
    }

    /// Returns the range of time that the trace covers.
    pub(crate) fn shown(&self) -> (Time, Time) {
        self.shown.unwrap_or((Time::ZERO, self.trace.over))
    }

    /// Returns the figures of the run: the given ones, or else those of the trace.
    pub(crate) fn figures(&self, labels: &Labels) -> Summary {
        self.summary.clone().unwrap_or_else(|| {
            let mut statistics = Statistics::default();
            self.trace.replay(&mut statistics);
            statistics.summary(labels)
        })
    }
}
