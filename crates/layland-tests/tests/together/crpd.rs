//! Cache-related preemption delays: the simulator compared with a tick-by-tick twin, the analyses
//! compared with lists of blocks, simulations and each other, and rejections by other tests.
//!
//! The long form is `CASES=20000 cargo test -p layland-tests --test together crpd`.

use crate::schedules::{build, finished, run, violations};
use layland_analysis::crpd::edf::{Counted, Demand, by_deadline};
use layland_analysis::crpd::{Approach, Cached, fixed_priority};
use layland_analysis::{Assumption, TestKind, Verdict, catalogue};
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Algorithm, Behaviour, CacheSets, CacheUse, Duration, Form, Order, Service, System, Task,
    TaskId, Time,
};
use layland_sim::SimOptions;
use layland_testkit::{caches, registry};
use layland_trace::Trace;
use std::collections::BTreeMap;

const POLICIES: [(&str, Order); 4] = [
    ("p-fp", Order::Given),
    ("p-rm", Order::RateMonotonic),
    ("p-dm", Order::DeadlineMonotonic),
    ("p-edf", Order::Deadline),
];

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(150)
}

fn sets(random: &mut Random) -> CacheUse {
    let ecb: CacheSets = (0..8).filter(|_| random.below(2) == 0).collect();
    let ucb = ecb.iter().filter(|_| random.below(3) > 0).collect();
    CacheUse { ucb, ecb }
}

/// Draws releases at least a period apart: as early as possible at first, and with occasional gaps.
fn releases(random: &mut Random, first: i64, period: i64, until: i64) -> Vec<Time> {
    let mut at = first;
    let mut times = Vec::new();
    while at < until {
        times.push(Time::from_ns(at));
        at += period + random.between(0, 1) * random.between(0, 1) * random.between(0, period);
    }
    times
}

/// Draws a set on one CPU, periodic or with gaps. Each task uses some of eight sets of the cache.
fn system(random: &mut Random, load: i64) -> System {
    let count = random.between(2, 5);
    let task = |at: i64| {
        let period = random.between(8, 60);
        let c = (period * random.between(1, load) / (100 * count)).max(1);
        let period = period.max(c);
        let offset = random.between(0, 1) * random.between(0, 20);
        let deadline = random.between((period / 2).max(c), period);
        let behaviour = match random.below(3) {
            0 => Behaviour::Explicit(releases(random, offset, period, 500)),
            _ => Behaviour::Periodic,
        };
        Task {
            priority: Some(random.between(0, 3)),
            offset: Duration::from_ns(offset),
            deadline: Duration::from_ns(deadline),
            behaviour,
            cache: (random.below(8) > 0).then(|| sets(random).into()),
            ..Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(period))
        }
    };
    let mut system = System::new(1, (0..count).map(task).collect());
    system.platform.overheads.block_reload_time = Duration::from_ns(random.between(0, 2));
    system
}

fn late(trace: &Trace) -> Option<TaskId> {
    let late = trace.jobs.iter().find(|record| record.missed(trace.over));
    late.map(|record| record.job.id.task)
}

fn until(end: i64) -> SimOptions<'static> {
    SimOptions::until(Time::from_ns(end))
}

/// Returns the tasks of a set on one CPU in the order of their priorities.
fn cached(system: &System, order: Order) -> Vec<Cached> {
    let mut tasks: Vec<(Option<i64>, i64, TaskId)> =
        (system.tasks.iter()).map(|(id, task)| (order.fixed_key(task), task.rank, id)).collect();
    tasks.sort_unstable();
    let of = |(at, &(_, _, id)): (usize, &(Option<i64>, i64, TaskId))| {
        let task = &system.tasks[id];
        let CacheUse { ucb, ecb } = task.cache.as_deref().cloned().unwrap_or_default();
        let [wcet, deadline, period] = [task.own_wcet().ns(), task.deadline.ns(), task.period.ns()];
        Cached { id, wcet, deadline, period, ucb, ecb, above: at + 1 }
    };
    tasks.iter().enumerate().map(of).collect()
}

// ---------------------------------------------------------------------------------------------
// The simulator
// ---------------------------------------------------------------------------------------------

