//! The common parts of the tests of one family of policies: runs, findings of the checker, and finished jobs.

use layland_checker::check;
use layland_model::System;
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_testkit::logged::{Logged, first_divergence};
use layland_testkit::{registry, ticks};
use layland_trace::Trace;

pub(crate) fn run(system: &System, policy: Box<dyn Policy>, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

pub(crate) fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

pub(crate) fn violations(spec: &str, trace: &Trace, system: &System) -> String {
    let report = check(trace, system, &build(spec, system).rule(), 5);
    if report.is_clean() { String::new() } else { format!("{spec}: {report}\n{system:#?}") }
}

pub(crate) fn finished(trace: &Trace) -> Vec<ticks::Finished> {
    let mut finished: Vec<ticks::Finished> = (trace.jobs.iter())
        .filter_map(|record| {
            Some(ticks::Finished {
                finish: record.completion()?.ns(),
                task: record.job.id.task,
                seq: record.job.id.seq,
                deadline: record.job.deadline.ns(),
            })
        })
        .collect();
    finished.sort_unstable();
    finished
}

/// Runs a policy twice, and feeds its events to copies of it, one of them made in the middle. All
/// must act equally.
pub(crate) fn run_repeated(
    system: &System,
    policy: Box<dyn Policy>,
    options: &SimOptions<'_>,
) -> Trace {
    let logged = Logged::new(policy.clone());
    let log = logged.log();
    let trace = run(system, Box::new(logged), options);
    assert_eq!(trace, run(system, policy.clone(), options));
    let log = log.lock().unwrap();
    let (first, rest) = log.split_at(log.len() / 2);
    let mut copy = policy;
    assert_eq!(first_divergence(&mut copy, first), None);
    assert_eq!(first_divergence(&mut copy.clone(), rest), None);
    trace
}
