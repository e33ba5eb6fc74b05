//! Vectors for RUN and QPS: the results of their offline phases for a task set, and the exact schedule.
//!
//! Times in the vectors are in an arbitrary unit, rates are rational. Times are multiplied by a common
//! denominator of all rates and execution times, which makes every instant of the schedule a whole
//! number of nanoseconds.

use super::reading::{list, read, same};
use super::verdict::Verdict;
use crate::registry;
use layland_model::{Behaviour, Duration, ExecutionModel, Rate, Service, System, Task, Time};
use layland_offline::{
    Client, Clients, Heuristic, Hierarchy, Infeasible, QuasiRule, Reduction, ReductionRules,
    numerator, quasi_partition, reduce,
};
use layland_policy::Policy;
use layland_policy::fair::{qps, run};
use layland_sim::{SimOptions, simulate};
use layland_trace::{Both, Counters, NoRecord, Trace};
use num_integer::Integer;
use serde_json::{Value, json};

/// Runs a vector of the schema `layland-run-qps/1`.
pub(super) fn run(vector: &Value) -> Verdict {
    match vector["kind"].as_str() {
        Some("periodic" | "sporadic") => schedules(vector),
        Some("reject") => rejections(vector),
        Some("quantise") => quantised(vector),
        Some(_) | None => Err("it has no known kind".to_owned()),
    }
    .into()
}

fn rate(value: &Value) -> Result<Rate, String> {
    read(value.as_str().and_then(|text| text.parse().ok()), "rate")
}

/// Returns a rational in the notation of the vectors.
fn fraction(rate: &Rate) -> String {
    let text = rate.to_string();
    if text.contains('/') { text } else { text + "/1" }
}

/// Returns the system, and the factor by which its times were multiplied.
fn system(vector: &Value) -> Result<(System, i64), String> {
    let items = list(&vector["tasks"], "tasks")?;
    let jobs = vector["jobs"].as_array();
    let mut scale = 1i64;
    let mut denominators = |rate: &Rate| -> Result<(), String> {
        let (_, denominator) = read(rate.as_i64_pair(), "small denominator")?;
        scale = scale.lcm(&denominator);
        Ok(())
    };
    for item in items {
        denominators(&rate(&item["rate"])?)?;
    }
    for job in jobs.into_iter().flatten().flat_map(|jobs| jobs.as_array()).flatten() {
        denominators(&rate(&job[1])?)?;
    }
    let work = |units: &Rate| {
        let scaled = units * &Rate::whole(scale);
        read(scaled.floor(), "small time").map(Service::from_ns)
    };
    let mut tasks = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let units = |key: &str| read(item[key].as_i64(), key);
        let period = units("period")?;
        let wcet = work(&(&rate(&item["rate"])? * &Rate::whole(period)))?;
        let mut task = Task::implicit(index.to_string(), wcet, Duration::from_ns(period * scale));
        task.offset = Duration::from_ns(units("offset")? * scale);
        if let Some(jobs) = jobs {
            let jobs = list(&jobs[index], "jobs")?;
            let release = |job: &Value| read(job[0].as_i64(), "release");
            let times = jobs.iter().map(|job| Ok(Time::from_ns(release(job)? * scale)));
            task.behaviour = Behaviour::Explicit(times.collect::<Result<_, String>>()?);
            let works = jobs.iter().map(|job| work(&rate(&job[1])?));
            task.execution = ExecutionModel::List(works.collect::<Result<_, String>>()?);
        }
        tasks.push(task);
    }
    let cpus = read(vector["m"].as_u64(), "m")? as usize;
    Ok((System::new(cpus, tasks), scale))
}

fn schedules(vector: &Value) -> Result<(), String> {
    let (system, scale) = system(vector)?;
    let cases = |key: &str| vector[key].as_array().into_iter().flatten();
    let named = |case: &Value, policy: &'static str| {
        let name = case["heuristic"].as_str().unwrap_or("?").to_owned();
        move |error: String| format!("{policy} {name}: {error}")
    };
    for case in cases("run") {
        run_case(&system, scale, case).map_err(named(case, "run"))?;
    }
    for case in cases("qps") {
        qps_case(&system, scale, case).map_err(named(case, "qps"))?;
    }
    if cases("run").chain(cases("qps")).count() == 0 {
        return Err("the vector has nothing to check".to_owned());
    }
    Ok(())
}

