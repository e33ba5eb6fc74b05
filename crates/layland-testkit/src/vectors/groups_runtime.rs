//! Runs of groups with budgets: explicit releases, and the exact schedule with each change of a server.

use super::groups::written;
use super::reading::{integer, list, read, same};
use super::verdict::{Read, Verdict};
use crate::groups_run;
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, GroupId, Index, InnerPolicy, Order,
    ServerRule, Service, System, Task, TaskGroup, Time,
};
use layland_policy::task_groups::{ServerChange, ServerEvent, TaskGroups};
use serde_json::{Value, json};

/// Runs a vector of type `runtime`.
pub(super) fn run(vector: &Value) -> Verdict {
    outcome(vector).into()
}

fn cpus(value: &Value) -> Read<CpuSet> {
    list(value, "CPUs")?.iter().map(|cpu| Ok(CpuId::from_index(index(cpu, "CPU")?))).collect()
}

fn index(value: &Value, what: &'static str) -> Read<usize> {
    read(value.as_u64().and_then(|index| usize::try_from(index).ok()), what)
}

fn group(at: usize, value: &Value) -> Read<TaskGroup> {
    let length = |key| Ok::<_, String>(Duration::from_ns(integer(&value[key], key)?));
    let inner = match value["inner"].as_str() {
        Some("fp") => InnerPolicy::Fp,
        Some("edf") => InnerPolicy::Edf,
        Some("fifo") => InnerPolicy::Fifo,
        Some("rr") => InnerPolicy::RoundRobin(length("quantum")?),
        Some(_) | None => return Err("no known inner policy".to_owned()),
    };
    if value["servers"] != "linked" {
        return Err("the servers are not linked".to_owned());
    }
    Ok(TaskGroup {
        budget: Some(Service::from_ns(integer(&value["Q"], "Q")?)),
        deadline: length("D")?,
        inner,
        rule: ServerRule::Cbs,
        ..TaskGroup::new(format!("group{at}"), length("P")?, cpus(&value["cpus"])?)
    })
}

fn task(at: usize, value: &Value) -> Read<Task> {
    let mut task = Task::implicit(format!("tau{at}"), Service::from_ns(1), Duration::from_ns(1));
    task.deadline = Duration::from_ns(integer(&value["D"], "D")?);
    task.period = task.deadline;
    let (mut times, mut work) = (Vec::new(), Vec::new());
    for release in list(&value["releases"], "releases")? {
        times.push(Time::from_ns(integer(&release[0], "release")?));
        work.push(Service::from_ns(integer(&release[1], "work")?));
    }
    task.wcet = vec![work.iter().copied().max().unwrap_or(Service::from_ns(1))].into();
    task.behaviour = Behaviour::Explicit(times.into_iter().collect());
    if !work.is_empty() {
        task.execution = ExecutionModel::List(work.into_iter().collect());
    }
    task.priority = Some(match &value["prio"] {
        Value::Null => at as i64,
        given => integer(given, "prio")?,
    });
    match &value["group"] {
        Value::Null => {
            let cpu = CpuId::from_index(index(&value["cpu"], "CPU")?);
            task.affinity = Some(CpuSet::single(cpu));
        }
        group => task.group = Some(GroupId::from_index(index(group, "group")?)),
    }
    Ok(task)
}

fn outcome(vector: &Value) -> Read<()> {
    let (given, expect) = (&vector["system"], &vector["expect"]);
    let listed = list(&given["groups"], "groups")?;
    let tasks = list(&given["tasks"], "tasks")?.iter().enumerate();
    let tasks: Read<Vec<Task>> = tasks.map(|(at, value)| task(at, value)).collect();
    let mut system = System::new(index(&given["cpus"], "cpus")?, tasks?);
    let groups: Read<Vec<TaskGroup>> =
        listed.iter().enumerate().map(|(at, value)| group(at, value)).collect();
    system.groups = groups?;
    let mut policy = TaskGroups::new(&system, Order::Deadline);
    for (at, value) in listed.iter().enumerate() {
        if value["np"] == true {
            policy = policy.without_preemption_in(GroupId::from_index(at));
        }
    }
    let horizon = integer(&given["horizon"], "horizon")?;
    let (trace, events) = groups_run::recorded(&system, policy, horizon)?;
    same("segments", &expect["segments"], &json!(groups_run::segments(&trace)))?;
    same("jobs", &expect["jobs"], &json!(groups_run::completed(&trace)))?;
    let of_event = |event: &ServerEvent| {
        json!([
            event.at.ns(),
            event.group.index(),
            event.cpu.index(),
            event.change.name(),
            written(&event.left),
            event.deadline.ns()
        ])
    };
    // At the horizon the vectors have ends and replenishments of budgets, and nothing that follows.
    let is_of_budget = |event: &&ServerEvent| {
        use ServerChange::{Postpone, Replenish, Throttle};
        event.at.ns() < horizon || matches!(event.change, Postpone | Replenish | Throttle)
    };
    let events = events.iter().filter(is_of_budget);
    same("events", &expect["events"], &events.map(of_event).collect())
}
