//! No job of a simulation takes longer than the bounds for locks and self-suspension allow, in sets that are accepted.
//!
//! `CASES=20000 cargo test -p layland-tests --test together locks_in_time` for the long form.

use layland_analysis::Verdict;
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Protocol, Resource, ResourceId, Separation,
    Service, Step, System, Task, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Trace;
use std::collections::BTreeMap;

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(600)
}

/// What each protocol has a bound for.
struct Shape {
    cpus: i64,
    /// Whether sections may be within each other, and jobs suspend themselves.
    nested: bool,
    suspends: bool,
}

fn shape(protocol: Protocol) -> Shape {
    match protocol {
        Protocol::Plain => Shape { cpus: 1, nested: false, suspends: true },
        Protocol::Inheritance | Protocol::Stack => Shape { cpus: 1, nested: true, suspends: false },
        Protocol::Ceiling | Protocol::ImmediateCeiling => {
            Shape { cpus: 1, nested: true, suspends: true }
        }
        Protocol::Mpcp | Protocol::Dpcp | Protocol::FmlpPlus => {
            Shape { cpus: 2, nested: false, suspends: true }
        }
        Protocol::Msrp => Shape { cpus: 2, nested: false, suspends: false },
    }
}

fn steps(random: &mut Random, protocol: Protocol) -> Vec<Step> {
    let Shape { nested, suspends, .. } = shape(protocol);
    let run = |length: i64| Step::Run(Service::from_ns(length));
    let mut steps = vec![run(random.between(1, 2))];
    // Without locks there is something to say of plain ones, too.
    let sections = if protocol == Protocol::Plain { 0 } else { random.between(0, 2) };
    for _ in 0..sections {
        let outer = random.between(0, 1);
        steps.extend([Step::Lock(ResourceId(outer as u32)), run(random.between(1, 4))]);
        if nested && random.between(0, 2) == 0 {
            let inner = ResourceId(outer as u32 + 1);
            steps.extend([Step::Lock(inner), run(random.between(1, 3)), Step::Unlock(inner)]);
        }
        steps.extend([Step::Unlock(ResourceId(outer as u32)), run(1)]);
    }
    if suspends && random.between(0, 2) == 0 {
        let length = Duration::from_ns(random.between(1, 6));
        steps.extend([Step::Suspend(length), run(1)]);
    }
    steps
}

fn system(random: &mut Random, protocol: Protocol) -> System {
    let cpus = shape(protocol).cpus;
    let count = random.between(2, if cpus == 1 { 4 } else { 6 });
    let task = |at: i64| {
        let steps = steps(random, protocol);
        let length = |step: &Step| match *step {
            Step::Run(length) => length.ns(),
            Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => 0,
        };
        let c = steps.iter().map(length).sum::<i64>();
        let period = random.between(3 * c, 6 * c + 20);
        let gap = Duration::from_ns(random.between(0, 1) * random.between(1, 9));
        Task {
            priority: Some(random.between(0, 3)),
            affinity: Some(CpuSet::single(CpuId(random.between(0, cpus - 1) as u32))),
            offset: Duration::from_ns(random.between(0, 9)),
            deadline: Duration::from_ns(random.between(2 * period / 3, period)),
            behaviour: Behaviour::Sporadic(Separation::Uniform { max: gap }),
            execution: match random.between(0, 2) {
                0 => ExecutionModel::Uniform { min: Service::from_ns(1), max: Service::from_ns(c) },
                _ => ExecutionModel::Wcet,
            },
            steps: Some(steps.into()),
            ..Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(period))
        }
    };
    let mut system = System::new(cpus as usize, (0..count).map(task).collect());
    let home = |cpu| Some(CpuId(cpu as u32));
    let resource = |at: i64| Resource { name: format!("r{at}"), home: home(at % cpus) };
    system.resources = (0..3).map(resource).collect();
    system
}

#[test]
fn no_job_takes_longer_than_its_bound() {
    let mut accepted: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for case in 0..cases() {
        for protocol in Protocol::ALL {
            let random = &mut Random::of_task(case, protocol as u64);
            let system = system(random, protocol);
            assert_eq!(system.validate(), []);
            let order = match (protocol, case % 4) {
                (Protocol::Stack, _) | (Protocol::Plain, 3) => "p-edf",
                (_, 0) => "p-rm",
                (_, 1) => "p-dm",
                _ => "p-fp",
            };
            let spec = format!("{order}:locks={}", protocol.abbreviation());
            // Every test that accepts is held to what it says, and not the first alone.
            let found =
                assess(registry(), &spec, &system, &AssessOptions::of_every_test()).unwrap();
            assert!(found.refused.is_none(), "{spec}: {:?}", found.reasons);
            if found.verdict != Verdict::Yes {
                continue;
            }
            let is_edf = order == "p-edf";
            *accepted.entry((is_edf, protocol.abbreviation())).or_default() += 1;
            let policy = registry().build(&spec, &system).unwrap();
            let mut trace = Trace::default();
            let options = SimOptions { seed: case, ..SimOptions::until(Time::from_ns(3_000)) };
            simulate(&system, policy, &mut trace, &options).unwrap();
            for record in &trace.jobs {
                let Some(end) = record.completion() else { continue };
                let (task, response) = (record.job.id.task, end - record.job.arrival);
                let bound = match &found.bounds[task] {
                    Bound::Response { within, .. } => *within,
                    Bound::Tardiness { .. } | Bound::Unknown => system.tasks[task].deadline,
                };
                let limit = bound.min(system.tasks[task].deadline);
                assert!(
                    response <= limit,
                    "{spec}, case {case}: {response} of {task}: {system:#?}"
                );
            }
        }
    }
    let enough = cases() / 12;
    // Self-suspension under EDF, too.
    assert!(accepted.len() == Protocol::ALL.len() + 1, "{accepted:?}");
    assert!(accepted.values().all(|&accepted| accepted > enough), "{accepted:?}");
}
