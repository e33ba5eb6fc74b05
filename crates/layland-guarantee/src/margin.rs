//! The distance to the limit: the factor by which all WCETs could grow, or would have to shrink.

use crate::assessment::{Margin, Stop, UNIT};
use crate::kept::{Kept, between, grown, late_first};
use crate::memo::Memo;
use crate::options::{AssessOptions, BoundsBy, Effort, Findings, Wanted};
use crate::placed::placed;
use crate::verdict::{Asked, verdict};
use layland_analysis::{Reason, Verdict};
use layland_model::{
    CpuSet, Duration, ExecutionModel, JobOrder, Preemption, Rate, ScheduleRule, Service, Step,
    System, Task,
};
use layland_policy::{BuildError, Registry};
use std::borrow::Cow;
use std::sync::Arc;

/// Computes the margin of a policy that accepts the system and has this verdict on it. Returns none
/// if a number is beyond the range of times.
pub(crate) fn margin(
    policy: &Asked<'_, '_>,
    system: &System,
    options: &AssessOptions,
    now: Verdict,
) -> Option<Margin> {
    let kept = Kept::of(policy.info, &policy.options, system)?;
    let options = options.for_another_system();
    let assessed = |thousandths: i64, kept: Option<&Kept<'_>>| {
        verdict(policy, Cow::Owned(scaled(system, thousandths)), &options, kept)
    };
    // Beyond this factor some WCET exceeds its deadline, or the load exceeds the CPUs.
    let alone = system.tasks.values().map(|task| {
        i128::from(task.deadline.ns()) * i128::from(UNIT) / i128::from(task.own_wcet().ns())
    });
    let fastest: Rate = system.platform.speeds.values().map(|speed| speed.rate()).max()?;
    let alone = &Rate::whole(i64::try_from(alone.min()?).ok()?) * &fastest;
    let capacity: Rate = system.platform.speeds.values().map(|speed| speed.rate()).sum();
    let together = &(&capacity / &system.utilization().exact()) * &Rate::whole(UNIT);
    let limit = alone.min(together).ceil()?.checked_add(1)?;
    let (low, high) = match now {
        Verdict::Yes => (UNIT, limit.max(UNIT + 1)),
        Verdict::No | Verdict::Unknown => (0, limit.clamp(1, UNIT)),
    };
    let largest = |from: i64, kept: Option<&Kept<'_>>| {
        let (mut low, mut high) = (from, high);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let accepted = assessed(middle, kept).verdict == Verdict::Yes;
            if accepted { low = middle } else { high = middle }
        }
        low
    };
    let thousandths = largest(low, Some(&kept));
    let anew = if kept.may_differ() { largest(thousandths, None) } else { thousandths };
    let stopped_by = (thousandths > 0).then(|| {
        let by = assessed(thousandths, Some(&kept)).decided_by;
        stop(policy, &scaled(system, thousandths + 1), &options, &kept, by)
    });
    let decided_anew = (anew > thousandths).then_some(anew);
    Some(Margin { thousandths, stopped_by, decided_anew })
}

/// Returns the verdict on a valid system with all WCETs multiplied by this many thousandths, with
/// the decisions that a policy of the registry makes for the system as it is. The [`Margin`] is
/// based on this verdict.
///
/// # Errors
/// If the policy or an option does not exist.
pub fn verdict_at(
    registry: &Registry,
    spec: &str,
    system: &System,
    thousandths: i64,
    effort: Effort,
) -> Result<Verdict, BuildError> {
    let (info, policy_options) = registry.parse(spec)?;
    let memo = Memo::default();
    let policy = Asked { spec, info, options: policy_options, memo: &memo };
    let Some(kept) = Kept::of(policy.info, &policy.options, system) else { return Ok(Verdict::No) };
    let options = AssessOptions { effort, ..AssessOptions::default() }.for_another_system();
    let scaled = Cow::Owned(scaled(system, thousandths));
    Ok(verdict(&policy, scaled, &options, Some(&kept)).verdict)
}

