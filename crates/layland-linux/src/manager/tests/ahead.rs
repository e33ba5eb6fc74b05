//! Tests of a manager whose CPUs act before it has decided.

use super::kernel::{Defect, Follows, Kernel, Order, Record};
use super::threads::{Counts, Threads};
use super::{RULE_OF_PROGRESS, draw};
use crate::log::replay::replay;
use crate::log::trace::verify;
use crate::log::{Entry, Log};
use crate::manager::{Finished, Manager, Start};
use crate::supports;
use layland_gen::Random;
use layland_model::{
    CpuId, Duration, ExecutionModel, JobId, OnMiss, ScheduleRule, Service, System, Task, TaskId,
    Time,
};
use layland_policy::{Policy, Registry};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

const END: Time = Time::from_ms(120);

fn run(
    system: &System,
    policy: Box<dyn Policy>,
    seed: u64,
    looks_ahead: bool,
    defect: Option<Defect>,
) -> (Finished, Counts) {
    let log = Log::with_capacity(1 << 16, 1024);
    let start = Start { system, policy, markers: None, log, seed, epoch_ns: 0, end: END };
    let size = (system.platform.cpu_count(), system.tasks.len());
    let mut manager = Manager::new(start, Threads::new(size, seed, looks_ahead, defect));
    manager.announce();
    let (finished, threads) = manager.run_with_carrier();
    (finished, threads.counts())
}

/// Returns a system of the other tests. A job is aborted, if at all, before the next one arrives,
/// which begins by itself.
fn draw_early(index: u64) -> System {
    let mut system = draw(index);
    for task in system.tasks.values_mut().filter(|task| task.on_miss == OnMiss::Abort) {
        task.deadline = Duration::from_ns(task.period.ns() * 3 / 4);
    }
    system
}

/// Even if CPUs act by themselves, the rule of the policy holds in the schedule that it made, no
/// CPU and no thread is in use twice, and a replay decides the same. The kernel checks assertions
/// of its own.
#[test]
fn every_policy_runs_on_cpus_that_act_ahead() {
    let registry = Registry::standard();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for index in 0..40 {
        let system = draw_early(index);
        for info in &registry {
            let build = || registry.build(&info.name, &system);
            let Ok(policy) = build() else { continue };
            if supports(&system, &*policy).is_err() {
                continue;
            }
            let rule = if RULE_OF_PROGRESS.contains(&info.name.as_ref()) {
                ScheduleRule::None
            } else {
                policy.rule()
            };
            let what = format!("{} {index}", info.name);
            let (finished, counted) = run(&system, policy, index, true, None);
            assert!(!finished.log_full && finished.unsupported.is_none(), "{what}");
            let violations = verify(&finished.log, &system, &rule);
            assert!(violations.is_empty(), "{what}: {violations:#?}");
            let replayed =
                replay(&finished.log, &system, &mut *build().expect("it was built before"));
            let replayed = replayed.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(replayed.divergence, None, "{what}");
            assert_eq!(replayed.events, finished.events, "{what}");
            counts.entry(info.name.to_string()).or_default().add(counted);
        }
    }
    let guessed: Vec<_> = counts.values().filter(|counts| counts.right > 0).collect();
    let (followed, wrong, stale) =
        counts.values().fold((0, 0, 0), |(followed, wrong, stale), own| {
            (followed + own.followed, wrong + own.wrong, stale + own.stale)
        });
    assert!(counts.len() > 30 && guessed.len() > 15, "{counts:?}");
    // Otherwise these cases were not tested.
    assert!(followed > 0 && wrong > 0 && stale > 0, "{counts:?}");
}

/// Returns four tasks that leave slack on two CPUs under every policy.
fn draw_light(index: u64) -> System {
    let mut random = Random::of_task(index, 4);
    let mut tasks = Vec::new();
    for (number, ms) in [5, 8, 10, 20].into_iter().enumerate() {
        let period = Duration::from_ms(ms);
        let wcet = period.ns() * random.between(60, 120) / 1000;
        let mut task = Task::implicit(format!("t{number}"), Service::from_ns(wcet), period);
        // RUN and QPS know more about tasks whose windows begin at whole multiples of a unit.
        let grain = if index.is_multiple_of(2) { 1 } else { 250_000 };
        task.offset = Duration::from_ns(random.between(0, period.ns() / grain) * grain);
        // The overheads keep these jobs within the bound.
        let demands = (0..3).map(|_| Service::from_ns(random.between(1, wcet / 2)));
        task.execution = ExecutionModel::List(demands.collect());
        tasks.push(task);
    }
    System::new(2, tasks)
}

