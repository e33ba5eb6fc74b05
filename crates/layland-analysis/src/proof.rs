//! What proves the answer of a test, for who wants to check it without believing the program.
//!
//! Every test says what its proof is ([`Certify`]), or why it has none: the field has no default, so that a new test
//! has to choose. A proof is made when one is asked for, from the same functions that decide.
//!
//! | evidence | proves | how it is checked |
//! |---|---|---|
//! | [`Proof::Reasons`] | what a [`Finding`](crate::Finding) compares | the numbers are computed again from the tasks |
//! | [`Evidence::Points`] | a demand never exceeds its bound | at each point; between two points by monotony |
//! | [`Evidence::BusyPeriods`] | response times, fixed priorities | each length is at least what arrives in it |
//! | [`Evidence::Levels`] | the same for each criticality level | the same |
//! | [`Evidence::Slacks`] | each job ends some time before its deadline | each step follows from those before it |
//! | [`Evidence::Rates`] | tasks on a grid of rates fit the CPUs | each rate is enough for its task; their sum |

use crate::{Finding, Reason, SchedulabilityTest, Verdict};
use layland_model::{CpuSet, Duration, System, TaskId};

/// Where the proof of a test comes from.
#[derive(Clone, Copy)]
pub enum Certify {
    /// The reasons of the finding say all.
    Reasons,
    /// A *yes* is proved by what this finds, a *no* by the reasons of the finding.
    By(fn(&System) -> Result<Vec<Part>, &'static str>),
    /// There is none: why, as a sentence without a full stop.
    Without(&'static str),
}

/// What proves an answer.
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
    /// Why their tasks meet all deadlines.
    pub evidence: Evidence,
}

/// What shows that tasks meet their deadlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Lengths of intervals, descending, and what may be asked for in each. It does not fall with the length, so that
    /// each point stands for all lengths down to where so much is too much.
    Points(Vec<Point>),
    /// For each task, the highest priority first: lengths of busy periods that start with one job of each task and
    /// hold one, two, .. jobs of the task, until the next job of the task comes later.
    BusyPeriods(Vec<(TaskId, Vec<Duration>)>),
    /// For each task, the highest priority first: its response time in runs of each level from the lowest to its own;
    /// with one entry: at its own level alone.
    Levels(Vec<(TaskId, Vec<Duration>)>),
    /// In this order, a slack of this task, which follows from those that are known before.
    Slacks(Vec<(TaskId, Duration)>),
    /// The rates of the tasks, in units of one over this many nanoseconds.
    Rates {
        /// The grid: windows of jobs begin and end at multiples of it.
        unit: Duration,
        /// The numerators.
        rates: Vec<(TaskId, i64)>,
    },
}

/// A length of an interval, and the demand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The task whose job might miss, if the demand is of one task's view.
    pub task: Option<TaskId>,
    /// The length.
    pub interval: Duration,
    /// The demand, in nanoseconds.
    pub demand: i128,
}

/// More points or steps than this are no certificate that anybody wants to have.
pub(crate) const MOST: usize = 100_000;
pub(crate) const TOO_LONG: &str = "the proof has more than 100000 steps";

impl SchedulabilityTest {
    /// What proves a finding of this test about this system.
    ///
    /// # Errors
    /// Why there is no proof.
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

/// Whether the reason is something that can be computed again.
fn shows(reason: &Reason) -> bool {
    match reason {
        Reason::Compared(_) | Reason::NoBound(..) | Reason::NoneCanBeLowest(_) => true,
        Reason::Partition(_)
        | Reason::Split(_)
        | Reason::NotPartitioned(_)
        | Reason::PriorityOrder(_)
        | Reason::AcceptedBy(_)
        | Reason::MayBeLate(_)
        | Reason::DoesNotFit(..)
        | Reason::Holds(_)
        | Reason::JobPattern { .. }
        | Reason::GaveUp(_)
        | Reason::PatternMayNotOccur => false,
    }
}
