//! What is written decodes to what happened.

use super::*;
use layland_model::{Duration, Service};
use layland_trace::{Job, Segment};
use prost::Message;

fn at(ns: i64) -> Time {
    Time::from_ns(ns)
}
fn id(task: u32, seq: u64) -> JobId {
    JobId { task: TaskId(task), seq }
}
fn record(id: JobId, release: i64, deadline: i64, end: Option<i64>) -> JobRecord {
    let (release, deadline) = (at(release), at(deadline));
    let job = Job { id, arrival: release, release, deadline };
    let end = end.map(|end| (at(end), JobEnd::Completed));
    JobRecord { job, end, executed: Service::from_ns(1) }
}
fn segment(job: JobId, cpu: u32, start: i64, end: i64) -> Segment {
    let (start, end) = (at(start), at(end));
    Segment { job, cpu: CpuId(cpu), start, end, overhead: Duration::ZERO }
}

/// A job that is preempted and moves, one that moves without a pause, and one that is late.
fn moving() -> Trace {
    Trace {
        jobs: vec![
            record(id(1, 0), 2, 6, Some(5)),
            record(id(0, 0), 0, 8, Some(10)),
            record(id(0, 1), 8, 16, Some(12)),
            record(id(1, 1), 10, 12, None),
        ],
        segments: vec![
            segment(id(0, 0), 0, 0, 2),
            segment(id(1, 0), 0, 2, 5),
            segment(id(0, 0), 1, 4, 7),
            segment(id(0, 0), 0, 7, 10),
            segment(id(0, 1), 0, 10, 12),
        ],
        over: at(14),
        ..Trace::default()
    }
}

fn decoded(trace: &Trace) -> Vec<proto::TracePacket> {
    let bytes = write(trace, &Labels::numbered(trace), "test");
    proto::Trace::decode(bytes.as_slice()).unwrap().packet
}

#[test]
fn states_come_in_an_order_that_perfetto_takes() {
    let packets = decoded(&moving());
    let times: Vec<u64> = packets.iter().map(|packet| packet.timestamp.unwrap()).collect();
    assert!(times.is_sorted());
    let states: Vec<(u64, i64, i32, i32)> = packets
        .iter()
        .filter_map(|packet| {
            let event = packet.generic_kernel_task_state_event.as_ref()?;
            Some((packet.timestamp?, event.tid?, event.cpu?, event.state?))
        })
        .collect();
    let (runnable, running, sleeping) = (2, 3, 4);
    assert_eq!(
        states,
        [
            (0, 1, 0, running),
            (2, 1, 0, runnable),
            (2, 2, 0, running),
            (4, 1, 1, running),
            (5, 2, 0, sleeping),
            (7, 1, 1, runnable),
            (7, 1, 0, running),
            (10, 1, 0, sleeping),
            (10, 2, 0, runnable),
            (10, 1, 0, running),
            (12, 1, 0, sleeping),
        ]
    );
}

#[test]
fn jobs_are_slices_and_misses_instants() {
    let packets = decoded(&moving());
    let events: Vec<(u64, u64, i32, String)> = packets
        .iter()
        .filter_map(|packet| {
            let event = packet.track_event.as_ref()?;
            let name = event.name.clone().unwrap_or_default();
            Some((packet.timestamp?, event.track_uuid?, event.r#type?, name))
        })
        .collect();
    let (begin, end, instant) = (1, 2, 3);
    let expected = [
        (0, 2, begin, "task 0#0"),
        (2, 3, begin, "task 1#0"),
        (5, 3, end, ""),
        (8, 2, instant, "deadline miss"),
        (10, 2, end, ""),
        (10, 2, begin, "task 0#1"),
        (10, 3, begin, "task 1#1"),
        (12, 2, end, ""),
        (12, 3, instant, "deadline miss"),
        (14, 3, end, ""),
    ];
    let expected = expected.map(|(at, track, kind, name)| (at, track, kind, name.to_owned()));
    assert_eq!(events, expected);
    let late = packets
        .iter()
        .filter_map(|packet| packet.track_event.as_ref())
        .find(|event| event.name.as_deref() == Some("deadline miss"));
    let arguments = &late.unwrap().debug_annotations;
    assert_eq!(arguments[1].name.as_deref(), Some("tardiness_ns"));
    assert_eq!(arguments[1].int_value, Some(2));
}

#[test]
fn a_job_without_demand_is_an_instant() {
    let trace =
        Trace { jobs: vec![record(id(0, 0), 3, 6, Some(3))], over: at(9), ..Trace::default() };
    let packets = decoded(&trace);
    let kinds: Vec<i32> =
        packets.iter().filter_map(|packet| packet.track_event.as_ref()?.r#type).collect();
    assert_eq!(kinds, [TrackEventType::Instant as i32]);
}
