//! Vectors about classic global schedulers: the exact schedules of many policies on one set, and
//! the results of sufficient tests for it.
//!
//! Times in the vectors are whole units, or fractions of them if a schedule has rational instants.
//! They are multiplied by the common denominator of all expected values of a run, and then stand
//! for nanoseconds.

use super::reading::{list, read, same};
use super::verdict::{Read, Verdict};
use crate::registry;
use layland_analysis::{
    SchedulabilityTest, Sporadic, Verdict as Answer, global_edf::edzl, top_first,
};
use layland_model::{
    Behaviour, Duration, ExecutionModel, JobId, JobOrder, Rate, ScheduleRule, Service, System,
    Task, TaskId, Time,
};
use layland_offline::{Weight, top};
use layland_policy::Policy;
use layland_policy::fair::pd2;
use layland_sim::{SimOptions, simulate};
use layland_trace::{NoRecord, Segment, Trace};
use num_integer::Integer;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The registry's names of the policies in the vectors.
const POLICIES: &[(&str, &str)] = &[
    ("g-edf", "g-edf"),
    ("edzl", "edzl"),
    ("llf", "llf"),
    ("mllf", "mllf"),
    ("edf-us", "edf-us"),
    ("fp-edf", "fpedf"),
    ("edf-k", "edf-k"),
    ("rm-us", "rm-us"),
    ("pd2", "pd2"),
    ("er-pd2", "er-pd2"),
    ("dp-wrap", "dp-wrap"),
    ("lre-tl", "lre-tl"),
];

/// Runs a vector of the schema `layland-global-classics/1`.
pub(super) fn run(vector: &Value) -> Verdict {
    match vector["kind"].as_str() {
        Some("periodic" | "sporadic") => analyses(vector).and_then(|()| schedules(vector)),
        Some("subtasks") => subtasks(vector),
        Some(_) | None => Err("it has no known kind".to_owned()),
    }
    .into()
}

