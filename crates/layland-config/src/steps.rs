//! Parses and formats the steps of a job: `run 1ms`, `lock bus`, `unlock bus`, `suspend 3ms`.
//!
//! The name of a resource has no blanks, so the verb is followed by exactly one time or one name.

use crate::problem::Span;
use layland_model::{
    Duration, Index, ParseTimeError, Resource, ResourceId, Service, Step, System, nearest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) const RESOURCE: &[&str] = &["name", "home"];

/// The resources of a file.
#[derive(Default)]
pub(crate) struct Resources {
    pub listed: Vec<Resource>,
    /// The span of each name.
    pub spans: Vec<Span>,
    /// The first resource of each name.
    pub names: BTreeMap<String, ResourceId>,
    /// True if all of them could be read.
    pub complete: bool,
}

/// The maximum number of steps of a job. Jobs with more are rejected, or lose their steps.
pub(crate) const MAX_STEPS: usize = 10_000;

/// The verbs.
const VERBS: [&str; 4] = ["run", "lock", "unlock", "suspend"];

/// The reason why a text is not a step.
pub(crate) enum Fault {
    /// The time is not valid.
    Time(ParseTimeError),
    /// Any other fault: the message and the help.
    Other { message: String, help: String },
    /// The resource does not exist.
    Unlisted(String),
}

/// Parses a step. `time` parses its time, and `resource` resolves its name.
pub(crate) fn parse(
    text: &str,
    time: impl FnOnce(&str) -> Result<Duration, ParseTimeError>,
    resource: impl FnOnce(&str) -> Option<ResourceId>,
) -> Result<Step, Fault> {
    let text = text.trim();
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let other = |message: String, help: String| Fault::Other { message, help };
    let found = VERBS.iter().copied().find(|known| *known == verb);
    let Some(found) = found else {
        let message = match verb {
            "" => "a step is empty".to_owned(),
            _ => format!("`{verb}` is nothing that a job does"),
        };
        let forms = "\"run 1ms\", \"lock bus\", \"unlock bus\", \"suspend 3ms\"";
        let help = match nearest(verb, VERBS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the steps are {forms}"),
        };
        return Err(other(message, help));
    };
    let is_time = matches!(found, "run" | "suspend");
    if rest.is_empty() {
        let (what, example) = if is_time { ("a time", "1ms") } else { ("a resource", "bus") };
        let message = format!("`{found}` is without {what}");
        return Err(other(message, format!("write \"{found} {example}\"")));
    }
    if is_time {
        let length = time(rest).map_err(Fault::Time)?;
        return Ok(match found {
            "run" => Step::Run(Service::from_ns(length.ns())),
            _ => Step::Suspend(length),
        });
    }
    if rest.contains(char::is_whitespace) {
        let message = format!("`{found}` is followed by more than one name");
        return Err(other(message, "write each step as a string of its own".to_owned()));
    }
    let resource = resource(rest).ok_or_else(|| Fault::Unlisted(rest.to_owned()))?;
    Ok(if found == "lock" { Step::Lock(resource) } else { Step::Unlock(resource) })
}

/// Formats a step.
pub(crate) fn text(step: Step, resources: &[Resource]) -> String {
    let name = |id: ResourceId| match resources.get(id.index()) {
        Some(resource) => resource.name.clone(),
        None => id.to_string(),
    };
    match step {
        Step::Run(length) => format!("run {length}"),
        Step::Lock(resource) => format!("lock {}", name(resource)),
        Step::Unlock(resource) => format!("unlock {}", name(resource)),
        Step::Suspend(length) => format!("suspend {length}"),
    }
}

/// Returns the execution time of the steps.
pub(crate) fn execution(steps: &[Step]) -> Service {
    let run = |step: &Step| match *step {
        Step::Run(length) => i128::from(length.ns()),
        Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => 0,
    };
    // A sum that does not fit exceeds the valid range in any case.
    Service::from_ns(i64::try_from(steps.iter().map(run).sum::<i128>()).unwrap_or(i64::MAX))
}

/// Removes the critical sections without execution, which are not valid in a system. Returns their
/// resources, in the order in which they are entered.
pub(crate) fn drop_empty_sections(steps: &mut Vec<Step>) -> Vec<ResourceId> {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut empty = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match *step {
            Step::Run(length) if length > Service::ZERO => {
                open.iter_mut().for_each(|(_, executes)| *executes = true);
            }
            Step::Run(_) | Step::Suspend(_) => {}
            Step::Lock(_) => open.push((at, false)),
            Step::Unlock(_) => {
                if let Some((from, false)) = open.pop() {
                    empty.push((from, at));
                }
            }
        }
    }
    // Nested sections are closed from the inside out.
    empty.sort_unstable();
    let locked = |&(from, _): &(usize, usize)| match steps[from] {
        Step::Lock(resource) => Some(resource),
        Step::Run(_) | Step::Unlock(_) | Step::Suspend(_) => None,
    };
    let resources = empty.iter().filter_map(locked).collect();
    let ends: BTreeSet<usize> = empty.iter().flat_map(|&(from, to)| [from, to]).collect();
    let mut at = 0..;
    steps.retain(|_| at.next().is_none_or(|at| !ends.contains(&at)));
    resources
}

/// Returns the resources that tasks use, in the order of their first use.
pub(crate) fn used(system: &System) -> Vec<ResourceId> {
    let mut seen = vec![false; system.resources.len()];
    let mut used = Vec::new();
    for step in system.tasks.values().flat_map(|task| task.steps()) {
        if let Step::Lock(resource) = *step
            && let Some(seen) = seen.get_mut(resource.index())
            && !std::mem::replace(seen, true)
        {
            used.push(resource);
        }
    }
    used
}

/// Keeps the resources that tasks use, in the order of their first use.
pub(crate) fn keep_used(system: &mut System) {
    let used = used(system);
    let mut new = vec![ResourceId(0); system.resources.len()];
    for (at, old) in used.iter().enumerate() {
        new[old.index()] = ResourceId::from_index(at);
    }
    // Copies of one task continue to share their steps.
    let mut before: Option<[Arc<[Step]>; 2]> = None;
    for task in system.tasks.values_mut() {
        let Some(steps) = &task.steps else { continue };
        let renumbered = match &before {
            Some([old, renumbered]) if Arc::ptr_eq(old, steps) => Arc::clone(renumbered),
            Some(_) | None => {
                let step = |step: &Step| match *step {
                    Step::Lock(old) => Step::Lock(new[old.index()]),
                    Step::Unlock(old) => Step::Unlock(new[old.index()]),
                    Step::Run(_) | Step::Suspend(_) => *step,
                };
                steps.iter().map(step).collect()
            }
        };
        before = Some([Arc::clone(steps), Arc::clone(&renumbered)]);
        task.steps = Some(renumbered);
    }
    system.resources = used.iter().map(|old| system.resources[old.index()].clone()).collect();
}
