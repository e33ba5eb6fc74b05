//! Vectors of cause-effect chains: exact values and bounds under logical execution time; schedules and bounds of fixed
//! priorities under implicit communication.
//!
//! Times are whole units, which stand for nanoseconds.

use super::verdict::Verdict;
use layland_analysis::chains::{davare, implicit_bound, let_bound, let_exact};
use layland_guarantee::{AssessOptions, Bound, assess, chain_bounds};
use layland_model::{
    Chain, Communication, Duration, Index, Latency, Service, System, Task, TaskId, TaskMap, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_trace::Chained;
use serde_json::{Value, json};

/// Runs a vector of either kind.
pub(super) fn run(vector: &Value) -> Verdict {
    match found(vector) {
        Ok(found) if found == vector["expected"] => Verdict::Passed,
        Ok(found) => {
            Verdict::Failed(format!("found {found}, and expected is {}", vector["expected"]))
        }
        Err(what) => Verdict::Failed(what),
    }
}

fn number(value: &Value) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("{value} is no number"))
}

fn system(vector: &Value, communication: Communication) -> Result<System, String> {
    let listed = vector["tasks"].as_array().ok_or("there are no tasks")?;
    let task = |(at, described): (usize, &Value)| {
        let wcet = Service::from_ns(described["wcet"].as_i64().unwrap_or(1));
        let period = Duration::from_ns(number(&described["period"])?);
        Ok::<_, String>(Task {
            offset: Duration::from_ns(number(&described["offset"])?),
            priority: described["priority"].as_i64(),
            let_interval: described["let"].as_i64().map(Duration::from_ns),
            ..Task::implicit(at.to_string(), wcet, period)
        })
    };
    let tasks = listed.iter().enumerate().map(task).collect::<Result<Vec<_>, _>>()?;
    let order = match vector["chain"].as_array() {
        Some(order) => order.iter().map(|at| Ok(TaskId(number(at)? as u32))).collect(),
        None => Ok::<Vec<_>, String>((0..tasks.len()).map(TaskId::from_index).collect()),
    };
    let mut system = System::new(1, tasks);
    system.chains.push(Chain::new("chain", order?, communication));
    match system.validate().first() {
        Some(invalid) => Err(invalid.to_string()),
        None => Ok(system),
    }
}

fn latency(found: Latency) -> Value {
    let ns = |value: Option<Duration>| value.map(Duration::ns);
    json!({
        "reaction": ns(found.reaction),
        "reduced_reaction": ns(found.reduced_reaction),
        "age": ns(found.age),
        "reduced_age": ns(found.reduced_age),
    })
}

/// Returns the values that correspond to the expected values of a vector.
fn found(vector: &Value) -> Result<Value, String> {
    let name = vector["communication"].as_str().unwrap_or_default();
    let way = Communication::find(name).ok_or_else(|| format!("`{name}` is unknown"))?;
    let system = system(vector, way)?;
    let chain = &system.chains[0];
    let told = |why: layland_analysis::chains::Unbounded| why.text(&system);
    match way {
        Communication::Let => Ok(json!({
            "exact": latency(let_exact(&system, chain).map_err(told)?),
            "bound": let_bound(&system, chain).map_err(told)?.ns(),
        })),
        Communication::Implicit => {
            let (registry, spec) = (crate::registry(), "p-fp");
            let error = |error: &dyn std::fmt::Display| error.to_string();
            let assessed = assess(registry, spec, &system, &AssessOptions::by_tests());
            let assessed = assessed.map_err(|e| error(&e))?;
            let responses: TaskMap<Option<Duration>> = (assessed.bounds.values())
                .map(|bound| match bound {
                    Bound::Response { within, .. } => Some(*within),
                    Bound::Tardiness { .. } | Bound::Unknown => None,
                })
                .collect();
            let first = |a: TaskId, b: TaskId| system.tasks[a].priority < system.tasks[b].priority;
            let bound = implicit_bound(&system, chain, &responses, first).map_err(told)?;
            let policy = registry.build(spec, &system).map_err(|e| error(&e))?;
            let guaranteed = chain_bounds(&system, &policy.rule(), &assessed);
            if guaranteed[0].within != Ok(bound) {
                return Err(format!("{:?} is guaranteed, and {bound} is the bound", guaranteed[0]));
            }
            let at = |key: &str| number(&vector[key]).map(Time::from_ns);
            let mut chained = Chained::new(&system).within(at("from")?, at("until")?);
            let options = SimOptions::until(at("horizon")?);
            simulate(&system, policy, &mut chained, &options).map_err(|e| error(&e))?;
            Ok(json!({
                "response": responses.values().map(|r| r.map(Duration::ns)).collect::<Vec<_>>(),
                "simulated": latency(chained.figures(&system)[0].latency),
                "davare": davare(&system, chain, &responses).map_err(told)?.ns(),
                "bound": bound.ns(),
            }))
        }
    }
}
