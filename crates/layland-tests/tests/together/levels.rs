//! Several tasks of one priority. The exact values for first come, first served are reached by the
//! pattern of their formula, and no bound is exceeded under any order within a level. Policies are
//! compared with their twin by units of time, and traces with the promise of each `tie`.

use layland_analysis::levels::{by_deadlines, response_time, responses};
use layland_analysis::{Sporadic, Verdict, catalogue};
use layland_checker::check;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, InLevel, Preemption, ScheduleRule, Service, Step, System,
    Task, Time,
};
use layland_policy::{Policy, Registry};
use layland_sim::{SimOptions, simulate};
use layland_testkit::cases::on_random;
use layland_testkit::levels::{Levelled, Within, greatest, run};
use layland_trace::Trace;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Draws a few tasks with periods up to `longest`.
fn sets(
    counts: std::ops::RangeInclusive<usize>,
    longest: i64,
    levels: i64,
) -> impl Strategy<Value = Vec<Levelled>> {
    let task = (2..=longest, 1..=longest, 0..=longest, 1..=levels).prop_map(
        move |(period, wcet, less, level)| {
            let wcet = 1 + (wcet - 1) % period.min(1 + longest / 2);
            let deadline = (period - less % 3).max(wcet.min(period));
            Levelled { wcet, deadline, period, level }
        },
    );
    prop::collection::vec(task, counts)
}

/// Draws arrivals at least a period apart, from these numbers.
fn arrivals(tasks: &[Levelled], drawn: &[i64], until: i64) -> Vec<Vec<i64>> {
    let mut at = 0;
    let mut draw = || {
        at += 1;
        drawn[at % drawn.len()]
    };
    let of_task = |task: &Levelled| {
        let mut times = vec![draw() % (task.period + 1)];
        while let Some(&last) = times.last().filter(|&&last| last < until) {
            let more = draw();
            times.push(last + task.period + if more % 3 == 0 { more % 4 } else { 0 });
        }
        times
    };
    tasks.iter().map(of_task).collect()
}

fn system(tasks: &[Levelled], cpus: usize, arrivals: Option<&[Vec<i64>]>) -> System {
    let task = |(at, task): (usize, &Levelled)| {
        let (wcet, period) = (Service::from_ns(task.wcet), Duration::from_ns(task.period));
        let times = arrivals.map(|all| all[at].iter().map(|&ns| Time::from_ns(ns)).collect());
        Task {
            deadline: Duration::from_ns(task.deadline),
            priority: Some(task.level),
            // For `fit=given`, which needs no packing.
            affinity: (cpus == 1).then(|| CpuSet::single(CpuId(0))),
            behaviour: times.map_or(Behaviour::Periodic, Behaviour::Explicit),
            ..Task::implicit(at.to_string(), wcet, period)
        }
    };
    let tasks = tasks.iter().enumerate().map(task).collect();
    System { in_level: Some(InLevel::Fifo), ..System::new(cpus, tasks) }
}

fn loaded_above_one(tasks: &[Levelled]) -> bool {
    tasks.iter().map(|task| task.wcet as f64 / task.period as f64).sum::<f64>() > 1.0 + 1e-9
}

/// Returns, for each task, the response time under `tie=fifo`, and the bound for every order;
/// `None` if unbounded.
fn on_one_cpu(tasks: &[Levelled]) -> Vec<(Option<i64>, Option<i64>)> {
    let system = system(tasks, 1, None);
    let all: Vec<&Task> = system.tasks.values().collect();
    let levels: Vec<(&Task, i64)> =
        all.iter().zip(tasks).map(|(&task, of)| (task, of.level)).collect();
    let fifo = responses(&levels).into_iter().map(|found| found.ok().map(Duration::ns));
    let any = |at: usize| {
        let others = |is: fn(i64, i64) -> bool| -> Vec<&Task> {
            let such = |&other: &usize| other != at && is(tasks[other].level, tasks[at].level);
            (0..tasks.len()).filter(such).map(|other| all[other]).collect()
        };
        response_time(all[at], &others(|a, b| a < b), &others(|a, b| a == b)).ok().map(Duration::ns)
    };
    fifo.enumerate().map(|(at, fifo)| (fifo, any(at))).collect()
}

