//! Bounds on what assignments of the rest can reach.

use super::search::{State, Units};
use super::{Objective, Problem, Value};
use layland_model::Rate;

/// Returns true if no assignment of the units from this one on makes a better value than the best one.
pub(super) fn is_hopeless(
    problem: &Problem,
    units: &Units,
    state: &State,
    objective: Objective,
    best: &Value,
) -> bool {
    let rest = &units.rest[state.placed];
    match (objective, best) {
        (Objective::Cpus, Value::Cost(best)) => {
            least_cost(problem, state, &rest.utilization) >= *best
        }
        (Objective::Balance, Value::Fullest(best)) => {
            let fullest = state.utilizations.iter().max().cloned().unwrap_or(Rate::ZERO);
            let all = &state.utilizations.iter().cloned().sum::<Rate>() + &rest.utilization;
            let mean = &all / &Rate::whole(problem.cpus.len().max(1) as i64);
            fullest.max(mean).max(rest.largest.clone()) >= *best
        }
        // The test of each CPU is that with the next factor.
        (Objective::Margin, _) => false,
        (Objective::Feasible | Objective::Cpus | Objective::Balance, _) => true,
    }
}

/// The cost of the CPUs in use, and of the cheapest ones that the rest needs besides.
fn least_cost(problem: &Problem, state: &State, rest: &Rate) -> u64 {
    let mut cost = 0u64;
    // Each task takes its least utilization at least.
    let mut missing = rest.clone();
    let mut empty = Vec::new();
    for (cpu, used) in state.items.iter().enumerate() {
        if used.is_empty() {
            empty.push(problem.cpus[cpu].cost);
        } else {
            cost = cost.saturating_add(problem.cpus[cpu].cost);
            missing = &missing - &(&Rate::ONE - &state.utilizations[cpu]);
        }
    }
    empty.sort_unstable();
    for price in empty {
        if missing <= Rate::ZERO {
            break;
        }
        cost = cost.saturating_add(price);
        missing = &missing - &Rate::ONE;
    }
    if missing > Rate::ZERO { u64::MAX } else { cost }
}
