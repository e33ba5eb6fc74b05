//! The answer of `layland sim` as one JSON document.

use super::chains;
use super::comparison::{Comparison, Simulated};
use crate::ui::exit::{Exit, Failure};
use crate::ui::terminal;
use layland_model::{System, Time};
use layland_trace::Summary;
use serde::Serialize;

impl Comparison<'_> {
    /// Writes the document to standard output.
    ///
    /// The document is written while it is produced: for many tasks it is many times as long as
    /// their figures, and a tree of values would be several times longer still.
    pub(super) fn write_json(&self, exit: Exit) -> Result<(), Failure> {
        let document = self.document(exit);
        terminal::write_result(|out| {
            serde_json::to_writer_pretty(&mut *out, &document)?;
            out.write_all(b"\n")
        })
    }

    /// Returns the document as the command prints it.
    pub(super) fn json(&self, exit: Exit) -> String {
        serde_json::to_string_pretty(&self.document(exit)).unwrap_or_default() + "\n"
    }

    /// Returns the document in one line.
    pub(super) fn json_line(&self, exit: Exit) -> String {
        serde_json::to_string(&self.document(exit)).unwrap_or_default() + "\n"
    }

    fn document(&self, exit: Exit) -> Document<'_> {
        Document {
            layland: env!("CARGO_PKG_VERSION"),
            command: "sim",
            set: Set {
                name: &self.set.name,
                tasks: self.set.system.tasks.len(),
                cpus: self.set.system.platform.cpu_count(),
                utilization: self.set.system.utilization().to_f64(),
            },
            seed: self.args.seed,
            explore: self.args.explore,
            results: (self.policies.iter())
                .map(|policy| Answer::of(&self.set.system, policy))
                .collect(),
            exit,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    layland: &'static str,
    command: &'static str,
    set: Set<'a>,
    seed: u64,
    explore: Option<u64>,
    results: Vec<Answer<'a>>,
    exit: Exit,
}

#[derive(Serialize)]
struct Set<'a> {
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
    fn of(system: &'a System, policy: &'a Simulated) -> Answer<'a> {
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
                broken_rules: ran.checked.as_deref(),
                summary: &ran.summary,
                chains: chains::of(system, &ran.chains),
            },
        }
    }
}