#[test]
fn a_response_of_first_come_first_served_is_reached_by_its_pattern() {
    on_random(400, 60, sets(2..=4, 9, 2), |tasks| {
        if loaded_above_one(&tasks) {
            return Ok(false);
        }
        let found = on_one_cpu(&tasks);
        for (i, &(fifo, _)) in found.iter().enumerate() {
            let Some(fifo) = fifo else { continue };
            let level = tasks[i].level;
            let busy = 2 * tasks.iter().map(|task| task.wcet + task.period).sum::<i64>() + 80;
            let mut reached = 0;
            // All jobs arrive as early as possible, except for the task itself: its last job
            // arrives at `a`, behind all others.
            let starts = tasks.iter().filter(|task| task.level == level);
            let mut starts: Vec<i64> =
                starts.flat_map(|task| (0..busy / task.period).map(|k| k * task.period)).collect();
            starts.sort_unstable();
            starts.dedup();
            for a in starts {
                let of_task = |(at, task): (usize, &Levelled)| {
                    let from = if at == i { a % task.period } else { 0 };
                    (0..)
                        .map(|k| from + k * task.period)
                        .take_while(|&time| time <= a + busy)
                        .collect()
                };
                let arrivals: Vec<Vec<i64>> = tasks.iter().enumerate().map(of_task).collect();
                let ended = run(&tasks, &arrivals, 1, Within::Fifo { last: Some(i) }, a + 2 * busy);
                reached = reached.max(greatest(&tasks, &ended)[i]);
                if reached >= fifo {
                    break;
                }
            }
            prop_assert_eq!(reached, fifo, "task {} of {:?}", i, tasks);
        }
        Ok(true)
    });
}

#[test]
fn no_order_exceeds_the_bounds_on_one_cpu() {
    let inputs = (sets(2..=4, 9, 2), prop::collection::vec(0i64..1000, 40), any::<u64>());
    on_random(500, 60, inputs, |(tasks, drawn, seed)| {
        if loaded_above_one(&tasks) {
            return Ok(false);
        }
        let arrivals = arrivals(&tasks, &drawn, 150);
        let found = on_one_cpu(&tasks);
        let orders = [
            Within::Fifo { last: None },
            Within::Fifo { last: Some(0) },
            Within::Lifo,
            Within::RoundRobin,
            Within::Random(seed),
        ];
        for within in orders {
            let worst = greatest(&tasks, &run(&tasks, &arrivals, 1, within, 400));
            for (i, &(fifo, any)) in found.iter().enumerate() {
                let bound = if matches!(within, Within::Fifo { .. }) { fifo } else { any };
                let bound = bound.expect("the load is within one");
                prop_assert!(
                    worst[i] <= bound,
                    "{:?}, task {}: {} above {}, {:?}, {:?}",
                    within,
                    i,
                    worst[i],
                    bound,
                    tasks,
                    arrivals
                );
                prop_assert!(fifo <= any, "task {} of {:?}", i, tasks);
            }
        }
        Ok(true)
    });
}

#[test]
fn no_order_exceeds_the_bounds_on_several_cpus() {
    let inputs =
        (sets(3..=6, 12, 3), 2usize..4, prop::collection::vec(0i64..1000, 60), any::<u64>());
    on_random(1500, 100, inputs, |(tasks, cpus, drawn, seed)| {
        let system = system(&tasks, cpus, None);
        let mut accepted: Vec<(&str, Vec<i64>)> = Vec::new();
        for name in ["BCL-LEVEL", "BERTOGNA-LEVEL", "GUAN-LEVEL"] {
            let test = catalogue::test(name).expect("it is in the catalogue");
            if test.run(&system).is_ok_and(|finding| finding.verdict == Verdict::Yes) {
                let bounds = catalogue::RESPONSES.iter().find(|bounds| bounds.name == name);
                let bounds = bounds.expect("it has bounds").run(&system).expect("it applies");
                let ns = bounds.values().map(|bound| bound.as_ref().unwrap().response.ns());
                accepted.push((name, ns.collect()));
            }
        }
        let sporadic: Vec<(Sporadic, i64)> =
            system.tasks.values().zip(&tasks).map(|(task, of)| (task.into(), of.level)).collect();
        let by_deadlines: Option<Vec<i64>> = by_deadlines(&sporadic, cpus).into_iter().collect();
        accepted.extend(by_deadlines.map(|bounds| ("by deadlines", bounds)));
        let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
        if accepted.is_empty() || !is_shared {
            return Ok(false);
        }
        let arrivals = arrivals(&tasks, &drawn, 120);
        let orders =
            [Within::Fifo { last: None }, Within::Lifo, Within::RoundRobin, Within::Random(seed)];
        for within in orders {
            let worst = greatest(&tasks, &run(&tasks, &arrivals, cpus, within, 300));
            for (name, bounds) in &accepted {
                let holds = worst.iter().zip(bounds).all(|(worst, bound)| worst <= bound);
                prop_assert!(holds, "{} {:?} {:?} {:?}", name, within, tasks, arrivals);
            }
        }
        Ok(true)
    });
}

fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    Registry::standard().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn traced(system: &System, spec: &str, until: i64) -> (Trace, ScheduleRule) {
    let policy = build(spec, system);
    let rule = policy.rule();
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ns(until))).unwrap();
    (trace, rule)
}

/// Returns the end of each job.
fn ends(trace: &Trace) -> BTreeMap<(usize, usize), i64> {
    let end = |record: &layland_trace::JobRecord| {
        let id = record.job.id;
        Some(((id.task.0 as usize, id.seq as usize), record.completion()?.ns()))
    };
    trace.jobs.iter().filter_map(end).collect()
}

#[test]
fn a_policy_makes_the_schedule_of_its_twin_and_keeps_its_promise() {
    let inputs = (sets(2..=6, 9, 2), 1usize..4, prop::collection::vec(0i64..1000, 60));
    let differs = std::cell::Cell::new(0);
    on_random(600, 100, inputs, |(tasks, cpus, drawn)| {
        let arrivals = arrivals(&tasks, &drawn, 100);
        let system = system(&tasks, cpus, Some(&arrivals));
        let slow = run(&tasks, &arrivals, cpus, Within::Fifo { last: None }, 199);
        let slow: BTreeMap<(usize, usize), i64> =
            slow.iter().map(|job| ((job.task, job.job), job.end)).collect();
        let (by_rank, rank_rule) = traced(&system, "g-fp:tie=rank", 200);
        prop_assert!(check(&by_rank, &system, &rank_rule, 3).is_clean());
        let any = build_rule("g-fp:tie=any", &system);
        for spec in ["g-fp", "c-fp", "g-fp:tie=fifo", "strong-fp", "weak-fp", "hpa-fp"] {
            let (trace, rule) = traced(&system, spec, 200);
            let report = check(&trace, &system, &rule, 3);
            prop_assert!(report.is_clean(), "{}: {}\n{:?} {:?}", spec, report, tasks, arrivals);
            prop_assert!(check(&trace, &system, &any, 3).is_clean(), "{}", spec);
            // With affinities a job that was delayed by its predecessor may take a CPU from one of its level.
            if spec.starts_with("g-fp") || spec.starts_with("c-fp") || cpus == 1 {
                let found: BTreeMap<_, _> =
                    ends(&trace).into_iter().filter(|&(_, end)| end <= 199).collect();
                prop_assert_eq!(&found, &slow, "{} {:?} {:?}", spec, tasks, arrivals);
            }
        }
        prop_assert!(check(&by_rank, &system, &any, 3).is_clean());
        let fifo = build_rule("g-fp:tie=fifo", &system);
        if ends(&by_rank) != slow && !check(&by_rank, &system, &fifo, 3).is_clean() {
            differs.set(differs.get() + 1);
        }
        Ok(!system.shared_levels(system.tasks.ids()).is_empty())
    });
    // The promise can be broken.
    assert!(differs.get() > 50, "{} traces by rank are accused", differs.get());
}

/// Returns the rule of a policy that never runs.
fn build_rule(spec: &str, system: &System) -> ScheduleRule {
    let registry = Registry::standard();
    let (info, options) = registry.parse(spec).unwrap();
    info.build(system, &options.for_its_rule()).unwrap().rule()
}

#[test]
fn a_job_that_suspends_itself_queues_anew() {
    let inputs = (sets(2..=4, 12, 2), prop::collection::vec(0i64..1000, 40));
    on_random(400, 100, inputs, |(tasks, drawn)| {
        let mut system = system(&tasks, 1, Some(&arrivals(&tasks, &drawn, 100)));
        for (at, task) in system.tasks.values_mut().enumerate() {
            let wcet = task.own_wcet();
            if at % 2 == 0 && wcet.ns() > 1 {
                let half = Service::from_ns(wcet.ns() / 2);
                let pause = Step::Suspend(Duration::from_ns(1 + drawn[at] % 3));
                task.steps = Some([Step::Run(half), pause, Step::Run(wcet - half)].into());
            }
        }
        let suspends = system.tasks.values().any(|task| task.steps.is_some());
        let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
        let (trace, rule) = traced(&system, "p-fp:fit=given:tie=fifo", 200);
        let report = check(&trace, &system, &rule, 3);
        prop_assert!(report.is_clean(), "{}\n{:?}", report, system);
        let any = check(&trace, &system, &build_rule("p-fp:fit=given:tie=any", &system), 3);
        prop_assert!(any.is_clean(), "{}\n{:?}", any, system);
        let found = assess(
            &Registry::standard(),
            "p-fp:fit=given:tie=any",
            &system,
            &AssessOptions::by_tests(),
        )
        .unwrap();
        for (id, bound) in found.bounds.iter() {
            let Bound::Response { within, .. } = bound else { continue };
            let of_task = trace.jobs.iter().filter(|record| record.job.id.task == id);
            let late = of_task
                .filter_map(|record| Some(record.completion()? - record.job.arrival))
                .find(|response| response > within);
            prop_assert!(late.is_none(), "{:?} above {} in {:?}", late, within, system);
        }
        Ok(suspends && is_shared)
    });
}

