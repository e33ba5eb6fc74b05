//! Compares every counter with its definition, and percentiles with sorted lists.

use super::*;
use crate::testing::{at, id, segment};
use crate::{Job, JobEnd, JobRecord, Labels, LockMark, Mark, MarkKind, Recorder, Trace};
use layland_model::{CpuId, Duration, ResourceId, Service, TaskId};

fn job(task: u32, seq: u64, arrival: i64, deadline: i64) -> Job {
    Job { id: id(task, seq), arrival: at(arrival), release: at(arrival), deadline: at(deadline) }
}
fn record(job: Job, end: Option<(i64, JobEnd)>, executed: i64) -> JobRecord {
    let end = end.map(|(ns, how)| (at(ns), how));
    JobRecord { job, end, executed: Service::from_ns(executed) }
}

/// Two tasks on two CPUs, with every kind of end.
fn example() -> Trace {
    Trace {
        jobs: vec![
            record(job(0, 0, 0, 10), Some((7, JobEnd::Completed)), 5),
            record(job(1, 0, 0, 8), Some((9, JobEnd::Completed)), 6),
            record(job(1, 1, 8, 16), Some((12, JobEnd::Aborted)), 2),
            record(job(0, 1, 10, 20), Some((20, JobEnd::Completed)), 5),
            record(job(0, 2, 20, 30), Some((22, JobEnd::Left)), 0),
            record(job(1, 2, 16, 24), None, 0),
            record(job(1, 3, 24, 32), None, 0),
        ],
        segments: vec![
            segment(id(0, 0), 0, 0, 3),
            segment(id(1, 0), 1, 0, 3),
            segment(id(0, 0), 1, 3, 5),
            segment(id(1, 0), 0, 6, 9),
            segment(id(1, 1), 0, 9, 11),
            segment(id(0, 1), 0, 15, 20),
        ],
        over: at(30),
        ..Trace::default()
    }
}

#[test]
fn every_counter_has_its_defined_value() {
    let mut counters = Counters::default();
    example().replay(&mut counters);
    let first = counters.task(TaskId(0));
    assert_eq!((first.released, first.completed, first.left), (3, 2, 1));
    assert_eq!((first.missed, first.tardy, first.aborted, first.pending), (0, 0, 0, 0));
    // The move at 3 has no gap: a preemption and a migration. The next job starts elsewhere:
    // a migration, but not within a job.
    assert_eq!((first.preemptions, first.migrations, first.migrations_within_jobs), (1, 2, 1));
    assert_eq!(first.min_response, Some(Duration::from_ns(7)));
    assert_eq!(first.max_response, Some(Duration::from_ns(10)));
    assert_eq!((first.sum_response_ns, first.executed_ns), (17, 10));

    let second = counters.task(TaskId(1));
    assert_eq!((second.released, second.completed, second.aborted), (4, 1, 1));
    // Tardy, aborted, and pending at 30 with the deadline at 24; the one due at 32 is not.
    assert_eq!((second.missed, second.tardy, second.pending), (3, 1, 2));
    assert_eq!(second.max_tardiness, Duration::from_ns(1));
    assert_eq!(second.overdue, Duration::from_ns(6));
    assert_eq!((second.preemptions, second.migrations), (1, 1));

    let total = counters.total();
    assert_eq!((total.released, total.missed, total.migrations), (7, 3, 3));
    assert_eq!(total.max_response, Some(Duration::from_ns(10)));
    assert_eq!((counters.busy_ns(CpuId(0)), counters.busy_ns(CpuId(1))), (13, 5));
    assert_eq!(counters.over_at(), at(30));
    assert_eq!(counters.task(TaskId(9)), TaskCounters::default());
}

#[test]
fn a_replayed_trace_is_the_same_trace() {
    let mut copy = Trace::default();
    example().replay(&mut copy);
    assert_eq!(copy, example());
}

#[test]
fn a_known_size_counts_the_same() {
    let (mut known, mut unknown) = (Counters::new(2, 2), Counters::default());
    example().replay(&mut known);
    example().replay(&mut unknown);
    assert_eq!(known, unknown);
    let mut statistics = Statistics::default();
    example().replay(&mut statistics);
    assert_eq!(statistics.counters(), &known);
}

