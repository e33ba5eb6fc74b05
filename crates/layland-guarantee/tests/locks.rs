//! Guarantees for jobs that lock resources and suspend themselves.

use layland_analysis::Verdict;
use layland_guarantee::{AssessOptions, Assessment, Bound, Effort, assess, scaled};
use layland_model::{
    CpuId, CpuSet, Duration, Resource, ResourceId, Service, Step, System, Task, TaskId,
};
use layland_policy::Registry;

const A: ResourceId = ResourceId(0);
const B: ResourceId = ResourceId(1);

fn run(us: i64) -> Step {
    Step::Run(Service::from_us(us))
}

fn hold(resource: ResourceId, us: i64) -> Vec<Step> {
    vec![Step::Lock(resource), run(us), Step::Unlock(resource)]
}

/// Creates a task with a priority and a period in microseconds.
fn task(name: &str, cpu: u32, priority: i64, period: i64, steps: Vec<Step>) -> Task {
    let executed = steps.iter().map(|step| match step {
        Step::Run(length) => *length,
        Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => Service::ZERO,
    });
    let c = executed.sum();
    Task {
        priority: Some(priority),
        affinity: Some(CpuSet::single(CpuId(cpu))),
        steps: Some(steps.into()),
        ..Task::implicit(name, c, Duration::from_us(period))
    }
}

fn system(cpus: usize, tasks: Vec<Task>) -> System {
    let mut system = System::new(cpus, tasks);
    let resource = |name: &str| Resource { name: name.to_owned(), home: Some(CpuId(0)) };
    system.resources = ["a", "b"].map(resource).to_vec();
    assert_eq!(system.validate(), []);
    system
}

/// Chained blocking: the first task can wait for a section of each of the others, or with ceilings
/// for one section.
fn chained(deadline: i64) -> System {
    let mut high = task("high", 0, 0, 50, [hold(A, 1), hold(B, 1), vec![run(1)]].concat());
    high.deadline = Duration::from_us(deadline);
    let middle = task("middle", 0, 1, 50, [vec![run(1)], hold(B, 3)].concat());
    let low = task("low", 0, 2, 50, [hold(A, 4), vec![run(1)]].concat());
    system(1, vec![high, middle, low])
}

fn assessed(policy: &str, system: &System) -> Assessment {
    let options = AssessOptions { effort: Effort::Tests, ..AssessOptions::with_margin() };
    assess(&Registry::standard(), policy, system, &options).unwrap()
}

fn response(found: &Assessment, task: u32) -> Option<Duration> {
    match &found.bounds[TaskId(task)] {
        Bound::Response { within, .. } => Some(*within),
        Bound::Tardiness { .. } | Bound::Unknown => None,
    }
}

#[test]
fn the_protocol_decides_which_tests_speak() {
    let system = chained(8);
    for (policy, verdict, by) in [
        ("p-fp:locks=none", Verdict::Unknown, None),
        ("p-fp:locks=pip", Verdict::Unknown, None),
        ("p-fp:locks=pcp", Verdict::Yes, Some("PCP-RTA")),
        ("p-fp:locks=ipcp", Verdict::Yes, Some("PCP-RTA")),
        ("p-dm:locks=pcp", Verdict::Yes, Some("PCP-RTA-DM")),
        ("p-fp:locks=mpcp", Verdict::Yes, Some("MPCP")),
        ("p-fp:locks=dpcp", Verdict::Yes, Some("DPCP")),
        ("p-fp:locks=fmlp+", Verdict::Yes, Some("FMLP+")),
        ("p-fp:locks=msrp", Verdict::Yes, Some("MSRP")),
        ("p-edf:locks=srp", Verdict::Yes, Some("SRP")),
        // No bound is known.
        ("p-edf:locks=none", Verdict::Unknown, None),
        ("p-fp", Verdict::Unknown, None),
    ] {
        let found = assessed(policy, &system);
        assert_eq!(
            (found.verdict, found.decided_by),
            (verdict, by),
            "{policy}: {:?}",
            found.reasons
        );
        // Tests that assume no locks do not even run.
        let strangers = ["RTA", "RTA-DM", "QPA"];
        assert!(found.said.iter().all(|said| !strangers.contains(&said.test.name)), "{policy}");
    }
    let found = assessed("p-fp:locks=pcp", &system);
    // 3 and one section of 4; the second task is blocked by the same one.
    assert_eq!(response(&found, 0), Some(Duration::from_us(7)));
    assert_eq!(response(&found, 1), Some(Duration::from_us(11)));
    let roomy = assessed("p-fp:locks=pip", &chained(10));
    assert_eq!((roomy.verdict, response(&roomy, 0)), (Verdict::Yes, Some(Duration::from_us(10))));
}

