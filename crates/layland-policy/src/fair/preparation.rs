//! The preparation of all policies of this family before the first release: the check that a policy
//! can schedule a system, the rates of its tasks, and the options for packing.

use crate::Refusal;
use crate::info::{PolicyOptions, SystemRefusal};
use crate::shell::groups;
use layland_model::shown::{self, DIGITS};
use layland_model::{Behaviour, Duration, Index, Rate, System, TaskId};
use layland_offline::{
    Client, Fill, Heuristic, Infeasible, QuasiRule, RateGrid, ReductionRules, parse_rounds,
};

pub(super) const IMPLICIT: &str = "deadlines other than the period";
pub(super) const OVERLOAD: &str =
    "utilizations above 1, and task sets whose utilizations sum to more than there are CPUs";
pub(super) const PERIODIC: &str =
    "sporadic, self-suspending and jittery tasks: it must know the next release";
pub(crate) const SPORADIC: &str =
    "self-suspending and jittery tasks: releases must be at least a period apart";

/// The knowledge about releases that a policy needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Releases {
    /// The next release of every task is known.
    Known,
    /// Releases are at least a period apart.
    Separated,
}

/// The deadlines that a policy supports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadlines {
    /// Deadlines at the ends of periods.
    Implicit,
    /// Any deadlines.
    Any,
}

/// A system that can be scheduled optimally: its tasks by rank, with rates on a grid.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The tasks by rank. Packings and trees number them in this order.
    pub order: Vec<TaskId>,
    /// The grid.
    pub grid: RateGrid,
    /// The rates, in the order of the tasks.
    pub rates: Vec<Rate>,
}

/// Checks that every CPU has unit speed.
pub(super) fn takes_unit_speeds(name: &str, system: &System) -> Result<(), SystemRefusal> {
    let other = system.platform.speeds.iter().find(|(_, speed)| speed.rate() != Rate::ONE);
    let Some((cpu, speed)) = other else { return Ok(()) };
    let why = format!("{name} needs CPUs of speed 1, and CPU {cpu} has speed {speed}");
    Err(Refusal::invalid(why).into())
}

/// Checks that a policy that plans with all CPUs supports the clusters and each of the tasks of a
/// valid system.
pub(crate) fn takes(
    name: &str,
    system: &System,
    releases: Releases,
    deadlines: Deadlines,
) -> Result<(), SystemRefusal> {
    let separated = releases == Releases::Separated;
    let fastest = system.platform.fastest().rate();
    if let [_, _, ..] = system.platform.clusters.as_slice() {
        return Err(Refusal::not_permitted(format!(
            "{name} schedules all CPUs together, and the platform has {} clusters",
            system.platform.clusters.len()
        ))
        .into());
    }
    // The reason names the policy, which is not one of those that come in several orders.
    groups::global(name, system)
        .map_err(|refusal| SystemRefusal { in_general: None, ..refusal })?;
    for (id, task) in system.tasks.iter() {
        let who = &task.name;
        if deadlines == Deadlines::Implicit && task.deadline != task.period {
            return Err(Refusal::invalid(format!(
                "task `{who}` has deadline {} and period {}: {name} needs deadlines equal to periods",
                task.deadline, task.period
            )).about(id));
        }
        if task.jitter > Duration::ZERO {
            return Err(Refusal::invalid(format!(
                "task `{who}` has a jitter of {}: {name} needs jobs that are ready when they arrive",
                task.jitter
            )).about(id));
        }
        let trouble = match &task.behaviour {
            Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield => None,
            Behaviour::SelfSuspending { .. } => Some("suspends itself"),
            Behaviour::Sporadic(_) if !separated => Some("is sporadic"),
            Behaviour::Explicit(_) if !separated => Some("has releases of its own"),
            Behaviour::Curve(_) if task.bursts().is_some() => Some("arrives by a curve"),
            Behaviour::Curve(arrivals) if arrivals.extra.is_some() && !separated => {
                Some("is sporadic")
            }
            Behaviour::Curve(_) => None,
            Behaviour::Sporadic(_) => None,
            Behaviour::Explicit(times) => times
                .windows(2)
                .any(|pair| pair[1] - pair[0] < task.period)
                .then_some("has releases less than a period apart"),
        };
        match trouble {
            None => {}
            Some(trouble) if separated || task.bursts().is_some() => {
                return Err(Refusal::invalid(format!(
                    "task `{who}` {trouble}: {name} needs releases at least a period apart"
                ))
                .about(id));
            }
            Some(trouble) => {
                return Err(Refusal::invalid(format!(
                    "task `{who}` {trouble}: {name} must know the next release of every task; `qps` \
                     need not"
                )).about(id));
            }
        }
        if task.utilization() > fastest {
            return Err(Refusal::busy(format!(
                "task `{who}` needs {} in every {}: more than a CPU has",
                task.own_wcet(),
                task.period
            ))
            .about(id));
        }
    }
    Ok(())
}