/// Jobs that arrive before this time have completed by the end.
const LATEST: Time = Time::from_ms(80);

/// Returns the number of jobs that arrive long before the end.
fn arrivals(system: &System) -> usize {
    let of_task = |task: &Task| {
        let left = LATEST - (Time::ZERO + task.offset);
        (left.ns() + task.period.ns() - 1) / task.period.ns()
    };
    system.tasks.iter().map(|(_, task)| of_task(task) as usize).sum()
}

/// Returns the jobs that have completed, of those that arrive long before the end.
fn completed(finished: &Finished, system: &System) -> BTreeSet<JobId> {
    let done = finished.log.records.iter().filter_map(|record| match record.entry {
        Entry::Done { job, .. } => Some(job),
        _ => None,
    });
    done.filter(|job| {
        let task = &system.tasks[job.task];
        Time::ZERO + task.offset + Duration::from_ns(task.period.ns() * job.seq as i64) < LATEST
    })
    .collect()
}

/// With and without looking ahead, every job completes, and CPUs act by themselves only if they
/// may.
#[test]
fn the_same_jobs_complete_as_without_looking_ahead() {
    let registry = Registry::standard();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for index in 0..10 {
        let system = draw_light(index);
        let arrive = arrivals(&system);
        for info in &registry {
            let Ok(policy) = registry.build(&info.name, &system) else { continue };
            if supports(&system, &*policy).is_err() {
                continue;
            }
            let what = format!("{} {index}", info.name);
            let (without, none) = run(&system, policy.clone(), index, false, None);
            let (with, counted) = run(&system, policy, index, true, None);
            let (without, with) = (completed(&without, &system), completed(&with, &system));
            assert_eq!(without, with, "{what}");
            assert_eq!(with.len(), arrive, "{what}");
            assert_eq!((none.right, none.wrong), (0, 0), "{what}");
            counts.entry(info.name.to_string()).or_default().add(counted);
        }
    }
    for name in ["g-edf", "p-edf", "hpa-edf", "dl-sp", "dl", "run", "qps", "amc"] {
        assert!(counts[name].right > 0, "{name}: {:?}", counts[name]);
    }
    for (name, counts) in &counts {
        println!("{name}: {counts:?}");
        assert!(counts.adjusted * 8 <= counts.right, "{name}: {counts:?}");
    }
}

/// Returns true if a run of any policy fails with this complaint because of a defect.
fn is_found(defect: Defect, complaint: &str) -> bool {
    let registry = Registry::standard();
    for index in 0..60 {
        let system = draw_early(index);
        for info in &registry {
            let Ok(policy) = registry.build(&info.name, &system) else { continue };
            if supports(&system, &*policy).is_err() {
                continue;
            }
            let defective = AssertUnwindSafe(|| run(&system, policy, index, true, Some(defect)));
            let Err(panic) = catch_unwind(defective) else { continue };
            let said = panic.downcast_ref::<String>().map_or("", String::as_str);
            // Under some policies the defect causes another complaint first.
            if said.contains(complaint) {
                return true;
            }
        }
    }
    false
}

/// The tests detect a defective mechanism; otherwise they would prove nothing.
#[test]
fn a_defect_of_the_mechanism_is_found() {
    for (defect, complaint) in [
        (Defect::SuccessorNeedNotWait, "has the slot of CPU"),
        (Defect::CarriesOutStaleOrders, "which has ended its job"),
        (Defect::ForgetsToKick, "for ever"),
        (Defect::CountsFromGivingUp, " got "),
    ] {
        assert!(is_found(defect, complaint), "{defect:?}");
    }
}

/// Returns two tasks on a CPU. Jobs of the first one end about when the second one preempts them.
fn draw_close(index: u64) -> System {
    let ms = Duration::from_ms;
    let mut first = Task::implicit("first", Service::from_ms(5), ms(10));
    first.offset = ms(1);
    // It begins a moment after its release.
    let mut random = Random::of_task(index, 7);
    let demands = (0..8).map(|_| Service::from_ns(random.between(3_900_000, 4_050_000)));
    first.execution = ExecutionModel::List(demands.collect());
    let mut second = Task::implicit("second", Service::from_ms(1), ms(10));
    (second.offset, second.deadline) = (ms(5), ms(4));
    System::new(1, vec![first, second])
}

