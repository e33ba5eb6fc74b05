//! A trace for Perfetto.
//!
//! The schedule is written as the state changes of threads (`GenericKernelTaskStateEvent`), so that
//! Perfetto shows it on its own CPU and thread tracks, and its `sched` and `thread_state` tables
//! have it. Every task is a thread of one process. What jobs add is track events on that thread:
//!
//! | in the trace | in Perfetto |
//! |---|---|
//! | [segment](layland_trace::Segment) | the thread is *Running* on a CPU |
//! | ready, and not running | *Runnable*; where it was preempted, its slice ends with `R` |
//! | between two jobs | *Sleeping* |
//! | job | a slice from when it can run (its release, or the end of its predecessor) to its end, with its times as arguments |
//! | deadline miss | an instant `deadline miss` at the deadline |
//! | mark, answer | an instant |
//!
//! The numbers of the fields are those of `perfetto_trace.proto`, which promises to keep them. The
//! state events need Perfetto 50 or later; older ones show the track events alone. A thread has the
//! number of its task plus one, because thread 0 is the idle one.
//!
//! Rules of order, at one instant: states that end, slices that end, misses, releases, states
//! *Running*, marks. A thread is never *Running* twice in a row, which Perfetto would refuse: a job
//! that moves to another CPU without a pause becomes *Runnable* for no time.

mod proto;

use layland_model::{CpuId, Index, JobId, TaskId, Time};
use layland_trace::{JobEnd, JobRecord, Labels, Trace};
use std::collections::BTreeMap;

/// `TaskStateEnum`. That a thread is created is not written: its track says so already, and a thread
/// that is created twice is an error to Perfetto.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Runnable = 2,
    Running = 3,
    Sleeping = 4,
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrackEventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
}

/// Everything is of one sequence of packets.
const SEQUENCE: u32 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: nothing was said before.
const CLEARED: u32 = 1;
/// The track of the process; those of the tasks follow.
const PROCESS_TRACK: u64 = 1;

/// Something to write, in the order in which it is written at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The task stops running or waiting on a CPU: it waits (`true`), or it has nothing to do.
    Stops(TaskId, CpuId, bool),
    /// The job with this index ends.
    JobEnds(usize),
    /// The job with this index misses its deadline.
    Misses(usize),
    /// The job with this index can run.
    JobBegins(usize),
    /// The task waits, and did not run just before.
    Waits(TaskId, CpuId),
    /// The task runs.
    Runs(TaskId, CpuId),
    /// The mark with this index.
    Mark(usize),
    /// The answer with this index.
    Answer(usize),
}

/// A trace as a file for Perfetto; `title` is the name of its process.
///
/// ```
/// use layland_model::{CpuId, Duration, JobId, TaskId, Time};
/// use layland_trace::{Labels, Recorder, Segment, Trace};
/// let mut trace = Trace::default();
/// trace.executed(&Segment {
///     job: JobId { task: TaskId(0), seq: 0 },
///     cpu: CpuId(0),
///     start: Time::ZERO,
///     end: Time::from_ns(5),
///     overhead: Duration::ZERO,
/// });
/// let bytes = layland_interchange::perfetto::write(&trace, &Labels::numbered(&trace), "one segment");
/// assert!(bytes.windows(11).any(|window| window == b"one segment"));
/// ```
pub fn write(trace: &Trace, labels: &Labels, title: &str) -> Vec<u8> {
    let mut writer = Writer { out: Vec::new(), labels, tasks: task_count(trace, labels) };
    writer.descriptors(title);
    for (at, what) in happenings(trace) {
        writer.write(trace, at, what);
    }
    writer.out
}

/// How many tasks the trace names, known or not.
fn task_count(trace: &Trace, labels: &Labels) -> usize {
    labels.tasks.len().max(Labels::numbered(trace).tasks.len())
}

/// When each job could run: its release, or the end of its predecessor; and when that was over.
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