#[test]
fn percentiles_are_within_a_thousandth() {
    let mut statistics = Statistics::default();
    let mut responses: Vec<i64> = (0..5000u64).map(|k| (k * k * 7919) as i64 + 1).collect();
    for (seq, &response) in responses.iter().enumerate() {
        let job = job(0, seq as u64, 0, i64::MAX);
        statistics.ended(&job, at(response), JobEnd::Completed, Service::ZERO);
    }
    responses.sort_unstable();
    for share in [0.001, 0.5, 0.95, 0.99, 0.999, 1.0] {
        let exact = responses[(share * 5000.0) as usize - 1];
        let got = statistics.response_quantile(Some(TaskId(0)), share).unwrap().ns();
        assert!(exact <= got && got <= exact + exact / 1000 + 1, "{share}: {exact} {got}");
    }
    let summary = statistics.summary(&Labels::default());
    assert_eq!(summary.tasks[0].max_response_ns, responses.last().copied());
    assert!(summary.total.response.is_some());
    assert_eq!(statistics.response_quantile(Some(TaskId(1)), 0.5), None);
}

#[test]
fn a_summary_has_a_row_for_silent_tasks_and_cpus() {
    let labels = Labels {
        tasks: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()].into(),
        cpus: 4,
        ..Labels::default()
    };
    let mut counters = Counters::default();
    example().replay(&mut counters);
    let summary = counters.summary(&labels);
    assert_eq!((summary.tasks.len(), summary.cpus.len()), (3, 4));
    assert_eq!((summary.tasks[2].name.as_str(), summary.tasks[2].miss_ratio), ("c", None));
    assert_eq!(summary.tasks[1].miss_ratio, Some(0.75));
}

/// A job runs from 0 to 3 on CPU 0 and continues at `start` on `cpu`, with these marks.
fn stops(marks: &[(i64, MarkKind)], cpu: u32, start: i64) -> Trace {
    Trace {
        jobs: vec![record(job(0, 0, 0, 20), Some((start + 2, JobEnd::Completed)), 5)],
        segments: vec![segment(id(0, 0), 0, 0, 3), segment(id(0, 0), cpu, start, start + 2)],
        marks: marks.iter().map(|(ns, kind)| Mark { at: at(*ns), kind: kind.clone() }).collect(),
        over: at(20),
        ..Trace::default()
    }
}

#[test]
fn who_stops_by_a_step_of_its_own_is_not_preempted() {
    let job = id(0, 0);
    let lock = |what| MarkKind::Lock(job, ResourceId(0), what);
    let [asks, gets, gives] =
        [LockMark::Requested, LockMark::Granted, LockMark::Unlocked].map(lock);
    let [sleeps, wakes] = [MarkKind::Suspended(job), MarkKind::Resumed(job)];
    type Case<'a> = (&'a str, &'a [(i64, MarkKind)], u32, i64, u64);
    let cases: [Case<'_>; 13] = [
        ("without a step", &[], 0, 5, 1),
        ("a move without a gap", &[], 1, 3, 1),
        ("suspends itself", &[(3, sleeps.clone()), (5, wakes.clone())], 0, 5, 0),
        ("and is ready before it runs", &[(3, sleeps.clone()), (4, wakes.clone())], 0, 5, 0),
        ("suspends itself later", &[(4, sleeps.clone()), (5, wakes.clone())], 0, 5, 1),
        ("waits for a lock", &[(3, asks.clone()), (5, gets.clone())], 0, 5, 0),
        ("gets it at once", &[(3, asks.clone()), (3, gets.clone())], 0, 5, 1),
        ("got it before", &[(1, asks.clone()), (2, gets.clone())], 0, 5, 1),
        ("spins, and loses its CPU", &[(2, asks.clone()), (5, gets.clone())], 0, 5, 0),
        ("gives it back", &[(3, gives.clone())], 0, 5, 1),
        ("goes where it is taken", &[(3, asks.clone()), (3, gets.clone())], 1, 3, 0),
        ("comes back, and another runs there", &[(3, gives.clone())], 1, 5, 0),
        ("moves later", &[(2, gives.clone())], 1, 5, 1),
    ];
    for (what, marks, cpu, start, expected) in cases {
        let trace = stops(marks, cpu, start);
        let mut counters = Counters::default();
        trace.replay(&mut counters);
        assert_eq!(counters.task(TaskId(0)).preemptions, expected, "{what}");
        // An engine reports a step before the segment that ends with it.
        let mut counters = Counters::default();
        let [first, second] = &trace.segments[..] else { panic!("two segments") };
        let (before, after) = trace.marks.split_at(trace.marks.partition_point(|m| m.at <= at(3)));
        before.iter().for_each(|mark| counters.marked(mark));
        counters.executed(first);
        after.iter().for_each(|mark| counters.marked(mark));
        // The next step of the job, at the end of the second segment.
        counters.marked(&Mark { at: second.end, kind: MarkKind::Suspended(job) });
        counters.executed(second);
        assert_eq!(counters.task(TaskId(0)).preemptions, expected, "{what}, told by an engine");
    }
}
