//! Traces as JSON: a writer and a reader.
//!
//! The document is one object. Its members come in this order. Each job and each segment is on its
//! own line, so that `grep`, `jq` and `diff` work on them:
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
//! | `resources` | the names of the resources; left out if there are none |
//! | `levels` | the names of the criticality levels, low to high; left out if there is but one |
//! | `summary` | a [`Summary`], or null |
//! | `jobs` | [`JobRecord`]s; without `end` and `how` (`completed`, `aborted`, `left`) if pending |
//! | `segments` | [`Segment`]s; without `overhead` if that is zero |
//! | `marks` | [`Mark`]s: `budget_exhausted` (with `task`, `seq`, `cpu`), `cpu_online`, `cpu_offline` (with `cpu`), `speed` (with `cpu`, `speed`, a fraction), `moved` (with `task`, `from`, `cpu`, and `why`: `placed`, `pushed`, `pulled`, `expelled`), `throttled` (with `task`), `replenished` (with `task`, `deadline`), `indicator` (with `cpu`, `level`, a criticality from 0), `unlisted` (with `task`) |
//! | `answers` | [`Answer`]s; with `refused`, the reason, and `errno` (`busy`, `not_permitted`, `invalid`) if the request was refused |
//! | `recorded` | how a real machine was recorded ([`Recorded`]); left out if the trace is of a simulation |
//!
//! Times fit 64-bit signed integers. A reader whose numbers are floating point (JavaScript) keeps
//! them exactly up to 2^53 ns, about 104 days.

mod described;
mod recorded;
mod wire;
mod writer;

pub use self::described::{Described, Members};
pub use self::recorded::Recorded;
use self::recorded::WireRecorded;
use self::wire::{WireAnswer, WireJob, WireMark, WireSegment};
pub use self::writer::JsonWriter;
use crate::{Answer, Job, JobRecord, Labels, Mark, Segment, Summary, ThreadEventKind, Trace};
use layland_model::note::Detail;
use layland_model::{CpuId, CpuSet, Index, TIME_LIMIT, TaskId, Time};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::marker::PhantomData;

/// The version of the schema.
pub const VERSION: u32 = 1;

/// Writes a trace as JSON. The document is streamed and not held in memory. The writer should be
/// buffered.
///
/// ```
/// use layland_trace::json::{read_json, write_json};
/// use layland_trace::{Labels, Recorder, Trace};
/// let mut trace = Trace::default();
/// trace.over(layland_model::Time::from_ns(7), false);
/// let tasks = vec!["control".to_owned()].into();
/// let labels = Labels { tasks, cpus: 2, ..Labels::default() };
///
/// let mut text = Vec::new();
/// write_json(&mut text, &trace, &labels, None).unwrap();
/// assert_eq!(read_json(text.as_slice()).unwrap(), (trace, labels));
/// ```
///
/// # Errors
/// Returns an error if writing fails.
pub fn write_json(
    out: &mut impl Write,
    trace: &Trace,
    labels: &Labels,
    summary: Option<&Summary>,
) -> io::Result<()> {
    write_json_recorded(out, trace, labels, summary, None)
}

/// Writes a trace as JSON, with [`Recorded`] if it comes from a real machine.
///
/// # Errors
/// Returns the errors of [`write_json`].
pub fn write_json_recorded(
    out: &mut impl Write,
    trace: &Trace,
    labels: &Labels,
    summary: Option<&Summary>,
    recorded: Option<&Recorded>,
) -> io::Result<()> {
    write_head(out, labels, (trace.over, trace.interrupted), summary)?;
    write_list(out, "jobs", trace.jobs.iter().map(WireJob::from))?;
    write_list(out, "segments", trace.segments.iter().map(WireSegment::from))?;
    write_list(out, "marks", trace.marks.iter().map(WireMark::from))?;
    write_list(out, "answers", trace.answers.iter().map(WireAnswer::from))?;
    if let Some(recorded) = recorded {
        out.write_all(b",\n\"recorded\":")?;
        serde_json::to_writer(&mut *out, &WireRecorded::from(recorded))?;
    }
    writeln!(out, "}}")
}

