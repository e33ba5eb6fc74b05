//! What is known of one policy.

use crate::proven::Proven;
use crate::search::Witness;
use crate::stated::Stated;
use layland_analysis::overheads::Inflation;
use layland_analysis::{SchedulabilityTest, Subject, TestKind, Verdict};
use layland_model::{CpuSet, Duration, Rate, Task, TaskId, TaskMap};
use layland_policy::{RefusalKind, SystemRefusal};
use std::sync::Arc;

/// What a test said.
#[derive(Clone)]
pub struct Said {
    /// The test.
    pub test: &'static SchedulabilityTest,
    /// Its finding, or why it does not apply: shared by all policies that become the same system.
    pub finding: Arc<Stated>,
}

/// What is known of how late a task gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Bound {
    /// No job finishes later than this after its arrival; in a run of mixed criticality, none that is covered
    /// ([`Subject::Covered`]).
    Response {
        /// The bound.
        within: Duration,
        /// The analysis.
        by: &'static str,
        /// [`TestKind::Exact`] if it is reached.
        kind: TestKind,
        /// Mixed criticality: the same in runs that belong to each level from the lowest to the task's own; empty
        /// if the analysis does not tell them apart.
        per_level: Vec<Duration>,
    },
    /// No job finishes later than this after its deadline.
    Tardiness {
        /// The bound, in nanoseconds.
        within: Rate,
        /// The analysis.
        by: &'static str,
    },
    /// Nothing.
    Unknown,
}

impl Bound {
    /// A task that may be later than this many periods is not known to do anything in time.
    pub const USEFUL_PERIODS: i64 = 100;

    /// Whether the bound lets jobs be later than [`USEFUL_PERIODS`](Self::USEFUL_PERIODS): true, and of no use but to
    /// say that the task falls behind no further.
    pub fn is_useless(&self, task: &Task) -> bool {
        let most = i128::from(Bound::USEFUL_PERIODS) * i128::from(task.period.ns());
        match self {
            Bound::Response { within, .. } => i128::from((*within - task.deadline).ns()) > most,
            // A fraction is above a whole number if the next whole number is.
            Bound::Tardiness { within, .. } => match within.ceil() {
                Some(within) => i128::from(within) > most,
                None => *within > Rate::of_wide(most, 1),
            },
            Bound::Unknown => false,
        }
    }
}

/// What is known of one policy.
#[derive(Clone)]
pub struct Assessment {
    /// The policy, as `name:option=value`.
    pub spec: String,
    /// Whether every deadline is guaranteed.
    pub verdict: Verdict,
    /// The test that decided.
    pub decided_by: Option<&'static str>,
    /// Why, in sentences without full stops.
    pub reasons: Vec<String>,
    /// Why the policy does not take the system.
    pub refused: Option<SystemRefusal>,
    /// What the tests said, in the order in which they were asked.
    pub said: Vec<Said>,
    /// For each task. Empty if the policy refused.
    pub bounds: TaskMap<Bound>,
    /// What overheads add to each task, where there are any.
    pub inflation: Option<TaskMap<Inflation>>,
    /// By how much WCETs could grow, if that was asked and the policy takes the system.
    pub margin: Option<Margin>,
    /// What proves the answer, if that was asked and the policy takes the system.
    pub proven: Option<Proven>,
    /// The verdict if every task could use its whole cluster. None if every task can, or if the
    /// policy refuses the system with or without affinities.
    pub without_affinities: Option<Verdict>,
    /// The run that misses, if the policy was found to miss by one.
    pub witness: Option<Box<Witness>>,
}

impl Assessment {
    /// Whether the policy is not made for such a system at all: not a matter of how much there is to
    /// do.
    pub fn is_out_of_place(&self) -> bool {
        self.refused.as_ref().is_some_and(|refusal| match refusal.answer.kind {
            RefusalKind::Busy => false,
            RefusalKind::NotPermitted | RefusalKind::Invalid => true,
        })
    }

    /// Whether nothing is known: no test applies, and there is no bound.
    pub fn is_empty(&self) -> bool {
        self.verdict == Verdict::Unknown
            && self.bounds.values().all(|bound| *bound == Bound::Unknown)
            && self
                .said
                .iter()
                .all(|said| said.finding.is_err() || said.test.subject == Subject::SomeScheduler)
    }
}

/// The factors are multiples of a thousandth.
pub(crate) const UNIT: i64 = 1000;

/// By which factor all WCETs can be multiplied so that every deadline is still guaranteed: this one is accepted, and
/// the next larger one is not. What the policy has decided before the start stays as it is: CPUs, priorities, pieces,
/// servers (`kept.rs` has all of it).
///
/// Sufficient tests need not be monotone, so that a factor beyond may be accepted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margin {
    /// The factor, in thousandths.
    pub thousandths: i64,
    /// The obstacle to the next larger factor; none if no factor is accepted.
    pub stopped_by: Option<Stop>,
    /// A larger factor, in thousandths, if one is accepted where the policy decides anew by the larger WCETs: with
    /// tasks on other CPUs, for example. What runs is then another system.
    pub decided_anew: Option<i64>,
}

/// The obstacle to a further growth of WCETs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The task that is no longer guaranteed, as far as the test says.
    pub task: Option<TaskId>,
    /// The CPUs on which that is; none if the test does not tell CPUs apart.
    pub cpus: Option<CpuSet>,
    /// The test that accepts the factor, and not the next one.
    pub test: Option<&'static str>,
    /// Its reason against the next one: a sentence without a full stop.
    pub reason: String,
}

impl Margin {
    /// The factor.
    pub fn factor(&self) -> Rate {
        Rate::new(self.thousandths, UNIT)
    }
    /// The speed that CPUs need, all WCETs as they are; none if no factor is accepted.
    pub fn speed(&self) -> Option<Rate> {
        (self.thousandths > 0).then(|| Rate::new(UNIT, self.thousandths))
    }
    /// [`decided_anew`](Self::decided_anew) as a number.
    pub fn factor_anew(&self) -> Option<Rate> {
        self.decided_anew.map(|thousandths| Rate::new(thousandths, UNIT))
    }
}
