//! Tasks that follow others: schedules compared with the tick simulator and the checker, copies of
//! policies, wrong schedules, and cycles.

use crate::schedules::{build, finished, run, run_repeated, violations};
use layland_checker::check;
use layland_model::{Duration, ExecutionModel, Order, Service, System, Time};
use layland_sim::{Horizon, SimOptions, simulate};
use layland_testkit::cases::{Deadlines, on_random, some_sporadic, systems};
use layland_testkit::graphs::{with_edges, with_one_deadline};
use layland_testkit::{registry, ticks};
use layland_trace::{JobEnd, Trace};
use proptest::prelude::*;

const POLICIES: [(&str, Order); 9] = [
    ("g-edf", Order::Deadline),
    ("g-edf:tie=running", Order::Deadline),
    ("p-edf", Order::Deadline),
    ("g-rm", Order::RateMonotonic),
    ("g-dm", Order::DeadlineMonotonic),
    ("g-fp", Order::Given),
    ("p-rm", Order::RateMonotonic),
    ("p-dm", Order::DeadlineMonotonic),
    ("p-fp", Order::Given),
];
const HORIZON: Time = Time::from_ns(400);

fn drawn() -> impl Strategy<Value = System> {
    let sets = systems(1..4, 9, 40..130, Deadlines::Arbitrary);
    (sets, any::<u64>()).prop_map(|(system, seed)| with_edges(system, seed))
}

/// Adds drawn arrivals and demands: early ends, overruns, and jobs without demand.
fn rich() -> impl Strategy<Value = System> {
    let sets = systems(1..4, 9, 40..110, Deadlines::Arbitrary);
    (sets, any::<(u64, u8, u8)>()).prop_map(|(mut system, (seed, sporadic, late))| {
        for (index, task) in system.tasks.values_mut().enumerate() {
            if late >> (index % 8) & 1 == 1 {
                task.jitter = Duration::from_ns(3);
            }
            let max = Service::from_ns(task.own_wcet().ns() + i64::from(late % 4));
            task.execution = ExecutionModel::Uniform { min: Service::ZERO, max };
        }
        with_edges(some_sporadic(system, sporadic), seed)
    })
}

/// Returns the number of jobs that waited for others after they had arrived.
fn waited(trace: &Trace) -> usize {
    trace.jobs.iter().filter(|record| record.job.release > record.job.arrival).count()
}

#[test]
fn schedules_are_those_of_the_tick_simulator() {
    for (spec, order) in POLICIES {
        on_random(80, 20, drawn(), |system| {
            prop_assert_eq!(system.validate(), []);
            let Ok(policy) = registry().build(spec, &system) else { return Ok(false) };
            let rule = policy.rule();
            let trace = run_repeated(&system, policy, &SimOptions::until(HORIZON));
            prop_assert_eq!(violations(spec, &trace, &system), "");
            let ours: Vec<_> =
                finished(&trace).into_iter().filter(|job| job.finish <= HORIZON.ns()).collect();
            prop_assert_eq!(
                &ours,
                &ticks::simulate(&system, &rule, order, HORIZON),
                "{} {:#?}",
                spec,
                system
            );
            Ok(waited(&trace) > 0)
        });
    }
}

#[test]
fn rich_systems_keep_the_rule_in_any_order_of_simultaneous_events() {
    on_random(200, 100, (rich(), any::<u64>()), |(system, seed)| {
        let mut said = false;
        for (spec, _) in POLICIES {
            let Ok(policy) = registry().build(spec, &system) else { continue };
            for explore in [None, Some(seed)] {
                let options = SimOptions { seed, explore, ..SimOptions::until(HORIZON) };
                let trace = run(&system, policy.clone(), &options);
                prop_assert_eq!(violations(spec, &trace, &system), "");
                said |= waited(&trace) > 0;
            }
        }
        Ok(said)
    });
}

