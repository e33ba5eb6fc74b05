//! Findings and refusals of tests for tasks that follow others.

use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::{Assumption, TestKind, Verdict, catalogue, graph};
use layland_model::{CpuId, CpuSet, Duration, Service, System, Task, TaskId};

/// A fork and join of five tasks with period and deadline 8 on these CPUs.
fn fork_join(cpus: usize) -> System {
    let task = |(node, c): (usize, i64)| Task {
        priority: Some(1),
        ..Task::implicit(format!("node{node}"), Service::from_ns(c), Duration::from_ns(8))
    };
    let tasks = [1, 4, 3, 3, 1].into_iter().enumerate().map(task).collect();
    let mut system = System::new(cpus, tasks);
    (1..4).for_each(|node| system.tasks[TaskId(node)].follows = [TaskId(0)].into());
    system.tasks[TaskId(4)].follows = [1, 2, 3].map(TaskId).into();
    assert_eq!(system.validate(), []);
    system
}

#[test]
fn whoever_knows_nothing_of_graphs_refuses_them() {
    let system = fork_join(3);
    let mut answers = 0;
    for test in catalogue::TESTS.iter() {
        match test.run(&system) {
            Ok(_) => {
                let about = [Assumption::Graphs, Assumption::GraphsTogether];
                let is_about_graphs = about.iter().any(|one| test.assumptions.contains(one));
                assert!(is_about_graphs || test.kind == TestKind::Necessary, "{}", test.name);
                answers += u32::from(is_about_graphs);
            }
            Err(refusal) => assert_ne!(refusal.assumption, Assumption::Graphs, "{}", test.name),
        }
    }
    // The four tests for shared CPUs, and FEDERATED.
    assert_eq!(answers, 5);
    assert!(catalogue::BOUNDS.iter().all(|bound| bound.run(&system).is_err()));
    let answering = catalogue::RESPONSES.iter().filter(|bound| bound.run(&system).is_ok());
    assert_eq!(answering.count(), 5);
}

#[test]
fn the_bound_of_a_task_is_that_of_its_graph() {
    for (cpus, verdict, bound) in [(3, Verdict::Yes, Some(8)), (2, Verdict::Unknown, None)] {
        let system = fork_join(cpus);
        for (test, responses) in [
            (graph::EDF, graph::EDF_RESPONSES),
            (
                graph::FIXED.under(PriorityOrder::Given),
                graph::FIXED.responses_under(PriorityOrder::Given).unwrap(),
            ),
        ] {
            assert_eq!(test.run(&system).unwrap().verdict, verdict, "{} on {cpus}", test.name);
            for found in responses.run(&system).unwrap().values() {
                let found = found.as_ref().map(|bound| bound.response.ns());
                assert_eq!(found, bound, "{} on {cpus}", test.name);
            }
        }
    }
}

#[test]
fn graphs_of_one_priority_or_of_several_are_refused() {
    let mut system = fork_join(3);
    let refusal =
        |system: &System| graph::FIXED.under(PriorityOrder::Given).run(system).unwrap_err();
    system.tasks[TaskId(2)].priority = Some(2);
    assert_eq!(
        refusal(&system).message,
        "task `node2` has another priority than `node0` of its graph"
    );
    system.tasks[TaskId(2)].priority = Some(1);
    let mut tasks: Vec<Task> = system.tasks.values().cloned().collect();
    tasks.push(Task {
        priority: Some(1),
        ..Task::implicit("other", Service::from_ns(1), Duration::from_ns(8))
    });
    system.tasks = tasks.into();
    assert_eq!(
        refusal(&system).message,
        "task `other` has the same priority as `node0` of another graph"
    );
    assert_eq!(refusal(&system).assumption, Assumption::GraphPriorities);
    assert_eq!(
        graph::FIXED.under(PriorityOrder::RateMonotonic).run(&system).unwrap_err().assumption,
        Assumption::GraphPeriods
    );
    assert_eq!(
        graph::FIXED.under(PriorityOrder::DeadlineMonotonic).run(&system).unwrap_err().assumption,
        Assumption::GraphDeadlines
    );
    assert!(graph::EDF.run(&system).is_ok());
}

#[test]
fn a_graph_has_one_deadline() {
    let mut system = fork_join(3);
    system.tasks[TaskId(4)].deadline = Duration::from_ns(7);
    let refusal = graph::EDF.run(&system).unwrap_err();
    assert_eq!(refusal.message, "task `node4` has another deadline than `node0` of its graph");
}

#[test]
fn sets_without_followers_are_no_matter_of_these_tests() {
    let task = Task::implicit("alone", Service::from_ns(1), Duration::from_ns(8));
    let system = System::new(1, vec![task]);
    for test in [graph::EDF, graph::FEDERATED] {
        assert_eq!(test.run(&system).unwrap_err().assumption, Assumption::Graphs);
    }
    for test in [graph::QPA, graph::RTA.under(PriorityOrder::Given)] {
        assert_eq!(test.run(&system).unwrap_err().assumption, Assumption::GraphsTogether);
    }
}

/// On one CPU, the fork and join is equivalent to a task of 12 units.
#[test]
fn a_graph_on_one_cpu_takes_as_long_as_its_work() {
    let mut system = fork_join(1);
    let no = graph::QPA.run(&system).unwrap();
    assert_eq!(no.verdict, Verdict::No);
    assert!(no.reasons[0].describe(&system).contains("utilization"), "{no:?}");
    let length = Duration::from_ns(12);
    system.tasks.values_mut().for_each(|task| (task.period, task.deadline) = (length, length));
    assert_eq!(graph::QPA.run(&system).unwrap().verdict, Verdict::Yes);
    for found in graph::QPA_RESPONSES.run(&system).unwrap().values() {
        assert_eq!(found.as_ref().map(|bound| bound.response), Some(length));
    }
    // For equal priorities, the first tasks come first, and each comes behind those that it
    // follows.
    let responses = |system: &System| -> Vec<i64> {
        let found = graph::RTA.responses_under(PriorityOrder::Given).unwrap().run(system).unwrap();
        found.values().map(|bound| bound.as_ref().unwrap().response.ns()).collect()
    };
    assert_eq!(responses(&system), [1, 5, 8, 11, 12]);
    // Behind a task of lower priority, every task waits for all others.
    system.tasks[TaskId(0)].priority = Some(2);
    assert_eq!(responses(&system), [12; 5]);
    assert_eq!(graph::RTA.under(PriorityOrder::Given).run(&system).unwrap().verdict, Verdict::Yes);
}

#[test]
fn what_one_cpu_does_not_cover_is_refused() {
    let mut system = fork_join(1);
    system.tasks[TaskId(4)].deadline = Duration::from_ns(7);
    let refusal = graph::QPA.run(&system).unwrap_err();
    assert_eq!(refusal.assumption, Assumption::DeadlinesAlong);
    assert_eq!(refusal.message, "task `node4` follows `node1`, whose deadline is later");
    assert!(graph::RTA.under(PriorityOrder::Given).run(&system).is_ok());
    // The opposite order of deadlines is covered.
    system.tasks[TaskId(4)].deadline = Duration::from_ns(9);
    assert!(graph::QPA.run(&system).is_ok());
    let mut apart = fork_join(2);
    for (at, task) in apart.tasks.values_mut().enumerate() {
        task.affinity = Some(CpuSet::single(CpuId(at as u32 % 2)));
    }
    let refusal = graph::QPA.run(&apart).unwrap_err();
    assert_eq!(refusal.assumption, Assumption::GraphsTogether);
    assert_eq!(refusal.message, "task `node1` may use other CPUs than `node0` of its graph");
}
