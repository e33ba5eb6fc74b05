//! Tests of the manager on a simulated machine: threads in virtual time, which report, are late and
//! run on for a moment as those of a kernel do. Every interleaving is drawn; none depends on the
//! machine that runs the tests.

mod ahead;
mod domains;
mod kernel;
mod machine;
mod ordered;
mod threads;

use super::{Finished, Manager, Start};
use crate::log::replay::replay;
use crate::log::trace::verify;
use crate::log::{Entry, Log};
use crate::supports;
use layland_gen::Random;
use layland_model::{
    CpuId, CpuSet, Criticality, Duration, ExecutionModel, Levels, OnMiss, Preemption, Request,
    RequestKind, ScheduleRule, Service, System, Task, Time,
};
use layland_policy::{Policy, Registry};
use machine::Machine;
use std::collections::BTreeMap;

/// Returns a few tasks with periods of some milliseconds. Some systems have two criticality levels,
/// affinities, late jobs that are aborted or skipped, or CPUs that come and go.
fn draw(index: u64) -> System {
    let mut random = Random::of_task(index, 2);
    let cpus = 1 + random.below(3) as usize;
    let is_critical = random.below(3) == 0;
    let is_masked = random.below(4) == 0;
    let mut tasks = Vec::new();
    for number in 0..cpus as u64 + 1 + random.below(3) {
        let ms = [4, 5, 8, 10, 16, 20][random.below(6) as usize];
        let period = Duration::from_ms(ms);
        let share = random.between(100, 600);
        let wcet = Service::from_ns(period.ns() * share / 1000);
        let mut task = Task::implicit(format!("t{number}"), wcet, period);
        task.offset = Duration::from_ns(random.between(0, period.ns()));
        if random.below(2) == 0 {
            let demands = (0..1 + random.below(4)).map(|_| random.between(1, wcet.ns()));
            task.execution = ExecutionModel::List(demands.map(Service::from_ns).collect());
        }
        task.on_miss = match random.below(6) {
            0 => OnMiss::Abort,
            1 => OnMiss::Skip,
            _ => OnMiss::Continue,
        };
        if is_critical && random.below(2) == 0 {
            task.criticality = Criticality(1);
            task.wcet = vec![Service::from_ns(wcet.ns() / 2), wcet].into();
        }
        if is_masked && random.below(2) == 0 {
            let first = CpuId(random.below(cpus as u64) as u32);
            task.affinity = Some(CpuSet::single(first));
        }
        tasks.push(task);
    }
    let mut system = System::new(cpus, tasks);
    if is_critical {
        system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    }
    if random.below(4) == 0 {
        let cpu = CpuId(random.below(cpus as u64) as u32);
        let at = |ms| Time::from_ms(ms);
        system.requests = vec![
            Request { at: at(40), kind: RequestKind::CpuOffline(cpu) },
            Request { at: at(60), kind: RequestKind::CpuOnline(cpu) },
        ];
    }
    system
}

fn run(system: &System, policy: Box<dyn Policy>, seed: u64) -> Finished {
    let log = Log::with_capacity(1 << 16, 1024);
    let (epoch_ns, end) = (0, Time::from_ms(120));
    let start = Start { system, policy, markers: None, log, seed, epoch_ns, end };
    Manager::new(start, Machine::new(system.tasks.len(), seed)).run()
}

/// The rule of these policies depends on the execution times of jobs, for which they take the time
/// since `Run`; on a machine that is late, execution times are shorter.
const RULE_OF_PROGRESS: &[&str] = &["edzl", "efdf"];

