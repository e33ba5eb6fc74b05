//! The assessment of one policy.

use crate::proven::Proven;
use crate::search::Witness;
use crate::stated::Stated;
use layland_analysis::overheads::Inflation;
use layland_analysis::{SchedulabilityTest, Subject, TestKind, Verdict};
use layland_model::{Assigned, CpuId, CpuSet, Duration, Rate, Service, Task, TaskId, TaskMap};
use layland_policy::{RefusalKind, SystemRefusal};
use std::sync::Arc;

/// A test with its finding.
#[derive(Clone)]
pub struct Said {
    /// The test.
    pub test: &'static SchedulabilityTest,
    /// Its finding, or the reason why it does not apply: shared by all policies that lead to the
    /// same system.
    pub finding: Arc<Stated>,
}

/// A bound on the lateness of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Bound {
    /// No job finishes later than this after its arrival; in a run of mixed criticality, no covered
    /// job ([`Subject::Covered`]).
    Response {
        /// The bound.
        within: Duration,
        /// The analysis.
        by: &'static str,
        /// [`TestKind::Exact`] if it is reached.
        kind: TestKind,
        /// Mixed criticality: the bounds in runs that belong to each level from the lowest to the
        /// task's own; empty if the analysis does not distinguish them.
        per_level: Vec<Duration>,
    },
    /// No job finishes later than this after its deadline.
    Tardiness {
        /// The bound, in nanoseconds.
        within: Rate,
        /// The analysis.
        by: &'static str,
    },
    /// No bound is known.
    Unknown,
}

impl Bound {
    /// A bound of more than this many periods does not show that the task does anything in time.
    pub const USEFUL_PERIODS: i64 = 100;

    /// Returns true if the bound lets jobs be later than [`USEFUL_PERIODS`](Self::USEFUL_PERIODS):
    /// it holds, but shows only that the task falls behind no further.
    pub fn is_useless(&self, task: &Task) -> bool {
        let most = i128::from(Bound::USEFUL_PERIODS) * i128::from(task.period.ns());
        match self {
            Bound::Response { within, .. } => i128::from((*within - task.deadline).ns()) > most,
            // A fraction is above a whole number if and only if its ceiling is.
            Bound::Tardiness { within, .. } => match within.ceil() {
                Some(within) => i128::from(within) > most,
                None => *within > Rate::of_wide(most, 1),
            },
            Bound::Unknown => false,
        }
    }
}

/// The assessment of one policy.
#[derive(Clone)]
pub struct Assessment {
    /// The policy, as `name:option=value`.
    pub spec: String,
    /// States whether every deadline is guaranteed.
    pub verdict: Verdict,
    /// The test that decided.
    pub decided_by: Option<&'static str>,
    /// The reasons of the verdict, in sentences without full stops.
    pub reasons: Vec<String>,
    /// The fullest CPU or the task with the least slack, in words, if every deadline is guaranteed
    /// by a comparison of numbers.
    pub tightest: Option<String>,
    /// The CPU of each task, if the policy assigns each to one.
    pub assignment: Option<TaskMap<Assigned>>,
    /// The refusal, if the policy does not accept the system.
    pub refused: Option<SystemRefusal>,
    /// The findings of the tests, in the order in which they ran.
    pub said: Vec<Said>,
    /// The bound of each task. Empty if the policy refused.
    pub bounds: TaskMap<Bound>,
    /// The additions of overheads to each task, if there are any.
    pub inflation: Option<TaskMap<Inflation>>,
    /// The possible growth of all WCETs, if it was requested and the policy accepts the system.
    pub margin: Option<Margin>,
    /// The limits of each task and CPU, if they were requested and the policy accepts the system.
    pub sensitivity: Option<Sensitivity>,
    /// The proof of the answer, if it was requested and the policy accepts the system.
    pub proven: Option<Proven>,
    /// The verdict of the tests if every task could use its whole cluster. None if every task can, if
    /// the policy refuses the system with or without affinities, or if it is unknown where a search
    /// decides with them.
    pub without_affinities: Option<Verdict>,
    /// The run that misses, if one was found.
    pub witness: Option<Box<Witness>>,
}

