//! The CPUs that graphs get, and the reasons why a graph gets none.

use layland_model::{Duration, ScheduleRule, Service, System, Task, TaskId};
use layland_policy::Registry;

fn task(name: &str, wcet: i64, deadline: i64) -> Task {
    Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(deadline))
}

/// Returns a system whose first node is followed by all others at once, with further independent
/// tasks.
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
    let ScheduleRule::HighestFirst { groups, .. } = policy.rule() else { panic!("another rule") };
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
    let message = "the longest path of the graph of `node0` (3 tasks) takes 9 ns, longer than its deadline 8 ns";
    assert!(refusal("federated", &path).contains(message), "{}", refusal("federated", &path));
    let tight = fork(9, 8, &[3, 5, 5], &[]);
    assert!(refusal("federated:sizing=li", &tight).contains("sizing=li needs some time"));
    // Six CPUs are necessary, so that the path never waits for a whole unit.
    assert_eq!(groups_of("federated", &tight)[0].0, "0-5");
    let wide = fork(2, 8, &[2, 6, 6, 6], &[]);
    assert!(refusal("federated", &wide).contains("gets too few CPUs for 20 ns of work in 8 ns"));
    let light = fork(2, 8, &[3, 3, 3], &[(1, 8), (8, 8)]);
    let message = "no CPU has room for task `other1`, 8 ns of work in 8 ns";
    assert!(refusal("federated", &light).contains(message), "{}", refusal("federated", &light));
    let mut later = fork(4, 8, &[1, 1], &[]);
    later.tasks[TaskId(1)].deadline = Duration::from_ns(7);
    assert!(refusal("federated", &later).contains("`node1` has another deadline than `node0`"));
    let mut long = fork(4, 8, &[1, 1], &[]);
    long.tasks.values_mut().for_each(|task| task.deadline = Duration::from_ns(9));
    assert!(refusal("federated", &long).contains("a deadline beyond its period"));
}
