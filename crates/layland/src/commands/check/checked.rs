//! What is known of one set: each policy that was asked for, held against the analyses.

use super::args::CheckArgs;
use super::reserved::{Assessors, Reserved, Way, for_verdicts};
use super::ticks;
use super::witness::{self, Decisions, Found, Search, Witness};
use crate::ui::exit::Exit;
use crate::ui::input::Set;
use layland_analysis::{PAIRS, Subject, TestKind, Verdict, pairs};
use layland_guarantee::{
    Affinities, AssessOptions, Assessment, Bound, ChainBound, Said, affinities, chain_bounds,
};
use layland_model::{Algorithm, Form, Order, System};
use layland_policy::{PolicyOptions, Registry};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that is known of one set.
pub(super) struct Checked {
    pub set: Set,
    /// What runs reserve, if that is what was asked about.
    pub reserved: Option<Reserved>,
    /// What does not depend on the policy.
    pub whatever: Vec<Said>,
    /// The policies that are shown.
    pub policies: Vec<Assessment>,
    /// The policies that are not made for such a set, with the reason; only if none was asked for.
    pub out_of_place: Vec<(String, String)>,
    /// The run that misses, of each policy that was found to miss by one.
    pub witnesses: BTreeMap<String, Witness>,
    /// What was left out because the set is too large for it, if no policy was asked for.
    pub left_out: Option<LeftOut>,
    /// Which policies keep the affinities, if there are some and no policy was asked for.
    pub affinities: Option<Affinities>,
    /// What is guaranteed of the chains of the set, by policy.
    pub chains: BTreeMap<String, Vec<ChainBound>>,
    pub exit: Exit,
}

impl Checked {
    /// What was analysed under a policy.
    pub(super) fn system(&self, spec: &str) -> &System {
        let reserved = self.reserved.as_ref().and_then(|reserved| reserved.under(spec));
        reserved.unwrap_or(&self.set.system)
    }

    /// The policies without an assessment, with the reason.
    pub(super) fn not_assessed(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let left_out = self.left_out.iter();
        let left_out =
            left_out.flat_map(|left| left.policies.iter().map(|p| (p.clone(), left.why())));
        self.out_of_place.iter().cloned().chain(left_out)
    }
}

/// What takes too long for a set with many tasks on the same CPUs, unless it is asked for by name.
pub(super) struct LeftOut {
    /// Policies that assign priorities or instants by comparing each two tasks, many times, before the first release.
    pub policies: Vec<String>,
    /// Whether the margins would have been searched for.
    pub margins: bool,
    /// How many pairs of tasks share CPUs.
    pub pairs: u64,
}

impl LeftOut {
    /// What an analysis with as many pairs to compare says.
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

/// What is asked of each set.
pub(super) struct Asked<'a> {
    pub args: &'a CheckArgs,
    pub options: AssessOptions,
    /// How many jobs and states the search may look at.
    pub jobs: Jobs,
    /// Whether to show what does not depend on the policy.
    pub whatever: bool,
}

/// What is guaranteed of the chains under each policy that takes the set.
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

/// How many jobs are simulated in search of one that is late, and states looked at.
#[derive(Clone, Copy)]
pub(super) enum Jobs {
    /// As many as the user says.
    Asked(u64),
    /// As many as are worth it for the set, and at most so many.
    Usual { most: u64 },
}

impl Jobs {
    /// For this set. A job costs more where there are many tasks: a second or two must do for all policies of an
    /// ordinary set.
    fn of(self, system: &System) -> u64 {
        match self {
            Jobs::Asked(jobs) => jobs,
            Jobs::Usual { most } => (50_000 / system.tasks.len().max(1) as u64).clamp(1, most),
        }
    }
}

