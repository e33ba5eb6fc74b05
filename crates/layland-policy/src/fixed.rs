//! Fixed task priorities on several CPUs: **RM** (the shorter period first), **DM** (the shorter
//! relative deadline first) and **FP** (as given), each global, clustered and partitioned.
//!
//! Liu and Layland 1973 for rate-monotonic, Leung and Whitehead 1982 for deadline-monotonic
//! priorities. The schedule is that of [`HighestFirst`] with a key per task: see there for ties and
//! placement.

use crate::highest_first::{HighestFirst, Key, Scope};
use crate::registry::{Citation, Options};
use crate::{Refusal, groups};
use layland_model::System;

/// Leung and Whitehead 1982.
pub const LEUNG_WHITEHEAD: Citation = Citation {
    key: "leung1982complexity",
    text: "J. Y.-T. Leung and J. Whitehead. On the complexity of fixed-priority scheduling of periodic, \
           real-time tasks. Performance Evaluation 2(4):237-250, 1982.",
    bibtex: "@article{leung1982complexity,
  author  = {Joseph Y.-T. Leung and Jennifer Whitehead},
  title   = {On the Complexity of Fixed-Priority Scheduling of Periodic, Real-Time Tasks},
  journal = {Performance Evaluation}, volume = {2}, number = {4}, pages = {237--250}, year = {1982}
}",
};

/// Where a task gets its fixed priority from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priorities {
    /// The shorter period comes first.
    RateMonotonic,
    /// The shorter relative deadline comes first.
    DeadlineMonotonic,
    /// As given by the task set, smaller first.
    Given,
}

impl Priorities {
    pub(crate) fn key(self, system: &System) -> Result<Key, Refusal> {
        match self {
            Priorities::RateMonotonic => Ok(Key::Period),
            Priorities::DeadlineMonotonic => Ok(Key::RelativeDeadline),
            Priorities::Given => match system.tasks.values().find(|task| task.priority.is_none()) {
                None => Ok(Key::Given),
                Some(task) => Err(Refusal::invalid(format!(
                    "task `{}` has no priority: give every task one, or use the rate-monotonic or \
                     deadline-monotonic form",
                    task.name
                ))),
            },
        }
    }

    fn name(self, global: &'static [&'static str; 3]) -> &'static str {
        match self {
            Priorities::RateMonotonic => global[0],
            Priorities::DeadlineMonotonic => global[1],
            Priorities::Given => global[2],
        }
    }
}

/// The `m` ready jobs of highest priority run, on any CPU.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or a priority is missing.
pub fn global(
    priorities: Priorities,
    system: &System,
    _options: &Options,
) -> Result<HighestFirst, Refusal> {
    let name = priorities.name(&["g-rm", "g-dm", "g-fp"]);
    let groups = groups::global(name, system)?;
    Ok(HighestFirst::new(name, Scope::Global, priorities.key(system)?, system, &groups))
}

/// Global within each cluster.
///
/// # Errors
/// As for C-EDF, or if a priority is missing.
pub fn clustered(
    priorities: Priorities,
    system: &System,
    options: &Options,
) -> Result<HighestFirst, Refusal> {
    let name = priorities.name(&["c-rm", "c-dm", "c-fp"]);
    let groups = groups::clustered(name, system, options)?;
    Ok(HighestFirst::new(name, Scope::Clustered, priorities.key(system)?, system, &groups))
}

/// Uniprocessor fixed-priority scheduling on each CPU; tasks are assigned before the start.
///
/// # Errors
/// If the tasks cannot be packed, or a priority is missing.
pub fn partitioned(
    priorities: Priorities,
    system: &System,
    options: &Options,
) -> Result<HighestFirst, Refusal> {
    let name = priorities.name(&["p-rm", "p-dm", "p-fp"]);
    let groups = groups::partitioned(name, system, options)?;
    Ok(HighestFirst::new(name, Scope::Partitioned, priorities.key(system)?, system, &groups))
}
