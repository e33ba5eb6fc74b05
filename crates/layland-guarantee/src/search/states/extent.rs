//! The question that a search answers: which jobs, when they arrive, and how far to look.

use layland_analysis::Assumption;
use layland_model::Duration;

/// The instants at which jobs may arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalGrid {
    /// Whole multiples of this time.
    Tick(Duration),
    /// Whole multiples of a part of the *unit*, the longest time of which all WCETs, deadlines and
    /// periods are multiples: of one half of it for 2. Times that are not whole nanoseconds
    /// are rounded down, which keeps separations and the order of deadlines.
    Unit(u32),
}

/// The jobs that a search takes for those of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenJobs {
    /// Those of the set, with ties broken as the policy breaks them.
    Own,
    /// Those of the set. Where the last places fall to jobs of equal priority, any of them may run,
    /// and they are chosen anew at each tick. This covers every rule for ties, and more: a job that is
    /// late so may be late under no policy.
    OwnAnyTies,
    /// With WCETs that are rounded up to ticks, and then larger by one, and ties as under
    /// [`OwnAnyTies`](Self::OwnAnyTies). If no such job is late, no job of the set is late, whenever
    /// it arrives.
    Inflated,
}

/// The extent of a search.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The jobs.
    pub jobs: TakenJobs,
    /// The instants at which jobs may arrive.
    pub grid: ArrivalGrid,
    /// The limit on states: at most [`MOST_STATES`].
    pub states: usize,
    /// True if responses have to be exact, which can take several times as long.
    pub wants_responses: bool,
}

/// The assumptions of [`explore`](super::explore), besides arrivals at ticks.
pub const ASSUMES: [Assumption; 10] = [
    Assumption::SporadicReleases,
    Assumption::NoJitter,
    Assumption::ConstrainedDeadlines,
    Assumption::WcetKept,
    Assumption::NoOverheads,
    Assumption::UnitSpeeds,
    Assumption::NoRequests,
    Assumption::Independent,
    Assumption::NoCacheDelay,
    Assumption::Explained,
];

/// The limit on states of any search. A state takes up to 100 bytes where no part has more than eight
/// tasks and no period is longer than 255 units. A search ends at three gigabytes anyway.
pub const MOST_STATES: usize = 10_000_000;
