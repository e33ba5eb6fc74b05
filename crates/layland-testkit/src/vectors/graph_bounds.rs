//! Vectors of DAG tasks: their structure, bounds, CPUs under federated scheduling, and bounds on shared CPUs.

use super::verdict::Verdict;
use layland_analysis::graph::{global_edf, global_fp};
use layland_offline::graph::augmentation::{Scheduler, accepts};
use layland_offline::graph::{Allocation, BoundKind, Dag, Recurrent, Why, federated};
use serde_json::{Map, Value, json};

/// Runs a vector.
pub(super) fn run(vector: &Value) -> Verdict {
    match first_difference(vector) {
        Ok(None) => Verdict::Passed,
        Ok(Some(what)) | Err(what) => Verdict::Failed(what),
    }
}

/// Reads a value as the type that the context requires.
macro_rules! read {
    ($value:expr) => {
        serde_json::from_value($value.clone()).map_err(|error| format!("{}: {error}", $value))?
    };
}

fn task(described: &Value) -> Result<Recurrent, String> {
    let work: Vec<i64> = read!(described["nodes"]);
    let edges: Vec<(usize, usize)> = read!(described["edges"]);
    let ranks: Vec<i64> = read!(described["rank"]);
    let dag = Dag::new(&work, &edges).map_err(|error| error.to_string())?.with_ranks(&ranks);
    let (period, deadline) = (read!(described["period"]), read!(described["deadline"]));
    Ok(Recurrent { dag, period, deadline })
}

fn structure(dag: &Dag, cpus: usize) -> Value {
    let bounds: Map<String, Value> = (BoundKind::ALL.into_iter())
        .map(|kind| {
            let each: Vec<Option<i64>> = (1..=cpus).map(|m| dag.bound(kind, m)).collect();
            (kind.name().to_owned(), json!(each))
        })
        .collect();
    json!({
        "volume": dag.volume(), "length": dag.length(), "longest_path": dag.longest_path(), "width": dag.width(),
        "topological": dag.topological(), "chains": dag.long_chains(), "bounds": bounds,
    })
}

fn first_difference(vector: &Value) -> Result<Option<String>, String> {
    let described: Vec<Value> = read!(vector["tasks"]);
    let tasks: Vec<Recurrent> = described.iter().map(task).collect::<Result<_, String>>()?;
    let cpus: usize = read!(vector["cpus"]);
    let expected = &vector["expected"];
    let per_task: Vec<Value> = tasks.iter().map(|task| structure(&task.dag, cpus)).collect();
    let mut found = vec![("per_task", json!(per_task))];

    let kinds = [Allocation::Li].into_iter().chain(BoundKind::ALL.map(Allocation::Bound));
    let allocations: Map<String, Value> = kinds
        .map(|kind| {
            let answer = match federated::allocate(&tasks, cpus, kind) {
                Ok(of) => json!({ "ok": true, "cpus": of }),
                Err(misfit) => {
                    let why = match misfit.why {
                        Why::Length => "length",
                        Why::Cpus => "cpus",
                        Why::Paths => "paths",
                    };
                    json!({ "ok": false, "why": why, "task": misfit.task })
                }
            };
            (kind.name().to_owned(), answer)
        })
        .collect();
    found.push(("federated", Value::Object(allocations)));

    if expected.get("g-fp").is_some() {
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|&at| described[at]["priority"].as_i64());
        let sorted: Vec<&Recurrent> = order.iter().map(|&at| &tasks[at]).collect();
        let mut bounds = vec![None; tasks.len()];
        for (&at, bound) in order.iter().zip(global_fp(&sorted, cpus)) {
            bounds[at] = bound;
        }
        found.push(("g-fp", json!(bounds)));
    }
    let all: Vec<&Recurrent> = tasks.iter().collect();
    found.push((
        "g-edf",
        match global_edf(&all, cpus) {
            Some(bounds) => json!({ "schedulable": true, "bounds": bounds }),
            None => json!({ "schedulable": false, "bounds": vec![Value::Null; tasks.len()] }),
        },
    ));
    if let Some(federated) = accepts(&tasks, cpus, Scheduler::Federated) {
        found.push((
            "capacity_augmentation",
            json!({
                "federated": federated,
                "g-edf": accepts(&tasks, cpus, Scheduler::GlobalEdf),
                "g-rm": accepts(&tasks, cpus, Scheduler::GlobalRm),
            }),
        ));
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    let missing = (expected.as_object().into_iter().flat_map(Map::keys))
        .find(|name| !names.contains(&name.as_str()));
    if let Some(name) = missing {
        return Ok(Some(format!("{name} is expected, and was not computed")));
    }
    let wrong = found.iter().find(|(name, found)| expected[*name] != *found);
    Ok(wrong.map(|(name, found)| format!("{name} is {found}, and expected is {}", expected[*name])))
}
