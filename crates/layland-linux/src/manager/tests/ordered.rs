//! Threads that release and end their jobs themselves, on CPUs that run threads by their priorities, in
//! virtual time.
//!
//! The kernel of this machine knows priorities, and neither jobs nor policies. After each step it must
//! run what the policy decided. The manager is called at the times at which it is needed, late, and at
//! no other time.

mod machine;

use super::{Finished, draw};
use crate::log::replay::replay;
use crate::log::trace::{View, trace, verify};
use crate::log::{Entry, Log};
use crate::manager::carrier::SelfReleasing;
use crate::manager::monitor::Timers;
use crate::manager::{Manager, Start};
use layland_gen::Random;
use layland_model::{
    Behaviour, CpuMap, Criticality, Duration, ExecutionModel, Levels, Rate, Separation, Service,
    System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{Policy, Registry};
use machine::{Fault, Machine, NEVER, Thread, World};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    steps: u64,
    /// The invocations of the manager, those of them in which the policy decided, and those for a timer,
    /// a budget or a job that is aborted.
    invocations: u64,
    useful: u64,
    asked: u64,
    levels_changed: u64,
    /// The number of times that the kernel did not run what the policy had decided.
    otherwise: u64,
}

/// Returns the time at which the manager is needed, apart from jobs that have not run.
fn told(manager: &Manager<'_, Machine>) -> Time {
    let budgets = manager.cpus.values().filter(|run| run.task.is_some()).map(|run| run.budget_end);
    let next = manager.ledger.next_time_but_arrivals().min(Time::from_ms(120));
    budgets.fold(next, Time::min)
}

/// Runs a system. After each step the kernel must run what the policy decided.
fn run(
    system: &System,
    policy: Box<dyn Policy>,
    seed: u64,
    fault: Option<Fault>,
) -> (Finished, Counts) {
    run_with(system, policy, seed, fault, Timers::AsNeeded)
}

fn run_with(
    system: &System,
    policy: Box<dyn Policy>,
    seed: u64,
    fault: Option<Fault>,
    timers: Timers,
) -> (Finished, Counts) {
    let order = policy.fixed_order().expect("only policies with an order").clone();
    let tasks = system.tasks.len();
    let world = Rc::new(RefCell::new(World {
        now: 0,
        random: Random::of_task(seed, 4),
        chosen: CpuMap::filled(None, system.platform.cpu_count()),
        threads: TaskMap::filled(Thread { rests_until: NEVER, ..Thread::default() }, tasks),
        order,
        works_on: None,
        fault,
        levels_changed: 0,
    }));
    let log = Log::with_capacity(1 << 16, 1024);
    let end = Time::from_ms(120);
    let start = Start { system, policy, markers: None, log, seed, epoch_ns: 0, end };
    let mut manager = Manager::new(start, Machine(Rc::clone(&world)));
    let mut counts = Counts::default();
    manager.begin(timers);
    manager.carrier.leave();
    loop {
        let needed = match fault {
            Some(Fault::IsPatient) => told(&manager).ns(),
            Some(Fault::LowersNobody | Fault::RaisesNobody) | None => manager.needed_at().ns(),
        };
        let before = manager.ledger.decisions;
        let mut over = false;
        world.borrow_mut().wake();
        let worker = {
            let world = world.borrow();
            let mut runs = world.chosen.ids().filter_map(|cpu| world.runs(cpu));
            runs.find(|&id| world.threads[id].wants_to_work)
        };
        let now = world.borrow().now;
        if needed <= now {
            let begun = manager.log.records.len();
            over |= manager.work(None);
            counts.invocations += 1;
            counts.useful += u64::from(manager.ledger.decisions > before);
            // A round may do more than it was called for.
            let asked = |entry: &Entry| {
                matches!(entry, Entry::Timer { .. } | Entry::Budget { .. } | Entry::Dropped { .. })
            };
            let of_round = &manager.log.records[begun..];
            let is_asked = of_round.iter().any(|record| asked(&record.entry));
            counts.asked += u64::from(manager.ledger.decisions > before && is_asked);
            manager.carrier.leave();
        } else if let Some(id) = worker {
            over |= manager.work(Some(id));
            counts.steps += 1;
            manager.carrier.leave();
        } else {
            // Nothing is pending, so the kernel must run what the policy decided.
            for cpu in system.platform.cpus() {
                let runs = world.borrow().runs(cpu);
                counts.otherwise += u64::from(runs != manager.cpus[cpu].task);
            }
            let mut world = world.borrow_mut();
            let until = world.next_change().min(needed).max(now + 1);
            // The manager comes late.
            let late = if until == needed { world.random.between(0, 40_000) } else { 0 };
            world.pass(until - now + late);
        }
        if over {
            counts.levels_changed = world.borrow().levels_changed;
            return (manager.end(), counts);
        }
    }
}

