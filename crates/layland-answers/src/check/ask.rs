//! Asks every requested policy.

use super::checked::{Checked, LeftOut};
use super::question::CheckQuestion;
use super::reserved::{Assessors, Reserved, Way, for_verdicts};
use crate::structure::levels::numbers;
use crate::{Exit, Set, Unanswered};
use layland_analysis::{PAIRS, Subject, Verdict, pairs};
use layland_guarantee::{
    Assessment, BoundsBy, ChainBound, Effort, Findings, affinities, chain_bounds, on_ticks,
};
use layland_model::{Algorithm, Form, Order, System};
use layland_policy::{PolicyOptions, Registry};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

impl CheckQuestion {
    /// Answers the question about a set.
    ///
    /// # Errors
    /// As of [`resolved`](Self::resolved).
    pub fn ask(&self, registry: &Registry, set: Set) -> Result<Checked, Unanswered> {
        Ok(self.clone().resolved(registry)?.answer(registry, set))
    }

    /// Answers a [resolved](Self::resolved) question about a set. Callers with many sets resolve
    /// the question once.
    pub fn answer(&self, registry: &Registry, set: Set) -> Checked {
        check(registry, self, set)
    }
}

/// Returns the analyses to leave out, unless the user names policies.
fn left_out(registry: &Registry, question: &CheckQuestion, system: &System) -> Option<LeftOut> {
    if !question.policies.is_empty() {
        return None;
    }
    let margins = question.options.wanted.more.has_margin();
    let pairs = pairs(system);
    let policies = registry.iter().filter(|info| {
        let algorithm = info.algorithm(&PolicyOptions::default());
        matches!(algorithm, Algorithm::MixedCriticality(_))
    });
    (pairs > PAIRS).then(|| LeftOut {
        policies: policies.map(|info| info.name.to_string()).collect(),
        margins,
        pairs,
    })
}

/// Returns the guarantees for the chains under each policy that accepts the set.
fn chains(
    registry: &Registry,
    policies: &[Assessment],
    assessors: &Assessors<'_>,
) -> BTreeMap<String, Vec<ChainBound>> {
    let of = |found: &Assessment| {
        let system = assessors.of(&found.spec).system;
        if system.chains.is_empty() {
            return None;
        }
        let rule = registry.build(&found.spec, system).ok()?.rule();
        Some((found.spec.clone(), chain_bounds(system, &rule, found)))
    };
    policies.iter().filter_map(of).collect()
}

