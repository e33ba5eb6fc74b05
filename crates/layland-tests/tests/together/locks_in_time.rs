//! No job takes longer than the bounds for locks and self-suspension allow: in simulations of
//! accepted sets, and in every state of small sets.
//!
//! The long form is `CASES=20000 cargo test -p layland-tests --test together locks_in_time`.

use layland_analysis::Verdict;
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Protocol, Resource, ResourceId, Separation,
    Service, Step, System, Task, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::locks::{Every, every};
use layland_testkit::registry;
use layland_trace::Trace;
use std::collections::BTreeMap;

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(600)
}

/// The features for which a protocol has a bound.
struct Shape {
    cpus: i64,
    /// True if sections may be nested.
    nested: bool,
    /// True if jobs may suspend themselves.
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

/// The kind of sets to draw.
#[derive(Clone, Copy)]
struct Draw {
    protocol: Protocol,
    /// Jobs have sections. With plain locks each task has a separate resource, because only this
    /// case has a bound.
    locks: bool,
    /// Few tasks with short times, so that a search can visit every state.
    small: bool,
}

/// Draws steps that begin and end with any step: sections of one unit and more, suspensions between
/// them and, with plain locks, within them.
fn steps(random: &mut Random, draw: Draw, own: i64) -> Vec<Step> {
    let Draw { protocol, locks, small } = draw;
    let Shape { nested, suspends, .. } = shape(protocol);
    let is_plain = protocol == Protocol::Plain;
    let run = |length: i64| Step::Run(Service::from_ns(length));
    let sleep = |length: i64| Step::Suspend(Duration::from_ns(length));
    let one_in = |random: &mut Random, count: i64| random.between(1, count) == 1;
    let (long, wait) = if small { (2, 2) } else { (4, 6) };
    let mut steps = Vec::new();
    if !one_in(random, 4) {
        steps.push(run(random.between(1, 2)));
    }
    let sections = if locks { random.between(0, 2) } else { 0 };
    for _ in 0..sections {
        let outer = if is_plain { own } else { random.between(0, 1) };
        let (outer, inner) = (ResourceId(outer as u32), ResourceId(outer as u32 + 1));
        steps.push(Step::Lock(outer));
        let is_nested = nested && one_in(random, 3);
        if !(is_nested && one_in(random, 2)) {
            steps.push(run(random.between(1, long)));
        }
        if is_nested {
            steps.extend([
                Step::Lock(inner),
                run(random.between(1, long - 1)),
                Step::Unlock(inner),
            ]);
        }
        if is_plain && suspends && one_in(random, 3) {
            steps.push(sleep(random.between(0, wait)));
        }
        steps.push(Step::Unlock(outer));
        match random.between(0, 3) {
            0 => {}
            1 if suspends => steps.push(sleep(random.between(0, wait))),
            _ => steps.push(run(1)),
        }
    }
    while suspends && one_in(random, 3) {
        steps.push(sleep(random.between(0, wait)));
        if one_in(random, 2) {
            steps.push(run(1));
        }
    }
    if !steps.iter().any(|step| matches!(step, Step::Run(_))) {
        steps.insert(0, run(1));
    }
    steps
}

fn system(random: &mut Random, draw: Draw) -> System {
    let Draw { protocol, small, .. } = draw;
    let cpus = shape(protocol).cpus;
    let count = match (small, cpus) {
        (true, 1) => random.between(2, 3),
        (true, _) => random.between(2, 4),
        (false, 1) => random.between(2, 4),
        (false, _) => random.between(2, 6),
    };
    let task = |at: i64| {
        let steps = steps(random, draw, at);
        let length = |step: &Step| match *step {
            Step::Run(length) => length.ns(),
            Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => 0,
        };
        let c = steps.iter().map(length).sum::<i64>();
        let period = if small {
            random.between(c + 2, 2 * c + 8)
        } else {
            random.between(3 * c, 6 * c + 20)
        };
        let gap = Duration::from_ns(random.between(0, 1) * random.between(1, 9));
        Task {
            priority: Some(random.between(0, 3)),
            affinity: Some(CpuSet::single(CpuId(random.between(0, cpus - 1) as u32))),
            offset: Duration::from_ns(random.between(0, 9)),
            deadline: Duration::from_ns(random.between(2 * period / 3, period)),
            behaviour: Behaviour::Sporadic(Separation::Uniform { max: gap }),
            execution: match random.between(0, 2) {
                0 if !small => {
                    ExecutionModel::Uniform { min: Service::from_ns(1), max: Service::from_ns(c) }
                }
                _ => ExecutionModel::Wcet,
            },
            steps: Some(steps.into()),
            ..Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(period))
        }
    };
    let mut system = System::new(cpus as usize, (0..count).map(task).collect());
    let home = |cpu| Some(CpuId(cpu as u32));
    let resource = |at: i64| Resource { name: format!("r{at}"), home: home(at % cpus) };
    system.resources = (0..6).map(resource).collect();
    system
}

