//! The descriptions of the policies with pieces, the systems that they refuse, and their
//! constructors.

use super::Split;
use crate::Refusal;
use crate::fair::preparation::{Deadlines, Releases, SPORADIC, takes};
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups::ONE_CLUSTER;
use layland_model::{
    Algorithm, Behaviour, Citation, Piece, SplitOrder, Splitting, System, TaskMap,
};
use layland_offline::{NoSplit, split};

const LATE: &str =
    "deadlines after the ends of periods: pieces of two jobs of a task would overlap";
const HOG: &str = "hogs: their jobs have no last piece";
const NO_PLACE: &str = "task sets in which a task finds no place, even split";

/// The values of `order`, the default first.
const ORDERS: [(&str, SplitOrder); 4] = [
    ("du", SplitOrder::Utilization),
    ("dd", SplitOrder::Density),
    ("id", SplitOrder::Deadline),
    ("ip", SplitOrder::Period),
];
/// The values of `split` for C=D, the default first.
const SPLITS: [(&str, Splitting); 4] = [
    ("fail-first", Splitting::FailFirst),
    ("fail-worst", Splitting::FailWorst),
    ("next-first", Splitting::NextFirst),
    ("next-best", Splitting::NextBest),
];

/// Returns the descriptions of both policies.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let order = OptionInfo::new(
        "order",
        "the order in which tasks are placed: du (default), decreasing utilization; dd, decreasing density; id or ip, \
         increasing deadline or period",
        Values::one_of(ORDERS.map(|(word, _)| word)),
    );
    let how = OptionInfo::new(
        "split",
        "fail-first (default) or fail-worst: tasks that fit on no CPU are split, after first fit or worst fit of the \
         others; next-first or next-best: CPU after CPU, the first task that no longer fits is split, or the one with \
         the largest part that fits",
        Values::one_of(SPLITS.map(|(word, _)| word)),
    );
    let finished = |info: PolicyInfo| {
        info.refusing([ONE_CLUSTER, LATE, SPORADIC, HOG, NO_PLACE]).breaking_ties(
            "of pieces that are due together the smaller rank comes first, then the task that comes first",
        )
    };
    vec![
        finished(PolicyInfo::new(
            "cd",
            "semi-partitioned EDF with C=D splitting",
            "EDF on each CPU; a task that fits on none is split: its first pieces run from the release on without a pause",
            |system, options| Ok(Box::new(cd(system, options)?)),
        ))
        .implementing_by(|options| in_order(options, splitting(options)))
        .with_options([how, order.clone()])
        .citing([Citation::BURNS]),
        finished(PolicyInfo::new(
            "edf-wm",
            "semi-partitioned EDF with windows (EDF-WM)",
            "EDF on each CPU; a task that fits on none has windows of one length on several, one after the other",
            |system, options| Ok(Box::new(edf_wm(system, options)?)),
        ))
        .implementing_by(|options| in_order(options, Ok(Splitting::Windows)))
        .with_options([order])
        .citing([Citation::KATO]),
    ]
}

/// Returns the algorithm that the options select. Invalid options are refused before any query for
/// the algorithm.
fn in_order(options: &PolicyOptions, splitting: Result<Splitting, Refusal>) -> Algorithm {
    match (order(options), splitting) {
        (Ok(order), Ok(splitting)) => Algorithm::Split(splitting, order),
        (Err(_), _) | (_, Err(_)) => Algorithm::Other,
    }
}

fn order(options: &PolicyOptions) -> Result<SplitOrder, Refusal> {
    Ok(options.one_of("order", &ORDERS)?.unwrap_or_default())
}

fn splitting(options: &PolicyOptions) -> Result<Splitting, Refusal> {
    Ok(options.one_of("split", &SPLITS)?.unwrap_or(Splitting::FailFirst))
}

/// Returns **C=D** for a valid system.
///
/// # Errors
/// If C=D cannot schedule the system.
pub fn cd(system: &System, options: &PolicyOptions) -> Result<Split, SystemRefusal> {
    let pieces = pieces("cd", system, splitting(options)?, order(options)?)?;
    Ok(Split::new("cd", system, pieces))
}

/// Returns **EDF-WM** for a valid system.
///
/// # Errors
/// If EDF-WM cannot schedule the system.
pub fn edf_wm(system: &System, options: &PolicyOptions) -> Result<Split, SystemRefusal> {
    let pieces = pieces("edf-wm", system, Splitting::Windows, order(options)?)?;
    Ok(Split::new("edf-wm", system, pieces))
}

/// Returns the pieces of every task of a valid system.
fn pieces(
    name: &str,
    system: &System,
    splitting: Splitting,
    order: SplitOrder,
) -> Result<TaskMap<Vec<Piece>>, SystemRefusal> {
    takes(name, system, Releases::Separated, Deadlines::Any)?;
    for (id, task) in system.tasks.iter() {
        if task.deadline > task.period {
            return Err(Refusal::invalid(format!(
                "task `{}` has deadline {} and period {}: {name} needs deadlines up to the ends of periods",
                task.name, task.deadline, task.period
            ))
            .about(id));
        }
        if matches!(task.behaviour, Behaviour::Hog) {
            return Err(Refusal::invalid(format!(
                "task `{}` is a hog: {name} needs jobs that end",
                task.name
            ))
            .about(id));
        }
    }
    split(system, splitting, order).map_err(|no_split| {
        let NoSplit { task, .. } = no_split;
        Refusal::busy(format!("{no_split}; try another order=.., or a policy that migrates freely"))
            .about(task)
    })
}
