//! The parts of a system that are scheduled on their own: clusters, or single CPUs.

use crate::assumption::masks;
use crate::{Finding, Reason, Sporadic, TestKind, Verdict};
use layland_model::{Behaviour, CpuSet, Duration, Rate, RateSum, Separation, System, Task, TaskId};
use std::collections::BTreeMap;

/// Some CPUs, and the tasks that run only on them.
pub(crate) struct Group<'a> {
    pub(crate) cpus: CpuSet,
    pub(crate) tasks: Vec<(TaskId, &'a Task)>,
}

impl<'a> Group<'a> {
    /// The clusters that have tasks, in the order of their lowest CPU. For tasks that may use their
    /// whole cluster.
    pub(crate) fn clusters(system: &'a System) -> Vec<Group<'a>> {
        // Clusters are disjoint, so each one is a group and needs no lookup.
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

    /// The ids of the tasks.
    pub(crate) fn ids(&self) -> Vec<TaskId> {
        self.tasks.iter().map(|&(id, _)| id).collect()
    }

    /// The parameters of the tasks that most tests need.
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

/// Combines the findings of the parts of a system: for a *yes*, all reasons; otherwise those of the
/// parts that decided.
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

/// The finding of an exact test about sporadic tasks, applied to tasks that may be more restricted.
/// A *no* holds for those only if the worst pattern may occur: all tasks become ready together,
/// each as late after its arrival as its jitter allows.
pub(crate) fn exact(group: &Group<'_>, holds: bool, reason: Reason) -> Finding {
    let mut finding = Finding::new(TestKind::Exact.verdict(holds), reason);
    if finding.verdict == Verdict::No && !may_become_ready_together(group.tasks()) {
        finding.verdict = Verdict::Unknown;
        finding.reasons.push(Reason::PatternMayNotOccur);
    }
    finding
}

/// Returns true if all of these tasks may become ready together, each as late after its arrival as
/// its jitter allows: their jobs never end, and they arrive at common times or at any distance from
/// each other.
pub fn may_become_ready_together<'a>(mut tasks: impl Iterator<Item = &'a Task>) -> bool {
    let mut common = None;
    tasks.all(|task| {
        let ready = task.offset + task.jitter;
        comes_for_ever(task) && (drifts(task) || *common.get_or_insert(ready) == ready)
    })
}

/// Returns true if the jobs of a task never end and arrive at any distance from those of other
/// tasks.
pub(crate) fn comes_at_any_distance(task: &Task) -> bool {
    comes_for_ever(task) && drifts(task)
}

/// Returns true if the releases can be at any distance from those of other tasks.
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

/// Returns true if jobs can arrive at the rate of the period without end.
fn comes_for_ever(task: &Task) -> bool {
    // After a suspension, a job arrives when the previous one has completed, not each period, so
    // the separation can be anything.
    let is_endless =
        !matches!(task.behaviour, Behaviour::Explicit(_) | Behaviour::SelfSuspending { .. });
    task.jobs.is_none() && is_endless
}

/// The finding of an exact test about long-run rates. A *no* holds only for tasks that do not end.
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

/// The sum of the `count` largest values.
pub(crate) fn sum_of_largest(mut values: Vec<Rate>, count: usize) -> Rate {
    values.sort_by(|a, b| b.cmp(a));
    values.iter().take(count).fold(Rate::ZERO, |sum, value| &sum + value)
}
