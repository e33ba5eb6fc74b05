//! The parts of a system that are scheduled on their own: clusters, or single CPUs.

use crate::assumption::masks;
use crate::{Finding, Reason, Sporadic, TestKind, Verdict};
use layland_model::{Behaviour, CpuSet, Duration, Rate, RateSum, Separation, System, Task, TaskId};
use std::collections::BTreeMap;

/// CPUs, and the tasks that run on them and nowhere else.
pub(crate) struct Group<'a> {
    pub(crate) cpus: CpuSet,
    pub(crate) tasks: Vec<(TaskId, &'a Task)>,
}

impl<'a> Group<'a> {
    /// The clusters that have tasks, in the order of their lowest CPU. For tasks that may use all
    /// of their cluster.
    pub(crate) fn clusters(system: &'a System) -> Vec<Group<'a>> {
        // Clusters are disjoint: each is a group, and none is looked for.
        let group = |cpus: &CpuSet| Group { cpus: cpus.clone(), tasks: Vec::new() };
        let mut groups: Vec<Group<'a>> = system.platform.clusters.iter().map(group).collect();
        if let [only] = &mut groups[..] {
            only.tasks.reserve_exact(system.tasks.len());
        }
        for (id, task) in system.tasks.iter() {
            groups[task.cluster].tasks.push((id, task));
        }
        groups.retain(|group| !group.tasks.is_empty());
        groups.sort_by_key(|group| group.cpus.lowest());
        groups
    }

    /// The sets of CPUs that are the affinity of some task, in the order of their lowest CPU.
    pub(crate) fn affinities(system: &'a System) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut places: BTreeMap<&CpuSet, usize> = BTreeMap::new();
        for (id, task) in system.tasks.iter() {
            let (cpus, _) = masks(system, id);
            let place = *places.entry(cpus).or_insert_with(|| {
                groups.push(Group { cpus: cpus.clone(), tasks: Vec::new() });
                groups.len() - 1
            });
            groups[place].tasks.push((id, task));
        }
        groups.sort_by(|a, b| (a.cpus.lowest(), &a.cpus).cmp(&(b.cpus.lowest(), &b.cpus)));
        groups
    }

    /// `m`.
    pub(crate) fn cpu_count(&self) -> i64 {
        self.cpus.len() as i64
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = &'a Task> + '_ {
        self.tasks.iter().map(|&(_, task)| task)
    }

    /// The parameters of the tasks that most tests need.
    pub(crate) fn ids(&self) -> Vec<TaskId> {
        self.tasks.iter().map(|&(id, _)| id).collect()
    }

    pub(crate) fn sporadic(&self) -> Vec<Sporadic> {
        self.tasks().map(Sporadic::from).collect()
    }

    /// `U`.
    pub(crate) fn utilization(&self) -> RateSum {
        let mut sum = RateSum::with_capacity(self.tasks.len());
        self.tasks().for_each(|task| task.add_utilization(&mut sum));
        sum
    }
}

/// The finding on a system whose parts have these findings: of a *yes* all reasons, otherwise those
/// of the parts that decided.
pub(crate) fn together(findings: impl Iterator<Item = Finding>) -> Finding {
    let mut whole = Finding { verdict: Verdict::Yes, reasons: Vec::new() };
    for part in findings {
        let verdict = whole.verdict.both(part.verdict);
        if verdict != whole.verdict {
            whole.reasons.clear();
        }
        whole.verdict = verdict;
        if part.verdict == verdict {
            whole.reasons.extend(part.reasons);
        }
    }
    whole
}

/// The finding of an exact test about sporadic tasks, on tasks that may be more special: a *no*
/// holds for those only if the worst pattern, in which all tasks become ready together as late after
/// their arrival as they may, must be expected.
pub(crate) fn exact(group: &Group<'_>, holds: bool, reason: Reason) -> Finding {
    let mut finding = Finding::new(TestKind::Exact.verdict(holds), reason);
    if finding.verdict == Verdict::No && !may_become_ready_together(group.tasks()) {
        finding.verdict = Verdict::Unknown;
        finding.reasons.push(Reason::PatternMayNotOccur);
    }
    finding
}

/// Whether it must be expected that all of these tasks become ready together, as late after their arrival as they may:
/// they come for ever, and at common times or at any distance from each other.
pub fn may_become_ready_together<'a>(mut tasks: impl Iterator<Item = &'a Task>) -> bool {
    let mut common = None;
    tasks.all(|task| {
        let ready = task.offset + task.jitter;
        comes_for_ever(task) && (drifts(task) || *common.get_or_insert(ready) == ready)
    })
}

/// Whether the jobs of a task come for ever, at any distance from those of others.
pub(crate) fn comes_at_any_distance(task: &Task) -> bool {
    comes_for_ever(task) && drifts(task)
}

/// Whether the releases can be at any distance from those of other tasks.
fn drifts(task: &Task) -> bool {
    match &task.behaviour {
        Behaviour::Sporadic(Separation::Uniform { max } | Separation::Exponential { max, .. }) => {
            *max > Duration::ZERO
        }
        Behaviour::Curve(arrivals) => match &arrivals.extra {
            Some(Separation::Uniform { max } | Separation::Exponential { max, .. }) => {
                *max > Duration::ZERO
            }
            None => false,
        },
        Behaviour::Periodic
        | Behaviour::Hog
        | Behaviour::Yield
        | Behaviour::Explicit(_)
        | Behaviour::SelfSuspending { .. } => false,
    }
}

/// Whether jobs can come at the rate of the period for as long as one likes.
fn comes_for_ever(task: &Task) -> bool {
    // After a suspension a job comes when the last one has ended, not each period: there may be any time between.
    let is_endless =
        !matches!(task.behaviour, Behaviour::Explicit(_) | Behaviour::SelfSuspending { .. });
    task.jobs.is_none() && is_endless
}

/// The finding of an exact test about long-run rates: a *no* holds only for tasks that do not end.
pub(crate) fn exact_in_the_long_run(system: &System, holds: bool, reason: Reason) -> Finding {
    let mut finding = Finding::new(TestKind::Exact.verdict(holds), reason);
    weaken_if_finite(system, &mut finding);
    finding
}

/// Turns a *no* that follows from rates alone into *unknown* if some task ends.
pub(crate) fn weaken_if_finite(system: &System, finding: &mut Finding) {
    if finding.verdict == Verdict::No && !system.tasks.values().all(comes_for_ever) {
        finding.verdict = Verdict::Unknown;
        finding.reasons.push(Reason::PatternMayNotOccur);
    }
}

/// The sum of the `count` largest.
pub(crate) fn sum_of_largest(mut values: Vec<Rate>, count: usize) -> Rate {
    values.sort_by(|a, b| b.cmp(a));
    values.iter().take(count).fold(Rate::ZERO, |sum, value| &sum + value)
}
