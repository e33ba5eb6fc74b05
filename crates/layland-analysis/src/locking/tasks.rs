//! The tasks as the bounds of this module see them: in the order of base priorities, with their sections.

#![expect(non_snake_case, reason = "symbols of the specification")]

use crate::assumption::masks;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use layland_model::{CpuId, Index, System, TaskId};

/// A critical section of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The resource, by its place in the system.
    pub q: usize,
    /// What the job executes inside, at most, sections within it included; nanoseconds.
    pub length: i64,
    /// The section that it is within, by its place among those of the job.
    pub within: Option<usize>,
}

/// A task. Times are nanoseconds. In a list the highest base priority comes first, and the place is the priority: no
/// two tasks have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locker {
    /// Which task it is.
    pub id: TaskId,
    /// Where it runs.
    pub cpu: CpuId,
    /// What a job executes, its sections included.
    pub C: i64,
    /// For how long a job suspends itself in all.
    pub S: i64,
    /// How often.
    pub m: i64,
    /// The period.
    pub T: i64,
    /// The relative deadline, at most the period.
    pub D: i64,
    /// The sections of a job, in the order in which it enters them.
    pub sections: Vec<Held>,
}

impl Locker {
    /// `N` and `L` of a resource: how many sections on it a job has, and the longest of them.
    pub fn requests(&self, q: usize) -> (i64, i64) {
        let of_q = self.sections.iter().filter(|section| section.q == q);
        of_q.fold((0, 0), |(N, L), section| (N + 1, L.max(section.length)))
    }

    /// `L` of a resource; 0 if the task does not use it.
    pub fn longest(&self, q: usize) -> i64 {
        self.requests(q).1
    }
}

/// The tasks of a system, the highest base priority first: by this order, then by rank, then by id. Each task may use
/// one CPU alone.
pub fn lockers(system: &System, order: PriorityOrder) -> Vec<Locker> {
    let of_task = |id: TaskId| {
        let task = &system.tasks[id];
        let (length, count) = task.suspensions();
        let held = |section: layland_model::Section| Held {
            q: section.resource.index(),
            length: section.length.ns(),
            within: section.within,
        };
        Locker {
            id,
            cpu: masks(system, id).0.lowest().expect("a valid task has a CPU"),
            C: task.own_wcet().ns(),
            S: length.ns(),
            m: count.cast_signed(),
            T: task.period.ns(),
            D: task.deadline.ns(),
            sections: task.sections().into_iter().map(held).collect(),
        }
    };
    order.sort_all(system).into_iter().map(of_task).collect()
}

/// The same for each CPU alone, in the order of CPUs.
pub(crate) fn by_cpu(system: &System, order: PriorityOrder) -> Vec<Vec<Locker>> {
    let mut cpus: std::collections::BTreeMap<CpuId, Vec<Locker>> =
        std::collections::BTreeMap::new();
    for task in lockers(system, order) {
        cpus.entry(task.cpu).or_default().push(task);
    }
    cpus.into_values().collect()
}

/// One more than the place of the last resource that a task uses.
pub(crate) fn resource_count(tasks: &[Locker]) -> usize {
    let used = tasks.iter().flat_map(|task| &task.sections).map(|section| section.q + 1);
    used.max().unwrap_or(0)
}

/// `ceiling(q)` of every resource: the highest base priority of its users, which is the smallest place; past the end
/// if nobody uses it.
pub fn ceilings(tasks: &[Locker]) -> Vec<usize> {
    let mut ceilings = vec![tasks.len(); resource_count(tasks)];
    for (i, task) in tasks.iter().enumerate() {
        for section in &task.sections {
            ceilings[section.q] = ceilings[section.q].min(i);
        }
    }
    ceilings
}

/// The sum, or the largest number if that is more.
pub(crate) fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}

/// `ceil(t / T)` times `C`, or the largest number; of a `t` that is not negative.
pub(crate) fn arriving(t: i64, T: i64, C: i64) -> i64 {
    times(t, T).saturating_mul(C)
}

/// `ceil(t / T)`, for `t >= 0`.
pub(crate) fn times(t: i64, T: i64) -> i64 {
    t / T + i64::from(t % T != 0)
}
