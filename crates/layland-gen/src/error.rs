//! The errors of recipes, each with advice.

use layland_model::{Duration, Rate};

/// The reason why no set was generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenError {
    /// No utilizations within the bounds have the total.
    #[error(transparent)]
    Infeasible(#[from] Box<Infeasible>),
    /// The total is not a multiple of the resolution.
    #[error(
        "the total utilization {total} is not a multiple of 1/{resolution}: round it, or use \
         another resolution"
    )]
    OffGrid {
        /// The total.
        total: Rate,
        /// The number of steps per unit of utilization.
        resolution: u32,
    },
    /// The table of a convolutional sampler would be too large.
    #[error(
        "the table for {tasks} tasks at resolution {resolution} has {entries} entries, and {most} \
         is the limit: use a coarser resolution"
    )]
    TooFine {
        /// The number of utilizations.
        tasks: usize,
        /// The number of steps per unit of utilization.
        resolution: u32,
        /// The number of entries of the table.
        entries: u64,
        /// The limit.
        most: u64,
    },
    /// The table of RandFixedSum would be too large.
    #[error(
        "RandFixedSum for {tasks} tasks needs memory for the square of that number, and {most} tasks \
         are the most: use UUniFast-Discard, UUniFast or a range"
    )]
    TooMany {
        /// The number of utilizations.
        tasks: usize,
        /// The limit.
        most: usize,
    },
    /// The limit of tries was reached.
    #[error("none of {tries} tries {wanted}: {help}")]
    Exhausted {
        /// The number of tries.
        tries: u32,
        /// The condition that no try met, as in "none of 100 tries ..".
        wanted: &'static str,
        /// The advice.
        help: &'static str,
    },
    /// No multiple of the granularity lies between the bounds.
    #[error(
        "no multiple of the granularity {granularity} lies between {min} and {max}: widen the \
         range or use a finer granularity"
    )]
    NoPeriod {
        /// The shortest period.
        min: Duration,
        /// The longest period.
        max: Duration,
        /// The granularity of periods.
        granularity: Duration,
    },
    /// A parameter is out of its range.
    #[error("`{name}` is {value}: {help}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// The condition that the value must satisfy.
        help: &'static str,
    },
    /// A provenance does not describe a recipe.
    #[error("the provenance has {problem} `{name}`: {help}")]
    Provenance {
        /// The name of the parameter.
        name: String,
        /// The kind of the fault.
        problem: &'static str,
        /// The advice.
        help: &'static str,
    },
}

impl GenError {
    pub(crate) fn parameter(
        name: &'static str,
        value: impl ToString,
        help: &'static str,
    ) -> GenError {
        GenError::Parameter { name, value: value.to_string(), help }
    }
}

/// Formats a sum of utilizations with at most six decimals.
fn short(rate: &Rate) -> String {
    let text = format!("{:.6}", rate.to_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bounds within which no utilizations have the total.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{tasks} tasks with utilizations within these bounds add up to {} to {}, and not to {}: change the total, \
     the bounds or the number of tasks",
    short(.least), short(.most), short(.total)
)]
pub struct Infeasible {
    /// The number of utilizations.
    pub tasks: usize,
    /// The sum of the lower bounds.
    pub least: Rate,
    /// The sum of the upper bounds.
    pub most: Rate,
    /// The requested total.
    pub total: Rate,
}
