//! Findings and refusals of tests for systems whose jobs lock and suspend themselves.

use layland_analysis::{Assumption, Reason, Subject, TestKind, Verdict, catalogue};
use layland_model::{
    Algorithm, CpuId, CpuSet, Duration, Resource, ResourceId, Service, Step, System, SystemPart,
    Task, TaskId,
};

const A: ResourceId = ResourceId(0);
const B: ResourceId = ResourceId(1);

fn run(ns: i64) -> Step {
    Step::Run(Service::from_ns(ns))
}
fn sleep(ns: i64) -> Step {
    Step::Suspend(Duration::from_ns(ns))
}

/// Two tasks on these CPUs with these steps, in the order of their priorities, and the resources `a` and `b`.
fn system(cpus: [u32; 2], steps: [&[Step]; 2]) -> System {
    let task = |at: usize| {
        let length = |step: &Step| match step {
            Step::Run(length) => length.ns(),
            Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => 0,
        };
        let c = Service::from_ns(steps[at].iter().map(length).sum());
        let mut task = Task::implicit(["high", "low"][at], c, Duration::from_ns(100));
        task.steps = Some(steps[at].into());
        task.affinity = Some(CpuSet::single(CpuId(cpus[at])));
        task.priority = Some(at as i64);
        task
    };
    let mut system = System::new(2, vec![task(0), task(1)]);
    let home = |cpu| Some(CpuId(cpu));
    system.resources = [("a", home(cpus[0])), ("b", home(cpus[1]))]
        .map(|(name, home)| Resource { name: name.to_owned(), home })
        .to_vec();
    assert_eq!(system.validate(), []);
    system
}

/// Returns true if a test is about locks.
fn is_about_locks(subject: Subject) -> bool {
    subject.algorithms().iter().any(|algorithm| matches!(algorithm, Algorithm::Locking(..)))
}

/// Returns true if the test with this name is about threads that suspend themselves and lock
/// nothing, under any priorities.
fn is_about_suspension(name: &str) -> bool {
    name == "SUSP-LEVEL"
}

#[test]
fn whoever_knows_nothing_of_steps_refuses_them() {
    let held = system([0, 0], [&[Step::Lock(A), run(1), Step::Unlock(A)], &[run(1)]]);
    let sleeps = system([0, 0], [&[run(1)], &[run(1), sleep(3)]]);
    for (system, locks, message) in [
        (held, true, "task `high` locks `a`"),
        (sleeps, false, "task `low` suspends itself for 3 ns"),
    ] {
        let knows = |subject, name| is_about_locks(subject) || !locks && is_about_suspension(name);
        for test in catalogue::TESTS.iter() {
            match test.run(&system) {
                Ok(_) => assert!(
                    knows(test.subject, test.name) || test.kind == TestKind::Necessary,
                    "{} says something",
                    test.name
                ),
                Err(refusal) if refusal.assumption == Assumption::OnlyExecutes => {
                    assert_eq!(refusal.to_string(), message, "{}", test.name);
                    assert!(matches!(refusal.part, SystemPart::Step(..)));
                    assert!(!knows(test.subject, test.name), "{}", test.name);
                }
                // Another assumption is broken first, or the test is about only one of the two.
                Err(_) => {}
            }
        }
        for bound in catalogue::BOUNDS {
            assert!(bound.run(&system).is_err(), "{}", bound.name);
        }
        for responses in catalogue::RESPONSES.iter() {
            let subject = Subject::Algorithms(responses.algorithms);
            let refuses = || responses.run(&system).is_err();
            assert!(knows(subject, responses.name) || refuses(), "{}", responses.name);
        }
    }
    let executes = system([0, 0], [&[run(1)], &[run(1), sleep(0)]]);
    assert_eq!(catalogue::test("RTA").unwrap().run(&executes).unwrap().verdict, Verdict::Yes);
}

