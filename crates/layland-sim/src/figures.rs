//! The most frequent simulation of `layland sim`, compiled here: generic code is compiled where it
//! is used, and the profile `release` does not optimise the command.

use crate::options::{Outcome, SimError, SimOptions};
use crate::recurrent;
use crate::simulator::simulate;
use layland_model::System;
use layland_policy::Policy;
use layland_trace::{Both, FirstMiss, Refusals, Statistics, TaskCounters};

/// The recording of a run: figures, the first miss, and refusals.
pub type Figures = Both<Statistics, Both<FirstMiss, Refusals>>;

/// [`simulate`] with these types. If the schedule recurs soon, the figures of a long run follow from
/// those of a few turns of its cycle.
///
/// # Errors
/// As for [`simulate`].
///
/// # Panics
/// If the policy breaks its contract.
pub fn simulate_figures(
    system: &System,
    policy: Box<dyn Policy>,
    recorder: &mut Figures,
    options: &SimOptions<'_>,
) -> Result<Outcome<Box<dyn Policy>>, SimError> {
    // Earlier counts of the recorder are not part of a cycle.
    let is_new = recorder.0.counters().total() == TaskCounters::default();
    if is_new && let Some((figures, outcome)) = recurrent::figures(system, &*policy, options) {
        *recorder = figures;
        return Ok(outcome.with_policy(policy));
    }
    simulate(system, policy, recorder, options)
}
