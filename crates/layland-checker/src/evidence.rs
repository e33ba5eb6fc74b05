//! What is known of how a trace was made, and so of how far its statements reach.

use layland_model::{Duration, Time};
use layland_trace::Foreign;
use layland_trace::json::Recorded;

/// Which time of the set is time 0 of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The start of the run. The trace knows of everything from this time on.
    Known {
        /// Zero, unless the record began later than the run.
        since: Time,
    },
    /// Nothing says so. Arrivals then only have to agree with each other, and numbers may begin anywhere.
    Unknown,
}

/// What is known of how much the jobs of a trace needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Demand {
    /// The execution models of the set drew it, as in a simulation and in a run of ours: a completed job got what its
    /// model allows, no more and no less.
    #[default]
    Drawn,
    /// The world did. A set promises upper bounds to it: a job that needs less than its WCET is as it should be, and
    /// one that gets more is not.
    Bounded,
}

/// What is known of how a trace was made. By default: by a simulation, from time 0, exactly.
///
/// A trace of a real machine has a latency, or jobs that are released when the machine hears of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<'a> {
    /// What lasts no longer is no violation. With a latency above zero: (1) a CPU may be idle, and a job may be
    /// overtaken, for at most so long at a time; (2) a job may get up to so much more or less than its demand and
    /// than its segments supply, for each of its segments; (3) a job may be noticed so much later than it
    /// arrives, and be missing if the trace ends meanwhile. Everything else is as strict as ever.
    pub latency: Duration,
    /// Which time is time 0.
    pub origin: Origin,
    /// What decided how much each job needed.
    pub demand: Demand,
    /// Whether jobs are inferred from sleeps: their numbers and arrivals are no statements, and are not judged.
    pub is_inferred: bool,
    /// Whether jobs are not in the trace before their predecessors have ended, as in the trace of a kernel.
    pub hides_waiting: bool,
    /// Whether a release is when the engine told its policy, and may be late.
    pub releases_are_told: bool,
    /// What arrived before must be there; by default the end of the run, without the latency.
    pub heard_until: Option<Time>,
    /// When the policy decided, in this order; empty if it did so at once. A region that ends between two decisions
    /// does so for the policy with the second one.
    pub decisions: Vec<Time>,
    /// Who else ran.
    pub foreign: &'a [Foreign],
}

impl Default for Evidence<'_> {
    fn default() -> Self {
        Evidence {
            latency: Duration::ZERO,
            origin: Origin::Known { since: Time::ZERO },
            demand: Demand::Drawn,
            is_inferred: false,
            hides_waiting: false,
            releases_are_told: false,
            heard_until: None,
            decisions: Vec::new(),
            foreign: &[],
        }
    }
}

impl<'a> Evidence<'a> {
    /// Of a real machine, as its record says. It has no latency yet.
    pub fn of_record(recorded: &'a Recorded) -> Evidence<'a> {
        Evidence {
            origin: recorded.since.map_or(Origin::Unknown, |since| Origin::Known { since }),
            demand: Demand::Bounded,
            is_inferred: recorded.is_inferred,
            hides_waiting: recorded.is_of_kernel,
            heard_until: recorded.until,
            foreign: &recorded.foreign,
            ..Evidence::default()
        }
    }
}

impl Evidence<'_> {
    /// Of a real machine, with this latency; of a simulation if that is zero.
    pub fn within(latency: Duration) -> Self {
        Evidence { latency: latency.max(Duration::ZERO), ..Evidence::default() }
    }

    /// Whether the trace is one of a real machine.
    pub(crate) fn is_real(&self) -> bool {
        self.latency > Duration::ZERO || self.releases_are_told || self.heard_until.is_some()
    }
}
