//! Writes a trace for Perfetto.
//!
//! The schedule is written as state changes of threads (`GenericKernelTaskStateEvent`).
//! Perfetto shows it on its own CPU and thread tracks, and its `sched` and
//! `thread_state` tables contain it. Every task is a thread of one process. Jobs,
//! misses, marks and answers are track events on that thread:
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
//! The field numbers are those of `perfetto_trace.proto`, which guarantees that they do not change.
//! The state events need Perfetto 50 or later; older versions show only the track events. The
//! number of a thread is that of its task plus one, because thread 0 is the idle thread.
//!
//! Order at one instant: states that end, slices that end, misses, releases, states *Running*,
//! marks. A thread never becomes *Running* twice in a row, which Perfetto rejects: a job that moves
//! to another CPU without a pause becomes *Runnable* for zero time in between.

mod proto;

use crate::sorter::{SortKey, Sorter};
use layland_model::{CpuId, JobId, Service, TaskId, TaskMap, Time};
use layland_trace::{
    Answer, Job, JobEnd, JobRecord, Labels, Mark, Recorder, Scratch, Segment, Trace,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// `TaskStateEnum`. The state *Created* is not written: the track already declares the thread, and
/// Perfetto reports an error for a thread that is created twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TaskStateCode {
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

/// All packets belong to one sequence.
const SEQUENCE: u32 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: the sequence has no earlier state.
const CLEARED: u32 = 1;
/// The track of the process; those of the tasks follow.
const PROCESS_TRACK: u64 = 1;

/// An item to write. The order of the variants is the
/// order in which they are written at one instant.
#[derive(Clone, Copy)]
enum What {
    /// The task stops running or waiting on a CPU; then it waits (`true`) or sleeps (`false`).
    Stops(TaskId, CpuId, bool),
    /// The job with this index ends.
    JobEnds(u64),
    /// The job with this index misses its deadline.
    Misses(u64),
    /// The job with this index can run.
    JobBegins(u64),
    /// The task waits and did not run just before.
    Waits(TaskId, CpuId),
    /// The task runs.
    Runs(TaskId, CpuId),
    /// The mark with this index.
    Mark(u64),
    /// The answer with this index.
    Answer(u64),
}

impl What {
    fn key(self, at: Time) -> SortKey {
        let (rank, rest) = match self {
            What::Stops(task, cpu, waits) => (0, (u64::from(task.0), cpu.0, u8::from(waits))),
            What::JobEnds(position) => (1, (position, 0, 0)),
            What::Misses(position) => (2, (position, 0, 0)),
            What::JobBegins(position) => (3, (position, 0, 0)),
            What::Waits(task, cpu) => (4, (u64::from(task.0), cpu.0, 0)),
            What::Runs(task, cpu) => (5, (u64::from(task.0), cpu.0, 0)),
            What::Mark(position) => (6, (position, 0, 0)),
            What::Answer(position) => (7, (position, 0, 0)),
        };
        SortKey::new(at, rank, rest)
    }
}

/// Returns a trace as a file for Perfetto; `title` is the name of its process.
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
    let labels = labels.completed(trace);
    let mut writer = PerfettoWriter::new(Vec::new(), &labels, title, &Scratch::memory());
    trace.replay(&mut writer);
    writer.finish().expect("memory takes what is written to it")
}

/// Writes the run that an engine reports, with the same bytes as [`write()`] for the whole trace.
/// Memory is bounded at any length: a record whose end is not known yet waits in a [`Scratch`].
pub struct PerfettoWriter<'a, W> {
    out: W,
    labels: &'a Labels,
    sorter: Sorter,
    /// The numbers of jobs, marks and answers so far.
    jobs: u64,
    marks: u64,
    answers: u64,
    /// The jobs that have run and are not over.
    running: BTreeMap<JobId, CpuStretch>,
    /// The jobs that are over, each with its end: an engine may report their last segments later.
    over: Vec<(JobRecord, Time)>,
    tasks: TaskMap<History>,
    written: io::Result<()>,
}

impl History {
    const NONE: History = History { over: None, cpu: CpuId(0) };
}

/// The last stretch in which a job ran on one CPU without a pause.
#[derive(Clone, Copy)]
struct CpuStretch {
    /// The start of the job's first segment.
    first: Time,
    cpu: CpuId,
    end: Time,
}

/// Facts about a task from its earlier jobs.
#[derive(Clone, Copy)]
struct History {
    /// The end of the last job.
    over: Option<Time>,
    /// The CPU on which that job ran.
    cpu: CpuId,
}

