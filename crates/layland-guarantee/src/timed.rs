//! The system that is analysed in place of a set where no policy places its tasks.

use layland_model::{CpuId, CpuSet, Index, System};
use std::borrow::Cow;

/// Returns the set in [time](System::time_view), where tasks are tied to CPUs, or the CPUs of their
/// cluster have one speed. A section may be executed on the home of its resource, so a set whose
/// resources have homes stays as it is.
pub fn in_time(system: &System) -> Cow<'_, System> {
    let has_homes = system.resources.iter().any(|resource| resource.home.is_some());
    if system.platform.is_unit_speed() || has_homes {
        return Cow::Borrowed(system);
    }
    let tied = tied(system);
    let view = tied.as_ref().unwrap_or(system).time_view(None);
    view.map_or(Cow::Borrowed(system), Cow::Owned)
}

/// Returns the system with a cluster for each CPU, if every task may use only one.
fn tied(system: &System) -> Option<System> {
    let only = |id| {
        let allowed = system.allowed_cpus(id);
        allowed.lowest().filter(|_| allowed.len() == 1)
    };
    let cpus: Vec<CpuId> = system.tasks.ids().map(only).collect::<Option<_>>()?;
    let mut tied = system.clone();
    tied.platform.clusters = system.platform.cpus().map(CpuSet::single).collect();
    for (task, cpu) in tied.tasks.values_mut().zip(cpus) {
        (task.cluster, task.affinity) = (cpu.index(), None);
    }
    Some(tied)
}
