//! The reliability of an estimate, by the number of jobs and by how their arrivals fit.

use super::arrivals::{Arrivals, Pattern};

/// The reliability of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// Few jobs, or gaps that do not fit the pattern.
    Guess,
    /// Ten or more periodic jobs, most of whose gaps fit, or a hundred or more other ones.
    Likely,
    /// A hundred or more periodic jobs, nearly all of whose gaps fit.
    Sure,
}

impl Sureness {
    /// Estimates from fewer jobs than this are guesses.
    pub const FEWEST: usize = 10;
    /// The number of jobs from which an estimate can be sure.
    pub const MANY: usize = 100;

    /// Returns the reliability as a word.
    pub fn word(self) -> &'static str {
        match self {
            Sureness::Guess => "a guess",
            Sureness::Likely => "likely",
            Sureness::Sure => "sure",
        }
    }

    pub(super) fn of(arrivals: &Arrivals, jobs: usize, is_whole: bool) -> Sureness {
        let count = jobs.min(arrivals.count);
        let (period, jitter) = match &arrivals.pattern {
            Pattern::Periodic { period, jitter, .. } => (*period, *jitter),
            // The separation is a bound, and no number of observed jobs proves a bound.
            Pattern::Sporadic { .. } | Pattern::Bursts { .. }
                if count >= Sureness::MANY && is_whole =>
            {
                return Sureness::Likely;
            }
            Pattern::Sporadic { .. } | Pattern::Bursts { .. } => return Sureness::Guess,
        };
        let is_narrow = jitter.ns() <= period.ns() / 2;
        match (count, arrivals.fitting) {
            (..Sureness::FEWEST, _) | (_, ..500) if !(count >= Sureness::MANY && is_narrow) => {
                Sureness::Guess
            }
            (Sureness::MANY.., 950..) if is_whole => Sureness::Sure,
            _ => Sureness::Likely,
        }
    }
}
