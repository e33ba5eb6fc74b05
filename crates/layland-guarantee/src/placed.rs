//! What a policy makes of a system before it starts: which CPUs serve which tasks.

use layland_model::{CpuSet, Group, ScheduleRule, System};

/// The system whose clusters are the groups of the rule (highest first, mixed criticality), each with the
/// tasks that it serves; under a
/// rule about affinities the affinities, where any two are equal or disjoint, and single CPUs that are
/// in none. Otherwise the system as it is.
pub fn placed(system: &System, rule: &ScheduleRule) -> System {
    let groups = match rule {
        ScheduleRule::HighestFirst { groups, .. }
        | ScheduleRule::MixedCriticality { groups, .. } => groups.clone(),
        ScheduleRule::Weak { .. } | ScheduleRule::Strong { .. } => match disjoint(system) {
            Some(groups) => groups,
            None => return system.clone(),
        },
        ScheduleRule::Optimal { .. } | ScheduleRule::None => return system.clone(),
    };
    let mut placed = system.clone();
    placed.platform.clusters = groups.iter().map(|group: &Group| group.cpus.clone()).collect();
    for (cluster, group) in groups.iter().enumerate() {
        for &task in &group.tasks {
            placed.tasks[task].cluster = cluster;
            placed.tasks[task].affinity = None;
        }
    }
    placed
}

/// The affinities with their tasks, if any two are equal or disjoint, in the order of their first
/// task; and the CPUs that are in none.
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
