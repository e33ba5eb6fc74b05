//! `fit=auto`: the test by which tasks are packed is that of the analyses, and the first partition that
//! it accepts is found if there is one.

use layland_analysis::overheads::inflate;
use layland_analysis::uniprocessor::fixed_priority::{PriorityOrder, RTA};
use layland_analysis::uniprocessor::{deferred, edf};
use layland_analysis::{SchedulabilityTest, Verdict};
use layland_gen::{Aspect, Random};
use layland_guarantee::{AssessOptions, assess};
use layland_model::{
    ArrivalCurve, Behaviour, CpuId, CurveArrivals, Duration, Index, Order, Overheads, Preemption,
    Rate, ResourceId, Service, Step, System, Task, TaskId,
};
use layland_offline::Heuristic;
use layland_offline::packing::{Bins, CpuRules, CpuTest, FoundBy, OneCpu, assign, place, place_by};
use layland_testkit::cases::{Deadlines, on_random, systems};
use layland_testkit::registry;
use proptest::prelude::*;
use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

const PERIODS: [i64; 10] = [2, 3, 4, 5, 6, 8, 10, 12, 15, 20];

fn ns(length: i64) -> Duration {
    Duration::from_ns(length)
}

/// The properties of random tasks besides execution times, periods and deadlines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    Nothing,
    Jitter,
    Blocking,
    Curves,
    Overheads,
}

/// Draws tasks on one CPU.
fn drawn(random: &mut Random, more: More) -> System {
    let count = 1 + random.below(4);
    let tasks = (0..count).map(|at| {
        let period = 6 * PERIODS[random.below(PERIODS.len() as u64) as usize];
        let wcet = random.between(1, (period * 5 / count as i64 / 3).clamp(1, period));
        let mut task = Task::implicit(at.to_string(), Service::from_ns(wcet), ns(period));
        let latest = period + random.between(0, period);
        task.deadline = ns(random.between(wcet, latest));
        task.priority = Some(random.between(0, 3));
        match more {
            More::Nothing | More::Overheads => {}
            More::Jitter => task.jitter = ns(random.between(0, task.deadline.ns() - 1)),
            More::Blocking => task.blocking_time = ns(random.between(0, period)),
            More::Curves => {
                let first = random.between(0, period);
                let curve = ArrivalCurve::new(&[ns(first), ns(2 * period)]).expect("it is bounded");
                task.period = curve.separation();
                let arrivals = CurveArrivals { curve, extra: None };
                task.behaviour = Behaviour::Curve(Arc::new(arrivals));
            }
        }
        task
    });
    let mut system = System::new(1, tasks.collect());
    if more == More::Overheads {
        system.platform.overheads = Overheads {
            release: ns(random.between(0, 1)),
            scheduling: ns(random.between(0, 1)),
            context_switch: ns(random.between(0, 1)),
            interrupt: ns(random.between(0, 1)),
            tick: ns(1),
            tick_period: ns(random.between(10, 100)),
            ..Overheads::default()
        };
    }
    system
}

/// The test of an order in the catalogue.
fn analysis(order: Order) -> SchedulabilityTest {
    match order {
        Order::Deadline => edf::TEST,
        Order::RateMonotonic => RTA.under(PriorityOrder::RateMonotonic),
        Order::DeadlineMonotonic => RTA.under(PriorityOrder::DeadlineMonotonic),
        Order::Given => RTA.under(PriorityOrder::Given),
    }
}

/// Packing accepts the tasks of a CPU if and only if the analysis does.
#[test]
fn packing_accepts_what_the_analysis_accepts() {
    let kinds = [More::Nothing, More::Jitter, More::Blocking, More::Curves, More::Overheads];
    for more in kinds {
        for order in Order::ALL {
            let (mut yes, mut no) = (0, 0);
            for number in 0..600 {
                let mut random = Random::new(number, 0, Aspect::Periods);
                let system = drawn(&mut random, more);
                let all: Vec<TaskId> = system.tasks.ids().collect();
                let accepted = OneCpu::new(&system, CpuRules::of(order)).accepts(CpuId(0), &all);
                let analysed = if more == More::Overheads {
                    match inflate(&system) {
                        Ok(inflated) => inflated.system,
                        Err(_) => {
                            assert!(!accepted, "{number}: overheads take the whole CPU");
                            continue;
                        }
                    }
                } else {
                    system
                };
                let finding = analysis(order).run(&analysed).expect("it is about such sets");
                let expected = finding.verdict == Verdict::Yes;
                assert_eq!(accepted, expected, "{number} under {order:?}: {analysed:?}");
                if accepted { yes += 1 } else { no += 1 }
            }
            assert!(yes > 40 && no > 40, "{order:?}: {yes} accepted, {no} not");
        }
    }
}

