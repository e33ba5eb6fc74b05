//! The tightest place of a set that is guaranteed: the fullest CPU, and the task with the least slack.
//!
//! The reasons of a *yes* are comparisons of which each holds, one for each CPU or task. A person asks
//! for the one that is closest to its bound. Ties go to the first.

use crate::assessment::{Assessment, Bound};
use layland_analysis::{Comparison, Quantity, Reason, Verdict};
use layland_model::shown::{self, Digits};
use layland_model::{Duration, Rate, System, TaskId};

/// The quantities that say how full CPUs are.
const LOADS: [&str; 2] = ["the utilization", "the sum of the densities"];

/// Returns the tightest place in words; `None` unless every deadline is guaranteed by numbers.
pub(crate) fn tightest(
    found: &Assessment,
    system: &System,
    Digits(digits): Digits,
) -> Option<String> {
    if found.verdict != Verdict::Yes {
        return None;
    }
    let by = found.decided_by?;
    let said = found.said.iter().find(|said| said.test.name == by)?;
    let finding = (*said.finding).as_ref().ok()?;
    let compared: Vec<&Comparison> = finding.reasons.iter().filter_map(comparison).collect();
    let is_one_kind = compared.windows(2).all(|pair| pair[0].what == pair[1].what);
    if compared.len() != finding.reasons.len() || !is_one_kind {
        return None;
    }
    let closest = closest(&compared)?;
    match (closest.scope.task, &closest.value, &closest.bound) {
        (Some(task), Quantity::Time(response), Quantity::Time(deadline)) => {
            let slack = (deadline - response).floor().map(Duration::from_ns)?;
            Some(least_slack(task, slack, system, digits))
        }
        (None, Quantity::Number(_) | Quantity::Sum(_), Quantity::Number(bound))
            if LOADS.contains(&closest.what) =>
        {
            let place = fullest(closest, bound, system, digits);
            Some(match least_by_bounds(found, system) {
                Some((task, slack)) => {
                    format!("{place}; {}", least_slack(task, slack, system, digits))
                }
                None => place,
            })
        }
        _ => None,
    }
}

fn comparison(reason: &Reason) -> Option<&Comparison> {
    let Reason::Compared(comparison) = reason else { return None };
    comparison.holds.then_some(&**comparison)
}

/// Returns the first comparison whose value is the largest share of its bound.
fn closest<'a>(compared: &[&'a Comparison]) -> Option<&'a Comparison> {
    let share = |comparison: &Comparison| {
        let bound = comparison.bound.exact();
        (*bound > Rate::ZERO).then(|| &*comparison.value.exact() / &*bound)
    };
    let mut best: Option<(&Comparison, Rate)> = None;
    for &comparison in compared {
        let share = share(comparison)?;
        if best.as_ref().is_none_or(|(_, most)| share > *most) {
            best = Some((comparison, share));
        }
    }
    best.map(|(comparison, _)| comparison)
}

fn fullest(closest: &Comparison, bound: &Rate, system: &System, digits: u32) -> String {
    let what = closest.what.strip_prefix("the ").unwrap_or(closest.what);
    // The comparison keeps one that is not quite full from looking full.
    let (value, bound) = shown::numbers((&*closest.value.exact(), bound), digits);
    let numbers = format!("{what} {value} of {bound}");
    match &closest.scope.cpus {
        Some(cpus) if *cpus != system.platform.all_cpus() => {
            let (word, is) = if cpus.len() == 1 { ("CPU", "is") } else { ("CPUs", "are") };
            format!("{word} {cpus} {is} fullest: {numbers}")
        }
        Some(_) | None => numbers,
    }
}

fn least_slack(task: TaskId, slack: Duration, system: &System, digits: u32) -> String {
    let task = &system.tasks[task];
    let (slack, deadline) = (Rate::whole(slack.ns()), Rate::whole(task.deadline.ns()));
    let (slack, deadline) = shown::times((&slack, &deadline), digits);
    format!("`{}` has the least slack: {slack} of {deadline}", task.name)
}

/// Returns the task with the smallest share of its deadline left by its bound, if every bound comes
/// from an analysis of response times.
fn least_by_bounds(found: &Assessment, system: &System) -> Option<(TaskId, Duration)> {
    let mut least: Option<(TaskId, Duration, Rate)> = None;
    for (id, bound) in found.bounds.iter() {
        let deadline = system.tasks[id].deadline;
        let Bound::Response { within, by, .. } = bound else { return None };
        if Some(*by) == found.decided_by {
            return None;
        }
        let slack = deadline - *within;
        let share = Rate::new(slack.ns(), deadline.ns());
        if least.as_ref().is_none_or(|(_, _, before)| share < *before) {
            least = Some((id, slack, share));
        }
    }
    least.map(|(id, slack, _)| (id, slack))
}
