//! No chain of a simulation takes longer than its bound, and under logical execution time some
//! chains reach it. So no run exceeds a constraint with the verdict yes, and every long run exceeds
//! one with the verdict no.
//!
//! The long form is
//! `CASES=20000 cargo test -p layland-tests --test together chains:: -- --nocapture`. It reports
//! how near the chains come to their bounds.

use layland_analysis::{TestKind, Verdict};
use layland_gen::Random;
use layland_guarantee::{AssessOptions, assess, chain_bounds};
use layland_model::{
    Chain, Communication, CpuId, CpuSet, Duration, ExecutionModel, Service, System, Task, TaskId,
    Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Chained;
use std::collections::BTreeMap;

const POLICIES: [&str; 4] = ["p-rm", "p-dm", "p-edf", "g-edf"];
const PERIODS: [i64; 6] = [4, 6, 8, 12, 16, 24];

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(500)
}

/// Draws two to five periodic tasks with offsets and early ends on one or two CPUs, and a chain of
/// each communication.
fn system(random: &mut Random) -> System {
    let cpus = random.between(1, 2);
    let tasks = (0..random.between(2, 5)).map(|index| {
        let period = PERIODS[random.between(0, 5) as usize];
        let wcet = random.between(1, (period / 3).max(1));
        Task {
            offset: Duration::from_ns(random.between(0, period - 1)),
            affinity: Some(CpuSet::single(CpuId(random.between(0, cpus - 1) as u32))),
            execution: match random.between(0, 1) {
                0 => ExecutionModel::Wcet,
                _ => ExecutionModel::Uniform {
                    min: Service::from_ns(1),
                    max: Service::from_ns(wcet),
                },
            },
            ..Task::implicit(index.to_string(), Service::from_ns(wcet), Duration::from_ns(period))
        }
    });
    let mut system = System::new(cpus as usize, tasks.collect());
    let count = system.tasks.len() as i64;
    for communication in Communication::ALL {
        let mut tasks: Vec<TaskId> = Vec::new();
        for _ in 0..random.between(1, 4) {
            let next = TaskId(random.between(0, count - 1) as u32);
            if tasks.last() != Some(&next) {
                tasks.push(next);
            }
        }
        // The bounds are often a few periods per task, so that some are within this and some are not.
        let most = 50 * tasks.len() as i64;
        let mut constraint = || Some(Duration::from_ns(random.between(1, most)));
        system.chains.push(Chain {
            max_reaction: constraint(),
            max_age: constraint(),
            ..Chain::new(communication.name(), tasks, communication)
        });
    }
    system
}

#[test]
fn no_chain_takes_longer_than_its_bound() {
    // The largest observed share of the bound, in thousandths.
    let (mut held, mut reached) = (BTreeMap::<(&str, &str, &str), Vec<i64>>::new(), 0);
    let mut judged = BTreeMap::<(&str, &str), u64>::new();
    for case in 0..cases() {
        let random = &mut Random::of_task(case, 2);
        let mut system = system(random);
        assert_eq!(system.validate(), []);
        for spec in POLICIES {
            if spec == "g-edf" {
                system.tasks.values_mut().for_each(|task| task.affinity = None);
            }
            let found = assess(registry(), spec, &system, &AssessOptions::of_every_test()).unwrap();
            let Ok(policy) = registry().build(spec, &system) else { continue };
            let bounds = chain_bounds(&system, &policy.rule(), &found);
            let mut chained = Chained::new(&system);
            let options = SimOptions { seed: case, ..SimOptions::until(Time::from_ns(600)) };
            simulate(&system, policy, &mut chained, &options).unwrap();
            let figures = chained.figures(&system);
            for ((bound, seen), chain) in bounds.iter().zip(&figures).zip(&system.chains) {
                let latency = seen.latency;
                for of in latency.constrained_by(chain).into_iter().flatten() {
                    let verdict = bound.keeps(of.within);
                    let broken = match verdict {
                        Verdict::Yes => of.exceeding().is_some(),
                        Verdict::No => of.exceeding().is_none(),
                        Verdict::Unknown => false,
                    };
                    assert!(!broken, "{spec}, case {case}, {}: {verdict:?}, {of:?}", chain.name);
                    let way = chain.communication.name();
                    *judged.entry((way, verdict.name())).or_default() += 1;
                }
                let Ok(within) = bound.within else { continue };
                for (what, seen) in [("reaction", latency.reaction), ("age", latency.age)] {
                    let Some(seen) = seen else { continue };
                    assert!(
                        seen <= within,
                        "{spec}, case {case}, {}: {seen} above {within}: {system:#?}",
                        chain.name
                    );
                    let of = held.entry((spec, chain.communication.name(), what)).or_default();
                    of.push(seen.ns() * 1000 / within.ns());
                    reached += u64::from(bound.kind == TestKind::Exact && seen == within);
                }
            }
        }
    }
    for (of, shares) in &mut held {
        shares.sort_unstable();
        let (largest, half) = (shares[shares.len() - 1], shares[shares.len() / 2]);
        println!("{of:?}: {} held, largest {largest}, half from {half} per mille", shares.len());
    }
    let counts: BTreeMap<_, u64> = held.iter().map(|(of, all)| (*of, all.len() as u64)).collect();
    assert_eq!(counts.len(), 4 * POLICIES.len(), "{counts:?}");
    assert!(counts.values().all(|&held| held > cases() / 20), "{counts:?}");
    assert!(reached > cases() / 10, "{reached} of {counts:?}");
    println!("{judged:?}");
    // Bounds under implicit communication need not be reached, so that they never say no.
    assert_eq!(judged.len(), 5, "{judged:?}");
    assert!(judged.values().all(|&count| count > cases() / 10), "{judged:?}");
}
