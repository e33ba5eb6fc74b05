//! The assignment of CPUs to tasks under federated scheduling, as defined in
//! `crates/layland-policy/src/federated.rs`.

use super::groups::{Groups, global};
use crate::Refusal;
use crate::info::{PolicyOptions, SystemRefusal};
use layland_model::{CpuId, CpuSet, Duration, Graph, System};
use layland_offline::graph::{
    self, Allocation, BoundKind, Misfit, PATHS, Recurrent, Why, federated,
};

/// Returns the CPUs of each heavy graph with its tasks, and each remaining CPU with its light ones.
pub(crate) fn groups(
    name: &str,
    system: &System,
    options: &PolicyOptions,
) -> Result<Groups, SystemRefusal> {
    let names = Allocation::ALL.map(|way| (way.name(), way));
    let way = options.one_of("sizing", &names)?.unwrap_or(Allocation::Bound(BoundKind::Graham));
    if !system.platform.is_unit_speed() {
        return Err(Refusal::invalid(format!("{name} needs CPUs of unit speed")).into());
    }
    // Check that every task may use every CPU.
    global(name, system)?;
    let graphs = graph::all(system);
    let mut tasks = Vec::with_capacity(graphs.len());
    for graph in &graphs {
        tasks.push(recurrent(name, system, graph)?);
    }
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    let given = federated::allocate(&tasks, cpus.len(), way)
        .map_err(|misfit| no_place(way, system, &graphs, &tasks, misfit))?;
    let mut groups: Groups = Vec::new();
    let mut group_of: Vec<Option<usize>> = vec![None; cpus.len()];
    for of in given.iter().filter(|of| of.len() > 1) {
        of.iter().for_each(|&cpu| group_of[cpu] = Some(groups.len()));
        groups.push((of.iter().map(|&cpu| cpus[cpu]).collect(), Vec::new()));
    }
    for (cpu, of) in group_of.iter_mut().enumerate().filter(|(_, of)| of.is_none()) {
        *of = Some(groups.len());
        groups.push((CpuSet::single(cpus[cpu]), Vec::new()));
    }
    for (graph, of) in graphs.iter().zip(&given) {
        if let Some(group) = of.first().and_then(|&cpu| group_of[cpu]) {
            groups[group].1.extend(&graph.tasks);
        }
    }
    groups.iter_mut().for_each(|(_, tasks)| tasks.sort_unstable());
    Ok(groups)
}

/// Converts a graph to a DAG task of the paper.
fn recurrent(name: &str, system: &System, graph: &Graph) -> Result<Recurrent, SystemRefusal> {
    let first = &system.tasks[graph.tasks[0]];
    for &id in &graph.tasks {
        let task = &system.tasks[id];
        if task.deadline != first.deadline {
            return Err(Refusal::not_permitted(format!(
                "task `{}` has another deadline than `{}` of its graph, and {name} gives CPUs to whole graphs: give all \
                 tasks of a graph one deadline, or use g-edf",
                task.name, first.name
            ))
            .about(id));
        }
    }
    if first.deadline > first.period {
        return Err(Refusal::not_permitted(format!(
            "task `{}` has a deadline beyond its period, and {name} counts on one instance of a graph at a time: use \
             g-edf",
            first.name
        ))
        .about(graph.tasks[0]));
    }
    Recurrent::of(system, graph).map_err(|error| {
        Refusal::invalid(format!("{name} cannot count `{}`: {error}", first.name))
            .about(graph.tasks[0])
    })
}

/// Returns the refusal of a graph that gets no CPUs.
fn no_place(
    way: Allocation,
    system: &System,
    graphs: &[Graph],
    tasks: &[Recurrent],
    misfit: Misfit,
) -> SystemRefusal {
    let (graph, task) = (&graphs[misfit.task], &tasks[misfit.task]);
    let first = graph.tasks[0];
    let what = match graph.tasks.len() {
        1 => format!("task `{}`", system.tasks[first].name),
        count => format!("the graph of `{}` ({count} tasks)", system.tasks[first].name),
    };
    let ns = Duration::from_ns;
    let deadline = ns(task.deadline);
    let reason = match misfit.why {
        Why::Length if task.dag.length() == task.deadline => format!(
            "the longest path of {what} takes as long as its deadline, {deadline:#}: sizing=li needs some time between \
             them, other kinds do not"
        ),
        Why::Length => format!(
            "the longest path of {what} takes {:#}, longer than its deadline {deadline:#}, however many CPUs it gets",
            ns(task.dag.length())
        ),
        Why::Cpus if task.is_heavy() => format!(
            "{what} gets too few CPUs for {:#} of work in {deadline:#} (sizing={}): {} are there, and each CPU that a graph \
             has for itself is taken",
            ns(task.dag.volume()),
            way.name(),
            system.platform.cpu_count()
        ),
        Why::Cpus => format!(
            "no CPU has room for {what}, {:#} of work in {deadline:#}, beside what was placed before it",
            ns(task.dag.volume())
        ),
        Why::Paths => format!(
            "{what} has more than {PATHS} paths, which sizing={} follows: use sizing=graham or sizing=long",
            way.name()
        ),
    };
    Refusal::busy(reason).about(first)
}