/// Writes the members before the lists.
fn write_head(
    out: &mut impl Write,
    labels: &Labels,
    (over, interrupted): (Time, bool),
    summary: Option<&Summary>,
) -> io::Result<()> {
    write!(out, "{{\"version\":{VERSION},\"unit\":\"ns\",\"tasks\":")?;
    serde_json::to_writer(&mut *out, labels.tasks.as_slice())?;
    let (cpus, over) = (labels.cpus, over.ns());
    write!(out, ",\"cpus\":{cpus},\"over\":{over},\"interrupted\":{interrupted},")?;
    for (member, names) in [("resources", &labels.resources), ("levels", &labels.levels)] {
        if !names.is_empty() {
            write!(out, "\"{member}\":")?;
            serde_json::to_writer(&mut *out, names)?;
            out.write_all(b",")?;
        }
    }
    out.write_all(b"\n\"summary\":")?;
    serde_json::to_writer(&mut *out, &summary)?;
    Ok(())
}

fn write_list(
    out: &mut impl Write,
    name: &str,
    items: impl Iterator<Item = impl Serialize>,
) -> io::Result<()> {
    begin_list(out, name)?;
    for (index, item) in items.enumerate() {
        out.write_all(separator(index == 0))?;
        serde_json::to_writer(&mut *out, &item)?;
    }
    end_list(out)
}

fn begin_list(out: &mut impl Write, name: &str) -> io::Result<()> {
    write!(out, ",\n\"{name}\":[")
}

/// The separator before an item.
fn separator(is_first: bool) -> &'static [u8] {
    if is_first { b"\n" } else { b",\n" }
}

fn end_list(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"]")
}

/// The reason why a document is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The document cannot be read, is not JSON, or does not match this schema.
    #[error("failed to read the trace: {0}")]
    Json(#[from] serde_json::Error),
    /// A task that has no name.
    #[error("the trace names task {task}, but has {count} tasks")]
    UnknownTask {
        /// The task.
        task: TaskId,
        /// The number of tasks.
        count: usize,
    },
    /// A CPU that does not exist.
    #[error("the trace names CPU {cpu}, but has {count} CPUs")]
    UnknownCpu {
        /// The CPU.
        cpu: CpuId,
        /// The number of CPUs.
        count: usize,
    },
    /// The trace has more CPUs than a system can have: the data per CPU would take unbounded
    /// memory.
    #[error("the trace has {count} CPUs, and there are {} at most", CpuSet::MAX_CPUS)]
    TooManyCpus {
        /// The number of CPUs.
        count: usize,
    },
    /// A time is beyond the maximum length of a run: sums with it would overflow.
    #[error("the trace has a time of {at}, and no run is that long")]
    LateTime {
        /// The time.
        at: Time,
    },
    /// A time before the start of the run.
    #[error("the trace has a time of {at}, before the start of the run")]
    NegativeTime {
        /// The time.
        at: Time,
    },
}

/// Reads a trace and its labels. The summary is not read: replaying the trace into
/// [`Statistics`](crate::Statistics) computes it again.
///
/// # Errors
/// Returns an error if the document is not a trace of [`VERSION`], or names a task or a CPU that it
/// does not have. Members that are not in the schema are errors.
pub fn read_json(input: impl Read) -> Result<(Trace, Labels), ReadError> {
    read_json_recorded(input).map(|(trace, labels, _)| (trace, labels))
}

/// Reads a trace, its labels, and [`Recorded`] if the document contains it.
///
/// # Errors
/// Returns the errors of [`read_json`].
pub fn read_json_recorded(
    input: impl Read,
) -> Result<(Trace, Labels, Option<Recorded>), ReadError> {
    let document: TraceDocument = serde_json::from_reader(BufReader::new(input))?;
    let labels = Labels {
        tasks: document.tasks.into(),
        cpus: document.cpus,
        levels: document.levels,
        resources: document.resources,
    };
    let trace = Trace {
        jobs: document.jobs,
        segments: document.segments,
        marks: document.marks,
        answers: document.answers,
        over: Time::from_ns(document.over),
        interrupted: document.interrupted,
    };
    verify(&trace, document.recorded.as_ref(), &labels)?;
    Ok((trace, labels, document.recorded))
}

