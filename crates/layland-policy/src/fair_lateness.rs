//! **G-FL**, global fair lateness, and its clustered form **C-FL** (Erickson and Anderson 2012; Erickson, Anderson and
//! Ward 2014): global EDF with earlier deadlines for longer jobs.
//!
//! On fully loaded CPUs, jobs under global EDF are late by a bounded time. The bound of a task
//! depends on its WCET. G-FL runs the jobs with the earliest *priority points*, which are earlier
//! than the deadlines by a part of the WCET. Compliant-vector analysis then has the same bound on
//! the lateness of every task, and no other choice of such points gives a smaller maximum.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `Y_i` | the deadline, less [`points::fair_lateness`] | relative priority point: `D_i - (m - 1) / m C_i` |
//! | `m` | the CPUs of the group at the start | under C-FL, of the cluster |
//!
//! The schedule is that of [`HighestFirst`], which also defines placement. Ties of points go to the
//! smaller rank, then to the smaller id. With one CPU it is EDF.
//!
//! Deviations, and cases that the papers leave out:
//! - points are whole nanoseconds (`crates/layland-offline/src/points.rs`);
//! - a job that executes for less or more than its WCET keeps its point;
//! - points are decided before the start, so tasks that join later or ask for other parameters are
//!   refused. A cluster that gets other CPUs, or a task that moves to another cluster, keeps the
//!   points.

use crate::HighestFirst;
use crate::info::{PolicyInfo, PolicyOptions, SystemRefusal};
use crate::shell::groups::{self, ONE_CLUSTER, WHOLE_CLUSTER};
use crate::shell::{Grouped, Scope};
use layland_model::{Algorithm, Order, System};
use layland_offline::points::{self, ERICKSON_ANDERSON, ERICKSON_ANDERSON_WARD};

/// Returns the descriptions of both policies.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let global = PolicyInfo::new(
        "g-fl",
        "global fair lateness (G-FL)",
        "as g-edf, but longer jobs count as due earlier, so that all tasks share one bound on lateness",
        |system, options| Ok(Box::new(fair_lateness("g-fl", Scope::Global, system, options)?)),
    )
    .refusing([ONE_CLUSTER])
    .with_options([groups::place()]);
    let clustered = PolicyInfo::new(
        "c-fl",
        "clustered fair lateness (C-FL)",
        "g-fl within each cluster",
        |system, options| Ok(Box::new(fair_lateness("c-fl", Scope::Clustered, system, options)?)),
    )
    .refusing([WHOLE_CLUSTER])
    .with_options([groups::size(), groups::cluster_fit(), groups::place()]);
    [global, clustered]
        .into_iter()
        .map(|info| {
            info.implementing(Algorithm::FairLateness)
                .breaking_ties(
                    "equal priority points go to the smaller rank, then to the task that comes first",
                )
                .citing([ERICKSON_ANDERSON, ERICKSON_ANDERSON_WARD])
        })
        .collect()
}

/// Returns the policy that runs the jobs with the earliest priority points, in one group of CPUs or
/// in clusters.
///
/// # Errors
/// If global or clustered EDF would also fail: a task may not use every CPU of its group, or the
/// tasks do not fit clusters of `size`.
pub fn fair_lateness(
    name: &str,
    scope: Scope,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let jobs = HighestFirst::default();
    let grouped = Grouped::new(name, scope, Order::Deadline, system, options, jobs)?;
    let grouped = grouped.placing(groups::placement(options)?, system);
    Ok(grouped.advancing(system, points::fair_lateness))
}
