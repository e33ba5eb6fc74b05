//! A trace as JSON, and back.
//!
//! The document is one object. Its members come in this order; jobs and segments stand one in a
//! line, so that `grep`, `jq` and `diff` work on them:
//!
//! ```json
//! {"version":1,"unit":"ns","tasks":["control","brake"],"cpus":2,"over":20000000,"interrupted":false,
//! "summary":{"over_ns":20000000},
//! "jobs":[
//! {"task":0,"seq":0,"arrival":0,"release":0,"deadline":5000000,"end":1200000,"how":"completed","executed":1200000},
//! {"task":1,"seq":0,"arrival":0,"release":0,"deadline":10000000,"executed":0}
//! ],
//! "segments":[
//! {"task":0,"seq":0,"cpu":1,"start":0,"end":1200000}
//! ],
//! "marks":[{"at":0,"kind":"cpu_offline","cpu":0}],
//! "answers":[{"at":0,"request":"leave brake"}]}
//! ```
//!
//! | member | meaning |
//! |---|---|
//! | `version` | of this schema: 1 |
//! | `unit` | of every time and amount of work: `ns`, as integers |
//! | `tasks` | the names; a task is its position in this list, from 0 |
//! | `cpus` | how many there are |
//! | `over`, `interrupted` | when the run ended, and whether that was before its horizon |
//! | `levels` | the names of the criticality levels, low to high; left out if there is but one |
//! | `summary` | a [`Summary`], or null |
//! | `jobs` | [`JobRecord`]s; without `end` and `how` (`completed`, `aborted`, `left`) if pending |
//! | `segments` | [`Segment`]s; without `overhead` if that is zero |
//! | `marks` | [`Mark`]s: `budget_exhausted` (with `task`, `seq`, `cpu`), `cpu_online`, `cpu_offline` (with `cpu`), `speed` (with `cpu`, `speed`, a fraction), `moved` (with `task`, `from`, `cpu`, and `why`: `placed`, `pushed`, `pulled`, `expelled`), `throttled` (with `task`), `replenished` (with `task`, `deadline`), `indicator` (with `cpu`, `level`, a criticality from 0) |
//! | `answers` | [`Answer`]s; with `refused`, the reason, and `errno` (`busy`, `not_permitted`, `invalid`) if the request was refused |
//!
//! Times fit 64-bit signed integers. A reader whose numbers are floating point (JavaScript) keeps
//! them exactly up to 2^53 ns, about 104 days.

use crate::{
    Answer, Errno, Job, JobEnd, JobRecord, Labels, Mark, MarkKind, Segment, Summary, Trace,
};
use layland_model::{
    CpuId, Criticality, Duration, Index, JobId, MoveReason, Service, Speed, TaskId, Time,
};
use serde::de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::marker::PhantomData;

/// The version of the schema.
pub const VERSION: u32 = 1;

/// Writes a trace as JSON. It is written as it is read: nothing is held in memory besides it. The
/// writer should be buffered.
///
/// ```
/// use layland_trace::json::{read_json, write_json};
/// use layland_trace::{Labels, Recorder, Trace};
/// let mut trace = Trace::default();
/// trace.over(layland_model::Time::from_ns(7), false);
/// let labels = Labels { tasks: vec!["control".to_owned()].into(), cpus: 2, levels: vec![] };
///
/// let mut text = Vec::new();
/// write_json(&mut text, &trace, &labels, None).unwrap();
/// assert_eq!(read_json(text.as_slice()).unwrap(), (trace, labels));
/// ```
///
/// # Errors
/// If writing fails.
pub fn write_json(
    out: &mut impl Write,
    trace: &Trace,
    labels: &Labels,
    summary: Option<&Summary>,
) -> io::Result<()> {
    write!(out, "{{\"version\":{VERSION},\"unit\":\"ns\",\"tasks\":")?;
    serde_json::to_writer(&mut *out, labels.tasks.as_slice())?;
    write!(
        out,
        ",\"cpus\":{},\"over\":{},\"interrupted\":{},",
        labels.cpus,
        trace.over.ns(),
        trace.interrupted
    )?;
    if !labels.levels.is_empty() {
        out.write_all(b"\"levels\":")?;
        serde_json::to_writer(&mut *out, &labels.levels)?;
        out.write_all(b",")?;
    }
    out.write_all(b"\n\"summary\":")?;
    serde_json::to_writer(&mut *out, &summary)?;
    write_list(out, "jobs", trace.jobs.iter().map(WireJob::from))?;
    write_list(out, "segments", trace.segments.iter().map(WireSegment::from))?;
    write_list(out, "marks", trace.marks.iter().map(WireMark::from))?;
    write_list(out, "answers", trace.answers.iter().map(WireAnswer::from))?;
    writeln!(out, "}}")
}

