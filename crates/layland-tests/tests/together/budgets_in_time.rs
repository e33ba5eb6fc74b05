//! CPUs of other speeds under policies with budgets: servers, mixed criticality, pieces of tasks and
//! threads with reservations have the answers of the set that is converted to time, and those that
//! count in time its schedule.

use crate::time_view::{converted, said, segments};
use layland_analysis::Verdict;
use layland_analysis::deadline::admission::{self, Limit};
use layland_gen::{Aspect, Random};
use layland_guarantee::Bound;
use layland_model::{
    CpuId, CpuSet, Duration, ExecutionModel, Rate, ScheduleRule, Service, Speed, SplitOrder,
    Splitting, System, Time,
};
use layland_offline::split;
use layland_sim::{SimOptions, simulate};
use layland_testkit::cases::on_random;
use layland_testkit::mixed::{SAFE, draw_run, draw_set};
use layland_testkit::registry;
use layland_testkit::served::with_servers;
use layland_testkit::split::draw as draw_split;
use layland_testkit::strategies::periodic_system;
use layland_trace::{Errno, Trace};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

fn speeds() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let one = prop_oneof![
        1 => Just((1i64, 1i64)),
        6 => (1i64..10, 1i64..10),
        1 => (200i64..1000, Just(1000)),
    ];
    prop::collection::vec(one, 4)
}

fn give_speeds(system: &mut System, speeds: &[(i64, i64)]) {
    for (speed, &(n, d)) in system.platform.speeds.values_mut().zip(speeds) {
        *speed = Speed::new(&Rate::new(n, d)).unwrap();
    }
}

/// Ties the tasks to CPUs of these speeds, in turn, and gives them room.
fn tied(mut system: System, speeds: &[(i64, i64)], factor: i64) -> System {
    give_speeds(&mut system, speeds);
    let cpus = system.platform.cpu_count();
    for (at, task) in system.tasks.values_mut().enumerate() {
        task.affinity = Some(CpuSet::single(CpuId((at % cpus) as u32)));
        let period = Duration::from_ns(task.period.ns() * factor);
        (task.period, task.deadline) =
            (period, Duration::from_ns(task.deadline.ns() * factor).min(period));
    }
    system
}

/// The numbers of verdicts by policy: unknown, no and yes, where the policy takes the set.
type Verdicts = BTreeMap<String, BTreeMap<Verdict, u32>>;

/// Compares the answers of a policy for a set and for the converted one.
fn compare(spec: &str, system: &System, counts: &mut Verdicts) -> Result<bool, TestCaseError> {
    let twin = converted(system);
    let (ours, theirs) = (said(spec, system), said(spec, &twin));
    let is_same = (ours.0, ours.2, &ours.3) == (theirs.0, theirs.2, &theirs.3);
    prop_assert!(is_same, "{spec}: {ours:?}, and converted {theirs:?}\n{system:?}");
    if ours.2 {
        return Ok(false);
    }
    *counts.entry(spec.to_owned()).or_default().entry(ours.0).or_default() += 1;
    let is_bounded = ours.3.iter().any(|bound| *bound != Bound::Unknown);
    Ok(ours.0 != Verdict::Unknown || is_bounded)
}

/// Asserts that each policy was compared on sets of each of these verdicts.
fn assert_seen(counts: &Verdicts, specs: &[&str], verdicts: &[Verdict], least: u32) {
    for spec in specs {
        let of = counts.get(*spec);
        for verdict in verdicts {
            let seen = of.and_then(|of| of.get(verdict)).copied().unwrap_or(0);
            assert!(seen >= least, "{spec}: {seen} sets are {verdict:?}: {counts:?}");
        }
    }
}

/// Runs a policy with the checker.
fn run(spec: &str, system: &System, until: i64) -> (Trace, ScheduleRule) {
    let policy = registry().build(spec, system).unwrap();
    let (rule, mut trace) = (policy.rule(), Trace::default());
    simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ns(until))).unwrap();
    let report = layland_checker::check(&trace, system, &rule, 3);
    assert!(report.is_clean(), "{spec}: {report}\n{system:?}");
    (trace, rule)
}

