//! Verdicts and bounds, compared with every state of small systems.
//!
//! A longer run: `cargo run --release -p layland-testkit -- exhaustive --sets 20000`.

use layland_model::{Algorithm, Duration, Form, Order, Service, System, Task};
use layland_testkit::exhaustive::{Arrival, Judgement, Tally, TallyOptions, judge, replay, tally};
use layland_testkit::registry;

const ASKED: TallyOptions =
    TallyOptions { seed: 3, sets: 150, tasks: 4, any_weak: false, shorter: false };

fn holds(spec: &str, found: &Tally) {
    assert!(found.bad.is_empty(), "{spec}: set {}: {}", found.bad[0].0, found.bad[0].1.why);
    assert_eq!(found.not_replayed, [0; 0], "{spec}: the simulator does not miss");
    assert_eq!(found.count(Judgement::GaveUp), 0, "{spec}");
}

/// Checks every policy whose rule is an order of jobs.
#[test]
fn no_verdict_is_wrong_on_small_sets() {
    let mut held = 0;
    for info in registry() {
        let Algorithm::Ordered(form, _) = info.algorithm(&Default::default()) else { continue };
        let found = tally(&info.name, ASKED);
        holds(&info.name, &found);
        let misses = found.count(Judgement::UnknownMisses) + found.count(Judgement::RightNo);
        // Partitioned policies reject sets that do not fit.
        let least = if form == Form::Partitioned { 0 } else { 5 };
        assert!(
            found.count(Judgement::RightYes) >= 40 && misses >= least,
            "{}: {found:?}",
            info.name
        );
        held += 1;
    }
    assert_eq!(held, Form::ALL.len() * Order::ALL.len());
}

/// Jobs without laxity come first.
#[test]
fn no_verdict_on_edzl_is_wrong_on_small_sets() {
    let found = tally("edzl", TallyOptions { sets: 400, ..ASKED });
    holds("edzl", &found);
    let misses = found.count(Judgement::UnknownMisses) + found.count(Judgement::RightNo);
    assert!(found.count(Judgement::RightYes) >= 200 && misses >= 5, "{found:?}");
}

/// Jobs may end before they reach their WCET.
#[test]
fn no_verdict_is_wrong_when_jobs_end_early() {
    for spec in ["weak-rm", "weak-edf", "strong-dm", "g-edf", "g-rm"] {
        holds(spec, &tally(spec, TallyOptions { tasks: 3, shorter: true, ..ASKED }));
    }
}

/// The analyses of affinities claim to hold for every scheduler with the weak invariant.
#[test]
fn no_verdict_on_affinities_is_wrong_for_any_scheduler_with_the_weak_invariant() {
    for spec in ["weak-edf", "weak-rm", "weak-dm", "weak-fp"] {
        let found = tally(spec, TallyOptions { seed: 1, sets: 600, any_weak: true, ..ASKED });
        holds(spec, &found);
        assert!(found.count(Judgement::RightYes) >= 200, "{spec}: {found:?}");
    }
}

fn system(tasks: &[(i64, i64, i64, &str)]) -> System {
    let task = |&(c, d, t, cpus): &(i64, i64, i64, &str)| {
        let (wcet, period) = (Service::from_ns(c), Duration::from_ns(t));
        let mut task = Task::implicit(format!("{c}/{d}/{t}@{cpus}"), wcet, period);
        (task.deadline, task.affinity) = (Duration::from_ns(d), cpus.parse().ok());
        task
    };
    System::new(2, tasks.iter().map(task).collect())
}

/// Sets that were once accepted, when carry-in was counted without the first unit of a waiting job.
#[test]
fn sets_that_miss_by_one_unit_are_not_accepted() {
    let shortest = system(&[(1, 2, 2, "0-1"), (1, 2, 2, "0"), (1, 8, 8, "0-1"), (1, 2, 24, "0-1")]);
    let another = system(&[(2, 4, 4, "1"), (3, 5, 5, "0-1"), (1, 5, 5, "0"), (2, 6, 7, "0-1")]);
    for system in [&shortest, &another] {
        for any_weak in [false, true] {
            let judged = judge("weak-rm", system, any_weak, false).unwrap();
            assert_eq!(judged.judgement, Judgement::UnknownMisses, "{}", judged.why);
            assert!(!judged.arrivals.is_empty());
        }
    }
    let arrival = |(at, task)| Arrival { at, task, work: 1 };
    let arrivals = [(0, 0), (0, 1), (1, 2), (1, 3), (2, 0), (2, 1)].map(arrival);
    assert!(replay("weak-rm", &shortest, &arrivals));
}
