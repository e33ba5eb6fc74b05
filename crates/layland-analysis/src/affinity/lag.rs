//! Tardiness under EDF with affinities, by the lag of sets of tasks.
//!
//! | test | scheduling |
//! |---|---|
//! | `LAG` | EDF, strong and hierarchical, with any affinities |
//! | `LAG-SP` | semi-partitioned `SCHED_DEADLINE`: tasks have one CPU or their cluster |
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i = T_i`,
//! (4) WCETs (budgets) are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) under
//! `LAG-SP`: every affinity is a whole cluster or one CPU, (8) nothing changes while the system
//! runs. There is a bound if the tasks are feasible by Hall's condition, which under `LAG-SP` is
//! admission with a limit of 1.
//!
//! Tasks that share CPUs, directly or through others, form a *component* of `m` CPUs and tasks
//! `1 .. n`. The tardiness is 0 on one CPU, and for a task alone. Otherwise the tardiness of task
//! `i` is at most
//!
//! ```text
//! K (2 W - w_i) + C     with   K = max over tasks e, l of (T_e + C + G / w_l) / (w_e + w_l)
//! ```
//!
//! | symbol | meaning |
//! |---|---|
//! | `w_i` | a weight: at least `u_i`, such that tasks with these utilizations would also be feasible |
//! | `W` | the sum of the weights |
//! | `C` | the largest budget of a migrating task: the time for which a CPU may be taken from the tasks tied to it |
//! | `G` | the sum of `w_x C_x` over the largest number of migrating tasks that may do that at once |
//!
//! `C` and `G` are 0 under strong scheduling, and where no task migrates or no task is tied. Two
//! choices of weights are tried: the utilizations, and the utilizations with those of light tasks
//! raised as far as feasibility permits, because `K` depends on the lightest tasks.
//!
//! Derived here; the proof is a page of the book (`docs/analyses/lag.md`). It is that of Theorem 1
//! of Tang, Anderson and Abeni 2021, after Voronov and Anderson 2018, with four changes. Weights
//! need not be utilizations. Only migrating tasks cause priority inversions, so only their budgets
//! count. The costs of inversions are added up, where Theorem 1 supposes that no task makes
//! progress during the longest of them. The period in the bound is that of the lagging task.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::feasibility::{self, VORONOV_ANDERSON, by_flow, by_hall};
use crate::deadline::admission::{Limit, both_conditions};
use crate::deadline::tardiness;
use crate::{BoundTest, Citation, Finding, Tardiness, TardinessBound, Verdict};
use layland_model::{
    Algorithm, CpuSet, Form, Index, Order, Rate, Service, System, Task, TaskId, TaskMap,
};

/// The bound under strong and hierarchical EDF.
///
/// ```
/// use layland_analysis::{Tardiness, affinity::lag};
/// use layland_model::{Duration, Rate, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let Tardiness::Bounded(bounds) = lag::STRONG.run(&system).unwrap() else { panic!() };
/// // K is 3 / (2/3 + 2/3), W is 2: 9/4 (4 - 2/3).
/// assert!(bounds.values().all(|bound| bound.tardiness == Rate::new(7_500_000, 1)));
/// ```
pub const STRONG: BoundTest = BoundTest {
    name: "LAG",
    title: "tardiness under EDF with affinities, by how far sets of tasks lag behind",
    algorithms: &[
        Algorithm::Ordered(Form::Strong, Order::Deadline),
        Algorithm::Ordered(Form::Hierarchical, Order::Deadline),
    ],
    assumptions: feasibility::TEST.assumptions,
    citations: &[&VORONOV_ANDERSON, &Citation::TANG],
    bound: |system| bounds(system, &Scheduling::Strong),
};

