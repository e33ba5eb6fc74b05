//! Options that several families of policies have, read into types. Analyses and front ends read them
//! here, too, so that a default stands in one place.

use crate::{PolicyOptions, Refusal};
use layland_offline::Heuristic;

/// The way in which a policy gives each task its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The affinities of the tasks say it.
    Given,
    /// A bin-packing heuristic chooses.
    By(Heuristic),
}

impl Fit {
    /// Reads the option `fit`; none if it is not given.
    ///
    /// # Errors
    /// If it is neither `given` nor a heuristic.
    pub fn of(options: &PolicyOptions) -> Result<Option<Fit>, Refusal> {
        let Some(text) = options.text("fit") else { return Ok(None) };
        if text == "given" {
            return Ok(Some(Fit::Given));
        }
        let heuristic = text.parse().map_err(|_| {
            let known = Heuristic::ALL.map(|heuristic| heuristic.to_string()).join(", ");
            Refusal::invalid(format!(
                "fit=`{text}` is not a packing heuristic: use one of {known}, given"
            ))
        })?;
        Ok(Some(Fit::By(heuristic)))
    }

    /// Returns the heuristic, if one chooses.
    pub fn heuristic(self) -> Option<Heuristic> {
        match self {
            Fit::Given => None,
            Fit::By(heuristic) => Some(heuristic),
        }
    }
}

/// The number of CPUs in each cluster that the policy makes itself, if it makes its own.
///
/// # Errors
/// If `size` is not a number.
pub fn cluster_size(options: &PolicyOptions) -> Result<Option<usize>, Refusal> {
    options.number("size")
}

/// Reads the option `nonpreemptive`: true if no job is preempted once it has begun.
///
/// # Errors
/// If it is neither on nor off.
pub fn never_preempts(options: &PolicyOptions) -> Result<bool, Refusal> {
    options.switch("nonpreemptive", false)
}
