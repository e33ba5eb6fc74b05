//! A recorded run, as a report shows it.

use layland_model::Time;
use layland_trace::{Labels, Statistics, Summary, Trace};

/// A recorded run with its name.
#[derive(Clone, Debug)]
pub struct Run {
    /// The policy, or what tells this run from the others.
    pub name: String,
    /// What happened.
    pub trace: Trace,
    /// The part of time in which the trace is complete; by default all of the run.
    pub shown: Option<(Time, Time)>,
    /// The figures of the whole run, if the trace is only a part of it.
    pub summary: Option<Summary>,
    /// What else there is to say about it.
    pub note: Option<String>,
}

impl Run {
    /// A run whose whole trace is there.
    pub fn new(name: impl Into<String>, trace: Trace) -> Run {
        Run { name: name.into(), trace, shown: None, summary: None, note: None }
    }

    /// The part of time that the trace covers.
    pub(crate) fn shown(&self) -> (Time, Time) {
        self.shown.unwrap_or((Time::ZERO, self.trace.over))
    }

    /// The figures of the run: those given, or those of the trace.
    pub(crate) fn figures(&self, labels: &Labels) -> Summary {
        self.summary.clone().unwrap_or_else(|| {
            let mut statistics = Statistics::default();
            self.trace.replay(&mut statistics);
            statistics.summary(labels)
        })
    }
}
