//! Servers of fixed priority: the policies are compared with their rule and their tick-by-tick
//! twin, and the guarantees of the tasks beside servers with runs in which the servers use all they
//! can.

use crate::schedules::{build, finished, run, run_repeated, violations};
use layland_checker::check;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, Duration, ExecutionModel, Order, ScheduleRule, Separation, Service, System, Task,
    TaskId, Time,
};
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::cases::{Deadlines, on_random, systems};
use layland_testkit::registry;
use layland_testkit::served::{self, with_servers};
use layland_testkit::strategies::{periodic_system, rich_system};
use layland_trace::Counters;
use proptest::prelude::*;
use std::cell::Cell;

const HORIZON: Time = Time::from_ns(120);
const POLICIES: [(&str, Order); 6] = [
    ("ss", Order::RateMonotonic),
    ("ds", Order::RateMonotonic),
    ("ps", Order::RateMonotonic),
    ("ss:order=fp", Order::Given),
    ("ds:order=dm", Order::DeadlineMonotonic),
    ("ps:order=fp", Order::Given),
];

fn draws() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 8)
}

/// Returns the schedule of a server of 2 in each 5 and a task of 2 in each 6 below it:
/// `(start, end, task)`.
fn beside_a_stream(spec: &str, jobs: &[(i64, i64)]) -> Vec<(i64, i64, u32)> {
    let server = Task {
        budget: Some(Service::from_ns(2)),
        behaviour: Behaviour::Explicit(jobs.iter().map(|&(at, _)| Time::from_ns(at)).collect()),
        execution: ExecutionModel::List(
            jobs.iter().map(|&(_, work)| Service::from_ns(work)).collect(),
        ),
        ..Task::implicit("server", Service::from_ns(9), Duration::from_ns(5))
    };
    let other = Task::implicit("other", Service::from_ns(2), Duration::from_ns(6));
    let system = System::new(1, vec![server, other]);
    let trace = run(&system, build(spec, &system), &SimOptions::until(Time::from_ns(18)));
    assert_eq!(violations(spec, &trace, &system), "");
    let mut all: Vec<_> =
        (trace.segments.iter()).map(|it| (it.start.ns(), it.end.ns(), it.job.task.0)).collect();
    all.sort_unstable();
    all
}

/// The three kinds differ: one keeps its budget, one loses it, and one gets it back later.
#[test]
fn a_budget_is_kept_lost_or_delayed() {
    let late = [(4, 4)];
    let of_other = |from, to| (from, to, 1);
    let of_server = |from, to| (from, to, 0);
    let deferrable = [of_other(0, 2), of_server(4, 7), of_other(7, 9), of_server(10, 11)];
    assert_eq!(beside_a_stream("ds", &late)[..4], deferrable);
    let polling = [of_other(0, 2), of_server(5, 7), of_other(7, 9), of_server(10, 12)];
    assert_eq!(beside_a_stream("ps", &late)[..4], polling);
    let sporadic = [of_other(0, 2), of_server(4, 6), of_other(6, 8), of_server(9, 11)];
    assert_eq!(beside_a_stream("ss", &late)[..4], sporadic);
}

/// Ends come first, then replenishments, then arrivals.
#[test]
fn simultaneous_events_have_an_order() {
    // At 5 the budget of a polling server is replenished and lost before the job arrives.
    let polling = beside_a_stream("ps", &[(5, 1)]);
    assert!(polling.contains(&(10, 11, 0)), "{polling:?}");
    // The first job ends when the second arrives. The server is activated again at 2, and the rest
    // of its chunk counts from 7 on, not from 6.
    let sporadic = beside_a_stream("ss", &[(1, 1), (2, 4)]);
    let of_server: Vec<_> = sporadic.into_iter().filter(|&(_, _, task)| task == 0).collect();
    assert_eq!(of_server[..4], [(1, 2, 0), (2, 3, 0), (6, 8, 0), (11, 12, 0)]);
}

