//! The bounds for locks and self-suspension, held to what an independent reference has computed: the vectors of
//! `layland-testkit/vectors/resources`.

#![expect(non_snake_case, reason = "symbols of the specification")]

use layland_analysis::locking::between::{
    Bounded, Rejected, Shared, Waits, dpcp, fmlp, mpcp, msrp,
};
use layland_analysis::locking::suspension::{self, Method};
use layland_analysis::locking::{Locker, Response, ceiling, ceiling_responses, inheritance};
use layland_analysis::locking::{inheritance_assigned, lockers, responses, stack};
use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::{SchedulabilityTest, Verdict, catalogue};
use layland_model::{
    CpuId, CpuSet, Duration, Resource, ResourceId, Service, Step, System, Task, TaskId,
};
use serde_json::Value;
use std::path::Path;

fn vectors(file: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../layland-testkit/vectors/resources");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn step(step: &Value) -> Step {
    let argument = number(&step[1]);
    match step[0].as_str() {
        Some("run") => Step::Run(Service::from_ns(argument)),
        Some("suspend") => Step::Suspend(Duration::from_ns(argument)),
        Some("lock") => Step::Lock(ResourceId(argument as u32)),
        Some("unlock") => Step::Unlock(ResourceId(argument as u32)),
        other => panic!("{other:?} is no step"),
    }
}

fn with_steps(name: String, steps: Vec<Step>, period: i64, deadline: i64) -> Task {
    let run = |step: &Step| match step {
        Step::Run(length) => length.ns(),
        Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => 0,
    };
    let c = steps.iter().map(run).sum();
    let mut task = Task::implicit(name, Service::from_ns(c), Duration::from_ns(period));
    task.deadline = Duration::from_ns(deadline);
    task.steps = Some(steps.into());
    task
}

fn system(of: &Value) -> System {
    let tasks = list(&of["tasks"]).iter().enumerate().map(|(at, task)| {
        let steps = list(&task["program"]).iter().map(step).collect();
        let (period, deadline) = (number(&task["period"]), number(&task["deadline"]));
        let mut read = with_steps(format!("t{at}"), steps, period, deadline);
        read.priority = Some(number(&task["priority"]));
        read.affinity = Some(CpuSet::single(CpuId(number(&task["cpu"]) as u32)));
        read
    });
    let mut read = System::new(number(&of["cpus"]) as usize, tasks.collect());
    let home = |q: usize| of["home"].get(q).map(|cpu| CpuId(number(cpu) as u32));
    let resource = |q| Resource { name: format!("r{q}"), home: home(q) };
    read.resources = (0..number(&of["resources"]) as usize).map(resource).collect();
    assert_eq!(read.validate(), []);
    read
}

/// Values of tasks in the order of the system.
fn in_order<T: Copy>(tasks: &[Locker], values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut pairs: Vec<(TaskId, T)> = tasks.iter().map(|task| task.id).zip(values).collect();
    pairs.sort_by_key(|&(id, _)| id);
    pairs.into_iter().map(|(_, value)| value).collect()
}

fn bounds(responses: &[Response]) -> Vec<Option<i64>> {
    responses.iter().map(|response| response.ok()).collect()
}

fn optional(value: &Value) -> Vec<Option<i64>> {
    list(value).iter().map(Value::as_i64).collect()
}

fn run(name: &str, system: &System) -> Verdict {
    let test: &SchedulabilityTest = catalogue::test(name).unwrap();
    let finding = test.run(system).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    let (again, bounds) = test.run_with_bounds_unchecked(system).unwrap();
    assert_eq!(finding, again);
    let analysis = catalogue::RESPONSES.iter().find(|analysis| analysis.name == name).unwrap();
    assert_eq!(analysis.run(system).unwrap(), bounds);
    if finding.verdict == Verdict::Yes {
        assert!(bounds.values().all(Option::is_some), "{name}");
    }
    finding.verdict
}

/// A verdict of a test, and whether the reference accepts.
fn agrees(name: &str, system: &System, schedulable: &Value) {
    let expected = if schedulable.as_bool().unwrap() { Verdict::Yes } else { Verdict::Unknown };
    assert_eq!(run(name, system), expected, "{name}");
}

