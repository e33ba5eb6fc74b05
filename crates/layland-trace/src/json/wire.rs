//! The contents of one line of the document, as written.

use super::Described;
use crate::{Answer, Errno, Job, JobEnd, JobRecord, Mark, MarkKind, Segment};
use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireJob {
    task: u32,
    seq: u64,
    arrival: i64,
    release: i64,
    deadline: i64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    end: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    how: Option<JobEnd>,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireSegment {
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

#[derive(Serialize, Deserialize)]
pub(super) struct WireMark {
    at: i64,
    #[serde(flatten)]
    mark: Described,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireAnswer {
    at: i64,
    request: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    refused: Option<String>,
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