/// Returns the least common denominator of all fractions in a value.
fn denominator(value: &Value) -> i64 {
    let of = |values: &mut dyn Iterator<Item = &Value>| {
        values.map(denominator).fold(1, |all, one| all.lcm(&one))
    };
    match value {
        Value::String(text) => {
            let rate: Option<Rate> = text.parse().ok();
            rate.and_then(|rate| rate.as_i64_pair()).map_or(1, |(_, denominator)| denominator)
        }
        Value::Array(values) => of(&mut values.iter()),
        Value::Object(values) => of(&mut values.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// Returns the system, with `scale` nanoseconds for each unit of the vector.
fn system(vector: &Value, scale: i64) -> Read<System> {
    let (mut tasks, mut ranks) = (Vec::new(), Vec::new());
    for (index, item) in list(&vector["tasks"], "tasks")?.iter().enumerate() {
        let units = |key: &str| read(item[key].as_i64(), key).map(|units| units * scale);
        let wcet = Service::from_ns(units("wcet")?);
        let mut task = Task::implicit(index.to_string(), wcet, Duration::from_ns(units("period")?));
        task.deadline = Duration::from_ns(units("deadline")?);
        task.offset = Duration::from_ns(units("offset")?);
        ranks.push(read(item["rank"].as_i64(), "rank")?);
        let numbers = |key: &str| {
            let units = item[key].as_array().into_iter().flatten();
            let units = units.map(|units| read(units.as_i64(), key).map(|units| units * scale));
            units.collect::<Read<Vec<i64>>>()
        };
        if item["exec"].is_array() {
            let works = numbers("exec")?.into_iter().map(Service::from_ns);
            task.execution = ExecutionModel::List(works.collect());
        }
        if item["releases"].is_array() {
            let times = numbers("releases")?.into_iter().map(Time::from_ns);
            task.behaviour = Behaviour::Explicit(times.collect());
        }
        tasks.push(task);
    }
    let mut system = System::new(read(vector["m"].as_u64(), "m")? as usize, tasks);
    system.tasks.values_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
    Ok(system)
}

// --- Schedules ----------------------------------------------------------------------------------

fn schedules(vector: &Value) -> Read<()> {
    for case in list(&vector["runs"], "runs")? {
        let name = read(case["policy"].as_str(), "policy")?;
        let known = POLICIES.iter().find(|(vectors, _)| *vectors == name);
        let &(_, policy) = known.ok_or_else(|| format!("no policy is known as {name}"))?;
        let options = &case["options"];
        schedule(vector, policy, case).map_err(|error| format!("{name} {options}: {error}"))?;
    }
    Ok(())
}

/// Returns true if a policy rounds its rates to a grid, which it selects by itself: that of the vectors.
fn has_rates(policy: &str) -> bool {
    matches!(policy, "dp-wrap" | "lre-tl")
}

/// Returns a policy with the options of a run, in the registry's syntax.
fn spec(policy: &str, case: &Value, scale: i64) -> Read<String> {
    let mut spec = policy.to_owned();
    for (option, value) in read(case["options"].as_object(), "options")? {
        let value = match (option.as_str(), value) {
            ("grid", _) if has_rates(policy) => continue,
            ("quantum", Value::Number(units)) => {
                format!("{}ns", read(units.as_i64(), option)? * scale)
            }
            ("mirror", Value::Bool(mirrors)) => if *mirrors { "on" } else { "off" }.to_owned(),
            ("tie", Value::String(text)) if text == "sticky" => "running".to_owned(),
            (_, Value::String(text)) => text.clone(),
            (_, value) => return Err(format!("{option}={value} is no known option")),
        };
        spec += &format!(":{option}={value}");
    }
    // The default quantum is one unit.
    let is_quantised = matches!(policy, "llf" | "pd2" | "er-pd2");
    if is_quantised && case["options"]["quantum"].is_null() {
        spec += &format!(":quantum={scale}ns");
    }
    Ok(spec)
}

fn schedule(vector: &Value, policy: &str, case: &Value) -> Read<()> {
    let expect = &case["expect"];
    let mut scale = denominator(expect);
    if has_rates(policy) && case["options"]["grid"].is_null() {
        // Exact rates are whole if the periods divide the time that stands for a unit.
        let periods =
            system(vector, 1)?.tasks.values().map(|task| task.period.ns()).collect::<Vec<_>>();
        scale = periods.into_iter().fold(scale, |all, period| all.lcm(&period));
    }
    let system = system(vector, scale)?;
    let spec = spec(policy, case, scale)?;
    let built = registry().build(&spec, &system);
    if !case["reject"].is_null() {
        return match built {
            Ok(_) => Err(format!("{spec} was built: expected {}", case["reject"])),
            Err(_) => Ok(()),
        };
    }
    let built = built.map_err(|error| format!("{spec}: {error}"))?;
    let horizon = Time::from_ns(read(expect["horizon"].as_i64(), "horizon")? * scale);
    let mut trace = Trace::default();
    simulate(&system, built, &mut trace, &SimOptions::until(horizon))
        .map_err(|error| error.to_string())?;
    let run = PolicyRun { trace, system, spec, horizon, scale };
    for (key, expected) in read(expect.as_object(), "expect")? {
        if key != "horizon" {
            same(key, expected, &run.value(key)?)?;
        }
    }
    Ok(())
}

/// The run of a system under a policy.
struct PolicyRun {
    trace: Trace,
    system: System,
    /// The policy with its options.
    spec: String,
    horizon: Time,
    scale: i64,
}

impl PolicyRun {
    /// Returns a time in the notation of the vectors.
    fn units(&self, ns: i64) -> Value {
        if ns % self.scale == 0 {
            return json!(ns / self.scale);
        }
        json!(Rate::new(ns, self.scale).to_string())
    }

    fn at(&self, time: Time) -> Value {
        self.units(time.ns())
    }

    /// Returns the maximal segments in which a job is on one CPU without a gap, in the order of
    /// their starts and CPUs.
    fn segments(&self) -> Vec<Segment> {
        let mut sorted = self.trace.segments.clone();
        sorted.sort_by_key(|segment| (segment.start, segment.cpu));
        let mut segments: Vec<Segment> = Vec::new();
        let mut last: BTreeMap<JobId, usize> = BTreeMap::new();
        for segment in sorted.into_iter().filter(|segment| segment.start < segment.end) {
            match last.get(&segment.job).and_then(|&at| segments.get_mut(at)) {
                Some(before) if before.end == segment.start && before.cpu == segment.cpu => {
                    before.end = segment.end;
                }
                Some(_) | None => {
                    last.insert(segment.job, segments.len());
                    segments.push(segment);
                }
            }
        }
        segments
    }

    /// Returns the jobs that arrived before the horizon.
    fn jobs(&self) -> impl Iterator<Item = &layland_trace::JobRecord> {
        self.trace.jobs.iter().filter(|record| record.job.release < self.horizon)
    }

    /// Returns, for each segment of a job after its first, true if it is on another CPU than the previous one.
    fn resumptions(&self) -> Vec<bool> {
        let mut last = BTreeMap::new();
        let segments = self.segments();
        let moved = |segment: &Segment| {
            last.insert(segment.job, segment.cpu).map(|before| before != segment.cpu)
        };
        segments.iter().filter_map(moved).collect()
    }

    /// Returns the value for a key of `expect`.
    fn value(&self, key: &str) -> Read<Value> {
        let segments = self.segments();
        Ok(match key {
            "misses" => {
                let late = self.jobs().filter(|record| {
                    let deadline = record.job.deadline;
                    deadline <= self.horizon && record.completion().is_none_or(|at| at > deadline)
                });
                let mut late: Vec<(u32, u64)> =
                    late.map(|record| (record.job.id.task.0, record.job.id.seq)).collect();
                late.sort_unstable();
                json!(late)
            }
            "busy_time" => {
                self.units(segments.iter().map(|segment| (segment.end - segment.start).ns()).sum())
            }
            "jobs" => {
                let mut done: Vec<_> = self
                    .jobs()
                    .filter_map(|record| Some((record.completion()?, record.job.id, record)))
                    .collect();
                done.sort_by_key(|&(at, id, _)| (at, id));
                let row = |&(finish, id, record): &(Time, JobId, &layland_trace::JobRecord)| {
                    let (release, deadline) = (record.job.release, record.job.deadline);
                    let [release, deadline, finish] =
                        [release, deadline, finish].map(|time| self.at(time));
                    json!([id.task.0, id.seq, release, deadline, finish])
                };
                json!(done.iter().map(row).collect::<Vec<_>>())
            }
            "preemptions" => json!(self.resumptions().len()),
            "migrations" => json!(self.resumptions().iter().filter(|&&moved| moved).count()),
            "schedule" => {
                let row = |segment: &Segment| {
                    let (job, [start, end]) =
                        (segment.job, [segment.start, segment.end].map(|time| self.at(time)));
                    json!([job.task.0, job.seq, segment.cpu.0, start, end])
                };
                json!(segments.iter().map(row).collect::<Vec<_>>())
            }
            "weights" => self.weights()?,
            "slices" => self.slices()?,
            _ => self.offline(key)?,
        })
    }

    /// Returns the number of slices that began before the horizon.
    fn slices(&self) -> Read<Value> {
        let built =
            registry().build(&self.spec, &self.system).map_err(|error| error.to_string())?;
        let until = SimOptions::until(self.horizon - Duration::from_ns(1));
        let outcome = simulate(&self.system, built, &mut NoRecord, &until);
        let counts = outcome.map_err(|error| error.to_string())?.policy.counts();
        let slices = counts.iter().find(|count| count.name == "slices");
        Ok(json!(read(slices, "slices")?.count))
    }

    /// Returns the weights of tasks in slots.
    fn weights(&self) -> Read<Value> {
        let said = |error: &dyn std::fmt::Display| format!("{}: {error}", self.spec);
        let (info, options) = registry().parse(&self.spec).map_err(|error| said(&error))?;
        let (slots, _) = pd2::slots(&self.system, &options, info.name == "er-pd2")
            .map_err(|error| said(&error))?;
        let weight = |weight: &Weight| [weight.execution, weight.window];
        Ok(json!(slots.weights.values().map(weight).collect::<Vec<_>>()))
    }

    /// Returns a value that the policy itself computed for the system before the start.
    fn offline(&self, key: &str) -> Read<Value> {
        let policy = registry().build(&self.spec, &self.system).map_err(|it| it.to_string())?;
        if let ("top", ScheduleRule::HighestFirst { order: JobOrder::TopFirst { top, .. }, .. }) =
            (key, policy.rule())
        {
            return Ok(ids(&top));
        }
        Err(format!("{key} of {} is not known for {} tasks", self.spec, self.system.tasks.len()))
    }
}

// --- Analyses -----------------------------------------------------------------------------------

fn analyses(vector: &Value) -> Read<()> {
    let mut system = system(vector, 1)?;
    // The analyses cover all jobs with these parameters, whatever the vector runs.
    for task in system.tasks.values_mut() {
        (task.execution, task.behaviour) = (ExecutionModel::Wcet, Behaviour::Periodic);
    }
    let tasks: Vec<Sporadic> = system.tasks.values().map(Sporadic::from).collect();
    let cpus = system.platform.cpu_count();
    let utilization: Rate = system.tasks.values().map(Task::utilization).sum();
    for (key, expected) in read(vector["analysis"].as_object(), "analysis")? {
        match key.as_str() {
            "utilization" => {
                let expected: Option<Rate> = expected.as_str().and_then(|text| text.parse().ok());
                if expected.as_ref() != Some(&utilization) {
                    return Err(format!("{key}: expected {expected:?}, found {utilization}"));
                }
            }
            "edzl_test" => {
                let (found, slacks) = edzl::laxities(&tasks, cpus);
                let is_accepted = !matches!(found, edzl::Laxities::Late(_));
                let (at_once, _) = edzl::laxities_within(&tasks, cpus, 1);
                let at_once = !matches!(at_once, edzl::Laxities::Late(_));
                same(key, &expected["one_pass"], &json!(at_once))?;
                same(key, &expected["iterated"], &json!(is_accepted))?;
                same(key, &expected["slacks"], &json!(slacks))?;
            }
            "edf_us" => {
                let zeta = top::edf_us(cpus);
                let found = json!({
                    "zeta": fraction(&zeta),
                    "top": ids(&top::above(&system, &zeta)),
                    "accepted": accepts(&top_first::EDF_US, &system),
                });
                same(key, expected, &found)?;
            }
            "edf_us_half" => {
                let class = top::above(&system, &Rate::new(1, 2));
                let alone = class.len() == tasks.len() && class.len() <= cpus;
                let accepted =
                    utilization <= Rate::new(cpus as i64 + 1, 2) && (class.len() < cpus || alone);
                same(key, expected, &json!({ "top": ids(&class), "accepted": accepted }))?;
            }
            "fp_edf" => {
                let class = ids(&top::above_half(&system));
                let accepted = accepts(&top_first::FPEDF, &system);
                same(key, expected, &json!({ "top": class, "accepted": accepted }))?;
            }
            "rm_us" => {
                let zeta = top::rm_us(cpus);
                // The vectors apply the formula to one CPU, too, which the test does not cover.
                let accepted =
                    accepts(&top_first::RM_US, &system) || cpus == 1 && utilization <= Rate::ONE;
                let found = json!({
                    "zeta": fraction(&zeta),
                    "top": ids(&top::above(&system, &zeta)),
                    "accepted": accepted,
                });
                same(key, expected, &found)?;
            }
            "edf_k_min" => same(key, expected, &json!(top::smallest_k(&system)))?,
            "order_by_utilization" => same(key, expected, &ids(&top::by_utilization(&system)))?,
            _ => return Err(format!("{key} is no known analysis")),
        }
    }
    Ok(())
}

/// Returns tasks in the notation of the vectors.
fn ids(tasks: &[TaskId]) -> Value {
    json!(tasks.iter().map(|task| task.0).collect::<Vec<_>>())
}

/// Returns a number in the notation of the vectors.
fn fraction(rate: &Rate) -> String {
    let text = rate.to_string();
    if text.contains('/') { text } else { text + "/1" }
}

fn accepts(test: &SchedulabilityTest, system: &System) -> bool {
    test.run(system).is_ok_and(|finding| finding.verdict == Answer::Yes)
}

// --- Subtasks -----------------------------------------------------------------------------------

fn subtasks(vector: &Value) -> Read<()> {
    for item in list(&vector["weights"], "weights")? {
        let [execution, window] = ["e", "p"].map(|key| read(item[key].as_i64(), key));
        let weight = Weight { execution: execution?, window: window? };
        let row = |i: i64| {
            let (release, deadline) = (weight.release(i), weight.deadline(i));
            json!([i, release, deadline, i64::from(weight.overlaps(i)), weight.group_deadline(i)])
        };
        let found: Vec<Value> = (1..=weight.execution).map(row).collect();
        same(&format!("{weight:?}"), &item["subtasks"], &json!(found))?;
    }
    Ok(())
}