#[test]
fn one_cpu() {
    let mut seen = 0;
    for vector in ["one_cpu.json", "worked.json", "ties.json"].iter().flat_map(|file| vectors(file))
    {
        if vector["kind"] != "one_cpu" {
            continue;
        }
        let name = &vector["name"];
        let (system, expected) = (system(&vector["system"]), &vector["expected"]);
        let tasks = lockers(&system, PriorityOrder::Given);
        let holds = |of: &Value, B: Vec<i64>, R: Vec<Response>| {
            assert_eq!(
                in_order(&tasks, B.into_iter().map(Some)),
                optional(&of["blocking"]),
                "{name}"
            );
            assert_eq!(in_order(&tasks, bounds(&R)), optional(&of["response"]), "{name}");
        };
        if let Some(pip) = expected.get("pip") {
            let B = inheritance(&tasks);
            holds(pip, B.clone(), responses(&tasks, &B));
            agrees("PIP-RTA", &system, &pip["schedulable"]);
            seen += 1;
        }
        for with_ceilings in ["pcp", "pcp_suspending"].iter().filter_map(|key| expected.get(key)) {
            holds(with_ceilings, ceiling(&tasks), ceiling_responses(&tasks));
            agrees("PCP-RTA", &system, &with_ceilings["schedulable"]);
            seen += 1;
        }
        if let Some(matching) = expected.get("pip_matching") {
            let B = inheritance_assigned(&tasks).into_iter().map(Some);
            assert_eq!(in_order(&tasks, B), optional(matching), "{name}");
            assert_ne!(run("PIP-MATCHING", &system), Verdict::No);
            seen += 1;
        }
        if let Some(srp) = expected.get("srp_edf") {
            let said = stack::demand_and_blocking(&tasks).unwrap();
            assert_eq!(
                said == stack::Stacked::Met,
                srp["schedulable"].as_bool().unwrap(),
                "{name}"
            );
            if let Some(t) = srp["fails_at"].as_i64() {
                assert!(matches!(said, stack::Stacked::Fails { t: at, .. } if at == t), "{name}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn between_cpus() {
    let mut seen = 0;
    for vector in
        ["partitioned.json", "worked.json", "ties.json"].iter().flat_map(|file| vectors(file))
    {
        if vector["kind"] != "partitioned" {
            continue;
        }
        let name = vector["name"].as_str().unwrap();
        let (system, expected) = (system(&vector["system"]), &vector["expected"]);
        let tasks = || lockers(&system, PriorityOrder::Given);
        let shared = Shared::new(tasks());
        let suspended = |key: &str, said: &dyn Fn() -> Result<Bounded<Waits>, Rejected>| {
            let Some(expected) = expected.get(key) else { return 0 };
            let column = |of: &dyn Fn(&Bounded<Waits>) -> Vec<i64>| {
                said().ok().map(|bounded| in_order(&shared.tasks, of(&bounded)))
            };
            let of_waits =
                |of: fn(&Waits) -> i64| column(&|bounded| bounded.waits.iter().map(of).collect());
            same(name, key, &expected["response"], column(&|bounded| bounded.response.clone()));
            same(name, key, &expected["remote"], of_waits(|waits| waits.remote));
            same(name, key, &expected["local"], of_waits(|waits| waits.local));
            same(name, key, &expected["ceiling"], of_waits(|waits| waits.ceiling));
            agrees(&key.to_uppercase(), &system, &expected["schedulable"]);
            1
        };
        seen += suspended("mpcp", &|| mpcp::bounds(&shared));
        seen += suspended("fmlp+", &|| fmlp::bounds(&shared));
        let homes: Option<Vec<CpuId>> = system.resources.iter().map(|of| of.home).collect();
        if let Some(homes) = homes {
            let at_home = dpcp::shared(tasks(), &homes);
            seen += suspended("dpcp", &|| dpcp::bounds(&at_home, &homes));
        }
        for (key, counting) in
            [("msrp", msrp::Counting::Classic), ("msrp_holistic", msrp::Counting::Holistic)]
        {
            let said = msrp::bounds(&shared, counting).ok();
            let column = |of: fn(&msrp::Spins) -> i64| {
                said.as_ref().map(|bounded| in_order(&shared.tasks, bounded.waits.iter().map(of)))
            };
            let expected = &expected[key];
            let responses =
                said.as_ref().map(|said| in_order(&shared.tasks, said.response.clone()));
            same(name, key, &expected["response"], responses);
            same(name, key, &expected["spin"], column(|waits| waits.spin));
            same(name, key, &expected["arrival"], column(|waits| waits.arrival));
            let test = key.to_uppercase().replace('_', "-");
            agrees(&test, &system, &expected["schedulable"]);
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
}

fn same(name: &str, protocol: &str, expected: &Value, said: Option<Vec<i64>>) {
    let expected: Option<Vec<i64>> =
        expected.as_array().map(|values| values.iter().map(number).collect());
    assert_eq!(said, expected, "{name}, {protocol}");
}

#[test]
fn self_suspension() {
    let mut seen = 0;
    for vector in vectors("suspension.json") {
        let task = |(at, task): (usize, &Value)| {
            let [c, s, t, d] = [0, 1, 2, 3].map(|field| number(&task[field]));
            let mut steps =
                vec![Step::Suspend(Duration::from_ns(s)), Step::Run(Service::from_ns(c))];
            steps.drain(..usize::from(s == 0));
            let priority = Some(at as i64);
            Task { priority, ..with_steps(format!("t{at}"), steps, t, d) }
        };
        let tasks = list(&vector["tasks"]).iter().enumerate().map(task);
        let system = System::new(1, tasks.collect());
        assert_eq!(system.validate(), []);
        let tasks = lockers(&system, PriorityOrder::Given);
        for (key, method, test) in [
            ("oblivious", Method::Oblivious, "SUSP-OBL"),
            ("jitter_deadline", Method::DeadlineJitter, "SUSP-JITTER-D"),
            ("jitter_response", Method::ResponseJitter, "SUSP-JITTER-R"),
            ("blocking", Method::Blocking, "SUSP-BLOCK"),
            ("unified", Method::Unified, "SUSP-UNIFIED"),
            ("unsafe_jitter_s", Method::UnsafeJitter, ""),
        ] {
            let said = bounds(&suspension::responses(method, &tasks));
            let expected = optional(&vector["expected"][key]);
            assert_eq!(said, expected, "{}, {key}", vector["name"]);
            if !test.is_empty() {
                let all = expected.iter().all(Option::is_some);
                agrees(test, &system, &Value::from(all));
                // What is known exactly is never above a bound that is offered.
                let exact = vector["exact_lowest"].as_i64();
                assert!(exact.is_none_or(|exact| said.last().unwrap().is_none_or(|R| exact <= R)));
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 42);
}
