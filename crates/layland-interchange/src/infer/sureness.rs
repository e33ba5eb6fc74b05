//! How far an estimate can be believed, by the number of jobs and by how their arrivals fit.

use super::arrivals::{Arrivals, Pattern};

/// How far an estimate can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// Few jobs, or gaps that fit no period.
    Guess,
    /// Ten jobs or more, of which most gaps fit.
    Likely,
    /// A hundred jobs or more, of which nearly all gaps fit, or nothing is claimed but the least gap.
    Sure,
}

impl Sureness {
    /// Fewer jobs than this are no more than a guess.
    pub const FEWEST: usize = 10;
    /// So many jobs are much.
    pub const MANY: usize = 100;

    /// In a word.
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
            // What is claimed is a bound, of which no number of jobs makes sure.
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