fn write_list(
    out: &mut impl Write,
    name: &str,
    items: impl Iterator<Item = impl Serialize>,
) -> io::Result<()> {
    write!(out, ",\n\"{name}\":[")?;
    for (index, item) in items.enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &item)?;
    }
    out.write_all(b"]")
}

/// Why a document is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read, is not JSON, or is not of this schema.
    #[error("failed to read the trace: {0}")]
    Json(#[from] serde_json::Error),
    /// A task that has no name.
    #[error("the trace names task {task}, but has {count} tasks")]
    UnknownTask {
        /// The task.
        task: TaskId,
        /// How many there are.
        count: usize,
    },
    /// A CPU that does not exist.
    #[error("the trace names CPU {cpu}, but has {count} CPUs")]
    UnknownCpu {
        /// The CPU.
        cpu: CpuId,
        /// How many there are.
        count: usize,
    },
    /// A time before the start of the run.
    #[error("the trace has a time of {at}, before the start of the run")]
    NegativeTime {
        /// The time.
        at: Time,
    },
}

/// Reads a trace and its labels. The summary is not read: replaying the trace into
/// [`Statistics`](crate::Statistics) gives it again.
///
/// # Errors
/// If the document is not a trace of [`VERSION`], or names a task or a CPU that it does not have.
/// Members that are not in the schema are errors.
pub fn read_json(input: impl Read) -> Result<(Trace, Labels), ReadError> {
    let document: Document = serde_json::from_reader(BufReader::new(input))?;
    let labels =
        Labels { tasks: document.tasks.into(), cpus: document.cpus, levels: document.levels };
    let trace = Trace {
        jobs: document.jobs,
        segments: document.segments,
        marks: document.marks,
        answers: document.answers,
        over: Time::from_ns(document.over),
        interrupted: document.interrupted,
    };
    verify(&trace, &labels)?;
    Ok((trace, labels))
}

/// That ids are in range and times not negative: whoever uses the trace relies on it.
fn verify(trace: &Trace, labels: &Labels) -> Result<(), ReadError> {
    let task = |task: TaskId| match labels.tasks.get(task) {
        Some(_) => Ok(()),
        None => Err(ReadError::UnknownTask { task, count: labels.tasks.len() }),
    };
    let cpu = |cpu: CpuId| {
        if cpu.index() < labels.cpus {
            return Ok(());
        }
        Err(ReadError::UnknownCpu { cpu, count: labels.cpus })
    };
    let time = |at: Time| {
        if at >= Time::ZERO { Ok(()) } else { Err(ReadError::NegativeTime { at }) }
    };
    time(trace.over)?;
    for record in &trace.jobs {
        let Job { id, arrival, release, deadline } = record.job;
        task(id.task)?;
        let end = record.end.map(|(at, _)| at);
        [Some(arrival), Some(release), Some(deadline), end]
            .into_iter()
            .flatten()
            .try_for_each(time)?;
    }
    for segment in &trace.segments {
        task(segment.job.task)?;
        cpu(segment.cpu)?;
        time(segment.start)?;
        time(segment.end)?;
    }
    for mark in &trace.marks {
        time(mark.at)?;
        match mark.kind {
            MarkKind::BudgetExhausted(job, on) => {
                task(job.task)?;
                cpu(on)?;
            }
            MarkKind::CpuOnline(on)
            | MarkKind::CpuOffline(on)
            | MarkKind::Speed(on, _)
            | MarkKind::Indicator(on, _) => cpu(on)?,
            MarkKind::Moved { task: moved, from, to, .. } => {
                task(moved)?;
                cpu(from)?;
                cpu(to)?;
            }
            MarkKind::Throttled(of) | MarkKind::Unlisted(of) => task(of)?,
            MarkKind::Replenished { task: replenished, deadline } => {
                task(replenished)?;
                time(deadline)?;
            }
        }
    }
    trace.answers.iter().try_for_each(|answer| time(answer.at))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "version", deserialize_with = "this_version")]
    _version: (),
    #[serde(rename = "unit")]
    _unit: Unit,
    tasks: Vec<String>,
    cpus: usize,
    over: i64,
    interrupted: bool,
    #[serde(default)]
    levels: Vec<String>,
    #[serde(rename = "summary", default)]
    _summary: IgnoredAny,
    #[serde(deserialize_with = "each::<_, WireJob, _>")]
    jobs: Vec<JobRecord>,
    #[serde(deserialize_with = "each::<_, WireSegment, _>")]
    segments: Vec<Segment>,
    #[serde(deserialize_with = "each::<_, WireMark, _>", default)]
    marks: Vec<Mark>,
    #[serde(deserialize_with = "each::<_, WireAnswer, _>", default)]
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
enum Unit {
    #[serde(rename = "ns")]
    Nanoseconds,
}