/// Checks that a policy with exact budgets can schedule a valid system, and rounds its rates.
pub(super) fn prepare(
    name: &str,
    system: &System,
    releases: Releases,
) -> Result<Prepared, SystemRefusal> {
    takes_unit_speeds(name, system)?;
    takes(name, system, releases, Deadlines::Implicit)?;
    let cpus = system.platform.cpu_count();
    let total = system.utilization();
    if !total.fits(&Rate::ZERO, &Rate::whole(cpus as i64)) {
        return Err(Refusal::busy(format!(
            "the utilizations sum to {}, more than the {cpus} CPUs have",
            shown::numbers((&total.exact(), &Rate::whole(cpus as i64)), DIGITS).0
        ))
        .into());
    }
    let grid = RateGrid::of(system);
    let Some(grid) = grid.filter(|grid| grid.total() <= Rate::whole(cpus as i64)) else {
        return Err(Refusal::busy(format!(
            "the utilizations sum to {}, which fits, but no longer once they are rounded up so that all \
             budgets are whole nanoseconds: lower a WCET slightly, or use periods and offsets with a \
             larger common divisor",
            shown::numbers((&total.exact(), &Rate::whole(cpus as i64)), DIGITS).0
        )).into());
    };
    let order = system.by_rank();
    let rates = order.iter().map(|&task| grid.rate(task)).collect();
    Ok(Prepared { order, grid, rates })
}

/// Translates an error of the offline phase into the names of the system.
pub(super) fn refusal(system: &System, order: &[TaskId], error: Infeasible) -> SystemRefusal {
    match &error {
        Infeasible::RateAboveOne { item, .. } => {
            let task = order[*item];
            Refusal::busy(format!("task `{}`: {error}", system.tasks[task].name)).about(task)
        }
        Infeasible::Overload { .. } => Refusal::busy(error.to_string()).into(),
        Infeasible::Packing(_)
        | Infeasible::NotAQuasiPartition(_)
        | Infeasible::NotDecreasing(_) => Refusal::invalid(error.to_string()).into(),
    }
}

/// Parses `0+1/2` as bins of tasks or servers.
fn bins(options: &PolicyOptions, name: &str) -> Result<Option<Vec<Vec<usize>>>, Refusal> {
    let Some(text) = options.text(name) else { return Ok(None) };
    let wrong = || Refusal::invalid(format!("{name}=`{text}` is not a list of bins, as in 0+1/2"));
    let rounds = parse_rounds(text).map_err(|_| wrong())?;
    let [round] = rounds.as_slice() else { return Err(wrong()) };
    let number = |client: &Client| match client {
        Client::Task(number) => Ok(*number),
        Client::Master(_) => Err(wrong()),
    };
    let bin = |bin: &Vec<Client>| bin.iter().map(number).collect();
    round.iter().map(bin).collect::<Result<_, _>>().map(Some)
}

/// The heuristic by which RUN and QPS pack tasks into servers.
///
/// # Errors
/// If `fit` is not a heuristic.
pub fn packing_heuristic(options: &PolicyOptions) -> Result<Heuristic, Refusal> {
    Ok(heuristic(options, "fit")?.unwrap_or(Heuristic::Ffd))
}

/// Returns true if the options list the packing of tasks or of dual servers.
pub fn has_explicit_packing(options: &PolicyOptions) -> bool {
    ["packing", "duals"].iter().any(|name| options.text(name).is_some())
}

fn heuristic(options: &PolicyOptions, name: &str) -> Result<Option<Heuristic>, Refusal> {
    let parse =
        |text: &str| text.parse().map_err(|error| Refusal::invalid(format!("{name}: {error}")));
    options.text(name).map(parse).transpose()
}

/// Returns the rules by which RUN builds its tree.
pub(super) fn reduction_rules(options: &PolicyOptions) -> Result<ReductionRules, Refusal> {
    let fit = packing_heuristic(options)?;
    let packing = bins(options, "packing")?;
    let dual_packing = bins(options, "duals")?;
    let fills = [("largest", Fill::Largest), ("order", Fill::Order)];
    Ok(ReductionRules {
        fit,
        packing,
        dual_fit: heuristic(options, "dual_fit")?.unwrap_or(fit),
        dual_packing,
        fill: options.one_of("fill", &fills)?.unwrap_or_default(),
    })
}

/// Returns the rule by which QPS builds its hierarchy.
pub(super) fn quasi_rule(options: &PolicyOptions) -> Result<QuasiRule, Refusal> {
    match options.text("packing") {
        Some(text) => {
            let rounds = parse_rounds(text)
                .map_err(|error| Refusal::invalid(format!("packing: {error}")))?;
            Ok(QuasiRule::Explicit(rounds))
        }
        None => Ok(QuasiRule::Fit(packing_heuristic(options)?)),
    }
}

/// Returns the place of each task, given a list of places by rank.
pub(super) fn by_task(system: &System, order: &[TaskId], places: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut by_task = vec![(0, 0); system.tasks.len()];
    order.iter().zip(places).for_each(|(task, &place)| by_task[task.index()] = place);
    by_task
}
