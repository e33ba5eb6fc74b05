//! Vectors of mixed-criticality analyses: all results of `layland-offline` for a set, or the
//! rejection of the set.
//!
//! Times are in an arbitrary unit, here nanoseconds.

use super::verdict::Verdict;
use layland_model::{Criticality, Duration, Service, TaskId, TaskMap};
use layland_offline::criticality::period_transformation::{self, Transformed};
use layland_offline::criticality::zero_slack::{self, ZeroSlack};
use layland_offline::criticality::{
    Answer, Assignment, MixedSet, MixedTask, NoBound, Responses, amc_ia, amc_max, amc_rt, fixed,
    fjp, rate_monotonic,
};
use serde_json::{Map, Value, json};

/// The maximum number of jobs of `fjp_lb` and `fjp_safe` in the vectors.
const JOBS: u64 = 5000;

/// Runs a vector with `levels` and `tasks`.
pub(super) fn run(vector: &Value) -> Verdict {
    let set = match read(vector) {
        Ok(set) => set,
        Err(fault) => return Verdict::Failed(fault),
    };
    match (set, vector["expected"].as_object()) {
        (Err(_), None) => Verdict::Passed,
        (Err(refusal), Some(_)) => Verdict::Failed(format!("it is refused: {refusal}")),
        (Ok(_), None) => Verdict::Failed("it is not refused".to_owned()),
        (Ok(set), Some(expected)) => match compare(&set, expected) {
            Ok(()) => Verdict::Passed,
            Err(difference) => Verdict::Failed(difference),
        },
    }
}

/// Returns the set, or the reason why the model rejects it. An error means that the vector itself is invalid.
fn read(vector: &Value) -> Result<Result<MixedSet, String>, String> {
    let number = |value: &Value, what: &str| {
        value.as_i64().ok_or_else(|| format!("the vector has no {what}"))
    };
    let levels = number(&vector["levels"], "levels")?;
    let mut tasks = Vec::new();
    for task in vector["tasks"].as_array().ok_or("the vector has no tasks")? {
        let wcet = task["wcet"].as_array().ok_or("the vector has no wcet")?;
        let wcet = wcet.iter().map(|c| Ok(Service::from_ns(number(c, "wcet")?)));
        tasks.push(MixedTask {
            period: Duration::from_ns(number(&task["period"], "period")?),
            deadline: Duration::from_ns(number(&task["deadline"], "deadline")?),
            criticality: Criticality(number(&task["criticality"], "criticality")? as u8),
            wcet: wcet.collect::<Result<_, String>>()?,
        });
    }
    Ok(MixedSet::new(levels as usize, &tasks).map_err(|refusal| refusal.to_string()))
}

fn compare(set: &MixedSet, expected: &Map<String, Value>) -> Result<(), String> {
    if expected.is_empty() {
        return Err("nothing is expected".to_owned());
    }
    for (analysis, expected) in expected {
        let found = found(set, analysis)?;
        let keys = expected.as_object().ok_or("an expectation is not an object")?;
        for (key, expected) in keys {
            let found = found.get(key).unwrap_or(&Value::Null);
            if expected != found {
                return Err(format!("{analysis}.{key}: expected {expected}, found {found}"));
            }
        }
    }
    Ok(())
}

/// Returns the result of an analysis, in the words of the vectors.
fn found(set: &MixedSet, analysis: &str) -> Result<Value, String> {
    const POINTS: u64 = amc_ia::FIXED_POINTS;
    Ok(match analysis {
        "rms" => responses(&fixed::rms(set)),
        "cms" => responses(&fixed::cms(set)),
        "ftp_smc" => assignment(fixed::ftp_smc(set), |&bound| json!(bound.ns())),
        "amc_rt" => assignment(amc_rt::amc_rt(set), |bounds| json!(ns(bounds))),
        "amc_max" => {
            let found = amc_max::amc_max(set).map_err(|refusal| refusal.to_string())?;
            assignment(found, |bounds| json!(ns(bounds)))
        }
        "amc_ia_paper" => assignment(amc_ia::paper(set, POINTS), |bounds| json!(ns(bounds))),
        "amc_ia_safe" => assignment(amc_ia::safe(set, POINTS), |bounds| json!(ns(bounds))),
        "pt_paper" => transformed(&period_transformation::paper(set, 1)),
        "pt_safe" => transformed(&period_transformation::safe(set, 1)),
        "pt_paper_k1000" => transformed(&period_transformation::paper(set, 1000)),
        "zss_paper" => zero_slack(&zero_slack::paper(set)),
        "zss_safe" => zero_slack(&zero_slack::safe(set)),
        "fjp_ija_paper" => pattern(&fjp::ija_paper(set, fjp::JOBS)),
        "fjp_ija_floor" => pattern(&fjp::ija_floor(set, fjp::JOBS)),
        "fjp_lb" => jobs(&fjp::load_based(set, JOBS)),
        "fjp_safe" => jobs(&fjp::safe(set, JOBS)),
        "at_rm_order" => at_rate_monotonic_order(set),
        unknown => return Err(format!("the analysis {unknown} is not known")),
    })
}

