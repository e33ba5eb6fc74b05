//! Federated scheduling: the worked examples; the CPUs of graphs, compared with the definition and
//! the vectors; schedules, compared with the tick simulator; and the rejections of the running
//! policy. `graphs_in_time.rs` checks that accepted sets keep their bounds.

use crate::schedules::{build, finished, run, run_repeated, violations};
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Change, CpuId, CpuSet, Duration, Order, ScheduleRule, Service, System, Task, TaskId, Time,
};
use layland_policy::{Action, Event, Policy, RefusalKind, RequestId};
use layland_sim::SimOptions;
use layland_testkit::cases::{Deadlines, on_random, systems};
use layland_testkit::graphs::{with_edges, with_one_deadline};
use layland_testkit::{registry, ticks};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

const KINDS: [&str; 7] = ["li", "graham", "long", "path", "order", "chains", "order-chains"];
const HORIZON: Time = Time::from_ns(400);

fn spec(kind: &str) -> String {
    format!("federated:sizing={kind}")
}

/// Returns the CPUs of each task.
fn cpus_of(policy: &dyn Policy, tasks: usize) -> Vec<Vec<u32>> {
    let ScheduleRule::HighestFirst { groups, .. } = policy.rule() else { panic!("another rule") };
    let mut of = vec![Vec::new(); tasks];
    for group in groups {
        for task in group.tasks {
            of[task.0 as usize] = group.cpus.iter().map(|cpu| cpu.0).collect();
        }
    }
    of
}

/// Returns nodes with these WCETs and edges, and with one deadline, which is the period.
fn dag(cpus: usize, deadline: i64, nodes: &[i64], edges: &[(u32, u32)]) -> System {
    let task = |(at, &wcet): (usize, &i64)| {
        let (wcet, period) = (Service::from_ns(wcet), Duration::from_ns(deadline));
        Task::implicit(format!("n{at}"), wcet, period)
    };
    let mut system = System::new(cpus, nodes.iter().enumerate().map(task).collect());
    for &(from, to) in edges {
        let follows = system.tasks[TaskId(to)].follows.iter().copied().chain([TaskId(from)]);
        system.tasks[TaskId(to)].follows = follows.collect();
    }
    assert_eq!(system.validate(), []);
    system
}

const FORK: [(u32, u32); 6] = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)];

/// C = 12, L = 6, D = 8: the formula needs ceil(6 / 2) CPUs, and the order of the nodes needs one less.
#[test]
fn the_order_of_nodes_saves_a_cpu() {
    let fork = dag(4, 8, &[1, 4, 3, 3, 1], &FORK);
    for (kind, cpus) in [("li", 3), ("graham", 3), ("order", 2), ("order-chains", 2)] {
        let policy = build(&spec(kind), &fork);
        assert_eq!(cpus_of(&*policy, 5), vec![(0..cpus).collect::<Vec<u32>>(); 5], "{kind}");
    }
    // The schedule on two CPUs takes all of the deadline, which equals its bound.
    let order = spec("order");
    let trace = run(&fork, build(&order, &fork), &SimOptions::until(Time::from_ns(8)));
    let last = finished(&trace).into_iter().map(|job| job.finish).max();
    assert_eq!(last, Some(8));
    let found = assess(registry(), &order, &fork, &AssessOptions::of_every_test()).unwrap();
    assert_eq!(found.decided_by, Some("FEDERATED"));
    for bound in found.bounds.values() {
        let Bound::Response { within, .. } = bound else { panic!("{bound:?}") };
        assert_eq!(*within, Duration::from_ns(8));
    }
}

/// C - L = 7, D - L = 3: with whole times two CPUs suffice, but the formula needs three.
#[test]
fn whole_times_save_a_cpu() {
    let wide = dag(4, 7, &[1, 3, 3, 3, 1], &[(0, 1), (0, 2), (0, 3), (0, 4)]);
    let cpus = |kind| cpus_of(&*build(&spec(kind), &wide), 5)[0].len();
    assert_eq!((cpus("li"), cpus("graham")), (3, 2));
}

