//! The short answer: the policies whose answers differ on this set, best first, and the names of
//! all others.

use super::checked::Checked;
use layland_analysis::Verdict;
use layland_guarantee::{Assessment, has_affinities};
use layland_model::{Algorithm, System, Task};
use layland_policy::Registry;
use std::cmp::Reverse;

/// The largest number of policies with a line of their own.
const SHOWN: usize = 6;

/// The contents of a short answer.
pub struct Short<'a> {
    /// The best of each kind of answer, best first.
    pub shown: Vec<&'a Assessment>,
    /// The names of the other policies, by verdict.
    pub also: Vec<(Verdict, Vec<&'a str>)>,
    /// The names of the policies for features that the set lacks.
    pub for_others: Vec<&'a str>,
}

impl<'a> Short<'a> {
    /// Chooses the policies of an answer.
    pub fn of(registry: &Registry, checked: &'a Checked) -> Short<'a> {
        let system = &checked.set.system;
        let is_ordinary = |policy: &&Assessment| !is_for_others(registry, &policy.spec, system);
        let rank = |policy: &Assessment| rank(checked.verdict(policy).0);
        let best = checked.policies.iter().filter(is_ordinary).map(rank).min();
        // A policy for features that the set lacks gets a line only if it achieves more than the
        // others.
        let fits = |policy: &&Assessment| {
            is_ordinary(policy) || best.is_none_or(|best| rank(policy) < best)
        };
        let (mut fitting, others): (Vec<&Assessment>, Vec<&Assessment>) =
            checked.policies.iter().partition(fits);
        fitting.sort_by_key(|policy| (rank(policy), Reverse(margin(policy))));
        let answer =
            |policy: &Assessment| (policy.verdict, policy.decided_by, margin(policy), rank(policy));
        let mut shown: Vec<&Assessment> = Vec::new();
        let mut rest: Vec<&Assessment> = Vec::new();
        for policy in fitting {
            let is_new = shown.iter().all(|other| answer(other) != answer(policy));
            if is_new && shown.len() < SHOWN { shown.push(policy) } else { rest.push(policy) }
        }
        let for_others = others.iter().map(|policy| policy.spec.as_str()).collect();
        Short { shown, also: by_verdict(&rest), for_others }
    }
}

/// Returns the names of policies by verdict, best first.
fn by_verdict<'a>(policies: &[&'a Assessment]) -> Vec<(Verdict, Vec<&'a str>)> {
    let of = |verdict| {
        let of_it = policies.iter().filter(|policy| policy.verdict == verdict);
        let names: Vec<&str> = of_it.map(|policy| policy.spec.as_str()).collect();
        (!names.is_empty()).then_some((verdict, names))
    };
    [Verdict::Yes, Verdict::Unknown, Verdict::No].into_iter().filter_map(of).collect()
}

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Yes => 0,
        Verdict::Unknown => 1,
        Verdict::No => 2,
    }
}

fn margin(policy: &Assessment) -> i64 {
    policy.margin.as_ref().map_or(0, |margin| margin.thousandths)
}

/// Returns true if a policy is for sets with affinities, criticalities, budgets, steps, groups or graphs,
/// and this set has none.
fn is_for_others(registry: &Registry, spec: &str, system: &System) -> bool {
    let Ok((info, options)) = registry.parse(spec) else { return false };
    let algorithm = info.algorithm(&options);
    let none_has = |is_it: fn(&Task) -> bool| system.tasks.values().all(|task| !is_it(task));
    algorithm.ordered().is_some_and(|(form, _)| form.has_affinities()) && !has_affinities(system)
        || matches!(algorithm, Algorithm::MixedCriticality(_)) && system.levels.count() < 2
        || matches!(algorithm, Algorithm::Served(..)) && none_has(|task| task.budget.is_some())
        || matches!(algorithm, Algorithm::Locking(..)) && none_has(|task| task.steps.is_some())
        || matches!(algorithm, Algorithm::Groups(_)) && system.groups.is_empty()
        || algorithm == Algorithm::Federated && !system.has_followers()
}
