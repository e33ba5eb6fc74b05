//! Four views of one run agree: the kernel's trace, the engine's own log, the guarantees of the
//! policy, and a simulation of the same set.
//!
//! The tolerance is the longest latency that the run measured itself (from an expiry to the
//! manager, from a decision to a thread) plus a millisecond, because the machine lagged behind the
//! decisions by that much. If a kernel does not record when a thread began, the longest interval of
//! this uncertainty is added.

#[expect(dead_code, reason = "this test runs in its own way")]
mod common;

use common::{alone, options, skipped, task};
use layland_checker::{Evidence, check_with};
use layland_config::{Format, Host, demo, read};
use layland_interchange::kernel::{self, Import, Threads};
use layland_linux::tracefs::{self, Instance};
use layland_linux::{Changes, Entry, FifoOptions, Markers, Outcome, Recorder, run, stretched};
use layland_model::{CpuId, Duration, JobId, Rate, System, Time};
use layland_policy::Registry;
use layland_sim::simulate;
use layland_trace::diff::{Difference, Reason, diff};
use layland_trace::{JobEnd, Trace};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

/// The number of times that a comparison may be disturbed.
const ATTEMPTS: usize = 10;

const LENGTH: Duration = Duration::from_ms(480);
/// A tolerance for what the manager does not measure: switches of the kernel, and the resolution of
/// its trace.
const SLACK: Duration = Duration::from_ms(1);
/// A machine with a greater lag does not show the order of events that are 3 ms apart.
const MOST: Duration = Duration::from_ms(3);

/// Mounts tracefs for as long as it lives, unless it is mounted already.
struct Mounted(bool);

const PLACE: &str = "/sys/kernel/tracing";

impl Mounted {
    fn make() -> Option<Mounted> {
        if tracefs::root().is_ok() {
            return Some(Mounted(false));
        }
        let output = Command::new("mount").args(["-t", "tracefs", "tracefs", PLACE]).output();
        output.is_ok_and(|output| output.status.success()).then_some(Mounted(true))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.0 {
            let _ = Command::new("umount").arg(PLACE).status();
        }
    }
}

/// Returns tasks whose events are at least 3 ms apart, or do not affect each other.
fn system(cpus: usize) -> System {
    let mut tasks = vec![task("short", 4, 20), task("long", 20, 60)];
    tasks[1].offset = Duration::from_ms(7);
    if cpus == 2 {
        let mut third = task("other", 25, 60);
        third.offset = Duration::from_ms(3);
        tasks.push(third);
    }
    System::new(cpus, tasks)
}

/// Returns a run with the kernel's trace of it; `None`, with a message, if the machine does not
/// permit it.
fn recorded(system: &System, spec: &str) -> Option<(Outcome, Import)> {
    let Some(_mounted) = Mounted::make() else {
        skipped("root, for tracefs");
        return None;
    };
    let mut changes = Changes::begin("a test", Duration::from_secs(120)).unwrap();
    let instance = match Instance::start(Some(8192), &mut changes) {
        Ok(instance) => instance,
        Err(error) => {
            skipped(&format!("tracefs: {error}"));
            return None;
        }
    };
    let names = system.tasks.values().map(|task| task.name.to_string()).collect();
    let markers = Arc::new(Markers::new(instance.markers().unwrap(), names));
    let recorder = Recorder::start(instance, Vec::new()).unwrap();
    let policy = Registry::standard().build(spec, system).unwrap();
    let outcome = options(system.platform.cpu_count(), LENGTH).and_then(|options| {
        run(system, policy, &FifoOptions { markers: Some(Arc::clone(&markers)), ..options })
    });
    drop(markers);
    let (bytes, lost) = recorder.finish().unwrap();
    assert_eq!(changes.end(), []);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            skipped(&format!("threads of a real-time class and enough CPUs: {error}"));
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let options =
        kernel::ReadOptions { threads: Threads::Of(system), ..kernel::ReadOptions::default() };
    let import = kernel::read(&text, &options).unwrap();
    assert_eq!(
        (lost, import.lost, import.unknown_lines),
        (0, 0, 0),
        "{spec}: {:?}",
        import.remarks
    );
    // A kernel may record no switch from some threads (`doctor` names them). Only that remark is
    // permitted.
    let remarks = usize::from(!import.unrecorded.is_empty());
    assert!(!import.is_inferred && import.remarks.len() == remarks, "{spec}: {:?}", import.remarks);
    Some((outcome, import))
}

