//! Every policy of the registry that schedules jobs, on random systems: against the independent checker and
//! against a copy of itself; highest-first policies also against their slow twin and a simulator that moves
//! tick by tick.

use layland_checker::check;
use layland_model::{CpuId, Request, RequestKind, ScheduleRule, System, Time};
use layland_policy::{Policy, registry};
use layland_sim::{Horizon, Options, simulate, with_random_ranks};
use layland_testkit::logged::{Logged, first_divergence};
use layland_testkit::strategies::{clustered, masked, periodic_system, rich_system};
use layland_testkit::ticks;
use layland_testkit::twin::{Order, SlowHighestFirst};
use layland_trace::{Counters, Trace};
use proptest::prelude::*;

/// Every policy that schedules jobs with its order, and the system as it needs it.
fn cases(system: &System) -> Vec<(&'static str, Order, System)> {
    let of = |info: &registry::PolicyInfo| {
        let (family, order) = info.name.split_once('-')?;
        let order = match order {
            "edf" => Order::Edf,
            "rm" => Order::RateMonotonic,
            "dm" => Order::DeadlineMonotonic,
            "fp" => Order::Given,
            // Schedules threads: see tests/deadline.rs.
            "sp" => return None,
            other => panic!("which order has {other}?"),
        };
        let system = match family {
            "g" | "p" => system.clone(),
            "c" => clustered(system.clone(), 2),
            "hpa" => masked(system.clone(), true),
            "weak" | "strong" => masked(system.clone(), false),
            other => panic!("which systems does {other} take?"),
        };
        Some((info.name, order, system))
    };
    registry::POLICIES.iter().filter_map(of).collect()
}

/// Those that run the first jobs of each group; the twins of the others are in tests/affinity.rs.
fn highest_first_cases(system: &System) -> Vec<(&'static str, Order, System)> {
    cases(system).into_iter().filter(|(name, ..)| name.as_bytes()[1] == b'-').collect()
}

