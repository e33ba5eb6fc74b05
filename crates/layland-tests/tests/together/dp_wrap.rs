//! DP-WRAP: the worked example, its rule and its slow twin on random systems.

use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{Duration, ExecutionModel, Rate, Service, System, Task, Time};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_testkit::differential::nanoseconds;
use layland_testkit::optimal::draw::{self, Drawn};
use layland_testkit::optimal::slow_wrap::schedule;
use layland_testkit::registry;
use layland_trace::{Counters, Segment, Trace};

fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn run(system: &System, policy: impl Policy, until: Time) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(until)).expect("it is short");
    trace
}

fn thirds() -> System {
    let task = |name: &str| Task::implicit(name, Service::from_ns(2), Duration::from_ns(3));
    System::new(2, ["a", "b", "c"].map(task).to_vec())
}

/// Three tasks of 2/3: the second task is cut, and the second slice is the reverse of the first one.
#[test]
fn a_task_is_cut_between_the_cpus() {
    let system = thirds();
    let policy = build("dp-wrap", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, Time::from_ns(6));
    let row = |segment: &Segment| {
        (segment.start.ns(), segment.end.ns(), segment.cpu.0, segment.job.task.0)
    };
    let mut found: Vec<_> = trace.segments.iter().map(row).collect();
    found.sort_unstable();
    let mut expected = vec![(0, 2, 0, 0), (2, 3, 0, 1), (0, 1, 1, 1), (1, 3, 1, 2)];
    expected.extend([(3, 4, 0, 1), (4, 6, 0, 0), (3, 5, 1, 2), (5, 6, 1, 1)]);
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(check(&trace, &system, &rule, 3).is_clean());
}

/// Draws periodic tasks of a few units each, some of whose jobs end early or need more than their
/// WCETs, also off the grid.
fn systems() -> impl Iterator<Item = Drawn> {
    (0..160).map(|index| {
        let mut random = Random::new(9, index, Aspect::Utilizations);
        let Drawn { mut system, until } = draw::in_slots(&mut random, false);
        match index % 4 {
            0 => {
                let first = system.tasks.values_mut().next().expect("there are tasks");
                first.execution = ExecutionModel::Fraction(Rate::new(3, 2));
            }
            // Leave slack for rates that are rounded up a lot.
            1 => {
                for task in system.tasks.values_mut() {
                    task.period = Duration::from_ns(11 * task.period.ns() + random.between(0, 9));
                    task.deadline = task.period;
                    task.wcet = vec![Service::from_ns(8 * task.wcet[0].ns())].into();
                }
            }
            _ => {}
        }
        Drawn { system, until: until.min(Time::from_ns(900)) }
    })
}

#[test]
fn its_schedule_is_that_of_its_twin() {
    let (mut compared, mut coarse) = (0, 0);
    for Drawn { system, until } in systems() {
        for (spec, mirror) in [("dp-wrap", true), ("dp-wrap:mirror=off", false)] {
            let Ok(policy) = registry().build(spec, &system) else { continue };
            let rule = policy.rule();
            let trace = run(&system, policy, until);
            let report = check(&trace, &system, &rule, 3);
            assert!(report.is_clean(), "{spec}: {report}\n{system:#?}");
            let found = nanoseconds(&trace);
            assert_eq!(found, schedule(&system, mirror, &trace), "{spec}: {system:#?}");
            compared += found.len();
            let grid = layland_offline::RateGrid::of(&system).unwrap();
            coarse += usize::from(grid.unit > Duration::from_ns(1));
        }
    }
    assert!(compared > 100_000 && coarse > 40, "{compared} nanoseconds, {coarse} on a grid");
}

/// Mirroring reduces migrations.
#[test]
fn mirrored_slices_migrate_less() {
    let migrations = |spec: &str| -> u64 {
        let of = |Drawn { system, until }: Drawn| {
            let Ok(policy) = registry().build(spec, &system) else { return 0 };
            let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
            simulate(&system, policy, &mut counters, &SimOptions::until(until))
                .expect("it is short");
            counters.total().migrations_within_jobs
        };
        systems().map(of).sum()
    };
    let (mirrored, plain) = (migrations("dp-wrap"), migrations("dp-wrap:mirror=off"));
    assert!(4 * mirrored < 3 * plain, "{mirrored} {plain}");
}

/// A share that is moved into another slice violates the rule, even if no job is late.
#[test]
fn the_rule_finds_what_is_moved() {
    let mut system = thirds();
    for (task, period) in system.tasks.values_mut().zip([3, 6, 6]) {
        task.period = Duration::from_ns(period);
        task.deadline = task.period;
        task.wcet = vec![Service::from_ns(2 * period / 3)].into();
    }
    let policy = build("dp-wrap", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, Time::from_ns(6));
    assert!(check(&trace, &system, &rule, 3).is_clean());
    let g_edf = run(&system, build("g-edf", &system), Time::from_ns(6));
    let report = check(&g_edf, &system, &rule, 9);
    assert!(report.to_string().contains("its share is"), "{report}");
}