/// Returns the lag of the machine behind the decisions, including the uncertainty about the starts
/// of threads.
fn latency(outcome: &Outcome, import: &Import) -> Duration {
    let unknown = import.unrecorded.iter().map(|one| one.by - one.after).max();
    let measured = &outcome.measured;
    let all = [
        &measured.release,
        &measured.timer,
        &measured.completion,
        &measured.switch,
        &measured.migration,
        &measured.dispatch,
        &measured.enact,
    ];
    let most = all.into_iter().map(|times| times.max()).max().unwrap_or(0);
    Duration::from_ns(most) + unknown.unwrap_or(Duration::ZERO) + SLACK
}

/// Returns the jobs that each CPU was given, in order.
fn given(of: impl Iterator<Item = (CpuId, JobId)>) -> BTreeMap<CpuId, Vec<JobId>> {
    let mut given: BTreeMap<CpuId, Vec<JobId>> = BTreeMap::new();
    of.for_each(|(cpu, job)| given.entry(cpu).or_default().push(job));
    given
}

/// Checks that a test passes in at least one of several runs. Other work of the machine, and the
/// machine that it may be a part of, take time from a running job that only the kernel's trace
/// shows.
#[expect(clippy::print_stdout, reason = "a disturbed attempt is said")]
fn in_some_attempt(spec: &str, once: impl Fn() + std::panic::RefUnwindSafe) {
    let _alone = alone();
    for attempt in 1..ATTEMPTS {
        match std::panic::catch_unwind(&once) {
            Ok(()) => return,
            Err(_) => println!("{spec}: attempt {attempt} was disturbed"),
        }
    }
    once();
}

fn agree_once(cpus: usize, spec: &str) {
    let system = system(cpus);
    let Some((outcome, import)) = recorded(&system, spec) else { return };
    let latency = latency(&outcome, &import);

    // The engine's decisions match those in the kernel's trace.
    let decided = given(outcome.log.records.iter().filter_map(|record| match record.entry {
        Entry::On { cpu, job, .. } => Some((cpu, job)),
        _ => None,
    }));
    let marked = import.decisions.iter().filter_map(|decision| Some((decision.cpu, decision.run?)));
    assert_eq!(given(marked), decided, "{spec}");
    assert!(decided.values().map(Vec::len).sum::<usize>() > 30, "{spec}");

    // The jobs are the same, with their true dates, and end when their threads report it.
    let own = outcome.trace(&system, layland_linux::trace::View::Measured);
    let ended = |trace: &Trace| -> BTreeMap<JobId, _> {
        let ended = trace.jobs.iter().filter_map(|record| match record.end {
            Some((at, JobEnd::Completed)) => {
                Some((record.job.id, (record.job.arrival, record.job.deadline, at)))
            }
            _ => None,
        });
        ended.collect()
    };
    let (of_log, of_kernel) = (ended(&own), ended(&import.trace));
    assert_eq!(of_log.keys().collect::<Vec<_>>(), of_kernel.keys().collect::<Vec<_>>(), "{spec}");
    for (id, (arrival, deadline, end)) in &of_log {
        let (kernel_arrival, kernel_deadline, kernel_end) = of_kernel[id];
        assert_eq!((*arrival, *deadline), (kernel_arrival, kernel_deadline), "{spec} {id:?}");
        let apart = (kernel_end - *end).max(*end - kernel_end);
        assert!(apart <= latency, "{spec} {id:?}: {apart} apart, and {latency} is the latency");
    }

    // The kernel kept the guarantees of the policy.
    let rule = Registry::standard().build(spec, &system).unwrap().rule();
    let until = import.until.expect("the run has marked its end");
    let heard_until = Some(until - latency);
    let evidence = Evidence { hides_waiting: true, heard_until, ..Evidence::within(latency) };
    let report = check_with(&import.trace, &system, &rule, 20, &evidence);
    assert!(report.is_clean(), "{spec}, latency {latency}: {report}");

    // The kernel's trace also matches a simulation.
    if latency > MOST {
        skipped(&format!("a machine that is never late by {latency} to compare {spec} in time"));
        return;
    }
    let mut simulated = Trace::default();
    let options = layland_sim::SimOptions::until(Time::ZERO + LENGTH);
    let policy = Registry::standard().build(spec, &system).unwrap();
    simulate(&system, policy, &mut simulated, &options).unwrap();
    let comparison = diff(&simulated, &import.trace, latency);
    if let Some(Difference { reason: Reason::Execution { .. }, .. }) = comparison.first {
        // The job demanded as much as in the simulation, but the machine did other work meanwhile.
        skipped(&format!("a machine that does not take time from a running job to compare {spec}"));
        return;
    }
    assert!(comparison.first.is_none(), "{spec}, latency {latency}: {:?}", comparison.first);
}

