//! Graphs that are each on one CPU, under EDF and fixed priorities. No job of an accepted set takes
//! longer than its bound, a *no* is a miss of the densest run, and, where both are defined, the
//! answers are those of sequential tasks.
//!
//! The long form is `CASES=20000 cargo test -p layland-tests --test together graphs_on_one_cpu`.

use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::uniprocessor::{edf, edf_response, fixed_priority};
use layland_analysis::{Assumption, Verdict, graph};
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Index, Rate, Separation, Service, System,
    Task, TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{Counters, Trace};
use std::collections::BTreeMap;

const POLICIES: [&str; 5] = ["p-edf", "p-edf:tie=running", "p-fp", "p-rm", "p-dm"];

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(800)
}

/// The kind of deadlines in a graph.
#[derive(Clone, Copy, PartialEq)]
enum Drawn {
    /// All deadlines are equal.
    One,
    /// No task follows one with a later deadline.
    Along,
    /// Arbitrary deadlines.
    Any,
}

/// Draws two to four graphs of one to five tasks on one or two CPUs, each on one of them. Deadlines
/// are up to twice the period.
fn system(random: &mut Random, drawn: Drawn) -> System {
    let cpus = random.between(1, 2);
    let mut tasks: Vec<Task> = Vec::new();
    for graph in 0..random.between(1 + cpus, 2 + cpus) {
        let first = tasks.len();
        let period = random.between(8, 40);
        let behaviour = match random.between(0, 2) {
            0 => Behaviour::Periodic,
            most => Behaviour::Sporadic(Separation::Uniform { max: Duration::from_ns(3 * most) }),
        };
        let offset = Duration::from_ns(random.between(0, 9) * random.between(0, 1));
        let cpu = CpuSet::single(CpuId(random.between(0, cpus - 1) as u32));
        let (mut deadline, priority) =
            (random.between(period / 2, 2 * period), random.between(0, 3));
        let is_one_priority = random.between(0, 1) == 0;
        for node in 0..random.between(1, 5) as usize {
            let wcet = random.between(1, 4);
            let mut follows: Vec<TaskId> = (0..node)
                .filter(|_| random.between(0, 9) < 4)
                .map(|before| TaskId((first + before) as u32))
                .collect();
            if node > 0 && follows.is_empty() {
                follows.push(TaskId((first + node - 1) as u32));
            }
            match drawn {
                Drawn::One => {}
                Drawn::Along => deadline += random.between(0, 3),
                Drawn::Any => deadline = random.between(period / 2, 2 * period),
            }
            tasks.push(Task {
                deadline: Duration::from_ns(deadline),
                priority: Some(if is_one_priority { priority } else { random.between(0, 5) }),
                behaviour: behaviour.clone(),
                offset,
                affinity: Some(cpu.clone()),
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
    let mut system = System::new(cpus as usize, tasks);
    for task in system.tasks.values_mut() {
        task.rank = random.between(0, 4);
    }
    system
}

fn drawn(case: u64) -> (System, Drawn) {
    let random = &mut Random::of_task(case, 2);
    let drawn = [Drawn::One, Drawn::Along, Drawn::Any][random.between(0, 2) as usize];
    let system = system(random, drawn);
    assert_eq!(system.validate(), []);
    (system, drawn)
}

/// Returns the system in which no task follows another one.
fn alone(system: &System) -> System {
    let mut alone = system.clone();
    alone.tasks.values_mut().for_each(|task| task.follows = [].into());
    alone
}

#[test]
fn no_job_takes_longer_than_its_bound() {
    let mut accepted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut closest: BTreeMap<&str, i64> = BTreeMap::new();
    for case in 0..cases() {
        let (system, _) = drawn(case);
        if !system.has_followers() {
            continue;
        }
        for spec in POLICIES {
            let found = assess(registry(), spec, &system, &AssessOptions::of_every_test()).unwrap();
            if found.verdict != Verdict::Yes {
                continue;
            }
            *accepted.entry(spec).or_default() += 1;
            for seed in [case, case + 1] {
                let policy = registry().build(spec, &system).unwrap();
                let mut trace = Trace::default();
                let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(3_000)) };
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
                    let closest = closest.entry(spec).or_default();
                    *closest = (*closest).max(response.ns() * 100 / within.ns());
                }
            }
        }
    }
    let enough = cases() / 20;
    assert!(accepted.len() == POLICIES.len(), "{accepted:?}");
    assert!(accepted.values().all(|&accepted| accepted > enough), "{accepted:?}");
    // If no job came near its bound, an error could stay hidden.
    assert!(closest.values().all(|&closest| closest == 100), "{closest:?}");
}

/// The densest run misses a deadline exactly if GRAPH-QPA says *no*.
#[test]
fn the_demand_decides_about_the_densest_run() {
    let (mut yes, mut no) = (0, 0);
    for case in 0..cases() {
        let (mut system, drawn) = drawn(case);
        for task in system.tasks.values_mut() {
            (task.offset, task.behaviour) = (Duration::ZERO, Behaviour::Periodic);
            task.execution = ExecutionModel::Wcet;
        }
        let finding = match graph::QPA.run(&system) {
            Ok(finding) => finding,
            Err(refusal) if refusal.assumption == Assumption::DeadlinesAlong => {
                assert!(drawn == Drawn::Any, "case {case}: {refusal}");
                continue;
            }
            Err(refusal) => {
                assert!(!system.has_followers(), "case {case}: {refusal}");
                continue;
            }
        };
        let policy = registry().build("p-edf", &system).unwrap();
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let options = SimOptions::until(Time::from_ns(20_000));
        simulate(&system, policy, &mut counters, &options).unwrap();
        let misses = counters.total().missed > 0;
        // With a load barely above 1, it takes long until a job is late.
        let load = |cpu: u32| -> Rate {
            let only = CpuSet::single(CpuId(cpu));
            let own = system.tasks.values().filter(|task| task.affinity.as_ref() == Some(&only));
            own.map(Task::utilization).sum()
        };
        let is_barely =
            [0, 1].map(load).iter().any(|load| *load > Rate::ONE && *load < Rate::new(101, 100));
        match finding.verdict {
            Verdict::Yes => assert!(!misses, "case {case}: {system:#?}"),
            Verdict::No => assert!(misses || is_barely, "case {case}: {system:#?}"),
            Verdict::Unknown => panic!("case {case}: it is exact"),
        }
        yes += u64::from(finding.verdict == Verdict::Yes);
        no += u64::from(finding.verdict == Verdict::No);
    }
    assert!(yes > cases() / 10 && no > cases() / 10, "{yes} yes, {no} no, of {}", cases());
}

/// A graph with one deadline equals one sequential task with all of its work: it has the same
/// verdict, and the same response time for each of its nodes.
#[test]
fn a_graph_of_one_deadline_is_a_sequential_task() {
    let mut compared = 0;
    for case in 0..cases() {
        let (system, drawn) = drawn(case);
        if drawn != Drawn::One || !system.has_followers() {
            continue;
        }
        let graphs = layland_offline::graph::all(&system);
        let sequential = |graph: &layland_model::Graph| {
            let nodes = graph.tasks.iter().map(|&id| system.tasks[id].own_wcet());
            let first = &system.tasks[graph.tasks[0]];
            Task { wcet: vec![nodes.sum()].into(), follows: [].into(), ..first.clone() }
        };
        let mut merged = system.clone();
        merged.tasks = graphs.iter().map(sequential).collect();
        for task in merged.tasks.values_mut() {
            task.execution = ExecutionModel::Wcet;
        }
        let verdict = graph::QPA.run(&system).unwrap().verdict;
        assert_eq!(verdict, edf::TEST.run(&merged).unwrap().verdict, "case {case}");
        let ours = graph::QPA_RESPONSES.run(&system).unwrap();
        let slow = edf_response::RESPONSES.run(&merged).unwrap();
        for (at, graph) in graphs.iter().enumerate() {
            let whole = slow[TaskId::from_index(at)].as_ref().map(|bound| bound.response);
            for &id in &graph.tasks {
                let node = ours[id].as_ref().map(|bound| bound.response);
                assert_eq!(node, whole, "case {case}, {id}: {system:#?}");
                compared += u64::from(node.is_some() && graph.tasks.len() > 1);
            }
        }
    }
    assert!(compared > cases() / 2, "{compared}");
}

/// If every task has a lower priority than those that it follows, the precedence has no effect.
#[test]
fn edges_along_the_priorities_change_no_bound() {
    let (mut compared, mut lifted) = (0, 0);
    for case in 0..cases() {
        let (system, _) = drawn(case);
        if !system.has_followers() {
            continue;
        }
        let ours = graph::RTA.responses_under(PriorityOrder::Given).unwrap().run(&system).unwrap();
        let slow = fixed_priority::RTA
            .responses_under(PriorityOrder::Given)
            .unwrap()
            .run(&alone(&system))
            .unwrap();
        let key = |id: TaskId| (system.tasks[id].priority, system.tasks[id].rank, id);
        let is_along = (system.tasks.iter())
            .all(|(id, task)| task.follows.iter().all(|&followed| key(followed) < key(id)));
        for id in system.tasks.ids() {
            let [ours, slow] = [&ours, &slow].map(|of| of[id].as_ref().map(|b| b.response));
            if is_along {
                assert_eq!(ours, slow, "case {case}, {id}: {system:#?}");
                compared += u64::from(ours.is_some());
            }
            if let (Some(ours), Some(slow)) = (ours, slow) {
                assert!(ours >= slow, "case {case}, {id}: {system:#?}");
                lifted += u64::from(ours > slow);
            }
        }
    }
    assert!(compared > 50 && lifted > 50, "{compared} compared, {lifted} lifted");
}
