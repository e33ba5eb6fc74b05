//! Vectors of EDF with virtual deadlines: `mc_analysis` (the tests for one CPU, two levels),
//! `mc_partition` (the placement of tasks), `mc_levels` (the cut of many levels), and `mc_runtime`
//! (schedules with mode switches).
//!
//! Times are whole units, which stand for nanoseconds.

use super::mixed_runtime;
use super::reading::{integer, list};
use super::verdict::{Read, Verdict};
use crate::registry;
use layland_model::{
    Criticality, Duration, Levels, Platform, Rate, ScheduleRule, Service, System, Task,
};
use layland_offline::criticality::MixedSet;
use layland_offline::criticality::virtual_deadlines::{
    Factors, Grid, STEPS, VirtualDeadlines, exact, factors, longest_length, tuned_on, whole,
};
use serde_json::{Value, json};

/// Returns `(T, D, z, C)` of a task in either form.
fn parameters(task: &Value) -> Read<(i64, i64, u8, Vec<i64>)> {
    let period = integer(&task["T"], "T")?;
    if let Some(level) = task.get("z") {
        let wcets = list(&task["C"], "C")?.iter().map(|c| integer(c, "C"));
        let level = integer(level, "z")? as u8;
        return Ok((period, period, level, wcets.collect::<Read<_>>()?));
    }
    let high = task["hi"].as_bool().ok_or("the vector has no hi")?;
    let wcets = [integer(&task["CL"], "CL")?, integer(&task["CH"], "CH")?];
    Ok((period, integer(&task["D"], "D")?, u8::from(high), wcets.to_vec()))
}

fn system(vector: &Value) -> Read<System> {
    let levels = vector["levels"].as_u64().unwrap_or(2) as usize;
    let mut tasks = Vec::new();
    for (index, task) in list(&vector["tasks"], "tasks")?.iter().enumerate() {
        let (period, deadline, level, mut wcets) = parameters(task)?;
        let last = *wcets.last().ok_or("the vector has no C")?;
        wcets.resize(levels, last);
        let period = Duration::from_ns(period);
        let mut made = Task::implicit(format!("tau{index}"), Service::from_ns(last), period);
        made.deadline = Duration::from_ns(deadline);
        made.criticality = Criticality(level);
        made.wcet = wcets.into_iter().map(Service::from_ns).collect();
        tasks.push(made);
    }
    let mut system = System::new(1, tasks);
    system.levels = Levels::new((0..levels).map(|level| format!("L{level}")).collect());
    Ok(system)
}

fn set(vector: &Value) -> Read<MixedSet> {
    MixedSet::of_system(&system(vector)?).map_err(|error| error.to_string())
}

/// Returns the rate as a number, or as `"p/q"`.
fn number(rate: &Rate) -> Value {
    match rate.as_i64_pair() {
        Some((whole, 1)) => json!(whole),
        Some(_) | None => json!(rate.to_string()),
    }
}

fn compare(what: &str, found: &Value, wanted: &Value) -> Option<String> {
    (found != wanted).then(|| format!("{what} is {found}, not {wanted}"))
}

/// Runs a vector of type `mc_analysis`.
pub(super) fn analysis(vector: &Value) -> Verdict {
    let of = || {
        let set = set(vector)?;
        let expected = vector["expect"].as_object().ok_or("the vector expects nothing")?;
        for (key, wanted) in expected {
            let found = match key.as_str() {
                "edf_vd" => by_factor(&set),
                "edf_vd_floor" => in_whole_times(&set),
                "ey" => {
                    let deadlines = deadlines(&set, &in_units(&set));
                    json!({ "schedulable": !deadlines.is_null(), "virtual": deadlines })
                }
                "ey_limit" => json!(longest_length(&set, Criticality(0)).map(Duration::ns)),
                other => return Err(format!("`{other}` is not known")),
            };
            if let Some(difference) = compare(key, &found, wanted) {
                return Ok(Some(difference));
            }
        }
        Ok(None)
    };
    of().into()
}

/// Searches in steps of one unit, like the reference.
fn in_units(set: &MixedSet) -> VirtualDeadlines {
    tuned_on(set, Grid { unit: Duration::from_ns(1) }, STEPS)
}

fn word(found: &VirtualDeadlines) -> Value {
    match found {
        VirtualDeadlines::Plain => json!("edf"),
        VirtualDeadlines::Modes(_) => json!("vd"),
        VirtualDeadlines::Rejected | VirtualDeadlines::GaveUp => Value::Null,
    }
}

