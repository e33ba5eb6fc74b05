//! Vectors of jobs that lock resources and suspend themselves: kinds `runtime` and `invalid`.
//!
//! Times are whole units, which stand for nanoseconds. The events of one instant are compared as a
//! set, because their order between CPUs is not defined.

use super::verdict::Verdict;
use layland_checker::check;
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, JobId, Resource, ResourceId, Service, Step, System, Task,
    Time,
};
use layland_sim::{SimOptions, simulate};
use layland_trace::{LockMark, MarkKind, Trace};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Runs a vector of kind `runtime`.
pub(super) fn runtime(vector: &Value) -> Verdict {
    match first_difference(vector) {
        Ok(None) => Verdict::Passed,
        Ok(Some(what)) | Err(what) => Verdict::Failed(what),
    }
}

/// Runs a vector of kind `invalid`: the system is rejected, as it is or under its protocol.
pub(super) fn invalid(vector: &Value) -> Verdict {
    let system = match system(vector) {
        Ok(system) => system,
        Err(what) => return Verdict::Failed(what),
    };
    let is_refused = !system.validate().is_empty()
        || spec(vector).is_ok_and(|spec| crate::registry().build(&spec, &system).is_err());
    if is_refused {
        Verdict::Passed
    } else {
        Verdict::Failed(format!("not refused: {}", vector["reason"]))
    }
}

fn number(value: &Value) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("{value} is no number"))
}

fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("{value} is no array"))
}

fn step(step: &Value) -> Result<Step, String> {
    let amount = number(&step[1])?;
    let resource = ResourceId(u32::try_from(amount).unwrap_or_default());
    Ok(match step[0].as_str() {
        Some("run") => Step::Run(Service::from_ns(amount)),
        Some("lock") => Step::Lock(resource),
        Some("unlock") => Step::Unlock(resource),
        Some("suspend") => Step::Suspend(Duration::from_ns(amount)),
        _ => return Err(format!("{step} is no step")),
    })
}

/// Returns the system of a vector, without releases. Each task is tied to its CPU by its affinity.
pub(super) fn system(vector: &Value) -> Result<System, String> {
    let described = &vector["system"];
    let mut tasks = Vec::new();
    for (index, task) in array(&described["tasks"])?.iter().enumerate() {
        let steps: Vec<Step> =
            array(&task["program"])?.iter().map(step).collect::<Result<_, _>>()?;
        let runs = steps.iter().map(|step| match *step {
            Step::Run(length) => length,
            Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => Service::ZERO,
        });
        let wcet = runs.fold(Service::ZERO, |sum, length| sum + length);
        let period = Duration::from_ns(number(&task["period"])?);
        tasks.push(Task {
            deadline: Duration::from_ns(number(&task["deadline"])?),
            priority: Some(number(&task["priority"])?),
            affinity: Some(CpuSet::single(CpuId(number(&task["cpu"])? as u32))),
            steps: Some(steps.into()),
            ..Task::implicit(index.to_string(), wcet, period)
        });
    }
    let mut system = System::new(number(&described["cpus"])? as usize, tasks);
    for index in 0..number(&described["resources"])? as usize {
        let home = described["home"][index].as_u64().map(|cpu| CpuId(cpu as u32));
        system.resources.push(Resource { name: format!("r{index}"), home });
    }
    Ok(system)
}

fn spec(vector: &Value) -> Result<String, String> {
    let order = match vector["scheduler"].as_str() {
        Some("fp") | None => "p-fp",
        Some("edf") => "p-edf",
        Some(other) => return Err(format!("no scheduler {other}")),
    };
    let protocol = vector["protocol"].as_str().ok_or("the protocol is missing")?;
    Ok(format!("{order}:locks={protocol}"))
}

fn first_difference(vector: &Value) -> Result<Option<String>, String> {
    let mut system = system(vector)?;
    for (task, releases) in system.tasks.values_mut().zip(array(&vector["releases"])?) {
        let times: Result<Vec<i64>, String> = array(releases)?.iter().map(number).collect();
        task.behaviour = Behaviour::Explicit(times?.into_iter().map(Time::from_ns).collect());
    }
    let invalid = system.validate();
    if let Some(invalid) = invalid.first() {
        return Err(invalid.to_string());
    }
    let policy = crate::registry()
        .build(&spec(vector)?, &system)
        .map_err(|error| format!("refused: {error}"))?;
    let rule = policy.rule();
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ns(number(&vector["horizon"])?));
    simulate(&system, policy, &mut trace, &options).map_err(|error| error.to_string())?;
    let report = check(&trace, &system, &rule, 5);
    if !report.is_clean() {
        return Ok(Some(report.to_string()));
    }
    let expected = &vector["expected"];
    let found = [
        ("segments", segments(&trace)),
        ("events", events(&trace)),
        ("jobs", jobs(&trace)),
        ("deadlock", deadlock(&trace)),
    ];
    for (name, found) in found {
        let mut wanted = expected[name].clone();
        if name == "events"
            && let Value::Array(events) = &mut wanted
        {
            events.sort_by_key(|event| (event[0].as_i64(), event.to_string()));
        }
        if wanted.is_null() {
            wanted = json!([]);
        }
        if found != wanted {
            return Ok(Some(format!("{name} are {found}, and expected are {wanted}")));
        }
    }
    Ok(None)
}

