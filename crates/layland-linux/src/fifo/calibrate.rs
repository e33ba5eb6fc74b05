//! Overheads for the simulator to charge, measured on this machine.
//!
//! | overhead | measured as |
//! |---|---|
//! | `release` | the time from the expiry of a release's timer to the manager's clock |
//! | `scheduling` | the time of the policy's decision and its enactment |
//! | `context_switch` | the time from the decision to the first instruction, less the enactment, for a thread that stays on its CPU |
//! | `migration` | the additional time of this for a thread that comes from another CPU |
//! | `interrupt` | the additional time of this with the manager on another CPU |
//! | `tick`, `tick_period` | length of, and distance between, the interruptions of a spinning thread of the highest class |
//!
//! Each is the same quantile of its distribution. On one CPU, overheads that need two CPUs are
//! zero.

use crate::fifo::hosts::{Hosts, ManagerPlace};
use crate::fifo::outcome::Outcome;
use crate::fifo::raw::{self, RawMechanism};
use crate::fifo::run::{FifoOptions, run};
use crate::manager::overheads::Measured;
use crate::{RunError, usable_cpus};
use layland_model::{Duration, Overheads, Service, System, Task};
use layland_policy::Registry;

/// The engine and the bare mechanism in the same setting.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// True if the manager is on the CPU of the jobs.
    pub shared: bool,
    /// The bare mechanism.
    pub raw: RawMechanism,
    /// The engine.
    pub engine: Measured,
}

/// The overheads of this machine.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The overheads for the simulator to charge.
    pub overheads: Overheads,
    /// The engine and the bare mechanism, with the manager on the CPU of the jobs and elsewhere.
    pub comparisons: Vec<Comparison>,
    /// The engine on two CPUs, if there are two.
    pub two_cpus: Option<Measured>,
}

fn task(name: &str, wcet_us: i64, period_us: i64) -> Task {
    Task::implicit(name, Service::from_us(wcet_us), Duration::from_us(period_us))
}

/// Returns a system in which a short job preempts a long one every millisecond, as in the bare
/// mechanism.
fn preempting() -> System {
    System::new(1, vec![task("short", 200, 1_000), task("long", 30_000, 60_000)])
}

/// Returns a system of three jobs on two CPUs; the last one migrates.
fn migrating() -> System {
    System::new(2, vec![task("a", 2_000, 6_000), task("b", 2_000, 7_000), task("c", 6_000, 11_000)])
}

fn engine(system: &System, hosts: Hosts, duration: Duration) -> Result<Outcome, RunError> {
    let policy = Registry::standard()
        .build("g-edf", system)
        .map_err(|error| RunError::unsupported(error.to_string()))?;
    run(system, policy, &FifoOptions::new(duration, hosts))
}

/// Measures this machine on some of its CPUs. Each of several measurements takes `duration`.
///
/// # Errors
/// Returns the errors of [`run()`].
pub fn calibrate(
    cpus: Option<&[usize]>,
    duration: Duration,
    quantile: f64,
) -> Result<Calibration, RunError> {
    let usable = usable_cpus()
        .map_err(|error| RunError::refused("failed to list the CPUs", &error, String::new()))?;
    let cpus = cpus.unwrap_or(&usable);
    let mut comparisons = Vec::new();
    for place in [ManagerPlace::Shared, ManagerPlace::Dedicated] {
        let Ok(hosts) = Hosts::choose(1, cpus, place) else { continue };
        let cpu = hosts.of.as_slice()[0];
        let shared = hosts.manager == cpu;
        let raw = raw::measure(cpu, hosts.manager, duration)?;
        let engine = engine(&preempting(), hosts, duration)?.measured;
        comparisons.push(Comparison { shared, raw, engine });
    }
    let two_cpus = match Hosts::choose(2, cpus, ManagerPlace::Auto) {
        Ok(hosts) => Some(engine(&migrating(), hosts, duration)?.measured),
        Err(_) => None,
    };
    let (lengths, distances) = raw::interruptions(cpus.last().copied().unwrap_or(0))?;
    let time = |ns: i64| Duration::from_ns(ns.max(0));
    let mut overheads = Overheads::default();
    if let Some(own) = comparisons.iter().find(|comparison| comparison.shared) {
        let engine = &own.engine;
        let enact = engine.enact.quantile(quantile);
        overheads.release = time(engine.release.quantile(quantile));
        overheads.scheduling = time(engine.decision.quantile(quantile) + enact);
        overheads.context_switch = time(engine.switch.quantile(quantile) - enact);
        if let Some(other) = comparisons.iter().find(|comparison| !comparison.shared) {
            let remote = other.engine.switch.quantile(quantile);
            overheads.interrupt = time(remote - engine.switch.quantile(quantile));
        }
    }
    if let Some(two) = two_cpus.as_ref().filter(|two| two.migration.count() > 0) {
        overheads.migration =
            time(two.migration.quantile(quantile) - two.switch.quantile(quantile));
    }
    // Fewer than three interruptions do not show a tick.
    if lengths.count() >= 3 {
        overheads.tick = time(lengths.quantile(quantile));
        overheads.tick_period = time(distances.quantile(0.5)).max(overheads.tick * 2);
    }
    Ok(Calibration { overheads, comparisons, two_cpus })
}
