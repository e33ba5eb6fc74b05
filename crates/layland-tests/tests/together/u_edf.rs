//! U-EDF: the worked examples, its rule and its slow twin on random systems, and its behaviour
//! beside the plan.

use crate::planned::{at, build, compare_with_twin, make_good, rows, run, task};
use layland_checker::check;
use layland_model::{Behaviour, Duration, Separation, Service, System, TaskId, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::optimal::slow_lanes::schedule;
use layland_trace::NoRecord;

/// Returns a set with utilizations of 1/2, 3/4 and 3/4 on two CPUs, with times in microseconds.
fn halves() -> System {
    let tasks = [("a", 2, 4), ("b", 6, 8), ("c", 6, 8)];
    System::new(2, tasks.map(|(name, c, t)| task(name, 1_000 * c, 1_000 * t)).to_vec())
}

/// At 0 `a` has 2 on lane 1, which reserves 2 more for its next job. So `b` has 4 there and 2 on
/// lane 2, and `c` has 6 on lane 2. At 4 `b` needs 2 more, which fit after the second job of `a`.
#[test]
fn lane_after_lane_is_filled_in_the_order_of_deadlines() {
    let system = halves();
    let policy = build("u-edf", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, &SimOptions::until(Time::from_us(8)));
    let expected = [
        (0, 2_000, 0, 0),
        // On lane 2 until 2, then on lane 1: `b` stays on its CPU.
        (0, 4_000, 1, 1),
        (2_000, 8_000, 0, 2),
        (4_000, 6_000, 1, 0),
        (6_000, 8_000, 1, 1),
    ];
    assert_eq!(rows(&trace), expected);
    assert!(check(&trace, &system, &rule, 3).is_clean());
}

/// The job of `a` arrives at 3. Until then lane 1 reserves half of its time for it, so `b` has 4
/// there and 2 on lane 2, as if the job had arrived at 0. At 3 `b` and `c` need 3 each. `a` is due
/// at 7 and has 2 on lane 1, which reserves half of the time from 7 to 8 for its next job. So `b`
/// has 2.5 there, and 0.5 on lane 2 before `c`.
#[test]
fn there_is_room_for_jobs_that_may_come() {
    let mut system = halves();
    system.tasks[TaskId(0)].behaviour = at(&[3_000]);
    let policy = build("u-edf", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, &SimOptions::until(Time::from_us(8)));
    let expected = [
        (0, 3_000, 1, 2),
        (0, 3_500, 0, 1),
        (3_000, 5_000, 1, 0),
        (3_500, 6_500, 0, 2),
        (5_000, 7_500, 1, 1),
    ];
    assert_eq!(rows(&trace), expected);
    assert!(check(&trace, &system, &rule, 3).is_clean());
}

/// On one CPU it is EDF.
#[test]
fn on_one_cpu_it_is_edf() {
    let tasks = [("a", 1, 4), ("b", 3, 6), ("c", 3, 12)];
    let system =
        System::new(1, tasks.map(|(name, c, t)| task(name, 1_000 * c, 1_000 * t)).to_vec());
    let until = SimOptions::until(Time::from_us(120));
    let of = |spec| rows(&run(&system, build(spec, &system), &until));
    assert_eq!(of("u-edf"), of("g-edf"));
}

#[test]
fn its_schedule_is_that_of_its_twin() {
    compare_with_twin("u-edf", schedule);
}

/// While there is no job the policy sets no timer.
#[test]
fn it_sleeps_while_there_is_nothing_to_do() {
    let mut system = System::new(1, vec![task("a", 1_000, 2_000), task("b", 10_000, 20_000)]);
    system.tasks[TaskId(0)].behaviour = at(&[0, 1_000_001_000]);
    system.tasks[TaskId(1)].behaviour = at(&[500_000_000]);
    let until = SimOptions::until(Time::from_ns(2_000_000_000));
    let outcome = simulate(&system, build("u-edf", &system), &mut NoRecord, &until);
    let counts = outcome.expect("it is short").policy.counts();
    let count = |name| counts.iter().find(|count| count.name == name).map(|count| count.count);
    // One allotment for each job. There are also updates at the start and the end of each job, and
    // at the start of the run.
    assert_eq!(count("allotments"), Some(3), "{counts:?}");
    assert!(count("updates").is_some_and(|updates| updates <= 7), "{counts:?}");
}

#[test]
fn what_a_machine_did_not_give_is_made_good() {
    make_good("u-edf");
}

/// The rule fixes the running jobs at every instant. Under EDF others run, and one job that runs
/// slightly later is found.
#[test]
fn the_rule_finds_what_is_moved() {
    let ms = 1_000_000;
    let tasks = [("a", 1, 3), ("b", 1, 3), ("c", 3, 6)];
    let mut system = System::new(2, tasks.map(|(name, c, t)| task(name, c * ms, t * ms)).to_vec());
    system.tasks[TaskId(0)].behaviour =
        Behaviour::Sporadic(Separation::Uniform { max: Duration::from_ms(3) });
    system.tasks[TaskId(2)].wcet = vec![Service::from_ms(5)].into();
    let rule = build("u-edf", &system).rule();
    let until = SimOptions::until(Time::from_ms(60));
    let trace = run(&system, build("u-edf", &system), &until);
    assert!(check(&trace, &system, &rule, 9).is_clean());
    let report = check(&run(&system, build("lre-tl", &system), &until), &system, &rule, 9);
    assert!(report.to_string().contains("where the allotments let it"), "{report}");
    let moved = trace.segments.iter().position(|segment| segment.start > Time::from_ms(20));
    let mut lie = trace.clone();
    lie.segments[moved.expect("it is longer")].start += Duration::from_ns(1);
    let report = check(&lie, &system, &rule, 9);
    assert!(report.to_string().contains("where the allotments let it run"), "{report}");
}
