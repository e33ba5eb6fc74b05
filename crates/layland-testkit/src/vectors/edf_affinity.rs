//! Vectors of type `schedule` for EDF with affinities: a task set, a policy, and the exact
//! schedule.
//!
//! Times in the vectors are in an arbitrary unit, possibly rational. They are multiplied by a
//! scale that makes every time of the schedule a whole number of nanoseconds: the numerator of the
//! CPUs' speed.

use super::verdict::Verdict;
use crate::registry;
use layland_model::{
    Behaviour, Change, CpuId, CpuSet, Duration, Note, Rate, Request, RequestKind, Service, Speed,
    System, Task, TaskId, Time,
};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_trace::{Errno, JobEnd, JobRecord, MarkKind, Trace};
use serde_json::Value;

/// Runs a vector of type `schedule`.
pub(super) fn schedule(vector: &Value) -> Verdict {
    match run(vector) {
        Ok(verdict) => verdict,
        Err(what) => Verdict::Failed(format!("the vector has no {what}")),
    }
}

/// Returns the value, or the name of the missing part.
fn read<T>(value: Option<T>, what: &str) -> Result<T, String> {
    value.ok_or_else(|| what.to_owned())
}

fn run(vector: &Value) -> Result<Verdict, String> {
    let policy = &vector["policy"];
    let name = read(policy["name"].as_str(), "policy name")?;
    let speed: Rate = match &policy["speed"] {
        Value::Null => Rate::ONE,
        Value::String(text) => read(text.parse().ok(), "speed")?,
        number => Rate::whole(read(number.as_i64(), "speed")?),
    };
    let speed = read(Speed::new(&speed), "speed")?;
    let scale = speed.numerator();
    let (mut system, ids) = system(vector, scale)?;
    system.platform.speeds.values_mut().for_each(|each| *each = speed);
    let mut runs: Vec<(String, System)> = Vec::new();
    if let Some(spec) = thread_policy(name, policy, &vector["tasks"], &system)? {
        runs.push((spec, system));
    } else if let Some(spec) = affinity_policy(name, policy) {
        // If the masks are those of global, clustered or partitioned scheduling, the plain policy
        // must produce an equal schedule.
        let mut other = system.clone();
        if let Some(spec) = plain_policy(name, policy, &mut other) {
            runs.push((spec.to_owned(), other));
        }
        runs.push((spec, system));
    } else {
        return Ok(Verdict::NotSupported(name.to_owned()));
    }
    let horizon = Time::from_ns(read(vector["horizon"].as_i64(), "horizon")? * scale);
    for (spec, system) in runs {
        let policy = match registry().build(&spec, &system) {
            Ok(policy) => policy,
            Err(error) => return Ok(Verdict::Failed(format!("{spec} was not built: {error}"))),
        };
        let rule = policy.rule();
        let mut trace = Trace::default();
        if let Err(error) = simulate(&system, policy, &mut trace, &SimOptions::until(horizon)) {
            return Ok(Verdict::Failed(error.to_string()));
        }
        let found = RunResults::new(&system, &ids, &trace, scale);
        if let Some(difference) = found.first_difference(&vector["expect"])? {
            return Ok(Verdict::Failed(format!("{spec}: {difference}")));
        }
        let report = layland_checker::check(&trace, &system, &rule, 3);
        if !report.is_clean() {
            return Ok(Verdict::Failed(format!("{spec}: {report}")));
        }
    }
    Ok(Verdict::Passed)
}

/// Returns the project's policy for a policy of the vectors with a single decision maker.
fn affinity_policy(name: &str, options: &Value) -> Option<String> {
    let order = options["priority"].as_str().unwrap_or("edf");
    match name {
        "weak" | "strong" => Some(format!("{name}-{order}")),
        "hpa4" => Some(format!("hpa-{order}:assign=plain")),
        "hpa6" => Some(format!("hpa-{order}")),
        _ => None,
    }
}