#[test]
fn partitioned_edf_agrees() {
    in_some_attempt("p-edf", || agree_once(1, "p-edf"));
}

#[test]
fn rate_monotonic_agrees() {
    in_some_attempt("p-rm", || agree_once(1, "p-rm"));
}

#[test]
fn global_edf_agrees() {
    in_some_attempt("g-edf", || agree_once(2, "g-edf"));
}

/// A running job that a decision moved to another CPU, and the job that the same decision put in
/// its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shift {
    job: JobId,
    from: CpuId,
    to: CpuId,
    instead: JobId,
}

/// Returns the shifts of a run: the job moved in one step, and its place was taken at once.
fn shifts_decided(outcome: &Outcome) -> Vec<Shift> {
    let mut shifts = Vec::new();
    // The present jobs, and those before the decision whose actions are read.
    let (mut on, mut before): (BTreeMap<CpuId, JobId>, BTreeMap<CpuId, JobId>) = Default::default();
    for records in
        outcome.log.records.chunk_by(|_, next| !matches!(next.entry, Entry::Decide { .. }))
    {
        for record in records {
            match record.entry {
                Entry::Decide { .. } => before = on.clone(),
                Entry::Run { cpu, job, .. } => {
                    on.retain(|_, other| *other != job);
                    on.insert(cpu, job);
                }
                Entry::Idle { cpu } | Entry::Completion { cpu, .. } => {
                    on.remove(&cpu);
                }
                _ => {}
            }
        }
        // The completions that follow only remove jobs.
        for (&to, &job) in &on {
            let from = before.iter().find(|&(&cpu, &other)| other == job && cpu != to);
            if let Some((&from, _)) = from
                && let Some(&instead) = on.get(&from)
            {
                shifts.push(Shift { job, from, to, instead });
            }
        }
    }
    shifts
}

/// Strong and hierarchical scheduling move a running job to another CPU, so that a job that is tied
/// to the first one can run there. That is one decision, and the kernel's own trace shows it. Two
/// CPUs suffice, with the manager on one of them.
fn shifts_once(spec: &str) {
    let demo = demo("shifting").unwrap();
    let loaded = read("shifting.toml", demo.text.as_bytes(), Format::Toml, &Host::default());
    let system = stretched(&loaded.unwrap().system, &Rate::whole(4)).unwrap();
    let Some((outcome, import)) = recorded(&system, spec) else { return };
    let latency = latency(&outcome, &import);
    let decided = shifts_decided(&outcome);
    assert!(decided.len() >= 5, "{spec}: {decided:?}");
    for shift in &decided {
        let of = |job: JobId| {
            let segments = import.trace.segments.iter().filter(move |segment| segment.job == job);
            let mut segments: Vec<_> = segments.collect();
            segments.sort_by_key(|segment| segment.start);
            segments
        };
        let near = |at: Time, other: Time| (at - other).max(other - at) <= latency;
        // The kernel continued the job where the decision says, and the other one in its place.
        let left = of(shift.job).windows(2).find_map(|pair| {
            let moved = (pair[0].cpu, pair[1].cpu) == (shift.from, shift.to);
            (moved && near(pair[0].end, pair[1].start)).then_some(pair[0].end)
        });
        let left = left.unwrap_or_else(|| panic!("{spec}, latency {latency}: {shift:?}"));
        let taken = of(shift.instead)
            .iter()
            .any(|segment| segment.cpu == shift.from && near(segment.start, left));
        assert!(taken, "{spec}, latency {latency}: {shift:?}");
    }
    // Weak scheduling leaves the job where it is.
    let weak = spec.replace("hpa", "weak").replace("strong", "weak");
    if let Some((outcome, _)) = recorded(&system, &weak) {
        assert_eq!(shifts_decided(&outcome), [], "{weak}");
    }
}

#[test]
fn a_shift_of_hpa_is_one_decision() {
    in_some_attempt("hpa-edf", || shifts_once("hpa-edf"));
}

#[test]
fn a_shift_of_strong_scheduling_is_one_decision() {
    in_some_attempt("strong-edf", || shifts_once("strong-edf"));
}