fn at_rate_monotonic_order(set: &MixedSet) -> Value {
    let order = rate_monotonic(set);
    let levels = |found: &Responses<Vec<Duration>>| bounds(&found.response, |b| json!(ns(b)));
    let smc = fixed::under(set, &order).response;
    let mut value = json!({
        "smc": bounds(&smc, |bound| json!(bound.ns())),
        "amc_rt": levels(&amc_rt::under(set, &order)),
        "amc_ia_paper": levels(&amc_ia::paper_under(set, &order, amc_ia::FIXED_POINTS)),
        "amc_ia_safe": levels(&amc_ia::safe_under(set, &order, amc_ia::FIXED_POINTS)),
    });
    if let Ok(found) = amc_max::under(set, &order) {
        value["amc_max"] = levels(&found);
    }
    value
}

fn ns(times: &[Duration]) -> Vec<i64> {
    times.iter().map(|time| time.ns()).collect()
}

fn places(tasks: &[TaskId]) -> Vec<u32> {
    tasks.iter().map(|task| task.0).collect()
}

fn bounds<R>(found: &TaskMap<Result<R, NoBound>>, show: impl Fn(&R) -> Value) -> Value {
    found.values().map(|bound| bound.as_ref().map_or(Value::Null, &show)).collect()
}

fn answer(answer: Answer) -> bool {
    match answer {
        Answer::Schedulable => true,
        Answer::NotSchedulable | Answer::GaveUp => false,
    }
}

fn responses(found: &Responses<Duration>) -> Value {
    json!({
        "schedulable": answer(found.answer()),
        "order": places(&found.order),
        "response": bounds(&found.response, |bound| json!(bound.ns())),
    })
}

fn assignment<R>(found: Assignment<R>, show: impl Fn(&R) -> Value) -> Value {
    match found {
        Assignment::Found(found) => json!({
            "schedulable": true,
            "order": places(&found.order),
            "response": found.response.values().map(show).collect::<Vec<_>>(),
        }),
        Assignment::NoneCanBeLowest(_) | Assignment::GaveUp(_) => json!({ "schedulable": false }),
    }
}

fn transformed(found: &Transformed) -> Value {
    let slices = found.slices.values();
    json!({
        "schedulable": answer(found.answer),
        "order": places(&found.order),
        "slices": slices.clone().map(|slices| slices.count).collect::<Vec<_>>(),
        "slice_length": slices.clone().map(|slices| slices.length).collect::<Vec<_>>(),
        "slice_budget": slices.map(|slices| slices.budget).collect::<Vec<_>>(),
        "response": bounds(&found.response, |&bound| json!(bound)),
    })
}

fn zero_slack(found: &ZeroSlack) -> Value {
    let instants = found.zero_slack.values().map(|instant| instant.map(Duration::ns));
    json!({
        "schedulable": answer(found.answer),
        "order": places(&found.order),
        "zero_slack": instants.collect::<Vec<_>>(),
    })
}

fn lists<T: Clone>(map: Option<&TaskMap<T>>) -> Option<Vec<T>> {
    map.map(|map| map.values().as_slice().to_vec())
}

fn pattern(found: &fjp::Pattern) -> Value {
    json!({
        "schedulable": answer(found.answer),
        "busy": found.busy.as_deref().map(ns),
        "change": found.change.as_deref().map(ns),
        "counts": lists(found.counts.as_ref()),
        "priorities": lists(found.priorities.as_ref()),
    })
}

fn jobs(found: &fjp::Jobs) -> Value {
    json!({
        "schedulable": answer(found.answer),
        "busy": found.busy.as_deref().map(ns),
        "counts": lists(found.counts.as_ref()),
        "priorities": lists(found.priorities.as_ref()),
    })
}
