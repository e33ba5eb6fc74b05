//! Vectors about reclaiming: `grub_ledger` (bandwidth accounts, operation by operation) and
//! `grub_schedule` (threads with servers, instant by instant), compared with `dl` and its accounts.
//!
//! Times are whole units, which stand for nanoseconds. Times of `arith = ideal` are rational: they
//! are multiplied by the common denominator of all expected values, so that nothing is rounded.

use super::reading::{integer, read};
use super::verdict::{Read, Verdict};
use layland_model::{
    Behaviour, Change, CpuId, CpuMap, CpuSet, Duration, ExecutionModel, Rate, Request, RequestKind,
    ScheduleRule, Service, System, Task, TaskId, Time,
};
use layland_policy::deadline::Threads;
use layland_policy::deadline::accounts::Accounts;
use layland_policy::deadline::linux::{Linux, dl};
use layland_policy::deadline::price::Arith;
use layland_policy::{Action, Count, Event, Needs, Policy, PolicyOptions, State};
use layland_sim::{SimOptions, simulate};
use layland_trace::Trace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

fn rate(value: &Value) -> Read<Rate> {
    match value {
        Value::String(text) => read(text.parse().ok(), "number"),
        number => integer(number, "number").map(Rate::whole),
    }
}

/// Returns `runtime / period` of the limit, or 1 without a limit.
fn umax(rt: &Value) -> Read<Rate> {
    match rt.as_array().map(Vec::as_slice) {
        None => Ok(Rate::ONE),
        Some([runtime, period]) => {
            Ok(Rate::new(integer(runtime, "runtime")?, integer(period, "period")?))
        }
        Some(_) => Err("the vector has no limit".to_owned()),
    }
}

// --- Accounts ---------------------------------------------------------------------------------

/// Runs a vector of type `grub_ledger`.
pub(super) fn ledger(vector: &Value) -> Verdict {
    run_ledger(vector).into()
}

fn run_ledger(vector: &Value) -> Read<Option<String>> {
    struct ReservedBandwidth {
        u: Rate,
        cpu: CpuId,
        is_active: bool,
    }
    let count = integer(&vector["cpus"], "number of CPUs")?;
    let domain: CpuSet = (0..count as u32).map(CpuId).collect();
    let arith = if vector["arith"] == "kernel" { Arith::Kernel } else { Arith::Exact };
    let mut accounts =
        Accounts::new(arith, &umax(&vector["rt"])?, count as usize, std::slice::from_ref(&domain));
    let expect = &vector["expect"];
    if let (Some(max_bw), Some(bw_ratio)) = (expect["max_bw"].as_i64(), expect["bw_ratio"].as_i64())
    {
        let limits = accounts.limits();
        if limits != (&Rate::whole(max_bw), bw_ratio) {
            return Ok(Some(format!("limits: expected {max_bw}, {bw_ratio}, found {limits:?}")));
        }
    }
    let mut threads: BTreeMap<i64, ReservedBandwidth> = BTreeMap::new();
    for (at, op) in read(vector["ops"].as_array(), "ops")?.iter().enumerate() {
        let id = integer(&op["id"], "id")?;
        let number = |key: &str| integer(&op[key], key);
        let cpu = || number("cpu").map(|cpu| CpuId(cpu as u32));
        let known = |threads: &BTreeMap<i64, ReservedBandwidth>| {
            read(threads.get(&id).map(|thread| (thread.u.clone(), thread.cpu)), "thread")
        };
        let mut result = Value::Null;
        match op["op"].as_str() {
            Some("admit") => {
                let (budget, period) = (Service::from_ns(number("Q")?), number("T")?);
                let u = accounts.bandwidth(budget, Duration::from_ns(period));
                let total: Rate = domain.iter().map(|c| accounts.of(c).this.clone()).sum();
                let room = accounts.limits().0 * &Rate::whole(count);
                if !vector["rt"].is_null() && &total + &u > room {
                    result = json!("EBUSY");
                } else {
                    accounts.reserve(&u, 0);
                    accounts.enter(&u, cpu()?);
                    threads.insert(id, ReservedBandwidth { u, cpu: cpu()?, is_active: false });
                    result = json!("ok");
                }
            }
            Some("wake" | "inactive") => {
                let thread = read(threads.get_mut(&id), "thread")?;
                let wakes = op["op"] == "wake";
                // A thread that wakes before its zero-lag time is already active.
                if wakes && !thread.is_active {
                    accounts.activate(&thread.u, thread.cpu);
                } else if !wakes && thread.is_active {
                    accounts.deactivate(&thread.u, thread.cpu);
                }
                thread.is_active = wakes;
            }
            Some("migrate") => {
                let thread = read(threads.get_mut(&id), "thread")?;
                let to = cpu()?;
                accounts.transfer(&thread.u, [thread.cpu, to], thread.is_active);
                thread.cpu = to;
            }
            Some("leave") => {
                let (u, cpu) = known(&threads)?;
                accounts.leave(&u, cpu);
                accounts.unreserve(&u, 0);
                threads.remove(&id);
            }
            Some("charge") => {
                let (u, cpu) = known(&threads)?;
                let cost = accounts.price(&u, cpu).cost(Duration::from_ns(number("delta")?)).rate();
                result = as_value(&cost);
            }
            Some(_) | None => return Err("the vector has no known op".to_owned()),
        }
        let expected = &expect["after"][at];
        if !same(&expected["result"], &result) {
            let wanted = &expected["result"];
            return Ok(Some(format!("op {at}: result: expected {wanted}, found {result}")));
        }
        for c in domain.iter() {
            let account = accounts.of(c);
            let extra = match arith {
                Arith::Exact => as_value(&account.extra),
                // Unsigned 64-bit arithmetic, as in the kernel.
                Arith::Kernel => json!(account.extra.floor().unwrap_or(0) as u64),
            };
            let found = [
                ("this_bw", as_value(&account.this)),
                ("running_bw", as_value(&account.running)),
                ("extra_bw", extra),
            ];
            for (key, found) in found {
                let wanted = &expected[key][c.0 as usize];
                if !same(wanted, &found) {
                    return Ok(Some(format!(
                        "op {at}: {key} of {c}: expected {wanted}, found {found}"
                    )));
                }
            }
        }
    }
    Ok(None)
}

