//! A simulation as charts and as one page. All policies are drawn over the same time window.

mod chart;
mod part;
mod report;
mod words;

use layland_answers::simulate::{PolicyRun, Ran};
use layland_answers::{Set, SimulateQuestion, Simulated, Unanswered};
use layland_model::Time;
use layland_trace::Recorder;
use std::sync::atomic::AtomicBool;

/// The part of a simulation that charts and pages show.
#[derive(Clone, Copy, Debug)]
pub struct ChartSpan {
    /// The interval that charts show; by default around the first miss, and in a page the whole
    /// run.
    pub window: Option<(Time, Time)>,
    /// The largest number of segments per policy in a page. A longer run is cut, and the page says
    /// so.
    pub segments: u64,
}

impl Default for ChartSpan {
    fn default() -> ChartSpan {
        ChartSpan { window: None, segments: 1_000_000 }
    }
}

impl ChartSpan {
    /// Checks that the window is within the simulation of a set, as far as its end is known
    /// beforehand.
    ///
    /// # Errors
    /// If the window begins at the end, or later.
    pub fn within(&self, question: &SimulateQuestion, set: &Set) -> Result<(), Unanswered> {
        match (self.window, question.latest_end(set)) {
            (Some((from, _)), Some(end)) if from >= end => Err(Unanswered::usage(format!(
                "the window begins at {from}, and the simulation ends at {end}"
            ))
            .help("choose an earlier --window or a later --until")),
            _ => Ok(()),
        }
    }
}

/// A simulation, with the part of it that is shown.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub simulated: &'a Simulated,
    pub shown: ChartSpan,
    /// Ends the recording of what is shown.
    pub interrupt: &'a AtomicBool,
}

impl View<'_> {
    /// Simulates again up to some time, and records it. Returns true if that was interrupted.
    pub(crate) fn record<R: Recorder>(
        &self,
        ran: &Ran,
        until: Time,
        recorder: &mut R,
    ) -> Result<bool, Unanswered> {
        self.simulated.record(ran, until, recorder, Some(self.interrupt))
    }

    /// Returns the title of the run of a policy.
    pub(crate) fn title(&self, policy: &PolicyRun) -> String {
        format!("{} under {}", self.simulated.set.name, policy.spec)
    }
}
