//! Random graphs: systems in which some tasks follow others.

use layland_gen::Random;
use layland_model::{Duration, Index, Service, System, TaskId};

/// Adds edges drawn from this seed. Graphs of two to five tasks share the period, the offset, the
/// jitter and the arrivals of their first task, and have edges in both directions of the list.
pub fn with_edges(mut system: System, seed: u64) -> System {
    let mut random = Random::of_task(seed, 0);
    let mut order: Vec<TaskId> = system.tasks.ids().collect();
    random.shuffle(&mut order);
    let mut rest = order.as_slice();
    while rest.len() > 1 {
        let size = random.between(1, 5.min(rest.len() as i64)) as usize;
        let (graph, behind) = rest.split_at(size);
        rest = behind;
        let first = *graph.iter().min().expect("a graph has a task");
        let first = system.tasks[first].clone();
        for (at, &id) in graph.iter().enumerate() {
            let mut follows: Vec<TaskId> =
                graph[..at].iter().copied().filter(|_| random.between(0, 9) < 4).collect();
            // A task alone would not share the arrivals of the others.
            if at > 0 && follows.is_empty() {
                follows.push(graph[random.between(0, at as i64 - 1) as usize]);
            }
            let task = &mut system.tasks[id];
            let slack = task.deadline - task.period;
            (task.period, task.offset) = (first.period, first.offset);
            (task.jitter, task.jobs) = (first.jitter, first.jobs);
            task.behaviour = first.behaviour.clone();
            task.deadline = (first.period + slack).max(task.own_wcet().at_unit_speed());
            task.follows = follows.into();
        }
    }
    system
}

/// Adds one deadline for all tasks of a graph, between half of its period and its period, and
/// bounds the WCETs by it.
pub fn with_one_deadline(mut system: System, seed: u64) -> System {
    for graph in layland_offline::graph::all(&system) {
        let first = graph.tasks[0];
        let mut random = Random::of_task(seed, first.index() as u64);
        let period = system.tasks[first].period.ns();
        let deadline = random.between((period + 1) / 2, period);
        for &id in &graph.tasks {
            let task = &mut system.tasks[id];
            task.deadline = Duration::from_ns(deadline);
            for wcet in &mut task.wcet {
                *wcet = (*wcet).min(Service::from_ns(deadline));
            }
        }
    }
    system
}