/// The definition without shortcuts.
mod slow {
    use super::*;

    fn length(system: &System, of: TaskId) -> i64 {
        let before = system.tasks[of].follows.iter().map(|&id| length(system, id)).max();
        system.tasks[of].own_wcet().ns() + before.unwrap_or(0)
    }

    /// Returns the tasks that are connected with each task, itself included, grown until nothing changes.
    fn graphs(system: &System) -> Vec<Vec<TaskId>> {
        let mut graphs: Vec<Vec<TaskId>> = Vec::new();
        for id in system.tasks.ids() {
            let mut graph = vec![id];
            loop {
                let is_next = |other: &TaskId| {
                    let follows = |a: &TaskId, b: &TaskId| system.tasks[*a].follows.contains(b);
                    !graph.contains(other)
                        && graph.iter().any(|node| follows(node, other) || follows(other, node))
                };
                let Some(next) = system.tasks.ids().find(is_next) else { break };
                graph.push(next);
            }
            graph.sort();
            if graph[0] == id {
                graphs.push(graph);
            }
        }
        graphs
    }

    /// Returns the CPUs of each task by the formula of the paper, or by Graham's bound in whole times.
    pub(super) fn cpus(system: &System, by_formula: bool) -> Option<Vec<Vec<u32>>> {
        let mut of = vec![Vec::new(); system.tasks.len()];
        let m = system.platform.cpu_count() as u32;
        let graphs = graphs(system);
        let numbers = |graph: &[TaskId]| {
            let work: i64 = graph.iter().map(|&id| system.tasks[id].own_wcet().ns()).sum();
            let longest = graph.iter().map(|&id| length(system, id)).max().unwrap();
            (work, longest, system.tasks[graph[0]].deadline.ns())
        };
        let mut next = 0;
        for graph in &graphs {
            let (c, l, d) = numbers(graph);
            if c <= d {
                continue;
            }
            let suffices = |n: u32| {
                let n = i64::from(n);
                if by_formula { d > l && n * (d - l) >= c - l } else { l + (c - l) / n <= d }
            };
            let count = (1..=m - next).find(|&n| suffices(n))?;
            for id in graph {
                of[id.0 as usize] = (next..next + count).collect();
            }
            next += count;
        }
        let mut light: Vec<&Vec<TaskId>> =
            graphs.iter().filter(|graph| numbers(graph).0 <= numbers(graph).2).collect();
        let mut sums = vec![(0i128, 1i128); m as usize];
        while !light.is_empty() {
            let is_denser = |a: &[TaskId], b: &[TaskId]| {
                let ((c_a, _, d_a), (c_b, _, d_b)) = (numbers(a), numbers(b));
                c_a * d_b > c_b * d_a
            };
            let first =
                (1..light.len()).fold(0, |a, b| if is_denser(light[b], light[a]) { b } else { a });
            let graph = light.remove(first);
            let (c, _, d) = numbers(graph);
            let with =
                |(p, q): (i128, i128)| (p * i128::from(d) + q * i128::from(c), q * i128::from(d));
            let cpu = (next..m).find(|&cpu| {
                let (p, q) = with(sums[cpu as usize]);
                p <= q
            })?;
            sums[cpu as usize] = with(sums[cpu as usize]);
            graph.iter().for_each(|id| of[id.0 as usize] = vec![cpu]);
        }
        Some(of)
    }
}

/// Draws graphs of any shape, most of them light, and forks whose work exceeds their deadline.
fn drawn() -> impl Strategy<Value = System> {
    let sets = systems(2..7, 9, 15..80, Deadlines::Implicit);
    let any_shape = (sets, any::<(u64, u64)>()).prop_map(|(system, (edges, deadlines))| {
        with_one_deadline(with_edges(system, edges), deadlines)
    });
    prop_oneof![1 => any_shape, 3 => any::<u64>().prop_map(forks)]
}

