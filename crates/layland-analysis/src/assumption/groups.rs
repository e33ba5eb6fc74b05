//! Assumptions about groups with budgets.

use super::Assumption::{self, GroupsByDeadline, GroupsByPriority};
use super::Refusal;
use layland_model::{Field, Index, ServerRule, System, SystemPart, TaskGroup};

impl Assumption {
    /// Checks that a valid system keeps an assumption about groups.
    pub(super) fn check_groups(self, system: &System) -> Result<(), Refusal> {
        if self != GroupsByDeadline && self != GroupsByPriority {
            let of_group = |_, task: &layland_model::Task| {
                let group = system.groups.get(task.group?.index())?;
                Some(format!("belongs to the group `{}`", group.name))
            };
            let help = "use the policy `groups`, or remove [[group]] and `group`";
            return self.each_task(system, Field::Group, &of_group, help);
        }
        // Without groups, partitioned policies are asked: an answer of this one would repeat theirs.
        if system.groups.is_empty() {
            let help = "use p-edf or p-fp";
            return self.refuse(SystemPart::Set, "the set has no [[group]]".to_owned(), help);
        }
        let by_priority = self == GroupsByPriority;
        for (at, group) in system.groups.iter().enumerate() {
            if let Some((what, help)) = fault(group, by_priority) {
                let message = format!("the group `{}` {what}", group.name);
                return self.refuse(SystemPart::Group(at), message, help);
            }
        }
        let several = |id, task: &layland_model::Task| {
            let cpus = system.allowed_cpus(id);
            let is_wide = task.group.is_none() && cpus.len() != 1;
            is_wide.then(|| format!("is in no group, and may use {cpus:#}"))
        };
        self.each_task(system, Field::Affinity, &several, "give it an `affinity` of one CPU")?;
        if !by_priority {
            return Ok(());
        }
        let plain = |_, task: &layland_model::Task| match task.group {
            None if task.priority.is_none() => Some("has no priority".to_owned()),
            None if task.deadline > task.period => {
                Some("has a deadline that is longer than its period".to_owned())
            }
            None | Some(_) => None,
        };
        self.each_task(
            system,
            Field::Priority,
            &plain,
            "give it a `priority`, and a shorter deadline",
        )
    }
}

/// The property of a group that breaks the assumption, and advice.
fn fault(group: &TaskGroup, by_priority: bool) -> Option<(&'static str, &'static str)> {
    if group.budget.is_none() {
        return Some(("has no budget yet", "find the least one with `layland check --design`"));
    }
    let is_cbs = group.rule == ServerRule::Cbs;
    match (by_priority, is_cbs) {
        (false, false) => {
            Some(("has a server by priority", "use groups:outer=fp, or server = \"cbs\""))
        }
        (true, true) => {
            Some(("has a server by deadlines", "use groups:outer=edf, or server = \"deferrable\""))
        }
        (true, false) if group.cpus.len() != 1 => {
            Some(("has several CPUs", "give it one: servers by priority are not linked"))
        }
        (true, false) if group.priority.is_none() => Some(("has no priority", "give it one")),
        (true, false) | (false, true) => None,
    }
}