#[test]
fn each_assumption_about_steps_names_the_step() {
    let a = [Step::Lock(A), run(1), Step::Unlock(A)];
    let nested = [Step::Lock(A), Step::Lock(B), run(1), Step::Unlock(B), Step::Unlock(A)];
    let other_way = [Step::Lock(B), Step::Lock(A), run(1), Step::Unlock(A), Step::Unlock(B)];
    let asleep = [Step::Lock(A), run(1), sleep(2), Step::Unlock(A)];
    let mut homeless = system([0, 1], [&a, &a]);
    homeless.resources[0].home = None;
    for (assumption, system, step, message) in [
        (Assumption::NoSections, system([0, 0], [&a, &a]), (0, 0), "task `high` locks `a`"),
        (
            Assumption::NoSuspension,
            system([0, 0], [&a, &asleep]),
            (1, 2),
            "task `low` suspends itself for 2 ns",
        ),
        (
            Assumption::SuspendedOutside,
            system([0, 0], [&asleep, &a]),
            (0, 2),
            "task `high` suspends itself while it holds `a`",
        ),
        (
            Assumption::LocalResources,
            system([0, 1], [&a, &a]),
            (0, 0),
            "task `high` locks `a`, which tasks on other CPUs use, too",
        ),
        (
            Assumption::Flat,
            system([0, 0], [&a, &nested]),
            (1, 1),
            "task `low` locks `b` while it holds `a`",
        ),
        (
            Assumption::OrderedNesting,
            system([0, 0], [&nested, &other_way]),
            (0, 1),
            "task `high` locks `b` while it holds `a`, and elsewhere it is the other way round",
        ),
        (
            Assumption::NestedLocally,
            system([0, 1], [&a, &nested]),
            (1, 1),
            "task `low` locks `b` while it holds `a`, and tasks on several CPUs use one of them",
        ),
        (Assumption::Homes, homeless, (0, 0), "task `high` locks `a`, which has no home"),
        (
            Assumption::Homes,
            system([0, 1], [&nested, &[run(1)]]),
            (0, 1),
            "task `high` locks `b` while it holds `a`, and the home of `b` is another CPU",
        ),
    ] {
        let refusal = assumption.check(&system).unwrap_err();
        assert_eq!(refusal.to_string(), message);
        assert_eq!(refusal.part, SystemPart::Step(TaskId(step.0), step.1), "{message}");
        assert!(!refusal.help.is_empty());
    }
    // A system that keeps each of these assumptions.
    let fine = system([0, 0], [&[sleep(1), Step::Lock(A), run(1), Step::Unlock(A)], &nested]);
    for assumption in [
        Assumption::SuspendedOutside,
        Assumption::LocalResources,
        Assumption::OrderedNesting,
        Assumption::NestedLocally,
        Assumption::Homes,
    ] {
        assert_eq!(assumption.check(&fine), Ok(()), "{assumption}");
    }
}

/// A cycle over three resources, no two of which are locked in both orders.
#[test]
fn a_longer_cycle_of_nested_resources_is_found() {
    let c = ResourceId(2);
    let within = |outer, inner| {
        [Step::Lock(outer), Step::Lock(inner), run(1), Step::Unlock(inner), Step::Unlock(outer)]
    };
    let low = [within(B, c), within(c, A)].concat();
    let mut cyclic = system([0, 0], [&within(A, B), &[run(1)]]);
    cyclic.resources.push(Resource { name: "c".to_owned(), home: None });
    cyclic.tasks[TaskId(1)].steps = Some(low.into());
    cyclic.tasks[TaskId(1)].wcet = vec![Service::from_ns(2)].into();
    assert_eq!(cyclic.validate(), []);
    assert!(Assumption::OrderedNesting.check(&cyclic).is_err());
    cyclic.tasks[TaskId(1)].steps = Some([within(B, c), within(A, c)].concat().into());
    assert_eq!(Assumption::OrderedNesting.check(&cyclic), Ok(()));
}

