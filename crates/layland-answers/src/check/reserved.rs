//! `layland check --reserve`: analyses what a real run reserves in place of the set.
//!
//! A margin enlarges what the policy accounts for, so that up to three systems are analysed: the
//! set itself, the set with larger budgets, and the set with larger WCETs. `layland run` calls the
//! same function ([`Reserves::larger`]).

use layland_analysis::Verdict;
use layland_engine::reserves::{Margin, Reserves};
use layland_guarantee::{AssessOptions, Assessor, BoundsBy, Findings, Wanted};
use layland_model::{Behaviour, Service, System, Task, TaskId};
use layland_policy::Registry;
use std::collections::BTreeMap;

/// The reservations of runs with a margin.
pub struct Reserved {
    /// The margin.
    pub margin: Margin,
    budgets: System,
    wcets: System,
    /// The effect on each policy that accepts the set as it is.
    pub by: BTreeMap<String, OfPolicy>,
}

/// The effect of a margin on a policy.
#[derive(Clone, Copy)]
pub struct OfPolicy {
    /// The reservations that a run enlarges.
    pub reserves: Reserves,
    /// The verdict of the tests for the set without the margin.
    pub without: Verdict,
}

impl Reserved {
    /// Returns the enlarged systems, with no policy yet.
    pub(super) fn of(system: &System, margin: &Margin) -> Reserved {
        Reserved {
            margin: margin.clone(),
            budgets: Reserves::Budgets.larger(system, margin).into_owned(),
            wcets: Reserves::Wcets.larger(system, margin).into_owned(),
            by: BTreeMap::new(),
        }
    }

    /// Returns the system that is analysed in place of the set; `None` if that is the set itself.
    pub fn system(&self, reserves: Reserves) -> Option<&System> {
        match reserves {
            Reserves::AsSaid => None,
            Reserves::Budgets => Some(&self.budgets),
            Reserves::Wcets => Some(&self.wcets),
        }
    }

    /// Returns the system that is analysed for a policy.
    pub fn under(&self, spec: &str) -> Option<&System> {
        self.system(self.by.get(spec)?.reserves)
    }

    /// Returns the names of the policies whose runs reserve more of this kind.
    fn names(&self, reserves: Reserves) -> Vec<&str> {
        let of_it = self.by.iter().filter(|(_, of)| of.reserves == reserves);
        of_it.map(|(spec, _)| spec.as_str()).collect()
    }

    /// Describes what is analysed, in a sentence without a full stop.
    pub fn describe(&self) -> String {
        let of = |what: &str, reserves| {
            let names = self.names(reserves);
            (!names.is_empty()).then(|| format!("{what} under {}", names.join(", ")))
        };
        let mut parts: Vec<String> =
            [of("larger budgets", Reserves::Budgets), of("larger WCETs", Reserves::Wcets)]
                .into_iter()
                .flatten()
                .collect();
        let rest = self.names(Reserves::AsSaid);
        match (rest.is_empty(), parts.is_empty()) {
            (true, _) => {}
            (false, true) => {
                parts.push(format!("no more than the set says under {}", rest.join(", ")))
            }
            (false, false) => parts.push("no more than the set says under the others".to_owned()),
        }
        if parts.is_empty() { IN_GENERAL.to_owned() } else { parts.join("; ") }
    }

    /// Describes the values of each task under the policies that enlarge this kind, for at most
    /// `most` tasks.
    pub fn tasks(&self, set: &System, reserves: Reserves, most: usize) -> Option<String> {
        let (names, larger) = (self.names(reserves), self.system(reserves)?);
        if names.is_empty() {
            return None;
        }
        let amounts = |task: &Task| -> String {
            let of = |work: &Service| format!("{:#}", work.at_unit_speed());
            match reserves {
                Reserves::Budgets => of(&task.reservation()),
                Reserves::AsSaid | Reserves::Wcets => {
                    task.wcet.iter().map(of).collect::<Vec<_>>().join("/")
                }
            }
        };
        let one = |(id, task): (TaskId, &Task)| {
            format!("{} {} -> {}", task.name, amounts(&set.tasks[id]), amounts(task))
        };
        let shown: Vec<String> = larger.tasks.iter().take(most).map(one).collect();
        let more = match larger.tasks.len().saturating_sub(most) {
            0 => String::new(),
            more => format!(", and {more} more (--json has them)"),
        };
        Some(format!("reserved under {}: {}{more}", names.join(", "), shown.join(", ")))
    }

