//! Runtime vectors of mixed criticality: a mechanism with given parameters, releases and demands, and the
//! exact schedule.

use super::verdict::Verdict;
use layland_checker::check;
use layland_model::{
    Behaviour, Criticality, Duration, ExecutionModel, JobId, Levels, Note, Rate, ScheduleRule,
    Service, System, Task, TaskId, Time,
};
use layland_offline::criticality::virtual_deadlines::Modes;
use layland_policy::criticality::PerCpu;
use layland_policy::criticality::amc::Adaptive;
use layland_policy::criticality::edf_vd::EdfVd;
use layland_policy::criticality::indicator::OwnOverrun;
use layland_policy::criticality::mechanism::Mechanism;
use layland_policy::criticality::plrs::ListReuse;
use layland_policy::criticality::pt::{Slices, Transformed};
use layland_policy::criticality::smc::FixedPriority;
use layland_policy::criticality::zss::{Late, ZeroSlack};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use layland_sim::{SimOptions, simulate};
use layland_trace::{JobEnd, MarkKind, Trace};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Runs a vector with a `mechanism`.
pub(super) fn run(vector: &Value) -> Verdict {
    match first_difference(vector) {
        None => Verdict::Failed("the vector has an unknown form".to_owned()),
        Some(None) => Verdict::Passed,
        Some(Some(difference)) => Verdict::Failed(difference),
    }
}

/// The priorities that were assigned to jobs.
type Priorities = Arc<Mutex<BTreeMap<JobId, i64>>>;

/// A policy whose assigned priorities are recorded.
#[derive(Clone)]
struct Noted<M> {
    policy: PerCpu<M>,
    priorities: Priorities,
}

