//! Random runs, compared with the tick-by-tick twin and with every bound.

use crate::draw::case;
use crate::twin;
use layland_model::{Duration, Service, Time};
use layland_ros::{
    Arrivals, Callback, CallbackKind, Executor, ExecutorKind, Timers, bounds, check, run, simulate,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// The number of random cases of a test. Long form:
/// `LAYLAND_ROS_CASES=100000 cargo test --release -p layland-ros`.
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
    let result = cases(750).run(&case(true, true), |case| {
        prop_assert_eq!(case.placed.validate(), []);
        // Also run with the server at the position of the simulation.
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
    let result = cases(250).run(&case(false, true), |case| {
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

/// Checks cases against all bounds. Returns the longest response times as shares of the bounds, in
/// thousandths, by analysis.
fn against_bounds(default: u32, chains: bool) -> BTreeMap<&'static str, Vec<i64>> {
    let shares: RefCell<BTreeMap<&str, Vec<i64>>> = RefCell::default();
    let limit = Duration::from_ns(3000);
    let result = cases(default).run(&case(false, chains), |case| {
        let full = simulate(&case.placed, &case.arrivals, |at, _| case.executor.callbacks[at].wcet);
        let less = simulate(&case.placed, &case.arrivals, |at, number| case.work(at, number));
        let late = run(&case.executor, Duration::from_ns(160)).unwrap();
        let records = [full, less, late];
        let seen = |name, longest: Option<Duration>, bound: Duration| {
            let Some(longest) = longest else { return };
            let of_bound = longest.ns() * 1000 / bound.ns();
            shares.borrow_mut().entry(name).or_default().push(of_bound);
        };
        let found = bounds::all(&case.executor, limit);
        for (at, bounds) in found.iter().enumerate() {
            let longest = records.iter().filter_map(|record| record.longest_response(at)).max();
            for bound in &bounds.found {
                prop_assert!(longest <= Some(bound.response), "{at}: {longest:?} > {bound:?}");
                seen(bound.analysis.name(), longest, bound.response);
            }
        }
        for chain in case.executor.chains(100) {
            let Ok(bound) = bounds::latency(&case.executor, &chain, limit) else { continue };
            let (first, last) = (chain[0], chain[chain.len() - 1]);
            let each = records.iter().filter_map(|record| record.longest_latency(first, last));
            let longest = each.max();
            prop_assert!(longest <= Some(bound), "{chain:?} {longest:?} {bound}");
            seen("chain", longest, bound);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:?}"));
    shares.into_inner()
}

/// Prints the shares, and asserts that there are enough of them, and that some bounds are reached.
#[expect(clippy::print_stdout, reason = "the long form is run for these figures")]
fn tell(shares: BTreeMap<&str, Vec<i64>>, most: usize) {
    let (mut compared, mut met) = (0, 0);
    for (name, mut shares) in shares {
        shares.sort_unstable();
        let (largest, half) = (shares[shares.len() - 1], shares[shares.len() / 2]);
        println!(
            "{name}: {} compared, largest {largest}, half from {half} per mille",
            shares.len()
        );
        compared += shares.len();
        met += shares.iter().filter(|&&share| share == 1000).count();
    }
    assert!(compared > most && met > 10, "{compared} compared, {met} bounds met");
}

#[test]
fn no_run_exceeds_a_bound() {
    tell(against_bounds(400, false), 350);
}

#[test]
fn no_run_of_chains_exceeds_a_bound() {
    tell(against_bounds(400, true), 350);
}

#[test]
fn a_record_that_lies_is_caught() {
    let (lies, caught) = (Cell::new(0_u32), Cell::new(0_u32));
    let result = cases(150).run(
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
    assert!(lies.get() > 100 && lies == caught);
}

/// No analysis finds a bound for every callback of an overloaded executor.
#[test]
fn an_overloaded_executor_has_a_callback_without_bound() {
    let seen = Cell::new((0, 0));
    let result = cases(300).run(&case(false, true), |case| {
        let overload = case.executor.overload();
        let (over, under) = seen.get();
        let is_overloaded = overload.is_some();
        seen.set((over + u32::from(is_overloaded), under + u32::from(!is_overloaded)));
        if is_overloaded {
            let bounds = bounds::all(&case.executor, Duration::from_ms(100));
            prop_assert!(bounds.iter().any(|bounds| bounds.best().is_none()), "{overload:?}");
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:?}"));
    let (over, under) = seen.get();
    assert!(over > 0 && under > 0, "{over} overloaded, {under} not");
}

/// A group that needs more than one thread falls behind, even if there are threads for it.
#[test]
fn a_group_that_needs_more_than_a_thread_falls_behind() {
    let executor = |reentrant, group: [Option<usize>; 2]| {
        let callback = |(name, group)| Callback {
            group,
            reentrant,
            ..Callback::new(name, CallbackKind::Timer, Service::from_ms(1))
                .arriving(Arrivals::every(Duration::from_ms(1)))
        };
        let callbacks = ["a", "b"].into_iter().zip(group).map(callback).collect();
        Executor::new(ExecutorKind::Multi { timers: Timers::Live, threads: 2 }, callbacks)
    };
    for (reentrant, group, overloaded) in [
        (false, [Some(0), Some(0)], Some(vec![0, 1])),
        (false, [None, None], None),
        (false, [Some(0), Some(1)], None),
        (true, [Some(0), Some(0)], None),
    ] {
        let executor = executor(reentrant, group);
        let overload = executor.overload();
        assert_eq!(overload.map(|overload| overload.callbacks), overloaded, "{executor:?}");
        let longest = |ms| {
            let record = run(&executor, Duration::from_ms(ms)).expect("it is valid");
            (0..2).filter_map(|at| record.longest_response(at)).max()
        };
        assert_eq!(longest(200) > longest(100), overloaded.is_some(), "{executor:?}");
    }
}
