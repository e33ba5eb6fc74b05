//! Which CPUs serve which tasks, under global, clustered and partitioned scheduling: decided before the
//! start.

use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use layland_model::{CpuId, CpuSet, Order, Rate, System, TaskId};
use layland_offline::Heuristic;

/// What policies that migrate over all CPUs refuse.
pub(crate) const ONE_CLUSTER: &str =
    "several clusters, and affinities to some CPUs only: it migrates over all CPUs";
/// What clustered policies refuse.
pub(crate) const WHOLE_CLUSTER: &str =
    "affinities to a part of a cluster: it migrates over the whole cluster";
/// What partitioned policies refuse.
pub(crate) const PACKED: &str =
    "task sets that the heuristic cannot pack, and changes of affinity to more than one CPU";
/// What policies refuse whose guarantees are for identical CPUs.
pub(crate) const UNIT_SPEED: &str = "CPUs of other speeds than 1";

/// What policies with given priorities refuse.
pub(crate) const PRIORITIES: &str = "tasks without a `priority`";

/// How partitioned policies assign tasks to CPUs.
pub(crate) fn fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "how tasks are assigned to CPUs: ff, ffd (default), bf, bfd, wf, wfd, nf, nfd, ef, efd (those \
         without d take the tasks by rank, those with d by utilization and then by rank), or given (by \
         one-CPU affinities; the default if every task has one)",
        Values::one_of(["ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd", "given"]),
    )
}

/// How clustered policies make clusters of their own.
pub(crate) fn size() -> OptionInfo {
    OptionInfo::new(
        "size",
        "split the CPUs into clusters of this many, and pack the tasks; by default the platform's clusters",
        Values::Number,
    )
}

/// How clustered policies assign tasks to clusters of their own.
pub(crate) fn cluster_fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "with size: how tasks are assigned to clusters: ff, ffd, bf, bfd, wf, wfd (default), nf, nfd, ef \
         or efd; those without d take the tasks by rank",
        Values::one_of(["ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd"]),
    )
}

pub(crate) type Groups = Vec<(CpuSet, Vec<TaskId>)>;

/// One group: every CPU, every task.
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

/// A refusal whose reason names the policy: for the policy, and in general.
fn named(
    refusal: fn(String) -> Refusal,
    name: &str,
    reason: impl Fn(&str) -> String,
) -> SystemRefusal {
    SystemRefusal::from(refusal(reason(name))).in_general(reason("it"))
}

/// The platform's clusters, or with `size=N` clusters of N CPUs to which the tasks are packed.
pub(crate) fn clustered(
    name: &str,
    system: &System,
    options: &PolicyOptions,
) -> Result<Groups, SystemRefusal> {
    match options.number("size")? {
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
                    "task `{}` may run on CPUs {allowed} only, and {name} migrates over {cpus}: \
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

/// One group per CPU. With `fit=given`, and by default if every task may use one CPU only, the
/// affinities say where each task goes, whether or not it fits; otherwise a heuristic packs the
/// densities `C / min(D, T)` onto the CPUs, first-fit decreasing by default.
pub(crate) fn partitioned(
    name: &str,
    system: &System,
    options: &PolicyOptions,
) -> Result<Groups, SystemRefusal> {
    if let Some(groups) = given(name, system, options)? {
        return Ok(groups);
    }
    let mut groups = empty(system);
    let heuristic = heuristic(options)?.unwrap_or(Heuristic::Ffd);
    let assignment = layland_offline::partition(system, heuristic)
        .map_err(|unplaced| no_packing(heuristic, &unplaced))?;
    for (id, &cpu) in assignment.iter() {
        groups[cpu.0 as usize].1.push(id);
    }
    Ok(groups)
}

/// A group for each CPU, without tasks.
fn empty(system: &System) -> Groups {
    system.platform.cpus().map(|cpu| (CpuSet::single(cpu), Vec::new())).collect()
}

/// One group per CPU, if the affinities are to say where each task goes: with `fit=given`, and by
/// default if every task may use one CPU only.
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
    let fit = options.text("fit");
    if fit != Some("given") && (fit.is_some() || !all_given) {
        return Ok(None);
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

pub(crate) fn heuristic(options: &PolicyOptions) -> Result<Option<Heuristic>, Refusal> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            let known = Heuristic::ALL.map(|heuristic| heuristic.to_string()).join(", ");
            Refusal::invalid(format!(
                "fit=`{text}` is not a packing heuristic: use one of {known}, given"
            ))
        })
    };
    options.text("fit").map(parse).transpose()
}

fn no_packing(heuristic: Heuristic, unplaced: &impl std::fmt::Display) -> Refusal {
    Refusal::busy(format!("{heuristic} {unplaced}; try another fit=.., or a policy that migrates"))
}

/// Every task has a priority, if the order needs one.
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