/// Draws one to three forks of up to six tasks behind a first one, each with a deadline between its
/// longest path and its total work, and up to two single tasks, on two to ten CPUs.
fn forks(seed: u64) -> System {
    let random = &mut Random::of_task(seed, 3);
    let mut tasks: Vec<Task> = Vec::new();
    let mut add = |name: String, wcet: i64, deadline: i64, period: i64, rank: i64| {
        let task = Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period));
        tasks.push(Task { deadline: Duration::from_ns(deadline), rank, ..task });
        tasks.len() as u32 - 1
    };
    let mut edges = Vec::new();
    for fork in 0..random.between(1, 3) {
        let wcets: Vec<i64> = (0..random.between(2, 7)).map(|_| random.between(1, 6)).collect();
        let longest = wcets[0] + wcets[1..].iter().max().copied().unwrap_or(0);
        let deadline = random.between(longest, wcets.iter().sum());
        let period = deadline + random.between(0, 6);
        let mut first = None;
        for (at, &wcet) in wcets.iter().enumerate() {
            let id = add(format!("{fork}.{at}"), wcet, deadline, period, random.between(0, 3));
            edges.push((*first.get_or_insert(id), id));
        }
    }
    for alone in 0..random.between(0, 2) {
        let deadline = random.between(6, 12);
        add(format!("alone{alone}"), random.between(1, 6), deadline, deadline, 0);
    }
    let mut system = System::new(random.between(2, 10) as usize, tasks);
    for (from, to) in edges.into_iter().filter(|(from, to)| from != to) {
        system.tasks[TaskId(to)].follows = [TaskId(from)].into();
    }
    system
}

#[test]
fn graphs_get_the_cpus_that_the_definition_gives_them() {
    let heavy = std::cell::Cell::new(0);
    on_random(600, 150, drawn(), |system| {
        let mut placed = false;
        for (kind, by_formula) in [("li", true), ("graham", false)] {
            let policy = registry().build(&spec(kind), &system).ok();
            let ours = policy.map(|policy| cpus_of(&*policy, system.tasks.len()));
            let slow = slow::cpus(&system, by_formula);
            prop_assert_eq!(&ours, &slow, "{} {:#?}", kind, system);
            placed |= slow.is_some();
            let of = slow.unwrap_or_default();
            heavy.set(heavy.get() + u32::from(of.iter().any(|cpus| cpus.len() > 1)));
        }
        Ok(placed)
    });
    assert!(heavy.get() > 40, "{}", heavy.get());
}

#[test]
fn schedules_are_those_of_the_tick_simulator() {
    on_random(300, 60, drawn(), |system| {
        let mut waited = false;
        for kind in ["li", "graham", "order-chains"] {
            let spec = spec(kind);
            let Ok(policy) = registry().build(&spec, &system) else { continue };
            let rule = policy.rule();
            let trace = run_repeated(&system, policy, &SimOptions::until(HORIZON));
            prop_assert_eq!(violations(&spec, &trace, &system), "");
            let ours: Vec<_> =
                finished(&trace).into_iter().filter(|job| job.finish <= HORIZON.ns()).collect();
            let slow = ticks::simulate(&system, &rule, Order::Deadline, HORIZON);
            prop_assert_eq!(&ours, &slow, "{} {:#?}", spec, system);
            waited |= trace.jobs.iter().any(|record| record.job.release > record.job.arrival);
        }
        Ok(waited)
    });
}