fn as_value(rate: &Rate) -> Value {
    match rate.as_i64_pair() {
        Some((whole, 1)) => json!(whole),
        Some(_) | None => json!(rate.to_string()),
    }
}

fn same(a: &Value, b: &Value) -> bool {
    a == b || matches!((rate(a), rate(b)), (Ok(a), Ok(b)) if a == b)
}

// --- Schedules --------------------------------------------------------------------------------

/// The state of the policy after an instant.
#[derive(Clone, Debug, Default)]
struct Instant {
    at: Time,
    /// The budget and the deadline of each server.
    servers: Vec<(Rate, Time)>,
    running: Vec<Rate>,
}

/// `dl`, with its state after each decision.
#[derive(Clone)]
struct Observed {
    policy: Threads<Linux>,
    instants: Arc<Mutex<Vec<Instant>>>,
    tasks: usize,
    cpus: usize,
}

impl Policy for Observed {
    fn on_event(&mut self, now: Time, event: Event) {
        self.policy.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.policy.decide(now, actions);
        let servers = (0..self.tasks).filter_map(|task| self.policy.server(TaskId(task as u32)));
        let servers = servers.map(|server| (server.exact_budget().rate(), server.deadline()));
        let running = self.policy.accounts().map(|accounts| {
            (0..self.cpus).map(|cpu| accounts.of(CpuId(cpu as u32)).running.clone()).collect()
        });
        let instant =
            Instant { at: now, servers: servers.collect(), running: running.unwrap_or_default() };
        let mut instants = self.instants.lock().unwrap_or_else(PoisonError::into_inner);
        instants.pop_if(|last| last.at == now);
        instants.push(instant);
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

/// Runs a vector of type `grub_schedule`.
pub(super) fn schedule(vector: &Value) -> Verdict {
    run_schedule(vector).into()
}

/// Returns the least common denominator of all numbers in a value.
fn denominator(value: &Value) -> i64 {
    let of = |values: &mut dyn Iterator<Item = &Value>| {
        values.map(denominator).fold(1, |a, b| a / gcd(a, b) * b)
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

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn system(vector: &Value, scale: i64) -> Read<(System, Vec<i64>)> {
    let (mut tasks, mut ids) = (Vec::new(), Vec::new());
    for thread in read(vector["threads"].as_array(), "threads")? {
        let units = |value: &Value, what: &str| integer(value, what).map(|units| units * scale);
        let budget = Service::from_ns(units(&thread["Q"], "Q")?);
        let period = Duration::from_ns(units(&thread["T"], "T")?);
        let mut jobs = Vec::new();
        for job in read(thread["jobs"].as_array(), "jobs")? {
            let arrival = Time::from_ns(units(&job[0], "arrival")?);
            jobs.push((arrival, job[1].as_i64().map(|work| Service::from_ns(work * scale))));
        }
        let id = integer(&thread["id"], "id")?;
        let mut task = Task::implicit(format!("{id}"), budget, period);
        if !thread["D"].is_null() {
            task.deadline = Duration::from_ns(units(&thread["D"], "D")?);
        }
        (task.budget, task.reclaim) = (Some(budget), thread["reclaim"].as_bool().unwrap_or(true));
        task.affinity = Some(CpuSet::single(CpuId(thread["cpu"].as_u64().unwrap_or(0) as u32)));
        match jobs.as_slice() {
            [(arrival, None)] => {
                (task.behaviour, task.offset) = (Behaviour::Hog, *arrival - Time::ZERO);
            }
            jobs => {
                let works: Option<Vec<Service>> = jobs.iter().map(|(_, work)| *work).collect();
                let works = read(works, "jobs that end")?;
                task.wcet = vec![read(works.iter().max().copied(), "jobs")?].into();
                task.behaviour = Behaviour::Explicit(jobs.iter().map(|&(at, _)| at).collect());
                task.execution = ExecutionModel::List(works);
            }
        }
        task.rank = ids.len() as i64;
        ids.push(id);
        tasks.push(task);
    }
    let mut system = System::new(vector["cpus"].as_u64().unwrap_or(1) as usize, tasks);
    if vector["arith"] == "kernel" {
        system.requests = arrivals(&system);
    }
    Ok((system, ids))
}

/// Returns requests that change nothing, one for each arrival. With the kernel's arithmetic a
/// charge is rounded whenever anything happens. The reference counts the arrival of a job that
/// waits for its predecessor, of which `dl` is not notified.
fn arrivals(system: &System) -> Vec<Request> {
    let mut requests = Vec::new();
    for (id, task) in system.tasks.iter() {
        if let (Behaviour::Explicit(times), Some(mask)) = (&task.behaviour, &task.affinity) {
            let kind = RequestKind::Reconfigure(id, Change::Affinity(mask.clone()));
            requests.extend(times.iter().map(|&at| Request { at, kind: kind.clone() }));
        }
    }
    requests.sort_by_key(|request| request.at);
    requests
}

fn run_schedule(vector: &Value) -> Read<Option<String>> {
    let (given, expect) = (&vector["system"], &vector["expect"]);
    let is_ideal = given["arith"] == "ideal";
    let scale = if is_ideal { denominator(expect) } else { 1 };
    let (system, ids) = system(given, scale)?;
    let mut options = PolicyOptions::default();
    options.give("grub", "on");
    options.give("umax", umax(&given["rt"])?.to_string());
    options.give("arith", if given["arith"] == "kernel" { "kernel" } else { "exact" });
    // The vectors use the reference's name for this option.
    let tie = given["tie"].as_str().unwrap_or("sticky");
    options.give("tie", if tie == "sticky" { "running" } else { tie });
    options.give("exhaust", given["exhaust"].as_str().unwrap_or("throttle"));
    options.give("grub_pa", if given["speed"] == "grub_pa" { "on" } else { "off" });
    let policy = dl(&system, &options).map_err(|refusal| refusal.to_string())?;
    let instants = Arc::default();
    let (tasks, cpus) = (ids.len(), system.platform.cpu_count());
    let observed = Observed { policy, instants: Arc::clone(&instants), tasks, cpus };
    let horizon = Time::from_ns(integer(&given["horizon"], "horizon")? * scale);
    let mut trace = Trace::default();
    // Events at the horizon are expected, too.
    let until = SimOptions::until(horizon + Duration::from_ns(1));
    simulate(&system, observed, &mut trace, &until).map_err(|error| error.to_string())?;
    let report = layland_checker::check(&trace, &system, &ScheduleRule::None, 3);
    if !report.is_clean() {
        return Ok(Some(report.to_string()));
    }
    let units = |at: Time| Rate::new(at.ns(), scale);
    for (what, found) in [
        ("segments", segments(&trace, &ids, horizon, scale)),
        ("jobs", jobs(&trace, &system, &ids, horizon, scale)),
    ] {
        let expected: Vec<Vec<Rate>> = read(expect[what].as_array(), what)?
            .iter()
            .map(|row| read(row.as_array(), what)?.iter().map(rate).collect())
            .collect::<Read<_>>()?;
        for at in 0..found.len().max(expected.len()) {
            if found.get(at) != expected.get(at) {
                let (wanted, found) = (expected.get(at), found.get(at));
                return Ok(Some(format!("{what}[{at}]: expected {wanted:?}, found {found:?}")));
            }
        }
    }
    let instants = instants.lock().unwrap_or_else(PoisonError::into_inner);
    // The last event of a thread at an instant shows the state of its server after the instant.
    let mut last: BTreeMap<(Rate, i64), (Rate, Rate)> = BTreeMap::new();
    for event in read(expect["events"].as_array(), "events")? {
        let key = (rate(&event[0])?, integer(&event[1], "thread")?);
        last.insert(key, (rate(&event[3])?, rate(&event[4])?));
    }
    for ((at, id), (q, d)) in last {
        // The timer of an ideal zero-lag time may lie between two nanoseconds; nothing else happens then.
        let instant = instants.iter().find(|instant| units(instant.at) == at);
        let instant = match instant {
            Some(instant) => instant,
            None => return Ok(Some(format!("no event at {at}, where thread {id} has one"))),
        };
        let index = read(ids.iter().position(|&known| known == id), "thread of an event")?;
        let (budget, deadline) = &instant.servers[index];
        let found = (budget / &Rate::whole(scale), units(*deadline));
        if found != (q.clone(), d.clone()) {
            return Ok(Some(format!("thread {id} at {at}: expected q={q} d={d}, found {found:?}")));
        }
    }
    let mut before = CpuMap::filled(None, cpus);
    let mut changes: Vec<Vec<Rate>> = Vec::new();
    for instant in instants.iter().filter(|instant| instant.at <= horizon) {
        for (cpu, running) in instant.running.iter().enumerate() {
            let c = CpuId(cpu as u32);
            let is_first = before[c].is_none();
            if before[c].as_ref() != Some(running) {
                // No thread has run before the first wake-up.
                if !is_first || *running != Rate::ZERO {
                    changes.push(vec![units(instant.at), Rate::whole(cpu as i64), running.clone()]);
                }
                before[c] = Some(running.clone());
            }
        }
    }
    let expected: Vec<Vec<Rate>> = read(expect["running_bw"].as_array(), "running_bw")?
        .iter()
        .map(|row| read(row.as_array(), "running_bw")?.iter().map(rate).collect())
        .collect::<Read<_>>()?;
    // The reference reports an account that is still empty once, at the start.
    let told = |rows: Vec<Vec<Rate>>| -> Vec<Vec<Rate>> {
        rows.into_iter().filter(|row| row[0] > Rate::ZERO || row[2] > Rate::ZERO).collect()
    };
    let (changes, expected) = (told(changes), told(expected));
    if changes != expected {
        return Ok(Some(format!("running_bw: expected {expected:?}, found {changes:?}")));
    }
    Ok(None)
}

/// Returns the segments `[id, cpu, start, end]` by start. Adjacent segments are merged.
fn segments(trace: &Trace, ids: &[i64], horizon: Time, scale: i64) -> Vec<Vec<Rate>> {
    let mut own: Vec<_> = trace.segments.iter().filter(|segment| segment.start < horizon).collect();
    own.sort_by_key(|segment| (segment.start, segment.cpu));
    let mut merged: Vec<(i64, CpuId, Time, Time)> = Vec::new();
    for segment in own {
        let (id, end) = (ids[segment.job.task.0 as usize], segment.end.min(horizon));
        let open = merged.iter_mut().rev().find(|(_, cpu, ..)| *cpu == segment.cpu);
        match open {
            Some((task, _, _, open_end)) if *task == id && *open_end == segment.start => {
                *open_end = end;
            }
            Some(_) | None => merged.push((id, segment.cpu, segment.start, end)),
        }
    }
    let row = |(id, cpu, start, end): (i64, CpuId, Time, Time)| {
        vec![
            Rate::whole(id),
            Rate::whole(cpu.0.into()),
            Rate::new(start.ns(), scale),
            Rate::new(end.ns(), scale),
        ]
    };
    merged.into_iter().map(row).collect()
}

/// Returns `[id, k, arrival, finish]` of the jobs that end, by finish and id.
fn jobs(trace: &Trace, system: &System, ids: &[i64], horizon: Time, scale: i64) -> Vec<Vec<Rate>> {
    let ends = trace
        .jobs
        .iter()
        .filter(|record| system.tasks[record.job.id.task].behaviour != Behaviour::Hog);
    let mut rows: Vec<(Time, i64, u64, Time)> = ends
        .filter_map(|record| {
            let (job, end) = (record.job, record.completion()?);
            (end <= horizon).then_some((end, ids[job.id.task.0 as usize], job.id.seq, job.release))
        })
        .collect();
    rows.sort_unstable();
    let row = |(end, id, seq, release): (Time, i64, u64, Time)| {
        vec![
            Rate::whole(id),
            Rate::whole(seq as i64),
            Rate::new(release.ns(), scale),
            Rate::new(end.ns(), scale),
        ]
    };
    rows.into_iter().map(row).collect()
}
