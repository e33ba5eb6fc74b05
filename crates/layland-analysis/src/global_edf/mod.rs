//! Global EDF: on the CPUs of a cluster the jobs with the earliest deadlines run, and may migrate.
//!
//! Several clusters are several such systems (clustered EDF): every test looks at each of them.
//!
//! - [`gfb`], [`bcl`], [`bak`]: sufficient tests; none accepts all that another accepts;
//! - [`devi_anderson`], [`compliant_vector`]: how late jobs get, if the CPUs can do the load.

pub mod bak;
pub mod bcl;
pub mod compliant_vector;
pub mod devi_anderson;
pub mod gfb;

use crate::Assumption::{self, *};
use crate::group::Group;
use crate::necessary::load;
use crate::{Reason, Tardiness, TardinessBound};
use layland_model::{Rate, System, TaskId, TaskMap};

/// What GFB, BCL and BAK assume.
const CONSTRAINED: &[Assumption] = &[
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    FitsAlone,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    WholeClusters,
    NoRequests,
];

/// The policies that they are about.
const POLICIES: &[&str] = &["g-edf", "c-edf"];

/// Tardiness bounds cluster by cluster; none if the load of a cluster, or one task, is too much.
fn each_cluster(system: &System, bounds: impl Fn(&Group<'_>) -> Vec<(TaskId, Rate)>) -> Tardiness {
    let mut all: Vec<(TaskId, Rate)> = Vec::new();
    let mut failed = Vec::new();
    for group in Group::clusters(system) {
        let sum = group.utilization();
        let capacity = Rate::whole(group.cpu_count());
        let too_long = group.tasks.iter().find(|(_, task)| task.utilization() > Rate::ONE);
        if let Some((id, task)) = too_long {
            failed.push(Reason::compared(
                "the utilization",
                crate::Scope::task(*id, &group.cpus),
                crate::Quantity::Number(task.utilization()),
                crate::Quantity::Number(Rate::ONE),
                false,
            ));
        } else if !sum.fits(&Rate::ZERO, &capacity) {
            failed.push(load(&sum, capacity, false));
        } else {
            all.extend(bounds(&group));
        }
    }
    if !failed.is_empty() {
        return Tardiness::Unknown(failed);
    }
    all.sort_by_key(|&(task, _)| task);
    let bounds = all.into_iter().map(|(task, tardiness)| TardinessBound { task, tardiness });
    Tardiness::Bounded(bounds.collect::<TaskMap<TardinessBound>>())
}

/// `ceil(U)`, of a set with at least one task.
fn ceil_of_load(group: &Group<'_>) -> usize {
    group.utilization().exact().ceil().and_then(|u| usize::try_from(u).ok()).unwrap_or(usize::MAX)
}