fn is_late(trace: &Trace) -> bool {
    trace.jobs.iter().any(|record| record.missed(trace.over))
}

const SERVED: [&str; 6] = ["ss", "ds", "ps", "ss:order=dm", "ds:order=fp", "ps:order=dm"];

#[test]
fn servers_are_those_of_the_converted_set() {
    let counts = RefCell::new(Verdicts::new());
    let draws = (periodic_system(), speeds(), prop::collection::vec(any::<u64>(), 8), 1i64..4);
    on_random(800, 150, draws, |(system, speeds, draws, factor)| {
        let system = with_servers(tied(system, &speeds, factor), &draws);
        let mut decided = false;
        for spec in SERVED {
            let twin = converted(&system);
            let too_long = |task: &layland_model::Task| {
                task.budget.is_some_and(|budget| budget.at_unit_speed() > task.period)
            };
            if twin.tasks.values().any(too_long) {
                // The policy refuses these, and as a set of unit speed this one is invalid.
                prop_assert!(said(spec, &system).2, "{spec}: {system:?}");
                continue;
            }
            decided |= compare(spec, &system, &mut counts.borrow_mut())?;
            let until = Time::from_ns(150);
            prop_assert_eq!(
                segments(spec, &system, until),
                segments(spec, &twin, until),
                "{}: {:?}",
                spec,
                system
            );
            run(spec, &system, 150);
        }
        Ok(decided)
    });
    // No bound is known of the jobs of servers.
    assert_seen(&counts.into_inner(), &SERVED, &[Verdict::Unknown], 100);
}

/// Joins sets of one CPU each, with their levels, on CPUs of these speeds.
fn joined(random: &mut Random, speeds: &[(i64, i64)]) -> System {
    let mut parts: Vec<System> = speeds.iter().map(|_| draw_set(random)).collect();
    let levels = parts[0].levels.clone();
    parts.retain(|part| part.levels == levels);
    let cpus = parts.len();
    let mut tasks = Vec::new();
    for (cpu, part) in parts.iter().enumerate() {
        for task in part.tasks.values() {
            let mut task = task.clone();
            task.name = format!("{}-{cpu}", task.name).into();
            task.affinity = Some(CpuSet::single(CpuId(cpu as u32)));
            // Slow CPUs need room.
            let (n, d) = speeds[cpu];
            let room = (d + n - 1) / n;
            task.period = Duration::from_ns(task.period.ns() * room);
            task.deadline = Duration::from_ns(task.deadline.ns() * room);
            tasks.push(task);
        }
    }
    let mut system = System::new(cpus, tasks);
    system.levels = levels;
    give_speeds(&mut system, speeds);
    system
}

#[test]
fn mixed_criticality_is_that_of_the_converted_set() {
    let counts = RefCell::new(Verdicts::new());
    on_random(250, 100, (speeds(), any::<u64>()), |(speeds, seed)| {
        let mut random = Random::new(seed, 0, Aspect::Criticalities);
        let system = joined(&mut random, &speeds[..2]);
        let mut decided = false;
        for &spec in SAFE {
            decided |= compare(spec, &system, &mut counts.borrow_mut())?;
            // Jobs of a run of any level, some beyond their bounds.
            let (runs, _) = draw_run(&mut random, &system, 100);
            let until = Time::from_ns(100);
            let ours = segments(spec, &runs, until);
            let theirs = segments(spec, &converted(&runs), until);
            prop_assert_eq!(&ours, &theirs, "{}: {:?}", spec, runs);
            if ours.is_some() {
                run(spec, &runs, 100);
            }
        }
        Ok(decided)
    });
    assert_seen(&counts.into_inner(), SAFE, &[Verdict::Yes], 5);
}

const SPLIT: [(&str, Splitting); 5] = [
    ("cd", Splitting::FailFirst),
    ("cd:split=fail-worst", Splitting::FailWorst),
    ("cd:split=next-first", Splitting::NextFirst),
    ("cd:split=next-best", Splitting::NextBest),
    ("edf-wm", Splitting::Windows),
];