impl<'a, W: Write> PerfettoWriter<'a, W> {
    /// Begins a file; `title` is the name of its process. Every task has a label.
    pub fn new(
        out: W,
        labels: &'a Labels,
        title: &str,
        scratch: &Scratch,
    ) -> PerfettoWriter<'a, W> {
        let mut writer = PerfettoWriter {
            out,
            labels,
            sorter: Sorter::new(scratch.clone()),
            jobs: 0,
            marks: 0,
            answers: 0,
            running: BTreeMap::new(),
            over: Vec::new(),
            tasks: labels.tasks.values().map(|_| History::NONE).collect(),
            written: Ok(()),
        };
        writer.written = writer.descriptors(title);
        writer
    }

    /// Ends the file. Does not flush the writer.
    ///
    /// # Errors
    /// If writing failed, now or while the run was reported.
    pub fn finish(mut self) -> io::Result<W> {
        self.written?;
        self.sorter.finish(&mut self.out)?;
        Ok(self.out)
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.labels.tasks.len() + 1).unwrap_or(i32::MAX)
    }

    fn descriptors(&mut self, title: &str) -> io::Result<()> {
        let pid = Some(self.pid());
        let process = Some(proto::ProcessDescriptor { pid, process_name: Some(title.to_owned()) });
        let mut tracks = vec![proto::TrackDescriptor {
            uuid: Some(PROCESS_TRACK),
            process,
            ..proto::TrackDescriptor::default()
        }];
        for (task, name) in self.labels.tasks.iter() {
            let (tid, thread_name) = (Some(tid(task)), Some(name.clone()));
            let thread = Some(proto::ThreadDescriptor { pid, tid, thread_name });
            tracks.push(proto::TrackDescriptor {
                uuid: Some(track(task)),
                parent_uuid: Some(PROCESS_TRACK),
                thread,
                ..proto::TrackDescriptor::default()
            });
        }
        for (index, track) in tracks.into_iter().enumerate() {
            let packet = proto::TracePacket {
                timestamp: Some(0),
                trusted_packet_sequence_id: Some(SEQUENCE),
                sequence_flags: (index == 0).then_some(CLEARED),
                track_descriptor: Some(track),
                ..proto::TracePacket::default()
            };
            self.out.write_all(&bytes(&packet))?;
        }
        Ok(())
    }

    fn push(&mut self, at: Time, what: What, packet: &proto::TracePacket) {
        // Write nothing more once writing has failed.
        if self.written.is_ok() {
            self.written = self.sorter.push(what.key(at), &bytes(packet));
        }
    }

    /// Writes a change of the task's state.
    fn state(&mut self, at: Time, what: What) {
        let (task, cpu, state) = match what {
            What::Stops(task, cpu, true) | What::Waits(task, cpu) => {
                (task, cpu, TaskStateCode::Runnable)
            }
            What::Stops(task, cpu, false) => (task, cpu, TaskStateCode::Sleeping),
            What::Runs(task, cpu) => (task, cpu, TaskStateCode::Running),
            What::JobEnds(_)
            | What::Misses(_)
            | What::JobBegins(_)
            | What::Mark(_)
            | What::Answer(_) => return,
        };
        let event = proto::TaskStateEvent {
            cpu: Some(i32::try_from(cpu.0).unwrap_or(i32::MAX)),
            comm: Some(self.labels.task(task)),
            tid: Some(tid(task)),
            state: Some(state as i32),
            prio: Some(0),
        };
        let packet = proto::TracePacket {
            timestamp: Some(timestamp(at)),
            trusted_packet_sequence_id: Some(SEQUENCE),
            generic_kernel_task_state_event: Some(event),
            ..proto::TracePacket::default()
        };
        self.push(at, what, &packet);
    }

    /// Writes the begin or end of a slice, or an instant, on a track.
    fn event(&mut self, at: Time, what: What, track: u64, event: proto::TrackEvent) {
        let packet = proto::TracePacket {
            timestamp: Some(timestamp(at)),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(proto::TrackEvent { track_uuid: Some(track), ..event }),
            ..proto::TracePacket::default()
        };
        self.push(at, what, &packet);
    }

    /// Writes the jobs that were over before this time: everything about them is known.
    fn settle(&mut self, at: Time) {
        if self.over.first().is_some_and(|&(_, over)| over < at) {
            for (record, at) in std::mem::take(&mut self.over) {
                self.job(&record, at);
            }
        }
    }

    /// Writes a job that was over at this time, whether or not it ended.
    fn job(&mut self, record: &JobRecord, at: Time) {
        let position = self.jobs;
        self.jobs += 1;
        let JobRecord { job, end: ended, .. } = record;
        let task = job.id.task;
        let history = self.tasks.get(task).copied().unwrap_or(History::NONE);
        // The job could run only after its predecessor was over.
        let ready = history.over.map_or(job.release, |over| over.max(job.release));
        let end = at.max(ready);
        let ran = self.running.remove(&job.id);
        let cpu = ran.map_or(history.cpu, |ran| ran.cpu);
        if let Some(history) = self.tasks.get_mut(task) {
            *history = History { over: Some(end), cpu };
        }

        self.event(ready, What::JobBegins(position), track(task), self.begin(record, ready));
        if ready < end {
            let slice_end = event(TrackEventType::SliceEnd, None, None, Vec::new());
            self.event(end, What::JobEnds(position), track(task), slice_end);
        }
        if record.missed(at) {
            let missed_at = match ended {
                Some((at, JobEnd::Aborted)) => job.deadline.min(*at),
                Some((_, JobEnd::Completed | JobEnd::Left)) | None => job.deadline,
            };
            self.event(missed_at, What::Misses(position), track(task), miss(record));
        }

        if let Some(ran) = ran {
            let waits = ended.is_none() || end > ran.end;
            self.state(ran.end, What::Stops(task, ran.cpu, waits));
        }
        if ready == end {
            return;
        }
        if ran.is_none_or(|ran| ran.first > ready) {
            self.state(ready, What::Waits(task, cpu));
        }
        // The job ended while it did not run.
        if ended.is_some() && ran.is_none_or(|ran| ran.end < end) {
            self.state(end, What::Stops(task, cpu, false));
        }
    }

    fn begin(&self, record: &JobRecord, ready: Time) -> proto::TrackEvent {
        let id = record.job.id;
        let name = format!("{}#{}", self.labels.task(id.task), id.number());
        // A job that ends when it begins has no length to show.
        let is_instant = record.end.is_some_and(|(end, _)| end <= ready);
        let kind = if is_instant { TrackEventType::Instant } else { TrackEventType::SliceBegin };
        event(kind, Some("job"), Some(name), job_arguments(record))
    }
}

