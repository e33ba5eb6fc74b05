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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use layland_model::{Duration, ScheduleRule, Service, Task, TaskId};

    fn task(name: &str, wcet: i64, deadline: i64) -> Task {
        Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(deadline))
    }

    /// One after the other of each of these, all at once after the first.
    fn fork(cpus: usize, deadline: i64, nodes: &[i64], others: &[(i64, i64)]) -> System {
        let nodes = nodes.iter().enumerate();
        let mut tasks: Vec<Task> =
            nodes.map(|(at, &wcet)| task(&format!("node{at}"), wcet, deadline)).collect();
        for node in tasks.iter_mut().skip(1) {
            node.follows = [TaskId(0)].into();
        }
        let others = others.iter().enumerate();
        tasks.extend(others.map(|(at, &(wcet, of))| task(&format!("other{at}"), wcet, of)));
        System::new(cpus, tasks)
    }

    fn groups_of(spec: &str, system: &System) -> Vec<(String, Vec<u32>)> {
        let policy = Registry::standard().build(spec, system).unwrap();
        let ScheduleRule::HighestFirst { groups, .. } = policy.rule() else {
            panic!("another rule")
        };
        let ids = |tasks: Vec<TaskId>| tasks.into_iter().map(|task| task.0).collect();
        groups.into_iter().map(|group| (group.cpus.to_string(), ids(group.tasks))).collect()
    }

    fn refusal(spec: &str, system: &System) -> String {
        Registry::standard().build(spec, system).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn heavy_graphs_come_first_and_light_ones_share_what_is_left() {
        // C = 10, L = 6, D = 8: ceil(4 / 2) = 2 CPUs.
        let system = fork(4, 8, &[3, 2, 2, 3], &[(3, 8), (4, 8), (5, 8)]);
        let groups = |of: &[(&str, &[u32])]| -> Vec<(String, Vec<u32>)> {
            of.iter().map(|&(cpus, tasks)| (cpus.to_owned(), tasks.to_vec())).collect()
        };
        let expected: [(&str, &[u32]); 3] = [("0-1", &[0, 1, 2, 3]), ("2", &[4, 6]), ("3", &[5])];
        assert_eq!(groups_of("federated", &system), groups(&expected));
        assert_eq!(groups_of("federated:sizing=li", &system), groups(&expected));
    }

    #[test]
    fn what_has_no_place_is_told() {
        let path = fork(9, 8, &[3, 6, 6], &[]);
        let message = "the longest path of the graph of `node0` (3 tasks) takes 9ns, longer than its deadline 8ns";
        assert!(refusal("federated", &path).contains(message), "{}", refusal("federated", &path));
        let tight = fork(9, 8, &[3, 5, 5], &[]);
        assert!(refusal("federated:sizing=li", &tight).contains("sizing=li needs some time"));
        // Six CPUs, so that the path never waits for a whole unit.
        assert_eq!(groups_of("federated", &tight)[0].0, "0-5");
        let wide = fork(2, 8, &[2, 6, 6, 6], &[]);
        assert!(refusal("federated", &wide).contains("gets too few CPUs for 20ns of work in 8ns"));
        let light = fork(2, 8, &[3, 3, 3], &[(1, 8), (8, 8)]);
        let message = "no CPU has room for task `other1`, 8ns of work in 8ns";
        assert!(refusal("federated", &light).contains(message), "{}", refusal("federated", &light));
        let mut later = fork(4, 8, &[1, 1], &[]);
        later.tasks[TaskId(1)].deadline = Duration::from_ns(7);
        assert!(refusal("federated", &later).contains("`node1` has another deadline than `node0`"));
        let mut long = fork(4, 8, &[1, 1], &[]);
        long.tasks.values_mut().for_each(|task| task.deadline = Duration::from_ns(9));
        assert!(refusal("federated", &long).contains("a deadline beyond its period"));
    }
}
