//! Vectors of several tasks of one priority: `levels_one_cpu`, `levels_global` and `levels_run`.
//!
//! Tasks are `[C, D, T, level]` in whole units, which stand for nanoseconds.

use super::verdict::{Read, Verdict};
use crate::levels::{self, Levelled, Within};
use layland_analysis::levels::{by_deadlines, response_time, responses};
use layland_analysis::{Sporadic, Verdict as Answer};
use layland_checker::check;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{Behaviour, CpuId, CpuSet, Duration, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_trace::Trace;
use serde_json::{Value, json};

/// Runs a vector of one of these types.
pub(super) fn run(vector: &Value) -> Verdict {
    let outcome = tasks(vector).and_then(|tasks| match vector["type"].as_str() {
        Some("levels_one_cpu") => one_cpu(vector, &tasks),
        Some("levels_global") => global(vector, &tasks),
        Some("levels_run") => schedule(vector, &tasks),
        Some(_) | None => Err("it has no known type".to_owned()),
    });
    match outcome {
        Err(difference) => Verdict::Failed(difference),
        Ok(()) => Verdict::Passed,
    }
}

fn numbers(value: &Value, what: &str) -> Read<Vec<i64>> {
    let all = value.as_array().ok_or_else(|| format!("the vector has no {what}"))?;
    let numbers = all.iter().map(Value::as_i64).collect::<Option<_>>();
    numbers.ok_or_else(|| format!("{what} has something else than whole numbers"))
}

fn tasks(vector: &Value) -> Read<Vec<Levelled>> {
    let all = vector["tasks"].as_array().ok_or("the vector has no tasks")?;
    let task = |task: &Value| match numbers(task, "a task")?[..] {
        [wcet, deadline, period, level] => Ok(Levelled { wcet, deadline, period, level }),
        _ => Err("a task is not [C, D, T, level]".to_owned()),
    };
    all.iter().map(task).collect()
}

fn cpus(vector: &Value) -> Read<usize> {
    let cpus = vector["cpus"].as_u64().ok_or("the vector has no cpus")?;
    usize::try_from(cpus).map_err(|_| "there are too many CPUs".to_owned())
}

/// Returns the tasks in the order of the vector, which is that of their ranks.
fn system(tasks: &[Levelled], cpus: usize) -> System {
    let task = |(at, task): (usize, &Levelled)| Task {
        deadline: Duration::from_ns(task.deadline),
        priority: Some(task.level),
        affinity: (cpus == 1).then(|| CpuSet::single(CpuId(0))),
        ..Task::implicit(
            at.to_string(),
            Service::from_ns(task.wcet),
            Duration::from_ns(task.period),
        )
    };
    System::new(cpus, tasks.iter().enumerate().map(task).collect())
}

fn same(what: &str, expected: &Value, found: &Value) -> Read<()> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected}, found {found}"))
    }
}

/// Returns true if all of these bounds are within the deadlines.
fn in_time(tasks: &[Levelled], bounds: &[i64]) -> bool {
    tasks.iter().zip(bounds).all(|(task, &bound)| bound <= task.deadline)
}

fn one_cpu(vector: &Value, tasks: &[Levelled]) -> Read<()> {
    let (expect, system) = (&vector["expect"], system(tasks, 1));
    let of_system: Vec<&Task> = system.tasks.values().collect();
    let with_levels: Vec<(&Task, i64)> =
        of_system.iter().zip(tasks).map(|(&task, of)| (task, of.level)).collect();
    let ns = |found: Duration| found.ns();
    let fifo: Vec<Option<i64>> =
        responses(&with_levels).into_iter().map(|found| found.ok().map(ns)).collect();
    same("fifo", &expect["fifo"], &json!(fifo))?;
    let of_task = |at: usize| {
        let others = |is: fn(i64, i64) -> bool| -> Vec<&Task> {
            let all = (0..tasks.len()).filter(|&other| other != at);
            let such = all.filter(|&other| is(tasks[other].level, tasks[at].level));
            such.map(|other| of_system[other]).collect()
        };
        let (higher, equal) = (others(|a, b| a < b), others(|a, b| a == b));
        response_time(of_system[at], &higher, &equal).ok().map(ns)
    };
    let any: Vec<Option<i64>> = (0..tasks.len()).map(of_task).collect();
    same("any", &expect["any"], &json!(any))?;
    for (key, tie, bounds) in [("in_time_fifo", "fifo", &fifo), ("in_time_any", "any", &any)] {
        let all: Option<Vec<i64>> = bounds.iter().copied().collect();
        let found = all.is_some_and(|all| in_time(tasks, &all));
        same(key, &expect[key], &json!(found))?;
        // The program's bounds for a policy are not above these.
        said(&system, &format!("p-fp:fit=given:tie={tie}"), found, Some(bounds))?;
    }
    Ok(())
}

