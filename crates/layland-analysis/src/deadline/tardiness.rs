//! The tardiness of semi-partitioned `SCHED_DEADLINE`, Theorem 1 of Tang, Anderson and Abeni 2021.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i = T_i`,
//! (4) jobs stay within the budgets of their threads, (5) overheads are part of `C_i`, (6) unit
//! speeds, (7) every affinity is a whole cluster or one CPU, (8) nothing changes while the system
//! runs. `C_i` is the budget, and the WCET if none is given: the theorem is about servers with
//! `Q_i = C_i`. There is a bound if the tasks pass [`admission`](super::admission) with a limit of
//! at most 1.
//!
//! The bound is very pessimistic: the tardiness in simulations of random systems stays below 3 % of
//! it, and the worst case that a search found (two CPUs, two tasks that need one each) reaches
//! 13 %. A tighter bound is [`LAG-SP`](crate::affinity::lag).
//!
//! | paper | meaning |
//! |---|---|
//! | `m` | the largest number of CPUs that the cluster has over time |
//! | `T_max`, `C_max`, `u_min` | over the tasks of the cluster |

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::admission::{Limit, both_conditions};
use crate::Assumption::*;
use crate::Citation;
use crate::group::Group;
use crate::{BoundTest, Tardiness, TardinessBound, Verdict};
use layland_model::{Algorithm, Rate, System, Task, TaskId, TaskMap};

/// Theorem 1, for each cluster.
///
/// ```
/// use layland_analysis::{Tardiness, deadline::tardiness};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(2, 6), (2, 2), (1, 6), (2, 2), (2, 6)]; // Example 5
/// let tasks = tasks.iter().enumerate().map(|(i, &(c, t))| {
///     Task::implicit(i.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(3, tasks.collect());
/// let Tardiness::Bounded(bounds) = tardiness::TEST.run(&system).unwrap() else { panic!() };
/// let bounds: Vec<i64> = bounds.values().map(|bound| bound.rounded_up().unwrap().ns()).collect();
/// assert_eq!(bounds, [1326, 1170, 1365, 1170, 1326]);
/// ```
pub const TEST: BoundTest = BoundTest {
    name: "TANG",
    title: "tardiness under semi-partitioned SCHED_DEADLINE (Theorem 1)",
    algorithms: &[Algorithm::SemiPartitionedDeadline],
    assumptions: &[
        SporadicReleases,
        NoJitter,
        ImplicitDeadlines,
        BudgetKept,
        NoOverheads,
        UnitSpeeds,
        SemiPartitioned,
        NoRequests,
    ],
    citations: &[&Citation::TANG],
    bound: bounds,
};

fn bounds(system: &System) -> Tardiness {
    let admitted = both_conditions(system, &Limit::Share(Rate::ONE));
    if admitted.verdict != Verdict::Yes {
        return Tardiness::Unknown(admitted.reasons);
    }
    let groups = Group::clusters(system);
    let mut bounds: Vec<TardinessBound> = groups.iter().flat_map(theorem_1).collect();
    bounds.sort_by_key(|bound| bound.task);
    Tardiness::Bounded(bounds.into_iter().collect::<TaskMap<TardinessBound>>())
}

fn utilization(task: &Task) -> Rate {
    Rate::new(task.reservation().ns(), task.period.ns())
}

/// `(T_max + 2 m C_max / u_min) (2 m - u_i) / (2 u_min)`.
fn theorem_1(group: &Group<'_>) -> Vec<TardinessBound> {
    let two = Rate::whole(2);
    let m = Rate::whole(group.cpu_count());
    let over = |ns: &dyn Fn(&Task) -> i64| Rate::whole(group.tasks().map(ns).max().unwrap_or(0));
    let T_max = over(&|task| task.period.ns());
    let C_max = over(&|task| task.reservation().ns());
    let u_min = group.tasks().map(utilization).min().unwrap_or(Rate::ONE);
    let two_m = &two * &m;
    let first = &T_max + &(&(&two_m * &C_max) / &u_min);
    let bound = |task: TaskId, u_i: Rate| TardinessBound {
        task,
        tardiness: &(&first * &(&two_m - &u_i)) / &(&two * &u_min),
    };
    group.tasks.iter().map(|&(id, task)| bound(id, utilization(task))).collect()
}
