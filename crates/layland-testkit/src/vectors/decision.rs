//! Vectors of type `decision`: after each arrival or departure, the set that strong scheduling
//! runs, and the mappings of the policies with affinities.

use super::verdict::Verdict;
use crate::affinity::drive::Driver;
use layland_model::{CpuId, CpuSet, TaskId};
use serde_json::Value;
use std::collections::BTreeMap;

/// Runs a vector of type `decision`.
pub(super) fn decision(vector: &Value) -> Verdict {
    match first_difference(vector) {
        None => Verdict::Failed("the vector has an unknown form".to_owned()),
        Some(None) => Verdict::Passed,
        Some(Some(difference)) => Verdict::Failed(difference),
    }
}

/// The policy for each mapping.
const MAPPINGS: [(&str, &str); 4] = [
    ("weak", "weak-edf"),
    ("strong", "strong-edf"),
    ("algorithm4", "hpa-edf:assign=plain"),
    ("algorithm6", "hpa-edf"),
];

fn cpus(value: &Value) -> Option<CpuSet> {
    value.as_array()?.iter().map(|cpu| Some(CpuId(cpu.as_u64()? as u32))).collect()
}

fn first_difference(vector: &Value) -> Option<Option<String>> {
    let count = vector["platform"]["cpus"].as_u64()? as usize;
    let mut masks: BTreeMap<i64, CpuSet> = BTreeMap::new();
    for (id, mask) in vector["affinity"].as_object()? {
        masks.insert(id.parse().ok()?, cpus(mask)?);
    }
    let ids: Vec<i64> = masks.keys().copied().collect();
    let task = |id: &Value| {
        let at = ids.iter().position(|&known| Some(known) == id.as_i64())?;
        Some(TaskId(at as u32))
    };
    let masks: Vec<CpuSet> = masks.into_values().collect();
    let after = vector["expect"]["after_step"].as_array()?;
    let is_laminar = vector["laminar"].as_bool()?;
    for (name, policy) in MAPPINGS {
        let mut driver = match Driver::new(policy, count, &masks) {
            Ok(driver) => driver,
            Err(_) if policy.starts_with("hpa") && !is_laminar => continue,
            Err(error) => return Some(Some(error.to_string())),
        };
        for (at, (step, expected)) in vector["steps"].as_array()?.iter().zip(after).enumerate() {
            match step["op"].as_str()? {
                "arrive" => driver.arrive(task(&step["task"])?, step["priority"].as_i64()?),
                "depart" => driver.depart(task(&step["task"])?),
                _ => return None,
            }
            let mapping: BTreeMap<i64, i64> = driver
                .mapping()
                .iter()
                .map(|(cpu, task)| (ids[task.0 as usize], i64::from(cpu.0)))
                .collect();
            let set: Vec<i64> = mapping.keys().copied().collect();
            let strong: Option<Vec<i64>> =
                expected["strong_set"].as_array()?.iter().map(Value::as_i64).collect();
            if name != "weak" && Some(&set) != strong.as_ref() {
                return Some(Some(format!("step {at}: {policy} runs {set:?}, not {strong:?}")));
            }
            // The masks of a vector may be laminar although it does not declare it.
            let Some(map) = expected[name].as_object() else { continue };
            let mut wanted = BTreeMap::new();
            for (id, cpu) in map {
                wanted.insert(id.parse::<i64>().ok()?, cpu.as_i64()?);
            }
            if mapping != wanted {
                let what = format!("step {at}: {policy} maps {mapping:?}, not {wanted:?}");
                return Some(Some(what));
            }
        }
    }
    Some(None)
}