/// CPUs that forget what they know of their tasks: the slow twin of those that packing fills.
struct Forgetful<'t, 'a> {
    system: &'a System,
    test: &'t OneCpu<'a>,
    on: Vec<Vec<TaskId>>,
}

impl Bins for Forgetful<'_, '_> {
    fn count(&self) -> usize {
        self.on.len()
    }
    fn fits(&self, bin: usize, item: usize) -> bool {
        let mut tasks = self.on[bin].clone();
        tasks.push(TaskId::from_index(item));
        self.test.accepts(CpuId::from_index(bin), &tasks)
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        let load = |bin: usize| -> Rate {
            self.on[bin].iter().map(|&task| self.system.tasks[task].density()).sum()
        };
        load(a).cmp(&load(b))
    }
    fn put(&mut self, bin: usize, item: usize) {
        self.on[bin].push(TaskId::from_index(item));
    }
}

/// A CPU that remembers its tasks takes those that a CPU which is tested anew takes.
#[test]
fn packing_places_as_if_it_tested_each_cpu_anew() {
    for more in [More::Nothing, More::Jitter, More::Blocking, More::Curves] {
        for (order, has_levels, never_preempts) in [
            (Order::Deadline, false, false),
            (Order::RateMonotonic, false, false),
            (Order::Given, true, false),
            (Order::DeadlineMonotonic, false, true),
        ] {
            let (mut placed, mut refused) = (0, 0);
            for number in 0..150 {
                let mut random = Random::new(number, 3, Aspect::Periods);
                let mut all = Vec::new();
                for _ in 0..2 {
                    all.extend(drawn(&mut random, more).tasks.values().cloned());
                }
                for (at, task) in all.iter_mut().enumerate() {
                    (task.rank, task.name) = (at as i64, at.to_string().into());
                }
                let system = System::new(2, all);
                let rules = CpuRules { has_levels, never_preempts, ..CpuRules::of(order) };
                let test = OneCpu::new(&system, rules);
                for heuristic in Heuristic::ALL {
                    let found = place_by(&system, CpuTest::Deadlines(&test), heuristic);
                    let on = vec![Vec::new(); 2];
                    let mut cpus = Forgetful { system: &system, test: &test, on };
                    let densities: Vec<Rate> = system.tasks.values().map(Task::density).collect();
                    let bins = place(&mut cpus, &heuristic.order(&densities), heuristic).ok();
                    let found = found.map(|cpus| cpus.values().map(|cpu| cpu.index()).collect());
                    assert_eq!(found, bins, "{number} {heuristic} {rules:?}: {system:?}");
                    if found.is_some() { placed += 1 } else { refused += 1 }
                }
            }
            assert!(placed > 15 && refused > 50, "{order:?}: {placed} placed, {refused} not");
        }
    }
}

/// With non-preemptive jobs, packing accepts only what the analysis accepts.
#[test]
fn packing_accepts_no_blocked_tasks_that_the_analysis_refuses() {
    let mut yes = 0;
    for number in 0..1_500 {
        let mut system = drawn(&mut Random::new(number, 1, Aspect::Periods), More::Nothing);
        for task in system.tasks.values_mut() {
            task.preemption = Preemption::Never;
            task.deadline = task.deadline.min(task.period).max(task.own_wcet().at_unit_speed());
        }
        let all: Vec<TaskId> = system.tasks.ids().collect();
        let rules = CpuRules::of(Order::Deadline);
        if OneCpu::new(&system, rules).accepts(CpuId(0), &all) {
            let finding = deferred::edf::TEST.run(&system).expect("it is about such sets");
            assert_eq!(finding.verdict, Verdict::Yes, "{number}: {system:?}");
            yes += 1;
        }
    }
    assert!(yes > 200, "{yes} accepted");
}