fn this_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match u32::deserialize(deserializer)? {
        VERSION => Ok(()),
        other => Err(D::Error::custom(format!(
            "the trace has version {other} of the schema, this program reads version {VERSION}"
        ))),
    }
}

/// A list whose items are converted one by one, so that it is never in memory twice.
fn each<'de, D, W, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    W: Deserialize<'de> + TryInto<T, Error: fmt::Display>,
{
    struct Each<W, T>(PhantomData<(W, T)>);
    impl<'de, W: Deserialize<'de> + TryInto<T, Error: fmt::Display>, T> Visitor<'de> for Each<W, T> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a list")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element::<W>()? {
                list.push(item.try_into().map_err(A::Error::custom)?);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(Each::<W, T>(PhantomData))
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Completed,
    Aborted,
    Left,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireJob {
    task: u32,
    seq: u64,
    arrival: i64,
    release: i64,
    deadline: i64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    end: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    how: Option<How>,
    executed: i64,
}

impl From<&JobRecord> for WireJob {
    fn from(record: &JobRecord) -> WireJob {
        let Job { id, arrival, release, deadline } = record.job;
        WireJob {
            task: id.task.0,
            seq: id.seq,
            arrival: arrival.ns(),
            release: release.ns(),
            deadline: deadline.ns(),
            end: record.end.map(|(at, _)| at.ns()),
            how: record.end.map(|(_, how)| match how {
                JobEnd::Completed => How::Completed,
                JobEnd::Aborted => How::Aborted,
                JobEnd::Left => How::Left,
            }),
            executed: record.executed.ns(),
        }
    }
}

impl TryFrom<WireJob> for JobRecord {
    type Error = &'static str;
    fn try_from(wire: WireJob) -> Result<JobRecord, &'static str> {
        let end = match (wire.end, wire.how) {
            (Some(at), Some(How::Completed)) => Some((at, JobEnd::Completed)),
            (Some(at), Some(How::Aborted)) => Some((at, JobEnd::Aborted)),
            (Some(at), Some(How::Left)) => Some((at, JobEnd::Left)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err("a job that ended has both `end` and `how`, a pending one neither");
            }
        };
        Ok(JobRecord {
            job: Job {
                id: job_id(wire.task, wire.seq),
                arrival: Time::from_ns(wire.arrival),
                release: Time::from_ns(wire.release),
                deadline: Time::from_ns(wire.deadline),
            },
            end: end.map(|(at, how)| (Time::from_ns(at), how)),
            executed: Service::from_ns(wire.executed),
        })
    }
}