    /// Returns the tasks whose deadlines are too short for the whole margin.
    pub fn without_room(&self, set: &System) -> Vec<&str> {
        let is_short = |reserves: Reserves, id: TaskId, task: &Task| {
            let own = &set.tasks[id];
            let (before, now) = match reserves {
                Reserves::AsSaid => return false,
                Reserves::Budgets => (own.reservation(), task.reservation()),
                Reserves::Wcets => (own.own_wcet(), task.own_wcet()),
            };
            // The budget of a hog is what it gets, and has no margin.
            let is_hog = own.behaviour == Behaviour::Hog && reserves == Reserves::Budgets;
            !is_hog && now - before < self.margin.of(before)
        };
        let kinds = [Reserves::Budgets, Reserves::Wcets].into_iter();
        let used: Vec<Reserves> = kinds.filter(|&kind| !self.names(kind).is_empty()).collect();
        let tasks = set.tasks.iter().filter(|&(id, _)| {
            let larger = |&kind: &Reserves| {
                self.system(kind).is_some_and(|larger| is_short(kind, id, &larger.tasks[id]))
            };
            used.iter().any(larger)
        });
        tasks.map(|(id, _)| self.budgets.tasks[id].name.as_str()).collect()
    }

    /// Returns the policies that lose a guarantee by the margin.
    pub fn lost<'a>(
        &self,
        verdicts: impl Iterator<Item = (&'a str, Verdict)> + Clone,
    ) -> Vec<String> {
        let lost = |to: Verdict, what: &str| {
            let is_it = |&(spec, verdict): &(&str, Verdict)| {
                let without = self.by.get(spec).map(|of| of.without);
                verdict == to && without == Some(Verdict::Yes)
            };
            let names: Vec<&str> = verdicts.clone().filter(is_it).map(|(spec, _)| spec).collect();
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        let lines = [
            lost(Verdict::No, "guaranteed without the margin, and not with it"),
            lost(Verdict::Unknown, "guaranteed without the margin, unknown with it"),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// The reservations of runs, for sentences that name no policies.
pub const IN_GENERAL: &str = "larger budgets under policies of threads, larger WCETs under policies that are optimal or for \
     mixed criticality, no more than the set says under others";

/// One assessor for each of the systems.
pub(super) struct Assessors<'a> {
    registry: &'a Registry,
    set: &'a System,
    plain: Assessor<'a>,
    larger: Option<Larger<'a>>,
}

struct Larger<'a> {
    reserved: &'a Reserved,
    /// The assessor of the set without the margin. It computes only verdicts.
    without: Assessor<'a>,
    budgets: Assessor<'a>,
    wcets: Assessor<'a>,
}

/// Returns the options for the set without the margin.
pub(super) fn for_verdicts(options: &AssessOptions) -> AssessOptions {
    let wanted =
        Wanted { findings: Findings::Verdict, bounds: BoundsBy::Nobody, ..Wanted::default() };
    let effort = options.effort.without_runs();
    AssessOptions { wanted, effort, tick: None, ..options.clone() }
}

/// The assessor of a policy, and its system.
pub(super) struct Way<'s, 'a> {
    pub assessor: &'s Assessor<'a>,
    pub system: &'a System,
    pub of: Option<OfPolicy>,
}

impl<'a> Assessors<'a> {
    pub(super) fn new(
        registry: &'a Registry,
        set: &'a System,
        reserved: Option<&'a Reserved>,
        options: &'a AssessOptions,
        verdicts: &'a AssessOptions,
    ) -> Assessors<'a> {
        let larger = reserved.map(|reserved| Larger {
            reserved,
            without: Assessor::new(registry, set, verdicts),
            budgets: Assessor::new(registry, &reserved.budgets, options),
            wcets: Assessor::new(registry, &reserved.wcets, options),
        });
        Assessors { registry, set, plain: Assessor::new(registry, set, options), larger }
    }

    /// Returns the assessor of the set without the margin.
    pub(super) fn plain(&self) -> &Assessor<'a> {
        &self.plain
    }

    /// Returns the assessor of a policy. A policy that rejects the set as it is has no run.
    pub(super) fn of(&self, spec: &str) -> Way<'_, 'a> {
        let plain = Way { assessor: &self.plain, system: self.set, of: None };
        let Some(larger) = &self.larger else { return plain };
        let Ok(policy) = self.registry.build(spec, self.set) else { return plain };
        let reserves = Reserves::of(&*policy);
        let Ok(without) = larger.without.assess(spec) else { return plain };
        let of = Some(OfPolicy { reserves, without: without.verdict });
        let system = larger.reserved.system(reserves).unwrap_or(self.set);
        let assessor = match reserves {
            Reserves::AsSaid => &self.plain,
            Reserves::Budgets => &larger.budgets,
            Reserves::Wcets => &larger.wcets,
        };
        Way { assessor, system, of }
    }
}
