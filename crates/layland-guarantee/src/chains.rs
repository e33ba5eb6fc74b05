//! Bounds on cause-effect chains under a policy.
//!
//! Under implicit communication the bounds come from the response bounds of the [`Assessment`].
//! Under logical execution time they are those of the chain alone, and hold if every job ends
//! before it writes, which a response bound has to show. Bounds of mixed-criticality runs are not
//! used, because they cover only some of the jobs.
//!
//! A bound judges the constraints of its chain ([`ChainBound::keeps`]).

use crate::assessment::{Assessment, Bound};
use layland_analysis::chains::{
    ChainAnalysis, Unbounded, davare, implicit_bound, in_time, let_bound, let_exact,
};
use layland_analysis::{TestKind, Verdict};
use layland_model::{
    Chain, Communication, Duration, JobOrder, ScheduleRule, System, TaskId, TaskMap,
};

/// A bound on a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainBound {
    /// The bound on every reaction time and every data age.
    pub within: Result<Duration, Unbounded>,
    /// The analysis that computed it: the name of a [`ChainAnalysis`].
    pub by: &'static str,
    /// [`TestKind::Exact`] if it is reached.
    pub kind: TestKind,
}

impl ChainBound {
    fn new(within: Result<Duration, Unbounded>, by: ChainAnalysis) -> ChainBound {
        ChainBound { within, by: by.name, kind: by.kind }
    }

    /// Judges a constraint on the reaction time or the data age: *yes* if the bound is within it,
    /// *no* if the bound exceeds it and is reached.
    ///
    /// ```
    /// use layland_analysis::{TestKind, Verdict};
    /// use layland_guarantee::ChainBound;
    /// use layland_model::Duration;
    /// let within = Ok(Duration::from_ms(45));
    /// let bound = ChainBound { within, by: "LET", kind: TestKind::Exact };
    /// assert_eq!(bound.keeps(Duration::from_ms(45)), Verdict::Yes);
    /// assert_eq!(bound.keeps(Duration::from_ms(44)), Verdict::No);
    /// let bound = ChainBound { by: "Davare", kind: TestKind::Sufficient, ..bound };
    /// assert_eq!(bound.keeps(Duration::from_ms(44)), Verdict::Unknown);
    /// ```
    pub fn keeps(&self, constraint: Duration) -> Verdict {
        match self.within {
            Ok(within) if within <= constraint => Verdict::Yes,
            Ok(_) if self.kind == TestKind::Exact => Verdict::No,
            Ok(_) | Err(_) => Verdict::Unknown,
        }
    }

    /// Judges all constraints of the chain of this bound; `None` if it has none.
    pub fn verdict(&self, chain: &Chain) -> Option<Verdict> {
        chain.constraints().map(|constraint| self.keeps(constraint)).reduce(Verdict::both)
    }
}

/// Returns the bounds of the chains of a system, in its order, under a policy with this rule and
/// this assessment.
///
/// The list is empty if the policy refuses the system.
pub fn chain_bounds(
    system: &System,
    rule: &ScheduleRule,
    assessment: &Assessment,
) -> Vec<ChainBound> {
    if system.chains.is_empty() || assessment.refused.is_some() {
        return Vec::new();
    }
    let responses = responses(system, assessment);
    system.chains.iter().map(|chain| bound(system, chain, rule, &responses)).collect()
}

fn bound(
    system: &System,
    chain: &Chain,
    rule: &ScheduleRule,
    responses: &TaskMap<Option<Duration>>,
) -> ChainBound {
    match chain.communication {
        Communication::Implicit => {
            let hides = |from, to| hides(system, rule, from, to);
            let within = implicit_bound(system, chain, responses, hides);
            match davare(system, chain, responses) {
                Ok(sum) if within.is_ok_and(|within| within < sum) => {
                    ChainBound::new(within, ChainAnalysis::DUERR)
                }
                sum => ChainBound::new(sum, ChainAnalysis::DAVARE),
            }
        }
        Communication::Let => {
            let (within, by) = match let_exact(system, chain) {
                Err(Unbounded::ManyJobs) => (let_bound(system, chain), ChainAnalysis::LET_WAITS),
                found => {
                    let reaction = found.map(|found| found.reaction.unwrap_or_default());
                    (reaction, ChainAnalysis::LET)
                }
            };
            // A job that has not ended has no data to write.
            let late = chain.tasks.iter().find(|&&id| {
                let task = &system.tasks[id];
                let within = in_time(task, task.write_after());
                responses[id].is_none_or(|response| response > within)
            });
            let within = match late {
                Some(&late) => within.and(Err(Unbounded::Late(late))),
                None => within,
            };
            ChainBound::new(within, by)
        }
    }
}

/// Returns the bound on the response time of each task, where one holds for every job.
fn responses(system: &System, assessment: &Assessment) -> TaskMap<Option<Duration>> {
    let of = |id: TaskId| {
        if system.levels.is_mixed() {
            return None;
        }
        match assessment.bounds.get(id)? {
            Bound::Response { within, .. } => Some(*within),
            Bound::Tardiness { within, .. } => {
                let late = within.ceil()?;
                system.tasks[id].deadline.checked_add(Duration::from_ns(late))
            }
            Bound::Unknown => None,
        }
    };
    system.tasks.ids().map(of).collect()
}

/// Returns true if no job of `to` starts while one of `from` is ready: on one CPU, preemptively, by
/// fixed priorities, `from` first. The effects of overheads and blocking on that order are not
/// known.
fn hides(system: &System, rule: &ScheduleRule, from: TaskId, to: TaskId) -> bool {
    let ScheduleRule::HighestFirst { groups, order: JobOrder::Fixed(keys), .. } = rule else {
        return false;
    };
    if !system.platform.overheads.is_zero() || system.has_blocking() {
        return false;
    }
    let key = |id: TaskId| (keys[id], system.tasks[id].rank, id);
    let are_together = groups.iter().any(|group| {
        group.cpus.len() == 1 && [from, to].iter().all(|task| group.tasks.contains(task))
    });
    are_together && key(from) < key(to)
}
