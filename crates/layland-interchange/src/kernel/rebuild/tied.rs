//! How often a thread waited for its CPU although another one would have been free for it: this is what tells a thread
//! that may use one CPU alone from one that has just never moved.

use super::super::line::{Event, EventKind, Left};
use super::super::threads::Tasks;
use layland_model::{Index, TaskId};
use std::collections::BTreeMap;

/// The kernel moves a real-time thread that waits to a CPU with less important work at once. What is shorter can be its
/// latency, or that of the machine.
const WORTH_A_WORD_NS: i64 = 200_000;

/// What a CPU does.
struct Holder {
    pid: u32,
    /// None is an idle CPU.
    priority: Option<i32>,
    since: i64,
    /// Tasks that have waited long enough while it did that. They count if the next switch fits: a CPU whose switches
    /// are not in the trace may have done anything.
    passed: Vec<TaskId>,
}

/// By task and CPU: how often it waited while that other CPU had nothing as important. Of threads under SCHED_FIFO and
/// SCHED_RR alone: the kernel balances others when it finds the time, and one under SCHED_DEADLINE may wait for its
/// runtime.
pub(super) fn tied(events: &[Event], tasks: &Tasks) -> Vec<BTreeMap<u32, u64>> {
    let mut counts = vec![BTreeMap::new(); tasks.names.len()];
    let mut cpus: BTreeMap<u32, Holder> = BTreeMap::new();
    // Since when each thread waits.
    let mut waiting: BTreeMap<u32, i64> = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::Wake { thread, .. } => {
                waiting.entry(thread.pid).or_insert(event.at);
            }
            EventKind::Switch { prev, left, next } => {
                if let Some(before) = cpus.remove(&event.cpu)
                    && before.pid == prev.pid
                {
                    for task in before.passed {
                        *counts[task.index()].entry(event.cpu).or_default() += 1;
                    }
                }
                let is_real_time = next.priority.is_some_and(|own| (0..100).contains(&own));
                if let Some(since) = waiting.remove(&next.pid)
                    && is_real_time
                    && let Some(task) = tasks.of(next.pid)
                {
                    let is_free = |other: &Holder| {
                        let is_below =
                            other.priority.is_none_or(|other| Some(other) > next.priority);
                        is_below && event.at - since.max(other.since) >= WORTH_A_WORD_NS
                    };
                    let free = cpus.values_mut().filter(|other| is_free(other));
                    free.for_each(|other| other.passed.push(task));
                }
                // Who loses its CPU to something less important was throttled, and does not wait for a CPU.
                let is_preempted = prev.priority.zip(next.priority).is_some_and(|(p, n)| n < p);
                match left {
                    Left::Runnable if is_preempted => waiting.insert(prev.pid, event.at),
                    Left::Runnable | Left::Sleeping | Left::Blocked | Left::Dead => {
                        waiting.remove(&prev.pid)
                    }
                };
                let priority = next.priority.filter(|_| next.pid != 0);
                let (pid, since) = (next.pid, event.at);
                cpus.insert(event.cpu, Holder { pid, priority, since, passed: Vec::new() });
            }
            EventKind::Migrate { .. } | EventKind::Mark(_) | EventKind::Other => {}
        }
    }
    counts
}
