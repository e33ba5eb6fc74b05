//! What is known of one set: each policy that was asked for, held against the analyses.

use super::args::CheckArgs;
use super::witness::{self, Witness};
use crate::ui::exit::Exit;
use crate::ui::input::Set;
use layland_analysis::{PAIRS, Subject, Verdict, pairs};
use layland_guarantee::{Affinities, AssessOptions, Assessment, Assessor, Said, affinities};
use layland_model::{Algorithm, System};
use layland_policy::{PolicyOptions, Registry};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Everything that is known of one set.
pub(super) struct Checked {
    pub set: Set,
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
    pub exit: Exit,
}

impl Checked {
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
        let pairs = pairs(system);
        let policies = registry.iter().filter(|info| {
            let algorithm = info.algorithm(&PolicyOptions::default());
            matches!(algorithm, Algorithm::MixedCriticality(_))
        });
        (args.policy.is_empty() && pairs > PAIRS).then(|| LeftOut {
            policies: policies.map(|info| info.name.to_string()).collect(),
            margins,
            pairs,
        })
    }
}

/// Holds every policy that was asked for against the analyses.
pub(super) fn check(
    registry: &Registry,
    args: &CheckArgs,
    set: Set,
    options: &AssessOptions,
) -> Checked {
    let left_out = LeftOut::of(registry, args, &set.system, options.margin);
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
    let options = AssessOptions { margin: options.margin && left_out.is_none(), ..options.clone() };
    let assessor = Assessor::new(registry, &set.system, &options);
    let assessed = asked.par_iter().map(|spec| {
        let found = assessor.assess(spec).map_err(|error| (spec.clone(), error.to_string()))?;
        let is_searched = left_out.is_none() || args.effort.is_some();
        let witness =
            is_searched.then(|| witness_of(registry, args, &found, &set.system)).flatten();
        Ok((located(found, &set), witness))
    });
    let (mut policies, mut out_of_place) = (Vec::new(), Vec::new());
    let mut witnesses = BTreeMap::new();
    for result in assessed.collect::<Vec<_>>() {
        let result = result.map(|(mut found, witness)| {
            if let Some(witness) = witness {
                (found.verdict, found.decided_by) = (Verdict::No, Some(witness::NAME));
                found.reasons = vec![witness.describe(&set.system)];
                witnesses.insert(found.spec.clone(), witness);
            }
            found
        });
        match result {
            Ok(found) if args.policy.is_empty() && found.is_out_of_place() => {
                let why = found.refused.map_or(String::new(), |refusal| refusal.answer.reason);
                out_of_place.push((found.spec, why));
            }
            Ok(found) if args.policy.is_empty() && found.is_empty() && !args.all => {
                let why = found.reasons.first().cloned().unwrap_or_default();
                out_of_place.push((found.spec, why));
            }
            Ok(found) => policies.push(found),
            Err(unknown) => out_of_place.push(unknown),
        }
    }
    let whatever = assessor.whatever_the_policy();
    let exit = exit(&policies, &whatever, !args.policy.is_empty());
    let affinities = args.policy.is_empty().then(|| affinities(registry, &set.system)).flatten();
    Checked { set, whatever, policies, out_of_place, witnesses, left_out, affinities, exit }
}

/// A run that misses, if nothing else decides about the policy, and no test was asked for by name.
fn witness_of(
    registry: &Registry,
    args: &CheckArgs,
    found: &Assessment,
    system: &System,
) -> Option<Witness> {
    // A job costs more where there are many tasks: a second or two must do for all policies of an ordinary set.
    let most = if args.more.is_empty() { 20_000 } else { 2_000 };
    let usual = (50_000 / system.tasks.len().max(1) as u64).clamp(1, most);
    let is_open = found.verdict == Verdict::Unknown && found.refused.is_none();
    (is_open && args.test.is_empty())
        .then(|| witness::search(registry, &found.spec, system, args.effort.unwrap_or(usual)))
        .flatten()
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
            && said.finding.as_ref().is_ok_and(|finding| finding.verdict == Verdict::No)
    });
    if no || impossible {
        Exit::No
    } else if yes {
        Exit::Yes
    } else {
        Exit::Unknown
    }
}