fn order(protocol: Protocol, case: u64) -> &'static str {
    match (protocol, case % 4) {
        (Protocol::Stack, _) | (Protocol::Plain, 3) => "p-edf",
        (_, 0) => "p-rm",
        (_, 1) => "p-dm",
        _ => "p-fp",
    }
}

#[test]
fn no_job_takes_longer_than_its_bound() {
    let mut accepted: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for case in 0..cases() {
        for protocol in Protocol::ALL {
            let random = &mut Random::of_task(case, protocol as u64);
            let locks = protocol != Protocol::Plain || case % 4 == 0;
            let system = system(random, Draw { protocol, locks, small: false });
            assert_eq!(system.validate(), []);
            let order = order(protocol, case);
            let spec = format!("{order}:locks={}", protocol.abbreviation());
            // The results of every accepting test are checked, not only those of the first one.
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

/// No reachable state of a small set contradicts a verdict or a bound, for any arrivals. Some
/// bounds are reached exactly, so they could be exceeded.
#[test]
fn no_state_contradicts_a_verdict_or_a_bound() {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for case in 0..cases() / 5 {
        for protocol in Protocol::ALL {
            let random = &mut Random::of_task(1_000_000 + case, protocol as u64);
            let locks = protocol != Protocol::Plain || case % 4 == 0;
            let system = system(random, Draw { protocol, locks, small: true });
            let spec = format!("{}:locks={}", order(protocol, case), protocol.abbreviation());
            let rule = registry().build(&spec, &system).unwrap().rule();
            let found =
                assess(registry(), &spec, &system, &AssessOptions::of_every_test()).unwrap();
            let tally = tallies.entry(protocol.abbreviation()).or_default();
            match every(&system, &rule, 20_000) {
                Every::Meets(longest) => {
                    assert_ne!(found.verdict, Verdict::No, "{spec}, case {case}: {system:#?}");
                    tally.accepted += u64::from(found.verdict == Verdict::Yes);
                    tally.unknown += u64::from(found.verdict == Verdict::Unknown);
                    for ((id, bound), longest) in found.bounds.iter().zip(longest) {
                        let Bound::Response { within, by, .. } = bound else { continue };
                        assert!(
                            longest <= within.ns(),
                            "{spec}, case {case}: {by} {within}, {longest} ns of {id}: {system:#?}"
                        );
                        tally.met += u64::from(longest == within.ns());
                    }
                }
                Every::Misses(task) => {
                    assert_ne!(
                        found.verdict,
                        Verdict::Yes,
                        "{spec}, case {case}: {task} {system:#?}"
                    );
                    tally.late += 1;
                }
                Every::GaveUp => tally.gave_up += 1,
            }
        }
    }
    println!("{tallies:#?}");
    let enough = cases() / 50;
    for (protocol, tally) in &tallies {
        assert!(tally.accepted > enough && tally.gave_up < tally.accepted, "{protocol}: {tally:?}");
        assert!(tally.met > enough || *protocol == "srp", "{protocol}: {tally:?}");
    }
}

/// The findings of the search on small sets.
#[derive(Debug, Default)]
struct Tally {
    /// The set is accepted, and no job is ever late.
    accepted: u64,
    /// The set is neither accepted nor rejected, and no job is ever late.
    unknown: u64,
    /// A job is late in some run.
    late: u64,
    gave_up: u64,
    /// Bounds that a job reaches.
    met: u64,
}