#[test]
fn margins_scale_sections() {
    let system = chained(8);
    let margin = assessed("p-fp:locks=pcp", &system).margin.unwrap().thousandths;
    // 7 us fit 8 us 1.142 times.
    assert_eq!(margin, 1142);
    let more = scaled(&system, margin + 1);
    assert_eq!(more.validate(), []);
    assert_eq!(assessed("p-fp:locks=pcp", &more).verdict, Verdict::Unknown);
    let less = scaled(&system, margin);
    assert_eq!(less.validate(), []);
    assert_eq!(assessed("p-fp:locks=pcp", &less).verdict, Verdict::Yes);
    let held = |system: &System| system.tasks[TaskId(2)].sections()[0].length.ns();
    assert_eq!(held(&less), 4_568);
}

#[test]
fn between_cpus_the_whole_system_is_asked_about() {
    let steps = |us| [vec![run(2)], hold(A, us), vec![run(1)]].concat();
    let tasks = vec![task("x", 0, 0, 40, steps(2)), task("y", 1, 1, 40, steps(3))];
    let shared = system(2, tasks);
    for (policy, by) in [
        ("p-fp:locks=mpcp", "MPCP"),
        ("p-fp:locks=fmlp+", "FMLP+"),
        ("p-fp:locks=dpcp", "DPCP"),
        ("p-rm:locks=msrp", "MSRP-RM"),
    ] {
        let found = assessed(policy, &shared);
        assert_eq!((found.verdict, found.decided_by), (Verdict::Yes, Some(by)), "{policy}");
        // Each task waits for the section of the other once; under DPCP `y` has its section on the
        // CPU of `x`.
        let waits = Duration::from_us(8);
        assert_eq!(response(&found, 0), Some(waits), "{policy}");
    }
    // A protocol for one CPU refuses the set.
    assert!(assessed("p-fp:locks=pcp", &shared).refused.is_some());
}

#[test]
fn self_suspension_has_its_tests_under_every_protocol() {
    // `C`, `S` and `T` of Chen, Nelissen and Huang 2016.
    let sleepy = |name, priority, c, s, t| {
        task(name, 0, priority, t, vec![Step::Suspend(Duration::from_us(s)), run(c)])
    };
    let last = task("3", 0, 2, 50, vec![run(4)]);
    let suspending = system(1, vec![sleepy("1", 0, 4, 5, 10), sleepy("2", 1, 6, 1, 19), last]);
    for protocol in ["none", "pip", "pcp", "mpcp", "fmlp+"] {
        let found = assessed(&format!("p-fp:locks={protocol}"), &suspending);
        assert_eq!(found.verdict, Verdict::Yes, "{protocol}");
        assert_eq!(response(&found, 2), Some(Duration::from_us(32)), "{protocol}");
    }
    // An unsound test decides nothing.
    let found = assessed("p-fp:locks=pip", &suspending);
    assert_ne!(found.decided_by, Some("SUSP-JITTER-S"));
}

/// Where jobs only execute, every protocol is partitioned scheduling.
#[test]
fn older_tests_speak_where_jobs_only_execute() {
    let plain =
        system(1, vec![task("a", 0, 0, 40, vec![run(10)]), task("b", 0, 1, 40, vec![run(30)])]);
    for (policy, by) in [
        ("p-fp:locks=none", "RTA"),
        ("p-rm:locks=pcp", "RTA-RM"),
        ("p-edf:locks=srp", "QPA"),
        ("p-edf:locks=none", "QPA"),
    ] {
        let found = assessed(policy, &plain);
        assert_eq!((found.verdict, found.decided_by), (Verdict::Yes, Some(by)), "{policy}");
    }
}

/// No protocol can do what no scheduler can do.
#[test]
fn overload_is_ruled_out() {
    let tasks = vec![task("a", 0, 0, 40, hold(A, 30)), task("b", 0, 1, 40, hold(A, 11))];
    let found = assessed("p-edf", &system(1, tasks));
    assert_eq!((found.verdict, found.decided_by), (Verdict::No, Some("CAPACITY")));
}
