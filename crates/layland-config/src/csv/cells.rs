//! The cells of keys whose values have a syntax of their own.

use crate::keys::Of;
use crate::steps::text;
use layland_model::{CpuSet, Preemption, TaskId};

/// The separator between the steps of a job, and between the tasks that a task follows.
pub(super) const BETWEEN: char = ';';

/// Returns an empty cell.
pub(crate) fn none(_: Of<'_>) -> String {
    String::new()
}

pub(crate) fn criticality(of: Of<'_>) -> String {
    of.system.levels.names().get(of.task.criticality.level()).cloned().unwrap_or_default()
}

pub(crate) fn affinity(of: Of<'_>) -> String {
    of.task.affinity.as_ref().map_or(String::new(), CpuSet::to_string)
}

pub(crate) fn nonpreemptive(of: Of<'_>) -> String {
    match &of.task.preemption {
        Preemption::Anywhere | Preemption::Between(_) => String::new(),
        Preemption::Never => "true".to_owned(),
        Preemption::Delayed(region) => region.to_string(),
    }
}

pub(crate) fn segments(of: Of<'_>) -> String {
    match &of.task.preemption {
        Preemption::Anywhere | Preemption::Never | Preemption::Delayed(_) => String::new(),
        Preemption::Between(segments) => {
            segments.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        }
    }
}

/// `run 1ms; lock bus; run 2ms; unlock bus`. The cell is empty if the name of a resource has a
/// separator.
pub(crate) fn steps(of: Of<'_>) -> String {
    let texts: Vec<String> =
        of.task.steps().iter().map(|&step| text(step, &of.system.resources)).collect();
    if texts.iter().any(|text| text.contains(BETWEEN)) {
        return String::new();
    }
    texts.join("; ")
}

/// `9 of 10; 1 of 3`.
pub(crate) fn mk(of: Of<'_>) -> String {
    of.task.constraints().map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
}

pub(crate) fn miss(of: Of<'_>) -> String {
    of.task.miss_probability().map_or(String::new(), ToString::to_string)
}

/// `camera; radar`. The cell is empty if it cannot have one of the names.
pub(crate) fn follows(of: Of<'_>) -> String {
    let name = |id: &TaskId| {
        let name = &of.system.tasks.get(*id)?.name;
        let is_one = !name.contains(BETWEEN) && !name.is_empty() && name.trim() == name;
        is_one.then_some(name.as_str())
    };
    let names: Option<Vec<&str>> = of.task.follows.iter().map(name).collect();
    names.map_or(String::new(), |names| names.join("; "))
}
