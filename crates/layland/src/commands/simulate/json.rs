//! The answer of `layland sim` as one JSON document.

use super::comparison::Comparison;
use crate::ui::exit::Exit;
use layland_model::Time;
use serde_json::json;

impl Comparison<'_> {
    /// The document.
    pub(super) fn as_json(&self, exit: Exit) -> serde_json::Value {
        let results: Vec<serde_json::Value> = self
            .policies
            .iter()
            .map(|policy| match &policy.result {
                Err(reason) => json!({ "policy": policy.spec, "refused": reason }),
                Ok(ran) => json!({
                    "policy": policy.spec,
                    "end_ns": ran.outcome.end.ns(),
                    "interrupted": ran.outcome.interrupted,
                    "cycle": ran.outcome.cycle.map(|cycle| json!({
                        "from_ns": cycle.from.ns(), "length_ns": cycle.length.ns(),
                    })),
                    "events": ran.outcome.events,
                    "decisions": ran.outcome.decisions,
                    "first_missed_deadline_ns": ran.first_miss.map(Time::ns),
                    "refused_requests": ran.refusals.count,
                    "refused_entries": ran.refusals.entries,
                    "broken_rules": ran.checked,
                    "summary": ran.summary,
                }),
            })
            .collect();
        json!({
            "layland": env!("CARGO_PKG_VERSION"),
            "command": "sim",
            "set": {
                "name": self.set.name,
                "tasks": self.set.system.tasks.len(),
                "cpus": self.set.system.platform.cpu_count(),
                "utilization": self.set.system.utilization().to_f64(),
            },
            "seed": self.args.seed,
            "explore": self.args.explore,
            "results": results,
            "exit": exit,
        })
    }
}
