//! Scheduling with affinities by the definitions: the slow twins of `layland_policy::affinity`.
//!
//! - [`weak_holds`], [`strong_holds`]: the invariants;
//! - [`best_subset`]: the first of all sets of tasks that can be matched to CPUs, by trying all sets;
//! - [`greedy`]: the same set, with a maximum matching (Kuhn) for each task in turn;
//! - [`algorithm_1`]: the conceptual admission of Bonifaci et al. 2016;
//! - [`paper::Hierarchy`]: their run-time Algorithms 3 and 5 as printed;
//! - [`twin::SlowAffinity`]: policies that decide from scratch each time;
//! - [`drive::Driver`]: one arrival or departure after another, without a simulator.

pub mod drive;
pub mod paper;
pub mod twin;

use layland_model::{CpuId, CpuSet, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// The order of ready tasks: deadline or priority, rank, task.
pub type ReadyKey = (i64, i64, TaskId);

/// A ready task, and the CPUs that it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The position in the order.
    pub key: ReadyKey,
    /// The online CPUs of the affinity.
    pub mask: CpuSet,
}

/// The task that runs on each CPU.
pub type Mapping = BTreeMap<CpuId, TaskId>;

/// Returns true if every running task is ready, may use its CPU, and runs on only one CPU.
pub fn is_legal(ready: &[Ready], mapping: &Mapping) -> bool {
    let tasks: BTreeSet<TaskId> = mapping.values().copied().collect();
    let allowed = |(cpu, task): (&CpuId, &TaskId)| {
        ready.iter().any(|ready| ready.key.2 == *task && ready.mask.contains(*cpu))
    };
    tasks.len() == mapping.len() && mapping.iter().all(allowed)
}

fn waiting<'a>(ready: &'a [Ready], mapping: &'a Mapping) -> impl Iterator<Item = &'a Ready> {
    ready.iter().filter(|ready| !mapping.values().any(|&task| task == ready.key.2))
}

/// Returns true if a CPU runs a task that comes before this key.
fn runs_before(ready: &[Ready], mapping: &Mapping, cpu: CpuId, key: ReadyKey) -> bool {
    let task = mapping.get(&cpu);
    ready.iter().any(|ready| Some(&ready.key.2) == task && ready.key < key)
}

/// Returns true if every CPU that a waiting task may use runs one that comes before it (Definition II.1).
pub fn weak_holds(ready: &[Ready], mapping: &Mapping) -> bool {
    waiting(ready, mapping)
        .all(|b| b.mask.iter().all(|cpu| runs_before(ready, mapping, cpu, b.key)))
}

/// Returns true if every CPU that is reachable from a waiting task runs one that comes before it
/// (Definition II.2).
pub fn strong_holds(ready: &[Ready], mapping: &Mapping) -> bool {
    waiting(ready, mapping).all(|b| {
        let mut reachable = b.mask.clone();
        loop {
            let mut more = reachable.clone();
            for cpu in reachable.iter() {
                let there = ready.iter().find(|ready| Some(&ready.key.2) == mapping.get(&cpu));
                more = there.map_or(more.clone(), |there| more.union(&there.mask));
            }
            if more == reachable {
                break;
            }
            reachable = more;
        }
        reachable.iter().all(|cpu| runs_before(ready, mapping, cpu, b.key))
    })
}

/// Matches one more task, moving others if necessary (Kuhn). Returns false if that is impossible.
fn augment(
    task: usize,
    tasks: &[&Ready],
    matched: &mut BTreeMap<CpuId, usize>,
    seen: &mut CpuSet,
) -> bool {
    for cpu in tasks[task].mask.iter() {
        if seen.insert(cpu) {
            let other = matched.get(&cpu).copied();
            if other.is_none_or(|other| augment(other, tasks, matched, seen)) {
                matched.insert(cpu, task);
                return true;
            }
        }
    }
    false
}

/// Returns a matching of the tasks that are taken in order, each if it can be matched together with those before.
pub fn greedy(ready: &[Ready]) -> Mapping {
    let mut tasks: Vec<&Ready> = ready.iter().collect();
    tasks.sort_by_key(|ready| ready.key);
    let mut matched = BTreeMap::new();
    for task in 0..tasks.len() {
        augment(task, &tasks, &mut matched, &mut CpuSet::new());
    }
    matched.into_iter().map(|(cpu, task)| (cpu, tasks[task].key.2)).collect()
}

/// Returns the set that strong scheduling runs: the first of all sets that can be matched, where
/// sets are compared by their first tasks. Tries all of them.
///
/// # Panics
/// If there are more than 16 tasks.
pub fn best_subset(ready: &[Ready]) -> BTreeSet<TaskId> {
    assert!(ready.len() <= 16, "there are too many subsets");
    let mut tasks: Vec<&Ready> = ready.iter().collect();
    tasks.sort_by_key(|ready| ready.key);
    // The first task is the highest bit, so a set that comes first is the larger number.
    let bit = |at: usize| 1u32 << (tasks.len() - 1 - at);
    let matchable = |set: u32| {
        let mut matched = BTreeMap::new();
        let members = (0..tasks.len()).filter(|&at| set & bit(at) != 0);
        members.into_iter().all(|at| augment(at, &tasks, &mut matched, &mut CpuSet::new()))
    };
    let best = (0..1u32 << tasks.len()).rev().find(|&set| matchable(set)).unwrap_or(0);
    (0..tasks.len()).filter(|&at| best & bit(at) != 0).map(|at| tasks[at].key.2).collect()
}

/// Algorithm 1. From the smallest mask up, it takes from the remaining tasks within each mask as
/// many as the mask has CPUs. For laminar masks.
pub fn algorithm_1(ready: &[Ready], all: &CpuSet) -> BTreeSet<TaskId> {
    let mut masks: Vec<&CpuSet> = ready.iter().map(|ready| &ready.mask).chain([all]).collect();
    masks.sort_by_key(|mask| mask.len());
    let mut left: Vec<&Ready> = ready.iter().collect();
    left.sort_by_key(|ready| ready.key);
    for mask in masks {
        let mut room = mask.len();
        left.retain(|ready| {
            let is_inside = ready.mask.is_subset(mask);
            let stays = !is_inside || room > 0;
            room -= usize::from(is_inside && stays);
            stays
        });
    }
    left.into_iter().map(|ready| ready.key.2).collect()
}
