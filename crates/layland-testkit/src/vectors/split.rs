//! Vectors of semi-partitioned EDF: `split` (the pieces of tasks) and `split_runtime` (schedules of given pieces).
//!
//! Times are whole units, which stand for nanoseconds.

use super::reading::list;
use super::verdict::{Read, Verdict};
use layland_checker::check;
use layland_model::{
    Behaviour, CpuId, Duration, ExecutionModel, Piece, Service, SplitOrder, Splitting, System,
    Task, TaskMap, Time,
};
use layland_offline::split;
use layland_policy::Policy;
use layland_policy::split::Split;
use layland_sim::{SimOptions, simulate};
use layland_trace::Trace;
use serde_json::{Value, json};

fn numbers(value: &Value, what: &str) -> Read<Vec<i64>> {
    let number = |value: &Value| value.as_i64().ok_or_else(|| format!("{what} has no number"));
    list(value, what)?.iter().map(number).collect()
}

fn system(vector: &Value) -> Read<System> {
    let mut tasks = Vec::new();
    for (index, task) in list(&vector["tasks"], "tasks")?.iter().enumerate() {
        let [wcet, deadline, period] = numbers(task, "a task")?[..] else {
            return Err("a task is not [C, D, T]".to_owned());
        };
        let name = format!("tau{index}");
        let mut made = Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period));
        made.deadline = Duration::from_ns(deadline);
        tasks.push(made);
    }
    let cpus = vector["cpus"].as_u64().ok_or("the vector has no cpus")?;
    Ok(System::new(cpus as usize, tasks))
}

/// Returns the algorithm and the order that a key names.
fn named(key: &str) -> Read<(Splitting, SplitOrder)> {
    let (splitting, order) = match key {
        "cd_next_du" => (Splitting::NextFirst, "du"),
        "cd_next_dd_best" => (Splitting::NextBest, "dd"),
        "cd_next_ip" => (Splitting::NextFirst, "ip"),
        "cd_fail_ff_du" => (Splitting::FailFirst, "du"),
        "cd_fail_wf_du" => (Splitting::FailWorst, "du"),
        "edf_wm_du" => (Splitting::Windows, "du"),
        other => return Err(format!("`{other}` is not known")),
    };
    let order = match order {
        "dd" => SplitOrder::Density,
        "ip" => SplitOrder::Period,
        _ => SplitOrder::Utilization,
    };
    Ok((splitting, order))
}

fn of_piece(piece: &Piece) -> Value {
    json!([piece.cpu.0, piece.offset.ns(), piece.budget.ns(), piece.deadline.ns()])
}

/// Runs a vector of type `split`.
pub(super) fn assignment(vector: &Value) -> Verdict {
    let of = || {
        let system = system(vector)?;
        let expected = vector["expect"].as_object().ok_or("the vector expects nothing")?;
        for (key, wanted) in expected {
            let (splitting, order) = named(key)?;
            let found = match split(&system, splitting, order) {
                Ok(pieces) => {
                    pieces.values().map(|own| own.iter().map(of_piece).collect::<Value>()).collect()
                }
                Err(_) => Value::Null,
            };
            if found != *wanted {
                return Ok(Some(format!("{key} is {found}, not {wanted}")));
            }
        }
        Ok(None)
    };
    of().into()
}

/// Runs a vector of type `split_runtime`.
pub(super) fn runtime(vector: &Value) -> Verdict {
    first_difference(vector).into()
}

fn first_difference(vector: &Value) -> Read<Option<String>> {
    let mut system = system(vector)?;
    for (index, task) in system.tasks.values_mut().enumerate() {
        let of = |name: &str| numbers(&vector[name][index], name);
        let releases = of("releases")?.into_iter().map(Time::from_ns).collect();
        task.behaviour = Behaviour::Explicit(releases);
        task.execution =
            ExecutionModel::List(of("demands")?.into_iter().map(Service::from_ns).collect());
    }
    let mut pieces: Vec<Vec<Piece>> = Vec::new();
    for own in list(&vector["pieces"], "pieces")? {
        let mut read = Vec::new();
        for piece in list(own, "pieces")? {
            let [cpu, offset, budget, deadline] = numbers(piece, "a piece")?[..] else {
                return Err("a piece is not [cpu, offset, C, D]".to_owned());
            };
            read.push(Piece {
                cpu: CpuId(u32::try_from(cpu).map_err(|_| "a CPU is negative")?),
                offset: Duration::from_ns(offset),
                budget: Duration::from_ns(budget),
                deadline: Duration::from_ns(deadline),
            });
        }
        pieces.push(read);
    }
    let pieces: TaskMap<Vec<Piece>> = pieces.into();
    let policy = Split::new("vector", &system, pieces);
    let rule = policy.rule();
    let horizon = vector["horizon"].as_i64().ok_or("the vector has no horizon")?;
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ns(horizon));
    simulate(&system, policy, &mut trace, &options).map_err(|error| error.to_string())?;
    let expected = &vector["expect"];
    let late = list(&expected["late_pieces"], "late_pieces")?;
    let report = check(&trace, &system, &rule, 5);
    if report.is_clean() != late.is_empty() {
        return Ok(Some(format!("{late:?} are late, and the checker says: {report}")));
    }
    let mut pieces: Vec<[i64; 4]> = (trace.segments.iter())
        .map(|of| [i64::from(of.cpu.0), of.start.ns(), i64::from(of.job.task.0), of.end.ns()])
        .collect();
    pieces.sort_unstable();
    // In the vectors, jobs of one task that follow each other on a CPU are one segment.
    let mut segments: Vec<[i64; 4]> = Vec::new();
    for [cpu, start, task, end] in pieces {
        match segments.last_mut() {
            Some([_, on, of, until]) if (*on, *of, *until) == (cpu, task, start) => *until = end,
            Some(_) | None => segments.push([start, cpu, task, end]),
        }
    }
    segments.sort_unstable();
    let segments: Value =
        segments.iter().map(|&[start, cpu, task, end]| json!([task, cpu, start, end])).collect();
    // By start, and in the order of the reference if several start together.
    let mut wanted: Vec<[i64; 4]> = Vec::new();
    for segment in list(&expected["segments"], "segments")? {
        let [task, cpu, start, end] = numbers(segment, "a segment")?[..] else {
            return Err("a segment is not [task, cpu, start, end]".to_owned());
        };
        wanted.push([start, cpu, task, end]);
    }
    wanted.sort_unstable();
    let wanted: Value =
        wanted.iter().map(|&[start, cpu, task, end]| json!([task, cpu, start, end])).collect();
    if segments != wanted {
        return Ok(Some(format!("segments are {segments}, not {wanted}")));
    }
    let mut jobs: Vec<[i64; 5]> = (trace.jobs.iter())
        .map(|record| {
            let job = record.job;
            let finish = record.completion().map_or(-1, Time::ns);
            let seq = job.id.seq as i64;
            [i64::from(job.id.task.0), seq, job.arrival.ns(), job.deadline.ns(), finish]
        })
        .collect();
    jobs.sort_unstable();
    let jobs = json!(jobs);
    if jobs != expected["jobs"] {
        return Ok(Some(format!("jobs are {jobs}, not {}", expected["jobs"])));
    }
    Ok(None)
}
