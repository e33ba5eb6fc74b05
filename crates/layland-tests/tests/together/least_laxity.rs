//! LLF and MLLF: the worked examples, their rules and their tick-by-tick twin on random systems,
//! and their optimality on one CPU but not on several.

use layland_checker::check;
use layland_model::{Duration, Overheads};
use layland_model::{LaxityRule, ScheduleRule, Service, System, Task, Time};
use layland_policy::{Policy, Registry};
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::logged::{Logged, first_divergence};
use layland_testkit::strategies::{periodic_system, rich_system};
use layland_testkit::{least_laxity, registry, ticks};
use layland_trace::Trace;
use proptest::prelude::*;

const HORIZON: Time = Time::from_ns(120);
const POLICIES: [&str; 6] = [
    "llf:quantum=1ns",
    "llf:quantum=1ns:tie=rank",
    "llf:quantum=3ns",
    "llf:quantum=7ns:tie=rank",
    "llf",
    "mllf",
];

fn run(system: &System, policy: Box<dyn Policy>, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn misses(trace: &Trace) -> usize {
    trace.jobs.iter().filter(|record| record.missed(trace.over)).count()
}

fn system(cpus: usize, tasks: &[(i64, i64)]) -> System {
    let task = |(at, &(c, t)): (usize, &(i64, i64))| {
        Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
    };
    System::new(cpus, tasks.iter().enumerate().map(task).collect())
}

fn violations(spec: &str, trace: &Trace, system: &System) -> String {
    let report = check(trace, system, &build(spec, system).rule(), 5);
    if report.is_clean() { String::new() } else { format!("{spec}: {report}\n{system:#?}") }
}

/// `(start, end, CPU, task)` of each segment.
fn segments(trace: &Trace) -> Vec<(i64, i64, u32, u32)> {
    let mut all: Vec<_> = (trace.segments.iter())
        .map(|it| (it.start.ns(), it.end.ns(), it.cpu.0, it.job.task.0))
        .collect();
    all.sort_unstable();
    all
}

/// Three tasks of 2/3 on two CPUs: at 1 the waiting task has no laxity left.
#[test]
fn the_one_that_waits_takes_a_cpu_when_it_must() {
    let set = system(2, &[(2, 3), (2, 3), (2, 3)]);
    let expected = [(0, 1, 1, 1), (0, 2, 0, 0), (1, 3, 1, 2), (2, 3, 0, 1)];
    for spec in ["llf:quantum=1ns", "llf:quantum=1ns:tie=rank", "mllf"] {
        let trace = run(&set, build(spec, &set), &SimOptions::until(Time::from_ns(3)));
        assert_eq!(segments(&trace), expected, "{spec}");
        assert_eq!(misses(&trace), 0);
    }
    // With the default quantum LLF does not evaluate again, and is late.
    let trace = run(&set, build("llf", &set), &SimOptions::until(Time::from_ns(6)));
    assert!(misses(&trace) > 0);
    assert_eq!(violations("llf", &trace, &set), "");
    assert!(violations("mllf", &trace, &set).contains("2#1"));
}

/// Three tasks fully load two CPUs: the policies are not optimal.
#[test]
fn full_load_of_one_task_more_than_cpus_can_be_late() {
    let sets = [[(4, 6), (5, 10), (5, 6)], [(4, 5), (7, 10), (2, 4)]];
    let late = |spec: &str, set: &[(i64, i64)]| {
        let set = system(2, set);
        misses(&run(&set, build(spec, &set), &SimOptions::until(Time::from_ns(60)))) > 0
    };
    for spec in ["edzl", "mllf", "llf:quantum=1ns"] {
        assert!(late(spec, &sets[0]), "{spec}");
    }
    assert!(late("edzl", &sets[1]) && late("mllf", &sets[1]) && !late("llf:quantum=1ns", &sets[1]));
}

#[test]
fn quanta_are_lengths_of_time() {
    let set = system(1, &[(1, 3)]);
    let error = |spec: &str| Registry::standard().build(spec, &set).map(|_| ()).unwrap_err();
    assert_eq!(
        error("llf:quantum=0").to_string(),
        "option `quantum` of policy `llf` cannot be `0`: use a length of time above 0, such as 1ms or 500us"
    );
    assert!(error("llf:quantum=soon").to_string().contains("cannot be `soon`"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ticks_finish_the_same_jobs(system in periodic_system()) {
        for spec in POLICIES {
            let policy = build(spec, &system);
            let ScheduleRule::LeastLaxity { rule, .. } = policy.rule() else {
                panic!("{spec} promises {:?}", policy.rule())
            };
            let trace = run(&system, policy, &SimOptions::until(HORIZON));
            let mut finished: Vec<ticks::Finished> = (trace.jobs.iter())
                .filter_map(|record| Some(ticks::Finished {
                    finish: record.completion()?.ns(),
                    task: record.job.id.task,
                    seq: record.job.id.seq,
                    deadline: record.job.deadline.ns(),
                }))
                .collect();
            finished.sort_unstable();
            let expected = least_laxity::simulate(&system, rule, HORIZON);
            prop_assert_eq!(finished, expected, "{}: {:#?}", spec, system);
            prop_assert_eq!(violations(spec, &trace, &system), "");
        }
    }

    /// Another policy keeps the rule only if it makes the same decisions; the checker distinguishes them.
    #[test]
    fn other_schedules_break_the_rule(system in periodic_system()) {
        let options = SimOptions::until(HORIZON);
        let (ours, edf) = ("llf:quantum=1ns:tie=rank", "g-edf");
        let rule = LaxityRule::Quantum { quantum: Duration::from_ns(1), running_first: false };
        let expected = least_laxity::simulate(&system, rule, HORIZON);
        let trace = run(&system, build(edf, &system), &options);
        let finished = |trace: &Trace| {
            let all = trace.jobs.iter().filter_map(|it| Some((it.completion()?.ns(), it.job.id)));
            let mut all: Vec<_> = all.collect();
            all.sort_unstable();
            all
        };
        let expected: Vec<_> = expected
            .into_iter()
            .map(|it| (it.finish, layland_model::JobId { task: it.task, seq: it.seq }))
            .collect();
        if finished(&trace) != expected {
            prop_assert_ne!(violations(ours, &trace, &system), "");
        }
    }

    /// Dertouzos and Mok 1989, Oh and Yang 1998: on one CPU both meet every deadline that EDF meets.
    #[test]
    fn on_one_cpu_they_are_late_only_where_edf_is(system in periodic_system()) {
        let mut system = system;
        let tasks = system.tasks.values().cloned().collect();
        system = System { platform: System::new(1, Vec::new()).platform, ..System::new(1, tasks) };
        let options = SimOptions::until(HORIZON);
        if misses(&run(&system, build("g-edf", &system), &options)) == 0 {
            for spec in ["llf:quantum=1ns", "llf:quantum=1ns:tie=rank", "mllf"] {
                let trace = run(&system, build(spec, &system), &options);
                prop_assert_eq!(misses(&trace), 0, "{}: {:#?}", spec, system);
            }
        }
    }

    /// Includes overruns, requests, simultaneous events in any order, and a clone in the middle.
    #[test]
    fn rich_systems_are_clean_and_repeat(system in rich_system(), seed in any::<u64>()) {
        let system = with_random_ranks(&system, seed);
        for spec in POLICIES {
            if !system.platform.is_unit_speed() {
                prop_assert!(Registry::standard().build(spec, &system).is_err());
                continue;
            }
            let policy = build(spec, &system);
            for explore in [None, Some(seed)] {
                let options = SimOptions { seed, explore, ..SimOptions::until(HORIZON) };
                let logged = Logged::new(policy.clone());
                let log = logged.log();
                let trace = run(&system, Box::new(logged), &options);
                prop_assert_eq!(violations(spec, &trace, &system), "");
                prop_assert_eq!(&trace, &run(&system, policy.clone(), &options));
                let log = log.lock().unwrap();
                let (first, rest) = log.split_at(log.len() / 2);
                let mut copy = policy.clone();
                prop_assert_eq!(first_divergence(&mut copy, first), None);
                prop_assert_eq!(first_divergence(&mut copy.clone(), rest), None);
            }
        }
    }

    /// With overheads no CPU is idle while a job waits.
    #[test]
    fn overheads_break_no_rule(system in periodic_system(), costs in prop::array::uniform6(0i64..3)) {
        let mut system = system;
        let [release, scheduling, context_switch, migration, interrupt, tick] =
            costs.map(Duration::from_ns);
        system.platform.overheads = Overheads {
            release, scheduling, context_switch, migration, interrupt, tick,
            tick_period: Duration::from_ns(7),
            block_reload_time: Duration::ZERO,
        };
        for spec in POLICIES {
            let trace = run(&system, build(spec, &system), &SimOptions::until(HORIZON));
            prop_assert_eq!(violations(spec, &trace, &system), "");
        }
    }
}
