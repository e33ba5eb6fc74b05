//! Shared helpers of the tests on real threads. Only one of these tests runs at a time: they need
//! whole CPUs.

use layland_linux::{
    FifoOptions, Hosts, ManagerPlace, Outcome, Releases, RunError, run, usable_cpus,
};
use layland_model::{Duration, Service, System, Task};
use layland_policy::Policy;

mod said;
mod skipped;
pub use said::alone;
pub use skipped::skipped;

/// Returns options for a platform of this number of CPUs, with the manager on one of them if
/// necessary.
pub fn options(cpus: usize, duration: Duration) -> Result<FifoOptions<'static>, RunError> {
    let usable = usable_cpus().expect("the kernel says which CPUs may be used");
    let hosts = Hosts::choose(cpus, &usable, ManagerPlace::Auto)?;
    Ok(FifoOptions::new(duration, hosts))
}

/// Runs a system, or reports why that is not possible.
pub fn try_run(system: &System, policy: Box<dyn Policy>, duration: Duration) -> Option<Outcome> {
    try_run_by(system, policy, duration, Releases::default())
}

/// Like [`try_run`], with the choice who releases and ends jobs.
pub fn try_run_by(
    system: &System,
    policy: Box<dyn Policy>,
    duration: Duration,
    releases: Releases,
) -> Option<Outcome> {
    try_run_as(system, policy, duration, |options| FifoOptions { releases, ..options })
}

/// Like [`try_run`], with other options.
pub fn try_run_as(
    system: &System,
    policy: Box<dyn Policy>,
    duration: Duration,
    change: impl FnOnce(FifoOptions<'static>) -> FifoOptions<'static>,
) -> Option<Outcome> {
    let result = options(system.platform.cpu_count(), duration)
        .and_then(|options| run(system, policy, &change(options)));
    match result {
        Ok(outcome) => Some(outcome),
        Err(RunError::Refused { .. }) => {
            skipped("CAP_SYS_NICE");
            None
        }
        Err(RunError::TooFewCpus { .. }) => {
            skipped("more CPUs");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns a task with times in milliseconds.
pub fn task(name: &str, wcet_ms: i64, period_ms: i64) -> Task {
    Task::implicit(name, Service::from_ms(wcet_ms), Duration::from_ms(period_ms))
}
