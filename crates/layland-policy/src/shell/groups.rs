//! The assignment of CPUs to tasks under global, clustered and partitioned scheduling, decided
//! before the start.

use crate::Refusal;
use crate::highest_first::Ties;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use crate::levels;
use crate::options::{Fit, cluster_size, locks_on_one_cpu, never_preempts};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, Index, Order, Placement, ServerKind, System, Task, TaskId,
    TaskMap,
};
use layland_offline::Heuristic;
use layland_offline::packing::{
    Assignment, CpuRules, CpuTest, OneCpu, assign, pack_clusters, place_by, sharing,
};

/// The systems that policies with migration over all CPUs refuse.
pub(crate) const ONE_CLUSTER: &str =
    "several clusters, and affinities to some CPUs only: it migrates over all CPUs";
/// The systems that clustered policies refuse.
pub(crate) const WHOLE_CLUSTER: &str =
    "affinities to a part of a cluster: it migrates over the whole cluster";
/// The systems that partitioned policies refuse.
pub(crate) const PACKED: &str =
    "task sets that a named heuristic cannot pack, and changes of affinity to more than one CPU";
/// The systems that policies with guarantees for identical CPUs refuse.
pub(crate) const UNIT_SPEED: &str = "CPUs of other speeds than 1";

/// The systems that policies with given priorities refuse.
pub(crate) const PRIORITIES: &str = "tasks without a `priority`";

/// Returns the option for the assignment of tasks to CPUs by partitioned policies.
pub(crate) fn fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "how tasks get their CPUs: auto (default), the first partition that the test of each CPU accepts: of wfd, \
         ffd, bfd, efd, nfd, wf, ff, bf, ef, nf, then of a search, and wfd if it accepts none; one of these heuristics \
         (those without d take the tasks by rank, those with d by density and then by rank); or given (by one-CPU \
         affinities; the default if every task has one)",
        Values::one_of([
            "auto", "ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd", "given",
        ]),
    )
}

/// Returns the option for the acceptance rule of a CPU under partitioned fixed priorities.
pub(crate) fn accept() -> OptionInfo {
    OptionInfo::new(
        "accept",
        "the limit of a CPU while tasks are assigned: test (default), the response times of all its tasks; or load, \
         densities of at most 1. With a named heuristic, densities also decide where response times are not known \
         exactly (tasks that only execute, deadlines up to their periods), or some task finds no place by them",
        Values::one_of(["test", "load"]),
    )
}

/// Returns the option of clustered policies for their own clusters.
pub(crate) fn size() -> OptionInfo {
    OptionInfo::new(
        "size",
        "split the CPUs into clusters of this many, and pack the tasks; by default the platform's clusters",
        Values::Number,
    )
}

/// Returns the option of clustered policies for the assignment of tasks to their own clusters.
pub(crate) fn cluster_fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "with size: the heuristic that assigns tasks to clusters: ff, ffd, bf, bfd, wf, wfd (default), nf, nfd, ef \
         or efd; those without d take the tasks by rank",
        Values::one_of(["ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd"]),
    )
}

/// Returns the option for the CPUs of the running jobs where CPUs have different speeds.
pub(crate) fn place() -> OptionInfo {
    OptionInfo::new(
        "place",
        "on CPUs of different speeds: greedy (default; the running jobs are on the fastest CPUs, in their order, so \
         that a job moves up when one before it ends) or locality (a job stays where it runs, and starts where it \
         ran last or on the lowest idle CPU)",
        Values::one_of(["greedy", "locality"]),
    )
}

/// Reads the option `place`.
pub(crate) fn placement(options: &PolicyOptions) -> Result<Placement, Refusal> {
    let values = [("greedy", Placement::FastestFirst), ("locality", Placement::Anywhere)];
    Ok(options.one_of("place", &values)?.unwrap_or(Placement::FastestFirst))
}

pub(crate) type Groups = Vec<(CpuSet, Vec<TaskId>)>;

/// Returns one group with every CPU and every task.
pub(crate) fn global(name: &str, system: &System) -> Result<Groups, SystemRefusal> {
    if system.platform.clusters.len() > 1 {
        let clusters = system.platform.clusters.len();
        return Err(named(Refusal::not_permitted, name, |name| {
            format!(
                "{name} migrates over all CPUs, but the platform has {clusters} clusters: use the clustered form"
            )
        }));
    }
    clusters_of_platform(name, system)
}

/// Returns a refusal whose reason names the policy, with the general form of the reason.
fn named(
    refusal: fn(String) -> Refusal,
    name: &str,
    reason: impl Fn(&str) -> String,
) -> SystemRefusal {
    SystemRefusal::from(refusal(reason(name))).in_general(reason("it"))
}

