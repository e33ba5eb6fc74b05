//! The results of `layland check` for a system hold in every exploration of it. Explorations change
//! no partition, no fixed priority and no decision before the first release, and take no simulated
//! time.
//!
//! A longer run: `CASES=2000 cargo test --release -p layland-tests --test together explore`.

use layland_analysis::Verdict;
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Algorithm, CpuSet, Duration, Form, Order, Overheads, Rate, ScheduleRule, Service, System, Task,
    TaskId,
};
use layland_sim::{Explored, SimOptions, explored, simulate};
use layland_testkit::registry;
use layland_trace::{Counters, Trace};
use std::collections::BTreeMap;

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(60)
}

/// Draws two to six tasks on two or three CPUs, many of them alike. Every third system has overheads.
fn system(random: &mut Random, number: u64) -> System {
    let cpus = random.between(2, 3) as usize;
    let count = random.between(2, 6);
    let tasks = (0..count).map(|index| {
        let period = [10, 20, 40][random.below(3) as usize];
        let wcet = random.between(1, period / 2) * 1_000;
        let name = format!("t{index}");
        let mut task =
            Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period * 1_000));
        task.priority = Some(random.between(1, 3));
        task
    });
    let mut system = System::new(cpus, tasks.collect());
    if number.is_multiple_of(3) {
        let ns = Duration::from_ns;
        system.platform.overheads = Overheads {
            release: ns(3),
            scheduling: ns(5),
            context_switch: ns(7),
            migration: ns(2),
            ..Overheads::default()
        };
    }
    system
}

/// Returns the tasks of each group of CPUs.
fn who(rule: &ScheduleRule) -> Vec<(CpuSet, Vec<TaskId>)> {
    let groups = rule.groups().unwrap_or_default();
    let sorted = |tasks: &[TaskId]| {
        let mut tasks = tasks.to_vec();
        tasks.sort_unstable();
        tasks
    };
    groups.iter().map(|group| (group.cpus.clone(), sorted(&group.tasks))).collect()
}

#[test]
fn what_is_guaranteed_is_guaranteed_for_every_exploration() {
    let mut held = 0;
    for number in 0..cases() {
        let mut random = Random::of_task(41, number);
        let system = system(&mut random, number);
        for info in registry() {
            let spec = info.name.as_ref();
            let found = assess(registry(), spec, &system, &AssessOptions::by_tests())
                .expect("the policy exists");
            if found.refused.is_some() {
                continue;
            }
            let algorithm = info.algorithm(&layland_policy::PolicyOptions::default());
            for seed in 0..3 {
                let Explored { built_from, simulated } = explored(&system, algorithm, seed);
                let policy = registry().build(spec, &built_from).expect("it takes the system");
                let rule = policy.rule();
                let usual = registry().build(spec, &system).expect("it takes the system").rule();
                assert_eq!(who(&rule), who(&usual), "{spec}, seed {seed}: another partition");
                let mut trace = Trace::default();
                let until = layland_model::Time::from_ns(400_000);
                let options = SimOptions { explore: Some(seed), seed, ..SimOptions::until(until) };
                let _ = simulate(&simulated, policy, &mut trace, &options).expect("it is short");
                let report = layland_checker::check(&trace, &simulated, &rule, 3);
                assert!(report.is_clean(), "{spec}, seed {seed}: {report}");
                let name =
                    || format!("{spec}, seed {seed}, of\n{}", layland_config::to_toml(&system));
                let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
                trace.replay(&mut counters);
                let missed = counters.total().missed > 0;
                assert!(!missed || found.verdict != Verdict::Yes, "{} misses", name());
                for (id, bound) in found.bounds.iter() {
                    let Bound::Response { within, by, .. } = bound else { continue };
                    let longest = counters.task(id).max_response.unwrap_or_default();
                    assert!(longest <= *within, "{}: {by} {longest} > {within}", name());
                    held += 1;
                }
            }
        }
    }
    assert!(held > 1_000, "{held} responses had a bound");
}

/// Draws three to six tasks that take nearly all of two CPUs or more, in nanoseconds. Late jobs are
/// frequent, and so are jobs that end just when the next one of their task arrives.
fn loaded(random: &mut Random, number: u64) -> System {
    let mut tasks = Vec::new();
    let mut left = random.between(80, 100);
    while left > 0 && tasks.len() < 6 {
        let period = [20, 20, 40, 40, 80, 240][random.below(6) as usize];
        let share = random.between(4, 49).min(left);
        left -= share;
        let wcet = (share * period / 50).max(1);
        let ns = Duration::from_ns;
        let mut task =
            Task::implicit(format!("t{}", tasks.len()), Service::from_ns(wcet), ns(period));
        if number.is_multiple_of(3) && random.below(2) == 0 {
            task.deadline = ns(random.between(wcet, period));
        }
        task.priority = Some(tasks.len() as i64);
        tasks.push(task);
    }
    System::new(2, tasks)
}

