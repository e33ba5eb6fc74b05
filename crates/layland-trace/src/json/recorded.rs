//! [`Recorded`]: the provenance of a trace that does not come from a simulation.

use crate::{Foreign, Lost, ThreadEvent, ThreadEventKind};
use layland_model::{CpuId, TaskId, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The provenance of a trace of a real machine, with what is known and what is missing. A trace of
/// a simulation has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The kind of record, as in "ftrace".
    pub by: String,
    /// True if a kernel made the record, which has no event for a job that waits for its
    /// predecessor.
    pub is_of_kernel: bool,
    /// True if the starts and ends of jobs are inferred from sleeps.
    pub is_inferred: bool,
    /// True if nothing important is missing.
    pub is_trustworthy: bool,
    /// Time 0 of the trace on the clock of the record, in nanoseconds.
    pub origin_ns: i64,
    /// The time from which on the record is complete; `None` if the time of the set that
    /// corresponds to time 0 is unknown.
    pub since: Option<Time>,
    /// The end of the run, if it differs from the end of the record.
    pub until: Option<Time>,
    /// The number of lost events.
    pub lost_events: u64,
    /// The number of switches to tasks that were not recorded.
    pub unrecorded_switches: u64,
    /// Doubts about the record, in sentences.
    pub remarks: Vec<String>,
    /// The intervals in which threads that are not tasks had CPUs.
    pub foreign: Vec<Foreign>,
    /// Those of them with a class above SCHED_DEADLINE.
    pub above: Vec<Foreign>,
    /// The events of threads under SCHED_DEADLINE.
    pub thread_events: Vec<ThreadEvent>,
}

/// The recording of a real machine.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub(super) struct WireRecorded {
    /// The kind of record.
    by: String,
    /// True if a kernel wrote it.
    kernel: bool,
    /// True if the beginnings and ends of jobs are inferred from sleeps.
    inferred: bool,
    /// True if nothing that matters is missing.
    trustworthy: bool,
    /// Time 0 on the clock of the record.
    origin_ns: i64,
    /// The time from which the record is complete; null if it is not known which time of the set is
    /// time 0.
    since: Option<i64>,
    /// The end of the run, if that is not the end of the trace; null otherwise.
    until: Option<i64>,
    /// The number of events that were lost.
    lost_events: u64,
    /// The number of missing switches to tasks.
    unrecorded_switches: u64,
    /// Doubts.
    remarks: Vec<String>,
    /// The times at which threads that are not tasks had CPUs.
    foreign: Vec<WireForeign>,
    /// Those of them that come before SCHED_DEADLINE.
    above: Vec<WireForeign>,
    /// The events of threads under SCHED_DEADLINE.
    thread_events: Vec<WireThreadEvent>,
}

/// A thread that is not a task had a CPU.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "foreign")]
#[serde(deny_unknown_fields)]
struct WireForeign {
    /// The CPU.
    cpu: u32,
    /// The beginning.
    start: i64,
    /// The end.
    end: i64,
    /// Its name.
    thread: String,
}

/// An event of a thread.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
struct WireThreadEvent {
    /// The time.
    at: i64,
    /// Its index in `tasks`.
    task: u32,
    /// The kind.
    event: WireEvent,
    /// The CPU that it got. Present for `got_cpu` only.
    #[schemars(with = "u32")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cpu: Option<u32>,
    /// True if no thread of SCHED_DEADLINE or above had it.
    #[schemars(with = "bool")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    was_free: Option<bool>,
}

#[derive(Clone, Copy, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
enum WireEvent {
    WokeUp,
    GotCpu,
    Preempted,
    Throttled,
    Slept,
    Unknown,
}