/// The schedule of a set without edges violates the rule of the set with them, wherever an edge
/// matters. The checker also finds a job that is released late, or that ends although its
/// predecessor did not.
#[test]
fn what_does_not_wait_is_found() {
    on_random(60, 18, drawn(), |system| {
        let Ok(policy) = registry().build("g-edf", &system) else { return Ok(false) };
        let rule = policy.rule();
        let mut alone = system.clone();
        alone.tasks.values_mut().for_each(|task| task.follows = [].into());
        let trace = run(&alone, build("g-edf", &alone), &SimOptions::until(HORIZON));
        let of = |job: layland_model::JobId| trace.jobs.iter().find(|record| record.job.id == job);
        let ends_before = |at: Time, job| {
            let end = of(job).and_then(|record| record.end);
            matches!(end, Some((end, JobEnd::Completed)) if end <= at)
        };
        let runs_early = trace.segments.iter().any(|segment| {
            let follows = &system.tasks[segment.job.task].follows;
            let job = |&task| layland_model::JobId { task, ..segment.job };
            follows.iter().any(|task| !ends_before(segment.start, job(task)))
        });
        if runs_early {
            prop_assert!(!check(&trace, &system, &rule, 5).is_clean(), "{:#?}", system);
        }
        let right = run(&system, policy, &SimOptions::until(HORIZON));
        for at in 0..right.jobs.len() {
            let mut wrong = right.clone();
            let job = &mut wrong.jobs[at].job;
            if job.release > job.arrival {
                job.release = job.arrival;
                prop_assert!(!check(&wrong, &system, &rule, 5).is_clean(), "{:#?}", wrong.jobs[at]);
            }
        }
        Ok(runs_early && waited(&right) > 0)
    });
}

#[test]
fn a_found_cycle_repeats_with_jobs_that_wait() {
    cycles_repeat("g-edf", 80, drawn());
    let one = (drawn(), any::<u64>());
    cycles_repeat("federated", 400, one.prop_map(|(set, seed)| with_one_deadline(set, seed)));
}

fn cycles_repeat(spec: &str, cases: u32, sets: impl Strategy<Value = System> + 'static) {
    on_random(cases, 30, sets, |system| {
        let Ok(policy) = registry().build(spec, &system) else { return Ok(false) };
        let horizon = Horizon::Recurrence { at_most: Time::from_ns(3_000) };
        let options = SimOptions { horizon, ..SimOptions::until(Time::ZERO) };
        let mut trace = Trace::default();
        let outcome = simulate(&system, policy.clone(), &mut trace, &options).unwrap();
        let Some(cycle) = outcome.cycle else { return Ok(false) };
        let trace = run(&system, policy, &SimOptions::until(cycle.from + 3 * cycle.length));
        let turn = |index: i64| -> Vec<_> {
            let (from, to) =
                (cycle.from + index * cycle.length, cycle.from + (index + 1) * cycle.length);
            let mut turn: Vec<_> = (trace.segments.iter())
                .filter(|segment| segment.start < to && segment.end > from)
                .map(|segment| {
                    let (start, end) = (segment.start.max(from), segment.end.min(to));
                    (start - from, segment.cpu, end - from, segment.job.task)
                })
                .collect();
            turn.sort_unstable();
            turn
        };
        prop_assert_eq!(turn(0), turn(1));
        prop_assert_eq!(turn(0), turn(2));
        Ok(waited(&trace) > 0)
    });
}

/// Policies that only use ready jobs accept followers, and all others give the reason for their rejection.
#[test]
fn every_policy_takes_followers_or_says_that_it_does_not() {
    let task = |name| layland_model::Task {
        priority: Some(1),
        ..layland_model::Task::implicit(name, Service::from_ns(1), Duration::from_ns(8))
    };
    let mut system = System::new(2, vec![task("a"), task("b")]);
    let [a, b] = [0, 1].map(layland_model::TaskId);
    system.tasks[b].follows = [a].into();
    let mut takers = Vec::new();
    for info in registry().iter() {
        match registry().build(&info.name, &system) {
            Ok(_) => takers.push(info.name.to_string()),
            Err(error) => {
                assert!(
                    error.to_string().contains("`b` follows another one"),
                    "{}: {error}",
                    info.name
                );
            }
        }
    }
    let expected = ["c", "g", "p"]
        .map(|form| ["dm", "edf", "fp", "rm"].map(|order| format!("{form}-{order}")));
    let mut expected = [&expected.concat()[..], &["federated".to_owned()]].concat();
    takers.sort_unstable();
    expected.sort_unstable();
    assert_eq!(takers, expected);
}
