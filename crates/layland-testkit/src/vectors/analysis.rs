//! Vectors of type `analysis`: the verdict or the numbers of a test.

use super::verdict::Verdict;
use layland_analysis::deadline::admission::{self, Limit};
use layland_analysis::global_edf::{bak, bcl, compliant_vector, devi_anderson, gfb};
use layland_analysis::partitioned::{existence, lopez};
use layland_analysis::{
    BoundTest, Finding, Refusal, Tardiness, Verdict as Answer, affinity, deadline, uniprocessor,
};
use layland_model::{CpuId, CpuSet, Duration, Index, Rate, Service, System, Task};
use layland_offline::{Heuristic, partition};
use serde_json::Value;

/// Runs a vector of type `analysis`.
pub(super) fn analysis(vector: &Value) -> Verdict {
    let name = vector["analysis"].as_str().unwrap_or("analysis");
    match run(name, &vector["input"], &vector["expect"]) {
        Ok(Some(verdict)) => verdict,
        Ok(None) => Verdict::NotSupported(format!("analysis: {name}")),
        Err(what) => Verdict::Failed(what),
    }
}

fn run(name: &str, input: &Value, expect: &Value) -> Result<Option<Verdict>, String> {
    let system = || system(input);
    Ok(Some(match name {
        "ac_global" => decided(expect, &admission::global(&system()?, &limit(input)?)),
        "ac_sp" => decided(expect, &admission::semi_partitioned(&system()?, &limit(input)?)),
        "gfb" => decided(expect, &gfb::TEST.run(&system()?)),
        "bcl" => decided(expect, &bcl::TEST.run(&system()?)),
        "bak" => decided(expect, &bak::TEST.run(&system()?)),
        "uniproc_edf" => decided(expect, &uniprocessor::edf::TEST.run(&system()?)),
        "affinity_feasibility" => decided(expect, &affinity::feasibility::TEST.run(&system()?)),
        "sp_tardiness" => bounded(expect, &deadline::tardiness::TEST, &system()?),
        "devi_anderson" => bounded(expect, &devi_anderson::TEST, &system()?),
        "cva" => {
            let reduced = input["reduced"].as_bool().ok_or("the vector has no `reduced`")?;
            let test = if reduced { compliant_vector::REDUCED } else { compliant_vector::PLAIN };
            bounded(expect, &test, &system()?)
        }
        "lopez" => {
            let found = lopez::utilization_bound(cpus(input)?, &rate(&input["umax"])?);
            compare(&rate(&expect["bound"])?, &found)
        }
        "hpa_speed" => {
            let m_max = input["mmax"].as_u64().ok_or("the vector has no mmax")? as usize;
            let found = affinity::hpa_speed::sufficient_speed(cpus(input)?, m_max).decimals(9);
            let expected = expect["speed"].as_f64().ok_or("the vector has no speed")?;
            compare(&Some(format!("{expected:.9}")), &found)
        }
        "partition" => {
            let system = system()?;
            let first_fit = partition(&system, Heuristic::Ff)
                .ok()
                .map(|cpu_of| cpu_of.values().map(|cpu| u64::from(cpu.0)).collect::<Vec<u64>>());
            let expected = expect["first_fit"]
                .as_array()
                .map(|list| list.iter().filter_map(Value::as_u64).collect());
            match compare(&expected, &first_fit) {
                Verdict::Passed => {
                    let finding = existence::TEST.run(&system);
                    let expected = match expect["exists"].as_bool() {
                        Some(true) => Answer::Yes,
                        Some(false) => Answer::No,
                        None => return Err("the vector has no `exists`".to_owned()),
                    };
                    compare(&Ok(expected), &finding.map(|finding| finding.verdict))
                }
                failed => failed,
            }
        }
        _ => return Ok(None),
    }))
}

fn compare<T: PartialEq + std::fmt::Debug>(expected: &T, found: &T) -> Verdict {
    if expected == found {
        Verdict::Passed
    } else {
        Verdict::Failed(format!("expected {expected:?}, found {found:?}"))
    }
}

/// Compares a verdict. The vectors distinguish only *accepted* and *not accepted*.
fn decided(expect: &Value, finding: &Result<Finding, Refusal>) -> Verdict {
    match (expect["verdict"].as_bool(), finding) {
        (None, _) => Verdict::Failed("the vector has no verdict".to_owned()),
        (Some(_), Err(refusal)) => Verdict::Failed(format!("refused: {refusal}")),
        (Some(accepted), Ok(finding)) => compare(&accepted, &(finding.verdict == Answer::Yes)),
    }
}

fn bounded(expect: &Value, test: &BoundTest, system: &System) -> Verdict {
    let found: Option<Vec<Rate>> = match test.run(system) {
        Err(refusal) => return Verdict::Failed(format!("refused: {refusal}")),
        Ok(Tardiness::Unknown(_)) => None,
        Ok(Tardiness::Bounded(bounds)) => {
            Some(bounds.values().map(|bound| bound.tardiness.clone()).collect())
        }
    };
    let expected = expect["bounds"].as_array();
    let expected: Result<Option<Vec<Rate>>, String> =
        expected.map(|list| list.iter().map(rate).collect()).transpose();
    match expected {
        Ok(expected) => compare(&expected, &found),
        Err(what) => Verdict::Failed(what),
    }
}

fn rate(value: &Value) -> Result<Rate, String> {
    let number = match value {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64().map(Rate::whole),
    };
    number.ok_or_else(|| format!("{value} is not a number"))
}

fn cpus(input: &Value) -> Result<usize, String> {
    input["cpus"].as_u64().map(|cpus| cpus as usize).ok_or("the vector has no CPUs".to_owned())
}

fn limit(input: &Value) -> Result<Limit, String> {
    rate(&input["limit"]).map(Limit::Share)
}

/// Reads tasks `[C, T]`, `[C, D, T]` or, with admission control by CPU, `[C, T, cpu or null]`. A
/// `limit` selects the last form.
fn system(input: &Value) -> Result<System, String> {
    let mut tasks = Vec::new();
    for (index, item) in
        input["tasks"].as_array().ok_or("the vector has no tasks")?.iter().enumerate()
    {
        let number = |at: usize| item[at].as_i64().ok_or(format!("{item} is not a task"));
        let three = item.as_array().is_some_and(|numbers| numbers.len() == 3);
        let with_cpu = three && !input["limit"].is_null();
        let period = Duration::from_ns(number(if three && !with_cpu { 2 } else { 1 })?);
        let wcet = Service::from_ns(number(0)?);
        let mut task = Task::implicit(index.to_string(), wcet, period);
        if three && !with_cpu {
            task.deadline = Duration::from_ns(number(1)?);
        }
        if with_cpu && !item[2].is_null() {
            task.affinity = Some(CpuSet::single(CpuId::from_index(number(2)? as usize)));
        }
        if let Some(mask) = input["affinity"][index].as_array() {
            let cpu = |cpu: &Value| cpu.as_u64().map(|cpu| CpuId::from_index(cpu as usize));
            task.affinity = Some(mask.iter().filter_map(cpu).collect());
        }
        tasks.push(task);
    }
    Ok(System::new(cpus(input)?, tasks))
}