/// A thread that lost its CPU between the end of its job and its sleep needs one to fall asleep.
#[test]
fn who_is_left_before_it_sleeps_is_found() {
    let registry = Registry::standard();
    let is_stuck = |system: &System, index, defect| {
        let policy = registry.build("p-edf", system).expect("there is room");
        let (finished, _) = run(system, policy, index, false, defect);
        completed(&finished, system).len() < arrivals(system)
    };
    let found = (0..60).filter(|&index| {
        let (close, light) = (draw_close(index), draw_light(index));
        assert!(!is_stuck(&close, index, None) && !is_stuck(&light, index, None), "{index}");
        is_stuck(&close, index, Some(Defect::LeavesWhoFallsAsleep))
    });
    // A thread takes microseconds to fall asleep, so that most runs do not hit that moment.
    let found = found.count();
    println!("found in {found} of 60 runs");
    assert!(found >= 5, "{found}");
}

/// A CPU stops a thread with an exhausted budget of a table entry, even if the manager is late.
#[test]
fn a_budget_of_the_table_ends_without_the_manager() {
    const BUDGET: i64 = 700_000;
    // The maximum delay until a CPU notices that it has to check its slot.
    const LATE: i64 = 300_000;
    let (first, second) = (TaskId(0), TaskId(1));
    for seed in 0..50 {
        let mut kernel = Kernel::new(1, 2, Random::of_task(seed, 6), None);
        for id in [first, second] {
            (kernel.threads[id].post.demand, kernel.threads[id].post.gate) = (5_000_000, 1);
            kernel.wake_by_gate(id);
        }
        kernel.cpus[CpuId(0)].order =
            Some(Order { thread: Some((first, 1)), budget: None, generation: 1 });
        kernel.commit();
        kernel.epoch = 1;
        let (after, next) = ((first, 1), (second, 1));
        kernel.cpus[CpuId(0)].successor =
            Some(Follows { epoch: 1, after, next, budget: Some(BUDGET) });
        kernel.pass(20_000_000);
        let got = kernel.threads[second].ran(kernel.now);
        assert!((BUDGET..=BUDGET + LATE).contains(&got), "{seed}: {got}");
        let is_told = kernel.records.iter().any(|record| matches!(record, Record::UsedUp));
        assert!(is_told && kernel.threads[second].on.is_none(), "{seed}");
    }
}

/// A thread has the slot of a CPU, but falls asleep on the one that it was to leave: its successor
/// runs.
#[test]
fn who_follows_a_thread_that_sleeps_elsewhere_runs() {
    let (first, second) = (TaskId(0), TaskId(1));
    let follows = |seed, defect| {
        let mut kernel = Kernel::new(2, 2, Random::of_task(seed, 5), defect);
        for id in [first, second] {
            (kernel.threads[id].post.demand, kernel.threads[id].post.gate) = (1_000_000, 1);
            kernel.wake_by_gate(id);
        }
        let order = |thread| Some(Order { thread, budget: None, generation: 1 });
        kernel.cpus[CpuId(0)].order = order(Some((first, 1)));
        kernel.commit();
        kernel.pass(500_000);
        kernel.threads[first].post.demand = kernel.threads[first].ran(kernel.now) + 1;
        kernel.cpus[CpuId(0)].order = order(None);
        kernel.cpus[CpuId(1)].order = order(Some((first, 1)));
        kernel.commit();
        kernel.epoch = 1;
        let (after, next) = ((first, 1), (second, 1));
        kernel.cpus[CpuId(1)].successor = Some(Follows { epoch: 1, after, next, budget: None });
        kernel.pass(3_000_000);
        assert_eq!(kernel.threads[second].post.done_gate, 1, "it waits for ever");
    };
    (0..50).for_each(|seed| follows(seed, None));
    let defect = Some(Defect::FollowsElsewhereUnseen);
    assert!((0..50).any(|seed| catch_unwind(|| follows(seed, defect)).is_err()));
}
