//! Vectors of servers of fixed priority: `fp_server`.
//!
//! Times are whole units, which stand for nanoseconds. The log of a sporadic server shows when the
//! server or its next chunk became active. It is not compared, since the segments follow from it.

use super::verdict::Verdict;
use layland_checker::check;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{Behaviour, Duration, ExecutionModel, Service, System, Task, TaskId, Time};
use layland_sim::{SimOptions, simulate};
use layland_trace::Trace;
use serde_json::{Value, json};

/// Runs a vector of type `fp_server`.
pub(super) fn run(vector: &Value) -> Verdict {
    match first_difference(vector) {
        Ok(None) => Verdict::Passed,
        Ok(Some(what)) | Err(what) => Verdict::Failed(what),
    }
}

fn number(value: &Value, name: &str) -> Result<i64, String> {
    value[name].as_i64().ok_or_else(|| format!("{name} is no number"))
}

/// Returns the system. The server is its first task, so that it comes before tasks of its own
/// priority.
fn system(vector: &Value) -> Result<System, String> {
    let server = &vector["server"];
    let period = Duration::from_ns(number(server, "T")?);
    let mut jobs = Vec::new();
    for job in server["jobs"].as_array().ok_or("the server has no jobs")? {
        let [arrival, work] = [0, 1].map(|at| job[at].as_i64());
        jobs.push(arrival.zip(work).ok_or("a job is not [arrival, work]")?);
    }
    let longest = jobs.iter().map(|&(_, work)| work).max().unwrap_or(1);
    let mut tasks = vec![Task {
        budget: Some(Service::from_ns(number(server, "Q")?)),
        priority: Some(number(server, "prio")?),
        behaviour: Behaviour::Explicit(jobs.iter().map(|&(at, _)| Time::from_ns(at)).collect()),
        execution: ExecutionModel::List(
            jobs.iter().map(|&(_, work)| Service::from_ns(work)).collect(),
        ),
        ..Task::implicit("server", Service::from_ns(longest), period)
    }];
    for (index, task) in vector["tasks"].as_array().ok_or("there are no tasks")?.iter().enumerate()
    {
        let period = number(task, "T")?;
        let wcet = Service::from_ns(number(task, "C")?);
        tasks.push(Task {
            deadline: Duration::from_ns(task["D"].as_i64().unwrap_or(period)),
            offset: Duration::from_ns(task["offset"].as_i64().unwrap_or(0)),
            priority: Some(number(task, "prio")?),
            ..Task::implicit(index.to_string(), wcet, Duration::from_ns(period))
        });
    }
    Ok(System::new(1, tasks))
}

fn first_difference(vector: &Value) -> Result<Option<String>, String> {
    let system = system(vector)?;
    let spec = match vector["server"]["kind"].as_str() {
        Some("sporadic") => "ss:order=fp",
        Some("deferrable") => "ds:order=fp",
        Some("polling") => "ps:order=fp",
        _ => return Err("the kind of the server is not known".to_owned()),
    };
    let policy = crate::registry().build(spec, &system).map_err(|error| error.to_string())?;
    let rule = policy.rule();
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ns(number(vector, "horizon")?));
    simulate(&system, policy, &mut trace, &options).map_err(|error| error.to_string())?;
    let report = check(&trace, &system, &rule, 5);
    if !report.is_clean() {
        return Ok(Some(report.to_string()));
    }
    let name = |task: TaskId| match task.0 {
        0 => json!("server"),
        other => json!(other - 1),
    };
    let mut pieces: Vec<(i64, i64, TaskId)> =
        (trace.segments.iter()).map(|of| (of.start.ns(), of.end.ns(), of.job.task)).collect();
    pieces.sort_unstable();
    // In the vectors, jobs that follow each other without a gap are one segment.
    let mut joined: Vec<(i64, i64, TaskId)> = Vec::new();
    for (start, end, task) in pieces {
        match joined.last_mut() {
            Some((_, until, of)) if (*until, *of) == (start, task) => *until = end,
            Some(_) | None => joined.push((start, end, task)),
        }
    }
    let segments: Value =
        joined.into_iter().map(|(start, end, task)| json!([name(task), start, end])).collect();
    let (mut of_server, mut of_tasks) = (Vec::new(), Vec::new());
    for record in &trace.jobs {
        let (job, seq) = (record.job, record.job.id.seq as i64);
        let Some(finish) = record.completion().map(Time::ns) else { continue };
        match job.id.task.0 {
            0 => of_server.push([seq, job.arrival.ns(), finish]),
            task => of_tasks.push([
                i64::from(task) - 1,
                seq,
                job.arrival.ns(),
                job.deadline.ns(),
                finish,
            ]),
        }
    }
    of_server.sort_unstable();
    of_tasks.sort_unstable();
    let assessed = assess(crate::registry(), spec, &system, &AssessOptions::by_tests())
        .map_err(|error| error.to_string())?;
    let bounds = system.tasks.iter().skip(1).map(|(id, task)| match &assessed.bounds[id] {
        Bound::Response { within, .. } if *within <= task.deadline => json!(within.ns()),
        Bound::Response { .. } | Bound::Tardiness { .. } | Bound::Unknown => Value::Null,
    });
    let bounds: Value = bounds.collect();
    let expected = &vector["expect"];
    let found = [
        ("segments", segments),
        ("server_jobs", json!(of_server)),
        ("task_jobs", json!(of_tasks)),
        ("bounds", bounds),
    ];
    let other = found.into_iter().find(|(name, found)| expected[name] != *found);
    Ok(other.map(|(name, found)| format!("{name} are {found}, not {}", expected[name])))
}