/// Returns the project's policy for a policy of the vectors with per-CPU run queues.
fn thread_policy(
    name: &str,
    options: &Value,
    tasks: &Value,
    system: &System,
) -> Result<Option<String>, String> {
    let is_linux = match name {
        "dl" | "dlsp" => true,
        "apedf" | "a2pedf" => false,
        _ => return Ok(None),
    };
    let mut spec = name.replace("dlsp", "dl-sp");
    if is_linux {
        spec += &format!(":ac={}", options["ac"].as_bool().unwrap_or(false));
    }
    let starts = |item: &Value| item["init_cpu"].as_u64();
    let items = read(tasks.as_array(), "tasks")?;
    // Adaptive partitioning always starts on CPU 0.
    if is_linux && items.iter().any(|item| starts(item).is_some()) {
        let cpus = items.iter().zip(system.tasks.ids()).map(|(item, id)| {
            let lowest = || system.allowed_cpus(id).lowest().map_or(0, |cpu| cpu.0.into());
            starts(item).unwrap_or_else(lowest).to_string()
        });
        spec += &format!(":start={}", cpus.collect::<Vec<_>>().join(","));
    }
    for (key, value) in read(options.as_object(), "policy options")? {
        match (key.as_str(), value) {
            ("name" | "ac", _) => {}
            ("limit" | "tie", Value::String(text)) => spec += &format!(":{key}={text}"),
            ("fallback" | "lag_reset" | "grub_pa", Value::Bool(on)) => {
                spec += &format!(":{key}={on}")
            }
            (_, Value::Bool(false)) => {}
            _ => return Ok(None),
        }
    }
    Ok(Some(spec))
}

/// Returns the plain policy that `hpa6` equals if all masks are equal, clusters, or single CPUs:
/// global, clustered or partitioned scheduling.
fn plain_policy(name: &str, options: &Value, system: &mut System) -> Option<&'static str> {
    if name != "hpa6" || !system.requests.is_empty() {
        return None;
    }
    let edf = options["priority"].as_str().unwrap_or("edf") == "edf";
    let masks: Vec<CpuSet> = system.tasks.ids().map(|task| system.allowed_cpus(task)).collect();
    if masks.iter().all(|mask| mask.len() == 1) {
        return Some(if edf { "p-edf" } else { "p-fp" });
    }
    if masks.iter().all(|mask| *mask == system.platform.all_cpus()) {
        return Some(if edf { "g-edf" } else { "g-fp" });
    }
    let mut clusters: Vec<CpuSet> = Vec::new();
    for (task, mask) in system.tasks.values_mut().zip(&masks) {
        task.cluster = match clusters.iter().position(|cluster| cluster == mask) {
            Some(cluster) => cluster,
            None => {
                clusters.push(mask.clone());
                clusters.len() - 1
            }
        };
    }
    let disjoint =
        clusters.iter().enumerate().all(|(at, a)| clusters[..at].iter().all(|b| a.is_disjoint(b)));
    system.platform.clusters = clusters;
    disjoint.then_some(if edf { "c-edf" } else { "c-fp" })
}

fn cpu_set(value: &Value) -> Result<CpuSet, String> {
    let cpus = read(value.as_array(), "CPU list")?;
    cpus.iter().map(|cpu| read(cpu.as_u64(), "CPU").map(|cpu| CpuId(cpu as u32))).collect()
}

/// Returns the system, and the ids of its tasks in the vector.
fn system(vector: &Value, scale: i64) -> Result<(System, Vec<i64>), String> {
    let cpus = read(vector["platform"]["cpus"].as_u64(), "number of CPUs")? as usize;
    let mut tasks = Vec::new();
    let mut ids = Vec::new();
    let mut ranks = Vec::new();
    for item in read(vector["tasks"].as_array(), "tasks")? {
        let number = |key: &str| read(item[key].as_i64(), key);
        let length = |key: &str| number(key).map(|units| Duration::from_ns(units * scale));
        let id = number("id")?;
        let runtime = Service::from_ns(number("runtime")? * scale);
        let mut task = Task::implicit(format!("{id}"), runtime, length("period")?);
        task.deadline = length("deadline")?;
        task.offset = length("offset")?;
        task.cluster = number("cluster")? as usize;
        task.affinity =
            if item["affinity"].is_null() { None } else { Some(cpu_set(&item["affinity"])?) };
        task.budget = item["budget"].as_i64().map(|budget| Service::from_ns(budget * scale));
        task.behaviour = match item["kind"].as_str() {
            Some("hog") => Behaviour::Hog,
            Some("yield") => Behaviour::Yield,
            Some("selfsusp") => Behaviour::SelfSuspending { gap: length("gap")? },
            Some("periodic") | None => Behaviour::Periodic,
            Some(other) => return Err(format!("known kind: {other}")),
        };
        task.priority = Some(item["prio"].as_i64().unwrap_or(number("rank")?));
        task.jobs = item["jobs"].as_u64();
        if let Some(times) = item["releases"].as_array() {
            let time =
                |at: &Value| read(at.as_i64(), "release").map(|at| Time::from_ns(at * scale));
            task.behaviour = Behaviour::Explicit(times.iter().map(time).collect::<Result<_, _>>()?);
        }
        if let Some(times) = item["exec"].as_array() {
            let work = |c: &Value| read(c.as_i64(), "exec").map(|c| Service::from_ns(c * scale));
            task.execution = layland_model::ExecutionModel::List(
                times.iter().map(work).collect::<Result<_, _>>()?,
            );
        }
        ranks.push(number("rank")?);
        ids.push(id);
        tasks.push(task);
    }
    let mut system = System::new(cpus, tasks);
    system.tasks.values_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
    if let Some(clusters) = vector["platform"]["clusters"].as_array() {
        system.platform.clusters = clusters.iter().map(cpu_set).collect::<Result<_, _>>()?;
    }
    for event in vector["events"].as_array().into_iter().flatten() {
        let at = Time::from_ns(read(event["t"].as_i64(), "time of an event")? * scale);
        let task = || {
            let id = event["task"].as_i64();
            let index = ids.iter().position(|&known| Some(known) == id);
            read(index.map(|index| TaskId(index as u32)), "task of an event")
        };
        let kind = match event["op"].as_str() {
            Some("leave") => RequestKind::Leave(task()?),
            Some("setaffinity") => {
                RequestKind::Reconfigure(task()?, Change::Affinity(cpu_set(&event["affinity"])?))
            }
            Some("attach") => {
                let cluster = read(event["cluster"].as_u64(), "cluster")? as usize;
                RequestKind::Reconfigure(task()?, Change::Cluster(cluster))
            }
            Some("setattr") => {
                let units = |key: &str| read(event[key].as_i64(), key).map(|units| units * scale);
                RequestKind::Reconfigure(
                    task()?,
                    Change::Parameters {
                        wcet: Service::from_ns(units("runtime")?),
                        period: Duration::from_ns(units("period")?),
                        deadline: Duration::from_ns(units("period")?),
                    },
                )
            }
            Some("cpus") => RequestKind::SetClusterCpus {
                cluster: read(event["cluster"].as_u64(), "cluster")? as usize,
                cpus: cpu_set(&event["cpus"])?,
            },
            Some(_) | None => return Err("known op of an event".to_owned()),
        };
        system.requests.push(Request { at, kind });
    }
    Ok((system, ids))
}

