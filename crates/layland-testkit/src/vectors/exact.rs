//! Vectors of exact answers: searches on ticks and in dense time, inflated sets, priorities for global
//! scheduling, and the schedule-abstraction graph.
//!
//! Times are whole units. Tasks are `[C, D, T]` or `[C, D, T, [CPUs]]`. The kind of a vector shows in
//! its keys. The slow twin of [`crate::exhaustive`] computes each verdict on ticks again where it has a
//! model, and each pattern that misses is simulated.

use super::reading::{integer, list, read, same};
use super::verdict::{Read, Verdict};
use crate::exhaustive::{self, Arrival, Model, SearchResult, in_units, replay};
use crate::registry;
use layland_analysis::global_edf::Slacks;
use layland_analysis::global_fp::{assignment, guan};
use layland_analysis::uniprocessor::schedule_graph::{UncertainJob, finish_times};
use layland_analysis::{Sporadic, Verdict as Answer};
use layland_guarantee::search::states::proof::{self, PartProof, ProofState, Reached};
use layland_guarantee::search::states::{ArrivalGrid, Extent, Outcome, TakenJobs, explore};
use layland_guarantee::{AssessOptions, assess};
use layland_model::{CpuId, CpuSet, Duration, Index, Service, System, Task};
use serde_json::{Value, json};

/// The limit on states of one search.
const STATES: usize = 10_000_000;
/// The limit on vertices of one graph.
const VERTICES: usize = 1_000_000;
/// The length of a unit where `check` is asked: a third of it is not a whole number of nanoseconds.
const MILLISECOND: i64 = 1_000_000;

/// Returns true if a vector is of this family.
pub(super) fn is_one(vector: &Value) -> bool {
    let expect = &vector["expect"];
    let is_of_another = ["type", "schema", "kind"].iter().any(|key| vector.get(*key).is_some());
    !is_of_another
        && (is_ticks(vector)
            || !expect["by_ticks"].is_null()
            || !expect["inflated"].is_null()
            || expect.get("rta_lc_given").is_some()
            || is_graph(vector)
            || vector["certificate"].is_object() && vector["policy"].is_string())
}

fn is_ticks(vector: &Value) -> bool {
    vector["policy"].is_string() && vector["expect"]["verdict"].is_string()
}

fn is_graph(vector: &Value) -> bool {
    vector["jobs"].is_array() && vector["expect"]["finish"].is_array()
}

/// Runs a vector of this family.
pub(super) fn run(vector: &Value) -> Verdict {
    let expect = &vector["expect"];
    let outcome = if vector["certificate"].is_object() {
        certificate(vector)
    } else if is_ticks(vector) {
        on_ticks(vector)
    } else if is_graph(vector) {
        graph(vector)
    } else if !expect["by_ticks"].is_null() {
        dense(vector)
    } else if !expect["inflated"].is_null() {
        inflated(vector)
    } else {
        priorities(vector)
    };
    outcome.into()
}

/// The set with all times multiplied.
fn system(vector: &Value, unit: i64) -> Read<System> {
    let task = |(at, value): (usize, &Value)| {
        let [c, d, t] = [0, 1, 2].map(|i| integer(&value[i], "task").map(|time| time * unit));
        let (c, t) = (Service::from_ns(c?), Duration::from_ns(t?));
        let mut task = Task::implicit(format!("t{at}"), c, t);
        task.deadline = Duration::from_ns(d?);
        task.priority = Some(at as i64);
        if let Some(cpus) = value.get(3) {
            let cpu = |cpu: &Value| Ok(CpuId::from_index(integer(cpu, "CPU")? as usize));
            task.affinity = Some(list(cpus, "CPUs")?.iter().map(cpu).collect::<Read<CpuSet>>()?);
        }
        Ok(task)
    };
    let tasks = list(&vector["tasks"], "tasks")?.iter().enumerate().map(task);
    let cpus = integer(&vector["m"], "m")? as usize;
    Ok(System::new(cpus, tasks.collect::<Read<Vec<Task>>>()?))
}

/// The policy of a vector, and the jobs that stand for its rule for ties.
fn policy(vector: &Value) -> Read<(&'static str, TakenJobs)> {
    match vector["policy"].as_str() {
        Some("fp") => Ok(("g-fp", TakenJobs::Own)),
        Some("edf") => Ok(("g-edf", TakenJobs::Own)),
        Some("edf_any") => Ok(("g-edf", TakenJobs::OwnAnyTies)),
        Some("edzl") => Ok(("edzl", TakenJobs::Own)),
        Some("strong_fp") => Ok(("strong-fp", TakenJobs::Own)),
        Some("strong_edf") => Ok(("strong-edf", TakenJobs::Own)),
        Some(_) | None => Err("the policy is not known".to_owned()),
    }
}

