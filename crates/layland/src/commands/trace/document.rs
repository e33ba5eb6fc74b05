//! The JSON documents of `layland trace check`, `stats` and `diff`.

use super::load::Loaded;
use crate::ui::document::Named;
use crate::ui::exit::Exit;
use layland_answers::simulate::OfConstraint;
use layland_trace::Summary;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The origin of a trace.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "source")]
pub(super) struct Source<'a> {
    /// The recorder; null for a trace of Layland.
    pub dialect: Option<&'a str>,
    /// Events that the recorder lost.
    pub lost_events: u64,
    /// Switches that the kernel did not record, although it lost nothing.
    pub unrecorded_switches: u64,
    /// True if jobs are inferred from the behaviour of threads.
    pub inferred: bool,
    /// True if it can carry a verdict.
    pub trustworthy: bool,
    /// The recorder's time of the start; null if it is not known.
    pub origin_ns: Option<i64>,
    /// Decisions that the run wrote into it.
    pub decisions: usize,
    /// Remarks.
    pub remarks: &'a [String],
}

impl Source<'_> {
    pub(super) fn of(loaded: &Loaded) -> Source<'_> {
        Source {
            dialect: loaded.dialect.as_deref(),
            lost_events: loaded.lost,
            unrecorded_switches: loaded.unrecorded_switches,
            inferred: loaded.is_inferred,
            trustworthy: loaded.is_trustworthy,
            origin_ns: Some(loaded.origin_ns),
            decisions: loaded.decisions.len(),
            remarks: &loaded.remarks,
        }
    }
}

/// The answer of `layland trace check --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct CheckDocument<'a> {
    /// The version of Layland.
    pub layland: &'static str,
    #[schemars(extend("const" = "trace check"))]
    pub command: &'static str,
    /// The file.
    pub trace: &'a str,
    /// The policy whose promise it is held to; null without one.
    pub policy: Option<&'a str>,
    /// The latency that is tolerated.
    #[schemars(range(min = 0))]
    pub latency_ns: i64,
    /// The first violations.
    pub violations: Vec<String>,
    /// The number of all.
    pub count: u64,
    /// The number of violations that a thread outside the set caused, by its name.
    pub caused_by_others: &'a BTreeMap<String, u64>,
    /// Jobs that missed the deadline of the set.
    pub missed: u64,
    /// Present if tasks have `mk`: each of their constraints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub how_often: Vec<OfConstraint<'a>>,
    /// For the policy `dl`: the check that threads got their reservations. Null if none is under
    /// SCHED_DEADLINE.
    pub reservations: Option<Reservations<'a>>,
    /// The origin of the trace.
    pub(super) source: Source<'a>,
    /// The result of the command.
    pub exit: Exit,
}

/// The check that threads under SCHED_DEADLINE got their reservations.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct Reservations<'a> {
    /// The result for each thread.
    pub(super) threads: Vec<ReservedThread<'a>>,
    /// The first violations.
    pub(super) breaches: Vec<String>,
    /// The number of all.
    pub(super) count: u64,
    /// The times at which servers were throttled and replenished.
    pub(super) events: Vec<ReservationEvent<'a>>,
}

/// A thread under SCHED_DEADLINE.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct ReservedThread<'a> {
    /// The name of its task.
    pub thread: &'a str,
    /// The verdict; unknown, if no server period is certain.
    #[schemars(extend("enum" = ["yes", "no", "unknown"]))]
    pub kept: &'static str,
    /// Server periods whose deadline is certain.
    pub periods: u64,
    /// Of these: it was ready all the time and got its runtime by the deadline.
    pub served: u64,
    /// It was ready all the time and did not.
    pub short: u64,
    /// It got more than its runtime between two replenishments.
    pub exceeded: u64,
    /// The most that it got between two replenishments.
    #[schemars(range(min = 0))]
    pub most_ns: i64,
    /// It had no runtime left, or yielded.
    pub throttled: u64,
    /// It got a new budget after that, at a time that is known.
    pub replenished: u64,
    /// It waited while a thread that comes after it had a CPU for it.
    pub passed_over: u64,
}