impl<M: Mechanism> Policy for Noted<M> {
    fn on_event(&mut self, now: Time, event: Event) {
        self.policy.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.policy.decide(now, actions);
        let mut priorities = self.priorities.lock().expect("no call has panicked");
        priorities.extend(self.policy.jobs().map(|job| (job.id, job.priority)));
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

fn numbers(value: &Value) -> Option<Vec<i64>> {
    value.as_array()?.iter().map(Value::as_i64).collect()
}

fn indices(value: &Value) -> Option<Vec<usize>> {
    numbers(value)?.into_iter().map(|index| usize::try_from(index).ok()).collect()
}

/// Returns the system of a vector: one CPU, explicit releases and demands.
fn system(vector: &Value) -> Option<System> {
    let levels = vector["levels"].as_u64()?;
    let task = |(index, task): (usize, &Value)| {
        let mut wcet = numbers(&task["wcet"])?;
        wcet.resize(levels as usize, *wcet.last()?);
        let period = Duration::from_ns(task["period"].as_i64()?);
        let mut made = Task::implicit(format!("tau{index}"), Service::from_ns(1), period);
        made.deadline = Duration::from_ns(task["deadline"].as_i64()?);
        made.criticality = Criticality(task["criticality"].as_u64()?.try_into().ok()?);
        made.wcet = wcet.into_iter().map(Service::from_ns).collect();
        let releases = numbers(&vector["releases"][index])?;
        made.behaviour = Behaviour::Explicit(releases.into_iter().map(Time::from_ns).collect());
        let demands = numbers(&vector["demands"][index])?;
        if !demands.is_empty() {
            let demands = demands.into_iter().map(Service::from_ns);
            made.execution = ExecutionModel::List(demands.collect());
        }
        Some(made)
    };
    let tasks: Option<Vec<Task>> =
        vector["tasks"].as_array()?.iter().enumerate().map(task).collect();
    let mut system = System::new(1, tasks?);
    system.levels = Levels::new((0..levels).map(|level| format!("L{level}")).collect());
    Some(system)
}

fn policy(vector: &Value, system: &System, noted: &Priorities) -> Option<Box<dyn Policy>> {
    fn boxed<M: Mechanism>(system: &System, mechanism: M, noted: &Priorities) -> Box<dyn Policy> {
        let policy = PerCpu::on_one_cpu("vector", system, mechanism);
        Box::new(Noted { policy, priorities: noted.clone() })
    }
    let given = &vector["parameters"];
    let levels = system.levels.count();
    let own_overrun = match given["raise_own"].as_bool() {
        Some(false) => OwnOverrun::Cut,
        Some(true) | None => OwnOverrun::Raise,
    };
    let order = indices(&given["order"]);
    Some(match vector["mechanism"].as_str()? {
        "fp" => {
            let cut_off = given["cutoff"].as_bool().unwrap_or(true);
            boxed(system, FixedPriority::new(&order?, cut_off), noted)
        }
        "amc" => boxed(system, Adaptive::new(&order?, levels, own_overrun), noted),
        "zss" => {
            let late = match given["late"].as_str() {
                Some("demote") => Late::Demote,
                Some("suspend") | None => Late::Suspend,
                Some(_) => return None,
            };
            let instants = given["zero_slack"].as_array()?.iter().map(Value::as_i64);
            let instants: Vec<Option<i64>> = instants.collect();
            boxed(system, ZeroSlack::new(&order?, &instants, late), noted)
        }
        "pt" => {
            let [counts, lengths, budgets] =
                ["slices", "slice_length", "slice_budget"].map(|name| numbers(&given[name]));
            let slices = counts?.into_iter().zip(lengths?).zip(budgets?);
            let slices =
                slices.map(|((count, length), budget)| Slices { count, length, budget }).collect();
            boxed(system, Transformed::new(&order?, slices), noted)
        }
        "plrs" => {
            let lists = given["priorities"].as_array()?.iter().map(numbers);
            let lists: Option<Vec<Vec<i64>>> = lists.collect();
            let reuse = given["reuse"].as_bool().unwrap_or(true);
            boxed(system, ListReuse::new(lists?, reuse, levels, own_overrun), noted)
        }
        "edf-vd" => {
            let deadlines = numbers(&given["virtual"])?.into_iter().map(Rate::whole);
            let deadline = deadlines.collect::<Vec<Rate>>().into();
            boxed(system, EdfVd::new(&Modes { cut: Criticality(0), deadline }), noted)
        }
        _ => return None,
    })
}

fn first_difference(vector: &Value) -> Option<Option<String>> {
    let system = system(vector)?;
    let priorities = Priorities::default();
    let policy = policy(vector, &system, &priorities)?;
    let horizon = Time::from_ns(vector["horizon"].as_i64()?);
    let mut trace = Trace::default();
    simulate(&system, policy, &mut trace, &SimOptions::until(horizon)).ok()?;
    let report = check(&trace, &system, &ScheduleRule::None, 5);
    if !report.is_clean() {
        return Some(Some(report.to_string()));
    }
    let expected = &vector["expected"];
    let segment = |segment: &layland_trace::Segment| {
        json!([segment.start.ns(), segment.end.ns(), segment.job.task.0, segment.job.seq])
    };
    let segments = Value::Array(trace.segments.iter().map(segment).collect());
    if segments != expected["segments"] {
        return Some(Some(format!("segments are {segments}, not {}", expected["segments"])));
    }
    if let Some(switches) = expected.get("switches") {
        let found = trace.marks.iter().filter_map(|mark| match mark.kind {
            MarkKind::Note(Note::Indicator { level, .. }) => Some(json!([mark.at.ns(), level.0])),
            _ => None,
        });
        let found = Value::Array(found.collect());
        if found != *switches {
            return Some(Some(format!("switches are {found}, not {switches}")));
        }
    }
    let jobs = expected["jobs"].as_array()?;
    let released = trace.jobs.iter().filter(|record| record.job.release < horizon).count();
    if released > jobs.len() {
        return Some(Some(format!("{released} jobs were released, not {}", jobs.len())));
    }
    let priorities = priorities.lock().expect("no call has panicked");
    for wanted in jobs {
        let task = TaskId(wanted["task"].as_u64()?.try_into().ok()?);
        let id = JobId { task, seq: wanted["job"].as_u64()? };
        let record = trace.jobs.iter().find(|record| record.job.id == id);
        let end = record.and_then(|record| record.end);
        let at = |wanted: JobEnd| {
            end.filter(|&(_, end)| end == wanted).map_or(Value::Null, |(at, _)| json!(at.ns()))
        };
        let mut found = json!({
            "task": task.0,
            "job": id.seq,
            "finish": at(JobEnd::Completed),
            "aborted": at(JobEnd::Aborted),
            // A job that is aborted before its deadline counts as a miss once its deadline has passed.
            "missed": record.is_some_and(|record| {
                record.missed(horizon) && record.job.deadline <= horizon
            }),
        });
        if wanted.get("priority").is_some() {
            found["priority"] = json!(priorities.get(&id));
        }
        if found != *wanted {
            return Some(Some(format!("a job is {found}, not {wanted}")));
        }
    }
    Some(None)
}