/// Checks every requested policy with the analyses.
fn check(registry: &Registry, question: &CheckQuestion, set: Set) -> Checked {
    let &CheckQuestion { ref policies, ref margin, ref options, any_policy, every_policy } =
        question;
    let names_policies = !policies.is_empty();
    let left_out = left_out(registry, question, &set.system);
    let is_left_out =
        |name: &String| left_out.as_ref().is_some_and(|left_out| left_out.policies.contains(name));
    let asked: Vec<String> = if names_policies {
        policies.clone()
    } else {
        registry
            .iter()
            .map(|info| info.name.to_string())
            .filter(|name| !is_left_out(name))
            .collect()
    };
    let mut options = options.clone();
    // Bounds on chains come from those of their tasks, and constraints decide the exit code.
    let constrained = set.system.chains.iter().any(|chain| chain.constraints().next().is_some());
    if constrained && options.wanted.bounds == BoundsBy::Nobody {
        options.wanted.bounds = BoundsBy::Named;
    }
    if left_out.is_some() {
        options.wanted.more = options.wanted.more.without_margin();
        options.wanted.limits = false;
        // Users who state an effort get it.
        if !matches!(options.effort, Effort::Jobs(_)) {
            options.effort = options.effort.without_runs();
        }
    }
    let mut reserved = margin.as_ref().map(|margin| Reserved::of(&set.system, margin));
    let verdicts = for_verdicts(&options);
    let assessors = Assessors::new(registry, &set.system, reserved.as_ref(), &options, &verdicts);
    let assessed = asked.par_iter().map(|spec| {
        let Way { assessor, of, .. } = assessors.of(spec);
        let found = assessor.assess(spec).map_err(|error| (spec.clone(), error.to_string()))?;
        Ok((located(found, &set), of))
    });
    let (mut policies, mut out_of_place) = (Vec::new(), Vec::new());
    let mut by = BTreeMap::new();
    for result in assessed.collect::<Vec<_>>() {
        let result = result.map(|(found, of)| {
            by.extend(of.map(|of| (found.spec.clone(), of)));
            found
        });
        match result {
            Ok(found) if !names_policies && found.is_out_of_place() => {
                let why = found.refused.map_or(String::new(), |refusal| refusal.answer.reason);
                out_of_place.push((found.spec, why));
            }
            Ok(found)
                if !names_policies
                    && found.is_empty()
                    && !every_policy
                    && set.system.unexplained().is_empty() =>
            {
                let why = found.reasons.first().cloned().unwrap_or_default();
                out_of_place.push((found.spec, why));
            }
            Ok(found) => policies.push(found),
            Err(unknown) => out_of_place.push(unknown),
        }
    }
    let asked_for_all = any_policy && names_policies;
    let mut common = if any_policy {
        assessors.plain().whatever_the_policy()
    } else if names_policies {
        // The verdicts include infeasibility already, because it is tested first.
        Vec::new()
    } else {
        // The exit code depends on these findings.
        assessors.plain().whatever_the_scheduler()
    };
    if asked_for_all {
        let orders = policies.iter().filter_map(|found| open_order(registry, found));
        let orders: BTreeSet<Order> = orders.collect();
        for order in orders.into_iter().filter(|_| set.system.platform.cpu_count() > 1) {
            common.extend(assessors.plain().some_partition_under(order));
        }
    }
    if let Some(tick) = options.tick {
        on_ticks(&mut common, &set.system, tick);
    }
    let chains = chains(registry, &policies, &assessors);
    let asks_every_test = matches!(options.wanted.findings, Findings::All);
    let numbers = policies.iter().filter(|_| asks_every_test).filter_map(|found| {
        let system = assessors.of(&found.spec).system;
        Some((found.spec.clone(), numbers(registry, system, &found.spec)?))
    });
    let numbers = numbers.collect();
    let affinities = (!names_policies).then(|| affinities(registry, &set.system)).flatten();
    // Keep only the policies that are shown.
    by.retain(|spec, _| policies.iter().any(|found| found.spec == *spec));
    reserved.iter_mut().for_each(|reserved| reserved.by = std::mem::take(&mut by));
    let checked = Checked {
        set,
        reserved,
        any_policy: common,
        policies,
        out_of_place,
        left_out,
        affinities,
        chains,
        numbers,
        has_limits: options.wanted.limits,
        digits: question.options.digits,
        exit: Exit::Unknown,
    };
    Checked { exit: exit(&checked, names_policies), ..checked }
}

/// Adds to a refusal the position of the task that it names.
fn located(mut found: Assessment, set: &Set) -> Assessment {
    if let Some(refusal) = &mut found.refused {
        let (task, reason) = (refusal.task, &mut refusal.answer.reason);
        *reason = set.located(std::mem::take(reason), task);
        for reason in &mut found.reasons {
            *reason = set.located(std::mem::take(reason), task);
        }
    }
    found
}

/// Returns the fixed priorities of a partitioned policy without a guarantee: another partition may
/// be schedulable.
fn open_order(registry: &Registry, found: &Assessment) -> Option<Order> {
    let (info, options) = registry.parse(&found.spec).ok()?;
    let Algorithm::Ordered(Form::Partitioned, order) = info.algorithm(&options) else {
        return None;
    };
    (order != Order::Deadline && found.verdict != Verdict::Yes).then_some(order)
}

/// Returns yes if all requested policies guarantee every deadline and every constraint on a chain,
/// or, if none was requested, if one does. Returns no if one requested policy, or all policies, or
/// any scheduler, cannot guarantee them.
fn exit(checked: &Checked, asked: bool) -> Exit {
    let verdicts = || checked.policies.iter().map(|policy| checked.verdict(policy).0);
    let (yes, no) = if asked {
        (
            verdicts().all(|verdict| verdict == Verdict::Yes),
            verdicts().any(|verdict| verdict == Verdict::No),
        )
    } else {
        (
            verdicts().any(|verdict| verdict == Verdict::Yes),
            !checked.policies.is_empty() && verdicts().all(|verdict| verdict == Verdict::No),
        )
    };
    let impossible = checked.any_policy.iter().any(|said| {
        said.test.subject == Subject::SomeScheduler
            && (*said.finding).as_ref().is_ok_and(|finding| finding.verdict == Verdict::No)
    });
    if no || impossible {
        Exit::No
    } else if yes {
        Exit::Yes
    } else {
        Exit::Unknown
    }
}
