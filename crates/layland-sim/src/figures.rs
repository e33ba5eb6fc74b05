//! The most frequent simulation of `layland sim`, compiled here: generic code is compiled where it
//! is used, and the profile `release` does not optimise the command.

use crate::options::{Outcome, SimError, SimOptions};
use crate::simulator::simulate;
use layland_model::System;
use layland_policy::Policy;
use layland_trace::{Both, FirstMiss, Refusals, Statistics};

/// The recording of a run: figures, the first miss, and refusals.
pub type Figures = Both<Statistics, Both<FirstMiss, Refusals>>;

/// [`simulate`] with these types.
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
    simulate(system, policy, recorder, options)
}