/// Checks that ids are in range and times are not negative: the users of the trace rely on this.
fn verify(trace: &Trace, recorded: Option<&Recorded>, labels: &Labels) -> Result<(), ReadError> {
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
    let time = |at: Time| match at.ns() {
        ..0 => Err(ReadError::NegativeTime { at }),
        ns if ns > TIME_LIMIT => Err(ReadError::LateTime { at }),
        _ => Ok(()),
    };
    if labels.cpus > CpuSet::MAX_CPUS {
        return Err(ReadError::TooManyCpus { count: labels.cpus });
    }
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
        for detail in mark.kind.describe().details {
            match detail {
                Detail::Task(of) => task(of)?,
                Detail::From(on) | Detail::Cpu(on) => cpu(on)?,
                Detail::Deadline(at) => time(at)?,
                Detail::Job(_)
                | Detail::Resource(_)
                | Detail::Speed(_)
                | Detail::Why(_)
                | Detail::Level(_) => {}
            }
        }
    }
    trace.answers.iter().try_for_each(|answer| time(answer.at))?;
    let Some(recorded) = recorded else { return Ok(()) };
    recorded.since.into_iter().chain(recorded.until).try_for_each(time)?;
    // A record may begin before the run.
    let any = |at: Time| time(Time::from_ns(at.ns().saturating_abs()));
    for foreign in recorded.foreign.iter().chain(&recorded.above) {
        cpu(foreign.cpu)?;
        any(foreign.start)?;
        any(foreign.end)?;
    }
    for event in &recorded.thread_events {
        task(event.task)?;
        any(event.at)?;
        if let ThreadEventKind::GotCpu { cpu: on, .. } = event.kind {
            cpu(on)?;
        }
    }
    Ok(())
}

/// A trace: the file of `layland sim -o x.json`, `layland run -o x.json` and `layland trace convert
/// --to json`. Times are nanoseconds from the start of the run.
// The type is read. Its schema is that of a document as it is written, which has every list.
#[derive(JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceDocument {
    #[schemars(with = "u32", extend("const" = VERSION))]
    #[serde(rename = "version", deserialize_with = "this_version")]
    _version: (),
    #[schemars(with = "String", extend("const" = "ns"))]
    #[serde(rename = "unit")]
    _unit: Unit,
    /// The names of the tasks; a task is identified by its index in this list.
    tasks: Vec<String>,
    /// The number of CPUs.
    cpus: usize,
    /// The end of the run.
    over: i64,
    /// True if that was before its horizon.
    interrupted: bool,
    /// The criticality levels, low to high; left out if there is but one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    levels: Vec<String>,
    /// The names of the resources; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<String>,
    /// The run in numbers; null if they were not written.
    #[schemars(with = "Option<Summary>")]
    #[serde(rename = "summary", default)]
    _summary: IgnoredAny,
    /// In the order of their ends.
    #[schemars(with = "Vec<WireJob>")]
    #[serde(deserialize_with = "each::<_, WireJob, _>")]
    jobs: Vec<JobRecord>,
    /// In the order of their ends.
    #[schemars(with = "Vec<WireSegment>")]
    #[serde(deserialize_with = "each::<_, WireSegment, _>")]
    segments: Vec<Segment>,
    /// In the order of time.
    #[schemars(with = "Vec<WireMark>")]
    #[serde(deserialize_with = "each::<_, WireMark, _>", default)]
    marks: Vec<Mark>,
    /// In the order of time.
    #[schemars(with = "Vec<WireAnswer>")]
    #[serde(deserialize_with = "each::<_, WireAnswer, _>", default)]
    answers: Vec<Answer>,
    /// The recording of a real machine; left out if the trace is of a simulation.
    #[schemars(with = "WireRecorded")]
    #[serde(deserialize_with = "how_recorded", default, skip_serializing_if = "Option::is_none")]
    recorded: Option<Recorded>,
}

fn how_recorded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Recorded>, D::Error> {
    let wire = WireRecorded::deserialize(deserializer)?;
    Recorded::try_from(wire).map(Some).map_err(D::Error::custom)
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

/// Deserializes a list and converts its items one by one, so that it is never in memory twice.
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

#[cfg(test)]
mod tests;
