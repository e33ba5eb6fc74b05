//! Groups with budgets: servers of groups and plain tasks on each CPU, under EDF or fixed priorities.
//!
//! A set with groups is checked and not run: this policy states what analyses are about, and refuses to
//! decide. A set without groups is scheduled as by partitioned EDF or fixed priorities.

use crate::ordered;
use crate::{
    Action, Count, Event, Needs, OptionInfo, Policy, PolicyInfo, PolicyOptions, Refusal, State,
    SystemRefusal, Values,
};
use layland_model::{Algorithm, Order, ScheduleRule, ServerRule, System, Time};

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
        "to simulate or run a set with groups",
        "groups whose budget is to be designed, and beside groups: tasks with several CPUs, overheads, CPUs of other \
         speeds, requests",
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
    can_be_checked(system, order)?;
    if options.is_for_its_rule() {
        return Ok(Box::new(OnlyARule));
    }
    let reason = "groups with budgets can be checked, and not simulated or run: remove [[group]] and `group`, or use \
                  `layland check`";
    Err(Refusal::not_permitted(reason).into())
}

/// Refuses sets that no analysis of groups is about.
fn can_be_checked(system: &System, order: Order) -> Result<(), SystemRefusal> {
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

/// A policy that states its rule and never runs.
#[derive(Clone, Debug)]
struct OnlyARule;

impl Policy for OnlyARule {
    fn on_event(&mut self, _: Time, _: Event) {}
    fn decide(&mut self, _: Time, _: &mut Vec<Action>) {}
    fn save(&self, _: Time, _: &mut State) {}
    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }
    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}