/// The bound under semi-partitioned `SCHED_DEADLINE`.
///
/// ```
/// use layland_analysis::{Tardiness, affinity::lag};
/// use layland_model::{Duration, Service, System, Task};
/// // Example 5 of Tang et al., where Theorem 1 says (1326, 1170, 1365, 1170, 1326).
/// let tasks = [(2, 6, Some("0")), (2, 2, None), (1, 6, Some("1")), (2, 2, None), (2, 6, Some("2"))];
/// let tasks = tasks.map(|(c, t, cpu)| Task {
///     affinity: cpu.map(|cpu| cpu.parse().unwrap()),
///     ..Task::implicit("", Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(3, tasks.to_vec());
/// let Tardiness::Bounded(bounds) = lag::SEMI_PARTITIONED.run(&system).unwrap() else { panic!() };
/// let bounds: Vec<i64> = bounds.values().map(|bound| bound.rounded_up().unwrap().ns()).collect();
/// assert_eq!(bounds, [172, 152, 172, 152, 172]);
/// ```
pub const SEMI_PARTITIONED: BoundTest = BoundTest {
    name: "LAG-SP",
    title: "tardiness under semi-partitioned SCHED_DEADLINE, by how far sets of tasks lag behind",
    algorithms: &[Algorithm::SemiPartitionedDeadline],
    assumptions: tardiness::TEST.assumptions,
    citations: &[&Citation::TANG, &VORONOV_ANDERSON],
    bound: |system| bounds(system, &Scheduling::SemiPartitionedDeadline),
};

/// The levels to which light tasks are raised are multiples of this fraction.
const LEVELS: i64 = 1 << 12;
/// The maximum number of tasks for which a level is searched: the search takes a dozen tests of
/// feasibility.
const MOST_TASKS: usize = 4096;

enum Scheduling {
    Strong,
    SemiPartitionedDeadline,
}

impl Scheduling {
    /// `C_i`.
    fn demand(&self, task: &Task) -> Service {
        match self {
            Scheduling::Strong => task.own_wcet(),
            Scheduling::SemiPartitionedDeadline => task.reservation(),
        }
    }

    /// The feasibility of tasks whose demands are their WCETs.
    fn feasibility(&self, system: &System) -> Finding {
        match self {
            Scheduling::Strong => by_hall(system).unwrap_or_else(|| by_flow(system)),
            Scheduling::SemiPartitionedDeadline => {
                both_conditions(system, &Limit::Share(Rate::ONE))
            }
        }
    }
}

fn bounds(system: &System, scheduling: &Scheduling) -> Tardiness {
    let demands: TaskMap<Service> =
        system.tasks.values().map(|task| scheduling.demand(task)).collect();
    let mut weighted = system.clone();
    raise(&mut weighted, &demands, 0);
    let found = scheduling.feasibility(&weighted);
    if found.verdict != Verdict::Yes {
        return Tardiness::Unknown(found.reasons);
    }
    let mut best = within_components(&weighted, &demands, scheduling);
    if system.tasks.len() <= MOST_TASKS {
        let (mut level, mut beyond) = (0, LEVELS + 1);
        while beyond - level > 1 {
            let middle = level.midpoint(beyond);
            raise(&mut weighted, &demands, middle);
            match scheduling.feasibility(&weighted).verdict {
                Verdict::Yes => level = middle,
                Verdict::No | Verdict::Unknown => beyond = middle,
            }
        }
        raise(&mut weighted, &demands, level);
        for (id, tardiness) in within_components(&weighted, &demands, scheduling).iter() {
            if *tardiness < best[id] {
                best[id] = tardiness.clone();
            }
        }
    }
    let bound =
        |(task, tardiness): (TaskId, &Rate)| TardinessBound { task, tardiness: tardiness.clone() };
    Tardiness::Bounded(best.iter().map(bound).collect())
}

/// Turns demands into weights: the WCET of each task becomes its demand, or `level / LEVELS` of its
/// period if that is more.
fn raise(system: &mut System, demands: &TaskMap<Service>, level: i64) {
    for (task, demand) in system.tasks.values_mut().zip(demands.values()) {
        let raised = i128::from(task.period.ns()) * i128::from(level) / i128::from(LEVELS);
        let raised = i64::try_from(raised).expect("a part of a period");
        task.budget = None;
        task.wcet = vec![(*demand).max(Service::from_ns(raised))].into();
    }
}

/// Some CPUs that tasks share, directly or through others, and these tasks.
struct Component {
    cpus: CpuSet,
    tasks: Vec<TaskId>,
}