impl<W: Write> Recorder for PerfettoWriter<'_, W> {
    fn executed(&mut self, segment: &Segment) {
        let &Segment { job, cpu, start, end, .. } = segment;
        self.settle(end);
        let last = self.running.get(&job).copied();
        let first = last.map_or(start, |last| last.first);
        match last {
            Some(last) if last.end == start && last.cpu == cpu => {}
            last => {
                if let Some(last) = last {
                    self.state(last.end, What::Stops(job.task, last.cpu, true));
                }
                self.state(start, What::Runs(job.task, cpu));
            }
        }
        self.running.insert(job, CpuStretch { first, cpu, end });
    }

    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        self.settle(at);
        self.over.push((JobRecord { job: *job, end: Some((at, end)), executed }, at));
    }

    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.settle(at);
        self.over.push((JobRecord { job: *job, end: None, executed }, at));
    }

    fn marked(&mut self, mark: &Mark) {
        let position = self.marks;
        self.marks += 1;
        let about = mark.kind.describe();
        let track = about.task().map_or(PROCESS_TRACK, track);
        let instant = event(TrackEventType::Instant, Some("mark"), Some(about.text()), Vec::new());
        self.event(mark.at, What::Mark(position), track, instant);
    }

    fn answered(&mut self, answer: &Answer) {
        let position = self.answers;
        self.answers += 1;
        let reason = answer.refused.as_deref().map(|reason| text("reason", reason));
        let outcome = if answer.refused.is_some() { "refused" } else { "granted" };
        let name = Some(format!("{outcome}: {}", answer.request));
        let arguments = reason.into_iter().collect();
        let instant = event(TrackEventType::Instant, Some("request"), name, arguments);
        self.event(answer.at, What::Answer(position), PROCESS_TRACK, instant);
    }

    fn over(&mut self, _at: Time, _interrupted: bool) {
        self.settle(Time::NEVER);
        // End the executions of jobs that the trace does not have as jobs.
        for (job, ran) in std::mem::take(&mut self.running) {
            self.state(ran.end, What::Stops(job.task, ran.cpu, true));
        }
    }
}

/// Encodes a packet as a field of the message `Trace`.
fn bytes(packet: &proto::TracePacket) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::message::encode(1, packet, &mut bytes);
    bytes
}

fn event(
    kind: TrackEventType,
    category: Option<&str>,
    name: Option<String>,
    arguments: Vec<proto::DebugAnnotation>,
) -> proto::TrackEvent {
    proto::TrackEvent {
        debug_annotations: arguments,
        r#type: Some(kind as i32),
        track_uuid: None,
        categories: category.map(str::to_owned).into_iter().collect(),
        name,
    }
}

/// The event of a missed deadline.
fn miss(record: &JobRecord) -> proto::TrackEvent {
    let job = &record.job;
    let mut arguments = vec![number("job", i64::try_from(job.id.seq).unwrap_or(i64::MAX))];
    if let Some(end) = record.completion() {
        arguments.push(number("tardiness_ns", job.tardiness(end).ns()));
    }
    let name = Some("deadline miss".to_owned());
    event(TrackEventType::Instant, Some("miss"), name, arguments)
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

/// Converts a time. Neither Perfetto's times nor those of a run are negative.
fn timestamp(at: Time) -> u64 {
    u64::try_from(at.ns()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
