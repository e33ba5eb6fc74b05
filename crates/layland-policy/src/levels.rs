//! Several tasks with one given priority: a *level*.
//!
//! The option `tie` of the policies with given priorities determines the order of jobs within a
//! level:
//!
//! | `tie` | within a level |
//! |---|---|
//! | `rank` | the smaller rank, and it preempts |
//! | `fifo` | the job that became ready first, by its release or the end of a suspension; among simultaneous ones the smaller rank |
//! | `any` | the order is unknown: for analyses, and for traces of others |
//!
//! Under `fifo` a job of the same level never preempts a running job, and a job that a higher level
//! preempts keeps its place, as POSIX specifies for `SCHED_FIFO`. The queue is ordered by (level,
//! instant of readiness, rank). Without the option the set decides ([`System::in_level`]).
//!
//! Combinations without known rules are refused by name: locks, non-preemptive regions and servers,
//! if a level is shared on the CPUs concerned.

use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use layland_model::{Algorithm, Form, InLevel, Order, System, TaskId};

/// Returns the option for the order within a level; `None` if the order has no levels of the set.
pub(crate) fn option(order: Order) -> Option<OptionInfo> {
    let option = || {
        OptionInfo::new(
            "tie",
            "tasks of one priority: rank (the smaller rank goes first, and preempts), fifo (first come, first served: \
             the default, unless all of them have ranks in the file) or any (unknown: for analyses alone)",
            Values::one_of(["rank", "fifo", "any"]),
        )
    };
    (order == Order::Given).then(option)
}

/// Returns the order within a level; `None` if ranks decide.
///
/// # Errors
/// If the option has another value.
pub(crate) fn of(
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Option<InLevel>, Refusal> {
    match order {
        Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic => Ok(None),
        Order::Given => {
            let values =
                [("rank", None), ("fifo", Some(InLevel::Fifo)), ("any", Some(InLevel::Any))];
            Ok(options.one_of("tie", &values)?.unwrap_or(system.in_level))
        }
    }
}

/// Returns the algorithm with these options: that of levels if they state that ranks do not decide,
/// regardless of the set.
pub(crate) fn algorithm(form: Form, order: Order, options: &PolicyOptions) -> Algorithm {
    match (order, options.text("tie")) {
        (Order::Given, Some("fifo")) => Algorithm::Levels(form, InLevel::Fifo),
        (Order::Given, Some("any")) => Algorithm::Levels(form, InLevel::Any),
        (_, Some(_) | None) => Algorithm::Ordered(form, order),
    }
}

/// Refuses to run a set with an unknown order of jobs. A policy that only answers queries about its
/// rule never runs.
///
/// # Errors
/// If the order is unknown, and some of these tasks share a priority.
pub(crate) fn refuse_unknown<'a>(
    who: &str,
    in_level: Option<InLevel>,
    system: &System,
    groups: impl IntoIterator<Item = &'a [TaskId]>,
    options: &PolicyOptions,
) -> Result<(), SystemRefusal> {
    if in_level != Some(InLevel::Any) || options.is_for_its_rule() {
        return Ok(());
    }
    refuse(system, groups, |names, priority| {
        format!(
            "tasks {names} have priority {priority}, and with tie=any it is not known which of them comes first: \
             run {who}:tie=fifo or {who}:tie=rank"
        )
    })
}

/// Refuses shared levels for which there are no rules.
///
/// # Errors
/// If some of these tasks share a priority, and ranks do not decide.
pub(crate) fn refuse_shared<'a>(
    who: &str,
    what: &str,
    in_level: Option<InLevel>,
    system: &System,
    groups: impl IntoIterator<Item = &'a [TaskId]>,
) -> Result<(), SystemRefusal> {
    let Some(in_level) = in_level else { return Ok(()) };
    refuse(system, groups, |names, priority| {
        format!(
            "tasks {names} have priority {priority}, and {who} has no rule for {what} with tie={}: give them different \
             priorities, or say tie=rank",
            in_level.name()
        )
    })
}

/// Returns true if two tasks of a group share a priority.
pub(crate) fn are_shared<'a>(
    system: &System,
    groups: impl IntoIterator<Item = &'a [TaskId]>,
) -> bool {
    first_shared(system, groups).is_some()
}

/// Returns the first level that two tasks of a group share, with the first two.
fn first_shared<'a>(
    system: &System,
    groups: impl IntoIterator<Item = &'a [TaskId]>,
) -> Option<(i64, [TaskId; 2])> {
    groups.into_iter().find_map(|tasks| {
        let &(priority, _) = system.shared_levels(tasks.iter().copied()).first()?;
        let mut sharing: Vec<TaskId> = tasks
            .iter()
            .copied()
            .filter(|&id| system.tasks[id].priority == Some(priority))
            .collect();
        sharing.sort_unstable();
        Some((priority, [*sharing.first()?, *sharing.get(1)?]))
    })
}

fn refuse<'a>(
    system: &System,
    groups: impl IntoIterator<Item = &'a [TaskId]>,
    reason: impl Fn(&str, i64) -> String,
) -> Result<(), SystemRefusal> {
    match first_shared(system, groups) {
        None => Ok(()),
        Some((priority, [a, b])) => {
            let names = format!("`{}` and `{}`", system.tasks[a].name, system.tasks[b].name);
            Err(Refusal::not_permitted(reason(&names, priority)).about(b))
        }
    }
}