// --- RUN ----------------------------------------------------------------------------------------

fn bins(value: &Value) -> Result<String, String> {
    let bin = |bin: &Value| {
        let items: Vec<String> = list(bin, "bin")?.iter().map(Value::to_string).collect();
        Ok(items.join("+").replace(['"', 't'], ""))
    };
    let bins: Result<Vec<String>, String> = list(value, "bins")?.iter().map(bin).collect();
    Ok(bins?.join("/"))
}

fn run_case(system: &System, scale: i64, case: &Value) -> Result<(), String> {
    let word = |key: &str| read(case[key].as_str(), key);
    let fill = word("fill")?;
    let spec = match word("heuristic")? {
        "explicit" => format!(
            "run:packing={}:duals={}:dual_fit=wfd:fill={fill}",
            bins(&case["explicit_level0"])?,
            bins(&case["explicit_level1"])?
        ),
        fit => format!("run:fit={fit}:dual_fit={}:fill={fill}", word("dual_heuristic")?),
    };
    let (_, options) = registry().parse(&spec).map_err(|error| error.to_string())?;
    let (_, tree) = run::tree(system, &options).map_err(|error| error.to_string())?;
    for (key, found) in tree_values(&tree) {
        same(key, &case[key], &found)?;
    }
    let policy = run::run(system, &options).map_err(|error| error.to_string())?;
    let expect = &case["expect"];
    let counts = ["jobs", "deadline_misses", "busy_time"];
    let found = RunResults::new(system, policy.clone(), scale, expect)?;
    for key in counts {
        same(key, &expect[key], &found.value(key))?;
    }
    found.canonical("canonical", &expect["canonical"])?;
    let updates = before_the_end(system, policy, scale, expect)?.updates();
    same("update_instants", &expect["update_instants"], &json!(updates))
}

/// Returns the fields of a vector that describe a tree.
fn tree_values(tree: &Reduction) -> Vec<(&'static str, Value)> {
    let servers: Vec<Value> = tree
        .servers
        .iter()
        .enumerate()
        .map(|(id, server)| {
            let (level, rate) = (server.level, fraction(&server.rate));
            match &server.clients {
                Clients::Tasks(tasks) => json!({
                    "id": id, "level": level, "rate": rate, "tasks": tasks,
                    "idle": fraction(&server.idle),
                }),
                Clients::Duals(duals) => {
                    json!({ "id": id, "level": level, "rate": rate, "duals_of": duals })
                }
            }
        })
        .collect();
    let subsystems: Vec<Value> = tree
        .subsystems
        .iter()
        .map(|subsystem| {
            json!({
                "root": subsystem.root, "reductions": subsystem.reductions,
                "processors": subsystem.processors.clone().collect::<Vec<_>>(),
                "tasks": subsystem.tasks,
            })
        })
        .collect();
    vec![
        ("servers", json!(servers)),
        ("subsystems", json!(subsystems)),
        ("reductions", json!(tree.reductions())),
        ("level_sizes", json!(tree.level_sizes)),
        ("unused_processors", json!(tree.unused_processors)),
        ("preemption_bound_k", json!(tree.preemption_bound())),
    ]
}

// --- QPS ----------------------------------------------------------------------------------------

