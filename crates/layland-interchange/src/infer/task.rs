//! Turns estimates into the tasks of a set.

use super::arrivals::Pattern;
use super::choose::Chosen;
use super::estimate::{Estimate, Suspensions};
use super::observation::{Observation, Thread, is_of_kernel};
use layland_model::{Behaviour, CpuId, CpuSet, Duration, Index, Separation, Step, Task};
use std::collections::BTreeSet;

/// Returns the tasks. Time 0 is that of the run, or else the earliest beginning of a period.
pub(super) fn tasks(seen: &Observation, chosen: &Chosen) -> Vec<Task> {
    let origin = if seen.is_run { 0 } else { begin(chosen).unwrap_or(0) };
    let is_real_time =
        chosen.tasks.iter().any(|task| task.priority.is_some_and(|priority| priority < 100));
    let mut names = BTreeSet::new();
    let mut tasks = Vec::new();
    for (position, estimate) in chosen.tasks.iter().enumerate() {
        let thread = &seen.threads[estimate.thread];
        let mut task = task(estimate, name(thread, &mut names), origin, seen.dialect.is_some());
        task.rank = position as i64;
        task.priority = estimate.priority.map(i64::from).filter(|_| is_real_time);
        tasks.push(task);
    }
    tasks
}

/// Removes the CPUs on which no thread of a task ran, and
/// renumbers the others. Returns the number of remaining CPUs.
pub(super) fn on_used(seen: &Observation, chosen: &Chosen, tasks: &mut [Task]) -> usize {
    let used = used(seen, chosen);
    for task in tasks {
        let own = task.affinity.take();
        let renumbered = |own: CpuSet| {
            (0..used.len()).filter(|&at| own.contains(used[at])).map(CpuId::from_index).collect()
        };
        let own: Option<CpuSet> = own.map(renumbered);
        // An affinity of all remaining CPUs is not a restriction.
        task.affinity = own.filter(|own| own.len() < used.len());
    }
    used.len()
}

/// The CPUs on which threads of tasks were seen.
pub(super) fn used(seen: &Observation, chosen: &Chosen) -> Vec<CpuId> {
    let on =
        |cpu: &CpuId| chosen.tasks.iter().any(|task| seen.threads[task.thread].cpus.contains(*cpu));
    (0..seen.cpus).map(CpuId::from_index).filter(on).collect()
}

/// Returns the earliest beginning of a first period, in nanoseconds of the trace.
pub(super) fn begin(chosen: &Chosen) -> Option<i64> {
    let starts = chosen.tasks.iter().filter_map(|task| match task.arrivals.pattern {
        Pattern::Periodic { start, .. } => Some(start),
        Pattern::Sporadic { .. } | Pattern::Bursts { .. } => None,
    });
    starts.min()
}

fn task(estimate: &Estimate, name: String, origin: i64, is_measured: bool) -> Task {
    let mut task = Task::implicit(name, estimate.wcet, estimate.period);
    // A longer jitter allows more. A measured one is not worth more digits.
    let jitter = if is_measured { rounded_up(estimate.jitter, 4) } else { estimate.jitter };
    // For these a deadline at the end of the period would yield a wrong *no*. The later one still
    // checks that they keep up.
    let room = match estimate.arrivals.pattern {
        // A job is late by the jitter at most, and the next burst may come a period and the jitter
        // after the last one.
        Pattern::Bursts { .. } => jitter * 2,
        // The deadlines of kernel threads do not matter, and these threads often run in bursts that
        // are too rare to be a pattern.
        Pattern::Periodic { .. } | Pattern::Sporadic { .. } if is_of_kernel(&task.name) => jitter,
        Pattern::Periodic { .. } | Pattern::Sporadic { .. } => Duration::ZERO,
    };
    task.deadline = estimate.deadline.unwrap_or_else(|| match room {
        room if room == Duration::ZERO || !is_measured => estimate.period + room,
        room => rounded_up(estimate.period + room, 4),
    });
    task.jitter = jitter;
    task.budget = estimate.reserved.map(|reserved| {
        let [.., longest] = estimate.execution.quantiles;
        // The WCET here includes the latency of the machine,
        // which the kernel does not take from the budget.
        let is_within = longest <= reserved.runtime;
        if is_within { reserved.runtime.max(estimate.wcet) } else { reserved.runtime }
    });
    task.affinity = estimate.affinity.clone();
    if let Suspensions::Steps(stretches) = &estimate.suspensions {
        let steps = stretches.iter().flat_map(|stretch| {
            let suspends = stretch.suspended > Duration::ZERO;
            let suspends = suspends.then_some(Step::Suspend(stretch.suspended));
            [Some(Step::Run(stretch.executed)), suspends]
        });
        task.steps = Some(steps.flatten().collect());
    }
    match &estimate.arrivals.pattern {
        Pattern::Periodic { start, .. } => {
            let period = estimate.period.ns().max(1);
            task.offset = Duration::from_ns((start - origin).rem_euclid(period));
        }
        Pattern::Sporadic { .. } | Pattern::Bursts { .. } => {
            // Drawn from here, gaps have the mean that was seen.
            let [_, mean, _] = estimate.arrivals.gaps;
            let max = (mean - estimate.period).max(Duration::ZERO) * 2;
            // It is drawn from, and bounds nothing.
            let max = if is_measured { rounded_up(max, 3) } else { max };
            task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
        }
    }
    task
}

/// Rounds up to this many digits.
fn rounded_up(length: Duration, digits: u32) -> Duration {
    let ns = length.ns();
    let unit = 10i64.pow(ns.max(1).ilog10().saturating_sub(digits - 1));
    Duration::from_ns((ns / unit + i64::from(ns % unit > 0)) * unit)
}

/// Returns a name that is a single line and that no other task has.
fn name(thread: &Thread, names: &mut BTreeSet<String>) -> String {
    let clean: String =
        thread.name.chars().map(|char| if char.is_control() { '?' } else { char }).collect();
    let pid = thread.pid.map_or_else(String::new, |pid| format!("-{pid}"));
    let name = match clean.as_str() {
        "" => format!("thread{pid}"),
        _ if names.contains(&clean) => format!("{clean}{pid}"),
        _ => clean,
    };
    let mut unique = name.clone();
    let mut number = 1;
    while !names.insert(unique.clone()) {
        number += 1;
        unique = format!("{name}.{number}");
    }
    unique
}
