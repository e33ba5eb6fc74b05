//! What `layland check` says of a system holds for every exploration of it: explorations change no partition, no
//! fixed priority and nothing that is decided before the first release, and cost no time of their own.
//!
//! A longer run: `CASES=2000 cargo test --release -p layland-tests --test together explore`.

use layland_analysis::Verdict;
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::rule::Locking;
use layland_model::{
    Algorithm, CpuSet, Duration, Form, Order, Overheads, ScheduleRule, Service, System, Task,
    TaskId,
};
use layland_sim::{Explored, SimOptions, explored, simulate};
use layland_testkit::registry;
use layland_trace::{Counters, Trace};

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(60)
}

/// Two to six tasks on two or three CPUs, many of them alike, with overheads every third time.
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

/// Who is on which CPUs.
fn who(rule: &ScheduleRule) -> Vec<(CpuSet, Vec<TaskId>)> {
    let groups = match rule {
        ScheduleRule::HighestFirst { groups, .. }
        | ScheduleRule::Deferred { groups, .. }
        | ScheduleRule::Served { groups, .. }
        | ScheduleRule::Locking(Locking { groups, .. })
        | ScheduleRule::LeastLaxity { groups, .. }
        | ScheduleRule::Optimal { groups }
        | ScheduleRule::Pfair { groups, .. }
        | ScheduleRule::Shares { groups, .. }
        | ScheduleRule::Allotted { groups, .. }
        | ScheduleRule::MixedCriticality { groups, .. } => groups.as_slice(),
        ScheduleRule::None
        | ScheduleRule::Split { .. }
        | ScheduleRule::Weak { .. }
        | ScheduleRule::Strong { .. } => &[],
    };
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
            let found = assess(registry(), spec, &system, &AssessOptions::default())
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
