//! Adaptive mixed criticality (**AMC**): fixed task priorities and a criticality indicator (Baruah, Burns
//! and Davis 2011; Huang, Gill, Lu 2014, Section 2.2).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `phi_i` | `place` | place of the task in the order, highest priority first |
//! | `Gamma` | [`Indicator`] | only jobs of at least this criticality run |
//!
//! Deviation: the paper suspends jobs below the indicator by lowering their priority. Suspended
//! jobs would be carried into the next busy period, where no analysis accounts for them, so they
//! are aborted.

use super::indicator::{Indicator, OwnOverrun};
use super::mechanism::{Choice, Jobs, Mechanism, Pending, highest, places};
use crate::State;
use layland_model::Time;

/// Fixed task priorities with an indicator.
#[derive(Clone, Debug)]
pub struct Adaptive {
    place: Vec<usize>,
    indicator: Indicator,
}

impl Adaptive {
    /// Returns the mechanism for an order of the tasks, highest priority first, and a number of
    /// levels.
    pub fn new(order: &[usize], levels: usize, own_overrun: OwnOverrun) -> Adaptive {
        Adaptive { place: places(order), indicator: Indicator::new(levels, own_overrun) }
    }
}

impl Mechanism for Adaptive {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        self.indicator.overrun(jobs, member);
    }

    fn idle(&mut self, jobs: &mut Jobs) {
        self.indicator.idle(jobs);
    }

    fn arrive(&mut self, jobs: &mut Jobs, _now: Time, arrivals: &[(usize, Pending)]) {
        for &(member, job) in arrivals {
            if self.indicator.admits(jobs, member, job) {
                jobs.admit(member, job);
            }
        }
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        let member = highest(jobs, &self.place, |_| true)?;
        Some(Choice { member, limit: Some(self.indicator.limit(jobs, member)) })
    }

    fn save(&self, _now: Time, state: &mut State) {
        state.number(self.indicator.level() as i64);
    }
}
