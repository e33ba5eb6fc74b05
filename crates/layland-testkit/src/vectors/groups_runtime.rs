//! Runs of groups with budgets: explicit releases, and the exact schedule with each change of a server.

use super::groups::written;
use super::reading::{integer, list, read, same};
use super::verdict::{Read, Verdict};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, GroupId, Index, InnerPolicy, Order,
    ScheduleRule, ServerRule, Service, System, Task, TaskGroup, Time,
};
use layland_policy::task_groups::{ServerEvent, TaskGroups};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use layland_sim::{SimOptions, simulate};
use layland_trace::{JobEnd, Trace};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Runs a vector of type `runtime`.
pub(super) fn run(vector: &Value) -> Verdict {
    outcome(vector).into()
}

/// The policy, whose changes of servers are recorded.
#[derive(Clone)]
struct Recorded {
    policy: TaskGroups,
    events: Arc<Mutex<Vec<ServerEvent>>>,
}

impl Policy for Recorded {
    fn on_event(&mut self, now: Time, event: Event) {
        self.policy.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.policy.decide(now, actions);
        let mut events = self.events.lock().expect("no call has panicked");
        events.extend_from_slice(self.policy.events());
    }
    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.policy.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.policy.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
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
    let events = Arc::new(Mutex::new(Vec::new()));
    let recorded = Recorded { policy, events: Arc::clone(&events) };
    let horizon = Time::from_ns(integer(&given["horizon"], "horizon")?);
    let mut trace = Trace::default();
    simulate(&system, recorded, &mut trace, &SimOptions::until(horizon))
        .map_err(|error| format!("the simulator fails: {error}"))?;
    same("segments", &expect["segments"], &segments(&trace))?;
    same("jobs", &expect["jobs"], &jobs(&trace))?;
    let events = events.lock().expect("no call has panicked");
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
    same("events", &expect["events"], &events.iter().map(of_event).collect())
}

/// The schedule as `[task, job, cpu, start, end]`.
fn segments(trace: &Trace) -> Value {
    let mut segments: Vec<_> = trace.segments.iter().collect();
    segments.sort_by_key(|segment| (segment.start, segment.cpu));
    let of = |segment: &&layland_trace::Segment| {
        let (task, seq) = (segment.job.task.index(), segment.job.seq);
        json!([task, seq, segment.cpu.index(), segment.start.ns(), segment.end.ns()])
    };
    segments.iter().map(of).collect()
}

/// The jobs that completed as `[task, job, release, finish]`, in the order in which they did.
fn jobs(trace: &Trace) -> Value {
    let completed = trace.jobs.iter().filter_map(|record| match record.end {
        Some((at, JobEnd::Completed)) => Some((at, record.job)),
        Some(_) | None => None,
    });
    let mut completed: Vec<_> = completed.collect();
    let ran_on = |job| {
        let last = trace.segments.iter().rfind(|segment| segment.job == job);
        last.map(|segment| segment.cpu)
    };
    completed.sort_by_key(|&(at, job)| (at, ran_on(job.id)));
    let of = |(at, job): &(Time, layland_trace::Job)| {
        json!([job.id.task.index(), job.id.seq, job.arrival.ns(), at.ns()])
    };
    completed.iter().map(of).collect()
}
