//! The assignment of CPUs to tasks under global, clustered and partitioned scheduling, decided
//! before the start.

use crate::Refusal;
use crate::highest_first::Ties;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use crate::options::{Fit, cluster_size, never_preempts};
use layland_model::{
    Behaviour, CpuId, CpuSet, Criticality, Duration, Index, Order, Rate, RateSum, Service, System,
    Task, TaskId,
};
use layland_offline::criticality::{MixedSet, MixedTask, fixed};
use layland_offline::{Bins, Heuristic};
use std::cmp::Ordering;

/// The systems that policies with migration over all CPUs refuse.
pub(crate) const ONE_CLUSTER: &str =
    "several clusters, and affinities to some CPUs only: it migrates over all CPUs";
/// The systems that clustered policies refuse.
pub(crate) const WHOLE_CLUSTER: &str =
    "affinities to a part of a cluster: it migrates over the whole cluster";
/// The systems that partitioned policies refuse.
pub(crate) const PACKED: &str =
    "task sets that the heuristic cannot pack, and changes of affinity to more than one CPU";
/// The systems that policies with guarantees for identical CPUs refuse.
pub(crate) const UNIT_SPEED: &str = "CPUs of other speeds than 1";

/// The systems that policies with given priorities refuse.
pub(crate) const PRIORITIES: &str = "tasks without a `priority`";

/// Returns the option for the assignment of tasks to CPUs by partitioned policies.
pub(crate) fn fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "the heuristic that assigns tasks to CPUs: ff, ffd (default), bf, bfd, wf, wfd, nf, nfd, ef, efd (those \
         without d take the tasks by rank, those with d by utilization and then by rank), or given (by \
         one-CPU affinities; the default if every task has one)",
        Values::one_of(["ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd", "given"]),
    )
}

