//! Overheads as part of the WCETs: converts a system to one without overheads that is schedulable
//! only if the given one is, under every policy that runs the jobs of the highest priorities (EDF
//! and fixed priorities; global, clustered, partitioned). **Sufficient.** After the
//! preemption-centric accounting of Brandenburg 2011, Chapter 3, for the costs that Layland's
//! machine model charges.
//!
//! Assumes: (1) the arrival of a job preempts at most one job, and nothing else moves a job;
//! (2) each overhead is charged as [`Overheads`] states.
//!
//! ```text
//! C'_i = (C_i + sum of the terms) / (1 - sum over the cluster of release / T_j - tick / tick_period)
//! ```
//!
//! | term | how much | why |
//! |---|---|---|
//! | `release` | `release (1 + ceil(J_j / T_j))` for each task of the cluster | releases in an interval beyond `length / T_j` |
//! | `tick` | `tick` | the tick in an interval beyond `length / tick_period` |
//! | `scheduling` | `3 scheduling` | its own start, the resumption of the job that it preempts, its end |
//! | `context switch` | `2 context_switch` | to the job, and back to the job that it preempts |
//! | `interrupt` | `2 interrupt` | another CPU may request both |
//! | `migration` | `migration`, if it may use several CPUs | the job that it preempts continues on another CPU |
//!
//! Reloads of cache blocks remain: the tests for them count these themselves
//! ([`crpd`](crate::crpd)), with a reload time that is divided by the smallest of the denominators.
//!
//! Deviation: the timer CPU of a cluster serves all its releases, and every task is charged as if it
//! ran there.

#![expect(non_snake_case, reason = "symbols of the source")]

use crate::{Assumption, Citation, Refusal};
use layland_model::{
    Duration, ExecutionModel, Overheads, Rate, Service, System, SystemPart, TIME_LIMIT, TaskMap,
};

/// Brandenburg 2011.
pub const BRANDENBURG: Citation = Citation {
    key: "brandenburg2011scheduling",
    text: "B. B. Brandenburg. Scheduling and locking in multiprocessor real-time operating systems. \
           PhD thesis, University of North Carolina at Chapel Hill, 2011.",
    bibtex: "@phdthesis{brandenburg2011scheduling,
  author = {Bj{\\\"o}rn B. Brandenburg},
  title  = {Scheduling and Locking in Multiprocessor Real-Time Operating Systems},
  school = {University of North Carolina at Chapel Hill}, year = {2011}
}",
};

/// A system without overheads except reloads of cache blocks, and the amounts added to its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// The system with larger WCETs.
    pub system: System,
    /// The inflation of each task.
    pub tasks: TaskMap<Inflation>,
}

/// The parts by which the WCET of a task grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inflation {
    /// Each term by name; zero terms are left out.
    pub terms: Vec<(&'static str, Duration)>,
    /// The share of a CPU that releases and ticks leave. The sum is divided by it.
    pub left: Rate,
    /// The WCET with all overheads.
    pub wcet: Service,
}

/// Converts a system to one without overheads. A system that has none stays as it is.
///
/// ```
/// use layland_analysis::overheads::inflate;
/// use layland_model::{Duration, Overheads, Service, System, Task};
/// let task = Task::implicit("a", Service::from_us(100), Duration::from_us(1_000));
/// let mut system = System::new(1, vec![task]);
/// let us = Duration::from_us;
/// system.platform.overheads =
///     Overheads { scheduling: us(1), context_switch: us(2), ..Overheads::default() };
/// let inflated = inflate(&system).unwrap();
/// // 100 + 3 * 1 + 2 * 2
/// assert_eq!(inflated.system.tasks.values().next().unwrap().own_wcet(), Service::from_us(107));
/// ```
///
/// # Errors
/// Returns a refusal if releases and ticks leave nothing of a CPU, or if a WCET becomes too long.
pub fn inflate(system: &System) -> Result<Inflated, Refusal> {
    inflate_placed(system, system)
}

