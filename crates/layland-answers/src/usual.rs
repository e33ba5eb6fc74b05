//! The policy that is simulated or run if neither the user nor the set names one.
//!
//! A set that needs something gets a policy that has it: the first of these that accepts the set,
//! line by line.
//!
//! | the set has | policies |
//! |---|---|
//! | groups with budgets | `groups` |
//! | several criticality levels | `amc`, `edf-vd`, `smc` |
//! | threads that never block, yield, reclaim, or sleep for a time | `dl` |
//! | jobs that lock resources | with priorities `p-fp:locks=pcp`, otherwise `p-rm:locks=pcp` or `p-edf:locks=srp`; across CPUs `mpcp`, `fmlp+` |
//! | budgets | `ss`, `dl` |
//! | affinities | with priorities `p-fp`, otherwise `p-edf`, `weak-edf` |
//! | jobs that suspend themselves | with priorities `p-fp`, otherwise `p-edf` |
//! | several clusters | with priorities `c-fp`, otherwise `c-edf` |
//! | priorities for all tasks | `g-fp` |
//!
//! Every other set, and one that all of these refuse, gets global EDF.

use crate::Set;
use layland_model::{Behaviour, Step, System, Task};
use layland_policy::Registry;

/// A policy that was chosen for a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsualPolicy {
    /// The policy with its options.
    pub spec: String,
    /// The reason: a clause after "because".
    pub because: &'static str,
    /// True if the set needs no policy in particular.
    pub is_for_any_set: bool,
}

impl UsualPolicy {
    /// Chooses the policy of a set for which the user names none.
    ///
    /// ```
    /// use layland_answers::{Set, UsualPolicy};
    /// use layland_model::{CpuSet, CpuId, Duration, Service, System, Task};
    /// use layland_policy::Registry;
    /// let mut task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
    /// let choose = |task: &Task| {
    ///     let set = Set::in_memory("mine", System::new(2, vec![task.clone()]));
    ///     UsualPolicy::of(&Registry::standard(), &set).spec
    /// };
    /// assert_eq!(choose(&task), "g-edf");
    /// task.affinity = Some(CpuSet::single(CpuId(1)));
    /// assert_eq!(choose(&task), "p-edf");
    /// ```
    pub fn of(registry: &Registry, set: &Set) -> UsualPolicy {
        if let Some(named) = set.policy {
            let (spec, because) = (named.to_owned(), "the file asks for it");
            return UsualPolicy { spec, because, is_for_any_set: false };
        }
        let system = &set.system;
        // Every other policy refuses the set.
        if !system.groups.is_empty() {
            let because = "the set has groups with budgets";
            return UsualPolicy { spec: "groups".to_owned(), because, is_for_any_set: false };
        }
        let rows = candidates(system);
        let mut all =
            rows.iter().flat_map(|(specs, because)| specs.iter().zip(std::iter::repeat(because)));
        match all.find(|(spec, _)| registry.build(spec, system).is_ok()) {
            Some((&spec, because)) => {
                UsualPolicy { spec: spec.to_owned(), because, is_for_any_set: false }
            }
            None => UsualPolicy {
                spec: "g-edf".to_owned(),
                because: if rows.is_empty() {
                    "the set needs no other"
                } else {
                    "no policy that is tried for such a set accepts it"
                },
                is_for_any_set: true,
            },
        }
    }

    /// Returns the choice in a line for users.
    pub fn describe(&self) -> String {
        format!("policy {}, because {}; --policy names others", self.spec, self.because)
    }
}

/// Policies, and the reason why a set needs one of them.
type Tried = (&'static [&'static str], &'static str);

/// Returns the rows of the table for what the set has, in order.
fn candidates(system: &System) -> Vec<Tried> {
    let tasks = || system.tasks.values();
    let has_priorities = !system.tasks.is_empty() && tasks().all(|task| task.priority.is_some());
    let by = |with: &'static [&'static str], without| if has_priorities { with } else { without };
    let has_step = |is_it: fn(&Step) -> bool| tasks().any(|task| task.steps().iter().any(is_it));
    let with: &[&str] = &["p-fp:locks=pcp", "p-fp:locks=mpcp", "p-fp:locks=fmlp+", "p-fp"];
    let without: &[&str] = &[
        "p-rm:locks=pcp",
        "p-edf:locks=srp",
        "p-rm:locks=mpcp",
        "p-rm:locks=fmlp+",
        "p-rm",
        "p-edf",
    ];
    let rows: [(bool, Tried); 8] = [
        (system.levels.is_mixed(), (&["amc", "edf-vd", "smc"], "the set has criticality levels")),
        (
            tasks().any(is_thread),
            (&["dl"], "some tasks are threads that the rules of SCHED_DEADLINE are about"),
        ),
        (
            has_step(|step| matches!(step, Step::Lock(_))),
            (by(with, without), "jobs lock resources"),
        ),
        (tasks().any(|task| task.budget.is_some()), (&["ss", "dl"], "some tasks have budgets")),
        (
            tasks().any(|task| task.affinity.is_some()),
            (by(&["p-fp", "weak-fp"], &["p-edf", "weak-edf"]), "some tasks have affinities"),
        ),
        (
            has_step(|step| matches!(step, Step::Suspend(_))),
            (by(&["p-fp"], &["p-edf"]), "some jobs suspend themselves"),
        ),
        (
            system.platform.clusters.len() > 1,
            (by(&["c-fp", "p-fp"], &["c-edf", "p-edf"]), "the CPUs are in several clusters"),
        ),
        (has_priorities, (&["g-fp"], "every task has a priority")),
    ];
    rows.into_iter().filter(|(has, _)| *has).map(|(_, row)| row).collect()
}

/// Returns true if the task describes a thread and not jobs.
fn is_thread(task: &Task) -> bool {
    task.reclaim
        || match task.behaviour {
            Behaviour::Hog | Behaviour::Yield | Behaviour::SelfSuspending { .. } => true,
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Curve(_) => false,
        }
}
