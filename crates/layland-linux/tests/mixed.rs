//! Mixed-criticality mechanisms on real threads: tasks that overrun, and a machine that must really
//! stop dropped jobs.
//!
//! As in `fifo.rs`, the decisions of the policy must satisfy its rule on any machine. Deadlines
//! count only in runs in which nothing else took the CPU from a job for long.

mod common;

use common::{alone, task, try_run};
use layland_linux::trace::{View, verify};
use layland_linux::{Margin, replay, with_slack};
use layland_model::{
    Behaviour, Criticality, Duration, ExecutionModel, Levels, Service, System, TaskId,
};
use layland_policy::Registry;
use layland_trace::{JobEnd, Trace};

const ATTEMPTS: usize = 8;
/// The number of runs that may fail without a measurement that explains it.
const UNEXPLAINED: usize = 3;

/// Adds a margin to the demands of jobs, because the switches to them are charged, too.
fn with_margin(system: &System) -> System {
    with_slack(system, &Margin::default())
}

fn demo(name: &str) -> System {
    let text = layland_config::demo(name).unwrap().text;
    let read = layland_config::read(
        name,
        text.as_bytes(),
        layland_config::Format::Toml,
        &layland_config::Host::default(),
    );
    with_margin(&read.unwrap().system)
}

/// Runs, and checks the log for the properties that hold on any machine. Returns the trace, and a
/// description of the machine's disturbance if there was one.
fn sound(spec: &str, system: &System, duration: Duration) -> Option<(Trace, Option<String>)> {
    let policy = Registry::standard().build(spec, system).unwrap();
    let rule = policy.rule();
    let outcome = try_run(system, policy, duration)?;
    assert!(outcome.doubts.is_empty(), "{spec}: {:?}", outcome.doubts);
    let violations = verify(&outcome.log, system, &rule);
    assert!(violations.is_empty(), "{spec}: {violations:#?}");
    let mut fresh = Registry::standard().build(spec, system).unwrap();
    let replayed = replay(&outcome.log, system, &mut *fresh).unwrap();
    assert_eq!(replayed.divergence, None, "{spec}");
    assert_eq!(replayed.decisions, outcome.decisions, "{spec}");
    Some((outcome.trace(system, View::Measured), outcome.pause(system)))
}

/// Returns true if a disturbance took the CPU from a job, or delayed the run, for longer than its
/// slack.
#[expect(clippy::print_stdout, reason = "what does not count is said")]
fn held_up(spec: &str, trace: &Trace, pause: Option<&String>) -> bool {
    if let Some(pause) = pause {
        println!("{spec}: does not count, {pause}");
        return true;
    }
    let longest = trace.segments.iter().map(|segment| segment.overhead).max();
    let held_up = longest.is_some_and(|longest| longest > Duration::from_us(700));
    if held_up {
        println!("{spec}: does not count, something else had the CPU for {longest:?}");
    }
    held_up
}

/// Repeats a run until it counts. Returns true if `asked` holds then; otherwise prints what was
/// missing.
fn holds(spec: &str, system: &System, duration: Duration, asked: impl Fn(&Trace) -> bool) -> bool {
    let mut unexplained = 0;
    for _ in 0..ATTEMPTS {
        let Some((trace, pause)) = sound(spec, system, duration) else { return true };
        if asked(&trace) {
            return true;
        }
        unexplained += usize::from(!held_up(spec, &trace, pause.as_ref()));
        if unexplained == UNEXPLAINED {
            return false;
        }
    }
    common::skipped(&format!(
        "a CPU that nothing else takes from it: {spec} was held up every time"
    ));
    true
}

/// Returns the number of jobs of high criticality, or of the lowest one, that were late or aborted.
fn missed(trace: &Trace, system: &System, high: bool) -> usize {
    let counts = |record: &&layland_trace::JobRecord| {
        let level = system.tasks[record.job.id.task].criticality;
        record.missed(trace.over) && level.is_higher_than(Criticality(0)) == high
    };
    trace.jobs.iter().filter(counts).count()
}