/// An event of a server.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct ReservationEvent<'a> {
    /// The time.
    pub at_ns: i64,
    /// The name of its task.
    pub thread: &'a str,
    /// The kind.
    #[schemars(extend("enum" = ["throttled", "replenished"]))]
    pub kind: &'static str,
    /// The server deadline from then on; null for a throttling.
    pub deadline_ns: Option<i64>,
}

/// The answer of `layland trace stats --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct StatsDocument<'a> {
    /// The version of Layland.
    pub layland: &'static str,
    #[schemars(extend("const" = "trace stats"))]
    pub command: &'static str,
    /// The file.
    pub trace: &'a str,
    /// The figures.
    pub summary: Summary,
    /// The latencies of wake-ups; null if the trace has none.
    pub(super) wake_latency_ns: Option<Latencies>,
    /// The origin of the trace.
    pub(super) source: Source<'a>,
    /// The result of the command.
    pub exit: Exit,
}

/// From wake-up to running.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct Latencies {
    /// The least.
    #[schemars(range(min = 0))]
    pub min: i64,
    /// The median.
    #[schemars(range(min = 0))]
    pub p50: i64,
    /// 99 % are at most this.
    #[schemars(range(min = 0))]
    pub p99: i64,
    /// The largest.
    #[schemars(range(min = 0))]
    pub max: i64,
    /// The number.
    pub count: usize,
}

/// The answer of `layland trace stats --json` for a log of rt-app.
#[derive(JsonSchema, Serialize)]
pub(crate) struct LogDocument<'a> {
    /// The version of Layland.
    pub layland: &'static str,
    #[schemars(extend("const" = "trace stats"))]
    pub command: &'static str,
    /// The file.
    pub trace: &'a str,
    /// The origin of the log.
    pub(super) source: Source<'a>,
    /// The number of loops.
    #[schemars(range(min = 1))]
    pub loops: usize,
    /// The number of loops that ended after their next timer.
    pub late: usize,
    /// The times of the loops, in nanoseconds, by their names; a quantity that the log lacks is
    /// left out.
    pub(super) figures: Named<String, LoopTimes>,
    /// The result of the command.
    pub exit: Exit,
}

/// The times of loops.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct LoopTimes {
    /// The number.
    #[schemars(range(min = 1))]
    pub count: usize,
    /// The least.
    pub min: i64,
    /// The median.
    pub p50: i64,
    /// 99 % are at most this.
    pub p99: i64,
    /// The largest.
    pub max: i64,
}

/// The answer of `layland trace diff --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct DiffDocument<'a> {
    /// The version of Layland.
    pub layland: &'static str,
    #[schemars(extend("const" = "trace diff"))]
    pub command: &'static str,
    /// A file.
    pub a: &'a str,
    /// The other one.
    pub b: &'a str,
    /// The end of the shorter one.
    pub compared_until_ns: i64,
    /// The first difference; null if they agree.
    pub(super) first: Option<FirstDifference>,
    /// Shorter differences.
    pub jitters: u64,
    /// The longest of them.
    #[schemars(range(min = 0))]
    pub longest_jitter_ns: i64,
    /// All together.
    #[schemars(range(min = 0))]
    pub total_jitter_ns: i64,
    /// The result of the command.
    pub exit: Exit,
}

/// The first difference.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct FirstDifference {
    /// The time.
    pub at_ns: i64,
    /// Its length.
    #[schemars(range(min = 0))]
    pub length_ns: i64,
    /// The CPU.
    pub cpu: u32,
    /// In a sentence.
    pub why: String,
    /// The last decision of a run before that; null if none was recorded.
    pub decided: Option<String>,
}
