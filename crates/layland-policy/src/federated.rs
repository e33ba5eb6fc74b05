//! **Federated scheduling** of DAG tasks (Li, Chen, Agrawal, Lu, Gill and Saifullah 2014).
//!
//! Tasks that are connected by what they follow are a DAG task, and its nodes; a task outside of every graph is one of
//! a single node. A DAG task is *heavy* if one CPU is too little for it, and *light* otherwise.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `C_i`, `L_i`, `D_i` | [`Recurrent`](layland_offline::graph::Recurrent) | the work of all nodes, that of the longest path, the deadline |
//! | `n_i` | [`Allocation`] | how many CPUs a heavy task needs |
//! | high-utilization task | `C_i > D_i` | it gets `n_i` CPUs that run nothing else, upwards from CPU 0 |
//! | low-utilization task | the others | first fit by decreasing density onto the CPUs that are left, one each |
//!
//! On the CPUs of a heavy task any work-conserving scheduler does; here the order is that of global EDF, which among
//! the nodes of one instance goes by rank, and then by the order of the tasks. Light tasks are sequential: all nodes of
//! one run on its CPU, under EDF with the other tasks of that CPU. So every group of CPUs runs the ready jobs of
//! earliest deadline ([`HighestFirst`]: see there for ties and placement), and a CPU without a task stays idle.
//!
//! Deviations:
//! - the paper has `D_i = T_i`, and calls tasks of a utilization above 1 heavy. With `D_i < T_i` that is `C_i > D_i`,
//!   and densities `C_i / D_i` count for the light ones; no constant speedup is known then (Chen 2016);
//! - `n_i` is the least number of CPUs on which a bound of the response time is within the deadline. With `graham`,
//!   the default, that is the formula of the paper for whole times: never more CPUs, and sometimes fewer. `sizing=li`
//!   is the formula as it is printed, and the other kinds are sharper bounds
//!   (`crates/layland-offline/src/graph/bounds.rs`);
//! - nobody joins, and nothing changes its parameters: the CPUs are given before the start.

use crate::HighestFirst;
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::shell::{Grouped, Scope};
use layland_model::{Algorithm, Order, System};
use layland_offline::graph::{Allocation, LI};

const DEADLINES: &str = "deadlines beyond periods, and graphs whose tasks have different deadlines";
const NO_PLACE: &str =
    "graphs whose longest path is too long, and sets for which there are too few CPUs";

/// What it says of itself.
pub(crate) fn policy() -> PolicyInfo {
    PolicyInfo::new(
        "federated",
        "federated scheduling of DAG tasks",
        "a graph that needs several CPUs has them for itself; the others share CPUs, one each, under EDF",
        |system, options| Ok(Box::new(federated(system, options)?)),
    )
    .implementing(Algorithm::Federated)
    .refusing([ONE_CLUSTER, DEADLINES, NO_PLACE, UNIT_SPEED])
    .with_options([OptionInfo::new(
        "sizing",
        "how many CPUs a graph gets that needs several: as many as a bound needs, graham (default), long, path, order, \
         chains or order-chains, or by the formula of the paper, li",
        Values::one_of(Allocation::ALL.map(Allocation::name)),
    )])
    .breaking_ties(
        "equal deadlines on the same CPUs go to the smaller rank, then to the task that comes first",
    )
    .taking_followers()
    .citing([LI])
}

/// **Federated**: heavy graphs on CPUs of their own, light ones under EDF on one CPU each.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, a CPU has another speed than 1, a deadline is
/// longer than its period, the tasks of a graph have different deadlines, or a graph has no place.
pub fn federated(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let jobs = HighestFirst::default();
    Grouped::new("federated", Scope::Federated, Order::Deadline, system, options, jobs)
}
