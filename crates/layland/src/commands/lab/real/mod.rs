//! Experiments on real threads of this machine: what policies cost there, and how the engines
//! differ. The crate `layland-lab` has their descriptions, and makes tables and figures of the
//! results.

#[cfg(target_os = "linux")]
mod busy;
#[cfg(target_os = "linux")]
mod engines;
#[cfg(target_os = "linux")]
mod threads;

use layland_lab::{EngineRuns, Experiment, LabError, ThreadRuns};
use layland_policy::Registry;
use std::sync::atomic::AtomicBool;

/// The outcome of a measurement on real threads.
pub(super) enum OnThreads<T> {
    /// It was measured.
    Measured(T),
    /// The experiment does not request any.
    None,
    /// It was interrupted.
    Interrupted,
    /// This machine does not permit it; the string states the requirement.
    Needs(String),
}

/// Measures the costs of policies that the experiment requests. After each run, `tell` is called
/// with the number of completed runs and the total.
///
/// # Errors
/// Returns an error if a system cannot be drawn.
pub(super) fn on_threads(
    experiment: &Experiment,
    registry: &Registry,
    interrupt: &AtomicBool,
    tell: &dyn Fn(usize, usize),
) -> Result<OnThreads<ThreadRuns>, LabError> {
    let Some(threads) = &experiment.threads else { return Ok(OnThreads::None) };
    #[cfg(target_os = "linux")]
    return threads::measure(experiment, registry, threads, interrupt, tell);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (registry, threads, interrupt, tell);
        Ok(OnThreads::Needs("Linux".to_owned()))
    }
}

/// Runs the systems of the experiment on every engine. After each run, `tell` is called with the
/// number of completed runs and the total. Runs that the machine does not support become remarks.
///
/// # Errors
/// Returns an error if a system cannot be drawn or simulated.
pub(super) fn on_engines(
    experiment: &Experiment,
    registry: &Registry,
    interrupt: &AtomicBool,
    tell: &dyn Fn(usize, usize),
) -> Result<OnThreads<EngineRuns>, LabError> {
    let Some(engines) = &experiment.engines else { return Ok(OnThreads::None) };
    #[cfg(target_os = "linux")]
    return engines::measure(experiment, registry, engines, interrupt, tell);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (registry, engines, interrupt, tell);
        Ok(OnThreads::Needs("Linux".to_owned()))
    }
}

/// The figures of measured times.
#[cfg(target_os = "linux")]
fn times(all: &layland_linux::Distribution) -> layland_lab::Times {
    all.figures().map_or(layland_lab::Times::default(), |figures| layland_lab::Times {
        count: figures.count,
        mean_ns: figures.mean_ns,
        median_ns: figures.p50_ns,
        q999_ns: figures.p999_ns,
        max_ns: figures.max_ns,
    })
}