/// Returns the option for the acceptance rule of a CPU under partitioned fixed priorities.
pub(crate) fn accept() -> OptionInfo {
    OptionInfo::new(
        "accept",
        "the limit of a CPU while tasks are assigned: test (default), the response times of all its tasks, where \
         these are known exactly (tasks that only execute, deadlines up to their periods) and every task finds a \
         place; otherwise, and with load, densities of at most 1",
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
    if !system.platform.is_unit_speed() {
        return Err(Refusal::invalid(format!("{name}:size=.. needs CPUs of unit speed")).into());
    }
    let clusters: Vec<CpuSet> =
        cpus.chunks(size).map(|chunk| chunk.iter().copied().collect()).collect();
    let heuristic = heuristic(options)?.unwrap_or(Heuristic::Wfd);
    let rates: Vec<Rate> = system.tasks.values().map(|task| task.density()).collect();
    let allowed = |item: usize, bin: usize| {
        clusters[bin].is_subset(&system.allowed_cpus(TaskId(item as u32)))
    };
    let bins = layland_offline::pack(
        &rates,
        allowed,
        clusters.len(),
        heuristic,
        &Rate::whole(size as i64),
    )
    .map_err(|unplaced| {
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
/// the affinities determine the CPU of each task, whether or not it fits. Otherwise a heuristic
/// packs the densities `C / min(D, T)` onto the CPUs, first-fit decreasing by default. Under fixed
/// priorities a task fits if all tasks keep their deadlines, provided that this places all of them;
/// otherwise if the sum of the densities is at most 1.
pub(crate) fn partitioned(
    name: &str,
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Groups, SystemRefusal> {
    if let Some(groups) = given(name, system, options)? {
        return Ok(groups);
    }
    let mut groups = empty(system);
    let heuristic = heuristic(options)?.unwrap_or(Heuristic::Ffd);
    if let Some(cpu_of) = placed_by_test(order, system, options, heuristic)? {
        for (id, cpu) in system.tasks.ids().zip(cpu_of) {
            groups[cpu].1.push(id);
        }
        return Ok(groups);
    }
    let assignment = layland_offline::partition(system, heuristic)
        .map_err(|unplaced| no_packing(heuristic, &unplaced))?;
    for (id, &cpu) in assignment.iter() {
        groups[cpu.0 as usize].1.push(id);
    }
    Ok(groups)
}

/// Returns the CPU of each task, if a CPU accepts a task as long as the response times of all its
/// tasks allow it; `None` if exact response times are unknown, or some task fits nowhere.
fn placed_by_test(
    order: Order,
    system: &System,
    options: &PolicyOptions,
    heuristic: Heuristic,
) -> Result<Option<Vec<usize>>, Refusal> {
    let words = [("test", true), ("load", false)];
    let is_wanted = options.one_of("accept", &words)?.unwrap_or(true);
    let is_of_tasks = order != Order::Deadline && has_exact_responses(system);
    // Regions, locks and ties of another kind make other response times.
    let is_plain = !never_preempts(options)?
        && options.text("locks").is_none()
        && Ties::of(options) == Ok(Ties::Rank);
    let missing =
        order == Order::Given && system.tasks.values().any(|task| task.priority.is_none());
    if !is_wanted || !is_of_tasks || !is_plain || missing {
        return Ok(None);
    }
    // Among equal densities the smaller rank comes first.
    let items = system.by_rank();
    let densities: Vec<Rate> = items.iter().map(|&task| system.tasks[task].density()).collect();
    let cpus = system.platform.cpu_count();
    let (on, loads) = (vec![Vec::new(); cpus], vec![RateSum::default(); cpus]);
    let mut processors = Processors { order, system, items, on, loads };
    let placing = heuristic.order(&densities);
    let Ok(placed) = layland_offline::place(&mut processors, &placing, heuristic) else {
        return Ok(None);
    };
    let mut cpu_of = vec![0; placed.len()];
    for (&task, cpu) in processors.items.iter().zip(placed) {
        cpu_of[task.index()] = cpu;
    }
    Ok(Some(cpu_of))
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
        && system.platform.speeds.values().all(|speed| speed.rate() == Rate::ONE)
}

/// CPUs that accept a task if then every task keeps its deadline under fixed priorities.
struct Processors<'a> {
    order: Order,
    system: &'a System,
    /// The tasks by rank, which are to be placed.
    items: Vec<TaskId>,
    on: Vec<Vec<TaskId>>,
    loads: Vec<RateSum>,
}

impl Bins for Processors<'_> {
    fn count(&self) -> usize {
        self.on.len()
    }
    fn fits(&self, bin: usize, item: usize) -> bool {
        let new = self.items[item];
        if !self.system.allowed_cpus(new).contains(CpuId::from_index(bin)) {
            return false;
        }
        let mut tasks: Vec<TaskId> = self.on[bin].iter().copied().chain([new]).collect();
        tasks.sort_by_key(|&id| {
            let task = &self.system.tasks[id];
            (self.order.fixed_key(task), task.rank, id)
        });
        keeps(self.system, &tasks)
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        self.loads[a].cmp_sum(&self.loads[b])
    }
    fn put(&mut self, bin: usize, item: usize) {
        let task = self.items[item];
        self.on[bin].push(task);
        self.loads[bin].add(&self.system.tasks[task].density());
    }
}

/// Returns true if tasks, the highest priority first, keep their deadlines, one job of each in its
/// busy period.
fn keeps(system: &System, tasks: &[TaskId]) -> bool {
    let highest_first: Vec<TaskId> = (0..tasks.len()).map(TaskId::from_index).collect();
    if !system.has_blocking() {
        let set = MixedSet::of_tasks(system, tasks);
        return set.is_ok_and(|set| fixed::accepts(&set, &highest_first));
    }
    // The blocking time of a task counts as additional work in its own response time, but not in
    // those of others.
    (1..=tasks.len()).all(|count| {
        let of = |(at, &id): (usize, &TaskId)| {
            let task = &system.tasks[id];
            let blocking = if at + 1 == count { task.blocking_time } else { Duration::ZERO };
            MixedTask {
                period: task.period,
                deadline: task.deadline,
                criticality: Criticality::default(),
                wcet: vec![task.own_wcet() + Service::from_ns(blocking.ns())],
            }
        };
        let blocked: Vec<MixedTask> = tasks[..count].iter().enumerate().map(of).collect();
        let set = MixedSet::new(1, &blocked);
        set.is_ok_and(|set| fixed::accepts(&set, &highest_first[..count]))
    })
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
        None if !all_given => return Ok(None),
        None | Some(Fit::Given) => {}
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

/// The heuristic of a policy that cannot take the CPUs that affinities give.
pub(crate) fn heuristic(options: &PolicyOptions) -> Result<Option<Heuristic>, Refusal> {
    match Fit::of(options)? {
        Some(Fit::Given) => Err(Refusal::invalid("fit=`given` is not a packing heuristic")),
        Some(Fit::By(heuristic)) => Ok(Some(heuristic)),
        None => Ok(None),
    }
}

fn no_packing(heuristic: Heuristic, unplaced: &impl std::fmt::Display) -> Refusal {
    Refusal::busy(format!("{heuristic} {unplaced}; try another fit=.., or a policy that migrates"))
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