impl Assessment {
    /// Returns true if the policy does not support such a system at all, whatever its load.
    pub fn is_out_of_place(&self) -> bool {
        self.refused.as_ref().is_some_and(|refusal| match refusal.answer.kind {
            RefusalKind::Busy => false,
            RefusalKind::NotPermitted | RefusalKind::Invalid => true,
        })
    }

    /// Returns true if nothing is known: no test applies, and there is no bound.
    pub fn is_empty(&self) -> bool {
        self.verdict == Verdict::Unknown
            && self.bounds.values().all(|bound| *bound == Bound::Unknown)
            && self
                .said
                .iter()
                .all(|said| said.finding.is_err() || said.test.subject == Subject::SomeScheduler)
    }
}

/// Factors are multiples of a thousandth.
pub(crate) const UNIT: i64 = 1000;

/// The largest factor by which all WCETs can be multiplied so that every deadline is still
/// guaranteed: it is accepted, and the next larger one is not. The decisions that the policy makes
/// before the start stay as they are: CPUs, priorities, pieces, servers (`kept.rs` lists all of
/// them).
///
/// Sufficient tests need not be monotone, so a larger factor may be accepted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margin {
    /// The factor, in thousandths.
    pub thousandths: i64,
    /// The obstacle to the next larger factor; none if no factor is accepted.
    pub stopped_by: Option<Stop>,
    /// A larger factor, in thousandths, if one is accepted where the policy decides anew by the
    /// larger WCETs: for example, with tasks on other CPUs. The system that runs is then another
    /// one.
    pub decided_anew: Option<i64>,
}

/// The limits under one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensitivity {
    /// The limits of each task.
    pub tasks: TaskMap<Limits>,
    /// The CPUs that have tasks of their own, where the policy assigns each task to one.
    pub cpus: Vec<CpuLimit>,
    /// True if beyond each limit a deadline is missed where jobs may come at any distance from each other.
    /// Otherwise a test refuses the next value, and others beyond may be accepted.
    pub is_exact: bool,
}

/// The limits of a task. `None` where no value is accepted, or the number means nothing for the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The largest WCET, in time on the CPUs of the task. `None` also where they have different speeds.
    pub wcet: Option<Duration>,
    /// The largest WCET, in work: [`Limits::wcet`] times the speed, rounded down.
    pub work: Option<Service>,
    /// The least deadline.
    pub deadline: Option<Duration>,
    /// The least period.
    pub period: Option<Duration>,
    /// The largest release jitter.
    pub jitter: Option<Duration>,
}

/// The limit of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLimit {
    /// The CPU.
    pub cpu: CpuId,
    /// The largest factor by which the WCETs of its tasks can be multiplied, in thousandths; 0 if none is
    /// accepted.
    pub thousandths: i64,
    /// Its speed.
    pub speed: Rate,
}

impl CpuLimit {
    /// Returns the factor.
    pub fn factor(&self) -> Rate {
        Rate::new(self.thousandths, UNIT)
    }

    /// Returns the speed that the CPU needs for the WCETs as they are; `None` if no factor is accepted.
    pub fn least_speed(&self) -> Option<Rate> {
        (self.thousandths > 0).then(|| &self.speed / &self.factor())
    }
}

/// The obstacle to a further growth of WCETs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The task that loses its guarantee, if the test names one.
    pub task: Option<TaskId>,
    /// The CPUs on which it does; none if the test does not distinguish CPUs.
    pub cpus: Option<CpuSet>,
    /// The test that accepts the factor and rejects the next one.
    pub test: Option<&'static str>,
    /// Its reason against the next factor: a sentence without a full stop.
    pub reason: String,
}

impl Margin {
    /// Returns the factor.
    pub fn factor(&self) -> Rate {
        Rate::new(self.thousandths, UNIT)
    }
    /// Returns the speed that CPUs need for the unchanged WCETs; none if no factor is accepted.
    pub fn speed(&self) -> Option<Rate> {
        (self.thousandths > 0).then(|| Rate::new(UNIT, self.thousandths))
    }
    /// Returns [`decided_anew`](Self::decided_anew) as a number.
    pub fn factor_anew(&self) -> Option<Rate> {
        self.decided_anew.map(|thousandths| Rate::new(thousandths, UNIT))
    }
}
