//! **Federated scheduling** of DAG tasks (Li, Chen, Agrawal, Lu, Gill and Saifullah 2014).
//!
//! Tasks that are connected by precedence form a DAG task, and are its nodes; a task outside of
//! every graph is a DAG task with a single node. A DAG task is *heavy* if one CPU is not enough for
//! it, and *light* otherwise.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `C_i`, `L_i`, `D_i` | [`Recurrent`](layland_offline::graph::Recurrent) | the work of all nodes, that of the longest path, the deadline |
//! | `n_i` | [`Allocation`] | the number of CPUs that a heavy task needs |
//! | high-utilization task | `C_i > D_i` | it gets `n_i` dedicated CPUs, upwards from CPU 0 |
//! | low-utilization task | the others | one CPU each, by first fit in decreasing density onto the remaining CPUs |
//!
//! The paper permits any work-conserving scheduler on the CPUs of a heavy task. Here the order is
//! that of global EDF, which orders the nodes of one instance by rank, and then by the order of the
//! tasks. Light tasks are sequential: all nodes of one run on its CPU, under EDF with the other
//! tasks of that CPU. So every group of CPUs runs the ready jobs of earliest deadline
//! ([`HighestFirst`] defines ties and placement), and a CPU without a task stays idle.
//!
//! Deviations:
//! - the paper has `D_i = T_i`, and calls tasks of a utilization above 1 heavy. With `D_i < T_i`
//!   the condition is `C_i > D_i`, and the light tasks are packed by densities `C_i / D_i`; no
//!   constant speedup is known then (Chen 2016);
//! - `n_i` is the least number of CPUs on which a bound of the response time is within the
//!   deadline. With `graham`, the default, this bound is the formula of the paper for whole times,
//!   which never needs more CPUs, and sometimes fewer. `sizing=li` uses the formula as printed, and
//!   the other kinds are sharper bounds (`crates/layland-offline/src/graph/bounds.rs`);
//! - no task joins or changes its parameters: the CPUs are assigned before the start.

use crate::HighestFirst;
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::shell::{Grouped, Scope};
use layland_model::{Algorithm, Order, System};
use layland_offline::graph::{Allocation, LI};

const DEADLINES: &str = "deadlines beyond periods, and graphs whose tasks have different deadlines";
const NO_PLACE: &str =
    "graphs whose longest path is too long, and sets for which there are too few CPUs";

/// Returns the description of the policy.
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
        "the number of CPUs for a graph that needs several: as many as a bound needs, graham (default), long, \
         path, order, chains or order-chains, or by the formula of the paper, li",
        Values::one_of(Allocation::ALL.map(Allocation::name)),
    )])
    .breaking_ties(
        "equal deadlines on the same CPUs go to the smaller rank, then to the task that comes first",
    )
    .taking_followers()
    .citing([LI])
}

/// Returns **federated scheduling**: heavy graphs on dedicated CPUs, light ones under EDF on one
/// CPU each.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, the speed of a CPU is not 1, a
/// deadline is longer than its period, the tasks of a graph have different deadlines, or a graph
/// does not fit.
pub fn federated(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let jobs = HighestFirst::default();
    Grouped::new("federated", Scope::Federated, Order::Deadline, system, options, jobs)
}
