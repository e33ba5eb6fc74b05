//! Tests of the managers of domains in virtual time, each on a machine of its own: what the domains of a
//! run did is a run of one policy.

use super::draw;
use super::machine::Machine;
use crate::log::replay::replay;
use crate::log::trace::{View, trace, verify};
use crate::log::{Entry, Log};
use crate::manager::carrier::Carrier;
use crate::manager::dispatchers::{Locks, Scope, merged, scopes};
use crate::manager::{Finished, Manager, Start};
use crate::supports;
use layland_engine::rounds;
use layland_model::{CpuId, Duration, Index, Service, System, Task, Time};
use layland_policy::{Policy, Registry};
use std::collections::BTreeMap;

const END: Time = Time::from_ms(120);
/// Policies whose rules have groups that share nothing.
const APART: &[&str] = &["run", "qps", "qps:master=edf", "p-edf", "p-rm", "u-edf", "g-edf"];

/// Returns more tasks than fit on one CPU, with no requests, for policies that divide them.
fn divided(index: u64) -> System {
    let mut system = draw(index);
    system.requests.clear();
    for task in system.tasks.values_mut() {
        task.affinity = None;
    }
    system
}

/// Runs a domain on a machine of its own.
fn run_domain(system: &System, policy: Box<dyn Policy>, scope: &Scope, seed: u64) -> Finished {
    let log = Log::with_capacity(1 << 16, 1024);
    let start = Start { system, policy, markers: None, log, seed: 7, epoch_ns: 0, end: END };
    let mut manager = Manager::new(start, Machine::new(system.tasks.len(), seed));
    manager.confine(scope);
    rounds::begin_on(&mut manager, |cpu| scope.cpus.contains(&cpu));
    loop {
        let heard = manager.carrier.news();
        while manager.round() {}
        if manager.is_over() {
            return manager.finish(false).0;
        }
        let wake_at = manager.absolute_ns(manager.next_time());
        manager.carrier.wait(heard, wake_at);
    }
}

/// The log of all domains together is that of one policy: the rule holds, a fresh policy decides the
/// same, and every task has its jobs.
#[test]
fn domains_together_are_one_run() {
    let registry = Registry::standard();
    let mut runs: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for index in 0..120 {
        let system = divided(index);
        for &spec in APART {
            let build = || registry.build(spec, &system);
            let Ok(policy) = build() else { continue };
            if supports(&system, &*policy).is_err() {
                continue;
            }
            let rule = policy.rule();
            let scopes = scopes(&rule, &system, Locks::PerGroup);
            let parts: Vec<Finished> = (0..)
                .zip(&scopes)
                .map(|(seed, scope)| run_domain(&system, policy.clone(), scope, 100 * index + seed))
                .collect();
            let (events, decisions) = parts.iter().fold((0, 0), |(events, decisions), part| {
                (events + part.events, decisions + part.decisions)
            });
            let whole = merged(parts);
            let what = format!("{spec} {index}: {scopes:?}");
            assert!(!whole.log_full && whole.log.lost == 0, "{what}");
            let violations = verify(&whole.log, &system, &rule);
            assert!(violations.is_empty(), "{what}: {violations:#?}");
            let replayed = replay(&whole.log, &system, &mut *build().expect("it was built before"))
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(replayed.divergence, None, "{what}");
            // The first decisions of all domains are one of the policy.
            let of_one = decisions - (scopes.len() as u64 - 1);
            assert_eq!((replayed.events, replayed.decisions), (events, of_one), "{what}");
            assert_eq!((whole.events, whole.decisions), (events, of_one), "{what}");
            assert_eq!(whole.log.cpus(), system.platform.cpu_count(), "{what}");
            let trace = trace(&whole.log, &system, View::Measured);
            for (id, task) in system.tasks.iter() {
                let jobs = trace.jobs.iter().filter(|job| job.job.id.task == id).count();
                let least = (END.ns() - task.offset.ns()) / task.period.ns() / 2;
                assert!(jobs as i64 >= least, "{what}: {jobs} jobs of {id}");
            }
            let over = |entry: &Entry| matches!(entry, Entry::Over { .. });
            let ends = whole.log.records.iter().filter(|record| over(&record.entry)).count();
            assert_eq!(ends, 1, "{what}");
            // Each half of every decision has its time, and so has the whole.
            let measured = &whole.measured;
            let updates = measured.release_update.count() + measured.other_update.count();
            assert_eq!((measured.selection.count(), updates), (decisions, decisions), "{what}");
            assert!(measured.release_update.count() > 0, "{what}");
            runs.entry(spec).or_default()[usize::from(scopes.len() > 1)] += 1;
        }
    }
    println!("{runs:?}");
    for spec in ["run", "qps", "p-edf"] {
        assert!(runs[spec][1] >= 20, "{spec} was rarely divided: {runs:?}");
    }
    assert_eq!(runs["g-edf"][1], 0, "global EDF has one domain");
}

/// The domains of RUN are its subsystems, and those of QPS its hierarchies; with one lock there is one
/// domain.
#[test]
fn domains_are_the_groups_of_the_rule() {
    let task = |wcet| Task::implicit("t", Service::from_ms(wcet), Duration::from_ms(6));
    // Three tasks of 2/3 share two CPUs, and one task has a CPU. If there is a CPU for each, they share
    // none.
    let shared: &[&[u32]] = &[&[0, 1, 2], &[3]];
    let alone: &[&[u32]] = &[&[0], &[1], &[2], &[3]];
    let cases = [("run", 3, shared), ("qps", 3, shared), ("run", 5, alone), ("qps", 5, alone)];
    for (spec, cpus, expected) in cases {
        let system = System::new(cpus, vec![task(4), task(4), task(4), task(6)]);
        let rule = Registry::standard().build(spec, &system).unwrap().rule();
        let mut found = scopes(&rule, &system, Locks::PerGroup);
        for scope in &mut found {
            scope.cpus.sort_unstable();
            scope.tasks.sort_unstable();
        }
        found.sort_by_key(|scope| scope.tasks.clone());
        let tasks: Vec<Vec<u32>> =
            found.iter().map(|scope| scope.tasks.iter().map(|task| task.0).collect()).collect();
        assert_eq!(tasks, expected, "{spec} {cpus}: {found:?}");
        // Each CPU is in one domain, also one on which nothing runs.
        let mut own: Vec<CpuId> = found.iter().flat_map(|scope| scope.cpus.clone()).collect();
        own.sort_unstable();
        assert_eq!(own, (0..cpus).map(CpuId::from_index).collect::<Vec<_>>(), "{spec} {cpus}");
        let one = scopes(&rule, &system, Locks::One);
        assert_eq!((one.len(), one[0].cpus.len(), one[0].tasks.len()), (1, cpus, 4), "{spec}");
    }
}

/// A request may concern several groups, so that a system with requests has one domain.
#[test]
fn requests_need_one_domain() {
    let mut divisible = 0;
    for index in 0..200 {
        let mut system = draw(index);
        let Ok(policy) = Registry::standard().build("p-edf", &system) else { continue };
        let rule = policy.rule();
        if system.requests.is_empty() {
            continue;
        }
        assert_eq!(scopes(&rule, &system, Locks::PerGroup).len(), 1);
        system.requests.clear();
        divisible += usize::from(scopes(&rule, &system, Locks::PerGroup).len() > 1);
    }
    assert!(divisible > 5, "{divisible}");
}