/// Holds every policy that was asked for against the analyses.
pub(super) fn check(registry: &Registry, asked: &Asked<'_>, set: Set) -> Checked {
    let &Asked { args, ref options, jobs, whatever } = asked;
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
    }
    let mut reserved = args.margin.as_ref().map(|margin| Reserved::of(&set.system, margin));
    let verdicts = for_verdicts(&options);
    let assessors = Assessors::new(registry, &set.system, reserved.as_ref(), &options, &verdicts);
    let effort = jobs.of(&set.system);
    let is_searched = left_out.is_none() || args.effort.is_some();
    let assessed = asked.par_iter().map(|spec| {
        let Way { assessor, system, of } = assessors.of(spec);
        let mut found = assessor.assess(spec).map_err(|error| (spec.clone(), error.to_string()))?;
        if let Some(tick) = args.tick {
            ticks::only(&mut found, system, tick);
        }
        // What is searched are runs of a set that is not what was seen.
        let is_open = found.verdict == Verdict::Unknown
            && found.refused.is_none()
            && system.unexplained().is_empty();
        let witness = match is_searched && is_open && args.test.is_empty() && effort > 0 {
            true => search(registry, args, &mut found, system, effort),
            false => None,
        };
        Ok((located(found, &set), witness, of))
    });
    let (mut policies, mut out_of_place) = (Vec::new(), Vec::new());
    let (mut witnesses, mut by) = (BTreeMap::new(), BTreeMap::new());
    for result in assessed.collect::<Vec<_>>() {
        let result = result.map(|(found, witness, of)| {
            witnesses.extend(witness.map(|witness| (found.spec.clone(), witness)));
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
        // The exit code depends on it.
        false if args.policy.is_empty() => assessors.plain().whatever_the_scheduler(),
        // What no scheduler can do the verdicts have said already: it is asked first of all.
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
        ticks::only_of_all(&mut whatever, &set.system, tick);
    }
    let chains = chains(registry, &policies, &assessors);
    let exit = exit(&policies, &whatever, !args.policy.is_empty());
    let affinities = args.policy.is_empty().then(|| affinities(registry, &set.system)).flatten();
    // Of those that are shown.
    by.retain(|spec, _| policies.iter().any(|found| found.spec == *spec));
    reserved.iter_mut().for_each(|reserved| reserved.by = std::mem::take(&mut by));
    Checked {
        set,
        reserved,
        whatever,
        policies,
        out_of_place,
        witnesses,
        left_out,
        affinities,
        chains,
        exit,
    }
}

/// How many jobs are simulated in search of one that is late, at most, if the user does not say.
pub(super) const EFFORT: u64 = 20_000;

/// Searches for a run that misses where no test decides, or for the proof that there is none, and writes down what that
/// says of the policy.
fn search(
    registry: &Registry,
    args: &CheckArgs,
    found: &mut Assessment,
    system: &System,
    effort: u64,
) -> Option<Witness> {
    let decisions = Decisions::of(effort);
    let search = Search { registry, spec: &found.spec, system, effort, decisions, tick: args.tick };
    match search.run() {
        Found::Misses(witness) => {
            (found.verdict, found.decided_by) = (Verdict::No, Some(witness::NAME));
            found.reasons = vec![witness.describe(system)];
            return Some(*witness);
        }
        Found::Meets(responses, why, by) => {
            (found.verdict, found.decided_by) = (Verdict::Yes, Some(by));
            found.reasons = vec![why];
            // By how much WCETs could grow was asked of the tests, which are silent.
            found.margin = None;
            for (bound, &within) in found.bounds.values_mut().zip(responses.values()) {
                let (kind, per_level) = (TestKind::Exact, Vec::new());
                *bound = Bound::Response { within, by, kind, per_level };
            }
        }
        Found::Nothing(told) => found.reasons.extend(told),
    }
    None
}

/// Why a policy refuses the set, with the place of the task that it names.
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

/// The fixed priorities of a partitioned policy that is not guaranteed: another partition may do.
fn open_order(registry: &Registry, found: &Assessment) -> Option<Order> {
    let (info, options) = registry.parse(&found.spec).ok()?;
    let Algorithm::Ordered(Form::Partitioned, order) = info.algorithm(&options) else {
        return None;
    };
    (order != Order::Deadline && found.verdict != Verdict::Yes).then_some(order)
}

/// Yes, if all policies that were asked for guarantee every deadline; if none was asked for, if one
/// does. No, if one of them, or all, or any scheduler, does not.
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