#[test]
fn plain_locks_have_no_bound_where_somebody_waits_below() {
    let a = [Step::Lock(A), run(4), Step::Unlock(A)];
    let shared = system([0, 0], [&a, &a]);
    let test = catalogue::test("LOCK-RTA").unwrap();
    let finding = test.run(&shared).unwrap();
    assert_eq!(finding.verdict, Verdict::Unknown);
    let lines: Vec<String> = finding.reasons.iter().map(|r| r.describe(&shared)).collect();
    assert_eq!(
        lines,
        [
            "no bound could be found for the tardiness of `high`",
            "jobs that come while it waits for a lock delay it, as many as there are"
        ]
    );
    assert_eq!(catalogue::test("PIP-RTA").unwrap().run(&shared).unwrap().verdict, Verdict::Yes);
    // In a deadlock the last task does not complete, either, although no task is below it.
    let nested = [Step::Lock(A), Step::Lock(B), run(1), Step::Unlock(B), Step::Unlock(A)];
    let other_way = [Step::Lock(B), Step::Lock(A), run(1), Step::Unlock(A), Step::Unlock(B)];
    let refusal = test.run(&system([0, 0], [&nested, &other_way])).unwrap_err();
    assert_eq!(refusal.assumption, Assumption::OrderedNesting);
    // On two CPUs no task waits, as each has its own resource.
    let b = [Step::Lock(B), run(4), Step::Unlock(B)];
    let apart = system([0, 1], [&a, &b]);
    assert_eq!(test.run(&apart).unwrap().verdict, Verdict::Yes);
}

/// The first set for which suspension as jitter of its own length was found to be unsafe: a
/// schedule reaches 22.
#[test]
fn what_is_wrong_is_not_offered() {
    let mut system = system([0, 0], [&[run(1)], &[run(1)]]);
    let mut task = |at: u32, c: i64, s: i64, t: i64, d: i64| {
        let task = &mut system.tasks[TaskId(at)];
        task.wcet = vec![Service::from_ns(c)].into();
        task.steps = Some([sleep(s), run(c)].into());
        (task.period, task.deadline) = (Duration::from_ns(t), Duration::from_ns(d));
        task.clone()
    };
    let (_, mut middle) = (task(0, 1, 0, 2, 2), task(1, 5, 5, 20, 20));
    let mut last = task(1, 1, 0, 50, 21);
    (middle.priority, last.priority, last.name) = (Some(1), Some(2), "last".into());
    system.tasks = vec![system.tasks[TaskId(0)].clone(), middle, last].into();
    let unsound = catalogue::test("SUSP-JITTER-S").unwrap();
    assert!(matches!(unsound.subject, Subject::Unsound(..)));
    assert_eq!(unsound.run(&system).unwrap().verdict, Verdict::Yes);
    assert!(catalogue::RESPONSES.iter().all(|responses| responses.name != unsound.name));
    for name in ["SUSP-OBL", "SUSP-JITTER-D", "SUSP-JITTER-R", "SUSP-BLOCK", "SUSP-UNIFIED"] {
        let finding = catalogue::test(name).unwrap().run(&system).unwrap();
        assert_eq!(finding.verdict, Verdict::Unknown, "{name}");
        let is_shown = |reason: &Reason| match reason {
            Reason::Compared(comparison) => !comparison.holds,
            _ => false,
        };
        assert!(finding.reasons.iter().any(is_shown), "{name}: {:?}", finding.reasons);
    }
}

/// Equal keys go to the smaller rank, so base priorities are distinct across CPUs, too.
#[test]
fn orders_give_distinct_priorities() {
    use layland_analysis::locking::lockers;
    use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
    let mut system = system([0, 1], [&[run(1)], &[run(1)]]);
    let order = |system: &System| {
        let tasks = lockers(system, PriorityOrder::RateMonotonic);
        tasks.iter().map(|task| task.id.0).collect::<Vec<u32>>()
    };
    assert_eq!(order(&system), [0, 1]);
    system.tasks[TaskId(1)].rank = -1;
    assert_eq!(order(&system), [1, 0]);
    for name in ["MPCP-RM", "MPCP-DM", "FMLP+-RM", "DPCP-DM", "MSRP-HOLISTIC-RM", "PCP-RTA-DM"] {
        let verdict = catalogue::test(name).unwrap().run(&system).unwrap().verdict;
        assert_eq!(verdict, Verdict::Yes, "{name}");
    }
}