/// Returns true if the test accepts some assignment, by looking at all of them.
fn some_assignment(system: &System, test: &OneCpu<'_>) -> bool {
    let cpus = system.platform.cpu_count();
    let count = cpus.pow(system.tasks.len() as u32);
    (0..count).any(|number| {
        let mut on: Vec<Vec<TaskId>> = vec![Vec::new(); cpus];
        let mut rest = number;
        for id in system.tasks.ids() {
            on[rest % cpus].push(id);
            rest /= cpus;
        }
        let of = |(cpu, tasks): (usize, &Vec<TaskId>)| {
            let cpu = CpuId::from_index(cpu);
            let may = tasks.iter().all(|&task| system.allowed_cpus(task).contains(cpu));
            may && test.accepts(cpu, tasks)
        };
        on.iter().enumerate().all(of)
    })
}

/// A partition is found if and only if one exists, and the test accepts each of its CPUs.
#[test]
fn a_partition_is_found_where_one_exists() {
    let mut searched = 0;
    for order in [Order::Deadline, Order::RateMonotonic, Order::DeadlineMonotonic] {
        let (by_search, by_others, none) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let inputs = (systems(2..4, 7, 75..101, Deadlines::Constrained), any::<bool>());
        on_random(2_000, 2_000, inputs, |(mut system, tied)| {
            if tied {
                let last = CpuId::from_index(system.platform.cpu_count() - 1);
                system.tasks[TaskId(0)].affinity = Some(layland_model::CpuSet::single(last));
            }
            let test = OneCpu::new(&system, CpuRules::of(order));
            let found = assign(&system, CpuTest::Deadlines(&test), &[]);
            match found.found_by {
                FoundBy::Heuristic(Heuristic::Wfd) => {}
                FoundBy::Heuristic(_) => by_others.set(by_others.get() + 1),
                FoundBy::Search => by_search.set(by_search.get() + 1),
                FoundBy::Nothing => none.set(none.get() + 1),
            }
            let expected = some_assignment(&system, &test);
            prop_assert_eq!(found.found_by != FoundBy::Nothing, expected, "{:?}", order);
            for cpu in system.platform.cpus().filter(|_| expected) {
                let tasks: Vec<TaskId> =
                    system.tasks.ids().filter(|&task| found.cpu_of[task] == cpu).collect();
                prop_assert!(test.accepts(cpu, &tasks));
            }
            let may = |id: TaskId| system.allowed_cpus(id).contains(found.cpu_of[id]);
            prop_assert!(system.tasks.ids().all(may), "even a balanced one keeps affinities");
            Ok(true)
        });
        let counts = [by_others.get(), by_search.get(), none.get()];
        assert!(counts[0] > 10 && counts[2] > 20, "{order:?}: {counts:?}");
        searched += counts[1];
    }
    assert!(searched > 0, "no heuristic fails where the search finds a partition");
}

/// No heuristic makes a set schedulable that the default does not, and the default does more.
#[test]
fn the_default_is_as_good_as_every_heuristic() {
    let policies = [
        "p-edf",
        "p-rm",
        "p-dm",
        "p-fp",
        "p-edf:nonpreemptive",
        "p-rm:nonpreemptive",
        "p-rm:accept=load",
    ];
    let gained = Cell::new(0);
    on_random(150, 150, systems(2..4, 7, 60..100, Deadlines::Constrained), |mut system| {
        for (at, task) in system.tasks.values_mut().enumerate() {
            task.priority = Some(at as i64);
        }
        let verdict = |spec: &str| {
            let options = AssessOptions::by_tests();
            assess(registry(), spec, &system, &options).expect("it exists").verdict
        };
        for policy in policies {
            let by_default = verdict(policy);
            prop_assert_eq!(by_default, verdict(&format!("{policy}:fit=auto")));
            // A test that only suffices while tasks are placed may miss a partition.
            let is_exact = !policy.contains("nonpreemptive") && !policy.contains("load");
            for fit in Heuristic::ALL {
                let by_fit = verdict(&format!("{policy}:fit={fit}"));
                if is_exact && by_fit == Verdict::Yes {
                    prop_assert_eq!(by_default, Verdict::Yes, "{}:fit={}", policy, fit);
                }
                if by_fit != Verdict::Yes && by_default == Verdict::Yes {
                    gained.set(gained.get() + 1);
                }
            }
        }
        Ok(true)
    });
    assert!(gained.get() > 100, "{} gained", gained.get());
}

