//! Options that several families of policies have, read into types. Analyses and front ends read them
//! here, too, so that a default stands in one place.

use crate::{PolicyOptions, Refusal};
use layland_model::Protocol;
use layland_offline::Heuristic;

/// The way in which a policy gives each task its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The first partition that the test of the policy accepts.
    Auto,
    /// The affinities of the tasks say it.
    Given,
    /// A bin-packing heuristic chooses.
    By(Heuristic),
}

impl Fit {
    /// Reads the option `fit`; none if it is not given.
    ///
    /// # Errors
    /// If it is neither `auto`, nor `given`, nor a heuristic.
    pub fn of(options: &PolicyOptions) -> Result<Option<Fit>, Refusal> {
        let Some(text) = options.text("fit") else { return Ok(None) };
        match text {
            "auto" => return Ok(Some(Fit::Auto)),
            "given" => return Ok(Some(Fit::Given)),
            _ => {}
        }
        let heuristic = text.parse().map_err(|_| {
            let known = Heuristic::ALL.map(|heuristic| heuristic.to_string()).join(", ");
            Refusal::invalid(format!(
                "fit=`{text}` is not a packing heuristic: use auto, given or one of {known}"
            ))
        })?;
        Ok(Some(Fit::By(heuristic)))
    }

    /// Returns the heuristic, if only one may choose.
    pub fn heuristic(self) -> Option<Heuristic> {
        match self {
            Fit::Auto | Fit::Given => None,
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

/// Returns true if tasks that share resources must share a CPU: the protocol is for one CPU.
pub(crate) fn locks_on_one_cpu(options: &PolicyOptions) -> bool {
    let Some(named) = options.text("locks") else { return true };
    let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.abbreviation() == named);
    protocol.is_none_or(|protocol| match protocol {
        Protocol::Plain
        | Protocol::Inheritance
        | Protocol::Ceiling
        | Protocol::ImmediateCeiling
        | Protocol::Stack => true,
        Protocol::Mpcp | Protocol::Dpcp | Protocol::FmlpPlus | Protocol::Msrp => false,
    })
}
