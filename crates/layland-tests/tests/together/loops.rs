//! The fast event loop of the simulator against the general one, on random systems under every policy
//! that it takes. `campaign loops` compares more.

use layland_gen::Random;
use layland_model::{Behaviour, Duration, Overheads, Speed, System, Task, Time};
use layland_policy::{Policy, PolicyOptions};
use layland_sim::{EventLoop, SimOptions, simulate};
use layland_testkit::loops::{BothLoops, POLICIES, compare, draw, is_interrupted_alike};
use layland_testkit::registry;
use layland_trace::Counters;

#[test]
fn both_loops_have_the_same_figures() {
    let mut random = Random::of_task(20_261_130, 0);
    let (mut same, mut late) = ([0; POLICIES.len()], 0);
    for _ in 0..100 {
        let (system, until) = draw(&mut random);
        for (count, spec) in same.iter_mut().zip(POLICIES) {
            match compare(&system, spec, until) {
                BothLoops::Other => {}
                BothLoops::Same { late: is_late } => {
                    *count += 1;
                    late += u32::from(is_late);
                }
                BothLoops::Different(words) => panic!("{words}\n{system:#?}"),
            }
        }
    }
    for (count, spec) in same.iter().zip(POLICIES) {
        assert!(*count >= 5, "{spec}: {count} systems");
    }
    assert!(late >= 100, "{late} runs with a late job");
}

/// Groups take turns of thousands of jobs.
#[test]
fn several_turns_have_the_same_figures() {
    let mut random = Random::of_task(20_261_130, 3);
    let mut same = 0;
    for _ in 0..12 {
        let (system, _) = draw(&mut random);
        let jobs_in_ns: f64 = system.tasks.values().map(|task| 1.0 / task.period.ns() as f64).sum();
        let until = Time::from_ns((30_000.0 / jobs_in_ns) as i64);
        for spec in ["p-edf", "c-rm", "g-edf"] {
            match compare(&system, spec, until) {
                BothLoops::Other => {}
                BothLoops::Same { .. } => same += 1,
                BothLoops::Different(words) => panic!("{words}\n{system:#?}"),
            }
        }
    }
    assert!(same >= 12, "{same}");
}

/// The list of the test kit is that of the registry.
#[test]
fn every_policy_that_says_so_is_compared() {
    let mut random = Random::of_task(20_261_130, 1);
    let systems: Vec<System> = (0..40).map(|_| draw(&mut random).0).collect();
    for info in registry().iter() {
        let takes = |system: &System| {
            let policy = info.build(system, &PolicyOptions::default());
            policy.is_ok_and(|policy| policy.is_highest_first())
        };
        let is_listed = POLICIES.contains(&&*info.name);
        assert_eq!(systems.iter().any(takes), is_listed, "{}", info.name);
    }
}

#[test]
fn an_interrupted_run_has_the_figures_up_to_its_end() {
    let mut random = Random::of_task(20_261_130, 2);
    for _ in 0..5 {
        let (mut whole, _) = draw(&mut random);
        whole.platform.clusters = System::new(whole.platform.cpu_count(), vec![]).platform.clusters;
        whole.tasks.values_mut().for_each(|task| task.cluster = 0);
        assert!(is_interrupted_alike(&whole, "g-edf"));
    }
}

/// A set that needs more than the fast loop has is simulated by the general one.
#[test]
fn other_sets_are_simulated_as_before() {
    let ms = Duration::from_ms;
    let task = |name| Task::implicit(name, ms(2).at_unit_speed(), ms(5));
    let plain = System::new(2, vec![task("a"), task("b"), task("c")]);
    let mut sporadic = plain.clone();
    sporadic.tasks.values_mut().for_each(|task| task.jitter = ms(1));
    let mut once = plain.clone();
    once.tasks.values_mut().for_each(|task| task.jobs = Some(1));
    let mut hog = plain.clone();
    hog.tasks.values_mut().for_each(|task| task.behaviour = Behaviour::Hog);
    let mut slow = plain.clone();
    let half = Speed::new(&layland_model::Rate::new(1, 2)).unwrap();
    slow.platform.speeds.values_mut().for_each(|speed| *speed = half);
    let mut costly = plain.clone();
    costly.platform.overheads = Overheads { release: Duration::from_us(3), ..Overheads::default() };
    for system in [sporadic, once, hog, slow, costly] {
        let run = |event_loop| {
            let policy = registry().build("g-edf", &system).unwrap();
            assert!(policy.is_highest_first());
            let mut counters = Counters::default();
            let options = SimOptions { event_loop, ..SimOptions::until(Time::from_ms(50)) };
            let outcome = simulate(&system, policy, &mut counters, &options).unwrap();
            (counters, outcome.without_policy())
        };
        assert_eq!(run(EventLoop::Fitting), run(EventLoop::General));
    }
}