/// Returns the platform's clusters, or with `size=N` clusters of N CPUs to which the tasks are
/// packed.
pub(crate) fn clustered(
    name: &str,
    system: &System,
    options: &PolicyOptions,
) -> Result<Groups, SystemRefusal> {
    match cluster_size(options)? {
        None => clusters_of_platform(name, system),
        Some(size) => clusters_of_size(name, system, size, options),
    }
}

fn clusters_of_platform(name: &str, system: &System) -> Result<Groups, SystemRefusal> {
    let mut groups: Groups =
        system.platform.clusters.iter().map(|cpus| (cpus.clone(), Vec::new())).collect();
    for (id, task) in system.tasks.iter() {
        let (cpus, members) = &mut groups[task.cluster];
        if task.affinity.as_ref().is_some_and(|affinity| affinity != cpus) {
            let allowed = system.allowed_cpus(id);
            let refusal = named(Refusal::not_permitted, name, |name| {
                format!(
                    "task `{}` may run on {allowed:#} only, and {name} migrates over {cpus}: \
                     use a partitioned policy or one that honours affinities",
                    task.name,
                )
            });
            return Err(SystemRefusal { task: Some(id), ..refusal });
        }
        members.push(id);
    }
    Ok(groups)
}

fn clusters_of_size(
    name: &str,
    system: &System,
    size: usize,
    options: &PolicyOptions,
) -> Result<Groups, SystemRefusal> {
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    if size == 0 || !cpus.len().is_multiple_of(size) {
        let cpus = cpus.len();
        return Err(Refusal::invalid(format!(
            "{name} cannot split {cpus} CPUs into clusters of {size}"
        ))
        .into());
    }
    let clusters: Vec<CpuSet> =
        cpus.chunks(size).map(|chunk| chunk.iter().copied().collect()).collect();
    let heuristic = heuristic(options)?.unwrap_or(Heuristic::Wfd);
    let bins = pack_clusters(system, &clusters, heuristic).map_err(|unplaced| {
        let task = TaskId(unplaced.item as u32);
        let name = &system.tasks[task].name;
        no_packing(heuristic, &format!("{unplaced} (task `{name}`, bins are clusters)")).about(task)
    })?;
    let mut groups: Groups = clusters.iter().map(|cpus| (cpus.clone(), Vec::new())).collect();
    for (id, &bin) in system.tasks.ids().zip(&bins) {
        groups[bin].1.push(id);
    }
    Ok(groups)
}

