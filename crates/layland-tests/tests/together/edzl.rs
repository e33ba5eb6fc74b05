//! EDZL: the worked example, its rule and its tick-by-tick twin on random systems, its purpose (it
//! is late only if global EDF is late, too), and its test compared with its formulas.

use layland_analysis::{Sporadic, global_edf::edzl};
use layland_checker::check;
use layland_config::{Format, Host, demo, read};
use layland_model::{Duration, JobId, Order, System, Time};
use layland_policy::{Policy, Registry};
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::cases::{Deadlines, systems};
use layland_testkit::logged::{Logged, first_divergence};
use layland_testkit::strategies::{periodic_system, rich_system};
use layland_testkit::ticks;
use layland_trace::Trace;
use proptest::prelude::*;
use std::collections::BTreeMap;

const HORIZON: Time = Time::from_ns(120);

fn run(system: &System, policy: Box<dyn Policy>, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

fn build(name: &str, system: &System) -> Box<dyn Policy> {
    Registry::standard().build(name, system).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn misses(trace: &Trace) -> usize {
    trace.jobs.iter().filter(|record| record.missed(trace.over)).count()
}

/// Returns the execution intervals of each job, on any CPU.
fn executions(trace: &Trace) -> BTreeMap<JobId, Vec<(Time, Time)>> {
    let mut sorted = trace.segments.clone();
    sorted.sort_by_key(|segment| segment.start);
    let mut runs: BTreeMap<JobId, Vec<(Time, Time)>> = BTreeMap::new();
    for segment in sorted {
        let runs = runs.entry(segment.job).or_default();
        match runs.last_mut() {
            Some((_, end)) if *end == segment.start => *end = segment.end,
            Some(_) | None => runs.push((segment.start, segment.end)),
        }
    }
    runs
}

/// Returns the violations of the rule of EDZL.
fn violations(trace: &Trace, system: &System) -> String {
    let report = check(trace, system, &build("edzl", system).rule(), 5);
    if report.is_clean() { String::new() } else { format!("{report}\n{system:#?}") }
}

/// Dhall's effect, which EDZL avoids: at 1 ms the heavy job has no laxity, and preempts the lower
/// of the light ones.
#[test]
fn the_heavy_job_of_dhall_and_liu_starts_when_it_must() {
    let dhall = demo("dhall").unwrap();
    let system = read(dhall.name, dhall.text.as_bytes(), Format::Toml, &Host::default());
    let system = system.unwrap().system;
    let until = SimOptions::until(Time::from_ms(22));
    let trace = run(&system, build("edzl", &system), &until);
    let mut segments: Vec<_> = (trace.segments.iter())
        .map(|segment| {
            let name = system.tasks[segment.job.task].name.as_str();
            let ms = |at: Time| at.ns() / 1_000_000;
            (ms(segment.start), ms(segment.end), segment.cpu.0, name)
        })
        .collect();
    segments.sort_unstable();
    assert_eq!(
        segments,
        [
            (0, 1, 1, "light-2"),
            (0, 2, 0, "light-1"),
            (1, 11, 1, "heavy"),
            (2, 3, 0, "light-2"),
            (10, 12, 0, "light-1"),
            (11, 13, 1, "light-2"),
            (12, 22, 0, "heavy"),
            (20, 22, 1, "light-1"),
        ]
    );
    assert_eq!(misses(&trace), 0);
    assert_eq!(violations(&trace, &system), "");
    // Global EDF is late, and violates the rule that a job without laxity comes first.
    let trace = run(&system, build("g-edf", &system), &until);
    assert!(misses(&trace) > 0);
    assert!(violations(&trace, &system).contains("heavy#1"), "{}", violations(&trace, &system));
}

/// The test for EDZL by the formulas of `crates/layland-analysis/src/global_edf/edzl.rs`, task by
/// task and in 128 bits.
fn accepted_slowly(tasks: &[Sporadic], cpus: usize) -> bool {
    let m = cpus as i128;
    let of =
        |task: &Sporadic| [task.wcet.ns(), task.deadline.ns(), task.period.ns()].map(i128::from);
    let mut slacks = vec![0i128; tasks.len()];
    loop {
        let interference = |k: usize, most: i128| -> i128 {
            let [_, d_k, _] = of(&tasks[k]);
            let work = |i: usize| {
                let [c, d, t] = of(&tasks[i]);
                let jobs = ((d_k - d).div_euclid(t) + 1).max(0);
                jobs * c + c.min((d_k - jobs * t - slacks[i]).max(0))
            };
            (0..tasks.len()).filter(|&i| i != k).map(|i| work(i).min(most)).sum()
        };
        let room = |k: usize| {
            let [c, d, _] = of(&tasks[k]);
            d - c
        };
        let zero = |k: &usize| interference(*k, room(*k)) >= m * room(*k);
        let miss = |k: &usize| interference(*k, room(*k) + 1) >= m * (room(*k) + 1);
        let all = 0..tasks.len();
        if all.clone().filter(zero).count() <= cpus || !all.clone().any(|k| miss(&k)) {
            return true;
        }
        let slack = |k: usize| {
            if miss(&k) {
                slacks[k]
            } else {
                slacks[k].max(room(k) - interference(k, room(k) + 1).div_euclid(m))
            }
        };
        let next: Vec<i128> = all.map(slack).collect();
        if next == slacks {
            return false;
        }
        slacks = next;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ticks_finish_the_same_jobs(system in periodic_system()) {
        let policy = build("edzl", &system);
        let rule = policy.rule();
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
        prop_assert_eq!(finished, ticks::simulate(&system, &rule, Order::Deadline, HORIZON));
        prop_assert_eq!(violations(&trace, &system), "");
    }

    /// Cho et al. 2002: if global EDF meets every deadline, so does EDZL. At every instant it runs
    /// the same jobs, although possibly on other CPUs.
    #[test]
    fn it_runs_what_global_edf_runs_where_that_is_not_late(system in periodic_system()) {
        let options = SimOptions::until(HORIZON);
        let long = SimOptions::until(Time::from_ns(2 * HORIZON.ns()));
        if misses(&run(&system, build("g-edf", &system), &long)) == 0 {
            let edf = run(&system, build("g-edf", &system), &options);
            let edzl = run(&system, build("edzl", &system), &options);
            prop_assert_eq!(misses(&edzl), 0);
            prop_assert_eq!(executions(&edzl), executions(&edf));
        }
    }

    /// The fast form, compared with the formulas of its header.
    #[test]
    fn its_test_is_its_formulas(system in systems(2..5, 8, 10..100, Deadlines::Constrained)) {
        let tasks: Vec<Sporadic> = system.tasks.values().map(Sporadic::from).collect();
        let cpus = system.platform.cpu_count();
        prop_assert_eq!(edzl::accepts(&tasks, cpus), accepted_slowly(&tasks, cpus));
    }

    /// Includes overruns, requests, simultaneous events in any order, and a clone in the middle.
    #[test]
    fn rich_systems_are_clean_and_repeat(system in rich_system(), seed in any::<u64>()) {
        let system = with_random_ranks(&system, seed);
        if !system.platform.is_unit_speed() {
            prop_assert!(Registry::standard().build("edzl", &system).is_err());
            return Ok(());
        }
        let policy = build("edzl", &system);
        for explore in [None, Some(seed)] {
            let options = SimOptions { seed, explore, ..SimOptions::until(HORIZON) };
            let logged = Logged::new(policy.clone());
            let log = logged.log();
            let trace = run(&system, Box::new(logged), &options);
            prop_assert_eq!(violations(&trace, &system), "");
            prop_assert_eq!(&trace, &run(&system, policy.clone(), &options));
            let log = log.lock().unwrap();
            let (first, rest) = log.split_at(log.len() / 2);
            let mut copy = policy.clone();
            prop_assert_eq!(first_divergence(&mut copy, first), None);
            prop_assert_eq!(first_divergence(&mut copy.clone(), rest), None);
        }
    }

    /// Overheads of the machine count as execution for the policy, and for its rule.
    #[test]
    fn overheads_break_no_rule(system in periodic_system(), costs in prop::array::uniform6(0i64..3)) {
        let mut system = system;
        let [release, scheduling, context_switch, migration, interrupt, tick] =
            costs.map(Duration::from_ns);
        system.platform.overheads = layland_model::Overheads {
            release, scheduling, context_switch, migration, interrupt, tick,
            tick_period: Duration::from_ns(7),
            block_reload_time: Duration::ZERO,
        };
        let trace = run(&system, build("edzl", &system), &SimOptions::until(HORIZON));
        prop_assert_eq!(violations(&trace, &system), "");
    }
}