/// Returns the obstacle to the next factor, by the test that accepts the one before.
fn stop(
    policy: &Asked<'_, '_>,
    next: &System,
    options: &AssessOptions,
    kept: &Kept<'_>,
    by: Option<&'static str>,
) -> Stop {
    let wanted = Wanted { findings: Findings::All, bounds: BoundsBy::Nobody, ..Wanted::default() };
    let tests = by.map_or_else(|| options.tests.clone(), |by| vec![by.to_owned()]);
    let options = AssessOptions { tests, wanted, ..options.clone() };
    let found = verdict(policy, Cow::Owned(next.clone()), &options, Some(kept));
    if let Some(refusal) = found.refused {
        let cpus = None;
        return Stop { task: refusal.task, cpus, test: by, reason: refusal.answer.reason };
    }
    let rule = kept.rule_for(policy.info, next).unwrap_or_default();
    let there = placed(next, &rule);
    let said = found.said.iter().find(|said| Some(said.test.name) == by);
    let finding = said.map(|said| &*said.finding);
    let reasons = finding.and_then(|finding| finding.as_ref().ok()).map(|finding| &finding.reasons);
    // Prefer the reason with the most precise place.
    let known = |reason: &&Reason| {
        let (task, cpus) = reason.place();
        (task.is_some(), cpus.is_some())
    };
    let mut best: Option<&Reason> = None;
    for reason in reasons.into_iter().flatten() {
        if best.is_none_or(|best| known(&reason) > known(&best)) {
            best = Some(reason);
        }
    }
    let Some(reason) = best else {
        let reason = finding.and_then(|finding| finding.as_ref().err());
        // The test does not run if its policy can no longer guarantee anything.
        let other = || found.reasons.first().cloned().unwrap_or_default();
        let reason = reason.map_or_else(other, ToString::to_string);
        return Stop { task: None, cpus: None, test: by, reason };
    };
    let (mut task, cpus) = reason.place();
    let cpus = cpus.cloned().or_else(|| task.map(|task| there.allowed_cpus(task)));
    if let (None, Some(cpus)) = (task, &cpus)
        && cpus.len() == 1
        && let ScheduleRule::HighestFirst { order, .. } = &rule
        && matches!(order, JobOrder::Deadline | JobOrder::DeadlineThenRunning)
    {
        task = late_first(&there, cpus);
    }
    let is_whole = |cpus: &CpuSet| task.is_none() && *cpus == next.platform.all_cpus();
    let cpus = cpus.filter(|cpus| !is_whole(cpus));
    Stop { task, cpus, test: by, reason: reason.describe(next) }
}

/// Multiplies the WCETs, budgets and execution times of a task by `by / of`, rounded up, with its segments
/// and steps. Floating regions and suspensions stay.
pub(crate) fn grow(task: &mut Task, by: i64, of: i64) {
    let scale = |c: &mut Service| *c = Service::from_ns(grown(c.ns(), by, of));
    let before = task.own_wcet();
    task.wcet.iter_mut().for_each(scale);
    if let Some(steps) = &task.steps {
        let steps = scaled_steps(steps, scale);
        let level = task.criticality.level().min(task.wcet.len() - 1);
        task.wcet[level] = steps.iter().filter_map(executes).sum();
        task.steps = Some(steps);
    }
    let after = task.own_wcet();
    if let Preemption::Between(segments) = &mut task.preemption {
        between(segments, before, after);
    }
    task.budget.iter_mut().for_each(scale);
    match &mut task.execution {
        ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => {}
        ExecutionModel::Uniform { min, max } => [min, max].into_iter().for_each(scale),
        ExecutionModel::Discrete(values) => values.iter_mut().for_each(|(c, _)| scale(c)),
        ExecutionModel::List(values) => values.iter_mut().for_each(scale),
    }
}

/// Multiplies a task by this many thousandths, with its blocking time: jobs of lower priority execute for
/// longer, too.
pub(crate) fn scale(task: &mut Task, thousandths: i64) {
    grow(task, thousandths, UNIT);
    task.blocking_time = Duration::from_ns(grown(task.blocking_time.ns(), thousandths, UNIT));
}

/// Scales the executions of the steps. Suspensions keep their length: they use no CPU.
fn scaled_steps(steps: &[Step], scale: impl Fn(&mut Service)) -> Arc<[Step]> {
    let of_step = |step: &Step| match *step {
        Step::Run(mut length) => {
            scale(&mut length);
            Step::Run(length)
        }
        other @ (Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_)) => other,
    };
    steps.iter().map(of_step).collect()
}

fn executes(step: &Step) -> Option<Service> {
    match *step {
        Step::Run(length) => Some(length),
        Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => None,
    }
}

/// Returns the system with all WCETs, budgets and execution times multiplied by this many
/// thousandths, rounded up. Segments, steps and blocking times of jobs grow with them; floating
/// regions and suspensions do not.
pub fn scaled(system: &System, thousandths: i64) -> System {
    let mut scaled = system.clone();
    scaled.tasks.values_mut().for_each(|task| scale(task, thousandths));
    scaled
}
