//! The written file decodes to the run.

use super::*;
use crate::random::systems;
use layland_model::Duration;
use proptest::prelude::*;
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

/// A trace with a preempted job that migrates, one that
/// migrates without a pause, and one that is late.
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
        (0, 2, begin, "task 0#1"),
        (2, 3, begin, "task 1#1"),
        (5, 3, end, ""),
        (8, 2, instant, "deadline miss"),
        (10, 2, end, ""),
        (10, 2, begin, "task 0#2"),
        (10, 3, begin, "task 1#2"),
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

/// For each job the time at which it could run (its
/// release or the end of its predecessor) and its end.
fn lives(trace: &Trace) -> Vec<(Time, Time)> {
    let mut order: Vec<usize> = (0..trace.jobs.len()).collect();
    order.sort_by_key(|&index| trace.jobs[index].job.id);
    let mut lives = vec![(Time::ZERO, Time::ZERO); order.len()];
    let mut previous: Option<(TaskId, Time)> = None;
    for index in order {
        let JobRecord { job, end, .. } = &trace.jobs[index];
        let ready = match previous {
            Some((task, end)) if task == job.id.task => end.max(job.release),
            Some(_) | None => job.release,
        };
        let end = end.map_or(trace.over, |(at, _)| at).max(ready);
        previous = Some((job.id.task, end));
        lives[index] = (ready, end);
    }
    lives
}

/// The slow twin: the keys of all records, in order, computed from the whole trace at once.
fn happenings(trace: &Trace) -> Vec<SortKey> {
    let lives = lives(trace);
    let mut ends: BTreeMap<JobId, Time> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, record) in trace.jobs.iter().enumerate() {
        let (ready, end) = lives[index];
        if record.end.is_some() {
            ends.insert(record.job.id, end);
        }
        found.push((ready, What::JobBegins(index as u64)));
        if ready < end {
            found.push((end, What::JobEnds(index as u64)));
        }
        if record.missed(trace.over) {
            let at = match record.end {
                Some((at, JobEnd::Aborted)) => at.min(record.job.deadline),
                Some((_, JobEnd::Completed | JobEnd::Left)) | None => record.job.deadline,
            };
            found.push((at, What::Misses(index as u64)));
        }
    }
    let mut order: Vec<usize> = (0..trace.segments.len()).collect();
    order.sort_by_key(|&index| {
        let segment = &trace.segments[index];
        (segment.job, segment.start, segment.end)
    });
    // For each job the end and the CPU of its last stretch, and the start of its first.
    let mut ran: BTreeMap<JobId, (Time, CpuId, Time)> = BTreeMap::new();
    for (position, &index) in order.iter().enumerate() {
        let segment = &trace.segments[index];
        let next = order.get(position + 1).map(|&index| &trace.segments[index]);
        let continues = |other: &layland_trace::Segment| {
            other.job == segment.job && other.start == segment.end && other.cpu == segment.cpu
        };
        let last = ran.get(&segment.job).copied();
        if last.is_none_or(|(_, cpu, end)| end != segment.start || cpu != segment.cpu) {
            found.push((segment.start, What::Runs(segment.job.task, segment.cpu)));
        }
        if !next.is_some_and(continues) {
            let waits = ends.get(&segment.job).is_none_or(|&end| end > segment.end);
            found.push((segment.end, What::Stops(segment.job.task, segment.cpu, waits)));
        }
        let first = last.map_or(segment.start, |(first, ..)| first);
        ran.insert(segment.job, (first, segment.cpu, segment.end));
    }
    let mut last_cpu: BTreeMap<TaskId, CpuId> = BTreeMap::new();
    for (index, record) in trace.jobs.iter().enumerate() {
        let id = record.job.id;
        let (ready, end) = lives[index];
        let ran = ran.get(&id);
        let last = *last_cpu.entry(id.task).or_insert(CpuId(0));
        let cpu = ran.map_or(last, |&(_, cpu, _)| cpu);
        last_cpu.insert(id.task, cpu);
        if ready == end {
            continue;
        }
        if ran.is_none_or(|&(first, ..)| first > ready) {
            found.push((ready, What::Waits(id.task, cpu)));
        }
        // The job ended while it did not run.
        if record.end.is_some() && ran.is_none_or(|&(_, _, last)| last < end) {
            found.push((end, What::Stops(id.task, cpu, false)));
        }
    }
    found.extend(
        trace.marks.iter().enumerate().map(|(index, mark)| (mark.at, What::Mark(index as u64))),
    );
    let answers = trace.answers.iter().enumerate();
    found.extend(answers.map(|(index, answer)| (answer.at, What::Answer(index as u64))));
    let mut keys: Vec<SortKey> = found.into_iter().map(|(at, what)| what.key(at)).collect();
    keys.sort();
    keys
}

proptest! {
    /// A run that is written while it is reported gives the same bytes as the whole trace, whether
    /// records wait in memory or in files.
    #[test]
    fn a_reported_run_is_written_as_its_trace((system, policy) in systems(), room in 0usize..3000) {
        let labels = Labels::of(&system);
        let scratch = Scratch::in_folder(&std::env::temp_dir(), room);
        let reported = PerfettoWriter::new(Vec::new(), &labels, "test", &scratch);
        let (trace, reported) = crate::random::simulated(&system, policy, reported);
        prop_assert_eq!(reported.finish().unwrap(), write(&trace, &labels, "test"));

        let mut keys = PerfettoWriter::new(Vec::new(), &labels, "test", &Scratch::memory());
        trace.replay(&mut keys);
        prop_assert_eq!(keys.sorter.keys(), happenings(&trace));
    }
}
