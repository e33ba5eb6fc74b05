//! The answer as one JSON document.

use super::checked::Checked;
use super::text;
use super::witness::Witness;
use layland_analysis::Verdict;
use layland_guarantee::{Assessment, Bound, Said};
use layland_model::System;
use layland_trace::JobRecord;
use serde_json::{Value, json};

/// Of one set.
pub(super) fn document(checked: &Checked) -> Value {
    let system = &checked.set.system;
    json!({
        "layland": env!("CARGO_PKG_VERSION"),
        "command": "check",
        "set": {
            "name": checked.set.name,
            "tasks": system.tasks.len(),
            "cpus": system.platform.cpu_count(),
            "utilization": system.utilization().to_f64(),
            "assumed": checked.set.assumed,
        },
        "policies": checked.policies.iter()
            .map(|policy| {
                let mut value = of(policy, system);
                value["witness"] = json!(checked.witnesses.get(&policy.spec).map(|found| witness(found, system)));
                value
            })
            .collect::<Vec<_>>(),
        "any_policy": checked.whatever.iter().map(|said| finding(said, system)).collect::<Vec<_>>(),
        "not_applicable": checked.not_assessed()
            .map(|(spec, why)| json!({ "policy": spec, "reason": why }))
            .collect::<Vec<_>>(),
        "affinities": checked.affinities.as_ref().map(|found| json!({
            "kept_by": found.kept_by,
            "refused_by": found.refused_by.iter()
                .map(|(why, policies)| json!({ "reason": why, "policies": policies }))
                .collect::<Vec<_>>(),
        })),
        "exit": checked.exit,
    })
}

fn of(policy: &Assessment, system: &System) -> Value {
    json!({
        "policy": policy.spec,
        "verdict": policy.verdict.name(),
        "decided_by": policy.decided_by,
        "verdict_without_affinities": policy.without_affinities.map(Verdict::name),
        "reasons": policy.reasons,
        "refused": policy.refused.as_ref().map(|refusal| &refusal.answer.reason),
        "margin": policy.margin.map(|margin| json!({
            "wcet_factor": margin.factor().to_f64(),
            "resolution": 0.001,
            "speed": margin.speed().map(|speed| speed.to_f64()),
        })),
        "bounds": policy.bounds.iter().map(|(id, found)| {
            let mut value = bound(found);
            value["task"] = json!(system.tasks[id].name);
            if found.is_useless(&system.tasks[id]) {
                value["useless"] = json!(true);
            }
            if let Bound::Response { per_level, .. } = found
                && !per_level.is_empty()
            {
                let levels = text::by_level(per_level, system);
                value["per_level"] =
                    levels.map(|(level, length)| json!({ "level": level, "ns": length.ns() })).collect();
            }
            value
        }).collect::<Vec<_>>(),
        "overheads": policy.inflation.as_ref().map(|tasks| tasks.iter().map(|(id, task)| json!({
            "task": system.tasks[id].name,
            "wcet_ns": system.tasks[id].own_wcet().ns(),
            "inflated_ns": task.wcet.ns(),
            "terms": task.terms.iter()
                .map(|(name, length)| json!({ "name": name, "ns": length.ns() }))
                .collect::<Vec<_>>(),
            "divided_by": task.left.to_string(),
        })).collect::<Vec<_>>()),
        "tests": policy.said.iter().map(|said| finding(said, system)).collect::<Vec<_>>(),
    })
}

fn witness(Witness { record, origin, over, .. }: &Witness, system: &System) -> Value {
    let JobRecord { job, end, .. } = record;
    json!({
        "task": system.tasks[job.id.task].name,
        "job": job.id.seq,
        "arrival_ns": job.arrival.ns(),
        "deadline_ns": job.deadline.ns(),
        "end_ns": end.map(|(at, _)| at.ns()),
        "over_ns": over.ns(),
        "found_by": origin.name(),
        "seed": origin.seed(),
    })
}

fn bound(bound: &Bound) -> Value {
    match bound {
        Bound::Unknown => json!({ "kind": "unknown" }),
        Bound::Response { within, by, kind, .. } => {
            json!({ "kind": "response", "ns": within.ns(), "by": by, "worth": kind.name() })
        }
        Bound::Tardiness { within, by } => json!({
            "kind": "tardiness", "ns": within.ceil(), "exact_ns": within.to_string(), "by": by,
        }),
    }
}

fn finding(said: &Said, system: &System) -> Value {
    let test = said.test;
    let keys: Vec<&str> = test.citations.iter().map(|citation| citation.key).collect();
    let mut value = json!({ "test": test.name, "kind": test.kind.name(), "cite": keys });
    match &said.finding {
        Ok(finding) => {
            value["verdict"] = json!(finding.verdict.name());
            value["reasons"] =
                finding.reasons.iter().map(|reason| json!(reason.describe(system))).collect();
        }
        Err(refusal) => {
            value["verdict"] = Value::Null;
            value["does_not_apply"] = json!({
                "assumption": refusal.assumption.code(),
                "reason": refusal.to_string(),
                "help": refusal.help,
            });
        }
    }
    value
}