/// A server that uses nothing delays no task. Without servers the policies are `p-rm`, packed by load.
#[test]
fn without_budgets_they_are_partitioned_fixed_priorities() {
    on_random(200, 150, systems(1..3, 6, 20..103, Deadlines::Arbitrary), |system| {
        for (spec, plain) in [("ss", "p-rm"), ("ds:order=dm", "p-dm"), ("ps", "p-rm")] {
            let (Ok(ours), Ok(theirs)) =
                (registry().build(spec, &system), registry().build(plain, &system))
            else {
                return Ok(false);
            };
            let options = SimOptions::until(HORIZON);
            prop_assert_eq!(run(&system, ours, &options), run(&system, theirs, &options));
            let [ours, theirs] = [spec, plain].map(|spec| {
                assess(registry(), spec, &system, &AssessOptions::by_tests()).expect("it exists")
            });
            prop_assert_eq!(ours.verdict, theirs.verdict, "{}", spec);
        }
        Ok(true)
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn ticks_finish_the_same_jobs(system in periodic_system(), draws in draws()) {
        let system = with_servers(system, &draws);
        for (spec, order) in POLICIES {
            let Ok(policy) = registry().build(spec, &system) else { continue };
            let rule = policy.rule();
            let trace = run(&system, policy, &SimOptions::until(HORIZON));
            let expected = served::simulate(&system, &rule, order, HORIZON);
            prop_assert_eq!(finished(&trace), expected, "{}: {:#?}", spec, system);
            prop_assert_eq!(violations(spec, &trace, &system), "");
        }
    }

    /// The schedule of one kind of server keeps the rule of another kind only if they are equal.
    #[test]
    fn schedules_of_other_servers_break_the_rule(system in periodic_system(), draws in draws()) {
        let system = with_servers(system, &draws);
        for ours in ["ss", "ds", "ps"] {
            for theirs in ["ss", "ds", "ps", "p-rm"] {
                let (Ok(policy), Ok(other)) =
                    (registry().build(ours, &system), registry().build(theirs, &system))
                else {
                    continue;
                };
                let rule = policy.rule();
                let ScheduleRule::Served { groups, .. } = &rule else { panic!("{rule:?}") };
                // `p-rm` packs by WCETs.
                if groups.len() > 1 {
                    continue;
                }
                let options = SimOptions::until(HORIZON);
                let (right, wrong) = (run(&system, policy, &options), run(&system, other, &options));
                let is_clean = check(&wrong, &system, &rule, 5).is_clean();
                prop_assert_eq!(is_clean, right == wrong, "{} {} {:#?}", ours, theirs, system);
            }
        }
    }

    /// Includes overruns, requests, simultaneous events in any order, and a clone in the middle.
    #[test]
    fn rich_systems_are_clean_and_repeat(
        system in rich_system(),
        draws in draws(),
        seed in any::<u64>(),
    ) {
        let mut system = with_random_ranks(&system, seed);
        for (task, &draw) in system.tasks.values_mut().zip(&draws) {
            let most = task.period.min(task.deadline).ns();
            task.budget = (draw % 2 == 0).then(|| Service::from_ns(1 + (draw / 2 % most as u64) as i64));
        }
        for (spec, _) in POLICIES {
            let Ok(policy) = registry().build(spec, &system) else { continue };
            for explore in [None, Some(seed)] {
                let options = SimOptions { seed, explore, ..SimOptions::until(HORIZON) };
                let trace = run_repeated(&system, policy.clone(), &options);
                prop_assert_eq!(violations(spec, &trace, &system), "");
            }
        }
    }
}

/// No bound of a task beside servers is exceeded, for any arrivals. Some bounds are reached.
#[test]
fn what_is_guaranteed_beside_servers_holds() {
    let inputs = (
        systems(1..2, 5, 20..90, Deadlines::Constrained),
        draws(),
        prop::array::uniform4(any::<u64>()),
    );
    let reached = Cell::new(0);
    on_random(1_000, 300, inputs, |(system, draws, seeds)| {
        let system = with_servers(system, &draws);
        let mut any = false;
        for (spec, _) in POLICIES {
            let found = assess(registry(), spec, &system, &AssessOptions::by_tests())
                .expect("the policy exists");
            if found.refused.is_some() {
                continue;
            }
            for seed in seeds {
                let mut run = system.clone();
                for (at, task) in run.tasks.values_mut().enumerate() {
                    if task.budget.is_some() {
                        continue;
                    }
                    task.offset = Duration::from_ns((seed >> (5 * at) & 15) as i64);
                    if seed >> at & 1 == 1 {
                        let max = Duration::from_ns(1 + (seed >> 7 & 7) as i64);
                        task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
                    }
                }
                let mut counters = Counters::new(run.tasks.len(), run.platform.cpu_count());
                let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(500)) };
                // The policy places the tasks of the system, whatever their offsets.
                let policy = registry().build(spec, &system).expect("it was built before");
                simulate(&run, policy, &mut counters, &options).expect("the horizon is in range");
                for (id, bound) in found.bounds.iter() {
                    let Bound::Response { within, .. } = bound else { continue };
                    let longest = counters.task(id).max_response.unwrap_or_default();
                    let is_served = |id: TaskId| system.tasks[id].budget.is_some();
                    any |= system.tasks.ids().any(is_served);
                    let is_reached = longest == *within && system.tasks.ids().any(is_served);
                    reached.set(reached.get() + usize::from(is_reached));
                    prop_assert!(
                        longest <= *within,
                        "{spec} {id}: {longest} > {within} {system:#?}"
                    );
                }
            }
        }
        Ok(any)
    });
    assert!(reached.get() > 100, "{reached:?}");
}