/// Checks the program's results for a policy: the verdict is *yes* exactly if all are in time, and
/// no bound is too low.
fn said(system: &System, spec: &str, in_time: bool, least: Option<&[Option<i64>]>) -> Read<()> {
    let found = assess(crate::registry(), spec, system, &AssessOptions::by_tests());
    let found = found.map_err(|error| error.to_string())?;
    if (found.verdict == Answer::Yes) != in_time {
        return Err(format!(
            "{spec}: in time is {in_time}, and the program says {:?}",
            found.verdict
        ));
    }
    for ((id, bound), least) in found.bounds.iter().zip(least.unwrap_or_default()) {
        if let (Bound::Response { within, by, .. }, Some(least)) = (bound, least)
            && within.ns() != *least
        {
            return Err(format!("{spec}: {by} bounds task {id} by {within}, and it is {least}"));
        }
    }
    Ok(())
}

fn global(vector: &Value, tasks: &[Levelled]) -> Read<()> {
    let (expect, cpus) = (&vector["expect"], cpus(vector)?);
    let system = system(tasks, cpus);
    let sporadic: Vec<(Sporadic, i64)> = (system.tasks.values().zip(tasks))
        .map(|(task, of)| (Sporadic::from(task), of.level))
        .collect();
    let any = by_deadlines(&sporadic, cpus);
    same("any", &expect["any"], &json!(any))?;
    let in_time = any.iter().all(Option::is_some);
    same("in_time_any", &expect["in_time_any"], &json!(in_time))?;
    // Other tests may accept more.
    for tie in ["fifo", "any"] {
        if in_time {
            said(&system, &format!("g-fp:tie={tie}"), true, None)?;
        }
    }
    Ok(())
}

fn schedule(vector: &Value, tasks: &[Levelled]) -> Read<()> {
    let cpus = cpus(vector)?;
    let horizon = vector["horizon"].as_i64().ok_or("the vector has no horizon")?;
    let lists = vector["arrivals"].as_array().ok_or("the vector has no arrivals")?;
    let arrivals: Vec<Vec<i64>> =
        lists.iter().map(|of_task| numbers(of_task, "arrivals")).collect::<Read<_>>()?;
    let expected = &vector["expect"]["finish"];
    let slow = levels::run(tasks, &arrivals, cpus, Within::Fifo { last: None }, horizon);
    let slow: Vec<[i64; 3]> =
        slow.iter().map(|job| [job.task as i64, job.job as i64, job.end]).collect();
    same("finish by units", expected, &json!(slow))?;
    let mut system = system(tasks, cpus);
    for (task, arrivals) in system.tasks.values_mut().zip(&arrivals) {
        let times = arrivals.iter().map(|&at| Time::from_ns(at)).collect();
        task.behaviour = Behaviour::Explicit(times);
    }
    let specs: &[&str] = match cpus {
        1 => &["p-fp:fit=given:tie=fifo", "g-fp:tie=fifo", "c-fp:tie=fifo"],
        _ => &["g-fp:tie=fifo", "c-fp:tie=fifo"],
    };
    for spec in specs {
        let policy = crate::registry().build(spec, &system).map_err(|error| error.to_string())?;
        let rule = policy.rule();
        let mut trace = Trace::default();
        // Events at the horizon are reported in the next nanosecond.
        let options = SimOptions::until(Time::from_ns(horizon + 1));
        simulate(&system, policy, &mut trace, &options).map_err(|error| error.to_string())?;
        let report = check(&trace, &system, &rule, 5);
        if !report.is_clean() {
            return Err(format!("{spec}: {report}"));
        }
        let mut finish: Vec<[i64; 3]> = (trace.jobs.iter())
            .filter_map(|record| {
                let id = record.job.id;
                Some([i64::from(id.task.0), id.seq as i64, record.completion()?.ns()])
            })
            .filter(|[.., end]| *end <= horizon)
            .collect();
        finish.sort_unstable();
        same(&format!("finish under {spec}"), expected, &json!(finish))?;
    }
    Ok(())
}