/// Stretches periods and deadlines until the tasks need nine tenths of the CPUs.
fn nearly_full(system: &mut System) {
    let speeds: Rate = system.platform.speeds.values().map(|speed| speed.rate()).sum();
    let factor = &(&system.utilization().exact() / &speeds) * &Rate::new(10, 9);
    for task in system.tasks.values_mut() {
        let stretched = |length: Duration| {
            Duration::from_ns((&Rate::whole(length.ns()) * &factor).ceil().unwrap().max(1))
        };
        (task.period, task.deadline) = (stretched(task.period), stretched(task.deadline));
    }
}

/// On CPUs of one speed pieces and answers are those of the converted set, in orders that do not
/// depend on execution times.
#[test]
fn pieces_are_those_of_the_converted_set() {
    let counts = RefCell::new(Verdicts::new());
    on_random(300, 100, (speeds(), any::<u64>()), |(speeds, seed)| {
        let mut random = Random::new(seed, 0, Aspect::Utilizations);
        let mut system = draw_split(&mut random, true);
        give_speeds(&mut system, &[speeds[0]; 4]);
        nearly_full(&mut system);
        let (twin, mut decided) = (converted(&system), false);
        for (spec, splitting) in SPLIT {
            for (word, order) in [("id", SplitOrder::Deadline), ("ip", SplitOrder::Period)] {
                let [ours, theirs] =
                    [&system, &twin].map(|system| split(system, splitting, order).ok());
                prop_assert_eq!(ours, theirs, "{} in order {}: {:?}", spec, word, system);
                let spec = format!("{spec}:order={word}");
                decided |= compare(&spec, &system, &mut counts.borrow_mut())?;
            }
        }
        Ok(decided)
    });
    let specs = SPLIT.map(|(spec, _)| format!("{spec}:order=id"));
    assert_seen(&counts.into_inner(), &specs.each_ref().map(String::as_str), &[Verdict::Yes], 20);
}

/// On CPUs of any speeds no accepted set is late.
#[test]
fn pieces_on_cpus_of_different_speeds_are_in_time() {
    let split_sets = RefCell::new(BTreeMap::<&str, u32>::new());
    on_random(600, 200, (speeds(), any::<u64>()), |(speeds, seed)| {
        let mut random = Random::new(seed, 1, Aspect::Utilizations);
        let mut system = draw_split(&mut random, false);
        give_speeds(&mut system, &speeds);
        nearly_full(&mut system);
        let mut accepted = false;
        for (spec, _) in SPLIT {
            if said(spec, &system).0 == Verdict::Yes {
                accepted = true;
                let (trace, rule) = run(spec, &system, 300);
                prop_assert!(!is_late(&trace), "{spec}: {system:?}");
                let ScheduleRule::Split { pieces } = rule else { panic!("{rule:?}") };
                let is_split = pieces.values().any(|own| own.len() > 1);
                *split_sets.borrow_mut().entry(spec).or_default() += u32::from(is_split);
            }
        }
        Ok(accepted)
    });
    let split_sets = split_sets.into_inner();
    assert!(split_sets.values().all(|&count| count > 10), "{split_sets:?}");
}

const TIED: [&str; 6] = [
    "dl",
    "dl-sp:ac=off",
    "dl:arith=kernel",
    "dl:lag_reset=on",
    "dl:kernel=6.12:capacity=on",
    "dl-sp:ac=off:throttle=waiting:lag_reset=on",
];

/// A *no* does not hold where a late server stays away.
const TIED_AND_THROTTLED: [&str; 2] =
    ["dl-sp:ac=off:throttle_cost=2ns", "dl-sp:ac=off:throttle=waiting:throttle_cost=1ns"];

const MIGRATING: [&str; 5] = [
    "dl",
    "dl-sp:ac=off",
    "dl-sp:ac=off:arith=kernel",
    "dl-sp:ac=off:throttle=waiting",
    "dl-sp:ac=off:throttle_cost=2ns",
];

/// Threads that are tied to CPUs: a verdict is that of the converted set, or unknown where a budget may be
/// overdrawn at a deadline; and no accepted set is late.
#[test]
fn reservations_have_the_answers_of_the_converted_set() {
    let specs = [&TIED[..], &TIED_AND_THROTTLED].concat();
    let counts = compare_reservations(&specs, 1_200, |system, speeds| tied(system, speeds, 1));
    assert_seen(&counts, &TIED, &[Verdict::Yes, Verdict::No], 20);
    assert_seen(&counts, &TIED_AND_THROTTLED, &[Verdict::Yes], 20);
}

