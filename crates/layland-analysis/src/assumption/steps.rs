//! Assumptions of tests about the steps of jobs: locks and self-suspension.

use super::Assumption::{
    self, Flat, Homes, LocalResources, NestedLocally, NoSections, NoSuspension, OnlyExecutes,
    OrderedNesting, SuspendedOutside,
};
use super::{Refusal, masks};
use layland_model::{CpuSet, Duration, Index, ResourceId, Step, System, SystemPart, Task};
use std::collections::BTreeSet;

impl Assumption {
    /// Checks that a valid system keeps an assumption about steps; every system keeps the other
    /// assumptions.
    pub(super) fn check_steps(self, system: &System) -> Result<(), Refusal> {
        // In most systems all tasks only execute, and every test checks this assumption.
        if system.tasks.values().all(|task| task.steps().is_empty()) {
            return Ok(());
        }
        let global = Global::of(system);
        let name = |resource: ResourceId| format!("`{}`", system.resources[resource.index()].name);
        let order = if self == OrderedNesting { nested_order(system) } else { Ok(()) };
        for (id, task) in system.tasks.iter() {
            let mut held: Vec<ResourceId> = Vec::new();
            let own = masks(system, id).0.lowest();
            let is_away = |resource: &ResourceId| system.resources[resource.index()].home != own;
            for (at, step) in task.steps().iter().enumerate() {
                let part = SystemPart::Step(id, at);
                let refuse = |what: String, help| {
                    let message = format!("task `{}` {what}", task.name);
                    Err(Refusal { assumption: self, part, message, help })
                };
                match *step {
                    Step::Run(_) | Step::Suspend(Duration::ZERO) => {}
                    Step::Unlock(_) => drop(held.pop()),
                    Step::Suspend(length) => match (self, held.last()) {
                        (OnlyExecutes | NoSuspension, _) => {
                            return refuse(
                                format!("suspends itself for {length:#}"),
                                NO_SUSPENSION,
                            );
                        }
                        (SuspendedOutside, Some(&holds)) => {
                            let what = format!("suspends itself while it holds {}", name(holds));
                            return refuse(what, "unlock before the suspension, or lock after it");
                        }
                        _ => {}
                    },
                    Step::Lock(resource) => {
                        let within = held.last().copied();
                        held.push(resource);
                        let locks = format!("locks {}", name(resource));
                        match (self, within) {
                            (OnlyExecutes | NoSections, _) => return refuse(locks, NO_SECTIONS),
                            (LocalResources, _) if global.is(resource) => {
                                let what = format!("{locks}, which tasks on other CPUs use, too");
                                return refuse(
                                    what,
                                    "give them one CPU, or use a protocol for several: \
                                     locks=mpcp, dpcp, fmlp+, msrp",
                                );
                            }
                            (Homes, _) if system.resources[resource.index()].home.is_none() => {
                                return refuse(
                                    format!("{locks}, which has no home"),
                                    "give the resource a `home`, the CPU that executes its sections",
                                );
                            }
                            (Homes, Some(holds))
                                if let Some(away) = [holds, resource].into_iter().find(is_away) =>
                            {
                                let what = format!(
                                    "{locks} while it holds {}, and the home of {} is another CPU",
                                    name(holds),
                                    name(away)
                                );
                                return refuse(what, "leave one section before the next");
                            }
                            (Flat, Some(holds)) => {
                                let what = format!("{locks} while it holds {}", name(holds));
                                return refuse(what, "leave one section before the next");
                            }
                            (NestedLocally, Some(holds))
                                if global.is(resource) || global.is(holds) =>
                            {
                                let what = format!(
                                    "{locks} while it holds {}, and tasks on several CPUs use one of them",
                                    name(holds)
                                );
                                return refuse(what, "leave one section before the next");
                            }
                            (OrderedNesting, Some(holds)) if order == Err((holds, resource)) => {
                                let what = format!(
                                    "{locks} while it holds {}, and elsewhere it is the other way round",
                                    name(holds)
                                );
                                return refuse(
                                    what,
                                    "lock in one order everywhere, or use priority ceilings: locks=pcp, ipcp",
                                );
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

const NO_SUSPENSION: &str =
    "leave out the suspensions, or use a test for self-suspension (p-fp, p-rm and p-dm have some)";
const NO_SECTIONS: &str = "leave out the sections, or use a test for locks (p-fp, p-rm and p-dm have some, and p-edf \
     has one with locks=srp)";

/// For each resource, true if tasks that may use different CPUs use it.
pub(crate) struct Global(Vec<bool>);

impl Global {
    pub(crate) fn of(system: &System) -> Global {
        let mut cpus: Vec<Option<&CpuSet>> = vec![None; system.resources.len()];
        let mut global = vec![false; system.resources.len()];
        for (id, task) in system.tasks.iter() {
            let (allowed, _) = masks(system, id);
            for resource in locked(task) {
                let at = resource.index();
                global[at] |= *cpus[at].get_or_insert(allowed) != allowed;
            }
        }
        Global(global)
    }

    pub(crate) fn is(&self, resource: ResourceId) -> bool {
        self.0[resource.index()]
    }
}

fn locked(task: &Task) -> impl Iterator<Item = ResourceId> {
    task.steps().iter().filter_map(|step| match *step {
        Step::Lock(resource) => Some(resource),
        Step::Run(_) | Step::Unlock(_) | Step::Suspend(_) => None,
    })
}

/// Returns `Ok` if all tasks lock the resources of nested sections in one consistent order.
///
/// # Errors
/// Returns a resource and another one locked within it, both on a cycle of nested sections.
fn nested_order(system: &System) -> Result<(), (ResourceId, ResourceId)> {
    let mut inner: Vec<BTreeSet<ResourceId>> = vec![BTreeSet::new(); system.resources.len()];
    for task in system.tasks.values() {
        let sections = task.sections();
        for section in &sections {
            if let Some(outer) = section.within {
                inner[sections[outer].resource.index()].insert(section.resource);
            }
        }
    }
    // Remove innermost resources first, until none is left or only cycles remain.
    let mut left: BTreeSet<ResourceId> = (0..inner.len()).map(ResourceId::from_index).collect();
    while let Some(last) =
        left.iter().copied().find(|resource| inner[resource.index()].is_disjoint(&left))
    {
        left.remove(&last);
    }
    // Each remaining resource has another remaining one within it, so following them reaches a
    // cycle.
    let within = |outer: ResourceId| inner[outer.index()].intersection(&left).next().copied();
    let Some(mut outer) = left.first().copied() else { return Ok(()) };
    let mut seen = BTreeSet::new();
    loop {
        let next = within(outer).expect("otherwise it would have been removed");
        if !seen.insert(outer) {
            return Err((outer, next));
        }
        outer = next;
    }
}