impl From<&Recorded> for WireRecorded {
    fn from(recorded: &Recorded) -> WireRecorded {
        let foreign = |of: &[Foreign]| of.iter().map(WireForeign::from).collect();
        WireRecorded {
            by: recorded.by.clone(),
            kernel: recorded.is_of_kernel,
            inferred: recorded.is_inferred,
            trustworthy: recorded.is_trustworthy,
            origin_ns: recorded.origin_ns,
            since: recorded.since.map(Time::ns),
            until: recorded.until.map(Time::ns),
            lost_events: recorded.lost_events,
            unrecorded_switches: recorded.unrecorded_switches,
            remarks: recorded.remarks.clone(),
            foreign: foreign(&recorded.foreign),
            above: foreign(&recorded.above),
            thread_events: recorded.thread_events.iter().map(WireThreadEvent::from).collect(),
        }
    }
}

impl TryFrom<WireRecorded> for Recorded {
    type Error = &'static str;
    fn try_from(wire: WireRecorded) -> Result<Recorded, &'static str> {
        let foreign = |of: Vec<WireForeign>| of.into_iter().map(Foreign::from).collect();
        let events = wire.thread_events.into_iter().map(ThreadEvent::try_from);
        Ok(Recorded {
            by: wire.by,
            is_of_kernel: wire.kernel,
            is_inferred: wire.inferred,
            is_trustworthy: wire.trustworthy,
            origin_ns: wire.origin_ns,
            since: wire.since.map(Time::from_ns),
            until: wire.until.map(Time::from_ns),
            lost_events: wire.lost_events,
            unrecorded_switches: wire.unrecorded_switches,
            remarks: wire.remarks,
            foreign: foreign(wire.foreign),
            above: foreign(wire.above),
            thread_events: events.collect::<Result<_, _>>()?,
        })
    }
}

impl From<&Foreign> for WireForeign {
    fn from(foreign: &Foreign) -> WireForeign {
        let Foreign { cpu, start, end, thread } = foreign;
        WireForeign { cpu: cpu.0, start: start.ns(), end: end.ns(), thread: thread.clone() }
    }
}

impl From<WireForeign> for Foreign {
    fn from(wire: WireForeign) -> Foreign {
        let [start, end] = [wire.start, wire.end].map(Time::from_ns);
        Foreign { cpu: CpuId(wire.cpu), start, end, thread: wire.thread }
    }
}

impl From<&ThreadEvent> for WireThreadEvent {
    fn from(event: &ThreadEvent) -> WireThreadEvent {
        let (kind, cpu, was_free) = match event.kind {
            ThreadEventKind::WokeUp => (WireEvent::WokeUp, None, None),
            ThreadEventKind::GotCpu { cpu, was_free } => {
                (WireEvent::GotCpu, Some(cpu.0), Some(was_free))
            }
            ThreadEventKind::LostCpu(Lost::Preempted) => (WireEvent::Preempted, None, None),
            ThreadEventKind::LostCpu(Lost::Throttled) => (WireEvent::Throttled, None, None),
            ThreadEventKind::LostCpu(Lost::Slept) => (WireEvent::Slept, None, None),
            ThreadEventKind::Unknown => (WireEvent::Unknown, None, None),
        };
        WireThreadEvent { at: event.at.ns(), task: event.task.0, event: kind, cpu, was_free }
    }
}

impl TryFrom<WireThreadEvent> for ThreadEvent {
    type Error = &'static str;
    fn try_from(wire: WireThreadEvent) -> Result<ThreadEvent, &'static str> {
        let kind = match (wire.event, wire.cpu, wire.was_free) {
            (WireEvent::GotCpu, Some(cpu), Some(was_free)) => {
                ThreadEventKind::GotCpu { cpu: CpuId(cpu), was_free }
            }
            (WireEvent::WokeUp, None, None) => ThreadEventKind::WokeUp,
            (WireEvent::Preempted, None, None) => ThreadEventKind::LostCpu(Lost::Preempted),
            (WireEvent::Throttled, None, None) => ThreadEventKind::LostCpu(Lost::Throttled),
            (WireEvent::Slept, None, None) => ThreadEventKind::LostCpu(Lost::Slept),
            (WireEvent::Unknown, None, None) => ThreadEventKind::Unknown,
            _ => {
                return Err("`cpu` and `was_free` are of a thread that got a CPU, and of no other");
            }
        };
        Ok(ThreadEvent { at: Time::from_ns(wire.at), task: TaskId(wire.task), kind })
    }
}
