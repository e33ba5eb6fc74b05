//! Threads that release and end their jobs themselves: SMC, zero-slack scheduling and period
//! transformation, as in Huang, Gill and Lu 2014, Sections 5.1 and 5.2.
//!
//! As in `fifo.rs`, logs, replays and the rules of the policies must be right on any machine. The
//! number of times that the manager works does not depend on the machine either, as long as no job
//! is late.

#[expect(dead_code, reason = "these tests choose who releases jobs")]
mod common;

use common::{alone, skipped, task, try_run_by};
use layland_linux::trace::{View, verify};
use layland_linux::{Entry, Margin, Outcome, Releases, replay, with_slack};
use layland_model::{Criticality, Duration, ExecutionModel, Levels, Rate, System, TaskId};
use layland_policy::Registry;

/// The number of attempts for a run that the machine disturbs.
const ATTEMPTS: usize = 8;

/// Returns a system with two levels of criticality, in which no job needs more than four fifths of its
/// bound.
fn system() -> System {
    let mut system = System::new(1, vec![task("a", 4, 20), task("b", 10, 50), task("c", 20, 100)]);
    for task in system.tasks.values_mut() {
        task.wcet = vec![task.wcet[0]; 2].into();
        task.execution = ExecutionModel::Fraction(Rate::new(4, 5));
    }
    system.tasks[TaskId(2)].criticality = Criticality(1);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    with_slack(&system, &Margin::default())
}

/// Runs a system, and asserts what holds on any machine.
fn sound(spec: &str, system: &System, duration: Duration, releases: Releases) -> Option<Outcome> {
    let build = || Registry::standard().build(spec, system).unwrap();
    let outcome = try_run_by(system, build(), duration, releases)?;
    assert!(outcome.doubts.is_empty(), "{spec}: {:?}", outcome.doubts);
    let violations = verify(&outcome.log, system, &build().rule());
    assert!(violations.is_empty(), "{spec} {releases:?}: {violations:#?}");
    let replayed = replay(&outcome.log, system, &mut *build()).unwrap();
    assert_eq!(replayed.divergence, None, "{spec} {releases:?}");
    assert_eq!(replayed.decisions, outcome.decisions, "{spec} {releases:?}");
    Some(outcome)
}

fn missed(outcome: &Outcome, system: &System) -> usize {
    let trace = outcome.trace(system, View::Measured);
    trace.jobs.iter().filter(|job| job.missed(trace.over)).count()
}

/// Runs a system until the machine does not disturb it: no job is late, and this holds. A job that
/// something else keeps from its CPU for longer than its slack seems to use up its budget.
#[expect(clippy::print_stdout, reason = "the figures help to understand a failure")]
fn undisturbed(
    spec: &str,
    system: &System,
    releases: Releases,
    asked: impl Fn(&Outcome) -> bool,
) -> Option<Outcome> {
    let duration = Duration::from_ms(600);
    for attempt in 1..=ATTEMPTS {
        let outcome = sound(spec, system, duration, releases)?;
        let is_undisturbed = missed(&outcome, system) == 0 && outcome.pause(system).is_none();
        if is_undisturbed && asked(&outcome) {
            return Some(outcome);
        }
        let invocations = outcome.measured.invocation.count();
        println!(
            "{spec}, attempt {attempt}: {invocations} invocations, {:?}",
            outcome.pause(system)
        );
        assert!(!is_undisturbed || attempt < ATTEMPTS, "{spec}: {invocations} invocations");
    }
    skipped(&format!("a machine that leaves {spec} its CPU for {duration}"));
    None
}

fn count(outcome: &Outcome, asked: impl Fn(&Entry) -> bool) -> u64 {
    outcome.log.records.iter().filter(|record| asked(&record.entry)).count() as u64
}

/// Under fixed priorities nothing needs the manager. With zero slack only jobs that are critical do,
/// and here none is.
#[test]
fn the_manager_does_not_work_at_releases_and_ends() {
    let _alone = alone();
    let system = system();
    for spec in ["smc", "rms", "cms", "zss", "zss:late=demote"] {
        let never = |outcome: &Outcome| outcome.measured.invocation.count() == 0;
        let own = undisturbed(spec, &system, Releases::ByThreads, never);
        let Some(own) = own else { continue };
        let jobs = count(&own, |entry| matches!(entry, Entry::Done { .. }));
        let steps = own.measured.step.count();
        println!(
            "{spec}: {jobs} jobs, {steps} steps {:?}, dispatch {:?}",
            own.measured.step.figures().map(|figures| figures.p50_ns),
            own.measured.dispatch.figures().map(|figures| figures.p50_ns),
        );
        assert!(jobs >= 40 && steps >= jobs, "{spec}: {jobs} jobs, {steps} steps");
        let others = undisturbed(spec, &system, Releases::ByManager, |_| true);
        let Some(others) = others else { continue };
        assert_eq!(others.measured.step.count(), 0, "{spec}");
        assert!(others.measured.invocation.count() >= jobs, "{spec}");
    }
}

/// The manager replenishes slices, and stops jobs that have used up theirs.
#[test]
fn the_manager_works_for_slices() {
    let _alone = alone();
    let system = system();
    let own = undisturbed("pt", &system, Releases::ByThreads, |_| true);
    let Some(own) = own else { return };
    let asked = |entry: &Entry| matches!(entry, Entry::Timer { .. } | Entry::Budget { .. });
    let (slices, invocations) = (count(&own, asked), own.measured.invocation.count());
    println!("{slices} timers and budgets, {invocations} invocations");
    assert!(slices > 20, "{slices}");
    // A thread may do the work of a timer that is due. A budget may be looked at several times before it
    // is used up.
    assert!((slices / 4..4 * slices).contains(&invocations), "{invocations} for {slices}");
}

/// AMC must be notified of every release: the idle instants of its CPU count.
#[test]
fn policies_without_an_order_have_a_manager() {
    let _alone = alone();
    let system = system();
    for spec in ["amc", "plrs", "edf-vd", "p-edf"] {
        let outcome = sound(spec, &system, Duration::from_ms(200), Releases::ByThreads);
        let Some(outcome) = outcome else { return };
        assert_eq!(outcome.measured.step.count(), 0, "{spec}");
        assert!(outcome.measured.invocation.count() > 10, "{spec}");
    }
}

/// A job of high criticality overruns and is critical: the others are suspended, and continue when it
/// has ended, without the manager if it ends in time.
#[test]
fn suspended_threads_continue() {
    let _alone = alone();
    let mut system = system();
    let critical = &mut system.tasks[TaskId(2)];
    critical.wcet = vec![critical.wcet[0], critical.wcet[0] * 2].into();
    critical.execution = ExecutionModel::Level(Criticality(1));
    for releases in [Releases::ByThreads, Releases::ByManager] {
        let outcome = sound("zss", &system, Duration::from_ms(1_000), releases);
        let Some(outcome) = outcome else { return };
        let ended = |task| {
            count(&outcome, |entry| matches!(entry, Entry::Done { job, .. } if job.task == task))
        };
        assert!(ended(TaskId(0)) > 20 && ended(TaskId(1)) > 5, "{releases:?}");
    }
}