const SPECS: &[&str] =
    &["smc", "smc:order=rm", "rms", "cms", "zss", "zss:late=demote", "zss:instants=paper", "pt"];

/// Gives some tasks releases that are not periodic, and overruns.
fn varied(index: u64) -> System {
    let mut system = draw(index);
    let mut random = Random::of_task(index, 5);
    for task in system.tasks.values_mut() {
        if random.below(3) == 0 {
            let max = Duration::from_ns(random.between(1, task.period.ns()));
            task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
        }
    }
    if random.below(2) == 0 {
        let factor = Rate::new(3, 2);
        let task = TaskId(random.below(system.tasks.len() as u64) as u32);
        if let Ok(longer) = crate::with_overrun(&system, task, &factor) {
            return longer;
        }
    }
    system
}

#[test]
fn threads_release_and_end_their_jobs_and_the_kernel_runs_what_was_decided() {
    let registry = Registry::standard();
    let mut runs: BTreeMap<&str, (usize, Counts)> = BTreeMap::new();
    for index in 0..400 {
        let system = varied(index);
        for &spec in SPECS {
            let build = || registry.build(spec, &system);
            let Ok(policy) = build() else { continue };
            let rule = policy.rule();
            let (finished, counts) = run(&system, policy, index, None);
            let what = format!("{spec} {index}");
            assert!(!finished.log_full && finished.unsupported.is_none(), "{what}");
            let violations = verify(&finished.log, &system, &rule);
            assert!(violations.is_empty(), "{what}: {violations:#?}");
            let replayed =
                replay(&finished.log, &system, &mut *build().expect("it was built before"));
            let replayed = replayed.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(replayed.divergence, None, "{what}");
            assert_eq!(replayed.events, finished.events, "{what}");
            assert_eq!(counts.otherwise, 0, "{what}");
            let sum = runs.entry(spec).or_default();
            sum.0 += 1;
            sum.1.steps += counts.steps;
            sum.1.invocations += counts.invocations;
            sum.1.useful += counts.useful;
            sum.1.levels_changed += counts.levels_changed;
        }
    }
    for &spec in SPECS {
        let (count, sum) = runs[spec];
        assert!(count > 20 && sum.steps > 10 * sum.useful / 10, "{spec}: {count} {sum:?}");
    }
    assert_eq!(runs["smc"].1.levels_changed, 0, "nobody is suspended under smc");
    assert!(runs["zss"].1.levels_changed > 0 && runs["pt"].1.levels_changed > 0, "{runs:?}");
}

/// Where nothing overruns, no budget is used up and no job is critical or late, the manager never works.
#[test]
fn the_manager_is_not_invoked_at_releases_and_ends() {
    let registry = Registry::standard();
    let task = |name, wcet_us, period_ms| {
        let wcet = Service::from_us(wcet_us);
        Task::implicit(name, wcet, Duration::from_ms(period_ms))
    };
    let mut system =
        System::new(1, vec![task("a", 900, 4), task("b", 1_500, 8), task("c", 4_000, 20)]);
    for task in system.tasks.values_mut() {
        task.execution = ExecutionModel::Fraction(Rate::new(4, 5));
    }
    for spec in ["smc", "rms", "zss"] {
        let policy = registry.build(spec, &system).unwrap();
        let (finished, counts) = run(&system, policy, 7, None);
        let jobs = finished.log.records.iter();
        let jobs = jobs.filter(|record| matches!(record.entry, Entry::Done { .. })).count();
        // The last invocation ends the run.
        assert_eq!((counts.invocations, counts.useful), (1, 0), "{spec}: {counts:?}");
        assert!(counts.steps as usize >= jobs && jobs > 45, "{spec}: {counts:?}");
    }
    // With slices the manager is invoked for the slices, and for nothing else.
    let mut levels = system.clone();
    levels.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    for task in levels.tasks.values_mut() {
        task.wcet = vec![task.wcet[0]; 2].into();
    }
    levels.tasks[TaskId(2)].criticality = Criticality(1);
    let policy = registry.build("pt", &levels).unwrap();
    let (_, counts) = run(&levels, policy, 7, None);
    // A job may end at the very time at which the manager comes to look at its budget.
    let others = counts.useful - counts.asked;
    assert!(counts.asked > 20 && others < counts.asked / 10, "{counts:?}");
}