/// Threads that migrate between CPUs of one speed.
#[test]
fn reservations_that_migrate_have_the_answers_of_the_converted_set() {
    let counts = compare_reservations(&MIGRATING, 1_200, |mut system, speeds| {
        give_speeds(&mut system, &[speeds[0]; 4]);
        system
    });
    assert_seen(&counts, &MIGRATING, &[Verdict::Yes], 20);
}

fn compare_reservations(
    specs: &[&str],
    cases: u32,
    on_cpus: impl Fn(System, &[(i64, i64)]) -> System,
) -> Verdicts {
    let counts = RefCell::new(Verdicts::new());
    let draws = (periodic_system(), speeds(), prop::collection::vec(0i64..4, 8), 1i64..5);
    on_random(cases, cases / 4, draws, |(mut system, speeds, more, factor)| {
        for task in system.tasks.values_mut() {
            task.period = Duration::from_ns(task.period.ns() * factor);
            task.deadline = Duration::from_ns(task.deadline.ns() * factor).min(task.period);
        }
        let mut system = on_cpus(system, &speeds);
        for (task, &more) in system.tasks.values_mut().zip(&more) {
            task.execution = ExecutionModel::Wcet;
            // Some budgets are above the WCETs.
            let budget = Service::from_ns(task.own_wcet().ns() + more);
            task.budget = (more > 1).then_some(budget);
        }
        let (twin, mut decided) = (converted(&system), false);
        for &spec in specs {
            let (ours, theirs) = (said(spec, &system), said(spec, &twin));
            if ours.0 == Verdict::Yes {
                decided = true;
                let (trace, _) = run(spec, &system, 300);
                prop_assert!(!is_late(&trace), "{spec}: {system:?}");
            }
            // The kernel compares a budget with the deadline as it is, whatever time it takes.
            if ours.2 || theirs.2 {
                continue;
            }
            let is_same = ours.0 == theirs.0;
            let is_weaker = ours.0 == Verdict::Unknown && theirs.0 == Verdict::Yes;
            prop_assert!(is_same || is_weaker, "{spec}: {ours:?}, {theirs:?}\n{system:?}");
            let kind = if is_same { spec.to_owned() } else { format!("{spec}, weaker") };
            *counts.borrow_mut().entry(kind).or_default().entry(ours.0).or_default() += 1;
        }
        Ok(decided)
    });
    let counts = counts.into_inner();
    for &spec in specs {
        let of = |kind: &str| counts.get(kind).map_or(0, |of| of.values().sum::<u32>());
        let (same, weaker) = (of(spec), of(&format!("{spec}, weaker")));
        assert!(weaker * 5 < same, "{spec}: {counts:?}");
    }
    counts
}