/// Everything that is to be written, in order.
fn happenings(trace: &Trace) -> Vec<(Time, What)> {
    let lives = lives(trace);
    let mut ends: BTreeMap<JobId, Time> = BTreeMap::new();
    let mut found = Vec::with_capacity(2 * trace.segments.len() + 3 * trace.jobs.len());
    for (index, record) in trace.jobs.iter().enumerate() {
        let (ready, end) = lives[index];
        if record.end.is_some() {
            ends.insert(record.job.id, end);
        }
        found.push((ready, What::JobBegins(index)));
        if ready < end {
            found.push((end, What::JobEnds(index)));
        }
        if record.missed(trace.over) {
            let at = match record.end {
                Some((at, JobEnd::Aborted)) => at.min(record.job.deadline),
                Some((_, JobEnd::Completed | JobEnd::Left)) | None => record.job.deadline,
            };
            found.push((at, What::Misses(index)));
        }
    }
    let mut order: Vec<usize> = (0..trace.segments.len()).collect();
    order.sort_by_key(|&index| {
        let segment = &trace.segments[index];
        (segment.job, segment.start, segment.end)
    });
    // Where and until when each job ran last, and when it first ran.
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
        // It ended where it did not run.
        if record.end.is_some() && ran.is_none_or(|&(_, _, last)| last < end) {
            found.push((end, What::Stops(id.task, cpu, false)));
        }
    }
    found.extend(trace.marks.iter().enumerate().map(|(index, mark)| (mark.at, What::Mark(index))));
    let answers = trace.answers.iter().enumerate();
    found.extend(answers.map(|(index, answer)| (answer.at, What::Answer(index))));
    found.sort();
    found
}

struct Writer<'a> {
    out: Vec<u8>,
    labels: &'a Labels,
    tasks: usize,
}