#[test]
fn the_simulator_reloads_as_the_twin_does() {
    let mut costly = 0;
    for case in 0..cases() {
        let random = &mut Random::of_task(case, 1);
        let system = system(random, 130);
        let mut ideal = system.clone();
        ideal.platform.overheads.block_reload_time = Duration::ZERO;
        for (spec, order) in POLICIES {
            let trace = run(&system, build(spec, &system), &until(400));
            let twin = caches::simulate(&system, order, Time::from_ns(400));
            assert_eq!(finished(&trace), twin, "{spec}, case {case}: {system:#?}");
            assert_eq!(violations(spec, &trace, &system), "");
            let without = run(&ideal, build(spec, &ideal), &until(400));
            costly += u64::from(finished(&without) != twin);
        }
    }
    assert!(costly > cases(), "{costly}");
}

/// One CPU, a long job with three useful blocks, and a short job that evicts two of them.
#[test]
fn a_job_reloads_what_was_evicted() {
    let sets = |text: &str| text.parse().unwrap();
    let task = |name, c, t, offset, ucb, ecb| Task {
        offset: Duration::from_ns(offset),
        cache: Some(CacheUse { ucb: sets(ucb), ecb: sets(ecb) }.into()),
        ..Task::implicit(name, Service::from_ns(c), Duration::from_ns(t))
    };
    let mut system = System::new(
        1,
        vec![task("short", 2, 10, 4, "", "2-5"), task("long", 10, 40, 0, "1-3", "0-9")],
    );
    system.platform.overheads.block_reload_time = Duration::from_ns(3);
    let trace = run(&system, build("p-rm", &system), &until(40));
    // From 6 it reloads the blocks 2 and 3 for 6, and has 2 until the short job arrives again;
    // likewise from 16 and 26.
    let long: Vec<(i64, i64, i64)> = (trace.segments.iter())
        .filter(|segment| segment.job.task == TaskId(1))
        .map(|segment| (segment.start.ns(), segment.end.ns(), segment.overhead.ns()))
        .collect();
    assert_eq!(long, [(0, 4, 0), (6, 14, 6), (16, 24, 6), (26, 34, 6)]);
    // An idle CPU evicts nothing, and the first load of a job's blocks is part of its WCET.
    let twin = caches::simulate(&system, Order::RateMonotonic, Time::from_ns(40));
    assert_eq!(finished(&trace), twin);
}

#[test]
fn a_set_without_reloads_is_simulated_as_before() {
    for case in 0..200 {
        let random = &mut Random::of_task(case, 2);
        let mut plain = system(random, 130);
        plain.platform.overheads.block_reload_time = Duration::ZERO;
        let mut without = plain.clone();
        without.tasks.values_mut().for_each(|task| task.cache = None);
        let mut only_time = without.clone();
        only_time.platform.overheads.block_reload_time = Duration::from_ns(7);
        for (spec, _) in POLICIES {
            let trace = run(&without, build(spec, &without), &until(300));
            assert_eq!(trace, run(&plain, build(spec, &plain), &until(300)));
            assert_eq!(trace, run(&only_time, build(spec, &only_time), &until(300)));
        }
    }
}

// ---------------------------------------------------------------------------------------------
// The analyses
// ---------------------------------------------------------------------------------------------

#[test]
fn the_analyses_are_their_definitions() {
    let (mut bounded, mut met, mut exceeded) = (0, 0, 0);
    for case in 0..cases() {
        let random = &mut Random::of_task(case, 3);
        let system = system(random, 120);
        let reload = random.between(1, 3);
        let order = POLICIES[(case % 3) as usize].1;
        let tasks = cached(&system, order);
        let by_deadline = by_deadline(tasks.clone());
        for approach in Approach::ALL {
            let found = fixed_priority::responses(&tasks, reload, approach);
            let found: Vec<Option<i64>> = found.into_iter().map(Result::ok).collect();
            let twin = caches::responses(&tasks, reload, approach);
            assert_eq!(found, twin, "{approach:?}, case {case}: {tasks:#?}");
            bounded += twin.iter().flatten().count();
            let counted = Counted::new(&by_deadline, reload, approach);
            let demand = |t| caches::demand(&by_deadline, reload, approach, t);
            for t in 0..150 {
                assert_eq!(counted.demand(t), demand(t), "{approach:?}, case {case}, {t}");
            }
            match counted.criterion() {
                Ok(Demand::Met) => {
                    let w = caches::busy_period(&by_deadline, reload, approach, 2_000).unwrap();
                    let excess = (0..=w).find(|&t| demand(t) > t);
                    assert_eq!(excess, None, "{approach:?}, case {case}: {by_deadline:#?}");
                    met += 1;
                }
                Ok(Demand::Exceeds { interval, demand: most }) => {
                    assert!(most > interval && demand(interval) == most);
                    exceeded += 1;
                }
                Err(_) => {}
            }
        }
    }
    assert!(bounded > 500 && met > 250 && exceeded > 50, "{bounded}, {met}, {exceeded}");
}