fn components(system: &System) -> Vec<Component> {
    let mut components: Vec<Component> = Vec::new();
    for (mask, _) in system.affinities() {
        let (touched, mut others): (Vec<_>, Vec<_>) =
            components.into_iter().partition(|one| !one.cpus.is_disjoint(&mask));
        let cpus = touched.iter().fold(mask, |all, one| all.union(&one.cpus));
        others.push(Component { cpus, tasks: Vec::new() });
        components = others;
    }
    let mut of_cpu = vec![0; system.platform.cpu_count()];
    for (at, component) in components.iter().enumerate() {
        component.cpus.iter().for_each(|cpu| of_cpu[cpu.index()] = at);
    }
    for id in system.tasks.ids() {
        let cpu = system.allowed_cpus(id).lowest().expect("a task may use some CPU");
        components[of_cpu[cpu.index()]].tasks.push(id);
    }
    components
}

/// The bounds for the weights given as the WCETs of a system.
fn within_components(
    weighted: &System,
    demands: &TaskMap<Service>,
    scheduling: &Scheduling,
) -> TaskMap<Rate> {
    let mut bounds = TaskMap::filled(Rate::ZERO, weighted.tasks.len());
    for Component { cpus, tasks } in components(weighted) {
        let m = cpus.len();
        if m == 1 || tasks.len() == 1 {
            continue;
        }
        let weight = |id: TaskId| weighted.tasks[id].utilization();
        let (C, G) = match scheduling {
            Scheduling::Strong => (0, Rate::ZERO),
            Scheduling::SemiPartitionedDeadline => inversions(weighted, demands, &tasks, m),
        };
        let period = |id: TaskId| weighted.tasks[id].period.ns();
        // The worst l is the lightest task other than e, so two candidates suffice.
        let mut lightest = tasks.clone();
        lightest.sort_by_key(|&id| weight(id));
        let k = |&e: &TaskId| {
            let w_l = weight(if e == lightest[0] { lightest[1] } else { lightest[0] });
            let apart = &Rate::whole(period(e) + C) + &(&G / &w_l);
            &apart / &(&weight(e) + &w_l)
        };
        let K = tasks.iter().map(k).max().expect("a component has tasks");
        let two_W = &Rate::whole(2) * &sum_above(tasks.iter().map(|&id| &weighted.tasks[id]), m);
        for &id in &tasks {
            bounds[id] = &(&K * &(&two_W - &weight(id))) + &Rate::whole(C);
        }
    }
    bounds
}

/// `C` and `G` of a component.
fn inversions(
    weighted: &System,
    demands: &TaskMap<Service>,
    tasks: &[TaskId],
    m: usize,
) -> (i64, Rate) {
    let (tied, migrating): (Vec<TaskId>, Vec<TaskId>) =
        tasks.iter().partition(|&&id| weighted.allowed_cpus(id).len() == 1);
    let mut shared: Vec<_> = tied.iter().map(|&id| weighted.allowed_cpus(id).lowest()).collect();
    shared.sort_unstable();
    shared.dedup();
    let longest = migrating.iter().map(|&id| demands[id].ns()).max();
    let Some(C) = longest.filter(|_| !tied.is_empty()) else { return (0, Rate::ZERO) };
    // Round up, so that the sum is a whole number.
    let growth = |&id: &TaskId| {
        let task = &weighted.tasks[id];
        let product = i128::from(task.own_wcet().ns()) * i128::from(demands[id].ns());
        let above = (product + i128::from(task.period.ns()) - 1) / i128::from(task.period.ns());
        i64::try_from(above).expect("a weight is at most 1")
    };
    let mut growths: Vec<i64> = migrating.iter().map(growth).collect();
    growths.sort_unstable_by(|a, b| b.cmp(a));
    // Each of these tasks has a CPU with tied tasks, and some other CPU is free of lagging tasks.
    let at_once = shared.len().min(m - 1);
    (C, growths.iter().take(at_once).map(|&ns| Rate::whole(ns)).sum())
}

/// Returns `W`, rounded up a little to a short fraction, and at most `m`, which the exact sum never
/// exceeds.
fn sum_above<'a>(tasks: impl Iterator<Item = &'a Task>, m: usize) -> Rate {
    const PARTS: i64 = 1 << 20;
    let above = |task: &Task| {
        let parts = i128::from(task.own_wcet().ns()) * i128::from(PARTS);
        parts / i128::from(task.period.ns()) + 1
    };
    let sum: i128 = tasks.map(above).sum();
    Rate::of_wide(sum, i128::from(PARTS)).min(Rate::whole(m as i64))
}
