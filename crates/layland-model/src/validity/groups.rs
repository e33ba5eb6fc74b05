//! The rules for groups with reservations.

use super::{Field, SystemPart};
use crate::{
    CpuSet, Duration, GroupId, Index, InnerPolicy, Preemption, ServerRule, System, TIME_LIMIT,
    Task, TaskGroup,
};
use std::collections::BTreeMap;

impl System {
    /// Checks that groups have unique names, servers that can exist, and tasks that lie within them.
    pub(super) fn validate_groups(&self, wrong: &mut impl FnMut(SystemPart, String, &str)) {
        let mut names = BTreeMap::new();
        for (index, group) in self.groups.iter().enumerate() {
            let mut here = |message: String, help: &str| {
                wrong(SystemPart::Group(index), message, help);
            };
            let name = &group.name;
            if name.is_empty() {
                here("a group has no name".to_owned(), "name it");
            } else if let Some(first) = names.insert(name.as_str(), index) {
                let message = format!("the name `{name}` is taken by group {}", first + 1);
                here(message, "give every group a name of its own");
            }
            validate_server(group, &mut here);
            self.validate_cpus(group, &mut here);
            self.validate_parent(GroupId::from_index(index), group, &mut here);
        }
        for (id, task) in self.tasks.iter() {
            let mut field = |field, message: String, help: &str| {
                wrong(SystemPart::Task(id, field), message, help);
            };
            self.validate_in_group(task, &mut field);
        }
    }

    fn validate_cpus(&self, group: &TaskGroup, here: &mut impl FnMut(String, &str)) {
        let (name, all) = (&group.name, self.platform.all_cpus());
        let outside = group.cpus.difference(&all);
        if group.cpus.is_empty() {
            here(format!("the group `{name}` has no CPU"), "give it CPUs: cpus = \"0-1\"");
        } else if !outside.is_empty() {
            let message = format!("the group `{name}` has CPU {outside}, which does not exist");
            here(message, &format!("the CPUs are {all}"));
        }
    }

    /// Checks that the parents of a group form no circle, and have the bandwidth and the CPUs of their
    /// groups.
    fn validate_parent(&self, id: GroupId, group: &TaskGroup, here: &mut impl FnMut(String, &str)) {
        let name = &group.name;
        let Some(parent) = group.parent else {
            return self.validate_bandwidth(id, group, here);
        };
        let Some(above) = self.groups.get(parent.index()) else {
            return here(
                format!("the group `{name}` lies in one that does not exist"),
                "name a group",
            );
        };
        let mut at = Some(parent);
        for _ in 0..self.groups.len() {
            at = at.and_then(|at| self.groups.get(at.index())?.parent);
        }
        if at.is_some() {
            return here(
                format!("the group `{name}` lies within itself"),
                "leave one `parent` out",
            );
        }
        if !group.cpus.is_subset(&above.cpus) {
            let message = format!(
                "the group `{name}` has CPU {}, and `{}` around it has not",
                group.cpus.difference(&above.cpus),
                above.name
            );
            here(message, "a group has CPUs of the one that it lies in");
        }
        self.validate_bandwidth(id, group, here);
    }

    /// Checks that the groups within a group leave it at least nothing, on each CPU.
    fn validate_bandwidth(
        &self,
        id: GroupId,
        group: &TaskGroup,
        here: &mut impl FnMut(String, &str),
    ) {
        if group.budget.is_none() || group.period <= Duration::ZERO {
            return;
        }
        let is_sound = |at: usize| self.groups[at].period > Duration::ZERO;
        if !(0..self.groups.len()).all(is_sound) {
            return;
        }
        let mut over = CpuSet::new();
        for cpu in group.cpus.iter() {
            if self.bandwidth_left(id, cpu).is_some_and(|left| left < crate::Rate::ZERO) {
                over.insert(cpu);
            }
        }
        if !over.is_empty() {
            let message = format!(
                "the groups within `{}` have more bandwidth than it, on {over:#}",
                group.name
            );
            here(message, "give it a larger budget, or them smaller ones");
        }
    }

    /// Checks a task that belongs to a group.
    fn validate_in_group(&self, task: &Task, field: &mut impl FnMut(Field, String, &str)) {
        let (name, Some(id)) = (&task.name, task.group) else { return };
        let Some(group) = self.groups.get(id.index()) else {
            return field(
                Field::Group,
                format!("`{name}` is in a group that does not exist"),
                "add it",
            );
        };
        let cluster = self.platform.clusters.get(task.cluster);
        if let Some(cluster) = cluster.filter(|cluster| !group.cpus.is_subset(cluster)) {
            let message = format!(
                "`{name}` is in a cluster with {cluster:#}, and its group `{}` has {:#}",
                group.name, group.cpus
            );
            field(Field::Group, message, "a group has CPUs of one cluster, that of its tasks");
        }
        if let Some(affinity) = &task.affinity
            && !affinity.is_subset(&group.cpus)
        {
            let message = format!(
                "`{name}` may run on {affinity:#}, and its group `{}` has {:#}",
                group.name, group.cpus
            );
            field(Field::Affinity, message, "an affinity lies within the CPUs of the group");
        }
        if task.budget.is_some() {
            let message = format!("`{name}` has a budget, and so has its group `{}`", group.name);
            field(Field::Budget, message, "leave one of them out: a task has one budget");
        }
        if group.inner.uses_priorities() && task.priority.is_none() {
            let message = format!(
                "`{name}` has no priority, and its group `{}` orders jobs by priority",
                group.name
            );
            field(Field::Priority, message, "give it a `priority`, or the group inner = \"edf\"");
        }
        match task.preemption {
            Preemption::Anywhere => {}
            Preemption::Never | Preemption::Delayed(_) | Preemption::Between(_) => {
                let message =
                    format!("`{name}` has regions of its own in the group `{}`", group.name);
                let help = "leave them out; with inner = \"np-fp\" or \"np-edf\" whole jobs are not preempted";
                field(Field::Preemption, message, help);
            }
        }
    }
}

/// Checks the server of a group, and what its inner policy needs.
fn validate_server(group: &TaskGroup, here: &mut impl FnMut(String, &str)) {
    let TaskGroup { name, period, deadline, .. } = group;
    if !(1..=TIME_LIMIT).contains(&period.ns())
        || *deadline > *period
        || *deadline <= Duration::ZERO
    {
        let message = format!("the group `{name}` has a budget due {deadline} of each {period}");
        here(message, "0 < deadline <= period");
    }
    if let Some(budget) = group.budget
        && (budget.ns() < 1 || budget.at_unit_speed() > *deadline)
    {
        let message = format!("the group `{name}` has a budget of {budget} within {deadline}");
        here(message, "0 < budget <= deadline <= period");
    }
    if let InnerPolicy::RoundRobin(quantum) = group.inner
        && quantum <= Duration::ZERO
    {
        here(format!("the group `{name}` has turns of {quantum}"), "use a quantum above 0s");
    }
    if group.rule == ServerRule::Cbs && group.priority.is_some() {
        let message = format!("the group `{name}` has a priority, and a server by deadlines");
        here(message, "leave `priority` out, or use server = \"deferrable\"");
    }
}
