//! The policies with affinities, decision by decision and on whole systems: compared with the
//! definitions, with brute force, with slow twins, and with the independent checker.

use layland_checker::check;
use layland_model::{Change, CpuId, CpuSet, Request, RequestKind, System, TaskId, Time};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_testkit::affinity::drive::{Driver, check_decisions};
use layland_testkit::differential::{ORDERS, ends, sets_of_cpus, with_affinities};
use layland_testkit::registry;
use layland_testkit::strategies::periodic_system;
use layland_trace::Trace;
use proptest::prelude::*;

/// The short form of `cargo run --release -p layland-testkit -- affinity-decisions`, which checks
/// 100,000 decisions.
#[test]
fn every_decision_is_that_of_the_definitions() {
    let report = check_decisions(3_000, 1).unwrap_or_else(|what| panic!("{what}"));
    assert!(report.laminar >= 1_500 && report.any >= 700, "{report:?}");
    // Otherwise the decisions would not distinguish weak from strong scheduling.
    assert!(report.weak_differs > 0, "{report:?}");
}

#[test]
fn masks_that_overlap_are_refused_with_both_tasks() {
    let masks = ["0", "0-1", "1-2"].map(|cpus| cpus.parse::<CpuSet>().unwrap());
    let error = Driver::new("hpa-edf", 3, &masks).err().expect("it is refused");
    assert_eq!(
        error.to_string(),
        "task `t1` may run on CPUs 0-1 and task `t2` on CPUs 1-2: hpa-edf needs affinities that are \
         nested or disjoint; use strong-edf, which takes any"
    );
    assert!(Driver::new("strong-edf", 3, &masks).is_ok());
}

const HORIZON: Time = Time::from_ns(120);

fn run<P: Policy>(system: &System, policy: P) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(HORIZON)).expect("it is in range");
    trace
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn policies_do_what_their_twins_do_while_masks_and_cpus_change(
        system in periodic_system(),
        seed in any::<u64>(),
        laminar in any::<bool>(),
        requests in prop::collection::vec((0i64..100, any::<u32>(), 0u8..8), 0..6),
    ) {
        let system = with_affinities(system, seed, laminar, &requests);
        sets_of_cpus(&system, laminar).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn strong_and_hierarchical_scheduling_run_the_same_jobs(
        system in periodic_system(),
        seed in any::<u64>(),
    ) {
        let system = with_affinities(system, seed, true, &[]);
        for (order, _) in ORDERS {
            let runs = ["strong-", "hpa-"].map(|name| {
                run(&system, registry().build(&format!("{name}{order}"), &system).unwrap())
            });
            prop_assert_eq!(ends(&runs[0]), ends(&runs[1]), "{}", order);
        }
    }
}

#[test]
fn more_than_64_cpus_are_no_different() {
    // The same system on CPUs 0 to 3 and, within a larger machine, on CPUs 70 to 73.
    let small = with_affinities(System::new(4, many_tasks()), 5, true, &[]);
    let mut large = System::new(130, many_tasks());
    for (task, original) in large.tasks.values_mut().zip(small.tasks.values()) {
        let mask = original.affinity.as_ref().expect("it has one");
        task.affinity = Some(mask.iter().map(|cpu| CpuId(cpu.0 + 70)).collect());
    }
    for name in ["weak-edf", "strong-rm", "hpa-edf", "hpa-edf:assign=plain"] {
        let of = |system: &System, shift: u32| {
            let trace = run(system, registry().build(name, system).unwrap());
            let segments = trace.segments.iter();
            let moved: Vec<_> =
                segments.map(|s| (s.job, s.cpu.0 - shift, s.start, s.end)).collect();
            assert!(moved.len() > 40);
            moved
        };
        assert_eq!(of(&small, 0), of(&large, 70), "{name}");
    }
}

fn many_tasks() -> Vec<layland_model::Task> {
    use layland_model::{Duration, Service, Task};
    let task = |index: i64| {
        let (wcet, period) = (1 + index % 4, 5 + 3 * (index % 5));
        Task::implicit(format!("t{index}"), Service::from_ns(wcet), Duration::from_ns(period))
    };
    (0..12).map(task).collect()
}

#[test]
fn requests_that_break_the_hierarchy_are_refused_and_clusters_change() {
    let mut system = System::new(4, many_tasks());
    let set = |cpus: &str| cpus.parse::<CpuSet>().unwrap();
    system.platform.clusters = vec![set("0-1"), set("2")];
    for (index, task) in system.tasks.values_mut().enumerate() {
        task.cluster = index % 2;
        task.affinity = (index == 0).then(|| set("0"));
    }
    let asks = [
        (10, RequestKind::SetClusterCpus { cluster: 1, cpus: set("2-3") }, true),
        (20, RequestKind::SetClusterCpus { cluster: 1, cpus: set("1-3") }, false),
        (30, RequestKind::Reconfigure(TaskId(1), Change::Affinity(set("3"))), true),
        (40, RequestKind::Reconfigure(TaskId(3), Change::Cluster(0)), true),
        (50, RequestKind::CpuOffline(CpuId(3)), true),
        (60, RequestKind::SetClusterCpus { cluster: 0, cpus: set("1") }, true),
        (70, RequestKind::CpuOnline(CpuId(3)), true),
    ];
    system.requests = asks
        .iter()
        .map(|(at, kind, _)| Request { at: Time::from_ns(*at), kind: kind.clone() })
        .collect();
    assert_eq!(system.validate(), []);
    for name in ["weak-edf", "strong-rm", "hpa-edf", "hpa-dm:assign=plain"] {
        let policy = registry().build(name, &system).unwrap();
        let rule = policy.rule();
        let trace = run(&system, policy);
        let report = check(&trace, &system, &rule, 3);
        assert!(report.is_clean(), "{name}: {report}");
        let granted: Vec<bool> = trace.answers.iter().map(|a| a.refused.is_none()).collect();
        assert_eq!(granted, asks.each_ref().map(|(.., granted)| *granted), "{name}");
    }

    let mut system = System::new(3, many_tasks());
    system.tasks[TaskId(0)].affinity = Some(set("0-1"));
    let change = Change::Affinity(set("1-2"));
    system.requests =
        vec![Request { at: Time::from_ns(9), kind: RequestKind::Reconfigure(TaskId(4), change) }];
    let trace = run(&system, registry().build("hpa-edf", &system).unwrap());
    let refused = trace.answers[0].refused.as_deref().expect("it is refused");
    assert!(
        refused.starts_with("task `t4` may run on CPUs 1-2 and task `t0` on CPUs 0-1: hpa-edf")
    );
    assert!(
        run(&system, registry().build("weak-edf", &system).unwrap()).answers[0].refused.is_none()
    );
}
