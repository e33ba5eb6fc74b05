//! Vectors of DAG tasks: their schedules, and invalid graphs.
//!
//! Times are whole units, which stand for nanoseconds. A node is a task. The nodes of a DAG are
//! consecutive, so that ties break as in the vectors. A node without work is a task whose jobs have
//! no demand.

use super::verdict::Verdict;
use layland_checker::check;
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Service, System, Task, TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_trace::Trace;
use serde_json::{Value, json};

/// Runs a vector with a schedule.
pub(super) fn runtime(vector: &Value) -> Verdict {
    match first_difference(vector) {
        Ok(None) => Verdict::Passed,
        Ok(Some(what)) | Err(what) => Verdict::Failed(what),
    }
}

/// Runs a vector with an invalid graph.
pub(super) fn invalid(vector: &Value) -> Verdict {
    match system(vector) {
        Ok(system) if system.validate().is_empty() => {
            Verdict::Failed(format!("not refused: {}", vector["reason"]))
        }
        Ok(_) => Verdict::Passed,
        Err(what) => Verdict::Failed(what),
    }
}

fn number(value: &Value) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("{value} is no number"))
}

fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("{value} is no array"))
}

fn numbers(value: &Value) -> Result<Vec<i64>, String> {
    array(value)?.iter().map(number).collect()
}

/// Returns the system of a vector: its DAGs, without releases.
fn system(vector: &Value) -> Result<System, String> {
    let mut tasks = Vec::new();
    for (dag, described) in array(&vector["tasks"])?.iter().enumerate() {
        let first = tasks.len();
        let length = |key: &str| number(&described[key]).map(Duration::from_ns);
        for (node, &work) in numbers(&described["nodes"])?.iter().enumerate() {
            let wcet = Service::from_ns(work.max(1));
            tasks.push(Task {
                deadline: length("deadline")?,
                priority: described["priority"].as_i64(),
                rank: described["rank"][node].as_i64().unwrap_or_default(),
                ..Task::implicit(format!("{dag}.{node}"), wcet, length("period")?)
            });
        }
        for edge in array(&described["edges"])? {
            let node = |end: usize| Ok::<_, String>(first + number(&edge[end])? as usize);
            let (from, to) = (node(0)?, node(1)?);
            // An edge to a node that does not exist is reversed, so that an existing task follows
            // an unknown one.
            let (from, to) = if to < tasks.len() { (from, to) } else { (to, from) };
            let follows = tasks[to].follows.iter().copied().chain([TaskId(from as u32)]);
            tasks[to].follows = follows.collect();
        }
    }
    let cpus = number(&vector["cpus"])? as usize;
    Ok(System { tasks: tasks.into(), ..System::new(cpus, Vec::new()) })
}

fn first_difference(vector: &Value) -> Result<Option<String>, String> {
    let mut system = system(vector)?;
    let nodes: Vec<usize> = array(&vector["tasks"])?
        .iter()
        .map(|task| Ok(array(&task["nodes"])?.len()))
        .collect::<Result<_, String>>()?;
    let of = |dag: usize, node: usize| TaskId((nodes[..dag].iter().sum::<usize>() + node) as u32);
    for (dag, &count) in nodes.iter().enumerate() {
        let releases = numbers(&vector["releases"][dag])?;
        for node in 0..count {
            let demands = array(&vector["demands"][dag])?.iter().map(|of| number(&of[node]));
            let demands = demands.collect::<Result<Vec<i64>, String>>()?;
            let task = &mut system.tasks[of(dag, node)];
            task.behaviour =
                Behaviour::Explicit(releases.iter().copied().map(Time::from_ns).collect());
            task.execution =
                ExecutionModel::List(demands.into_iter().map(Service::from_ns).collect());
        }
    }
    let policy = match vector["policy"].as_str() {
        Some("federated") => {
            let groups = array(&vector["groups"])?;
            let groups: Vec<CpuSet> = groups
                .iter()
                .map(|group| Ok(numbers(group)?.into_iter().map(|cpu| CpuId(cpu as u32)).collect()))
                .collect::<Result<_, String>>()?;
            let mut clusters: Vec<CpuSet> = Vec::new();
            for (dag, group) in groups.iter().enumerate() {
                let cluster = clusters.iter().position(|cluster| cluster == group);
                let cluster = cluster.unwrap_or(clusters.len());
                if cluster == clusters.len() {
                    clusters.push(group.clone());
                }
                (0..nodes[dag]).for_each(|node| system.tasks[of(dag, node)].cluster = cluster);
            }
            system.platform.clusters = clusters;
            "c-edf"
        }
        Some(policy) => policy,
        None => return Err("the policy is missing".to_owned()),
    };
    if let Some(invalid) = system.validate().first() {
        return Err(invalid.to_string());
    }
    let policy = crate::registry().build(policy, &system).map_err(|error| error.to_string())?;
    let rule = policy.rule();
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ns(1 << 40));
    simulate(&system, policy, &mut trace, &options).map_err(|error| error.to_string())?;
    let report = check(&trace, &system, &rule, 5);
    if !report.is_clean() {
        return Ok(Some(report.to_string()));
    }
    let dag_of = |id: TaskId| {
        let (mut dag, mut node) = (0, id.0 as usize);
        while node >= nodes[dag] {
            node -= nodes[dag];
            dag += 1;
        }
        (dag, node)
    };
    let mut segments: Vec<_> = trace.segments.iter().collect();
    segments.sort_by_key(|segment| (segment.end, segment.cpu));
    let segment = |segment: &&layland_trace::Segment| {
        let (dag, node) = dag_of(segment.job.task);
        json!([segment.start.ns(), segment.end.ns(), segment.cpu.0, dag, node, segment.job.seq])
    };
    let mut finish: Vec<Vec<i64>> = array(&vector["releases"])?
        .iter()
        .map(|releases| Ok(vec![0; array(releases)?.len()]))
        .collect::<Result<_, String>>()?;
    for record in &trace.jobs {
        let (dag, _) = dag_of(record.job.id.task);
        let end = record.completion().ok_or_else(|| format!("{:?} is open", record.job.id))?;
        let finish = &mut finish[dag][record.job.id.seq as usize];
        *finish = (*finish).max(end.ns());
    }
    let found =
        [("segments", segments.iter().map(segment).collect::<Value>()), ("finish", json!(finish))];
    for (name, found) in found {
        let wanted = &vector["expected"][name];
        let wanted = if name == "segments" { merged(wanted)? } else { wanted.clone() };
        if found != wanted {
            return Ok(Some(format!("{name} are {found}, and expected are {wanted}")));
        }
    }
    Ok(None)
}

/// Merges segments that continue where another one ends. A node without work can interrupt a
/// segment for an instant, after which it continues on its CPU.
fn merged(segments: &Value) -> Result<Value, String> {
    let mut rows: Vec<Vec<i64>> = array(segments)?.iter().map(numbers).collect::<Result<_, _>>()?;
    rows.sort_by_key(|row| (row[2..].to_vec(), row[0]));
    rows.dedup_by(|next, before| {
        let goes_on = before[2..] == next[2..] && before[1] == next[0];
        if goes_on {
            before[1] = next[1];
        }
        goes_on
    });
    rows.sort_by_key(|row| (row[1], row[2]));
    Ok(json!(rows))
}