/// Returns the intervals in which each job has waited for a lock.
fn waits(trace: &Trace) -> BTreeMap<JobId, Vec<(Time, Time)>> {
    let mut waits: BTreeMap<JobId, Vec<(Time, Time)>> = BTreeMap::new();
    for mark in &trace.marks {
        match mark.kind {
            MarkKind::Lock(job, _, LockMark::Requested) => {
                waits.entry(job).or_default().push((mark.at, trace.over));
            }
            MarkKind::Lock(job, _, LockMark::Granted) => {
                if let Some(last) = waits.entry(job).or_default().last_mut() {
                    last.1 = mark.at;
                }
            }
            _ => {}
        }
    }
    waits
}

fn segments(trace: &Trace) -> Value {
    let waits = waits(trace);
    let mut pieces = Vec::new();
    for segment in &trace.segments {
        let (id, cpu) = (segment.job, segment.cpu);
        let mut from = segment.start;
        let mut push = |start: Time, end: Time, how: &'static str| {
            if start < end {
                pieces.push((start.ns(), end.ns(), cpu.0, id.task.0, id.seq, how));
            }
        };
        for &(since, until) in waits.get(&id).map(Vec::as_slice).unwrap_or_default() {
            let (since, until) = (since.max(from), until.min(segment.end));
            if since < until {
                push(from, since, "run");
                push(since, until, "spin");
                from = until;
            }
        }
        push(from, segment.end, "run");
    }
    pieces.sort_by_key(|&(start, _, cpu, ..)| (start, cpu));
    pieces.into_iter().map(|piece| json!(piece)).collect()
}

fn events(trace: &Trace) -> Value {
    let mut events = Vec::new();
    for mark in &trace.marks {
        let MarkKind::Lock(job, resource, what) = mark.kind else { continue };
        let what = match what {
            LockMark::Requested => "request",
            LockMark::Granted => "grant",
            LockMark::Unlocked => "unlock",
        };
        events.push(json!([mark.at.ns(), what, job.task.0, job.seq, resource.0]));
    }
    events.sort_by_key(|event| (event[0].as_i64(), event.to_string()));
    Value::Array(events)
}

fn jobs(trace: &Trace) -> Value {
    let mut records: Vec<_> = trace.jobs.iter().collect();
    records.sort_by_key(|record| record.job.id);
    let job = |record: &&layland_trace::JobRecord| {
        let (id, release) = (record.job.id, record.job.arrival.ns());
        json!({
            "task": id.task.0,
            "job": id.seq,
            "release": release,
            "finish": record.completion().map(Time::ns),
            "missed": record.missed(trace.over),
        })
    };
    records.iter().map(job).collect()
}

/// Returns the tasks whose jobs wait for each other in a circle at the end, beginning with the least one.
fn deadlock(trace: &Trace) -> Value {
    let mut holders: BTreeMap<ResourceId, u32> = BTreeMap::new();
    let mut asked: BTreeMap<u32, ResourceId> = BTreeMap::new();
    for mark in &trace.marks {
        let MarkKind::Lock(job, resource, what) = mark.kind else { continue };
        match what {
            LockMark::Requested => drop(asked.insert(job.task.0, resource)),
            LockMark::Granted => {
                asked.remove(&job.task.0);
                holders.insert(resource, job.task.0);
            }
            LockMark::Unlocked => drop(holders.remove(&resource)),
        }
    }
    for &first in asked.keys() {
        let mut circle = vec![first];
        while let Some(next) =
            asked.get(&circle[circle.len() - 1]).and_then(|resource| holders.get(resource))
        {
            if *next == first {
                return json!(circle);
            }
            if circle.contains(next) {
                break;
            }
            circle.push(*next);
        }
    }
    json!([])
}