/// With periodic timers the manager also comes where nothing is to be done, and every timer of a policy
/// is at an instant that the policy has named.
#[test]
fn periodic_timers_cover_those_of_the_policy() {
    let registry = Registry::standard();
    let mut looks = 0;
    for index in 0..120 {
        let system = varied(index);
        for spec in ["smc", "zss", "pt"] {
            let Ok(policy) = registry.build(spec, &system) else { continue };
            let order = policy.fixed_order().unwrap().clone();
            let rule = policy.rule();
            let (finished, counts) = run_with(&system, policy, index, None, Timers::Periodic);
            let violations = verify(&finished.log, &system, &rule);
            assert!(violations.is_empty(), "{spec} {index}: {violations:#?}");
            assert_eq!(counts.otherwise, 0, "{spec} {index}");
            looks += counts.invocations - counts.useful;
            let mut releases = BTreeMap::new();
            for record in &finished.log.records {
                if let Entry::Arrival { job, release, .. } = record.entry {
                    releases.entry(job.task).or_insert_with(Vec::new).push(release);
                }
                let Entry::SetTimer { at, .. } = record.entry else { continue };
                let is_named = releases.iter().any(|(&task, releases)| {
                    let before = Duration::from_ns(1);
                    releases.iter().any(|&release| {
                        release < at && order.next_instant(task, release, at - before) == at
                    })
                });
                assert!(is_named, "{spec} {index}: a timer at {at}");
            }
        }
    }
    assert!(looks > 1000, "{looks}");
}

/// A carrier that does not change priorities is noticed.
#[test]
fn faults_are_noticed() {
    let registry = Registry::standard();
    for fault in [Fault::LowersNobody, Fault::RaisesNobody] {
        let mut noticed = 0;
        for index in 0..120 {
            let system = varied(index);
            for spec in ["zss", "pt"] {
                let Ok(policy) = registry.build(spec, &system) else { continue };
                let (_, counts) = run(&system, policy, index, Some(fault));
                noticed += usize::from(counts.otherwise > 0);
            }
        }
        assert!(noticed > 3, "{fault:?} is noticed in {noticed} runs");
    }
}

/// A job of low criticality and high priority runs beyond the zero-slack instant of another job, whose
/// thread has never run: the manager has to come at this instant.
#[test]
fn a_job_that_has_not_run_becomes_critical_in_time() {
    let task = |name, low_ms, high_ms, period_ms| {
        let mut task =
            Task::implicit(name, Service::from_ms(high_ms), Duration::from_ms(period_ms));
        task.wcet = vec![Service::from_ms(low_ms), Service::from_ms(high_ms)].into();
        task
    };
    let mut system = System::new(1, vec![task("l", 6, 6, 15), task("h", 1, 16, 20)]);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    system.tasks[TaskId(1)].criticality = Criticality(1);
    // No thread works between its release and the end of the other job.
    system.tasks[TaskId(1)].offset = Duration::from_ms(1);
    system.tasks[TaskId(1)].execution = ExecutionModel::List(vec![Service::from_ms(15)]);
    let policy = Registry::standard().build("zss", &system).unwrap();
    let patience = policy.fixed_order().unwrap().patience[TaskId(1)].unwrap();
    assert!(patience < Duration::from_ms(6), "{patience}");
    for (fault, is_late) in [(None, false), (Some(Fault::IsPatient), true)] {
        let (finished, counts) = run(&system, policy.clone(), 3, fault);
        let trace = trace(&finished.log, &system, View::Measured);
        let own = trace.jobs.iter().filter(|record| record.job.id.task == TaskId(1));
        let late = own.filter(|record| record.missed(trace.over)).count();
        assert_eq!(late > 0, is_late, "{fault:?}: {late} late, {counts:?}");
    }
}