fn job_id(task: u32, seq: u64) -> JobId {
    JobId { task: TaskId(task), seq }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSegment {
    task: u32,
    seq: u64,
    cpu: u32,
    start: i64,
    end: i64,
    #[serde(skip_serializing_if = "is_zero", default)]
    overhead: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_zero(ns: &i64) -> bool {
    *ns == 0
}

impl From<&Segment> for WireSegment {
    fn from(segment: &Segment) -> WireSegment {
        WireSegment {
            task: segment.job.task.0,
            seq: segment.job.seq,
            cpu: segment.cpu.0,
            start: segment.start.ns(),
            end: segment.end.ns(),
            overhead: segment.overhead.ns(),
        }
    }
}

impl From<WireSegment> for Segment {
    fn from(wire: WireSegment) -> Segment {
        Segment {
            job: job_id(wire.task, wire.seq),
            cpu: CpuId(wire.cpu),
            start: Time::from_ns(wire.start),
            end: Time::from_ns(wire.end),
            overhead: Duration::from_ns(wire.overhead),
        }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireKind {
    BudgetExhausted,
    CpuOnline,
    CpuOffline,
    Speed,
    Moved,
    Throttled,
    Replenished,
    Indicator,
    Unlisted,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireMark {
    at: i64,
    kind: WireKind,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    task: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    from: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    deadline: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    speed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    level: Option<u8>,
}

impl From<&Mark> for WireMark {
    fn from(mark: &Mark) -> WireMark {
        let wire = |kind| WireMark {
            at: mark.at.ns(),
            kind,
            task: None,
            seq: None,
            from: None,
            cpu: None,
            deadline: None,
            speed: None,
            why: None,
            level: None,
        };
        match mark.kind {
            MarkKind::Speed(cpu, speed) => WireMark {
                cpu: Some(cpu.0),
                speed: Some(speed.to_string()),
                ..wire(WireKind::Speed)
            },
            MarkKind::BudgetExhausted(job, cpu) => WireMark {
                task: Some(job.task.0),
                seq: Some(job.seq),
                cpu: Some(cpu.0),
                ..wire(WireKind::BudgetExhausted)
            },
            MarkKind::CpuOnline(cpu) => WireMark { cpu: Some(cpu.0), ..wire(WireKind::CpuOnline) },
            MarkKind::CpuOffline(cpu) => {
                WireMark { cpu: Some(cpu.0), ..wire(WireKind::CpuOffline) }
            }
            MarkKind::Moved { task, from, to, why } => WireMark {
                task: Some(task.0),
                from: Some(from.0),
                cpu: Some(to.0),
                why: Some(why.name().to_owned()),
                ..wire(WireKind::Moved)
            },
            MarkKind::Throttled(task) => {
                WireMark { task: Some(task.0), ..wire(WireKind::Throttled) }
            }
            MarkKind::Replenished { task, deadline } => WireMark {
                task: Some(task.0),
                deadline: Some(deadline.ns()),
                ..wire(WireKind::Replenished)
            },
            MarkKind::Indicator(cpu, level) => {
                WireMark { cpu: Some(cpu.0), level: Some(level.0), ..wire(WireKind::Indicator) }
            }
            MarkKind::Unlisted(task) => WireMark { task: Some(task.0), ..wire(WireKind::Unlisted) },
        }
    }
}

impl TryFrom<WireMark> for Mark {
    type Error = &'static str;
    fn try_from(wire: WireMark) -> Result<Mark, &'static str> {
        let WireMark { at, kind, task, seq, from, cpu, deadline, speed, why, level } = wire;
        if let (WireKind::Speed, Some(cpu), Some(speed)) = (kind, cpu, &speed) {
            let speed = speed.parse().ok().and_then(|rate| Speed::new(&rate));
            let speed = speed.ok_or("a `speed` is a positive fraction")?;
            return Ok(Mark { at: Time::from_ns(at), kind: MarkKind::Speed(CpuId(cpu), speed) });
        }
        if level.is_some() && !matches!(kind, WireKind::Indicator) {
            return Err("only an `indicator` mark has a `level`");
        }
        if speed.is_some() {
            return Err("only a `speed` mark has a `speed`");
        }
        if why.is_some() && !matches!(kind, WireKind::Moved) {
            return Err("only a `moved` mark has a `why`");
        }
        let fields = (task.map(TaskId), seq, from.map(CpuId), cpu.map(CpuId), deadline);
        let kind = match (kind, fields) {
            (WireKind::BudgetExhausted, (Some(task), Some(seq), None, Some(cpu), None)) => {
                MarkKind::BudgetExhausted(JobId { task, seq }, cpu)
            }
            (WireKind::CpuOnline, (None, None, None, Some(cpu), None)) => MarkKind::CpuOnline(cpu),
            (WireKind::CpuOffline, (None, None, None, Some(cpu), None)) => {
                MarkKind::CpuOffline(cpu)
            }
            (WireKind::Moved, (Some(task), None, Some(from), Some(to), None)) => {
                let mut known = MoveReason::ALL.into_iter();
                let why = known.find(|known| why.as_deref() == Some(known.name()));
                let why = why.ok_or("`why` is placed, pushed, pulled or expelled")?;
                MarkKind::Moved { task, from, to, why }
            }
            (WireKind::Throttled, (Some(task), None, None, None, None)) => {
                MarkKind::Throttled(task)
            }
            (WireKind::Unlisted, (Some(task), None, None, None, None)) => MarkKind::Unlisted(task),
            (WireKind::Replenished, (Some(task), None, None, None, Some(deadline))) => {
                MarkKind::Replenished { task, deadline: Time::from_ns(deadline) }
            }
            (WireKind::Indicator, (None, None, None, Some(cpu), None)) => {
                let level = level.ok_or("an `indicator` mark has a `cpu` and a `level`")?;
                MarkKind::Indicator(cpu, Criticality(level))
            }
            (WireKind::Indicator, _) => {
                return Err("an `indicator` mark has a `cpu` and a `level`");
            }
            (WireKind::BudgetExhausted, _) => {
                return Err("a `budget_exhausted` mark has a `task`, a `seq` and a `cpu`");
            }
            (WireKind::CpuOnline | WireKind::CpuOffline, _) => {
                return Err("only a `budget_exhausted` mark has a `task` and a `seq`");
            }
            (WireKind::Speed, _) => return Err("a `speed` mark has a `cpu` and a `speed`"),
            (WireKind::Moved, _) => {
                return Err("a `moved` mark has a `task`, `from`, `cpu` and `why`");
            }
            (WireKind::Throttled, _) => return Err("a `throttled` mark has a `task`"),
            (WireKind::Unlisted, _) => return Err("an `unlisted` mark has a `task`"),
            (WireKind::Replenished, _) => {
                return Err("a `replenished` mark has a `task` and a `deadline`");
            }
        };
        Ok(Mark { at: Time::from_ns(at), kind })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireErrno {
    Busy,
    NotPermitted,
    Invalid,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireAnswer {
    at: i64,
    request: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    errno: Option<WireErrno>,
}

impl From<&Answer> for WireAnswer {
    fn from(answer: &Answer) -> WireAnswer {
        WireAnswer {
            at: answer.at.ns(),
            request: answer.request.clone(),
            refused: answer.refused.clone(),
            errno: answer.errno.map(|errno| match errno {
                Errno::Busy => WireErrno::Busy,
                Errno::NotPermitted => WireErrno::NotPermitted,
                Errno::Invalid => WireErrno::Invalid,
            }),
        }
    }
}

impl From<WireAnswer> for Answer {
    fn from(wire: WireAnswer) -> Answer {
        let errno = wire.errno.map(|errno| match errno {
            WireErrno::Busy => Errno::Busy,
            WireErrno::NotPermitted => Errno::NotPermitted,
            WireErrno::Invalid => Errno::Invalid,
        });
        Answer { at: Time::from_ns(wire.at), request: wire.request, refused: wire.refused, errno }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;
    use crate::testing::{at, id, naive};
    use layland_model::System;
    use proptest::prelude::*;

    fn full() -> (Trace, System) {
        let (system, mut trace) = naive(2, &[(2, 4), (3, 5), (5, 6)], 23);
        trace.segments[0].overhead = Duration::from_ns(1);
        trace.jobs[0].end = Some((at(2), JobEnd::Aborted));
        trace.jobs[1].end = Some((at(3), JobEnd::Left));
        trace.marks = vec![
            Mark { at: at(1), kind: MarkKind::CpuOffline(CpuId(1)) },
            Mark { at: at(2), kind: MarkKind::CpuOnline(CpuId(1)) },
            Mark { at: at(3), kind: MarkKind::BudgetExhausted(id(2, 7), CpuId(0)) },
            Mark {
                at: at(4),
                kind: MarkKind::Moved {
                    task: TaskId(1),
                    from: CpuId(0),
                    to: CpuId(1),
                    why: MoveReason::Pulled,
                },
            },
            Mark { at: at(5), kind: MarkKind::Throttled(TaskId(0)) },
            Mark {
                at: at(5),
                kind: MarkKind::Speed(
                    CpuId(1),
                    Speed::new(&layland_model::Rate::new(63, 100)).unwrap(),
                ),
            },
            Mark { at: at(6), kind: MarkKind::Replenished { task: TaskId(0), deadline: at(9) } },
            Mark { at: at(7), kind: MarkKind::Indicator(CpuId(1), Criticality(2)) },
            Mark { at: at(7), kind: MarkKind::Unlisted(TaskId(1)) },
        ];
        trace.answers = vec![
            Answer {
                at: at(4),
                request: "a \"quoted\" request".to_owned(),
                refused: None,
                errno: None,
            },
            Answer {
                at: at(5),
                request: "join".to_owned(),
                refused: Some("full".to_owned()),
                errno: Some(Errno::Busy),
            },
        ];
        trace.interrupted = true;
        (trace, system)
    }

    fn written(trace: &Trace, labels: &Labels, summary: Option<&Summary>) -> String {
        let mut text = Vec::new();
        write_json(&mut text, trace, labels, summary).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_trace_reads_back_as_written() {
        let (trace, system) = full();
        let mut labels = Labels::of(&system);
        let mut statistics = Statistics::default();
        trace.replay(&mut statistics);
        let summary = statistics.summary(&labels);
        for summary in [None, Some(&summary)] {
            labels.levels =
                summary.map_or(Vec::new(), |_| vec!["LO".to_owned(), "\"HI\"".to_owned()]);
            let text = written(&trace, &labels, summary);
            assert_eq!(read_json(text.as_bytes()).unwrap(), (trace.clone(), labels.clone()));
            serde_json::from_str::<IgnoredAny>(&text).unwrap();
        }
    }

    #[test]
    fn wrong_documents_are_refused() {
        let (trace, system) = full();
        let text = written(&trace, &Labels::of(&system), None);
        for (from, to, message) in [
            ("\"version\":1", "\"version\":2", "version 2 of the schema"),
            ("\"unit\":\"ns\"", "\"unit\":\"ms\"", "unknown variant `ms`"),
            ("\"over\"", "\"oven\"", "unknown field `oven`"),
            ("\"cpus\":2", "\"cpus\":1", "names CPU 1, but has 1 CPUs"),
            ("\"task\":2", "\"task\":3", "names task 3, but has 3 tasks"),
            ("\"how\":\"aborted\",", "", "both `end` and `how`"),
            ("\"arrival\":0", "\"arrival\":-1", "a time of -1ns"),
            ("\"seq\":7,", "", "a `budget_exhausted` mark has"),
            ("]}", "]", "EOF"),
        ] {
            let error = read_json(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{message}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_schedule_reads_back(
            cpus in 1usize..4,
            tasks in prop::collection::vec((1i64..5, 5i64..12), 0..5),
            over in 0i64..60,
        ) {
            let (system, trace) = naive(cpus, &tasks, over);
            let labels = Labels::of(&system);
            let text = written(&trace, &labels, None);
            prop_assert_eq!(read_json(text.as_bytes()).unwrap(), (trace, labels));
        }

        /// What is no trace any more is an error, and never a panic.
        #[test]
        fn damaged_documents_are_answered(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let (trace, system) = full();
            let mut bytes = written(&trace, &Labels::of(&system), None).into_bytes();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = read_json(bytes.as_slice());
            bytes.truncate(cut.index(bytes.len()));
            prop_assert!(read_json(bytes.as_slice()).is_err());
        }
    }
}
