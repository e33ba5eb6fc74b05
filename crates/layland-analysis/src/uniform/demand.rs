//! The largest demands of tasks in an interval, and the fastest CPUs.

use super::edf::{OnUniform, by_demand, largest_demands};
use super::numbers::{Uniform, fastest_first};
use crate::group::{Group, may_become_ready_together};
use crate::{Quantity, Reason};
use layland_model::{Duration, System, Task, TaskId};

/// Returns the interval in which the largest demands of the tasks of a cluster exceed what as many of its
/// fastest CPUs do, where its CPUs have different speeds ([`by_demand`]). `None` if there is none, the
/// search gives up, or the tasks may not come together.
pub(crate) fn too_much_demand(system: &System) -> Option<Reason> {
    // Sections may be executed on the homes of their resources, in other clusters.
    if system.resources.iter().any(|resource| resource.home.is_some()) {
        return None;
    }
    let of_group = |group: &Group<'_>| {
        let is_punctual = |task: &Task| task.jitter == Duration::ZERO && task.bursts().is_none();
        let comes_together =
            group.tasks().all(is_punctual) && may_become_ready_together(group.tasks());
        // A task may be tied to a CPU of another cluster.
        let is_inside = |&(id, _): &(TaskId, &Task)| system.allowed_cpus(id).is_subset(&group.cpus);
        let is_alone = group.tasks.iter().all(is_inside);
        if system.speed_of(&group.cpus).is_some() || !comes_together || !is_alone {
            return None;
        }
        let cpus = fastest_first(system, &group.cpus);
        let uniform = Uniform::new(cpus.iter().map(|&cpu| system.platform.speeds[cpu]))?;
        let tasks = uniform.tasks(group.tasks())?;
        let OnUniform::Fails { interval: Some(t), .. } = by_demand(&tasks, &uniform) else {
            return None;
        };
        let (count, demand, limit) = largest_demands(&tasks, &uniform, t)?;
        let of_all = count == tasks.len();
        let quantity = |grains: i128| Quantity::Time(uniform.in_work(grains));
        Some(Reason::Largest {
            count,
            interval: Some(Duration::from_ns(i64::try_from(t).ok()?)),
            cpus: cpus.iter().copied().take(if of_all { cpus.len() } else { count }).collect(),
            value: quantity(demand),
            bound: quantity(limit),
        })
    };
    Group::clusters(system).iter().find_map(of_group)
}
