//! The order of two jobs with equal deadlines: `tie=rank` and `tie=running`. `differential`
//! compares random systems with slow twins under both.

use layland_analysis::TestKind;
use layland_checker::check;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{Duration, ExecutionModel, Service, System, Task, TaskId, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Trace;

/// `late` arrives while `early` runs, is due with it at 10, and has the smaller rank.
fn two_due_at_once() -> System {
    let ms = |ms| Duration::from_ms(ms);
    let mut late = Task::implicit("late", Service::from_ms(2), ms(8));
    late.offset = ms(2);
    let mut early = Task::implicit("early", Service::from_ms(4), ms(10));
    early.rank = 1;
    System::new(1, vec![late, early])
}

fn run(system: &System, spec: &str) -> Trace {
    let policy = registry().build(spec, system).unwrap();
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ms(10))).unwrap();
    trace
}

fn follows(trace: &Trace, system: &System, spec: &str) -> bool {
    let rule = registry().build(spec, system).unwrap().rule();
    check(trace, system, &rule, 5).is_clean()
}

#[test]
fn a_running_job_keeps_its_cpu_or_gives_way() {
    let system = two_due_at_once();
    for policy in ["g-edf", "c-edf", "p-edf"] {
        let (by_rank, running) = (policy.to_owned(), format!("{policy}:tie=running"));
        let first_end = |trace: &Trace| {
            let early = trace.segments.iter().find(|segment| segment.job.task == TaskId(1));
            early.expect("it runs").end
        };
        let traces = [run(&system, &by_rank), run(&system, &running)];
        assert_eq!(first_end(&traces[0]), Time::from_ms(2));
        assert_eq!(first_end(&traces[1]), Time::from_ms(4));
        assert!(follows(&traces[0], &system, &by_rank) && follows(&traces[1], &system, &running));
        // The checker distinguishes the two.
        assert!(!follows(&traces[0], &system, &running));
        assert!(!follows(&traces[1], &system, &by_rank));
    }
}

#[test]
fn a_job_that_starts_has_the_smaller_rank() {
    let mut system = two_due_at_once();
    for task in system.tasks.values_mut() {
        (task.offset, task.period, task.deadline) =
            (Duration::ZERO, Duration::from_ms(10), Duration::from_ms(10));
    }
    // `first` goes first, and both others wait when it ends.
    let first = Task::implicit("first", Service::from_ms(1), Duration::from_ms(5));
    system.tasks.push(first);
    let trace = run(&system, "g-edf:tie=running");
    let order: Vec<u32> = trace.segments.iter().map(|segment| segment.job.task.0).collect();
    assert_eq!(order[..2], [2, 0]);
    assert!(follows(&trace, &system, "g-edf:tie=running"));
    // The same trace, for tasks with the ranks exchanged.
    system.tasks[TaskId(0)].rank = 2;
    assert!(!follows(&trace, &system, "g-edf:tie=running"));
}

#[test]
fn a_job_without_work_may_take_the_cpu_for_no_time() {
    let mut system = two_due_at_once();
    system.tasks[TaskId(0)].offset = Duration::from_ms(1);
    system.tasks[TaskId(0)].deadline = Duration::from_ms(9);
    let without = system.clone();
    // `empty` arrives while `early` runs and `late` waits, is due first, and has no demand. Its CPU
    // goes to the smaller rank.
    let mut empty = Task::implicit("empty", Service::from_ms(1), Duration::from_ms(5));
    empty.offset = Duration::from_ms(2);
    empty.execution = ExecutionModel::List(vec![Service::ZERO]);
    system.tasks.push(empty);
    let trace = run(&system, "g-edf:tie=running");
    let order: Vec<u32> = trace.segments.iter().map(|segment| segment.job.task.0).collect();
    assert_eq!(order[..3], [1, 0, 1]);
    assert!(follows(&trace, &system, "g-edf:tie=running"));
    // Without `empty`, `early` keeps its CPU.
    let order: Vec<TaskId> =
        run(&without, "g-edf:tie=running").segments.iter().map(|it| it.job.task).collect();
    assert_eq!(order[..2], [1, 0].map(TaskId));
}

/// The bounds assume that both can lose a tie; by rank only the second one can.
#[test]
fn a_bound_is_exact_where_the_own_rule_of_ties_reaches_it() {
    let task =
        |name: &str, wcet| Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(10));
    let system = System::new(1, vec![task("a", 7), task("b", 1)]);
    let kinds = |spec: &str| -> Vec<TestKind> {
        let found = assess(registry(), spec, &system, &AssessOptions::by_tests()).unwrap();
        let kind = |bound: &Bound| match bound {
            Bound::Response { within, kind, .. } => {
                assert_eq!(*within, Duration::from_ns(8), "{spec}");
                *kind
            }
            Bound::Tardiness { .. } | Bound::Unknown => panic!("{spec}: {bound:?}"),
        };
        found.bounds.values().map(kind).collect()
    };
    use TestKind::{Exact, Sufficient};
    for spec in ["p-edf", "g-edf", "p-edf:nonpreemptive"] {
        assert_eq!(kinds(spec)[0], Sufficient, "{spec}");
    }
    assert_eq!(kinds("p-edf"), [Sufficient, Exact]);
    assert_eq!(kinds("p-edf:tie=running"), [Sufficient, Sufficient]);
}