/// Searches at every unit of a system.
fn search(system: &System, spec: &str, jobs: TakenJobs, wants_responses: bool) -> Read<Outcome> {
    let policy = registry().build(spec, system).map_err(|error| error.to_string())?;
    let grid = ArrivalGrid::Tick(Duration::from_ns(1));
    let extent = Extent { jobs, grid, states: STATES, wants_responses };
    Ok(explore(system, &*policy, extent)?.outcome)
}

fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Meets { .. } => "yes",
        Outcome::Misses { .. } => "no",
        Outcome::GaveUp => "gave up",
    }
}

/// The pattern of a vector.
fn pattern(arrivals: &Value, system: &System) -> Read<Vec<Arrival>> {
    let arrival = |pair: &Value| {
        let [at, task] = [0, 1].map(|i| integer(&pair[i], "arrival"));
        let task = task? as usize;
        let own = read(system.tasks.values().nth(task), "task of an arrival")?;
        Ok(Arrival { at: at?, task, work: own.own_wcet().ns() })
    };
    list(arrivals, "arrivals")?.iter().map(arrival).collect()
}

fn misses_in_a_run(spec: &str, system: &System, arrivals: &[Arrival], whose: &str) -> Read<()> {
    if replay(spec, system, arrivals) {
        return Ok(());
    }
    Err(format!("no job is late with the arrivals that {whose}: {arrivals:?}"))
}

/// Compares the verdict of a search, and its pattern with a simulation.
fn verdict(
    system: &System,
    (spec, jobs): (&str, TakenJobs),
    expected: &Value,
    is_small: bool,
) -> Read<()> {
    let found = search(system, spec, jobs, false)?;
    same("verdict", expected, &json!(name(&found)))?;
    if jobs != TakenJobs::Own {
        return Ok(());
    }
    if let Outcome::Misses { arrivals, .. } = &found {
        misses_in_a_run(spec, system, &in_units(system, arrivals), "were found")?;
    }
    let policy = registry().build(spec, system).map_err(|error| error.to_string())?;
    let Some(model) = Model::new(system, &*policy, false).filter(|_| is_small) else {
        return Ok(());
    };
    match exhaustive::search(&model, false, exhaustive::STATES) {
        SearchResult::Meets { .. } => same("verdict of the twin", expected, &json!("yes")),
        SearchResult::Misses { .. } => same("verdict of the twin", expected, &json!("no")),
        SearchResult::GaveUp => Ok(()),
    }
}

fn on_ticks(vector: &Value) -> Read<()> {
    let (system, expect) = (system(vector, 1)?, &vector["expect"]);
    let (spec, jobs) = policy(vector)?;
    // The larger sets are too much for the twin.
    let is_small = expect.get("prototype_states").is_none();
    verdict(&system, (spec, jobs), &expect["verdict"], is_small)?;
    if expect.get("responses").is_some() {
        let found = search(&system, spec, jobs, true)?;
        let Outcome::Meets { responses } = &found else {
            return Err(format!("with responses: {}", name(&found)));
        };
        let responses: Value = responses.values().map(|it| json!(it.within.ns())).collect();
        same("responses", &expect["responses"], &responses)?;
    }
    if expect.get("arrivals").is_some() && jobs == TakenJobs::Own {
        let arrivals = pattern(&expect["arrivals"], &system)?;
        misses_in_a_run(spec, &system, &arrivals, "the vector has")?;
    }
    Ok(())
}

fn dense(vector: &Value) -> Read<()> {
    let (expect, (spec, jobs)) = (&vector["expect"], policy(vector)?);
    let by_ticks = read(expect["by_ticks"].as_object(), "verdicts by ticks")?;
    let mut first = None;
    for (tick, expected) in by_ticks {
        let parts = tick.strip_prefix("1/").and_then(|parts| parts.parse::<i64>().ok());
        let parts = read(parts, "parts of a unit")?;
        let system = system(vector, parts)?;
        verdict(&system, (spec, jobs), expected, parts == 1)
            .map_err(|difference| format!("on {tick}: {difference}"))?;
        if expected == "no" && first.is_none_or(|least| parts < least) {
            first = Some(parts);
        }
    }
    if jobs != TakenJobs::Own {
        return Ok(());
    }
    if let (Some(parts), Some(arrivals)) = (first, expect.get("arrivals_in_ticks")) {
        let system = system(vector, parts)?;
        misses_in_a_run(spec, &system, &pattern(arrivals, &system)?, "the vector has")?;
    }
    let system = system(vector, MILLISECOND)?;
    let options = AssessOptions::default();
    let found = assess(registry(), spec, &system, &options).map_err(|error| error.to_string())?;
    let is_right = match (expect["dense"].as_str(), found.verdict) {
        (Some("yes"), answer) => answer == Answer::Yes,
        // The usual search looks at quarters of the unit, and no further.
        (Some("no"), answer) if first.is_some_and(|parts| parts <= 4) => answer == Answer::No,
        (Some("no"), answer) => answer != Answer::Yes,
        (Some(_) | None, _) => return Err("the vector has no answer for dense time".to_owned()),
    };
    if is_right {
        return Ok(());
    }
    Err(format!("in dense time: {}, and it is {}", found.verdict.name(), expect["dense"]))
}

