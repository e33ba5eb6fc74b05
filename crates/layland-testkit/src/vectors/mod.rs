//! The runner of test vectors: JSON files in the documented schemas, each with the results of an
//! exact reference.

mod analysis;
mod blocking;
mod chains;
mod classics;
mod decision;
mod edf_affinity;
mod exact;
mod graph_bounds;
mod graphs;
mod groups;
mod groups_runtime;
mod how_often;
mod levels;
mod locks;
mod map;
mod mixed;
mod mixed_runtime;
mod reading;
mod reservations;
mod run_qps;
mod servers;
mod speeds;
mod split;
mod verdict;
mod virtual_deadlines;

pub use verdict::{VectorReport, Verdict};

use serde_json::Value;
use std::path::{Path, PathBuf};

/// Runs every `*.json` in a folder, in the order of the names.
///
/// # Errors
/// If the folder cannot be read or has no vector.
pub fn run_folder(folder: &Path, report: &mut VectorReport) -> Result<(), String> {
    let failed_to_read = |error| format!("failed to read {}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(failed_to_read)?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("there is no *.json in {}", folder.display()));
    }
    for file in files {
        let name =
            file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("failed to read {}: {error}", file.display()))?;
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::Array(vectors)) => {
                for (index, vector) in vectors.iter().enumerate() {
                    let id =
                        vector["name"].as_str().map_or_else(|| index.to_string(), str::to_owned);
                    report.add(format!("{name}/{id}"), run(vector));
                }
            }
            Ok(vector) => report.add(name, run(&vector)),
            Err(error) => report.add(name, Verdict::Failed(format!("not JSON: {error}"))),
        }
    }
    Ok(())
}

/// Runs one vector of any schema.
pub fn run(vector: &Value) -> Verdict {
    if vector["schema"] == "layland-run-qps/1" {
        return run_qps::run(vector);
    }
    if vector["schema"] == "layland-global-classics/1" {
        return classics::run(vector);
    }
    if exact::is_one(vector) {
        return exact::run(vector);
    }
    if vector.get("levels").is_some() && vector.get("type").is_none() {
        return match vector.get("mechanism") {
            None => mixed::run(vector),
            Some(_) => mixed_runtime::run(vector),
        };
    }
    if !vector["tasks"][0]["nodes"].is_null() {
        return match (vector.get("releases"), vector.get("reason")) {
            (Some(_), _) => graphs::runtime(vector),
            (None, Some(_)) => graphs::invalid(vector),
            (None, None) => graph_bounds::run(vector),
        };
    }
    if vector.get("communication").is_some() {
        return chains::run(vector);
    }
    if let (Some("one_cpu"), None) = (vector["type"].as_str(), vector.get("kind")) {
        return speeds::run(vector);
    }
    match vector["kind"].as_str() {
        Some("runtime") => return locks::runtime(vector),
        Some("invalid") => return locks::invalid(vector),
        Some("one_cpu" | "partitioned" | "suspension") => return blocking::run(vector),
        Some(_) | None => {}
    }
    match vector["type"].as_str() {
        Some("schedule") => edf_affinity::schedule(vector),
        Some("analysis") => analysis::analysis(vector),
        Some("decision") => decision::decision(vector),
        Some("grub_ledger") => reservations::ledger(vector),
        Some("grub_schedule") => reservations::schedule(vector),
        Some("mc_analysis") => virtual_deadlines::analysis(vector),
        Some("mc_partition") => virtual_deadlines::partition(vector),
        Some("mc_levels") => virtual_deadlines::levels(vector),
        Some("mc_runtime") => virtual_deadlines::runtime(vector),
        Some("fp_server") => servers::run(vector),
        Some("levels_one_cpu" | "levels_global" | "levels_run") => levels::run(vector),
        Some("stretches" | "run_uniform" | "uniform" | "sensitivity" | "feasible_types") => {
            speeds::run(vector)
        }
        Some("dl_capacity" | "dl_fit" | "dl_charge") => speeds::run(vector),
        Some(
            "supply" | "bounded_delay" | "mpr" | "several" | "uniprocessor" | "global"
            | "outer_edf" | "outer_fp" | "design" | "hcbs_ratio" | "hcbs_tree",
        ) => groups::run(vector),
        Some(
            "mk_word" | "mk_cycle" | "mk_order" | "mk_parse" | "mk_history" | "prob_periodic"
            | "prob_given" | "prob_phase" | "prob_bound" | "interval" | "twca" | "mk_pattern_test"
            | "mk_search",
        ) => how_often::run(vector),
        Some("runtime") => groups_runtime::run(vector),
        Some("map") => map::run(vector).into(),
        Some("split") => split::assignment(vector),
        Some("split_runtime") => split::runtime(vector),
        Some(_) | None => Verdict::Failed("no known schema".to_owned()),
    }
}
