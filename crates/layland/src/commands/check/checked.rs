//! The result for one set: every requested policy, checked with the analyses.

use super::args::CheckArgs;
use super::reserved::{Assessors, Reserved, Way, for_verdicts};
use crate::ui::exit::Exit;
use crate::ui::input::Set;
use layland_analysis::{PAIRS, Subject, Verdict, pairs};
use layland_guarantee::search::Witness;
use layland_guarantee::{
    Affinities, AssessOptions, Assessment, ChainBound, Said, affinities, chain_bounds, on_ticks,
};
use layland_model::{Algorithm, Form, Order, System};
use layland_policy::{PolicyOptions, Registry};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The complete result for one set.
pub(super) struct Checked {
    pub set: Set,
    /// The reservations of runs, if `--margin` was given.
    pub reserved: Option<Reserved>,
    /// The findings that do not depend on the policy.
    pub whatever: Vec<Said>,
    /// The policies that are shown.
    pub policies: Vec<Assessment>,
    /// The policies that are not made for such a set, with the reason; empty if the user named
    /// policies.
    pub out_of_place: Vec<(String, String)>,
    /// The analyses that were left out because the set is too large, if the user named no policy.
    pub left_out: Option<LeftOut>,
    /// Which policies respect the affinities, if the set has affinities and the user named no
    /// policy.
    pub affinities: Option<Affinities>,
    /// The guarantees for the chains of the set, by policy.
    pub chains: BTreeMap<String, Vec<ChainBound>>,
    pub exit: Exit,
}

impl Checked {
    /// Returns the system that was analysed under a policy.
    pub(super) fn system(&self, spec: &str) -> &System {
        let reserved = self.reserved.as_ref().and_then(|reserved| reserved.under(spec));
        reserved.unwrap_or(&self.set.system)
    }

    /// Returns the witness run of each policy for which a run with a miss was found.
    pub(super) fn witnesses(&self) -> BTreeMap<&str, &Witness> {
        let found = self.policies.iter();
        let missing = found.filter_map(|found| Some((&*found.spec, found.witness.as_deref()?)));
        missing.collect()
    }

    /// Returns the policies without an assessment, with the reason.
    pub(super) fn not_assessed(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let left_out = self.left_out.iter();
        let left_out =
            left_out.flat_map(|left| left.policies.iter().map(|p| (p.clone(), left.why())));
        self.out_of_place.iter().cloned().chain(left_out)
    }
}

/// Analyses that take too long for a set with many tasks on the same CPUs, unless the user names
/// them.
pub(super) struct LeftOut {
    /// Policies that compare every pair of tasks many times before the first release, to assign
    /// priorities or instants.
    pub policies: Vec<String>,
    /// True if the search for margins was left out.
    pub margins: bool,
    /// The number of pairs of tasks that share CPUs.
    pub pairs: u64,
}

impl LeftOut {
    /// Returns the reason, in the words of an analysis with too many pairs to compare.
    pub(super) fn why(&self) -> String {
        format!("{} pairs of tasks share CPUs, and more than {PAIRS} take long", self.pairs)
    }

    fn of(
        registry: &Registry,
        args: &CheckArgs,
        system: &System,
        margins: bool,
    ) -> Option<LeftOut> {
        if !args.policy.is_empty() {
            return None;
        }
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
}

/// The question that is asked about each set.
pub(super) struct Asked<'a> {
    pub args: &'a CheckArgs,
    pub options: AssessOptions,
    /// True if the findings that do not depend on the policy are shown.
    pub whatever: bool,
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
pub(super) fn check(registry: &Registry, asked: &Asked<'_>, set: Set) -> Checked {
    let &Asked { args, ref options, whatever } = asked;
    let left_out = LeftOut::of(registry, args, &set.system, options.wanted.more.has_margin());
    let is_left_out =
        |name: &String| left_out.as_ref().is_some_and(|left_out| left_out.policies.contains(name));
    let asked: Vec<String> = match args.policy.is_empty() {
        false => args.policy.clone(),
        true => registry
            .iter()
            .map(|info| info.name.to_string())
            .filter(|name| !is_left_out(name))
            .collect(),
    };
    let mut options = options.clone();
    if left_out.is_some() {
        options.wanted.more = options.wanted.more.without_margin();
        if args.effort.is_none() {
            options.effort = options.effort.without_runs();
        }
    }
    let mut reserved = args.margin.as_ref().map(|margin| Reserved::of(&set.system, margin));
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
            Ok(found) if args.policy.is_empty() && found.is_out_of_place() => {
                let why = found.refused.map_or(String::new(), |refusal| refusal.answer.reason);
                out_of_place.push((found.spec, why));
            }
            Ok(found)
                if args.policy.is_empty()
                    && found.is_empty()
                    && !args.all
                    && set.system.unexplained().is_empty() =>
            {
                let why = found.reasons.first().cloned().unwrap_or_default();
                out_of_place.push((found.spec, why));
            }
            Ok(found) => policies.push(found),
            Err(unknown) => out_of_place.push(unknown),
        }
    }
    let asked_for_all = whatever && !args.policy.is_empty();
    let mut whatever = match whatever {
        true => assessors.plain().whatever_the_policy(),
        // The exit code depends on these findings.
        false if args.policy.is_empty() => assessors.plain().whatever_the_scheduler(),
        // The verdicts include infeasibility already, because it is tested first.
        false => Vec::new(),
    };
    if asked_for_all {
        let orders = policies.iter().filter_map(|found| open_order(registry, found));
        let orders: BTreeSet<Order> = orders.collect();
        for order in orders.into_iter().filter(|_| set.system.platform.cpu_count() > 1) {
            whatever.extend(assessors.plain().some_partition_under(order));
        }
    }
    if let Some(tick) = args.tick {
        on_ticks(&mut whatever, &set.system, tick);
    }
    let chains = chains(registry, &policies, &assessors);
    let exit = exit(&policies, &whatever, !args.policy.is_empty());
    let affinities = args.policy.is_empty().then(|| affinities(registry, &set.system)).flatten();
    // Keep only the policies that are shown.
    by.retain(|spec, _| policies.iter().any(|found| found.spec == *spec));
    reserved.iter_mut().for_each(|reserved| reserved.by = std::mem::take(&mut by));
    Checked { set, reserved, whatever, policies, out_of_place, left_out, affinities, chains, exit }
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

/// Returns yes if all requested policies guarantee every deadline, or, if none was requested, if
/// one does. Returns no if one requested policy, or all policies, or any scheduler, cannot
/// guarantee them.
fn exit(policies: &[Assessment], whatever: &[Said], asked: bool) -> Exit {
    let verdicts = || policies.iter().map(|policy| policy.verdict);
    let (yes, no) = match asked {
        true => (
            verdicts().all(|verdict| verdict == Verdict::Yes),
            verdicts().any(|verdict| verdict == Verdict::No),
        ),
        false => (
            verdicts().any(|verdict| verdict == Verdict::Yes),
            !policies.is_empty() && verdicts().all(|verdict| verdict == Verdict::No),
        ),
    };
    let impossible = whatever.iter().any(|said| {
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
