//! Counts how often a thread waited for its CPU although another one would have been free for it.
//! This distinguishes a thread that may use only one CPU from one that merely never moved.

use super::super::gaps::gaps;
use super::super::line::{Event, EventKind, StateAfter};
use super::super::threads::Tasks;
use layland_model::{Index, TaskId};
use std::collections::BTreeMap;

/// The minimum length of a wait that counts. The kernel moves a waiting
/// real-time thread at once to a CPU with less important work, so a
/// shorter wait can be the latency of the kernel or of the machine.
const WORTH_A_WORD_NS: i64 = 200_000;

/// The thread that a CPU runs.
struct Holder {
    pid: u32,
    /// Its priority; `None` for an idle CPU.
    priority: Option<i32>,
    since: i64,
    /// Tasks that have waited long enough while the CPU ran this thread. They count only if the
    /// next switch fits: nothing is known about a CPU whose switches are not in the trace.
    passed: Vec<TaskId>,
}

/// Returns by task and CPU the number of times that the task waited while that other CPU had
/// nothing as important. Counts only threads under SCHED_FIFO and SCHED_RR: the kernel balances
/// others later, and a thread under SCHED_DEADLINE may be waiting for its runtime.
pub(super) fn tied(events: &[Event], tasks: &Tasks) -> Vec<BTreeMap<u32, u64>> {
    let mut counts = vec![BTreeMap::new(); tasks.names.len()];
    let mut cpus: BTreeMap<u32, Holder> = BTreeMap::new();
    // By thread, the beginning of its wait.
    let mut waiting: BTreeMap<u32, i64> = BTreeMap::new();
    let gaps = gaps(events);
    let mut gaps = gaps.iter().peekable();
    for event in events {
        if gaps.next_if(|&&(_, to)| to <= event.at).is_some() {
            cpus.clear();
            waiting.clear();
        }
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
                // A thread that loses its CPU to a less important
                // one was throttled, and does not wait for a CPU.
                let is_preempted = prev.priority.zip(next.priority).is_some_and(|(p, n)| n < p);
                match left {
                    StateAfter::Runnable if is_preempted => waiting.insert(prev.pid, event.at),
                    StateAfter::Runnable
                    | StateAfter::Sleeping
                    | StateAfter::Blocked
                    | StateAfter::Dead => waiting.remove(&prev.pid),
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
