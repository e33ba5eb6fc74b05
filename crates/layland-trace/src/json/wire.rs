//! What one line of the document holds, as it is written.

use crate::{Answer, Errno, Job, JobEnd, JobRecord, Mark, MarkKind, Segment};
use layland_model::note::{Description, Detail, ReadDetails, Value};
use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

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

/// A mark as the members of its object: `at`, `kind`, and its details by name.
#[derive(Serialize, Deserialize)]
pub(super) struct WireMark(Map<String, Json>);

impl From<&Mark> for WireMark {
    fn from(mark: &Mark) -> WireMark {
        let Description { kind, details } = mark.kind.describe();
        let head = [("at", Json::from(mark.at.ns())), ("kind", Json::from(kind.name))];
        let value = |detail: &Detail| match detail.value() {
            Value::Number(number) => serde_json::to_value(number).expect("details have 64 bits"),
            Value::Word(word) => Json::from(word),
        };
        let details = details.iter().map(|detail| (detail.name(), value(detail)));
        let members = head.into_iter().chain(details);
        WireMark(members.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}
impl TryFrom<WireMark> for Mark {
    type Error = String;
    fn try_from(WireMark(mut members): WireMark) -> Result<Mark, String> {
        let at = members.remove("at").and_then(|at| at.as_i64());
        let at = at.ok_or("the time `at` of a mark is a whole number in range")?;
        let Some(Json::String(kind)) = members.remove("kind") else {
            return Err("the `kind` of a mark is a word".to_owned());
        };
        let mut members = Members { kind: &kind, members };
        let mark = MarkKind::read(&kind, &mut members)?;
        let mark = mark.ok_or_else(|| format!("no mark is called `{kind}`"))?;
        match members.members.keys().next() {
            None => Ok(Mark { at: Time::from_ns(at), kind: mark }),
            Some(unknown) => Err(format!("a mark of kind `{kind}` has no `{unknown}`")),
        }
    }
}

/// What of a mark is not read yet.
struct Members<'a> {
    kind: &'a str,
    members: Map<String, Json>,
}

impl ReadDetails for Members<'_> {
    type Error = String;
    fn take(&mut self, name: &'static str) -> Option<Value<'_>> {
        match self.members.remove(name)? {
            Json::Number(number) => {
                let signed = number.as_i64().map(i128::from);
                signed.or_else(|| number.as_u64().map(i128::from)).map(Value::Number)
            }
            Json::String(word) => Some(Value::Word(word.into())),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }
    fn wrong(&self, name: &'static str, expected: &'static str) -> String {
        format!("a mark of kind `{}` has a `{name}`: {expected}", self.kind)
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
