//! Locks and self-suspension: the policy against its tick-by-tick twin and its rule.

use crate::schedules::{build, run, run_repeated, violations};
use layland_model::{Protocol, ScheduleRule, System, Time};
use layland_sim::{SimOptions, with_random_ranks};
use layland_testkit::locks::{self, with_steps};
use layland_testkit::registry;
use layland_testkit::strategies::{periodic_system, rich_system};
use proptest::prelude::*;

const HORIZON: Time = Time::from_ns(120);

/// Every order with every protocol that it goes with.
fn specs() -> impl Iterator<Item = (String, Protocol)> {
    Protocol::ALL.into_iter().flat_map(|protocol| {
        let orders: &[&str] = match protocol {
            Protocol::Stack => &["p-edf"],
            Protocol::Plain | Protocol::FmlpPlus | Protocol::Msrp => &["p-edf", "p-fp", "p-rm"],
            _ => &["p-fp", "p-dm"],
        };
        let spec = move |order: &&str| format!("{order}:locks={}", protocol.abbreviation());
        orders.iter().map(move |order| (spec(order), protocol))
    })
}

/// Jobs that are given up hold nothing here, and the twin knows none.
fn without_aborts(mut system: System) -> System {
    for task in system.tasks.values_mut() {
        if task.on_miss == layland_model::OnMiss::Abort {
            task.on_miss = layland_model::OnMiss::Continue;
        }
    }
    system
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn ticks_run_the_same_jobs(system in periodic_system(), seed in any::<u64>()) {
        for (spec, protocol) in specs() {
            let system = with_steps(without_aborts(system.clone()), protocol, seed);
            prop_assert_eq!(system.validate(), []);
            let Ok(policy) = registry().build(&spec, &system) else { continue };
            let rule = policy.rule();
            if !matches!(rule, ScheduleRule::Locking(_)) {
                // No task has drawn steps.
                continue;
            }
            let trace = run(&system, policy, &SimOptions::until(HORIZON));
            let expected = locks::simulate(&system, &rule, HORIZON);
            let found = locks::of_trace(&trace, system.platform.cpu_count());
            prop_assert_eq!(&found.locks, &expected.locks, "{}: {:#?}", &spec, &system);
            prop_assert_eq!(found, expected, "{}: {:#?}", &spec, &system);
            prop_assert_eq!(violations(&spec, &trace, &system), "");
        }
    }

    /// Also with overruns, drawn arrivals, simultaneous events in any order, and a clone in the middle.
    #[test]
    fn rich_systems_are_clean_and_repeat(system in rich_system(), seed in any::<u64>()) {
        for (spec, protocol) in specs() {
            let system = with_random_ranks(&with_steps(system.clone(), protocol, seed), seed);
            if registry().build(&spec, &system).is_err() {
                continue;
            }
            let options = SimOptions { explore: Some(seed), ..SimOptions::until(HORIZON) };
            let trace = run_repeated(&system, build(&spec, &system), &options);
            prop_assert_eq!(violations(&spec, &trace, &system), "");
        }
    }
}
