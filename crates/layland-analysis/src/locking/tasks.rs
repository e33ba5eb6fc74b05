//! The tasks in the form that the bounds of this module use: in the order of base priorities, with
//! their sections.

#![expect(non_snake_case, reason = "symbols of the specification")]

use crate::assumption::masks;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use layland_model::{CpuId, Index, System, TaskId};

/// A critical section of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The resource, by its position in the system.
    pub q: usize,
    /// The maximum time that the job executes in the section, including nested sections, in
    /// nanoseconds.
    pub length: i64,
    /// The enclosing section, by its position among those of the job.
    pub within: Option<usize>,
}

/// A task. Times are nanoseconds. In a list, the highest base priority comes first, and the
/// position is the priority, so no two tasks have equal priorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locker {
    /// The id of the task.
    pub id: TaskId,
    /// The CPU that it uses.
    pub cpu: CpuId,
    /// The execution time of a job, including its sections.
    pub C: i64,
    /// The total time for which a job suspends itself.
    pub S: i64,
    /// The number of suspensions of a job.
    pub m: i64,
    /// The period.
    pub T: i64,
    /// The relative deadline, at most the period.
    pub D: i64,
    /// The sections of a job, in the order in which it enters them.
    pub sections: Vec<Held>,
}

impl Locker {
    /// Returns `N` and `L` for a resource: the number of sections of a job on it, and the longest
    /// of them.
    pub fn requests(&self, q: usize) -> (i64, i64) {
        let of_q = self.sections.iter().filter(|section| section.q == q);
        of_q.fold((0, 0), |(N, L), section| (N + 1, L.max(section.length)))
    }

    /// Returns `L` for a resource, or 0 if the task does not use it.
    pub fn longest(&self, q: usize) -> i64 {
        self.requests(q).1
    }
}

/// The tasks of a system, the highest base priority first: by this order, then by rank, then by id.
/// Each task may use one CPU only.
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

/// [`lockers`] for each CPU separately, in the order of CPUs.
pub(crate) fn by_cpu(system: &System, order: PriorityOrder) -> Vec<Vec<Locker>> {
    let mut cpus: std::collections::BTreeMap<CpuId, Vec<Locker>> =
        std::collections::BTreeMap::new();
    for task in lockers(system, order) {
        cpus.entry(task.cpu).or_default().push(task);
    }
    cpus.into_values().collect()
}

/// Returns one more than the position of the last resource that a task uses.
pub(crate) fn resource_count(tasks: &[Locker]) -> usize {
    let used = tasks.iter().flat_map(|task| &task.sections).map(|section| section.q + 1);
    used.max().unwrap_or(0)
}

/// `ceiling(q)` of every resource: the highest base priority of its users, which is the smallest
/// position; past the end if no task uses it.
pub fn ceilings(tasks: &[Locker]) -> Vec<usize> {
    let mut ceilings = vec![tasks.len(); resource_count(tasks)];
    for (i, task) in tasks.iter().enumerate() {
        for section in &task.sections {
            ceilings[section.q] = ceilings[section.q].min(i);
        }
    }
    ceilings
}

/// Returns the sum, saturating.
pub(crate) fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}

/// Returns `ceil(t / T) C`, saturating, for `t >= 0`.
pub(crate) fn arriving(t: i64, T: i64, C: i64) -> i64 {
    times(t, T).saturating_mul(C)
}

/// Returns `ceil(t / T)` for `t >= 0`.
pub(crate) fn times(t: i64, T: i64) -> i64 {
    t / T + i64::from(t % T != 0)
}
