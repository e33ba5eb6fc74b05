//! The answer as one JSON document.

use super::chains::{OfChain, measured_chains};
use super::how_often::{OfConstraint, observed_constraints};
use super::simulated::{PolicyRun, Simulated};
use crate::Exit;
use crate::assigned::{AssignedTask, assigned};
use layland_model::{System, Time};
use layland_trace::Summary;
use schemars::JsonSchema;
use serde::Serialize;

impl Simulated {
    /// Returns the document that `layland sim --json` prints. For many tasks its text is many times
    /// as long as their figures: a front end writes it while it is serialized.
    pub fn document(&self) -> Document<'_> {
        let system = &self.set.system;
        Document {
            layland: env!("CARGO_PKG_VERSION"),
            command: "sim",
            set: SetSummary {
                name: &self.set.name,
                tasks: system.tasks.len(),
                cpus: system.platform.cpu_count(),
                utilization: system.utilization().to_f64(),
            },
            seed: self.question.seed,
            explore: self.question.explore,
            results: self.policies.iter().map(|policy| Answer::of(system, policy)).collect(),
            exit: self.exit,
        }
    }

    /// Returns the document as indented JSON.
    pub fn json(&self) -> String {
        // Serialization cannot fail: all keys are names.
        serde_json::to_string_pretty(&self.document()).unwrap_or_default() + "\n"
    }

    /// Returns the document as one line of JSON, for streams of sets.
    pub fn json_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(&self.document()).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The answer of `layland sim --json`.
#[derive(JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The version of Layland.
    layland: &'static str,
    #[schemars(extend("const" = "sim"))]
    command: &'static str,
    /// The task set in short.
    set: SetSummary<'a>,
    /// The seed of everything that was drawn.
    seed: u64,
    /// The seed of the explored order; null if none was.
    explore: Option<u64>,
    /// Each policy.
    results: Vec<Answer<'a>>,
    /// The result of the command.
    exit: Exit,
}

/// A task set in short.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct SetSummary<'a> {
    /// Its file, `demo:NAME`, or `inline`.
    name: &'a str,
    /// The number of tasks.
    tasks: usize,
    /// The number of CPUs.
    cpus: usize,
    /// The sum of WCET over period.
    utilization: f64,
}

/// The result of one policy.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "simulated")]
#[serde(untagged)]
enum Answer<'a> {
    /// It refuses the set.
    Refused {
        /// The policy with its options.
        policy: &'a str,
        /// The reason.
        refused: &'a str,
    },
    /// It was simulated.
    Ran {
        /// The policy with its options.
        policy: &'a str,
        /// The end of the simulation.
        end_ns: i64,
        /// True if that was before its horizon.
        interrupted: bool,
        /// The recurrence of the schedule; null if none was searched for, or none was found.
        cycle: Option<Cycle>,
        /// Events that the policy received.
        events: u64,
        /// Decisions that it made.
        decisions: u64,
        /// The first deadline that was missed.
        first_missed_deadline_ns: Option<i64>,
        /// Requests to the system that it refused.
        refused_requests: u64,
        /// The number of these by which tasks asked to enter.
        refused_entries: u64,
        /// Rules that the schedule broke; null without `--check`.
        broken_rules: Option<&'a [String]>,
        /// The CPU of each task, if the policy assigns each to one; null otherwise.
        assignment: Option<Vec<AssignedTask<'a>>>,
        /// The figures.
        summary: &'a Summary,
        /// Present if the set has chains: the measurements of each.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        chains: Vec<OfChain<'a>>,
        /// Present if tasks have `mk`: each of their constraints.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        how_often: Vec<OfConstraint<'a>>,
    },
}

/// A time from which a schedule repeats.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Cycle {
    /// Its beginning.
    from_ns: i64,
    /// Its period.
    #[schemars(range(min = 0))]
    length_ns: i64,
}

impl<'a> Answer<'a> {
    fn of(system: &'a System, policy: &'a PolicyRun) -> Answer<'a> {
        match &policy.result {
            Err(refused) => Answer::Refused { policy: &policy.spec, refused },
            Ok(ran) => Answer::Ran {
                policy: &policy.spec,
                end_ns: ran.outcome.end.ns(),
                interrupted: ran.outcome.interrupted,
                cycle: ran
                    .outcome
                    .cycle
                    .map(|cycle| Cycle { from_ns: cycle.from.ns(), length_ns: cycle.length.ns() }),
                events: ran.outcome.events,
                decisions: ran.outcome.decisions,
                first_missed_deadline_ns: ran.first_miss.map(Time::ns),
                refused_requests: ran.refusals.count,
                refused_entries: ran.refusals.entries,
                broken_rules: ran.broken_rules.as_deref(),
                assignment: assigned(ran.assignment().as_ref(), system),
                summary: &ran.summary,
                chains: measured_chains(system, &ran.chains),
                how_often: observed_constraints(system, &ran.how_often),
            },
        }
    }
}