/// No run contradicts the answer for a policy.
#[test]
fn a_yes_is_never_followed_by_a_miss_in_any_order() {
    let inputs =
        (sets(2..=4, 9, 2), 1usize..3, prop::collection::vec(0i64..1000, 40), any::<u64>());
    on_random(500, 50, inputs, |(tasks, cpus, drawn, seed)| {
        let system = system(&tasks, cpus, None);
        let arrivals = arrivals(&tasks, &drawn, 100);
        let name = if cpus == 1 { "p-fp" } else { "g-fp" };
        let mut says_yes = false;
        for (tie, orders) in [
            ("fifo", vec![Within::Fifo { last: None }, Within::Fifo { last: Some(0) }]),
            ("any", vec![Within::Lifo, Within::RoundRobin, Within::Random(seed)]),
        ] {
            let spec = format!("{name}:tie={tie}");
            let registry = Registry::standard();
            let found = assess(&registry, &spec, &system, &AssessOptions::by_tests()).unwrap();
            if found.verdict != Verdict::Yes {
                continue;
            }
            says_yes = true;
            for within in orders {
                let worst = greatest(&tasks, &run(&tasks, &arrivals, cpus, within, 300));
                let in_time = worst.iter().zip(&tasks).all(|(worst, task)| *worst <= task.deadline);
                prop_assert!(in_time, "{} {:?} {:?} {:?}", spec, within, tasks, arrivals);
            }
        }
        Ok(says_yes && !system.shared_levels(system.tasks.ids()).is_empty())
    });
}

fn two(priorities: [i64; 2]) -> System {
    let task = |(name, priority): (&str, i64)| Task {
        priority: Some(priority),
        ..Task::implicit(name, Service::from_ms(1), Duration::from_ms(10))
    };
    let tasks = ["a", "b"].into_iter().zip(priorities).map(task).collect();
    System { in_level: Some(InLevel::Fifo), ..System::new(1, tasks) }
}

#[test]
fn what_has_no_rule_for_levels_is_refused_by_name() {
    let registry = Registry::standard();
    let refused = |spec: &str, system: &System| {
        let built = registry.build(spec, system);
        built.err().map(|error| error.to_string())
    };
    let mut regions = two([5, 5]);
    regions.tasks.values_mut().for_each(|task| task.preemption = Preemption::Never);
    let mut locks = two([5, 5]);
    locks.resources.push(layland_model::Resource { name: "bus".into(), home: None });
    for task in locks.tasks.values_mut() {
        let bus = layland_model::ResourceId(0);
        let steps = [Step::Lock(bus), Step::Run(task.own_wcet()), Step::Unlock(bus)];
        task.steps = Some(steps.into());
    }
    for (spec, system, what) in [
        ("p-fp", &regions, "non-preemptive regions"),
        ("g-fp:tie=any", &regions, "non-preemptive regions"),
        ("p-fp", &locks, "locks"),
        ("ss:order=fp", &two([5, 5]), "servers"),
        ("ds:order=fp:tie=fifo", &two([5, 5]), "servers"),
        ("p-fp:tie=any", &two([5, 5]), "tie=fifo"),
        ("strong-fp:tie=any", &two([5, 5]), "tie=fifo"),
    ] {
        let why = refused(spec, system).unwrap_or_default();
        assert!(why.contains(what) && why.contains("`a` and `b`"), "{spec}: {why}");
        let name = spec.split(':').next().unwrap();
        let order = if spec.contains("order") { ":order=fp" } else { "" };
        assert_eq!(refused(&format!("{name}{order}:tie=rank"), system), None, "{spec}");
    }
    let mut apart = locks.clone();
    apart.tasks.values_mut().next().unwrap().priority = Some(4);
    assert_eq!(refused("p-fp", &apart), None);
    // Ranks decide if the set says so.
    let mut ranked = two([5, 5]);
    ranked.in_level = None;
    assert_eq!(refused("ss:order=fp", &ranked), None);
    ranked.in_level = Some(InLevel::Any);
    assert!(refused("g-fp", &ranked).unwrap().contains("tie=any"));
}
