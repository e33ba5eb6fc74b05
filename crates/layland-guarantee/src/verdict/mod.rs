//! The verdict of the tests about one policy on one system: a *plan* selects what is analysed, the
//! tests run, the assessment collects their findings, and each task gets its smallest *bound*.

mod admission;
mod ask;
mod bounds;
mod levels;
mod listen;
mod plan;

pub use levels::{in_its_levels, in_level};
pub(crate) use listen::{SKIPS_IN_TIME, may_skip_in_time};
pub(crate) use plan::Asked;

use crate::assessment::{Assessment, Bound};
use crate::kept::Kept;
use crate::optimal;
use crate::options::{AssessOptions, BoundsBy};
use crate::proven::Proven;
use crate::tightest::tightest;
use ask::ask;
use bounds::bounds;
use layland_analysis::Verdict;
use layland_model::{JobOrder, Protocol, ScheduleRule, Step, System, TaskMap};
use plan::Plan;
use std::borrow::Cow;

/// Returns advice for jobs with plain locks, whose holders are delayed by tasks of any priority.
fn wants_protocol(rule: &ScheduleRule, spec: &str, system: &System) -> Option<String> {
    let ScheduleRule::Locking(rule) = rule else { return None };
    let is_lock = |step: &Step| matches!(step, Step::Lock(_));
    if !system.tasks.values().any(|task| task.steps().iter().any(is_lock)) {
        return None;
    }
    if rule.protocol != Protocol::Plain || spec.contains("locks=") {
        return None;
    }
    let is_edf = matches!(rule.order, JobOrder::Deadline | JobOrder::DeadlineThenRunning);
    let protocol = if is_edf { Protocol::Stack } else { Protocol::Inheritance };
    let separator = if spec.contains(':') { ',' } else { ':' };
    Some(format!(
        "with plain locks any task delays the holder of a lock: try {spec}{separator}locks={}",
        protocol.abbreviation()
    ))
}

/// Runs [`assess`] on the system as it is, without a margin; with `kept`, under decisions made for
/// other WCETs.
pub(crate) fn verdict<'a>(
    asked: &Asked<'_, 'a>,
    system: Cow<'a, System>,
    options: &AssessOptions,
    kept: Option<&Kept<'_>>,
) -> Assessment {
    let system = &system;
    let mut found = Assessment {
        spec: asked.spec.to_owned(),
        verdict: Verdict::Unknown,
        decided_by: None,
        reasons: Vec::new(),
        tightest: None,
        assignment: None,
        refused: None,
        said: Vec::new(),
        bounds: TaskMap::default(),
        inflation: None,
        margin: None,
        sensitivity: None,
        proven: None,
        without_affinities: None,
        witness: None,
    };
    let Some(plan) = Plan::of(asked, system, kept, &mut found) else { return found };
    if options.wanted.more.has_proof() {
        found.proven = Some(Proven::open(&plan.views[0]));
    }
    if options.tells() {
        found.assignment = plan.rule.assignment(system);
    }
    ask(&plan, system, options, kept, &mut found);
    let wants_bounds = options.wanted.bounds != BoundsBy::Nobody;
    if wants_bounds && !plan.is_turned_away {
        found.bounds =
            bounds(plan.algorithm, &plan.views, (system, plan.counts_reloads), &found, options);
    }
    if options.tells() {
        found.tightest = tightest(&found, system, options.digits);
    }
    if found.verdict == Verdict::Unknown {
        if let Some(reason) = wants_protocol(&plan.rule, asked.spec, system) {
            // Output shows the first reasons alone, and this one says what to do.
            found.reasons.insert(0, reason);
        }
        found.reasons.extend(plan.nothing_more.map(str::to_owned));
    }
    if found.verdict == Verdict::Unknown {
        let bounded = wants_bounds && found.bounds.values().all(|bound| *bound != Bound::Unknown);
        if bounded && found.reasons.is_empty() {
            found
                .reasons
                .push("no test says that deadlines are met; tardiness is bounded".to_owned());
        }
    }
    let is_optimal = matches!(plan.rule, ScheduleRule::Optimal { .. });
    if is_optimal && !system.platform.overheads.without_reloads().is_zero() {
        match optimal::inflated(system, &asked.options) {
            Ok((tasks, sentence)) => {
                found.inflation = Some(tasks);
                found.reasons.push(sentence);
            }
            Err(reason) => found.reasons.push(reason),
        }
    }
    if plan.is_uncovered && found.verdict == Verdict::Unknown {
        let why =
            "no sound analysis accepts the tasks with the parameters that the policy runs with";
        found.reasons.push(why.to_owned());
    }
    if found.reasons.is_empty() {
        found.reasons.push("no test applies".to_owned());
    }
    found
}