/// Regardless of what happens while the manager works, no thread is given a CPU that another thread
/// has, the policy's rule holds in the schedule that it made, a replay decides the same, and the
/// end of a job that ended while it was being preempted is reported.
#[test]
fn every_policy_runs_on_a_machine_that_is_late() {
    let registry = Registry::standard();
    let mut ended: BTreeMap<String, usize> = BTreeMap::new();
    for index in 0..60 {
        let system = draw(index);
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
            let finished = run(&system, policy, index);
            let what = format!("{} {index}", info.name);
            assert!(!finished.log_full && finished.unsupported.is_none(), "{what}");
            let violations = verify(&finished.log, &system, &rule);
            assert!(violations.is_empty(), "{what}: {violations:#?}");
            let replayed =
                replay(&finished.log, &system, &mut *build().expect("it was built before"));
            let replayed = replayed.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(replayed.divergence, None, "{what}");
            assert_eq!(replayed.events, finished.events, "{what}");
            let ends = finished.log.records.iter();
            let ends = ends.filter(|record| is_an_end(&record.entry, &system)).count();
            *ended.entry(info.name.to_string()).or_default() += ends;
        }
    }
    let without: Vec<_> = ended.iter().filter(|&(_, &count)| count == 0).collect();
    assert!(ended.len() > 30 && without.len() <= 5, "{ended:?}");
}

/// Returns true for the end of a job that cannot be aborted.
fn is_an_end(entry: &Entry, system: &System) -> bool {
    matches!(entry, Entry::Ended { job } if system.tasks[job.task].on_miss != OnMiss::Abort)
}

/// Gives some tasks each kind of region.
fn with_regions(mut system: System, index: u64) -> System {
    let mut random = Random::of_task(index, 3);
    for task in system.tasks.values_mut() {
        let [wcet] = *task.wcet else { continue };
        let wcet = wcet.ns();
        task.preemption = match random.below(4) {
            0 => Preemption::Anywhere,
            1 => Preemption::Never,
            2 => Preemption::Delayed(Duration::from_ns(random.between(1, wcet))),
            _ => {
                let first = random.between(1, wcet - 1);
                let second = random.between(1, wcet - first);
                let lengths = [first, second, wcet - first - second];
                let lengths = lengths.into_iter().filter(|&length| length > 0);
                Preemption::Between(lengths.map(Service::from_ns).collect())
            }
        };
    }
    system
}

/// A region that ends while the manager sleeps ends for its policy at the next decision. The test
/// detects a job that does not yield then.
#[test]
fn regions_end_on_a_machine_that_is_late() {
    let registry = Registry::standard();
    let (mut kept, mut broken) = (0, 0);
    for index in 0..200 {
        let system = with_regions(draw(index), index);
        for spec in ["p-edf", "p-rm", "g-edf", "g-rm:tie=running"] {
            let Ok(policy) = registry.build(spec, &system) else { continue };
            let rule = policy.rule();
            if supports(&system, &*policy).is_err()
                || !matches!(rule, ScheduleRule::Deferred { .. })
            {
                continue;
            }
            let finished = run(&system, policy, index);
            let violations = verify(&finished.log, &system, &rule);
            assert!(violations.is_empty(), "{spec} {index}: {violations:#?}");
            kept += 1;
            let nonpreemptive =
                format!("{spec}{}nonpreemptive", if spec.contains(':') { "," } else { ":" });
            let never = registry.build(&nonpreemptive, &system).expect("it has regions");
            let finished = run(&system, never, index);
            broken += usize::from(!verify(&finished.log, &system, &rule).is_empty());
        }
    }
    assert!(kept > 200 && broken > 50, "kept in {kept} runs, broken in {broken}");
}

/// Two runs on the same machine have the same log.
#[test]
fn a_run_repeats() {
    let mut repeated = 0;
    for index in 0..20 {
        let system = draw(index);
        let Ok(policy) = Registry::standard().build("g-edf", &system) else { continue };
        let first = run(&system, policy.clone(), index).log;
        assert!(!first.records.is_empty() && first == run(&system, policy, index).log, "{index}");
        repeated += 1;
    }
    assert!(repeated >= 5, "g-edf took {repeated} systems");
}
