//! Excuses of mixed criticality.

use super::*;
use layland_model::{Criticality, Levels};

/// `low` needs 3 of every 10. `high` needs 2 of every 20, or 4 at its own level.
fn system() -> System {
    let ns = Duration::from_ns;
    let mut low = Task::implicit("low", Service::from_ns(3), ns(10));
    low.wcet = vec![Service::from_ns(3); 2].into();
    low.jobs = Some(1);
    let mut high = Task::implicit("high", Service::from_ns(2), ns(20));
    high.wcet = vec![Service::from_ns(2), Service::from_ns(4)].into();
    high.criticality = Criticality(1);
    let mut system = System::new(1, vec![low, high]);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    system.tasks[TaskId(1)].execution =
        layland_model::ExecutionModel::List(vec![Service::from_ns(3)]);
    system
}

fn job(task: u32, seq: u64, release: i64, deadline: i64) -> Job {
    let release = at(release);
    Job { id: id(task, seq), arrival: release, release, deadline: at(deadline) }
}

fn segment(task: u32, start: i64, end: i64) -> Segment {
    let (start, end) = (at(start), at(end));
    Segment { job: id(task, 0), cpu: CpuId(0), start, end, overhead: Duration::ZERO }
}

fn rule() -> ScheduleRule {
    let cpus = CpuSet::single(CpuId(0));
    let group = Group { cpus: cpus.clone(), tasks: vec![TaskId(0), TaskId(1)] };
    ScheduleRule::MixedCriticality { groups: vec![group], guaranteed: cpus }
}

/// `high` executes 3 until 3; `low` is aborted at `low_ends`.
fn trace(low_ends: i64) -> Trace {
    let record = |job, end, how, executed| JobRecord {
        job,
        end: Some((at(end), how)),
        executed: Service::from_ns(executed),
    };
    Trace {
        jobs: vec![
            record(job(0, 0, 0, 10), low_ends, JobEnd::Aborted, 0),
            record(job(1, 0, 0, 20), 3, JobEnd::Completed, 3),
        ],
        segments: vec![segment(1, 0, 3)],
        over: at(20),
        ..Trace::default()
    }
}

#[test]
fn what_matters_more_is_an_excuse_from_when_it_exceeds_its_bound() {
    assert!(check(&trace(2), &system(), &rule(), 9).is_clean());
    let report = check(&trace(1), &system(), &rule(), 9);
    assert_eq!(
        report.to_string(),
        "1 violation\n  low#1 misses its deadline 10ns, and no job of its criticality or above needed more \
         than its bound of level 0 in the busy period from 0ns"
    );
}

#[test]
fn what_matters_less_is_no_excuse() {
    let mut trace = trace(2);
    trace.jobs[1].end = None;
    trace.jobs[1].executed = Service::from_ns(0);
    trace.segments.clear();
    // `low` is aborted, which proves nothing; `high` never runs.
    let report = check(&trace, &system(), &rule(), 9);
    assert_eq!(report.count, 2, "{report}");
    assert!(report.to_string().contains("high#1 misses its deadline 20ns"), "{report}");
}

#[test]
fn a_busy_period_ends_when_nothing_is_pending() {
    let mut trace = trace(2);
    // `low` is late in the second busy period, in which no job exceeds its bound.
    let aborted = Some((at(12), JobEnd::Aborted));
    let second = JobRecord { job: job(0, 1, 10, 20), end: aborted, executed: Service::from_ns(0) };
    trace.jobs.push(second);
    let mut system = system();
    system.tasks[TaskId(0)].jobs = Some(2);
    let report = check(&trace, &system, &rule(), 9);
    assert_eq!(report.count, 1, "{report}");
    assert!(report.to_string().contains("low#2 misses"), "{report}");
}