/// The allocations of the vectors in which every node has work, as a task must.
#[test]
fn the_policy_gives_what_the_vectors_say() {
    let path = Path::new(crate::VECTORS).join("precedence/dag-analysis.json");
    let vectors: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut given = 0;
    for vector in &vectors {
        let mut tasks: Vec<Task> = Vec::new();
        let mut firsts = Vec::new();
        let mut is_known = true;
        for described in vector["tasks"].as_array().unwrap() {
            let first = tasks.len() as u32;
            firsts.push(tasks.len());
            let length = |key: &str| Duration::from_ns(described[key].as_i64().unwrap());
            let nodes = described["nodes"].as_array().unwrap();
            for (node, work) in nodes.iter().enumerate() {
                let wcet = work.as_i64().unwrap();
                is_known &= wcet > 0 && length("deadline") <= length("period");
                let name = format!("{first}.{node}");
                let mut task = Task::implicit(name, Service::from_ns(wcet), length("period"));
                task.deadline = length("deadline");
                task.rank = described["rank"][node].as_i64().unwrap();
                tasks.push(task);
            }
            for edge in described["edges"].as_array().unwrap() {
                let end = |at: usize| first + edge[at].as_u64().unwrap() as u32;
                let task = &mut tasks[end(1) as usize];
                task.follows = task.follows.iter().copied().chain([TaskId(end(0))]).collect();
            }
        }
        let mut system = System::new(vector["cpus"].as_u64().unwrap() as usize, tasks);
        // Here nodes without predecessors and successors are separate graphs.
        is_known &= layland_offline::graph::all(&system).len() == firsts.len();
        if !is_known {
            continue;
        }
        system.tasks.values_mut().for_each(|task| task.priority = Some(1));
        for kind in KINDS {
            let expected = &vector["expected"]["federated"][kind];
            match registry().build(&spec(kind), &system) {
                Ok(policy) => {
                    let of = cpus_of(&*policy, system.tasks.len());
                    let found: Vec<_> = firsts.iter().map(|&first| &of[first]).collect();
                    assert_eq!(json!({ "ok": true, "cpus": found }), *expected, "{kind}: {vector}");
                    given += 1;
                }
                Err(error) => {
                    assert_eq!(expected["ok"], json!(false), "{kind}: {error}: {vector}");
                    let first = firsts[expected["task"].as_u64().unwrap() as usize];
                    let name = &system.tasks[TaskId(first as u32)].name;
                    assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
                }
            }
        }
    }
    // Five of the ten vectors, with each kind. In the others, some nodes have no work or are not connected.
    assert_eq!((given, vectors.len()), (5 * KINDS.len(), 10));
}

#[test]
fn nobody_joins_and_nothing_changes() {
    let fork = dag(3, 8, &[1, 4, 3, 3, 1], &FORK);
    let mut policy = build("federated", &fork);
    let answer = |policy: &mut Box<dyn Policy>, event: Event| {
        policy.on_event(Time::ZERO, event);
        let mut actions = Vec::new();
        policy.decide(Time::ZERO, &mut actions);
        actions.into_iter().find_map(|action| match action {
            Action::Refuse { reason, .. } => Some((reason.kind, reason.reason)),
            _ => None,
        })
    };
    let request = RequestId(1);
    let other = Task::implicit("other", Service::from_ns(1), Duration::from_ns(8));
    let parameters = std::sync::Arc::new(other);
    let join = Event::Join { task: TaskId(9), parameters, request };
    let fixed = "federated decides before the start which tasks get which CPUs";
    let refused = |reason: &str| Some((RefusalKind::NotPermitted, reason.to_owned()));
    assert_eq!(answer(&mut policy, join), refused(fixed));
    let change = |change| Event::Reconfigure { task: TaskId(2), change, request };
    let (wcet, period) = (Service::from_ns(1), Duration::from_ns(9));
    let parameters = Change::Parameters { wcet, period, deadline: period };
    assert_eq!(answer(&mut policy, change(parameters)), refused(fixed));
    let all: CpuSet = (0..3).map(CpuId).collect();
    assert_eq!(answer(&mut policy, change(Change::Affinity(all))), None);
    let one = CpuSet::single(CpuId(1));
    let tied = "federated runs a task on the CPUs that it was given before the start";
    assert_eq!(answer(&mut policy, change(Change::Affinity(one.clone()))), refused(tied));
    let moved = answer(&mut policy, change(Change::Cluster(0)));
    assert_eq!(moved, refused("federated has no clusters to move between"));
    let set = Event::SetClusterCpus { cluster: 0, cpus: one, request };
    assert_eq!(
        answer(&mut policy, set),
        refused("federated assigned every task to a CPU before the start")
    );
}