/// [`inflate`] for tasks that a policy has assigned to CPUs or clusters: releases are served as the
/// clusters of the machine say, and migrations depend on where the tasks are `placed`.
///
/// # Errors
/// See [`inflate`].
pub fn inflate_placed(placed: &System, machine: &System) -> Result<Inflated, Refusal> {
    let system = placed;
    // A blocking job is interrupted, too, and no parameter bounds how often.
    Assumption::NoBlocking.check(system)?;
    let costs = &system.platform.overheads;
    let refuse = |message: String| Refusal {
        assumption: Assumption::NoOverheads,
        part: SystemPart::Overheads,
        message,
        help: "lower the overheads or the rates of the tasks",
    };
    let mut inflated = system.clone();
    let mut least_left = Rate::ONE;
    let mut tasks = Vec::new();
    for (id, task) in system.tasks.iter() {
        let cluster = machine.tasks[id].cluster;
        let neighbours = || machine.tasks.values().filter(|other| other.cluster == cluster);
        let mut left = Rate::ONE;
        let mut released = 0i64;
        if costs.release > Duration::ZERO {
            for tau_j in neighbours() {
                left = &left - &Rate::new(costs.release.ns(), tau_j.period.ns());
                let more = 1 + tau_j.jitter.div_ceil(tau_j.period);
                released = released.saturating_add(costs.release.ns().saturating_mul(more));
            }
        }
        if costs.tick > Duration::ZERO {
            left = &left - &Rate::new(costs.tick.ns(), costs.tick_period.ns());
        }
        if left <= Rate::ZERO {
            let message = "releases and ticks take a whole CPU";
            return Err(refuse(message.to_owned()));
        }
        if left < least_left {
            least_left = left.clone();
        }
        let several = system.allowed_cpus(id).len() > 1;
        let terms: Vec<(&'static str, Duration)> = [
            ("release", Duration::from_ns(released.min(TIME_LIMIT))),
            ("tick", costs.tick),
            ("scheduling", costs.scheduling * 3),
            ("context switch", costs.context_switch * 2),
            ("interrupt", costs.interrupt * 2),
            ("migration", if several { costs.migration } else { Duration::ZERO }),
        ]
        .into_iter()
        .filter(|&(_, length)| length > Duration::ZERO)
        .collect();
        let C = task.own_wcet();
        let sum = terms.iter().fold(C.ns(), |sum, (_, length)| sum.saturating_add(length.ns()));
        let wcet = (&Rate::whole(sum) / &left)
            .ceil()
            .filter(|&ns| ns <= TIME_LIMIT)
            .map(Service::from_ns)
            .ok_or_else(|| refuse(format!("task `{}` needs too long with them", task.name)))?;
        if let Some(Err(refusal)) =
            (!terms.is_empty() || left != Rate::ONE).then(|| Assumption::WcetKept.check(system))
        {
            return Err(refusal);
        }
        let own = &mut inflated.tasks[id];
        if wcet != C {
            // The overheads are added to the WCET, which bounds every execution.
            own.execution = ExecutionModel::Wcet;
            let level = own.criticality.level().min(own.wcet.len() - 1);
            own.wcet[level..].fill(wcet);
        }
        tasks.push(Inflation { terms, left, wcet });
    }
    // Releases and ticks interrupt reloads, too.
    let reload = (&Rate::whole(costs.block_reload_time.ns()) / &least_left).ceil();
    let reload = reload
        .filter(|&ns| ns <= TIME_LIMIT)
        .map(Duration::from_ns)
        .ok_or_else(|| refuse("a reload of a cache block takes too long with them".to_owned()))?;
    inflated.platform.overheads = Overheads { block_reload_time: reload, ..Overheads::default() };
    Ok(Inflated { system: inflated, tasks: tasks.into() })
}