/// Altmeyer et al. 2012, Sections 4 and 5: which approaches dominate others, and which do not.
#[test]
fn approaches_dominate_as_the_papers_say() {
    use Approach::*;
    let above: [(Approach, Approach); 7] = [
        (UcbUnion, EcbOnly),
        (EcbUnion, UcbOnly),
        (UcbMultiset, UcbUnion),
        (EcbMultiset, EcbUnion),
        (Combined, UcbMultiset),
        (Combined, EcbMultiset),
        (Combined, UcbOnly),
    ];
    let mut better: BTreeMap<&str, u64> = BTreeMap::new();
    for case in 0..2 * cases() {
        let random = &mut Random::of_task(case, 4);
        let system = system(random, 120);
        let tasks = cached(&system, POLICIES[(case % 3) as usize].1);
        let by_deadline = by_deadline(tasks.clone());
        let reload = random.between(1, 3);
        let of = |approach| {
            let found = fixed_priority::responses(&tasks, reload, approach);
            found.into_iter().map(|bound| bound.unwrap_or(i64::MAX)).collect::<Vec<i64>>()
        };
        let demands = |approach| {
            let counted = Counted::new(&by_deadline, reload, approach);
            (0..200).map(|t| counted.demand(t)).collect::<Vec<i64>>()
        };
        for (small, large) in above {
            let less = |small: Vec<i64>, large: Vec<i64>| {
                small.iter().zip(&large).all(|(small, large)| small <= large)
            };
            // If a task above is late, the multiset approaches have no bound, but the others do.
            let all_meet = of(large).iter().all(|&bound| bound < i64::MAX);
            assert!(!all_meet || less(of(small), of(large)), "{small:?}, {large:?}, case {case}");
            assert!(less(demands(small), demands(large)), "{small:?}, {large:?}, case {case}");
        }
        for (name, one, other) in [
            ("ucb-union", UcbUnion, EcbUnion),
            ("ecb-union", EcbUnion, UcbUnion),
            ("ucb-multi", UcbMultiset, EcbMultiset),
            ("ecb-multi", EcbMultiset, UcbMultiset),
            ("ecb-only", EcbOnly, UcbOnly),
            ("ucb-only", UcbOnly, EcbOnly),
            ("ucb-multi over its union", UcbMultiset, UcbUnion),
            ("ecb-multi over its union", EcbMultiset, EcbUnion),
        ] {
            *better.entry(name).or_default() += u64::from(of(one) < of(other));
        }
    }
    assert!(better.values().all(|&count| count > 5), "{better:?}");
}

#[test]
fn no_job_takes_longer_than_its_bound() {
    let mut accepted: BTreeMap<String, u64> = BTreeMap::new();
    let mut reached = 0;
    for case in 0..cases() {
        let random = &mut Random::of_task(case, 5);
        let mut system = system(random, 100);
        system.platform.overheads.block_reload_time = Duration::from_ns(random.between(1, 2));
        if case % 3 == 0 {
            system.tasks.values_mut().for_each(|task| task.offset = Duration::ZERO);
        }
        if !system.has_reloads() {
            continue;
        }
        for (spec, order) in POLICIES {
            let algorithm = Algorithm::Ordered(Form::Partitioned, order);
            let trace = run(&system, build(spec, &system), &until(1_000));
            let mut longest = vec![Duration::ZERO; system.tasks.len()];
            for record in &trace.jobs {
                let Some(end) = record.completion() else { continue };
                let of_task = &mut longest[record.job.id.task.0 as usize];
                *of_task = (*of_task).max(end - record.job.arrival);
            }
            for test in catalogue::TESTS.iter() {
                if !test.subject.algorithms().contains(&algorithm) {
                    continue;
                }
                let Ok(finding) = test.run(&system) else { continue };
                // An accepted set is never late.
                if finding.verdict == Verdict::Yes {
                    assert!(late(&trace).is_none(), "{}, case {case}: {system:#?}", test.name);
                    *accepted.entry(test.name.to_owned()).or_default() += 1;
                }
            }
            for analysis in catalogue::RESPONSES.iter() {
                if !analysis.algorithms.contains(&algorithm) {
                    continue;
                }
                let Ok(bounds) = analysis.run(&system) else { continue };
                for bound in bounds.values().flatten() {
                    let seen = longest[bound.task.0 as usize];
                    assert!(seen <= bound.response, "{}, case {case}: {system:#?}", analysis.name);
                    reached += u64::from(seen == bound.response);
                }
            }
        }
    }
    assert_eq!(accepted.len(), 7 * 4, "{accepted:?}");
    assert!(accepted.values().all(|&count| count > cases() / 20), "{accepted:?}");
    assert!(reached > cases(), "{reached}");
}

