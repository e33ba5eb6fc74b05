//! Proofs of the answers of tests, for users who want to check an answer independently of the
//! program.
//!
//! Every test states how it proves its answers ([`Certify`]), or why it cannot. The field has no
//! default, so a new test must choose. A proof is made on request, by the same functions that
//! decide.
//!
//! | evidence | proves | how it is checked |
//! |---|---|---|
//! | [`Proof::Reasons`] | the comparisons of a [`Finding`](crate::Finding) | the numbers are computed again from the tasks |
//! | [`Evidence::Points`] | a demand never exceeds its bound | at each point; between two points by monotonicity |
//! | [`Evidence::BusyPeriods`] | response times, fixed priorities | each length is at least the work that arrives in it |
//! | [`Evidence::Levels`] | response times for each criticality level | as for busy periods |
//! | [`Evidence::Slacks`] | each job ends some time before its deadline | each step follows from those before it |
//! | [`Evidence::Rates`] | tasks on a grid of rates fit the CPUs | each rate is enough for its task; their sum |

use crate::{Finding, Reason, SchedulabilityTest, Verdict};
use layland_model::{CpuSet, Duration, System, TaskId};

/// The source of a test's proof.
#[derive(Clone, Copy)]
pub enum Certify {
    /// The reasons of the finding are the proof.
    Reasons,
    /// The function's evidence proves a *yes*; the reasons of the finding prove a *no*.
    By(fn(&System) -> Result<Vec<Part>, &'static str>),
    /// There is no proof; the reason, as a sentence without a full stop.
    Without(&'static str),
}

/// The proof of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The comparisons, orders and partitions of the finding.
    Reasons(Vec<Reason>),
    /// Evidence for each part of the system that is scheduled on its own.
    Parts(Vec<Part>),
}

/// The evidence for some CPUs and their tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The tasks.
    pub tasks: Vec<TaskId>,
    /// The evidence that the tasks meet all deadlines.
    pub evidence: Evidence,
}

/// Evidence that tasks meet their deadlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Lengths of intervals, descending, and an upper bound on the demand in each. The demand does
    /// not decrease as the length grows, so each point covers all shorter lengths down to the one
    /// for which this demand would be too much.
    Points(Vec<Point>),
    /// For each task, the highest priority first: lengths of busy periods that start with one job
    /// of each task and hold one, two, .. jobs of the task. The last of them ends before the next
    /// job of the task can become ready, or just then.
    BusyPeriods(Vec<(TaskId, Vec<Duration>)>),
    /// For each task, the highest priority first: its response times in runs of each level from the
    /// lowest to its own. A single entry is the response time at its own level.
    Levels(Vec<(TaskId, Vec<Duration>)>),
    /// In this order, a slack of a task that follows from the slacks before it.
    Slacks(Vec<(TaskId, Duration)>),
    /// The rates of the tasks, in units of one over this many nanoseconds.
    Rates {
        /// The grid; windows of jobs begin and end at multiples of it.
        unit: Duration,
        /// The numerators.
        rates: Vec<(TaskId, i64)>,
    },
}

/// A length of an interval, and the demand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The task whose job might miss its deadline, if the demand is specific to one task.
    pub task: Option<TaskId>,
    /// The length.
    pub interval: Duration,
    /// The demand, in nanoseconds.
    pub demand: i128,
}

/// A proof with more points or steps is too long to be a useful certificate.
pub(crate) const MOST: usize = 100_000;
pub(crate) const TOO_LONG: &str = "the proof has more than 100000 steps";

impl SchedulabilityTest {
    /// Returns the proof of a finding of this test about this system.
    ///
    /// # Errors
    /// Returns the reason if there is no proof.
    pub fn prove(&self, system: &System, finding: &Finding) -> Result<Proof, &'static str> {
        match (self.certify, finding.verdict) {
            (_, Verdict::Unknown) => Err("nothing is decided"),
            (Certify::Without(why), _) => Err(why),
            (Certify::By(_), Verdict::No) if !finding.reasons.iter().any(shows) => {
                Err("an exhaustive search found nothing, and that has no short proof")
            }
            (Certify::Reasons, _) | (Certify::By(_), Verdict::No) => {
                Ok(Proof::Reasons(finding.reasons.clone()))
            }
            (Certify::By(prove), Verdict::Yes) => prove(system).map(Proof::Parts),
        }
    }
}

/// Returns true if a checker can compute the reason again.
fn shows(reason: &Reason) -> bool {
    match reason {
        Reason::Compared(_)
        | Reason::Largest { .. }
        | Reason::NoBound(..)
        | Reason::NoneCanBeLowest(_) => true,
        Reason::Partition(_)
        | Reason::Split(_)
        | Reason::NotPartitioned(_)
        | Reason::PriorityOrder(_)
        | Reason::AcceptedBy(_)
        | Reason::MayBeLate(_)
        | Reason::StaysLate(_)
        | Reason::DoesNotFit(..)
        | Reason::Holds(_)
        | Reason::JobPattern { .. }
        | Reason::OfGroup(..)
        | Reason::GaveUp(_)
        | Reason::PatternMayNotOccur => false,
    }
}
