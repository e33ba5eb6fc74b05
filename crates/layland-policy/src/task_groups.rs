//! Groups with budgets (`groups`): servers of groups and plain tasks on each CPU, under EDF or fixed
//! priorities.
//!
//! | outer | servers | source |
//! |---|---|---|
//! | `edf` | constant-bandwidth, hard; the revised wake-up rule if the deadline is shorter than the period | Abeni and Buttazzo 1998; Linux |
//! | `fp` | deferrable and polling, one CPU per group | Strosnider, Lehoczky and Sha 1995 |
//!
//! [`TaskGroups`] has the order of everything that happens in one instant. A set without groups is
//! scheduled as by partitioned EDF or fixed priorities.

mod jobs;
mod linked;
mod servers;

pub use linked::TaskGroups;
pub use servers::{ServerChange, ServerEvent, ServerState};

use crate::ordered;
use crate::{OptionInfo, Policy, PolicyInfo, PolicyOptions, Refusal, SystemRefusal, Values};
use layland_model::{Algorithm, CpuSet, GroupId, Index, Order, ServerRule, System};

/// Returns the policy `groups`.
pub(crate) fn policy() -> PolicyInfo {
    PolicyInfo::new(
        "groups",
        "groups with budgets",
        "on each CPU, servers of groups and other tasks by deadline or by priority; jobs of a group run in the time of \
         its servers",
        build,
    )
    .implementing_by(|options| Algorithm::Groups(order(options).unwrap_or(Order::Deadline)))
    .taking_groups()
    .refusing([
        "groups whose budget is to be designed, groups whose tasks may use some of their CPUs and neither all nor one \
         each, and beside groups: tasks with several CPUs, overheads, CPUs of other speeds, requests",
        "with outer=edf servers by priority; with outer=fp constant-bandwidth servers, groups with several CPUs, and \
         groups and tasks without a `priority`",
    ])
    .with_options([OptionInfo::new(
        "outer",
        "the order of servers and tasks on a CPU: earliest deadline first (edf, the default) or the given priorities (fp)",
        Values::one_of(["edf", "fp"]),
    )])
    .breaking_ties("servers and tasks as listed; a server comes before a task")
}

fn order(options: &PolicyOptions) -> Result<Order, Refusal> {
    let named = [("edf", Order::Deadline), ("fp", Order::Given)];
    Ok(options.one_of("outer", &named)?.unwrap_or(Order::Deadline))
}

fn build(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let order = order(options)?;
    if system.groups.is_empty() {
        return Ok(Box::new(ordered::partitioned(order, system, options)?));
    }
    permitted(system, order)?;
    Ok(Box::new(TaskGroups::new(system, order)))
}

/// Refuses sets with groups that this policy does not schedule.
fn permitted(system: &System, order: Order) -> Result<(), SystemRefusal> {
    let refused = |reason: String| Err(SystemRefusal::from(Refusal::not_permitted(reason)));
    let by_priority = order == Order::Given;
    for group in &system.groups {
        let name = &group.name;
        if group.budget.is_none() {
            return refused(format!("the group `{name}` has no budget yet: give it one"));
        }
        match (by_priority, group.rule) {
            (false, ServerRule::Cbs) => {}
            (false, ServerRule::Deferrable | ServerRule::Polling) => {
                return refused(format!(
                    "the group `{name}` has a server by priority: use groups:outer=fp, or server = \"cbs\""
                ));
            }
            (true, ServerRule::Cbs) => {
                return refused(format!(
                    "the group `{name}` has a server by deadlines: use groups:outer=edf, or server = \"deferrable\""
                ));
            }
            (true, ServerRule::Deferrable | ServerRule::Polling) => {
                if group.cpus.len() != 1 {
                    let why = "servers by priority are not linked, so it needs one CPU";
                    return refused(format!("the group `{name}` has {:#}: {why}", group.cpus));
                }
                if group.priority.is_none() {
                    return refused(format!("the group `{name}` has no `priority`: give it one"));
                }
            }
        }
    }
    for (at, group) in system.groups.iter().enumerate() {
        let id = Some(GroupId::from_index(at));
        let tasks = || system.tasks.iter().filter(|(_, task)| task.group == id);
        let allowed: Vec<CpuSet> = tasks().map(|(id, _)| system.allowed_cpus(id)).collect();
        let is_linked = allowed.iter().all(|cpus| *cpus == group.cpus);
        if !is_linked && allowed.iter().any(|cpus| cpus.len() != 1) {
            return refused(format!(
                "tasks of the group `{}` may use some of its CPUs: give each of them all of these CPUs, or one",
                group.name
            ));
        }
        let servers = system.group_servers(GroupId::from_index(at)).unwrap_or_default();
        let is_served = |cpus: &CpuSet| servers.iter().any(|(cpu, _)| cpus.contains(*cpu));
        if let Some(((id, task), _)) = tasks().zip(&allowed).find(|(_, cpus)| !is_served(cpus)) {
            let reason = format!(
                "`{}` is never served: the groups within `{}` leave it nothing",
                task.name, group.name
            );
            return Err(Refusal::not_permitted(reason).about(id));
        }
    }
    for (id, task) in system.tasks.iter().filter(|(_, task)| task.group.is_none()) {
        let cpus = system.allowed_cpus(id);
        if cpus.len() != 1 {
            let reason = format!(
                "`{}` is in no group and may use {cpus:#}: give it an `affinity` of one CPU beside groups",
                task.name
            );
            return Err(Refusal::not_permitted(reason).about(id));
        }
        if by_priority && task.priority.is_none() {
            let reason = format!("`{}` has no `priority`: give it one", task.name);
            return Err(Refusal::not_permitted(reason).about(id));
        }
    }
    if !system.platform.is_unit_speed() {
        return refused("budgets of groups are for CPUs of speed 1".to_owned());
    }
    if !system.platform.overheads.is_zero() {
        return refused(
            "add overheads to WCETs and budgets: no test of groups counts them".to_owned(),
        );
    }
    if !system.requests.is_empty() {
        return refused("a set with groups does not change: remove [[request]]".to_owned());
    }
    Ok(())
}