/// Returns the length of the run. To make it longer:
/// `MIXED_MS=60000 cargo test -p layland-linux --test mixed -- --nocapture`.
fn duration() -> Duration {
    let given = std::env::var("MIXED_MS").ok().and_then(|text| text.parse().ok());
    Duration::from_ms(given.unwrap_or(1200))
}

/// Brake and steer overrun in every job, and only audio and video suffer.
#[test]
fn high_criticality_keeps_its_deadlines_and_low_pays() {
    let _alone = alone();
    let system = demo("mixed-overrun");
    let tuned = "edf-vd:deadlines=tuned";
    for spec in ["smc", "amc", "zss", "zss:late=demote", "pt", "plrs", "ocbp", tuned] {
        let kept = holds(spec, &system, duration(), |trace| {
            let (high, low) = (missed(trace, &system, true), missed(trace, &system, false));
            println!("{spec}: {} jobs, {high} high and {low} low missed", trace.jobs.len());
            high == 0 && low > 0
        });
        assert!(kept, "{spec}: high criticality misses deadlines, or nobody pays");
    }
}

/// `hang` would run for ever: it is stopped at its bound, and truly stops, because `idle` (nothing
/// else is ready) finds the CPU free. Its execution time is its bound and not much more.
#[test]
fn a_job_that_never_ends_is_stopped_at_its_bound() {
    let _alone = alone();
    let mut hang = task("hang", 5, 40);
    hang.execution = ExecutionModel::List(vec![Service::from_ms(30_000)]);
    let mut high = task("high", 8, 40);
    high.criticality = Criticality(1);
    let both = |task: &mut layland_model::Task| task.wcet = vec![task.wcet[0]; 2].into();
    both(&mut hang);
    both(&mut high);
    let mut system = System::new(1, vec![hang, high]);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    let system = with_margin(&system);
    for spec in ["smc", "rms", "cms", "amc", "zss", "pt", "plrs", "ocbp", "edf-vd"] {
        let kept = holds(spec, &system, Duration::from_ms(600), |trace| {
            let hanging = trace.jobs.iter().filter(|record| record.job.id.task == TaskId(0));
            let given_up =
                hanging.filter(|record| matches!(record.end, Some((_, JobEnd::Aborted))));
            let mut got: Vec<i64> = given_up.map(|record| record.executed.ns()).collect();
            got.sort_unstable();
            let typical = got.get(got.len() / 2).copied().unwrap_or(0);
            // The bound with the margin, and the delay until its exhaustion is noticed.
            let is_bound = (5_200_000..5_900_000).contains(&typical);
            missed(trace, &system, true) == 0 && got.len() >= 10 && is_bound
        });
        assert!(kept, "{spec}");
    }
}

/// Jobs arrive behind a pending one: period transformation aborts the old one for the new one.
#[test]
fn arrivals_behind_a_pending_job_are_seen() {
    let _alone = alone();
    let mut slow = task("slow", 30, 40);
    slow.criticality = Criticality(1);
    let mut low = task("low", 8, 20);
    low.behaviour = Behaviour::Periodic;
    for task in [&mut slow, &mut low] {
        task.wcet = vec![task.wcet[0]; 2].into();
    }
    let mut system = System::new(1, vec![slow, low]);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    let Some((trace, _)) = sound("pt", &system, Duration::from_ms(600)) else { return };
    let low = trace.jobs.iter().filter(|record| record.job.id.task == TaskId(1));
    let replaced = low.filter(|record| {
        let end = record.end.filter(|(_, end)| *end == JobEnd::Aborted);
        end.is_some_and(|(at, _)| at >= record.job.deadline)
    });
    assert!(replaced.count() > 5, "a job without its budget goes on beyond the next release");
}
