//! Random runs: against the tick-by-tick twin, and against every bound.

use crate::draw::case;
use crate::twin;
use layland_model::{Duration, Time};
use layland_ros::{Executor, ExecutorKind, Timers, bounds, check, run, simulate};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

/// How many random cases a test takes. `LAYLAND_ROS_CASES=100000 cargo test --release -p layland-ros` is the long form.
fn cases(default: u32) -> TestRunner {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let cases = std::env::var("LAYLAND_ROS_CASES").ok().and_then(|cases| cases.parse().ok());
    TestRunner::new(ProptestConfig {
        cases: cases.unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

#[test]
fn runs_are_those_of_the_twin_and_hold_the_invariants() {
    let result = cases(1500).run(&case(true, true), |case| {
        prop_assert_eq!(case.placed.validate(), []);
        // The server where a simulation puts it, too.
        for executor in [&case.placed, &case.executor] {
            let work = |at, number| case.work(at, number);
            let record = simulate(executor, &case.arrivals, work);
            let (mut rows, polls) = twin::run(executor, &case.arrivals, work, 1500);
            rows.retain(|row| row.5 < 1500);
            let seen = record.jobs.iter().filter(|job| job.finish.ns() < 1500).map(|job| {
                let [activation, origin, start, finish] =
                    [job.activation, job.origin, job.start, job.finish].map(Time::ns);
                (job.callback, job.number, activation, origin, start, finish, job.thread)
            });
            prop_assert_eq!(seen.collect::<Vec<_>>(), rows);
            let seen: Vec<i64> =
                record.polls.iter().map(|at| at.ns()).filter(|&at| at < 1500).collect();
            prop_assert_eq!(seen, polls);
            prop_assert_eq!(check(executor, &case.arrivals, &record), []);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:?}"));
}

#[test]
fn one_thread_of_several_is_the_default_executor() {
    let result = cases(500).run(&case(false, true), |case| {
        for timers in [Timers::Live, Timers::Snapshot] {
            let work = |at, number| case.work(at, number);
            let of =
                |kind| simulate(&Executor { kind, ..case.placed.clone() }, &case.arrivals, work);
            let several = of(ExecutorKind::Multi { timers, threads: 1 });
            prop_assert_eq!(several, of(ExecutorKind::Default(timers)));
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:?}"));
}

/// Runs cases against all bounds; gives how often a bound was compared, and met.
fn against_bounds(default: u32, chains: bool) -> (u32, u32) {
    let (compared, met) = (Cell::new(0), Cell::new(0));
    let limit = Duration::from_ns(3000);
    let result = cases(default).run(&case(false, chains), |case| {
        let full = simulate(&case.placed, &case.arrivals, |at, _| case.executor.callbacks[at].wcet);
        let less = simulate(&case.placed, &case.arrivals, |at, number| case.work(at, number));
        let late = run(&case.executor, Duration::from_ns(160)).unwrap();
        let found = bounds::all(&case.executor, limit);
        for record in [full, less, late] {
            for (at, bounds) in found.iter().enumerate() {
                for bound in &bounds.found {
                    let Some(seen) = record.longest_response(at) else { continue };
                    prop_assert!(seen <= bound.response, "{}: {} > {:?}", at, seen, bound);
                    compared.set(compared.get() + 1);
                    met.set(met.get() + u32::from(seen == bound.response));
                }
            }
            for chain in case.executor.chains(100) {
                let Ok(bound) = bounds::latency(&case.executor, &chain, limit) else { continue };
                let of_chain = record.longest_latency(chain[0], chain[chain.len() - 1]);
                prop_assert!(
                    of_chain.is_none_or(|seen| seen <= bound),
                    "{chain:?} {of_chain:?} {bound}"
                );
                compared.set(compared.get() + 1);
                met.set(met.get() + u32::from(of_chain == Some(bound)));
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:?}"));
    (compared.get(), met.get())
}

#[test]
fn no_run_exceeds_a_bound() {
    let (compared, met) = against_bounds(800, false);
    println!("{compared} comparisons, {met} bounds met");
    assert!(compared > 2000 && met > 20, "{compared} comparisons, {met} bounds met");
}

#[test]
fn no_run_of_chains_exceeds_a_bound() {
    let (compared, met) = against_bounds(800, true);
    println!("{compared} comparisons, {met} bounds met");
    assert!(compared > 2000 && met > 20, "{compared} comparisons, {met} bounds met");
}

#[test]
fn a_record_that_lies_is_caught() {
    let (lies, caught) = (Cell::new(0_u32), Cell::new(0_u32));
    let result = cases(300).run(
        &(case(true, true), any::<prop::sample::Index>(), 0..6),
        |(case, which, lie)| {
            let work = |at, number| case.work(at, number).max(layland_model::Service::from_ns(1));
            let truth = simulate(&case.placed, &case.arrivals, work);
            if truth.jobs.is_empty() {
                return Ok(());
            }
            let mut record = truth.clone();
            let at = which.index(record.jobs.len());
            let later = |time: Time| time + Duration::from_ns(1);
            match lie {
                0 => record.jobs[at].finish = later(record.jobs[at].finish),
                1 => record.jobs[at].start = later(record.jobs[at].start),
                2 => record.jobs[at].number += 1,
                3 => record.jobs[at].activation = later(record.jobs[at].activation),
                4 => drop(record.jobs.remove(at)),
                _ => record.jobs[at].thread += case.placed.kind.threads(),
            }
            lies.set(lies.get() + 1);
            let found = check(&case.placed, &case.arrivals, &record);
            prop_assert_ne!(found, [], "lie {} of job {}", lie, at);
            caught.set(caught.get() + 1);
            Ok(())
        },
    );
    result.unwrap_or_else(|error| panic!("{error:?}"));
    assert!(lies.get() > 200 && lies == caught);
}