/// The results of a run, in the terms of the vectors.
struct RunResults {
    ids: Vec<i64>,
    segments: Vec<(i64, i64, Rate, Rate)>,
    jobs: Vec<(i64, i64, Rate, Rate, Rate)>,
    max_tardiness: Vec<Option<Rate>>,
    migrations: Vec<i64>,
    moves: Vec<i64>,
    /// The outcome of each request and of each rejected entry: time, and the last word of the text.
    answers: Vec<(Rate, String)>,
}

impl RunResults {
    fn new(system: &System, ids: &[i64], trace: &Trace, scale: i64) -> RunResults {
        let units = |at: Time| Rate::new(at.ns(), scale);
        let mut segments: Vec<(i64, i64, Rate, Rate)> = Vec::new();
        let mut by_start = trace.segments.clone();
        by_start.sort_by_key(|segment| (segment.start, segment.cpu));
        let mut migrations = vec![0; ids.len()];
        let mut last_cpu = vec![None; ids.len()];
        for segment in &by_start {
            let index = segment.job.task.0 as usize;
            if last_cpu[index].is_some_and(|cpu| cpu != segment.cpu) {
                migrations[index] += 1;
            }
            last_cpu[index] = Some(segment.cpu);
            let (id, cpu) = (ids[index], i64::from(segment.cpu.0));
            let (start, end) = (units(segment.start), units(segment.end));
            let open = segments.iter_mut().rev().find(|(_, other, ..)| *other == cpu);
            match open {
                Some((task, _, _, open_end)) if *task == id && *open_end == start => {
                    *open_end = end
                }
                Some(_) | None => segments.push((id, cpu, start, end)),
            }
        }
        let mut max_tardiness: Vec<Option<Rate>> = vec![None; ids.len()];
        let mut jobs = Vec::new();
        for record in &trace.jobs {
            let Some(finish) = record.completion() else { continue };
            let job = record.job;
            let index = job.id.task.0 as usize;
            let late = Rate::new(job.tardiness(finish).ns(), scale);
            let worst = max_tardiness[index].get_or_insert(Rate::ZERO);
            *worst = worst.clone().max(late);
            // For a thread that suspends itself, use the start of its server's period.
            let task = &system.tasks[job.id.task];
            let release = match task.behaviour {
                Behaviour::SelfSuspending { .. } => job.deadline - task.deadline,
                Behaviour::Periodic
                | Behaviour::Sporadic(_)
                | Behaviour::Explicit(_)
                | Behaviour::Curve(_)
                | Behaviour::Hog
                | Behaviour::Yield => job.release,
            };
            // Aborted budgets of a hog are not numbered in the vectors.
            let is_before = |other: &&JobRecord| {
                other.job.id.task == job.id.task && other.job.id.seq < job.id.seq
            };
            let given_up = |other: &JobRecord| matches!(other.end, Some((_, JobEnd::Aborted)));
            let before = trace.jobs.iter().filter(is_before).filter(|other| given_up(other));
            jobs.push((
                ids[index],
                job.id.seq as i64 - before.count() as i64,
                units(release),
                units(job.deadline),
                units(finish),
            ));
        }
        jobs.sort_by(|a, b| (&a.4, a.0).cmp(&(&b.4, b.0)));
        let mut moves = vec![0; ids.len()];
        for mark in &trace.marks {
            if let MarkKind::Note(Note::Moved { task, .. }) = mark.kind {
                moves[task.0 as usize] += 1;
            }
        }
        // A leave cannot be rejected, and the vectors have no answer to it.
        let asked = trace.answers.iter().filter(|answer| !answer.request.ends_with("` leaves"));
        let answers = asked.map(|answer| {
            let text = match (answer.entering, answer.errno) {
                (Some(task), _) => format!("refuse {}", ids[task.0 as usize]),
                (None, None) => "ok".to_owned(),
                (None, Some(Errno::Busy)) => "EBUSY".to_owned(),
                (None, Some(Errno::NotPermitted)) => "EPERM".to_owned(),
                (None, Some(Errno::Invalid)) => "EINVAL".to_owned(),
            };
            (units(answer.at), text)
        });
        RunResults {
            ids: ids.to_vec(),
            segments,
            jobs,
            max_tardiness,
            migrations,
            moves,
            answers: answers.collect(),
        }
    }

