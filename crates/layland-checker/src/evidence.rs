//! Facts about how a trace was made, and thus about how far its contents can be trusted.

use layland_model::{Duration, Time};
use layland_trace::Foreign;
use layland_trace::json::Recorded;

/// The time of the task set that is time 0 of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The start of the run. The trace covers everything from `since` on.
    Known {
        /// Zero, unless the record began later than the run.
        since: Time,
    },
    /// The origin is unknown. Arrivals only have to agree with each other, and numbers may begin
    /// anywhere.
    Unknown,
}

/// The source of the execution demands of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Demand {
    /// The execution models of the set, as in a simulation and in our own runs. A completed job got
    /// exactly what its model allows.
    #[default]
    Drawn,
    /// The world. A set gives upper bounds for it: a job may need less than its WCET, but not more.
    Bounded,
}

/// Facts about how a trace was made. By default: by an exact simulation, from time 0.
///
/// A trace of a real machine has a latency, or jobs that are released when the machine notices
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<'a> {
    /// Durations up to the latency are not violations. With a latency above zero: (1) a CPU may be
    /// idle, and a job may be overtaken, for at most the latency at a time; (2) a job may get more
    /// or less than its demand, and than its segments supply, by up to the latency for each of its
    /// segments, or by up to the latency and 100 µs for each of its preemptions if its demand is
    /// [`Demand::Bounded`]; (3) a job may be noticed late by up to the latency, and may be missing if the
    /// trace ends before that. All other checks are as strict as without a latency.
    pub latency: Duration,
    /// The origin of the trace's clock.
    pub origin: Origin,
    /// The source of the demand of each job.
    pub demand: Demand,
    /// True if jobs are inferred from sleeps. Their numbers and arrivals are then estimates and are
    /// not checked.
    pub is_inferred: bool,
    /// True if a job enters the trace only after its predecessor has ended, as in the trace of a
    /// kernel.
    pub hides_waiting: bool,
    /// True if a release is the time at which the engine notified its policy, which may be late.
    pub releases_are_told: bool,
    /// Jobs that arrived before this time must be in the trace. By default, the end of the run,
    /// minus the latency.
    pub heard_until: Option<Time>,
    /// The times of the policy's decisions, in ascending order; empty if it decided at once. If a
    /// region ends between two decisions, it ends for the policy at the second one.
    pub decisions: Vec<Time>,
    /// The other threads that ran.
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
    /// Evidence for the trace of a real machine, from its record. The latency is still zero.
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
    /// Evidence for a real machine with this latency, or for a simulation if the latency is zero.
    pub fn within(latency: Duration) -> Self {
        Evidence { latency: latency.max(Duration::ZERO), ..Evidence::default() }
    }

    /// Returns true if the trace is one of a real machine.
    pub(crate) fn is_real(&self) -> bool {
        self.latency > Duration::ZERO || self.releases_are_told || self.heard_until.is_some()
    }
}
