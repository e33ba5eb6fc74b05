//! What affinities are to policies: which keep them, which refuse them and why, and what they cost.

use crate::options::AssessOptions;
use crate::verdict::{Asked, verdict};
use layland_analysis::Verdict;
use layland_model::System;
use layland_policy::{Registry, Text};
use std::borrow::Cow;

/// What the policies of the registry, without options, make of the affinities of a system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinities {
    /// These keep them.
    pub kept_by: Vec<Text>,
    /// These would take the system without affinities and refuse it as it is: why, and which.
    /// Reasons in the order in which the registry first has them.
    pub refused_by: Vec<(String, Vec<Text>)>,
}

/// Whether some task may use a part of its cluster only.
pub fn has_affinities(system: &System) -> bool {
    system.tasks.iter().any(|(id, task)| {
        task.affinity.is_some() && system.allowed_cpus(id) != system.platform.clusters[task.cluster]
    })
}

/// The system with every task free to use its cluster.
pub fn without_affinities(system: &System) -> System {
    let mut free = system.clone();
    free.tasks.values_mut().for_each(|task| task.affinity = None);
    free
}

/// What the policies make of the affinities; none if there are none.
///
/// ```
/// use layland_guarantee::affinities;
/// use layland_model::{Duration, Service, System, Task};
/// use layland_policy::Registry;
/// let tasks = ["0-1", "1-2"].map(|cpus| {
///     let mut task = Task::implicit(cpus, Service::from_ms(1), Duration::from_ms(4));
///     task.affinity = cpus.parse().ok();
///     task
/// });
/// let found = affinities(&Registry::standard(), &System::new(3, tasks.to_vec())).unwrap();
/// assert!(found.kept_by.iter().any(|name| name == "strong-edf"));
/// let refusing = |name| found.refused_by.iter().any(|(_, policies)| policies.iter().any(|policy| policy == name));
/// assert!(refusing("g-edf") && refusing("hpa-edf"));
/// ```
pub fn affinities(registry: &Registry, system: &System) -> Option<Affinities> {
    if !has_affinities(system) {
        return None;
    }
    let free = without_affinities(system);
    let mut found = Affinities::default();
    let options = layland_policy::PolicyOptions::default();
    for info in registry {
        match info.build(system, &options) {
            Ok(_) => found.kept_by.push(info.name.clone()),
            // What it refuses without affinities as well is not about them.
            Err(_) if info.build(&free, &options).is_err() => {}
            Err(refusal) => {
                let reason = refusal.in_general.unwrap_or(refusal.answer.reason);
                match found.refused_by.iter_mut().find(|(why, _)| *why == reason) {
                    Some((_, policies)) => policies.push(info.name.clone()),
                    None => found.refused_by.push((reason, vec![info.name.clone()])),
                }
            }
        }
    }
    Some(found)
}

/// The verdict on the system without its affinities; none if it has none.
pub(crate) fn verdict_without(
    policy: &Asked<'_, '_>,
    system: &System,
    options: &AssessOptions,
) -> Option<Verdict> {
    if !has_affinities(system) {
        return None;
    }
    let free = Cow::Owned(without_affinities(system));
    let found = verdict(policy, free, &options.for_another_system(), None);
    found.refused.is_none().then_some(found.verdict)
}
