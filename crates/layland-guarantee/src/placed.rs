//! The system that a policy makes of a task set before it starts: the CPUs that serve each task.

use layland_model::{CpuSet, Group, ScheduleRule, System, TaskId};
use std::borrow::Cow;

/// Returns the system whose clusters are the groups of the rule (highest first, with regions or
/// without, mixed criticality), each with the tasks that it serves. Under a rule about affinities
/// the clusters are the affinities, where any two are equal or disjoint, and the single CPUs that
/// are in none. Otherwise the system stays as it is.
pub fn placed(system: &System, rule: &ScheduleRule) -> System {
    placed_anew(system, rule).unwrap_or_else(|| system.clone())
}

/// Returns [`placed`], if it differs from the system.
pub(crate) fn placed_anew(system: &System, rule: &ScheduleRule) -> Option<System> {
    let groups = match rule.groups() {
        Some(_) if rule.is_optimal() => return None,
        Some(groups) => Cow::Borrowed(groups),
        None if rule.has_affinities() => Cow::Owned(disjoint(system)?),
        None => return None,
    };
    let clusters = &system.platform.clusters;
    let is_there = |(cluster, group): (usize, &Group)| {
        let is_in = |&task: &TaskId| {
            let task = &system.tasks[task];
            task.cluster == cluster && task.affinity.is_none()
        };
        clusters[cluster] == group.cpus && group.tasks.iter().all(is_in)
    };
    if groups.len() == clusters.len() && groups.iter().enumerate().all(is_there) {
        return None;
    }
    // The provenance belongs to the set, and not to what a policy makes of it.
    let &System {
        ref platform,
        ref levels,
        ref tasks,
        in_level,
        ref resources,
        groups: ref of_tasks,
        ref chains,
        ref requests,
        provenance: _,
        observed: _,
    } = system;
    let mut placed = System {
        platform: platform.clone(),
        levels: levels.clone(),
        tasks: tasks.clone(),
        in_level,
        resources: resources.clone(),
        groups: of_tasks.clone(),
        chains: chains.clone(),
        requests: requests.clone(),
        provenance: None,
        observed: None,
    };
    placed.platform.clusters = groups.iter().map(|group: &Group| group.cpus.clone()).collect();
    for (cluster, group) in groups.iter().enumerate() {
        for &task in &group.tasks {
            placed.tasks[task].cluster = cluster;
            placed.tasks[task].affinity = None;
        }
    }
    Some(placed)
}

/// Returns the affinities with their tasks, if any two are equal or disjoint, in the order of their
/// first task, followed by the CPUs that are in none.
fn disjoint(system: &System) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut free = system.platform.all_cpus();
    for id in system.tasks.ids() {
        let cpus = system.allowed_cpus(id);
        free = free.difference(&cpus);
        match groups.iter_mut().find(|group| !group.cpus.is_disjoint(&cpus)) {
            None => groups.push(Group { cpus, tasks: vec![id] }),
            Some(group) if group.cpus == cpus => group.tasks.push(id),
            Some(_) => return None,
        }
    }
    let alone = free.iter().map(|cpu| Group { cpus: CpuSet::single(cpu), tasks: Vec::new() });
    groups.extend(alone);
    Some(groups)
}
