//! No job of a simulation takes longer than the bounds for graphs allow, in accepted sets.
//!
//! The long form is `CASES=20000 cargo test -p layland-tests --test together graphs_in_time`.

use layland_analysis::Verdict;
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, Duration, ExecutionModel, Separation, Service, System, Task, TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Trace;
use std::collections::BTreeMap;

const POLICIES: [&str; 11] = [
    "g-edf",
    "g-edf:tie=running",
    "g-fp",
    "g-rm",
    "g-dm",
    "c-edf",
    "federated",
    "federated:sizing=li",
    "federated:sizing=long",
    "federated:sizing=order",
    "federated:sizing=order-chains",
];

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(600)
}

/// Draws one to three graphs of one to five tasks, sporadic, periodic or with offsets, with early
/// ends, on two or three CPUs.
fn system(random: &mut Random) -> System {
    let mut tasks: Vec<Task> = Vec::new();
    let graphs = random.between(1, 3);
    for graph in 0..graphs {
        let first = tasks.len();
        // Graphs have different periods and deadlines, so that each has its own priority.
        let period = 3 * random.between(4, 14) + graph;
        let deadline = (period - 3 * random.between(0, 2)).max(2);
        let behaviour = match random.between(0, 2) {
            0 => Behaviour::Periodic,
            most => Behaviour::Sporadic(Separation::Uniform { max: Duration::from_ns(3 * most) }),
        };
        let offset = Duration::from_ns(random.between(0, 9));
        for node in 0..random.between(1, 5) as usize {
            let wcet = random.between(1, 5);
            let mut follows: Vec<TaskId> = (0..node)
                .filter(|_| random.between(0, 9) < 4)
                .map(|before| TaskId((first + before) as u32))
                .collect();
            if node > 0 && follows.is_empty() {
                follows.push(TaskId((first + node - 1) as u32));
            }
            tasks.push(Task {
                deadline: Duration::from_ns(deadline),
                priority: Some(graph),
                behaviour: behaviour.clone(),
                offset,
                execution: match random.between(0, 2) {
                    0 => ExecutionModel::Wcet,
                    least => ExecutionModel::Uniform {
                        min: Service::from_ns(wcet * (least - 1)),
                        max: Service::from_ns(wcet),
                    },
                },
                follows: follows.into(),
                ..Task::implicit(
                    format!("{graph}.{node}"),
                    Service::from_ns(wcet),
                    Duration::from_ns(period),
                )
            });
        }
    }
    let mut system = System::new(random.between(2, 3) as usize, tasks);
    // The order of the nodes of a graph is arbitrary.
    for task in system.tasks.values_mut() {
        task.rank = random.between(0, 4);
    }
    system
}

#[test]
fn no_job_of_a_graph_takes_longer_than_its_bound() {
    let mut accepted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut closest = 0i64;
    for case in 0..cases() {
        let random = &mut Random::of_task(case, 1);
        let system = system(random);
        assert_eq!(system.validate(), []);
        if !system.has_followers() {
            continue;
        }
        for spec in POLICIES {
            let found = assess(registry(), spec, &system, &AssessOptions::of_every_test()).unwrap();
            if found.verdict != Verdict::Yes {
                continue;
            }
            *accepted.entry(spec).or_default() += 1;
            let policy = registry().build(spec, &system).unwrap();
            let mut trace = Trace::default();
            let options = SimOptions { seed: case, ..SimOptions::until(Time::from_ns(2_000)) };
            simulate(&system, policy, &mut trace, &options).unwrap();
            for record in &trace.jobs {
                let Some(end) = record.completion() else { continue };
                let (task, response) = (record.job.id.task, end - record.job.arrival);
                let Bound::Response { within, .. } = &found.bounds[task] else {
                    panic!("{spec}, case {case}: {task} has no bound")
                };
                let limit = (*within).min(system.tasks[task].deadline);
                assert!(
                    response <= limit,
                    "{spec}, case {case}: {response} of {task}: {system:#?}"
                );
                closest = closest.max(response.ns() * 100 / limit.ns());
            }
        }
    }
    let enough = cases() / 30;
    assert!(accepted.len() == POLICIES.len(), "{accepted:?}");
    assert!(accepted.values().all(|&accepted| accepted > enough), "{accepted:?}");
    // If no job came near a bound, an error could stay hidden.
    assert_eq!(closest, 100);
}
