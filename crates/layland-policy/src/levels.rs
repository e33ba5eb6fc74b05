//! Several tasks of one given priority: a *level*.
//!
//! The option `tie` of the policies that read priorities says which job of a level comes first:
//!
//! | `tie` | within a level |
//! |---|---|
//! | `rank` | the smaller rank, and it preempts |
//! | `fifo` | the job that became ready first, by its release or the end of a suspension; at one instant the smaller rank |
//! | `any` | it is not known: for analyses, and for traces of others |
//!
//! Under `fifo` a running job is never preempted by a job of its level, and one that a higher level preempts keeps its
//! place: so POSIX has it for `SCHED_FIFO`. The queue is ordered by (level, instant of readiness, rank). Without the
//! option the set decides ([`System::in_level`]).
//!
//! What nobody has rules for is refused by name: locks, non-preemptive regions and servers, where a level is shared on
//! the CPUs concerned.

use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use layland_model::{Algorithm, Form, InLevel, Order, System, TaskId};

/// The option that says what decides within a level; none if the order has no levels of the set.
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

/// What decides within a level; none if ranks do.
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

/// The algorithm with these options: that of levels where they say that ranks do not decide, whatever the set says.
pub(crate) fn algorithm(form: Form, order: Order, options: &PolicyOptions) -> Algorithm {
    match (order, options.text("tie")) {
        (Order::Given, Some("fifo")) => Algorithm::Levels(form, InLevel::Fifo),
        (Order::Given, Some("any")) => Algorithm::Levels(form, InLevel::Any),
        (_, Some(_) | None) => Algorithm::Ordered(form, order),
    }
}

/// Refuses to run a set of which it is not known who comes first. A policy that is asked for its rule never runs.
///
/// # Errors
/// If it is not known, and some of these tasks share a priority.
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

/// Refuses levels that are shared where nobody has a rule for that.
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

/// Whether two tasks of a group share a priority.
pub(crate) fn are_shared<'a>(
    system: &System,
    groups: impl IntoIterator<Item = &'a [TaskId]>,
) -> bool {
    first_shared(system, groups).is_some()
}

/// The first level that two tasks of a group share, with the first two.
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