fn deadlines(set: &MixedSet, found: &VirtualDeadlines) -> Value {
    match found {
        VirtualDeadlines::Plain => set.ids().map(|task| json!(set.deadline(task).ns())).collect(),
        VirtualDeadlines::Modes(modes) => modes.deadline.values().map(number).collect(),
        VirtualDeadlines::Rejected | VirtualDeadlines::GaveUp => Value::Null,
    }
}

fn by_factor(set: &MixedSet) -> Value {
    let found = exact(set);
    let factors = factors(set, Criticality(0));
    let of = |rate: &dyn Fn(&Factors) -> Rate| factors.as_ref().map(|it| number(&rate(it)));
    let x = match &found {
        VirtualDeadlines::Plain => Some(json!(1)),
        VirtualDeadlines::Modes(_) => factors.as_ref().and_then(Factors::taken).map(number),
        VirtualDeadlines::Rejected | VirtualDeadlines::GaveUp => None,
    };
    json!({
        "verdict": word(&found),
        "x_min": of(&|factors| factors.least.clone()),
        "x_max": of(&|factors| factors.most.clone()),
        "x": x,
    })
}

fn in_whole_times(set: &MixedSet) -> Value {
    let found = whole(set);
    json!({ "verdict": word(&found), "virtual": deadlines(set, &found) })
}

/// Runs a vector of type `mc_partition`: the policy places the tasks.
pub(super) fn partition(vector: &Value) -> Verdict {
    let of = || {
        let mut system = system(vector)?;
        system.platform = Platform::identical(integer(&vector["cpus"], "cpus")? as usize);
        let expected = vector["expect"].as_object().ok_or("the vector expects nothing")?;
        for (key, wanted) in expected {
            let spec = match key.as_str() {
                "edf_vd" => "edf-vd:fit=ffd",
                "edf_vd_floor" => "edf-vd:fit=ffd:deadlines=whole",
                "ey" => "edf-vd:fit=ffd:deadlines=tuned",
                other => return Err(format!("`{other}` is not known")),
            };
            let rule = registry().build(spec, &system).map(|policy| policy.rule());
            let found = match rule {
                Ok(ScheduleRule::MixedCriticality { groups, .. }) => {
                    let cpu = |task| groups.iter().position(|group| group.tasks.contains(&task));
                    json!(system.tasks.ids().map(cpu).collect::<Vec<_>>())
                }
                Ok(_) => return Err("the policy has another rule".to_owned()),
                Err(_) => Value::Null,
            };
            if let Some(difference) = compare(key, &found, wanted) {
                return Ok(Some(difference));
            }
        }
        Ok(None)
    };
    of().into()
}

/// Runs a vector of type `mc_levels`.
pub(super) fn levels(vector: &Value) -> Verdict {
    let of = || {
        let set = set(vector)?;
        let found = exact(&set);
        let (cut, x) = match &found {
            VirtualDeadlines::Modes(modes) => {
                let factors = factors(&set, modes.cut);
                let x = factors.as_ref().and_then(Factors::taken).map(number);
                (Some(modes.cut.level()), x)
            }
            VirtualDeadlines::Plain | VirtualDeadlines::Rejected | VirtualDeadlines::GaveUp => {
                (None, None)
            }
        };
        let found = json!({ "verdict": word(&found), "k": cut, "x": x });
        Ok(compare("the answer", &found, &vector["expect"]))
    };
    of().into()
}

/// Runs a vector of type `mc_runtime`, like those of the other mechanisms.
pub(super) fn runtime(vector: &Value) -> Verdict {
    let task = |task: &Value| {
        let (period, deadline, criticality, wcet) = parameters(task)?;
        Ok(json!({
            "period": period, "deadline": deadline, "criticality": criticality, "wcet": wcet,
        }))
    };
    let tasks = list(&vector["tasks"], "tasks");
    match tasks.and_then(|tasks| tasks.iter().map(task).collect::<Read<Vec<Value>>>()) {
        Ok(tasks) => mixed_runtime::run(&json!({
            "levels": 2,
            "mechanism": "edf-vd",
            "parameters": { "virtual": vector["virtual"] },
            "tasks": tasks,
            "releases": vector["releases"],
            "demands": vector["demands"],
            "horizon": vector["horizon"],
            "expected": vector["expect"],
        })),
        Err(what) => Verdict::Failed(what),
    }
}
