//! The treatment of affinities by policies: which keep them, which refuse them and why, and what
//! they cost.

use crate::options::AssessOptions;
use crate::verdict::{Asked, verdict};
use layland_analysis::Verdict;
use layland_model::System;
use layland_policy::{Registry, Text};
use std::borrow::Cow;

/// The treatment of the affinities of a system by the policies of the registry, without options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinities {
    /// The policies that keep the affinities.
    pub kept_by: Vec<Text>,
    /// The policies that accept the system only without affinities, by their reasons. Reasons are
    /// in the order in which they first appear in the registry.
    pub refused_by: Vec<(String, Vec<Text>)>,
}

/// Returns true if some task may use only a part of its cluster.
pub fn has_affinities(system: &System) -> bool {
    system.tasks.iter().any(|(id, task)| {
        task.affinity.is_some() && system.allowed_cpus(id) != system.platform.clusters[task.cluster]
    })
}

/// Returns the system with every task free to use its cluster.
pub fn without_affinities(system: &System) -> System {
    let mut free = system.clone();
    free.tasks.values_mut().for_each(|task| task.affinity = None);
    free
}

/// Finds out how the policies treat the affinities; none if there are none.
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
            // If the policy also refuses the system without affinities, they are not the reason.
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

/// Returns the verdict on the system without its affinities; none if it has none.
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