/// The mechanisms of mixed criticality find a CPU for each task if some heuristic does.
#[test]
fn mechanisms_are_placed_where_some_heuristic_places_them() {
    let (mut placed, mut gained) = (0, 0);
    for number in 0..60 {
        let mut random = Random::new(number, 2, Aspect::Periods);
        let tasks = (0..5).map(|at| {
            let period = 10 * PERIODS[random.below(PERIODS.len() as u64) as usize];
            let low = random.between(period / 10, period / 2);
            let high = random.between(low, (period * 2 / 3).max(low));
            let mut task = Task::implicit(at.to_string(), Service::from_ns(low), ns(period));
            task.criticality = layland_model::Criticality(random.below(2) as u8);
            if task.criticality.level() == 1 {
                task.wcet = vec![Service::from_ns(low), Service::from_ns(high)].into();
            }
            task
        });
        let mut system = System::new(2, tasks.collect());
        system.levels = layland_model::Levels::new(vec!["low".to_owned(), "high".to_owned()]);
        for policy in ["amc", "smc", "edf-vd"] {
            let verdict = |spec: &str| {
                assess(registry(), spec, &system, &AssessOptions::by_tests())
                    .expect("it exists")
                    .verdict
            };
            let by_default = verdict(policy);
            for fit in ["ffd", "wfd", "bfd", "ff", "wf"] {
                let by_fit = verdict(&format!("{policy}:fit={fit}"));
                if by_fit == Verdict::Yes {
                    assert_eq!(by_default, Verdict::Yes, "{number} {policy}:fit={fit}");
                    placed += 1;
                } else if by_default == Verdict::Yes {
                    gained += 1;
                }
            }
        }
    }
    assert!(placed > 50 && gained > 5, "{placed} placed, {gained} gained");
}

/// Tasks that share a resource share a CPU where the protocol is for one CPU, and others are balanced.
#[test]
fn tasks_that_lock_a_resource_share_a_cpu() {
    let task = |name: &str, resource: Option<u32>| {
        let mut task = Task::implicit(name, Service::from_ms(3), Duration::from_ms(10));
        if let Some(resource) = resource.map(ResourceId) {
            let run = Step::Run(Service::from_ms(1));
            let steps = [run, Step::Lock(resource), run, Step::Unlock(resource), run];
            task.steps = Some(steps.into());
        }
        task
    };
    let tasks =
        vec![task("a", Some(0)), task("b", Some(1)), task("c", Some(0)), task("d", Some(1))];
    let mut system = System::new(2, tasks);
    let resource = |name: &str| layland_model::Resource { name: name.to_owned(), home: None };
    system.resources = ["bus", "log"].map(resource).to_vec();
    for spec in ["p-rm:locks=pcp", "p-rm:locks=pip", "p-edf:locks=srp"] {
        let rule = registry().build(spec, &system).expect("it takes the set").rule();
        let assigned = rule.assignment(&system).expect("it assigns");
        let cpus: Vec<CpuId> = assigned.values().map(|assigned| assigned.cpu).collect();
        assert!(cpus[0] == cpus[2] && cpus[1] == cpus[3] && cpus[0] != cpus[1], "{spec}: {cpus:?}");
    }
    // Between CPUs they need not.
    let rule = registry().build("p-rm:locks=mpcp", &system).expect("it takes the set").rule();
    assert!(rule.assignment(&system).is_some());
}

/// A set that no partition serves still runs, balanced, and the tests say that it is late.
#[test]
fn a_set_that_fits_nowhere_is_balanced_and_refuted() {
    let task = |name: &str| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
    let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
    for spec in ["p-edf", "p-rm", "p-dm:nonpreemptive"] {
        let found =
            assess(registry(), spec, &system, &AssessOptions::by_tests()).expect("it exists");
        assert!(found.refused.is_none(), "{spec}");
        assert_eq!(found.verdict, Verdict::No, "{spec}");
        let assigned = found.assignment.expect("it assigns");
        let cpus: Vec<u32> = assigned.values().map(|assigned| assigned.cpu.0).collect();
        assert_eq!(cpus, [0, 1, 0], "{spec}");
    }
    let named = assess(registry(), "p-edf:fit=ffd", &system, &AssessOptions::by_tests());
    assert!(named.expect("it exists").refused.is_some());
}
