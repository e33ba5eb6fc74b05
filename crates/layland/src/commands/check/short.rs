//! The short answer: the policies that differ on this set, best first; the others by name.

use super::args::CheckArgs;
use super::checked::Checked;
use layland_analysis::Verdict;
use layland_guarantee::{Assessment, has_affinities};
use layland_model::{Algorithm, Form, System};
use layland_policy::Registry;
use std::cmp::Reverse;

/// So many policies have a line of their own.
const SHOWN: usize = 6;

/// Whether the answer is short: nothing was asked for by name.
pub(super) fn is_wanted(args: &CheckArgs) -> bool {
    !args.all && !args.bounds && args.policy.is_empty() && args.test.is_empty()
}

/// What a short answer shows.
pub(super) struct Short<'a> {
    /// The best of each kind of answer, best first.
    pub shown: Vec<&'a Assessment>,
    /// The others: the verdict, and who has it.
    pub also: Vec<(Verdict, Vec<&'a str>)>,
}

impl<'a> Short<'a> {
    pub(super) fn of(registry: &Registry, checked: &'a Checked) -> Short<'a> {
        let system = &checked.set.system;
        let is_ordinary = |policy: &&Assessment| !is_for_others(registry, &policy.spec, system);
        let best = checked.policies.iter().filter(is_ordinary).map(|p| rank(p.verdict)).min();
        // A policy for what the set does not have is worth a line only if it can do more than the others.
        let fits = |policy: &&Assessment| {
            is_ordinary(policy) || best.is_none_or(|best| rank(policy.verdict) < best)
        };
        let mut fitting: Vec<&Assessment> = checked.policies.iter().filter(fits).collect();
        fitting.sort_by_key(|policy| (rank(policy.verdict), Reverse(margin(policy))));
        let answer = |policy: &Assessment| (policy.verdict, policy.decided_by, margin(policy));
        let mut shown: Vec<&Assessment> = Vec::new();
        let mut rest: Vec<&Assessment> = Vec::new();
        for policy in fitting {
            let is_new = shown.iter().all(|other| answer(other) != answer(policy));
            match is_new && shown.len() < SHOWN {
                true => shown.push(policy),
                false => rest.push(policy),
            }
        }
        let also =
            [Verdict::Yes, Verdict::Unknown, Verdict::No].into_iter().filter_map(|verdict| {
                let of_it = rest.iter().filter(|policy| policy.verdict == verdict);
                let names: Vec<&str> = of_it.map(|policy| policy.spec.as_str()).collect();
                (!names.is_empty()).then_some((verdict, names))
            });
        let also = also.collect();
        Short { shown, also }
    }
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

/// Whether a policy is for sets with affinities, criticalities, budgets, steps or graphs, and this one has none.
fn is_for_others(registry: &Registry, spec: &str, system: &System) -> bool {
    let Ok((info, options)) = registry.parse(spec) else { return false };
    match info.algorithm(&options) {
        Algorithm::Ordered(Form::Weak | Form::Strong | Form::Hierarchical, _)
        | Algorithm::Levels(Form::Weak | Form::Strong | Form::Hierarchical, _) => {
            !has_affinities(system)
        }
        Algorithm::MixedCriticality(_) => system.levels.count() < 2,
        Algorithm::Served(..) => system.tasks.values().all(|task| task.budget.is_none()),
        Algorithm::Federated => !system.has_followers(),
        Algorithm::Locking(..) => system.tasks.values().all(|task| task.steps.is_none()),
        Algorithm::Ordered(Form::Global | Form::Clustered | Form::Partitioned, _)
        | Algorithm::Levels(Form::Global | Form::Clustered | Form::Partitioned, _)
        | Algorithm::Deferred(..)
        | Algorithm::Edzl
        | Algorithm::FairLateness
        | Algorithm::TopFirst(_)
        | Algorithm::SchedDeadline
        | Algorithm::SemiPartitionedDeadline
        | Algorithm::AdaptivePartitioning
        | Algorithm::Run
        | Algorithm::Qps
        | Algorithm::Pd2
        | Algorithm::ErPd2
        | Algorithm::DpWrap
        | Algorithm::LreTl
        | Algorithm::UEdf
        | Algorithm::Split(..)
        | Algorithm::Other => false,
    }
}