fn run<P: Policy>(system: &System, policy: P, options: &Options<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

const HORIZON: Time = Time::from_ns(120);

/// Partitioned policies refuse what they cannot pack; the others take every system.
fn build(name: &str, system: &System) -> Option<Box<dyn Policy>> {
    match registry::build(name, system) {
        Ok(policy) => Some(policy),
        Err(error) => {
            assert!(name.starts_with('p'), "{name}: {error}");
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
        for (name, order, system) in highest_first_cases(&system) {
            let Some(policy) = build(name, &system) else { continue };
            let rule = policy.rule();
            let fast = run(&system, policy, &Options::until(HORIZON));
            let twin = SlowHighestFirst::of(&system, &rule, order);
            let slow = run(&system, twin, &Options::until(HORIZON));
            prop_assert_eq!(&fast, &slow, "{} differs from its twin", name);
            assert_clean(&fast, &system, &rule, name);
        }
    }

    #[test]
    fn ticks_finish_the_same_jobs(system in periodic_system()) {
        for (name, order, system) in highest_first_cases(&system) {
            let Some(policy) = build(name, &system) else { continue };
            let rule = policy.rule();
            let trace = run(&system, policy, &Options::until(HORIZON));
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
            prop_assert_eq!(events, ticks::simulate(&system, &rule, order, HORIZON), "{}", name);
        }
    }

    #[test]
    fn twins_agree_while_cpus_come_and_go(
        system in periodic_system(),
        changes in prop::collection::vec((0i64..100, 0u32..4, any::<bool>()), 1..8),
    ) {
        for (name, order, mut system) in highest_first_cases(&system) {
            system.requests = changes
                .iter()
                .map(|&(at, cpu, online)| {
                    let cpu = CpuId(cpu % system.platform.cpu_count() as u32);
                    let kind = if online { RequestKind::CpuOnline(cpu) } else { RequestKind::CpuOffline(cpu) };
                    Request { at: Time::from_ns(at), kind }
                })
                .collect();
            system.requests.sort_by_key(|request| request.at);
            let Some(policy) = build(name, &system) else { continue };
            let rule = policy.rule();
            let fast = run(&system, policy, &Options::until(HORIZON));
            let slow = run(&system, SlowHighestFirst::of(&system, &rule, order), &Options::until(HORIZON));
            prop_assert_eq!(&fast, &slow, "{} differs from its twin", name);
            assert_clean(&fast, &system, &rule, name);
        }
    }

    #[test]
    fn rich_systems_are_clean_and_repeat(system in rich_system(), seed in any::<u64>()) {
        for (name, _, system) in cases(&system) {
            let Some(policy) = build(name, &system) else { continue };
            let rule = policy.rule();
            let options = Options { seed, ..Options::until(HORIZON) };
            let logged = Logged::new(policy.clone());
            let log = logged.log();
            let trace = run(&system, logged, &options);
            assert_clean(&trace, &system, &rule, name);
            prop_assert_eq!(&trace, &run(&system, policy.clone(), &options), "{} does not repeat", name);
            // A clone that is fed the same events takes the same actions, from the middle as well.
            let log = log.lock().unwrap();
            let mut copy = policy.clone();
            let (first, rest) = log.split_at(log.len() / 2);
            prop_assert_eq!(first_divergence(&mut copy, first), None);
            let mut other = copy.clone();
            prop_assert_eq!(first_divergence(&mut copy, rest), None);
            prop_assert_eq!(first_divergence(&mut other, rest), None);
        }
    }

    #[test]
    fn explored_orders_are_clean(system in rich_system(), seed in any::<u64>()) {
        let system = with_random_ranks(&system, seed);
        for (name, _, system) in cases(&system) {
            let Some(policy) = build(name, &system) else { continue };
            let rule = policy.rule();
            let options = Options { explore: Some(seed), ..Options::until(HORIZON) };
            let trace = run(&system, policy, &options);
            assert_clean(&trace, &system, &rule, name);
        }
    }

    #[test]
    fn overheads_slow_down_and_never_break_a_rule(system in periodic_system(), costs in prop::array::uniform6(0i64..3)) {
        for (name, _, mut system) in cases(&system) {
            let Some(policy) = build(name, &system) else { continue };
            let rule = policy.rule();
            let [release, scheduling, context_switch, migration, interrupt, tick] =
                costs.map(layland_model::Duration::from_ns);
            system.platform.overheads = layland_model::Overheads {
                release, scheduling, context_switch, migration, interrupt, tick,
                tick_period: layland_model::Duration::from_ns(7),
            };
            let trace = run(&system, policy, &Options::until(HORIZON));
            assert_clean(&trace, &system, &rule, name);
        }
    }

    #[test]
    fn a_found_cycle_repeats(system in periodic_system()) {
        for (name, _, system) in cases(&system) {
            let Some(policy) = build(name, &system) else { continue };
            // Those with affinities are many, and keep more state.
            let at_most = if name.as_bytes()[1] == b'-' { 200_000 } else { 2_000 };
            let horizon = Horizon::Recurrence { at_most: Time::from_ns(at_most) };
            let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
            let options = Options { horizon, ..Options::until(Time::ZERO) };
            let outcome = simulate(&system, policy.clone(), &mut counters, &options).unwrap();
            let Some(cycle) = outcome.cycle else { continue };
            let trace = run(&system, policy, &Options::until(cycle.from + 3 * cycle.length));
            // What executes in the first cycle executes in the second and in the third.
            let window = |index: i64| {
                let (from, to) = (cycle.from + index * cycle.length, cycle.from + (index + 1) * cycle.length);
                let mut busy: Vec<_> = trace
                    .segments
                    .iter()
                    .filter(|segment| segment.end > from && segment.start < to)
                    .map(|segment| {
                        let (start, end) = (segment.start.max(from), segment.end.min(to));
                        (segment.cpu, segment.job.task, start - from, end - from)
                    })
                    .collect();
                busy.sort_unstable();
                busy
            };
            prop_assert_eq!(window(0), window(1), "{} {:?}", name, cycle);
            prop_assert_eq!(window(0), window(2), "{} {:?}", name, cycle);
        }
    }
}

#[test]
fn an_underloaded_system_recurs() {
    use layland_model::{Duration, Service, Task};
    let task = |name: &str, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
    let system = System::new(2, vec![task("a", 1, 4), task("b", 2, 6), task("c", 3, 10)]);
    for info in registry::POLICIES.iter().filter(|info| !info.name.ends_with("fp")) {
        let policy = registry::build(info.name, &system).unwrap();
        let horizon = Horizon::Recurrence { at_most: Time::from_ms(1000) };
        let options = Options { horizon, ..Options::until(Time::ZERO) };
        let outcome = simulate(&system, policy, &mut Trace::default(), &options).unwrap();
        let cycle = outcome.cycle.expect("it recurs after a hyperperiod or two");
        // Which CPU is which may take more than one hyperperiod to recur.
        assert_eq!(cycle.length % Duration::from_ms(60), Duration::ZERO, "{}", info.name);
    }
}
