//! Vectors of bounds for locks and self-suspension: kinds `one_cpu`, `partitioned` and `suspension`.
//!
//! Each term is compared, and so is the result of `check` for the policy with the protocol: the
//! verdict on deadlines, the deciding test, and the response times. A vector covers the protocols
//! that it names.

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::locks;
use super::verdict::Verdict;
use layland_analysis::locking::between::{
    Bounded, Rejected, Shared, Waits, dpcp, fmlp, mpcp, msrp,
};
use layland_analysis::locking::suspension::{self, Method};
use layland_analysis::locking::{self, Locker, Response, lockers, stack};
use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::{Verdict as Answer, catalogue};
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{CpuId, Duration, Service, Step, System, Task, TaskId};
use serde_json::{Value, json};

/// Runs a vector of one of these kinds.
pub(super) fn run(vector: &Value) -> Verdict {
    let differences = match vector["kind"].as_str() {
        Some("one_cpu") => one_cpu(vector),
        Some("partitioned") => partitioned(vector),
        _ => suspending(vector),
    };
    match differences {
        Ok(differences) if differences.is_empty() => Verdict::Passed,
        Ok(differences) => Verdict::Failed(differences.join("; ")),
        Err(what) => Verdict::Failed(what),
    }
}

type Differences = Vec<String>;

fn compare(what: &str, found: &Value, wanted: &Value, differences: &mut Differences) {
    if found != wanted {
        differences.push(format!("{what} are {found}, and expected are {wanted}"));
    }
}

/// Returns values in the order of the system. The list has them from the highest priority down.
fn in_order(tasks: &[Locker], values: impl IntoIterator<Item = Option<i64>>) -> Value {
    let mut pairs: Vec<(TaskId, Option<i64>)> =
        tasks.iter().map(|task| task.id).zip(values).collect();
    pairs.sort_by_key(|&(id, _)| id);
    pairs.into_iter().map(|(_, value)| json!(value)).collect()
}

fn found(responses: &[Response]) -> impl Iterator<Item = Option<i64>> + '_ {
    responses.iter().map(|response| response.ok())
}

/// Checks that the test of this name decides with a *yes* if the reference accepts.
fn checked(
    spec: &str,
    tests: &[&str],
    system: &System,
    expected: &Value,
    differences: &mut Differences,
) {
    let options = AssessOptions {
        tests: tests.iter().map(|&test| test.to_owned()).collect(),
        ..AssessOptions::by_tests()
    };
    let Ok(found) = assess(crate::registry(), spec, system, &options) else {
        return differences.push(format!("there is no {spec}"));
    };
    let accepts = expected["schedulable"].as_bool() == Some(true);
    let wanted = if accepts { Answer::Yes } else { Answer::Unknown };
    if found.refused.is_some() || found.verdict != wanted {
        differences.push(format!("{spec} is {:?}: {:?}", found.verdict, found.reasons));
    }
    if accepts && expected["response"].is_array() {
        let bound = |bound: &Bound| match bound {
            Bound::Response { within, .. } => json!(within.ns()),
            Bound::Tardiness { .. } | Bound::Unknown => Value::Null,
        };
        let bounds: Value = found.bounds.values().map(bound).collect();
        compare(&format!("the bounds of {spec}"), &bounds, &expected["response"], differences);
    }
}

fn one_cpu(vector: &Value) -> Result<Differences, String> {
    let (system, expected) = (locks::system(vector)?, &vector["expected"]);
    let tasks = lockers(&system, PriorityOrder::Given);
    let mut differences = Vec::new();
    let mut of_protocol = |name: &str, B: &[i64], R: &[Response]| {
        let Some(expected) = expected.get(name) else { return };
        let blocking = in_order(&tasks, B.iter().map(|&B| Some(B)));
        compare(&format!("blocking of {name}"), &blocking, &expected["blocking"], &mut differences);
        let responses = in_order(&tasks, found(R));
        compare(
            &format!("responses of {name}"),
            &responses,
            &expected["response"],
            &mut differences,
        );
    };
    let (pip, pcp) = (locking::inheritance(&tasks), locking::ceiling(&tasks));
    of_protocol("pip", &pip, &locking::responses(&tasks, &pip));
    of_protocol("pcp", &pcp, &locking::ceiling_responses(&tasks));
    of_protocol("pcp_suspending", &pcp, &locking::ceiling_responses(&tasks));
    if let Some(wanted) = expected.get("pip_matching") {
        let best = locking::inheritance_assigned(&tasks).into_iter().map(Some);
        compare("the best choices", &in_order(&tasks, best), wanted, &mut differences);
    }
    for (name, specs) in [
        ("pip", ["p-fp:locks=pip"].as_slice()),
        ("pcp", &["p-fp:locks=pcp", "p-fp:locks=ipcp"]),
        ("pcp_suspending", &["p-fp:locks=pcp", "p-fp:locks=ipcp"]),
    ] {
        let Some(expected) = expected.get(name) else { continue };
        for spec in specs {
            checked(spec, &["PIP-RTA", "PCP-RTA"], &system, expected, &mut differences);
        }
    }
    if let Some(expected) = expected.get("srp_edf") {
        let fails_at =
            match stack::demand_and_blocking(&tasks).map_err(|error| error.to_string())? {
                stack::Stacked::Met => Value::Null,
                stack::Stacked::Fails { t, .. } => json!(t),
                stack::Stacked::Overload => json!("overload"),
            };
        compare("failing instants", &fails_at, &expected["fails_at"], &mut differences);
        checked("p-edf:locks=srp", &["SRP"], &system, expected, &mut differences);
    }
    Ok(differences)
}