/// Tries each first release of two tasks against one of each other task. The bound is reached if
/// preemptions do not depend on each other.
#[test]
fn the_bound_of_two_tasks_is_reached() {
    let mut reached = 0;
    for case in 0..60 {
        let random = &mut Random::of_task(case, 6);
        let mut system = system(random, 110);
        let ids: Vec<TaskId> = system.tasks.ids().take(2).collect();
        let two: Vec<Task> = ids.iter().map(|&id| system.tasks[id].clone()).collect();
        system.tasks = two.into();
        for task in system.tasks.values_mut() {
            (task.behaviour, task.offset) = (Behaviour::Periodic, Duration::ZERO);
        }
        system.platform.overheads.block_reload_time = Duration::from_ns(1);
        let tasks = cached(&system, Order::RateMonotonic);
        let [high, low] = [tasks[0].id, tasks[1].id];
        let bound = fixed_priority::responses(&tasks, 1, Approach::Combined)[1];
        let Ok(bound) = bound else { continue };
        let mut longest = 0;
        for offset in 0..system.tasks[high].period.ns() {
            system.tasks[high].offset = Duration::from_ns(offset);
            let trace = run(&system, build("p-rm", &system), &until(600));
            let of_low = trace.jobs.iter().filter(|record| record.job.id.task == low);
            let response = |record: &layland_trace::JobRecord| {
                record.completion().map(|end| (end - record.job.arrival).ns())
            };
            longest = longest.max(of_low.filter_map(response).max().unwrap_or_default());
        }
        assert!(longest <= bound, "case {case}");
        reached += u64::from(longest == bound);
    }
    assert!(reached > 10, "{reached}");
}

/// The example of `docs/analyses/crpd.md`: the bound of each approach for the last task, and its
/// longest response time over all first releases of the others.
#[test]
fn the_example_of_the_book() {
    let sets = |text: &str| text.parse().unwrap();
    let task = |name, c, t, ucb, ecb| Task {
        cache: Some(CacheUse { ucb: sets(ucb), ecb: sets(ecb) }.into()),
        ..Task::implicit(name, Service::from_ns(c), Duration::from_ns(t))
    };
    let tasks = [
        task("control", 1, 10, "", "0-3"),
        task("filter", 2, 20, "0-2", "0-5"),
        task("log", 6, 60, "2-5", "2-9"),
    ];
    let mut system = System::new(1, tasks.to_vec());
    system.platform.overheads.block_reload_time = Duration::from_ns(1);
    let cached = cached(&system, Order::RateMonotonic);
    let last = |approach| fixed_priority::responses(&cached, 1, approach)[2].unwrap();
    assert_eq!(Approach::ALL.map(last), [60, 38, 38, 20, 20, 19, 19]);
    let (mut longest, log) = (0, TaskId(2));
    for (control, filter) in (0..10).flat_map(|a| (0..20).map(move |b| (a, b))) {
        system.tasks[TaskId(0)].offset = Duration::from_ns(control);
        system.tasks[TaskId(1)].offset = Duration::from_ns(filter);
        let trace = run(&system, build("p-rm", &system), &until(240));
        let of_log = trace.jobs.iter().filter(|record| record.job.id.task == log);
        let response = of_log.filter_map(|record| Some(record.completion()? - record.job.arrival));
        longest = longest.max(response.max().unwrap_or_default().ns());
    }
    assert_eq!(longest, 19);
}

// ---------------------------------------------------------------------------------------------
// Supported sets
// ---------------------------------------------------------------------------------------------