/// Where the speeds of CPUs count, admission control leaves out what ordinary threads have reserved, in
/// exact sums and in the kernel's integers; and the tests say which sets are refused.
#[test]
fn what_ordinary_threads_have_reserved_counts_in_both_arithmetics() {
    let seen = RefCell::new(BTreeMap::<[bool; 2], u32>::new());
    let draws = (periodic_system(), speeds(), 1i64..200, -3i64..4);
    on_random(6_000, 500, draws, |(mut system, speeds, fair, more)| {
        give_speeds(&mut system, &speeds);
        for task in system.tasks.values_mut() {
            task.deadline = task.deadline.min(task.period);
        }
        let cpus = system.platform.cpu_count() as i64;
        let of_cpus: Vec<Rate> =
            system.platform.speeds.values().map(|speed| speed.rate()).collect();
        if of_cpus.iter().all(|speed| *speed == of_cpus[0]) {
            return Ok(false);
        }
        // A limit of which the threads need nearly all, in units of 2^-22.
        let (fair, capacity) = (Rate::new(fair, 1000), of_cpus.iter().cloned().sum::<Rate>());
        let load = system.utilization().exact();
        let needed = &(&load + &(&fair * &Rate::whole(cpus))) / &capacity;
        let unit = 1 << 22;
        let limit = (&needed * &Rate::whole(unit)).floor().unwrap() + more;
        if !(1..=unit).contains(&limit) {
            return Ok(false);
        }
        let share = Rate::new(limit, unit);
        let exact = load <= &(&share * &capacity) - &(&fair * &Rate::whole(cpus));
        let down = |rate: &Rate, unit: i64| (rate * &Rate::whole(unit)).floor().unwrap();
        let of_threads: i64 = (system.tasks.values())
            .map(|task| (task.own_wcet().ns() << 20) / task.period.ns())
            .sum();
        let of_capacity: i64 = of_cpus.iter().map(|speed| down(speed, 1024)).sum();
        let bound = ((down(&share, 1 << 20) * of_capacity) >> 10) - cpus * down(&fair, 1 << 20);
        let in_units = of_threads <= bound.max(0);
        let given = Limit::Beside { share, fair: fair.clone() };
        let said = [admission::global_by_capacity, admission::kernel_by_capacity]
            .map(|test| test(&system, &given).unwrap().verdict == Verdict::Yes);
        prop_assert_eq!(said, [exact, in_units], "{:?} {:?}", given, system);
        for (arith, holds) in [("exact", exact), ("kernel", in_units)] {
            let spec =
                format!("dl:kernel=6.12:ac=on:arith={arith}:limit={limit}/{unit}:fair={fair}");
            let (trace, _) = run(&spec, &system, 300);
            let refused = trace.answers.iter().any(|answer| answer.errno == Some(Errno::Busy));
            prop_assert_eq!(!refused, holds, "{}: {:?}", spec, system);
        }
        *seen.borrow_mut().entry([exact, in_units]).or_default() += 1;
        Ok(true)
    });
    let seen = seen.into_inner();
    assert!(seen.len() == 4 && seen.values().all(|&count| count > 10), "{seen:?}");
}

/// A late thread catches up if it leaves more than the cost of a throttle on the fastest CPU that it may
/// use.
#[test]
fn slack_counts_the_time_of_the_fastest_cpu() {
    let work = Service::from_ns(4);
    let task = layland_model::Task::implicit("a", work, Duration::from_ns(10));
    let mut system = System::new(2, vec![task]);
    // 8 ns of both CPUs, then 6 ns of one.
    for (speeds, takes) in [([(1, 2), (1, 2)], 8), ([(2, 3), (1, 2)], 6), ([(1, 1), (1, 1)], 4)] {
        give_speeds(&mut system, &speeds);
        for cost in 1..10 {
            let stays = admission::stays_late(&system, Duration::from_ns(cost));
            let spec = format!("dl-sp:slack=on:throttle_cost={cost}ns");
            let (trace, _) = run(&spec, &system, 30);
            let refused = trace.answers.iter().any(|answer| answer.errno == Some(Errno::Busy));
            let is_late = takes + cost >= 10;
            assert_eq!([!stays.is_empty(), refused], [is_late, is_late], "{spec}, {speeds:?}");
        }
    }
}

/// A budget that ends within a nanosecond is overdrawn, and a job that ends at its deadline leaves the next
/// one too little: so the answer is unknown although the set in time is schedulable.
#[test]
fn an_overdrawn_budget_counts() {
    let task =
        |name, c, t| layland_model::Task::implicit(name, Service::from_ns(c), Duration::from_ns(t));
    let mut system = System::new(1, vec![task("a", 1, 2)]);
    give_speeds(&mut system, &[(2, 3)]);
    assert_eq!(said("p-edf", &system).0, Verdict::Yes);
    assert_eq!(said("dl", &system).0, Verdict::Unknown);
    let policy = registry().build("dl", &system).unwrap();
    let mut trace = Trace::default();
    simulate(&system, policy, &mut trace, &SimOptions::until(Time::from_ns(20))).unwrap();
    assert!(is_late(&trace), "{trace:?}");
    // With budgets of whole nanoseconds nothing is lost.
    system = System::new(1, vec![task("a", 2, 3)]);
    give_speeds(&mut system, &[(2, 3)]);
    assert_eq!(said("dl", &system).0, Verdict::Yes);
}
