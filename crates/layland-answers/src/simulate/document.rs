//! The answer as one JSON document.

use super::chains;
use super::simulated::{PolicyRun, Simulated};
use crate::Exit;
use layland_model::{System, Time};
use layland_trace::Summary;
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

/// The answer, as `layland sim --json` prints it.
#[derive(Serialize)]
pub struct Document<'a> {
    layland: &'static str,
    command: &'static str,
    set: SetSummary<'a>,
    seed: u64,
    explore: Option<u64>,
    results: Vec<Answer<'a>>,
    exit: Exit,
}

#[derive(Serialize)]
struct SetSummary<'a> {
    name: &'a str,
    tasks: usize,
    cpus: usize,
    utilization: f64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'a> {
    Refused {
        policy: &'a str,
        refused: &'a str,
    },
    Ran {
        policy: &'a str,
        end_ns: i64,
        interrupted: bool,
        cycle: Option<Cycle>,
        events: u64,
        decisions: u64,
        first_missed_deadline_ns: Option<i64>,
        refused_requests: u64,
        refused_entries: u64,
        broken_rules: Option<&'a [String]>,
        summary: &'a Summary,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        chains: Vec<chains::OfChain<'a>>,
    },
}

#[derive(Serialize)]
struct Cycle {
    from_ns: i64,
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
                summary: &ran.summary,
                chains: chains::of(system, &ran.chains),
            },
        }
    }
}
