//! The contents of one line of the document, as written.

use super::described::{self, Described};
use crate::{Answer, Errno, Job, JobEnd, JobRecord, Mark, MarkKind, Segment};
use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A job; without `end` and `how` if it is pending.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub(super) struct WireJob {
    /// Its index in `tasks`.
    task: u32,
    /// The number of the job, from 0.
    seq: u64,
    /// Its arrival.
    arrival: i64,
    /// The time at which it could run first.
    release: i64,
    /// Its absolute deadline.
    deadline: i64,
    /// Its end.
    #[schemars(with = "i64")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    end: Option<i64>,
    /// The kind of its end.
    #[schemars(with = "JobEnd")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    how: Option<JobEnd>,
    /// The work that it executed.
    #[schemars(range(min = 0))]
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
            how: record.end.map(|(_, how)| how),
            executed: record.executed.ns(),
        }
    }
}

impl TryFrom<WireJob> for JobRecord {
    type Error = &'static str;
    fn try_from(wire: WireJob) -> Result<JobRecord, &'static str> {
        let end = match (wire.end, wire.how) {
            (Some(at), Some(how)) => Some((Time::from_ns(at), how)),
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
            end,
            executed: Service::from_ns(wire.executed),
        })
    }
}

fn job_id(task: u32, seq: u64) -> JobId {
    JobId { task: TaskId(task), seq }
}

/// A CPU holds a job.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub(super) struct WireSegment {
    /// Its index in `tasks`.
    task: u32,
    /// The number of the job, from 0.
    seq: u64,
    /// The CPU.
    cpu: u32,
    /// The beginning.
    start: i64,
    /// The end.
    end: i64,
    /// The part of it that went to overheads; left out if none.
    #[schemars(range(min = 0))]
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

#[derive(Serialize, Deserialize)]
pub(super) struct WireMark {
    at: i64,
    #[serde(flatten)]
    mark: Described,
}

/// Each kind has its own members, which it describes itself.
impl JsonSchema for WireMark {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "mark".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        described::schema(MarkKind::samples().iter().map(MarkKind::describe))
    }
}

impl From<&Mark> for WireMark {
    fn from(mark: &Mark) -> WireMark {
        WireMark { at: mark.at.ns(), mark: Described::from(mark.kind.describe()) }
    }
}

impl TryFrom<WireMark> for Mark {
    type Error = String;
    fn try_from(wire: WireMark) -> Result<Mark, String> {
        let kind = wire.mark.read("mark", MarkKind::read)?;
        Ok(Mark { at: Time::from_ns(wire.at), kind })
    }
}

/// The answer to a request.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub(super) struct WireAnswer {
    /// The time.
    at: i64,
    /// In words.
    request: String,
    /// The reason of the refusal; left out if it was granted.
    #[schemars(with = "String")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    refused: Option<String>,
    /// The kernel's error number.
    #[schemars(with = "Errno")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    errno: Option<Errno>,
}

impl From<&Answer> for WireAnswer {
    fn from(answer: &Answer) -> WireAnswer {
        WireAnswer {
            at: answer.at.ns(),
            request: answer.request.clone(),
            refused: answer.refused.clone(),
            errno: answer.errno,
        }
    }
}

impl From<WireAnswer> for Answer {
    fn from(wire: WireAnswer) -> Answer {
        let WireAnswer { at, request, refused, errno } = wire;
        Answer { at: Time::from_ns(at), request, entering: None, refused, errno }
    }
}
