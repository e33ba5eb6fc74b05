//! The highest-first policies against their slow twin and against a simulator that moves tick by tick. What
//! is true of every policy is in `every_policy.rs`.

use layland_checker::check;
use layland_model::{
    Algorithm, CpuId, Form, Order, Request, RequestKind, ScheduleRule, System, Time,
};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_testkit::strategies::{clustered, periodic_system};
use layland_testkit::ticks;
use layland_testkit::twin::SlowHighestFirst;
use layland_trace::Trace;
use proptest::prelude::*;

/// Every policy that runs the first jobs of each group of CPUs, with its order, and the system as it needs
/// it. The twins of the others are in `affinity.rs`.
fn cases(system: &System) -> Vec<(Algorithm, Order, System)> {
    let mut cases = Vec::new();
    for order in Order::ALL {
        for form in [Form::Global, Form::Partitioned] {
            cases.push((Algorithm::Ordered(form, order), order, system.clone()));
        }
        let clusters = clustered(system.clone(), 2);
        cases.push((Algorithm::Ordered(Form::Clustered, order), order, clusters));
    }
    cases
}

fn run<P: Policy>(system: &System, policy: P, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

const HORIZON: Time = Time::from_ns(120);

/// Partitioned policies refuse what they cannot pack; the others take every system.
fn build(algorithm: Algorithm, system: &System) -> Option<Box<dyn Policy>> {
    match registry().build(&algorithm.to_string(), system) {
        Ok(policy) => Some(policy),
        Err(error) => {
            let is_partitioned = matches!(algorithm, Algorithm::Ordered(Form::Partitioned, _));
            assert!(is_partitioned, "{algorithm}: {error}");
            None
        }
    }
}

fn assert_clean(trace: &Trace, system: &System, rule: &ScheduleRule, what: &str) {
    let report = check(trace, system, rule, 5);
    assert!(report.is_clean(), "{what}: {report}\n{system:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn twins_make_the_same_schedule(system in periodic_system()) {
        for (algorithm, order, system) in cases(&system) {
            let Some(policy) = build(algorithm, &system) else { continue };
            let rule = policy.rule();
            let fast = run(&system, policy, &SimOptions::until(HORIZON));
            let twin = SlowHighestFirst::of(&system, &rule, order);
            let slow = run(&system, twin, &SimOptions::until(HORIZON));
            prop_assert_eq!(&fast, &slow, "{} differs from its twin", algorithm);
            assert_clean(&fast, &system, &rule, &algorithm.to_string());
        }
    }

    #[test]
    fn ticks_finish_the_same_jobs(system in periodic_system()) {
        for (algorithm, order, system) in cases(&system) {
            let Some(policy) = build(algorithm, &system) else { continue };
            let rule = policy.rule();
            let trace = run(&system, policy, &SimOptions::until(HORIZON));
            let mut events: Vec<ticks::Finished> = trace
                .jobs
                .iter()
                .filter_map(|record| Some(ticks::Finished {
                    finish: record.completion()?.ns(),
                    task: record.job.id.task,
                    seq: record.job.id.seq,
                    deadline: record.job.deadline.ns(),
                }))
                .collect();
            events.sort_unstable();
            prop_assert_eq!(events, ticks::simulate(&system, &rule, order, HORIZON), "{}", algorithm);
        }
    }

    #[test]
    fn twins_agree_while_cpus_come_and_go(
        system in periodic_system(),
        changes in prop::collection::vec((0i64..100, 0u32..4, any::<bool>()), 1..8),
    ) {
        for (algorithm, order, mut system) in cases(&system) {
            system.requests = changes
                .iter()
                .map(|&(at, cpu, online)| {
                    let cpu = CpuId(cpu % system.platform.cpu_count() as u32);
                    let kind = if online { RequestKind::CpuOnline(cpu) } else { RequestKind::CpuOffline(cpu) };
                    Request { at: Time::from_ns(at), kind }
                })
                .collect();
            system.requests.sort_by_key(|request| request.at);
            let Some(policy) = build(algorithm, &system) else { continue };
            let rule = policy.rule();
            let fast = run(&system, policy, &SimOptions::until(HORIZON));
            let slow = run(&system, SlowHighestFirst::of(&system, &rule, order), &SimOptions::until(HORIZON));
            prop_assert_eq!(&fast, &slow, "{} differs from its twin", algorithm);
            assert_clean(&fast, &system, &rule, &algorithm.to_string());
        }
    }
}
