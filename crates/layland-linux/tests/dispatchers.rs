//! A dispatcher on every CPU, and a lock for each group of CPUs that share their tasks, on real threads.
//!
//! As in `fifo.rs`, logs, replays and the rules of the policies must be right on any machine, and nothing
//! depends on times.

#[expect(dead_code, reason = "these tests choose the threads that drive the policy")]
mod common;

use common::{alone, task, try_run_as};
use layland_linux::trace::{View, verify};
use layland_linux::{Dispatch, Entry, FifoOptions, Locks, Margin, Outcome, replay, with_slack};
use layland_model::{CpuId, Duration, ExecutionModel, Rate, System};
use layland_policy::Registry;
use std::collections::BTreeSet;

const DURATION: Duration = Duration::from_ms(600);

/// Runs a system, and asserts what holds on any machine.
fn sound(spec: &str, system: &System, dispatch: Dispatch) -> Option<Outcome> {
    let build = || Registry::standard().build(spec, system).unwrap();
    let as_asked = |options| FifoOptions { dispatch, ..options };
    let outcome = try_run_as(system, build(), DURATION, as_asked)?;
    let what = format!("{spec} {dispatch:?}");
    assert!(outcome.doubts.is_empty(), "{what}: {:?}", outcome.doubts);
    let violations = verify(&outcome.log, system, &build().rule());
    assert!(violations.is_empty(), "{what}: {violations:#?}");
    let replayed = replay(&outcome.log, system, &mut *build()).unwrap();
    assert_eq!(replayed.divergence, None, "{what}");
    assert_eq!(
        (replayed.events, replayed.decisions),
        (outcome.events, outcome.decisions),
        "{what}"
    );
    let trace = outcome.trace(system, View::Measured);
    for (id, task) in system.tasks.iter() {
        let jobs = trace.jobs.iter().filter(|job| job.job.id.task == id && job.end.is_some());
        let least = DURATION.div_floor(task.period) / 2;
        assert!(jobs.count() as i64 >= least, "{what}: {id} completes too few jobs");
    }
    Some(outcome)
}

/// Returns three tasks of two thirds each, with room for what the machine takes, so that they share two
/// CPUs.
fn shared() -> System {
    let mut system = System::new(2, vec![task("a", 12, 20), task("b", 24, 40), task("c", 36, 60)]);
    for task in system.tasks.values_mut() {
        task.execution = ExecutionModel::Fraction(Rate::new(4, 5));
    }
    with_slack(&system, &Margin::default())
}

/// Returns two tasks that have a CPU each.
fn divided() -> System {
    with_slack(&System::new(2, vec![task("a", 12, 20), task("b", 24, 40)]), &Margin::default())
}

fn cpus(outcome: &Outcome) -> BTreeSet<CpuId> {
    let given = outcome.log.records.iter().filter_map(|record| match record.entry {
        Entry::On { cpu, .. } => Some(cpu),
        _ => None,
    });
    given.collect()
}

/// Tasks that share two CPUs are dispatched on both, under one lock.
#[test]
fn cpus_that_share_tasks_have_one_lock() {
    let _alone = alone();
    let system = shared();
    for spec in ["run", "qps", "qps:master=edf", "g-edf", "u-edf"] {
        for locks in [Locks::PerGroup, Locks::One] {
            let Some(outcome) = sound(spec, &system, Dispatch::PerCpu(locks)) else { return };
            assert_eq!(cpus(&outcome).len(), 2, "{spec} {locks:?}");
            let (locked, invoked) =
                (outcome.measured.lock.count(), outcome.measured.invocation.count());
            assert!(locked > 20 && locked == invoked, "{spec} {locks:?}: {locked}, {invoked}");
        }
    }
}

/// CPUs that share no task have a lock each, and the run is still one run.
#[test]
fn cpus_that_share_no_task_have_locks_of_their_own() {
    let _alone = alone();
    let system = divided();
    for spec in ["run", "qps", "p-edf"] {
        for locks in [Locks::PerGroup, Locks::One] {
            let Some(outcome) = sound(spec, &system, Dispatch::PerCpu(locks)) else { return };
            assert_eq!(cpus(&outcome).len(), 2, "{spec} {locks:?}");
            // Both threads were made on the first CPU, and one of them moves once.
            assert!(outcome.measured.migrations <= 1, "{spec} {locks:?}");
        }
    }
}

/// The halves of a decision are timed under a manager and under dispatchers.
#[test]
fn both_halves_of_a_decision_are_timed() {
    let _alone = alone();
    for dispatch in [Dispatch::Manager, Dispatch::PerCpu(Locks::PerGroup)] {
        let Some(outcome) = sound("qps", &shared(), dispatch) else { return };
        let measured = &outcome.measured;
        let updates = measured.release_update.count() + measured.other_update.count();
        // Three tasks share both CPUs, so that there is one domain.
        assert_eq!(updates, outcome.decisions, "{dispatch:?}");
        assert_eq!(measured.selection.count(), outcome.decisions, "{dispatch:?}");
        assert!(measured.release_update.count() > 0, "{dispatch:?}");
    }
}

/// A domain whose log is full ends the run of the others, too.
#[test]
fn a_full_log_ends_all_domains() {
    let _alone = alone();
    let system = divided();
    let policy = || Registry::standard().build("p-edf", &system).unwrap();
    // Besides the reserve, room for two thirds of the jobs of the first task, and for all jobs of the
    // second, which are half as many.
    let log_records = Some(4096 + 200);
    let dispatch = Dispatch::PerCpu(Locks::PerGroup);
    let as_asked = |options| FifoOptions { dispatch, log_records, ..options };
    let Some(outcome) = try_run_as(&system, policy(), DURATION, as_asked) else { return };
    assert!(outcome.doubts[0].starts_with("the log was full at"), "{:?}", outcome.doubts);
    assert!(outcome.interrupted && outcome.log.lost == 0, "{}", outcome.log.lost);
    let violations = verify(&outcome.log, &system, &policy().rule());
    assert!(violations.is_empty(), "{violations:#?}");
    let replayed = replay(&outcome.log, &system, &mut *policy()).unwrap();
    assert_eq!(replayed.divergence, None);
    for (id, task) in system.tasks.iter() {
        let releases = outcome.log.records.iter().filter_map(|record| match record.entry {
            Entry::Release { job, release, .. } if job.task == id => Some(release),
            _ => None,
        });
        let last = releases.max().expect("each task has jobs before the log is full");
        let rest = outcome.end - last;
        assert!(rest < task.period + Duration::from_ms(20), "{id} has no job in the last {rest}");
    }
}