    fn first_difference(&self, expect: &Value) -> Result<Option<String>, String> {
        let segments: Vec<Vec<Rate>> = self
            .segments
            .iter()
            .map(|(task, cpu, start, end)| {
                vec![Rate::whole(*task), Rate::whole(*cpu), start.clone(), end.clone()]
            })
            .collect();
        let jobs: Vec<Vec<Rate>> = self
            .jobs
            .iter()
            .map(|(task, seq, release, deadline, finish)| {
                vec![
                    Rate::whole(*task),
                    Rate::whole(*seq),
                    release.clone(),
                    deadline.clone(),
                    finish.clone(),
                ]
            })
            .collect();
        for (what, found) in [("segments", segments), ("jobs", jobs)] {
            let expected = rows(&expect[what], what)?;
            for at in 0..found.len().max(expected.len()) {
                if found.get(at) != expected.get(at) {
                    return Ok(Some(format!(
                        "{what}[{at}]: expected {:?}, found {:?}",
                        expected.get(at),
                        found.get(at)
                    )));
                }
            }
        }
        for (index, id) in self.ids.iter().enumerate() {
            let key = id.to_string();
            let expected = &expect["max_tardiness"][&key];
            let expected = if expected.is_null() { None } else { Some(rate(expected)?) };
            if self.max_tardiness[index] != expected {
                let found = &self.max_tardiness[index];
                return Ok(Some(format!(
                    "max_tardiness of {id}: expected {expected:?}, found {found:?}"
                )));
            }
            let expected = read(expect["migrations"][&key].as_i64(), "migrations")?;
            if self.migrations[index] != expected {
                let found = self.migrations[index];
                return Ok(Some(format!("migrations of {id}: expected {expected}, found {found}")));
            }
            let moves = &expect["runqueue_moves"];
            if !moves.is_null() && self.moves[index] != read(moves[&key].as_i64(), "moves")? {
                let (expected, found) = (&moves[&key], self.moves[index]);
                return Ok(Some(format!(
                    "runqueue_moves of {id}: expected {expected}, found {found}"
                )));
            }
        }
        let Some(answers) = expect["answers"].as_array() else { return Ok(None) };
        let expected: Vec<(Rate, String)> = answers
            .iter()
            .map(|row| {
                let text = read(row[1].as_str(), "answer")?;
                let last = text.rsplit(' ').next().filter(|_| !text.starts_with("refuse"));
                Ok((rate(&row[0])?, last.unwrap_or(text).to_owned()))
            })
            .collect::<Result<_, String>>()?;
        if self.answers != expected {
            let found = &self.answers;
            return Ok(Some(format!("answers: expected {expected:?}, found {found:?}")));
        }
        Ok(None)
    }
}

fn rate(value: &Value) -> Result<Rate, String> {
    match value {
        Value::String(text) => read(text.parse().ok(), "number"),
        number => read(number.as_i64().map(Rate::whole), "number"),
    }
}

fn rows(value: &Value, what: &str) -> Result<Vec<Vec<Rate>>, String> {
    let rows = read(value.as_array(), what)?;
    rows.iter().map(|row| read(row.as_array(), what)?.iter().map(rate).collect()).collect()
}