fn inflated(vector: &Value) -> Read<()> {
    let (expect, (spec, _)) = (&vector["expect"], policy(vector)?);
    let system = system(vector, integer(&vector["q"], "q")?)?;
    let found = match search(&system, spec, TakenJobs::Inflated, false) {
        Ok(found) => name(&found),
        // A task that has no time for a longer WCET is late alone.
        Err(_) => "no",
    };
    same("inflated", &expect["inflated"], &json!(found))?;
    let dense = if found == "yes" { "yes" } else { "unknown" };
    same("dense", &expect["dense"], &json!(dense))
}

fn priorities(vector: &Value) -> Read<()> {
    let (system, expect) = (system(vector, 1)?, &vector["expect"]);
    let cpus = system.platform.cpu_count();
    let tasks: Vec<Sporadic> = system.tasks.values().map(Sporadic::from).collect();
    // Responses in the order of priorities. Ours may be less, but never more.
    let responses = |key: &str, order: &[usize]| {
        let ordered: Vec<Sporadic> = order.iter().map(|&i| tasks[i]).collect();
        let wide = carried_responses(&ordered, cpus);
        same(key, &expect[key], &json!(wide))?;
        match (wide, guan(&ordered, cpus)) {
            (None, _) => Ok(()),
            (Some(wide), Slacks::All(slacks)) => {
                let ours =
                    ordered.iter().zip(slacks).map(|(task, slack)| task.deadline.ns() - slack);
                let ours: Vec<i64> = ours.collect();
                if ours.iter().zip(&wide).all(|(ours, wide)| ours <= wide) {
                    return Ok(());
                }
                Err(format!("{key}: {ours:?} with less carried in, and {wide:?} with more"))
            }
            (Some(wide), _) => {
                Err(format!("{key}: late with less carried in, and {wide:?} with more"))
            }
        }
    };
    let given: Vec<usize> = (0..tasks.len()).collect();
    responses("rta_lc_given", &given)?;
    let order = assignment::by_deadline_minus_wcet(&tasks);
    same("order_d_minus_c", &expect["order_d_minus_c"], &json!(order))?;
    responses("rta_lc_d_minus_c", &order)?;
    let audsley = assignment::audsley(&tasks, cpus);
    same("opa_da_lc", &expect["opa_da_lc"], &json!(audsley))?;
    // Every order that is accepted has to work on ticks.
    let works = |order: &[usize]| -> Read<bool> {
        let mut ordered = system.clone();
        for (priority, &i) in order.iter().enumerate() {
            let task = ordered.tasks.values_mut().nth(i);
            read(task, "task of an order")?.priority = Some(priority as i64);
        }
        Ok(matches!(search(&ordered, "g-fp", TakenJobs::Own, false)?, Outcome::Meets { .. }))
    };
    let assigned = assignment::assign(&tasks, cpus).map(|(order, _)| order);
    for order in audsley.iter().chain(&assigned) {
        if !works(order)? {
            return Err(format!("accepted, but late on ticks: {order:?}"));
        }
    }
    if let Some(count) = expect.get("orders_schedulable_on_ticks") {
        let working: Vec<bool> =
            orders(tasks.len()).iter().map(|order| works(order)).collect::<Read<_>>()?;
        let found = working.iter().filter(|&&works| works).count();
        same("orders_schedulable_on_ticks", count, &json!(found))?;
        let one = &expect["one_of_them"];
        if !one.is_null() {
            let order: Vec<usize> = list(one, "order")?
                .iter()
                .map(|i| integer(i, "task").map(|i| i as usize))
                .collect::<Read<_>>()?;
            same("one_of_them works", &json!(true), &json!(works(&order)?))?;
        }
    }
    Ok(())
}

