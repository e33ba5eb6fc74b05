//! The vectors of an exact reference, which every run and every bound has to meet.

use layland_model::{Duration, Service, Time};
use layland_ros::bounds::{
    self, Load, SupplyBound, busy_window, casini_chain, iterate, round_robin,
};
use layland_ros::{Callback, CallbackKind, Executor, ExecutorKind, Supply, Timers, simulate};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn vectors(name: &str) -> Vec<Value> {
    let file = format!("../layland-testkit/vectors/ros2/{name}.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(path).expect("the vectors are there");
    serde_json::from_str(&text).expect("the vectors are JSON")
}

pub(crate) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn times(value: &Value) -> Vec<Time> {
    value.as_array().into_iter().flatten().map(|at| Time::from_ns(number(at))).collect()
}

fn index(value: &Value) -> usize {
    usize::try_from(number(value)).expect("an index")
}

fn executor(vector: &Value) -> Executor {
    let timers = match vector["timers"].as_str() {
        Some("live") => Timers::Live,
        Some("snapshot") => Timers::Snapshot,
        other => panic!("timers {other:?}"),
    };
    let kind = match vector["executor"].as_str() {
        Some("default") => ExecutorKind::Default(timers),
        Some("events-fifo") => ExecutorKind::EventsFifo,
        Some("events-edf") => ExecutorKind::EventsEdf,
        Some("events-fp") => ExecutorKind::EventsFp,
        Some("multi") => ExecutorKind::Multi { timers, threads: index(&vector["threads"]) },
        other => panic!("executor {other:?}"),
    };
    let callbacks = vector["callbacks"].as_array().expect("callbacks").iter().enumerate();
    let callbacks = callbacks.map(|(at, one)| {
        let kind = CallbackKind::ALL.into_iter().find(|kind| one["kind"] == kind.name());
        let wcet = Service::from_ns(number(&one["wcet"]));
        let next = one["next"].as_array().into_iter().flatten().map(index);
        Callback {
            group: one.get("group").map(index),
            reentrant: one["reentrant"] == true,
            deadline: one.get("deadline").map(|deadline| Duration::from_ns(number(deadline))),
            priority: one.get("priority").map(number),
            ..Callback::new(at.to_string(), kind.expect("a kind"), wcet).then(next)
        }
    });
    let supply = vector.get("supply").map_or(Supply::Always, |all| {
        let all = all.as_array().expect("supply").iter().map(times);
        Supply::Intervals(all.map(|pair| (pair[0], pair[1])).collect())
    });
    Executor::new(kind, callbacks.collect()).supplied(supply)
}

#[test]
fn every_run_is_that_of_the_reference() {
    let vectors = vectors("ros2-runtime");
    assert_eq!(vectors.len(), 11);
    for vector in vectors {
        let executor = executor(&vector);
        let arrivals: Vec<Vec<Time>> =
            vector["arrivals"].as_array().expect("arrivals").iter().map(times).collect();
        let record = simulate(&executor, &arrivals, |at, _| executor.callbacks[at].wcet);
        let jobs: Vec<Value> = record
            .jobs
            .iter()
            .map(|job| {
                let [activation, origin, start, finish] =
                    [job.activation, job.origin, job.start, job.finish].map(Time::ns);
                json!([job.callback, job.number, activation, origin, start, finish, job.thread])
            })
            .collect();
        let polls: Vec<i64> = record.polls.iter().map(|at| at.ns()).collect();
        let seen = json!({ "jobs": jobs, "polls": polls });
        assert_eq!(seen, vector["expected"], "{}", vector["name"]);
        assert_eq!(record.waiting, 0, "{}", vector["name"]);
    }
}

fn load(one: &Value) -> Load {
    let [wcet, period, jitter] = ["wcet", "period", "jitter"].map(|key| number(&one[key]));
    Load {
        wcet: Service::from_ns(wcet),
        period: Duration::from_ns(period),
        jitter: Duration::from_ns(jitter),
        polled: one["kind"] == "polled",
    }
}

#[test]
fn every_bound_is_that_of_the_reference() {
    let vectors = vectors("ros2-analysis");
    assert_eq!(vectors.len(), 6);
    for vector in vectors {
        let [period, budget] =
            ["period", "budget"].map(|key| Duration::from_ns(number(&vector["supply"][key])));
        let supply = SupplyBound::server(period, budget).expect("a server");
        let limit = Duration::from_ns(number(&vector["limit"]));
        let loads: Vec<Load> =
            vector["callbacks"].as_array().expect("callbacks").iter().map(load).collect();
        let casini = |at: usize| {
            let others = |keep: &dyn Fn(usize) -> bool| -> Vec<Load> {
                (0..loads.len()).filter(|&one| keep(one)).map(|one| loads[one]).collect()
            };
            if loads[at].polled {
                let others = others(&|one| one != at);
                return bounds::casini_polled(loads[at], &others, supply, limit);
            }
            let before = others(&|one| one < at && !loads[one].polled);
            let after = others(&|one| one != at && (loads[one].polled || one > at));
            let longest = after.iter().map(|one| one.wcet).max().unwrap_or(Service::ZERO);
            bounds::casini_timer(loads[at], &before, longest, supply, limit)
        };
        let ns = |bound: Option<Duration>| bound.map(Duration::ns);
        let all = |bounds: Option<Vec<Duration>>| {
            bounds.map(|all| all.into_iter().map(Duration::ns).collect::<Vec<_>>())
        };
        let casini: Vec<Option<i64>> = (0..loads.len()).map(|at| ns(casini(at))).collect();
        let part = |wcet: &Value| Load { wcet: Service::from_ns(number(wcet)), ..loads[0] };
        let chain: Vec<Load> =
            vector["chain"]["wcets"].as_array().expect("a chain").iter().map(part).collect();
        let others = vector["chain"]["others"].as_array().expect("others").iter();
        let others: Vec<Load> = others.map(|at| loads[index(at)]).collect();
        let (last, prefix) = chain.split_last().expect("a chain");
        let seen = json!({
            "casini": casini,
            "rr": all(iterate(&loads, round_robin, supply, limit)),
            "bw": all(iterate(&loads, busy_window, supply, limit)),
            "fifo": ns(bounds::fifo(&loads, supply, limit)),
            "chain": ns(casini_chain(*last, prefix, &others, supply, limit)),
        });
        assert_eq!(seen, vector["expected"], "{}", vector["name"]);
    }
}
