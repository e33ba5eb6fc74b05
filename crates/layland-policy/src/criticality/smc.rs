//! Static mixed criticality (**SMC**): fixed task priorities with a cut-off (Huang, Gill, Lu 2014,
//! Sections 2.1 and 3.1). With other orders this is rate- or criticality-monotonic scheduling.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `phi_i` | `place` | place of the task in the order, highest priority first |
//! | `C_i(zeta_i)` | `own_bound` | the limit of the execution of a job |
//!
//! A job that has executed for `C_i(z_i)` and is not complete is aborted. There are no other
//! interventions. The jobs of one task run in the order of their releases.

use super::mechanism::{Choice, Jobs, Mechanism, highest, places};
use super::order::Order;
use layland_model::Time;

/// Fixed task priorities, with or without a cut-off.
#[derive(Clone, Debug)]
pub struct FixedPriority {
    place: Vec<usize>,
    cut_off: bool,
}

impl FixedPriority {
    /// Returns the mechanism for an order of the tasks, highest priority first.
    pub fn new(order: &[usize], cut_off: bool) -> FixedPriority {
        FixedPriority { place: places(order), cut_off }
    }
}

impl Mechanism for FixedPriority {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        jobs.abort_first(member);
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        let member = highest(jobs, &self.place, |_| true)?;
        let limit = self.cut_off.then(|| jobs.members()[member].own_bound());
        Some(Choice { member, limit })
    }

    /// The order is all that there is: a job that cannot run changes nothing.
    fn order(&self) -> Option<Order<'_>> {
        Some(Order { place: &self.place, replaces: false, yields: false })
    }
}