#[test]
fn other_tests_refuse_reloads_and_these_refuse_sets_without() {
    let mut with = system(&mut Random::of_task(7, 7), 60);
    with.platform.overheads.block_reload_time = Duration::from_ns(1);
    with.tasks.values_mut().for_each(|task| {
        let sets: CacheSets = "0-3".parse().unwrap();
        (task.behaviour, task.priority) = (Behaviour::Periodic, Some(1));
        task.cache = Some(CacheUse { ucb: sets.clone(), ecb: sets }.into());
        task.deadline = task.period;
    });
    assert!(with.has_reloads());
    let mut without = with.clone();
    without.platform.overheads.block_reload_time = Duration::ZERO;
    for test in catalogue::TESTS.iter() {
        let is_about = test.name.starts_with("CRPD-");
        match test.run(&with) {
            Ok(_) => assert!(is_about || test.kind == TestKind::Necessary, "{}", test.name),
            Err(_) => assert!(!is_about, "{}", test.name),
        }
        if is_about {
            let refusal = test.run(&without).unwrap_err();
            assert_eq!(refusal.assumption, Assumption::CacheDelay, "{}", test.name);
        }
    }
    for analysis in catalogue::RESPONSES.iter() {
        assert_eq!(analysis.run(&with).is_ok(), analysis.name.starts_with("CRPD-"));
    }
    assert!(catalogue::BOUNDS.iter().all(|bound| bound.run(&with).is_err()));
}

/// Under every policy, a *yes* for a set with reloads comes from a test for them: no job is late.
#[test]
fn a_yes_counts_reloads() {
    let mut decided: BTreeMap<String, u64> = BTreeMap::new();
    for case in 0..cases() / 6 {
        let random = &mut Random::of_task(case, 8);
        let mut system = system(random, 60);
        system.platform.overheads.block_reload_time = Duration::from_ns(random.between(1, 2));
        if random.below(2) == 0 {
            system.platform = layland_model::Platform {
                overheads: system.platform.overheads.clone(),
                ..layland_model::Platform::identical(2)
            };
        }
        if !system.has_reloads() {
            continue;
        }
        for info in registry() {
            let spec = &info.name;
            let Ok(found) = assess(registry(), spec, &system, &AssessOptions::by_tests()) else {
                continue;
            };
            let is_bounded = |bound: &Bound| !matches!(bound, Bound::Unknown);
            if found.verdict != Verdict::Yes {
                let by_caches = |bound: &Bound| match bound {
                    Bound::Response { by, .. } => by.starts_with("CRPD-"),
                    Bound::Tardiness { .. } | Bound::Unknown => false,
                };
                let bounded = found.bounds.values().filter(|bound| is_bounded(bound));
                assert!(bounded.into_iter().all(by_caches), "{spec}: {:?}", found.bounds);
                continue;
            }
            let by = found.decided_by.unwrap_or_default();
            assert!(by.starts_with("CRPD-"), "{spec}: {by}, case {case}: {system:#?}");
            let trace = run(&system, build(spec, &system), &until(1_000));
            assert!(late(&trace).is_none(), "{spec}: {by}, case {case}: {system:#?}");
            *decided.entry(spec.to_string()).or_default() += 1;
        }
    }
    for (spec, _) in POLICIES {
        assert!(decided.get(spec).is_some_and(|&count| count > 5), "{decided:?}");
    }
}

/// Kernel overheads in addition to reloads: the verdict for the inflated set with its longer reload time holds.
#[test]
fn other_overheads_are_counted_beside_reloads() {
    let mut accepted = 0;
    for case in 0..cases() / 2 {
        let random = &mut Random::of_task(case, 9);
        let mut system = system(random, 60);
        for task in system.tasks.values_mut() {
            let by = |length: Duration| length * 100;
            (task.period, task.deadline, task.offset) =
                (by(task.period), by(task.deadline), by(task.offset));
            task.wcet = vec![Service::from_ns(task.own_wcet().ns() * 100)].into();
            task.behaviour = Behaviour::Periodic;
        }
        let costs = &mut system.platform.overheads;
        let mut ns = |most| Duration::from_ns(random.between(0, most));
        (costs.release, costs.scheduling, costs.context_switch) = (ns(9), ns(9), ns(9));
        (costs.tick, costs.tick_period) = (ns(20), Duration::from_ns(333));
        costs.block_reload_time = ns(60) + Duration::from_ns(1);
        for (spec, _) in POLICIES {
            let found = assess(registry(), spec, &system, &AssessOptions::by_tests()).unwrap();
            if found.verdict != Verdict::Yes || !system.has_reloads() {
                continue;
            }
            let trace = run(&system, build(spec, &system), &until(60_000));
            assert!(late(&trace).is_none(), "{spec}, case {case}: {system:#?}");
            for record in &trace.jobs {
                let Some(end) = record.completion() else { continue };
                if let Bound::Response { within, .. } = &found.bounds[record.job.id.task] {
                    assert!(end - record.job.arrival <= *within, "{spec}, case {case}");
                }
            }
            accepted += 1;
        }
    }
    assert!(accepted > cases() / 6, "{accepted}");
}