/// The response times with limited carry-in of the reference, step by step, for tasks in the order of
/// priorities. A carried-in job executes for its whole WCET as late as its response allows (Davis and
/// Burns 2011), while in [`guan`] it executed for a unit before the window.
fn carried_responses(tasks: &[Sporadic], cpus: usize) -> Option<Vec<i64>> {
    let mut found: Vec<i64> = Vec::new();
    for (k, task) in tasks.iter().enumerate() {
        let (wcet, deadline) = (task.wcet.ns(), task.deadline.ns());
        let mut window = wcet;
        loop {
            let most = window - wcet + 1;
            let work = |higher: &Sporadic, length: i64| {
                let (wcet, period) = (higher.wcet.ns(), higher.period.ns());
                (length / period * wcet + wcet.min(length % period)).min(most)
            };
            let own = |higher: &Sporadic| work(higher, window);
            let carried = |(higher, response): (&Sporadic, &i64)| {
                (work(higher, window + response - higher.wcet.ns()) - own(higher)).max(0)
            };
            let mut more: Vec<i64> = tasks[..k].iter().zip(&found).map(carried).collect();
            more.sort_unstable_by(|a, b| b.cmp(a));
            let sum: i64 =
                tasks[..k].iter().map(own).sum::<i64>() + more.iter().take(cpus - 1).sum::<i64>();
            let next = wcet + sum / cpus as i64;
            if next <= window {
                break;
            }
            window = next;
            if window > deadline {
                return None;
            }
        }
        found.push(window);
    }
    Some(found)
}

/// Every order of this many tasks.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let with_last = |order: Vec<usize>| {
        (0..count).map(move |at| {
            let mut longer = order.clone();
            longer.insert(at, count - 1);
            longer
        })
    };
    orders(count - 1).into_iter().flat_map(with_last).collect()
}

fn certificate(vector: &Value) -> Read<()> {
    let (system, (spec, _)) = (system(vector, 1)?, policy(vector)?);
    let numbers = |value: &Value| -> Read<Vec<u32>> {
        let number = |value: &Value| {
            u32::try_from(integer(value, "number")?).map_err(|_| "a number is negative".to_owned())
        };
        list(value, "numbers")?.iter().map(number).collect()
    };
    let states = |value: &Value| -> Read<Vec<ProofState>> {
        let state =
            |pair: &Value| Ok(ProofState { waits: numbers(&pair[0])?, left: numbers(&pair[1])? });
        list(value, "states")?.iter().map(state).collect()
    };
    let certificate = &vector["certificate"];
    let reached = match certificate.get("all") {
        Some(all) => Reached::All(states(all)?),
        None => {
            let targets = read(certificate.as_object(), "targets")?.iter();
            let target = |(task, value): (&String, &Value)| {
                let task = task.parse::<usize>().map_err(|_| "a target is no task".to_owned())?;
                Ok((task, states(value)?))
            };
            Reached::Targets(targets.map(target).collect::<Read<_>>()?)
        }
    };
    let tasks = system.tasks.ids().collect();
    let policy = registry().build(spec, &system).map_err(|error| error.to_string())?;
    let grid = ArrivalGrid::Tick(Duration::from_ns(1));
    let checked = proof::check(&system, &*policy, grid, &[PartProof { tasks, reached }]);
    let found = if checked.is_ok() { "accepted" } else { "refused" };
    same(&format!("{checked:?}"), &vector["expect"], &json!(found))?;
    // The search finds a proof as well, unless a job can be late.
    match proof::prove(&system, &*policy, grid, STATES)? {
        Some(proof) => proof::check(&system, &*policy, grid, &proof)
            .map_err(|why| format!("the proof that was found: {why}")),
        None if found == "accepted" => Err("the search does not prove the same".to_owned()),
        None => Ok(()),
    }
}

fn graph(vector: &Value) -> Read<()> {
    let expect = &vector["expect"];
    let job = |value: &Value| {
        let numbers = (0..6).map(|i| integer(&value[i], "job")).collect::<Read<Vec<i64>>>()?;
        let job = UncertainJob {
            release: [numbers[0], numbers[1]],
            execution: [numbers[2], numbers[3]],
            priority: numbers[5],
        };
        Ok((job, numbers[4]))
    };
    let jobs = list(&vector["jobs"], "jobs")?.iter().map(job).collect::<Read<Vec<_>>>()?;
    let (jobs, deadlines): (Vec<UncertainJob>, Vec<i64>) = jobs.into_iter().unzip();
    let finish = finish_times(&jobs, VERTICES).map_err(|_| "too many vertices")?;
    same("finish", &expect["finish"], &json!(finish))?;
    let late: Vec<usize> = (0..jobs.len()).filter(|&j| finish[j][1] > deadlines[j]).collect();
    same("late", &expect["late"], &json!(late))
}