impl Writer<'_> {
    fn packet(&mut self, packet: &proto::TracePacket) {
        // The field `packet` of the message `Trace`.
        prost::encoding::message::encode(1, packet, &mut self.out);
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.tasks + 1).unwrap_or(i32::MAX)
    }

    fn descriptors(&mut self, title: &str) {
        let pid = Some(self.pid());
        let process = Some(proto::ProcessDescriptor { pid, process_name: Some(title.to_owned()) });
        let mut tracks = vec![proto::TrackDescriptor {
            uuid: Some(PROCESS_TRACK),
            process,
            ..proto::TrackDescriptor::default()
        }];
        for task in (0..self.tasks).map(TaskId::from_index) {
            let thread_name = Some(self.labels.task(task));
            let thread = Some(proto::ThreadDescriptor { pid, tid: Some(tid(task)), thread_name });
            tracks.push(proto::TrackDescriptor {
                uuid: Some(track(task)),
                parent_uuid: Some(PROCESS_TRACK),
                thread,
                ..proto::TrackDescriptor::default()
            });
        }
        for (index, track) in tracks.into_iter().enumerate() {
            self.packet(&proto::TracePacket {
                timestamp: Some(0),
                trusted_packet_sequence_id: Some(SEQUENCE),
                sequence_flags: (index == 0).then_some(CLEARED),
                track_descriptor: Some(track),
                ..proto::TracePacket::default()
            });
        }
    }

    fn state(&mut self, at: Time, task: TaskId, cpu: CpuId, state: State) {
        let event = proto::TaskState {
            cpu: Some(i32::try_from(cpu.0).unwrap_or(i32::MAX)),
            comm: Some(self.labels.task(task)),
            tid: Some(tid(task)),
            state: Some(state as i32),
            prio: Some(0),
        };
        self.packet(&proto::TracePacket {
            timestamp: Some(timestamp(at)),
            trusted_packet_sequence_id: Some(SEQUENCE),
            generic_kernel_task_state_event: Some(event),
            ..proto::TracePacket::default()
        });
    }

    fn event(
        &mut self,
        at: Time,
        track: u64,
        kind: TrackEventType,
        category: &str,
        name: Option<String>,
        arguments: Vec<proto::DebugAnnotation>,
    ) {
        let event = proto::TrackEvent {
            debug_annotations: arguments,
            r#type: Some(kind as i32),
            track_uuid: Some(track),
            categories: if kind == TrackEventType::SliceEnd {
                vec![]
            } else {
                vec![category.to_owned()]
            },
            name,
        };
        self.packet(&proto::TracePacket {
            timestamp: Some(timestamp(at)),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            ..proto::TracePacket::default()
        });
    }

    fn write(&mut self, trace: &Trace, at: Time, what: What) {
        match what {
            What::Stops(task, cpu, true) => self.state(at, task, cpu, State::Runnable),
            What::Stops(task, cpu, false) => self.state(at, task, cpu, State::Sleeping),
            What::Waits(task, cpu) => self.state(at, task, cpu, State::Runnable),
            What::Runs(task, cpu) => self.state(at, task, cpu, State::Running),
            What::JobBegins(index) => {
                let record = &trace.jobs[index];
                let job = &record.job;
                let name = format!("{}#{}", self.labels.task(job.id.task), job.id.seq);
                // A job that ends when it begins has no length to show.
                let is_instant = record.end.is_some_and(|(end, _)| end <= at);
                let kind =
                    if is_instant { TrackEventType::Instant } else { TrackEventType::SliceBegin };
                let arguments = job_arguments(record);
                self.event(at, track(job.id.task), kind, "job", Some(name), arguments);
            }
            What::JobEnds(index) => {
                let task = trace.jobs[index].job.id.task;
                self.event(at, track(task), TrackEventType::SliceEnd, "job", None, Vec::new());
            }
            What::Misses(index) => {
                let record = &trace.jobs[index];
                let job = &record.job;
                let mut arguments =
                    vec![number("job", i64::try_from(job.id.seq).unwrap_or(i64::MAX))];
                if let Some(end) = record.completion() {
                    arguments.push(number("tardiness_ns", job.tardiness(end).ns()));
                }
                let name = Some("deadline miss".to_owned());
                self.event(
                    at,
                    track(job.id.task),
                    TrackEventType::Instant,
                    "miss",
                    name,
                    arguments,
                );
            }
            What::Mark(index) => {
                let mark = trace.marks[index].kind.describe();
                let track = mark.task().map_or(PROCESS_TRACK, track);
                let name = Some(mark.text());
                self.event(at, track, TrackEventType::Instant, "mark", name, Vec::new());
            }
            What::Answer(index) => {
                let answer = &trace.answers[index];
                let mut arguments = Vec::new();
                if let Some(reason) = &answer.refused {
                    arguments.push(text("reason", reason));
                }
                let outcome = if answer.refused.is_some() { "refused" } else { "granted" };
                let name = Some(format!("{outcome}: {}", answer.request));
                self.event(at, PROCESS_TRACK, TrackEventType::Instant, "request", name, arguments);
            }
        }
    }
}

fn job_arguments(record: &JobRecord) -> Vec<proto::DebugAnnotation> {
    let job = &record.job;
    let mut arguments = vec![
        number("arrival_ns", job.arrival.ns()),
        number("release_ns", job.release.ns()),
        number("deadline_ns", job.deadline.ns()),
        number("executed_ns", record.executed.ns()),
    ];
    let how = match record.end {
        Some((_, JobEnd::Completed)) => "completed",
        Some((_, JobEnd::Aborted)) => "aborted",
        Some((_, JobEnd::Left)) => "left",
        None => "pending",
    };
    arguments.push(text("end", how));
    if let Some(end) = record.completion() {
        arguments.push(number("response_ns", (end - job.arrival).ns()));
    }
    arguments
}

fn number(name: &str, value: i64) -> proto::DebugAnnotation {
    let name = Some(name.to_owned());
    proto::DebugAnnotation { name, int_value: Some(value), string_value: None }
}

fn text(name: &str, value: &str) -> proto::DebugAnnotation {
    let name = Some(name.to_owned());
    proto::DebugAnnotation { name, int_value: None, string_value: Some(value.to_owned()) }
}

fn tid(task: TaskId) -> i64 {
    i64::from(task.0) + 1
}

fn track(task: TaskId) -> u64 {
    PROCESS_TRACK + 1 + u64::from(task.0)
}

/// Perfetto's times are not negative; nor are those of a run.
fn timestamp(at: Time) -> u64 {
    u64::try_from(at.ns()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
