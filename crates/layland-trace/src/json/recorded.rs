//! [`Recorded`]: how a trace was recorded that is no simulation's.

use crate::{Foreign, Lost, ThreadEvent, ThreadEventKind};
use layland_model::{CpuId, TaskId, Time};
use serde::{Deserialize, Serialize};

/// How a trace of a real machine was recorded: what is known of such a trace, and what is not. A trace of a simulation
/// has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The kind of record, as in "ftrace".
    pub by: String,
    /// Whether the record is a kernel's, which has no event for a job that waits for its predecessor.
    pub is_of_kernel: bool,
    /// Whether it is inferred from sleeps where jobs begin and end.
    pub is_inferred: bool,
    /// Whether nothing that matters is missing.
    pub is_trustworthy: bool,
    /// Time 0 of the trace on the clock of the record, in nanoseconds.
    pub origin_ns: i64,
    /// From when on everything is in it; none if it is not known which time of the set is time 0.
    pub since: Option<Time>,
    /// When the run was over, if that is not the end of the record.
    pub until: Option<Time>,
    /// How many events were lost.
    pub lost_events: u64,
    /// How many switches to tasks were not recorded.
    pub unrecorded_switches: u64,
    /// What is doubtful, in sentences.
    pub remarks: Vec<String>,
    /// When threads that are no tasks had CPUs.
    pub foreign: Vec<Foreign>,
    /// Those of them that come before SCHED_DEADLINE.
    pub above: Vec<Foreign>,
    /// What happened to threads under SCHED_DEADLINE.
    pub thread_events: Vec<ThreadEvent>,
}

/// As it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireRecorded {
    by: String,
    kernel: bool,
    inferred: bool,
    trustworthy: bool,
    origin_ns: i64,
    since: Option<i64>,
    until: Option<i64>,
    lost_events: u64,
    unrecorded_switches: u64,
    remarks: Vec<String>,
    foreign: Vec<WireForeign>,
    above: Vec<WireForeign>,
    thread_events: Vec<WireThreadEvent>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireForeign {
    cpu: u32,
    start: i64,
    end: i64,
    thread: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireThreadEvent {
    at: i64,
    task: u32,
    event: WireEvent,
    /// Of `got_cpu`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    was_free: Option<bool>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
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