fn qps_case(system: &System, scale: i64, case: &Value) -> Result<(), String> {
    let packing = match read(case["heuristic"].as_str(), "heuristic")? {
        "explicit" => {
            let rounds: Result<Vec<String>, String> =
                list(&case["iterations"], "iterations")?.iter().map(bins).collect();
            format!("packing={}", rounds?.join("//"))
        }
        fit => format!("fit={fit}"),
    };
    for rule in ["stay", "edf"] {
        let spec = format!("qps:{packing}:master={rule}");
        let (_, options) = registry().parse(&spec).map_err(|error| error.to_string())?;
        let (prepared, sets) = qps::sets(system, &options).map_err(|error| error.to_string())?;
        for (key, found) in set_values(&sets, &prepared.rates) {
            same(key, &case[key], &found)?;
        }
        let policy = qps::qps(system, &options).map_err(|error| error.to_string())?;
        let expect = &case["expect"];
        let found = RunResults::new(system, policy.clone(), scale, expect)?;
        for key in ["jobs", "deadline_misses", "busy_time"] {
            same(key, &expect[key], &found.value(key))?;
        }
        let canonical = &expect[format!("canonical_{rule}")];
        found.canonical(rule, canonical)?;
        let counts = before_the_end(system, policy, scale, expect)?.counts();
        for (key, found) in [
            ("mode_changes", counts.mode_changes),
            ("qps_intervals", counts.intervals),
            ("collapses", counts.collapses),
        ] {
            for expected in [&expect[key], &canonical[key]] {
                if !expected.is_null() {
                    same(&format!("{rule}.{key}"), expected, &json!(found))?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the fields of a vector that describe a hierarchy.
fn set_values(sets: &Hierarchy, rates: &[Rate]) -> Vec<(&'static str, Value)> {
    let names = |clients: &[Client]| clients.iter().map(Client::to_string).collect::<Vec<_>>();
    let processors: Vec<Value> = sets
        .sets
        .iter()
        .enumerate()
        .map(|(cpu, set)| {
            let mut value = json!({
                "cpu": cpu, "kind": "minor", "clients": names(&set.clients),
                "rate": fraction(&set.rate), "level_from_root": sets.level(cpu),
            });
            if let Some(master) = &set.master {
                let (a, b) = set.clients.split_at(master.split);
                let server = |side: &[Client]| {
                    let rate = |client: &Client| match *client {
                        Client::Task(task) => rates[task].clone(),
                        Client::Master(cpu) => &sets.sets[cpu].rate - &Rate::ONE,
                    };
                    fraction(&(&side.iter().map(rate).sum::<Rate>() - &master.excess))
                };
                value["kind"] = json!("major");
                value["excess"] = json!(fraction(&master.excess));
                value["master"] = json!(Client::Master(cpu).to_string());
                value["shared_cpu"] = json!(master.host);
                value["A"] = json!(names(a));
                value["B"] = json!(names(b));
                value["rate_S_A"] = json!(server(a));
                value["rate_S_B"] = json!(server(b));
            }
            value
        })
        .collect();
    let rounds: Vec<Vec<Vec<String>>> =
        sets.rounds.iter().map(|bins| bins.iter().map(|bin| names(bin)).collect()).collect();
    vec![
        ("iterations", json!(rounds)),
        ("processors", json!(processors)),
        ("clusters", json!(sets.clusters())),
        ("levels", json!(sets.levels())),
    ]
}

// --- Schedules ----------------------------------------------------------------------------------

/// The results of a run, in the terms of the vectors.
struct RunResults {
    trace: Trace,
    counters: Counters,
    horizon: Time,
    scale: i64,
}

impl RunResults {
    fn new(
        system: &System,
        policy: impl Policy,
        scale: i64,
        expect: &Value,
    ) -> Result<RunResults, String> {
        let horizon = Time::from_ns(read(expect["horizon"].as_i64(), "horizon")? * scale);
        let counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let mut both = Both(Trace::default(), counters);
        simulate(system, policy, &mut both, &SimOptions::until(horizon))
            .map_err(|error| error.to_string())?;
        Ok(RunResults { trace: both.0, counters: both.1, horizon, scale })
    }

    fn value(&self, key: &str) -> Value {
        let total = self.counters.total();
        match key {
            "jobs" => {
                let in_it = |record: &&layland_trace::JobRecord| record.job.release < self.horizon;
                json!(self.trace.jobs.iter().filter(in_it).count())
            }
            "deadline_misses" => json!(total.missed),
            "busy_time" => {
                let busy: i64 = self
                    .trace
                    .segments
                    .iter()
                    .map(|segment| (segment.end - segment.start).ns())
                    .sum();
                json!(fraction(&Rate::new(busy, self.scale)))
            }
            "preemptions" => json!(total.preemptions),
            "migrations" => json!(total.migrations_within_jobs),
            "schedule" => {
                let mut segments = self.trace.segments.clone();
                segments.sort_by_key(|segment| (segment.start, segment.cpu));
                let at = |time: Time| fraction(&Rate::new(time.ns(), self.scale));
                let row = |segment: &layland_trace::Segment| {
                    let job = segment.job;
                    json!([job.task.0, job.seq, segment.cpu.0, at(segment.start), at(segment.end)])
                };
                json!(segments.iter().map(row).collect::<Vec<_>>())
            }
            _ => Value::Null,
        }
    }

    /// Compares the schedule and its counts under one rule.
    fn canonical(&self, rule: &str, expect: &Value) -> Result<(), String> {
        for key in ["schedule", "preemptions", "migrations"] {
            if !expect[key].is_null() {
                same(&format!("{rule}.{key}"), &expect[key], &self.value(key))?;
            } else if key != "schedule" {
                return Err(format!("the vector has no {rule}.{key}"));
            }
        }
        Ok(())
    }
}

/// Runs up to the instant of the horizon, excluding it. Returns the policy.
fn before_the_end<P: Policy>(
    system: &System,
    policy: P,
    scale: i64,
    expect: &Value,
) -> Result<P, String> {
    let horizon = read(expect["horizon"].as_i64(), "horizon")? * scale;
    let options = SimOptions::until(Time::from_ns(horizon - 1));
    let outcome = simulate(system, policy, &mut NoRecord, &options);
    Ok(outcome.map_err(|error| error.to_string())?.policy)
}

// --- Rejections and grids -----------------------------------------------------------------------

fn rejections(vector: &Value) -> Result<(), String> {
    let (system, _) = system(vector)?;
    let cpus = system.platform.cpu_count();
    let rates: Vec<Rate> = system.tasks.values().map(Task::utilization).collect();
    let expected = read(vector["reject"].as_object(), "reject")?;
    for (policy, expected) in expected {
        let (spec, offline) = if policy == "run" {
            let rules = ReductionRules::fit(Heuristic::Ffd);
            ("run".to_owned(), reduce(&rates, cpus, &rules).map(|_| ()))
        } else if let Some(rounds) = vector["explicit_qps"].as_array() {
            let texts: Result<Vec<String>, String> = rounds.iter().map(bins).collect();
            let mut explicit = Vec::new();
            for round in rounds {
                let client =
                    |name: &Value| read(name.as_str().and_then(|n| n.parse().ok()), "client");
                let bin = |bin: &Value| list(bin, "bin")?.iter().map(client).collect();
                explicit.push(list(round, "bins")?.iter().map(bin).collect::<Result<_, String>>()?);
            }
            let rule = QuasiRule::Explicit(explicit);
            (
                format!("qps:packing={}", texts?.join("//")),
                quasi_partition(&rates, cpus, &rule).map(|_| ()),
            )
        } else {
            let rule = QuasiRule::Fit(Heuristic::Ffd);
            ("qps".to_owned(), quasi_partition(&rates, cpus, &rule).map(|_| ()))
        };
        let found = match offline {
            Ok(()) => "accepted",
            Err(Infeasible::Overload { .. } | Infeasible::RateAboveOne { .. }) => "overload",
            Err(Infeasible::NotAQuasiPartition(_)) => "not-a-quasi-partition",
            Err(Infeasible::Packing(_)) => "packing",
            Err(Infeasible::NotDecreasing(_)) => "not-decreasing",
        };
        same(policy, expected, &json!(found))?;
        if registry().build(&spec, &system).is_ok() {
            return Err(format!("{spec} was built"));
        }
    }
    Ok(())
}

fn quantised(vector: &Value) -> Result<(), String> {
    let q = read(vector["Q"].as_i64(), "Q")?;
    let cpus = read(vector["m"].as_i64(), "m")?;
    let expect = &vector["expect"];
    let mut numerators = Vec::new();
    let mut exact = Rate::ZERO;
    for item in list(&vector["tasks"], "tasks")? {
        let ns = |key: &str| read(item[key].as_i64(), key);
        let (wcet, period) = (ns("wcet_ns")?, ns("period_ns")?);
        numerators.push(numerator(Service::from_ns(wcet), Duration::from_ns(period), q));
        exact = &exact + &Rate::new(wcet, period);
    }
    let sum: i64 = numerators.iter().sum();
    same("numerators", &expect["numerators"], &json!(numerators))?;
    same("sum", &expect["sum"], &json!(sum))?;
    same("feasible", &expect["feasible"], &json!(sum <= cpus * q))?;
    let unrounded = exact <= Rate::whole(cpus);
    same("feasible_unrounded", &expect["feasible_unrounded"], &json!(unrounded))
}
