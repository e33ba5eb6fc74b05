//! Vectors of CPUs of different speeds: `one_cpu`, `stretches`, `run_uniform`, `uniform`, `sensitivity`
//! and `feasible_types`; and of the kernel's integers for their capacities: `dl_capacity`, `dl_fit` and `dl_charge`.
//!
//! Tasks are `[C, D, T]` in whole units, which stand for nanoseconds; for fixed priorities their order
//! is the priority.

use super::reading::{integer, list, read, same};
use super::verdict::{Read, Verdict};
use layland_analysis::Verdict as Decided;
use layland_analysis::global_edf::gfb;
use layland_analysis::uniform::{self, OnUniform, Tau, Uniform};
use layland_analysis::uniprocessor::fixed_priority::response_time;
use layland_analysis::unrelated::{self, Class, Feasible, Timed};
use layland_checker::check;
use layland_guarantee::{AssessOptions, Limits, assess};
use layland_model::capacity::{self, Fit};
use layland_model::{
    Behaviour, CpuId, Duration, Platform, Preemption, Rate, Resource, ResourceId, Service, Speed,
    Step, System, Task, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_trace::{JobEnd, Trace};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Runs a vector of one of these types.
pub(super) fn run(vector: &Value) -> Verdict {
    match vector["type"].as_str() {
        Some("one_cpu") => one_cpu(vector).into(),
        Some("stretches") => stretches(vector).into(),
        Some("run_uniform") => schedule(vector).into(),
        Some("uniform") => tests(vector).into(),
        Some("sensitivity") => limits(vector).into(),
        Some("feasible_types") => is_feasible(vector).into(),
        Some("dl_capacity") => capacities(vector).into(),
        Some("dl_fit") => fits(vector).into(),
        Some("dl_charge") => charges(vector).into(),
        Some(_) | None => Verdict::Failed("it has no known type".to_owned()),
    }
}

fn speed(value: &Value) -> Read<Speed> {
    let rate: Option<Rate> = match value {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64().map(Rate::whole),
    };
    read(rate.and_then(|rate| Speed::new(&rate)), "speed")
}

/// Returns a system with these speeds, whose tasks come in the order of their priorities.
pub(super) fn system(vector: &Value, speeds: &[Value]) -> Read<System> {
    let task = |(at, task): (usize, &Value)| -> Read<Task> {
        let number = |field: usize| integer(&task[field], "task of three numbers");
        Ok(Task {
            deadline: Duration::from_ns(number(1)?),
            priority: Some(at as i64),
            ..Task::implicit(
                at.to_string(),
                Service::from_ns(number(0)?),
                Duration::from_ns(number(2)?),
            )
        })
    };
    let tasks: Read<Vec<Task>> =
        list(&vector["tasks"], "tasks")?.iter().enumerate().map(task).collect();
    let mut system = System::new(speeds.len(), tasks?);
    for (own, given) in system.platform.speeds.values_mut().zip(speeds) {
        *own = speed(given)?;
    }
    Ok(system)
}

/// Returns true if the program says *yes* under a policy, and false if *no*.
fn is_guaranteed(spec: &str, system: &System) -> Read<bool> {
    let found = assess(crate::registry(), spec, system, &AssessOptions::by_tests());
    match found.map_err(|error| error.to_string())?.verdict {
        Decided::Yes => Ok(true),
        Decided::No => Ok(false),
        Decided::Unknown => Err(format!("{spec}: the program does not know")),
    }
}

fn one_cpu(vector: &Value) -> Read<()> {
    let system = system(vector, std::slice::from_ref(&vector["speed"]))?;
    let expect = &vector["expect"];
    let view = system.time_view(None).unwrap_or_else(|| system.clone());
    let tasks: Vec<&Task> = view.tasks.values().collect();
    let times: Vec<i64> = tasks.iter().map(|task| task.own_wcet().ns()).collect();
    same("times", &expect["times"], &json!(times))?;
    let response = |at: usize| {
        let found = response_time(tasks[at], &tasks[..at], tasks[at].deadline);
        found.ok().map(Duration::ns)
    };
    let responses: Vec<Option<i64>> = (0..tasks.len()).map(response).collect();
    same("fp_responses", &expect["fp_responses"], &json!(responses))?;
    for (key, spec) in [("fp", "p-fp:fit=given"), ("edf", "p-edf:fit=given")] {
        same(key, &expect[key], &json!(is_guaranteed(spec, &system)?))?;
    }
    Ok(())
}

/// Compares the limits of each task, and the factor of all WCETs, on one CPU.
fn limits(vector: &Value) -> Read<()> {
    let system = system(vector, std::slice::from_ref(&vector["speed"]))?;
    let expect = &vector["expect"];
    let order = read(vector["order"].as_str(), "order")?;
    let mut options = AssessOptions::with_margin();
    options.wanted.limits = true;
    let spec = format!("p-{order}:fit=given");
    let found = assess(crate::registry(), &spec, &system, &options);
    let found = found.map_err(|error| error.to_string())?;
    let is_accepted = found.verdict == Decided::Yes;
    same("accepted", &expect["accepted"], &json!(is_accepted))?;
    let margin = read(found.margin, "margin")?;
    same("factor_thousandths", &expect["factor_thousandths"], &json!(margin.thousandths))?;
    let limits = read(found.sensitivity, "limits")?;
    // One CPU has the factor of all.
    let of_cpus: Vec<i64> = limits.cpus.iter().map(|cpu| cpu.thousandths).collect();
    same("the factor of the CPU", &json!([margin.thousandths]), &json!(of_cpus))?;
    let all: Vec<Limits> = limits.tasks.values().copied().collect();
    let ns = |of: fn(&Limits) -> Option<Duration>| -> Value {
        all.iter().map(|limits| of(limits).map(Duration::ns)).collect()
    };
    let work: Vec<Option<i64>> = all.iter().map(|limits| limits.work.map(Service::ns)).collect();
    same("wcet_time", &expect["wcet_time"], &ns(|limits| limits.wcet))?;
    same("wcet_work", &expect["wcet_work"], &json!(work))?;
    same("deadline", &expect["deadline"], &ns(|limits| limits.deadline))?;
    same("period", &expect["period"], &ns(|limits| limits.period))?;
    // Under EDF the vectors have no jitter.
    match expect.get("jitter") {
        Some(jitter) => same("jitter", jitter, &ns(|limits| limits.jitter)),
        None => Ok(()),
    }
}

/// Decides by the linear program, with the proof of its answer.
fn is_feasible(vector: &Value) -> Read<()> {
    let rows = list(&vector["times"], "times")?;
    let periods = list(&vector["periods"], "periods")?;
    let task = |(row, period): (&Value, &Value)| -> Read<Timed> {
        let times = list(row, "times")?.iter();
        let time = |value: &Value| match value {
            Value::Null => Ok(None),
            time => integer(time, "whole time").map(Some),
        };
        let times: Read<Vec<Option<i64>>> = times.map(time).collect();
        Ok(Timed { times: times?, period: integer(period, "whole period")? })
    };
    let tasks: Read<Vec<Timed>> = rows.iter().zip(periods).map(task).collect();
    let tasks = tasks?;
    let cpus = tasks.first().map_or(0, |task| task.times.len());
    let classes = vec![Class { cpus: 1 }; cpus];
    let (found, is_proven) = match unrelated::feasible(&tasks, &classes) {
        Feasible::Yes(shares) => (true, unrelated::are_shares(&shares, &tasks, &classes)),
        Feasible::No(prices) => (false, unrelated::are_prices(&prices, &tasks, &classes)),
        Feasible::GaveUp => return Err("the method gave up".to_owned()),
    };
    same("feasible", &vector["expect"]["feasible"], &json!(found))?;
    same("proven", &json!(true), &json!(is_proven))
}

/// Runs one job with these parts: as steps between locks, with a segment for each, and in one piece.
fn stretches(vector: &Value) -> Read<()> {
    let parts: Read<Vec<Service>> = list(&vector["parts"], "parts")?
        .iter()
        .map(|part| integer(part, "whole part").map(Service::from_ns))
        .collect();
    let (parts, expect, speed) = (parts?, &vector["expect"], speed(&vector["speed"])?);
    let whole: Service = parts.iter().copied().sum();
    let long = Duration::from_ns(1_000_000);
    let one = Task { jobs: Some(1), priority: Some(0), ..Task::implicit("job", whole, long) };
    let ends = |task: Task| -> Read<i64> {
        let mut system = System::new(1, vec![task]);
        system.platform.speeds[CpuId(0)] = speed;
        system.resources = vec![Resource { name: "lock".to_owned(), home: None }];
        let policy = crate::registry().build("p-fp:locks=pcp", &system);
        let policy = policy.map_err(|error| error.to_string())?;
        let mut trace = Trace::default();
        simulate(&system, policy, &mut trace, &SimOptions::until(Time::ZERO + long))
            .map_err(|error| error.to_string())?;
        let end = trace.jobs.first().and_then(|record| record.end);
        Ok(read(end, "job that ends")?.0.ns())
    };
    let lock = ResourceId(0);
    let mut steps = Vec::new();
    for (at, &part) in parts.iter().enumerate() {
        match at % 2 {
            0 => steps.push(Step::Run(part)),
            _ => steps.extend([Step::Lock(lock), Step::Run(part), Step::Unlock(lock)]),
        }
    }
    let as_steps = Task { steps: Some(steps.into()), ..one.clone() };
    let view = read(as_steps.at_speed(speed), "time view")?;
    same("the view of as_steps", &expect["as_steps"], &json!(view.own_wcet().ns()))?;
    same("as_steps", &expect["as_steps"], &json!(ends(as_steps)?))?;
    same("as_one", &expect["as_one"], &json!(ends(one)?))?;
    let segments = read(Preemption::Between(parts.into()).at_speed(speed), "time view")?;
    let Preemption::Between(segments) = segments else { return Err("no segments".to_owned()) };
    let mut done = Service::ZERO;
    let found: Vec<i64> = segments
        .iter()
        .map(|&segment| {
            done += segment;
            done.ns()
        })
        .collect();
    // A segment without length ends with the one before.
    let mut expected: Vec<Value> = list(&expect["as_segments"], "as_segments")?.clone();
    expected.dedup();
    same("as_segments", &Value::Array(expected), &json!(found))
}

/// Compares the conditions of tests for each number of the fastest CPUs.
fn tests(vector: &Value) -> Read<()> {
    let given = list(&vector["speeds"], "speeds")?;
    let (system, expect) = (system(vector, given)?, &vector["expect"]);
    let mut speeds: Vec<Speed> = system.platform.speeds.values().copied().collect();
    speeds.sort_by_key(|speed| Reverse(speed.rate()));
    let cpus = |k: usize| read(Uniform::new(speeds[..k].iter().copied()), "speeds in range");
    let tasks = |cpus: &Uniform| read(cpus.tasks(system.tasks.values()), "times in range");
    let prefixes = 1..=speeds.len();
    let holds = |answer: OnUniform| match answer {
        OnUniform::Holds => Ok(true),
        OnUniform::Fails { .. } => Ok(false),
        OnUniform::GaveUp => Err("the search gave up".to_owned()),
    };
    let by_densities = |tasks: &[Tau], cpus: &Uniform| {
        let (sum, bound) = uniform::gfb(tasks, cpus);
        if sum <= bound {
            OnUniform::Holds
        } else {
            OnUniform::Fails { task: None, interval: None }
        }
    };
    type Condition<'a> = &'a dyn Fn(&[Tau], &Uniform) -> OnUniform;
    let conditions: [(&str, Condition<'_>); 4] = [
        ("U-GFB", &by_densities),
        ("U-LOAD", &uniform::load),
        ("U-BCL", &uniform::bcl),
        ("U-BAR", &uniform::bar),
    ];
    for (name, condition) in conditions {
        let of_prefix = |k: usize| {
            let cpus = cpus(k)?;
            holds(condition(&tasks(&cpus)?, &cpus))
        };
        let found: Read<Vec<bool>> = prefixes.clone().map(of_prefix).collect();
        same(name, &expect[name], &json!(found?))?;
    }
    for (name, limited) in [("U-RTA", false), ("U-RTA-LC", true)] {
        let of_prefix = |k: usize| -> Read<Vec<Option<i64>>> {
            let cpus = cpus(k)?;
            Ok(uniform::responses(&tasks(&cpus)?, &cpus, limited))
        };
        let found: Read<Vec<Vec<Option<i64>>>> = prefixes.clone().map(of_prefix).collect();
        same(name, &expect[name], &json!(found?))?;
    }
    let all = cpus(speeds.len())?;
    let of_all = tasks(&all)?;
    let plus: Vec<String> =
        of_all.iter().map(|tau| all.in_work(tau.with_waste()).to_string()).collect();
    same("plus", &expect["plus"], &json!(plus))?;
    let level_demand = holds(uniform::by_demand(&of_all, &all))?;
    same("level_demand", &expect["level_demand"], &json!(level_demand))?;
    let lambda: Read<Vec<String>> =
        prefixes.clone().map(|k| Ok(cpus(k)?.lambda_rate().to_string())).collect();
    same("lambda", &expect["lambda"], &json!(lambda?))?;
    let by_slowest = |k: usize| -> bool {
        let mut fewer = system.clone();
        fewer.platform = Platform::identical(k);
        fewer.platform.speeds.values_mut().zip(&speeds).for_each(|(own, speed)| *own = *speed);
        let slowest = fewer.time_view_of_slowest().unwrap_or(fewer);
        let finding = gfb::TEST.run(&slowest);
        finding.is_ok_and(|finding| finding.verdict == Decided::Yes)
    };
    let slowest: Vec<bool> = prefixes.map(by_slowest).collect();
    same("slowest_gfb", &expect["slowest_gfb"], &json!(slowest))
}

fn schedule(vector: &Value) -> Read<()> {
    let speeds = list(&vector["speeds"], "speeds")?;
    let mut system = system(vector, speeds)?;
    for (task, releases) in system.tasks.values_mut().zip(list(&vector["releases"], "releases")?) {
        let at = |value: &Value| integer(value, "whole release").map(Time::from_ns);
        let releases: Read<Vec<Time>> = list(releases, "releases")?.iter().map(at).collect();
        task.behaviour = Behaviour::Explicit(releases?);
    }
    let order = read(vector["order"].as_str(), "order")?;
    let place = read(vector["place"].as_str(), "place")?;
    let until = Time::from_ns(integer(&vector["horizon"], "horizon")?);
    let spec = format!("g-{order}:place={place}");
    let policy = crate::registry().build(&spec, &system).map_err(|error| error.to_string())?;
    let (rule, mut trace) = (policy.rule(), Trace::default());
    simulate(&system, policy, &mut trace, &SimOptions::until(until))
        .map_err(|error| error.to_string())?;
    let report = check(&trace, &system, &rule, 3);
    if !report.is_clean() {
        return Err(format!("{spec}: {report}"));
    }
    let mut segments: Vec<(i64, u32, u32, u64, i64)> = (trace.segments.iter())
        .map(|one| (one.start.ns(), one.cpu.0, one.job.task.0, one.job.seq, one.end.ns()))
        .collect();
    segments.sort_unstable();
    let segments: Vec<Value> = (segments.into_iter())
        .map(|(start, cpu, task, job, end)| json!([task, job, cpu, start, end]))
        .collect();
    let expect = &vector["expect"];
    same("segments", &expect["segments"], &json!(segments))?;
    let mut jobs: Vec<_> = trace.jobs.iter().collect();
    jobs.sort_by_key(|record| record.job.id);
    let finish = jobs.iter().filter_map(|record| match record.end {
        Some((at, JobEnd::Completed)) => {
            Some(json!([record.job.id.task.0, record.job.id.seq, at.ns()]))
        }
        Some(_) | None => None,
    });
    same("finish", &expect["finish"], &json!(finish.collect::<Vec<Value>>()))?;
    let late = jobs.iter().filter(|record| record.missed(trace.over));
    let late: Vec<Value> =
        late.map(|record| json!([record.job.id.task.0, record.job.id.seq])).collect();
    same("late", &expect["late"], &json!(late))
}

/// Returns numbers that are not negative.
fn counts<const N: usize>(row: &Value) -> Read<[u64; N]> {
    let number = |at: usize| read(row[at].as_u64(), "whole number that is not negative");
    let mut found = [0; N];
    for (at, own) in found.iter_mut().enumerate() {
        *own = number(at)?;
    }
    Ok(found)
}

/// Admits threads, one after the other.
fn capacities(vector: &Value) -> Read<()> {
    let of_cpus: Read<Vec<u64>> = list(&vector["capacities"], "capacities")?
        .iter()
        .map(|capacity| read(capacity.as_u64(), "capacity"))
        .collect();
    let (root, expect): (u64, _) = (of_cpus?.iter().sum(), &vector["expect"]);
    let limit = read(vector["max_bw"].as_u64(), "max_bw")?;
    same("root", &expect["root"], &json!(root))?;
    same("limit", &expect["limit"], &json!(capacity::cap_scale(limit, root)))?;
    let (mut total, mut found) = (0, Vec::new());
    let threads = "threads_Q_T_bw_admitted";
    for row in list(&expect[threads], threads)? {
        let [budget, period] = counts(row)?;
        let own = capacity::bandwidth(budget, period);
        let is_admitted = capacity::admits(total, own, limit, root);
        if is_admitted {
            total += own;
        }
        found.push(json!([budget, period, own, is_admitted]));
    }
    same(threads, &expect[threads], &json!(found))
}

fn fits(vector: &Value) -> Read<()> {
    let (rows, mut found) = ("D_Q_capacity_until60_since", Vec::new());
    for row in list(&vector["expect"][rows], rows)? {
        let [deadline, budget, capacity] = counts(row)?;
        let [by_time, by_density] =
            [Fit::ByTime, Fit::ByDensity].map(|fit| fit.fits(deadline, budget, capacity));
        found.push(json!([deadline, budget, capacity, by_time, by_density]));
    }
    same(rows, &vector["expect"][rows], &json!(found))
}

fn charges(vector: &Value) -> Read<()> {
    let (rows, mut found) = ("delta_freq_capacity_charge", Vec::new());
    for row in list(&vector["expect"][rows], rows)? {
        let [ns, frequency, capacity] = counts(row)?;
        found.push(json!([ns, frequency, capacity, capacity::charge(ns, frequency, capacity)]));
    }
    same(rows, &vector["expect"][rows], &json!(found))
}