/// Returns a system with late threads. A late thread goes on with its next job, which has already
/// arrived, when a job ends. No exploration may let the policy decide in between, as if the thread
/// had slept. Otherwise its server would be renewed early, and it would fall behind for ever.
fn with_late_threads(deadline_of_short: i64) -> System {
    let tasks = [(20, 7), (40, 39), (240, 16), (20, 7), (20, 3)].into_iter().enumerate();
    let task = |(index, (period, wcet)): (usize, (i64, i64))| {
        let ns = Duration::from_ns;
        let mut task = Task::implicit(format!("t{index}"), Service::from_ns(wcet), ns(period));
        if period == 20 {
            task.deadline = ns(deadline_of_short);
        }
        task.priority = Some([0, 1, 3, 4, 2][index]);
        task
    };
    System::new(2, tasks.map(task).collect())
}

/// Counts the bounds on response times and tardiness that explorations keep. An exceeded bound
/// fails the test.
fn holds_what_is_said(system: &System, spec: &str, seeds: std::ops::Range<u64>) -> u64 {
    let found = assess(registry(), spec, system, &AssessOptions::by_tests()).expect("it exists");
    if found.refused.is_some() {
        return 0;
    }
    let info = registry().find(spec).expect("the policy exists");
    let algorithm = info.algorithm(&layland_policy::PolicyOptions::default());
    let mut held = 0;
    for seed in seeds {
        let Explored { built_from, simulated } = explored(system, algorithm, seed);
        let policy = registry().build(spec, &built_from).expect("it takes the system");
        let until = layland_model::Time::from_ns(6_000);
        let options = SimOptions { explore: Some(seed), seed, ..SimOptions::until(until) };
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let _ = simulate(&simulated, policy, &mut counters, &options).expect("it is short");
        let name = || format!("{spec}, seed {seed}, of\n{}", layland_config::to_toml(system));
        let missed = counters.total().missed > 0;
        assert!(!missed || found.verdict != Verdict::Yes, "{} misses", name());
        for (id, bound) in found.bounds.iter() {
            let task = counters.task(id);
            match bound {
                Bound::Response { within, by, .. } => {
                    let longest = task.max_response.unwrap_or_default();
                    assert!(longest <= *within, "{}: {by} {longest} > {within}", name());
                }
                Bound::Tardiness { within, by } => {
                    let latest = task.max_tardiness;
                    let is_within = Rate::whole(latest.ns()) <= *within;
                    assert!(is_within, "{}: {by} {latest} of {id}, not {within}", name());
                }
                Bound::Unknown => continue,
            }
            held += 1;
        }
    }
    held
}

#[test]
fn late_threads_keep_their_bounds_in_every_exploration() {
    for (system, specs) in [
        (with_late_threads(20), &["dl-sp", "g-edf"][..]),
        (with_late_threads(10), &["dl-sp", "g-edf"][..]),
    ] {
        for spec in specs {
            assert!(holds_what_is_said(&system, spec, 0..20) > 0, "{spec}");
        }
    }
}

#[test]
fn every_policy_keeps_its_bounds_in_every_exploration() {
    let mut held: BTreeMap<&str, u64> = BTreeMap::new();
    for number in 0..cases() {
        let system = loaded(&mut Random::of_task(43, number), number);
        for info in registry() {
            let spec = info.name.as_ref();
            *held.entry(spec).or_default() += holds_what_is_said(&system, spec, 0..3);
        }
    }
    println!("{held:?}");
    let (some, all) = (held.values().filter(|&&held| held > 0).count(), held.len());
    assert!(2 * some > all, "{some} of {all} policies have bounds: {held:?}");
}

#[test]
fn explorations_differ() {
    let task = |name: &str| Task::implicit(name, Service::from_ms(1), Duration::from_ms(5));
    let system = System::new(1, ["a", "b", "c", "d"].map(task).into());
    let order = |seed| {
        let algorithm = Algorithm::Ordered(Form::Global, Order::Deadline);
        let Explored { built_from, simulated } = explored(&system, algorithm, seed);
        let policy = registry().build("g-edf", &built_from).expect("it takes the system");
        let mut trace = Trace::default();
        let options = SimOptions::until(layland_model::Time::from_ms(5));
        let _ = simulate(&simulated, policy, &mut trace, &options).expect("it is short");
        trace.segments.iter().map(|segment| segment.job.task).collect::<Vec<TaskId>>()
    };
    assert!((1..9).any(|seed| order(seed) != order(0)), "every exploration is the same");
}