fn partitioned(vector: &Value) -> Result<Differences, String> {
    let (system, expected) = (locks::system(vector)?, &vector["expected"]);
    let tasks = || lockers(&system, PriorityOrder::Given);
    let shared = Shared::new(tasks());
    let mut differences = Vec::new();
    let mut compared = 0;
    let mut columns = |name: &str, found: &[(&str, Option<Value>)], test: &str, spec: &str| {
        let Some(expected) = expected.get(name) else { return };
        compared += 1;
        for (column, found) in found {
            let found = found.clone().unwrap_or(Value::Null);
            compare(&format!("{column} of {name}"), &found, &expected[*column], &mut differences);
        }
        checked(spec, &[test], &system, expected, &mut differences);
    };
    let numbers = |values: Vec<i64>| in_order(&shared.tasks, values.into_iter().map(Some));
    let suspended = |bounded: Result<Bounded<Waits>, Rejected>| {
        let bounded = bounded.ok();
        let of = |value: fn(&Waits) -> i64| {
            bounded.as_ref().map(|found| numbers(found.waits.iter().map(value).collect()))
        };
        let response = bounded.as_ref().map(|found| numbers(found.response.clone()));
        [
            ("response", response),
            ("remote", of(|waits| waits.remote)),
            ("local", of(|waits| waits.local)),
            ("ceiling", of(|waits| waits.ceiling)),
        ]
    };
    columns("mpcp", &suspended(mpcp::bounds(&shared)), "MPCP", "p-fp:locks=mpcp");
    columns("fmlp+", &suspended(fmlp::bounds(&shared)), "FMLP+", "p-fp:locks=fmlp+");
    if expected.get("dpcp").is_some() {
        let home: Option<Vec<CpuId>> =
            system.resources.iter().map(|resource| resource.home).collect();
        let home = home.ok_or("a resource has no home")?;
        let at_home = dpcp::shared(tasks(), &home);
        columns("dpcp", &suspended(dpcp::bounds(&at_home, &home)), "DPCP", "p-fp:locks=dpcp");
    }
    for (name, counting, test) in [
        ("msrp", msrp::Counting::Classic, "MSRP"),
        ("msrp_holistic", msrp::Counting::Holistic, "MSRP-HOLISTIC"),
    ] {
        let bounded = msrp::bounds(&shared, counting).ok();
        let of = |value: fn(&msrp::Spins) -> i64| {
            bounded.as_ref().map(|found| numbers(found.waits.iter().map(value).collect()))
        };
        let response = bounded.as_ref().map(|found| numbers(found.response.clone()));
        let found =
            [("response", response), ("spin", of(|w| w.spin)), ("arrival", of(|w| w.arrival))];
        columns(name, &found, test, "p-fp:locks=msrp");
    }
    if compared == 0 { Err("it names no protocol".to_owned()) } else { Ok(differences) }
}

fn suspending(vector: &Value) -> Result<Differences, String> {
    let rows = vector["tasks"].as_array().ok_or("there are no tasks")?;
    let task = |(at, row): (usize, &Value)| {
        let [c, s, t, d] = [0, 1, 2, 3].map(|field| row[field].as_i64());
        let c = Service::from_ns(c?);
        let period = Duration::from_ns(t?);
        let steps = [Step::Suspend(Duration::from_ns(s?)), Step::Run(c)];
        Some(Task {
            deadline: Duration::from_ns(d?),
            priority: Some(at as i64),
            steps: Some(steps.into()),
            ..Task::implicit(at.to_string(), c, period)
        })
    };
    let tasks: Option<Vec<Task>> = rows.iter().enumerate().map(task).collect();
    let system = System::new(1, tasks.ok_or("a task is not [C, S, T, D]")?);
    let tasks = lockers(&system, PriorityOrder::Given);
    let mut differences = Vec::new();
    for (name, method, test) in [
        ("oblivious", Method::Oblivious, Some("SUSP-OBL")),
        ("jitter_deadline", Method::DeadlineJitter, Some("SUSP-JITTER-D")),
        ("jitter_response", Method::ResponseJitter, Some("SUSP-JITTER-R")),
        ("blocking", Method::Blocking, Some("SUSP-BLOCK")),
        ("unified", Method::Unified, Some("SUSP-UNIFIED")),
        ("unsafe_jitter_s", Method::UnsafeJitter, None),
    ] {
        let wanted = &vector["expected"][name];
        let R = suspension::responses(method, &tasks);
        compare(name, &in_order(&tasks, found(&R)), wanted, &mut differences);
        let Some(test) = test else { continue };
        if catalogue::test(test).is_none() {
            differences.push(format!("there is no {test}"));
        }
        let all = wanted.as_array().is_some_and(|all| all.iter().all(Value::is_i64));
        let expected = json!({ "schedulable": all, "response": wanted });
        for spec in ["p-fp", "p-fp:locks=pcp", "p-fp:locks=mpcp"] {
            checked(spec, &[test], &system, &expected, &mut differences);
        }
        // An exact value is never above a bound.
        let last = wanted.as_array().and_then(|all| all.last()?.as_i64());
        if let (Some(exact), Some(bound)) = (vector["exact_lowest"].as_i64(), last)
            && exact > bound
        {
            differences.push(format!("{name} is {bound}, and {exact} is reached"));
        }
    }
    Ok(differences)
}
