//! LRE-TL: the worked example, its rule and its slow twin on random systems, and its behaviour
//! beside the plan.

use crate::planned::{at, build, compare_with_twin, make_good, rows, run, task};
use layland_checker::check;
use layland_model::{Behaviour, Duration, Separation, System, TaskId, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::optimal::slow_planes::schedule;
use layland_trace::NoRecord;

/// Three tasks of 2/3 in the plane from 0 to 3: `a` and `b` run until the remaining work of `c`
/// equals the remaining time.
#[test]
fn who_has_no_time_to_lose_takes_the_cpu_of_who_has_least_left() {
    let system = System::new(2, ["a", "b", "c"].map(|name| task(name, 2, 3)).to_vec());
    let policy = build("lre-tl", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, &SimOptions::until(Time::from_ns(3)));
    assert_eq!(rows(&trace), [(0, 1, 1, 1), (0, 2, 0, 0), (1, 3, 1, 2), (2, 3, 0, 1)]);
    assert!(check(&trace, &system, &rule, 3).is_clean());
}

/// A task that arrives within a plane gets its rate of the rest of the plane.
#[test]
fn who_arrives_within_a_plane_gets_a_share_of_the_rest() {
    let mut system = System::new(1, vec![task("a", 4, 8), task("b", 4, 8)]);
    system.tasks[TaskId(1)].behaviour = at(&[4]);
    let policy = build("lre-tl", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, &SimOptions::until(Time::from_ns(12)));
    // The plane ends at 8: `b` gets 2 there. In the next plane, to 12, each gets 2, and `b` ends at its deadline.
    assert_eq!(rows(&trace), [(0, 4, 0, 0), (4, 6, 0, 1), (8, 10, 0, 0), (10, 12, 0, 1)]);
    assert!(check(&trace, &system, &rule, 3).is_clean());
    let mut lie = trace.clone();
    for segment in lie.segments.iter_mut().filter(|segment| segment.start == Time::from_ns(4)) {
        segment.end = Time::from_ns(5);
    }
    let report = check(&lie, &system, &rule, 9).to_string();
    assert!(report.contains("its share is"), "{report}");
}

#[test]
fn its_schedule_is_that_of_its_twin() {
    compare_with_twin("lre-tl", schedule);
}

/// While there is no job the policy sets no timer, and planes continue as if it had.
#[test]
fn it_sleeps_while_there_is_nothing_to_do() {
    let mut system = System::new(1, vec![task("a", 1_000, 2_000), task("b", 10_000, 20_000)]);
    system.tasks[TaskId(0)].behaviour = at(&[0, 1_000_001_000]);
    system.tasks[TaskId(1)].behaviour = at(&[500_000_000]);
    let policy = build("lre-tl", &system);
    let rule = policy.rule();
    let until = SimOptions::until(Time::from_ns(2_000_000_000));
    let outcome = simulate(&system, policy.clone(), &mut NoRecord, &until).expect("it is short");
    let counts = outcome.policy.counts();
    let planes = counts.iter().find(|count| count.name == "planes").expect("it counts them");
    // One for the first job of `a`, two for the second, which arrives within a plane, and ten for `b`.
    assert_eq!(planes.count, 13, "{counts:?}");
    let trace = run(&system, policy, &until);
    assert!(check(&trace, &system, &rule, 3).is_clean());
    let system_of_both = system.clone();
    // The second job of `a` has half of the rest of the plane, whether its first job was the last
    // one before it or not.
    let half = |start| (start, start + 500, 0, 0);
    system.tasks[TaskId(1)].behaviour = at(&[3_000_000_000]);
    for system in [system_of_both, system] {
        let trace = run(&system, build("lre-tl", &system), &until);
        let last: Vec<_> = rows(&trace).into_iter().rev().take(2).collect();
        assert_eq!(last, [half(1_000_002_000), half(1_000_001_000)]);
    }
}

#[test]
fn what_a_machine_did_not_give_is_made_good() {
    make_good("lre-tl");
}

/// EDF gives other shares, also to sporadic tasks.
#[test]
fn the_rule_finds_what_is_moved() {
    let ms = 1_000_000;
    let tasks = [("a", 1, 3), ("b", 1, 3), ("c", 3, 6)];
    let mut system = System::new(2, tasks.map(|(name, c, t)| task(name, c * ms, t * ms)).to_vec());
    system.tasks[TaskId(0)].behaviour =
        Behaviour::Sporadic(Separation::Uniform { max: Duration::from_ms(3) });
    let rule = build("lre-tl", &system).rule();
    let until = SimOptions::until(Time::from_ms(60));
    assert!(check(&run(&system, build("lre-tl", &system), &until), &system, &rule, 9).is_clean());
    let report = check(&run(&system, build("g-edf", &system), &until), &system, &rule, 9);
    assert!(report.to_string().contains("its share is"), "{report}");
}