/// Returns one group per CPU. With `fit=given`, and by default if every task may use only one CPU,
/// the affinities determine the CPU of each task, whether or not it fits. With `fit=auto`, the
/// default otherwise, the tasks get the [first partition](assign) that the test of the order accepts.
/// A named heuristic packs the densities `C / min(D, T)` onto the CPUs: under fixed priorities a
/// task fits if all tasks keep their deadlines, provided that this places all of them; otherwise if
/// the sum of the densities is at most 1.
pub(crate) fn partitioned(
    name: &str,
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Groups, SystemRefusal> {
    if let Some(groups) = given(name, system, options)? {
        return Ok(groups);
    }
    let cpu_of = match heuristic(options)? {
        Some(heuristic) => by_heuristic(order, system, options, heuristic)?,
        None => auto(order, system, options)?.cpu_of,
    };
    let mut groups = empty(system);
    for (id, &cpu) in cpu_of.iter() {
        groups[cpu.index()].1.push(id);
    }
    Ok(groups)
}

/// Returns the assignment of `fit=auto`.
fn auto(order: Order, system: &System, options: &PolicyOptions) -> Result<Assignment, Refusal> {
    let rules = CpuRules {
        order,
        never_preempts: never_preempts(options)?,
        has_levels: levels::of(order, system, options)?.is_some(),
        servers: ServerKind::ALL
            .into_iter()
            .find(|kind| options.text(SERVERS) == Some(kind.abbreviation())),
    };
    let test = OneCpu::new(system, rules);
    let by = if by_responses(options)? { CpuTest::Deadlines(&test) } else { CpuTest::Load };
    let together = if locks_on_one_cpu(options) { sharing(system) } else { Vec::new() };
    Ok(assign(system, by, &together))
}

/// The option by which a policy with servers names their kind, for itself.
pub(crate) const SERVERS: &str = "servers";

fn by_responses(options: &PolicyOptions) -> Result<bool, Refusal> {
    Ok(options.one_of("accept", &[("test", true), ("load", false)])?.unwrap_or(true))
}

/// Returns the CPU of each task by a named heuristic.
fn by_heuristic(
    order: Order,
    system: &System,
    options: &PolicyOptions,
    heuristic: Heuristic,
) -> Result<TaskMap<CpuId>, SystemRefusal> {
    if let Some(cpu_of) = placed_by_test(order, system, options, heuristic)? {
        return Ok(cpu_of);
    }
    let packed = layland_offline::partition(system, heuristic);
    Ok(packed.map_err(|unplaced| no_packing(heuristic, &unplaced))?)
}

/// Returns the CPU of each task, if a CPU accepts a task as long as the response times of all its
/// tasks allow it; `None` if exact response times are unknown, or some task fits nowhere.
fn placed_by_test(
    order: Order,
    system: &System,
    options: &PolicyOptions,
    heuristic: Heuristic,
) -> Result<Option<TaskMap<CpuId>>, Refusal> {
    let is_of_tasks = order != Order::Deadline && has_exact_responses(system);
    // Regions, locks and ties of another kind make other response times.
    let is_plain = !never_preempts(options)?
        && options.text("locks").is_none()
        && Ties::of(options) == Ok(Ties::Rank);
    let missing =
        order == Order::Given && system.tasks.values().any(|task| task.priority.is_none());
    if !by_responses(options)? || !is_of_tasks || !is_plain || missing {
        return Ok(None);
    }
    let test = OneCpu::new(system, CpuRules::of(order));
    Ok(place_by(system, CpuTest::Deadlines(&test), heuristic))
}

/// Returns true if the worst case of response times under fixed priorities is a simultaneous
/// release, with one job of each task within its deadline.
fn has_exact_responses(system: &System) -> bool {
    let is_plain = |task: &Task| {
        let comes = matches!(task.behaviour, Behaviour::Periodic | Behaviour::Sporadic(_));
        comes
            && task.jitter == Duration::ZERO
            && task.deadline <= task.period
            && task.steps.is_none()
            && task.preemption.is_anywhere()
            && task.budget.is_none()
    };
    let overheads = &system.platform.overheads;
    system.tasks.values().all(is_plain)
        && !system.levels.is_mixed()
        && !system.has_followers()
        && overheads.is_zero()
}

/// Returns a group for each CPU, without tasks.
fn empty(system: &System) -> Groups {
    system.platform.cpus().map(|cpu| (CpuSet::single(cpu), Vec::new())).collect()
}

/// Returns one group per CPU, if the affinities determine the CPU of each task: with `fit=given`,
/// and by default if every task may use only one CPU.
pub(crate) fn given(
    name: &str,
    system: &System,
    options: &PolicyOptions,
) -> Result<Option<Groups>, SystemRefusal> {
    let only_cpu = |id: TaskId| {
        let allowed = system.allowed_cpus(id);
        allowed.lowest().filter(|_| allowed.len() == 1)
    };
    let all_given = system.tasks.ids().all(|id| only_cpu(id).is_some());
    match Fit::of(options)? {
        Some(Fit::By(_)) => return Ok(None),
        None | Some(Fit::Auto) if !all_given => return Ok(None),
        None | Some(Fit::Auto | Fit::Given) => {}
    }
    let mut groups = empty(system);
    for (id, task) in system.tasks.iter() {
        let cpu = only_cpu(id).ok_or_else(|| {
            Refusal::invalid(format!(
                "{name}:fit=given needs an affinity to one CPU, and task `{}` has {}",
                task.name,
                system.allowed_cpus(id)
            ))
            .about(id)
        })?;
        groups[cpu.0 as usize].1.push(id);
    }
    Ok(Some(groups))
}

/// Returns the heuristic that is named, if one is.
///
/// # Errors
/// If the CPUs are to be those that affinities give, which the caller handles before or not at all.
pub(crate) fn heuristic(options: &PolicyOptions) -> Result<Option<Heuristic>, Refusal> {
    match Fit::of(options)? {
        Some(Fit::Given) => Err(Refusal::invalid("fit=`given` is not a packing heuristic")),
        Some(Fit::By(heuristic)) => Ok(Some(heuristic)),
        None | Some(Fit::Auto) => Ok(None),
    }
}

fn no_packing(heuristic: Heuristic, unplaced: &impl std::fmt::Display) -> Refusal {
    Refusal::busy(format!("{heuristic} {unplaced}; try fit=auto, or a policy that migrates"))
}

/// Checks that every task has a priority, if the order needs one.
pub(crate) fn check_priorities(order: Order, system: &System) -> Result<(), SystemRefusal> {
    let without = system.tasks.iter().find(|(_, task)| task.priority.is_none());
    match (order, without) {
        (Order::Given, Some((id, task))) => Err(Refusal::invalid(format!(
            "task `{}` has no priority: give every task one, or use the rate-monotonic or \
             deadline-monotonic form",
            task.name
        ))
        .about(id)),
        (Order::Given, None)
        | (Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic, _) => Ok(()),
    }
}
