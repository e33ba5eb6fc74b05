//! Collects the events of the tasks' threads while they were under SCHED_DEADLINE.

use super::super::line::{Event, EventKind, NamedThread, StateAfter};
use super::super::threads::Tasks;
use super::lives::{IDLE, is_throttled};
use super::{Clock, Cpus};
use layland_model::{Index, TaskId};
use layland_trace::{Foreign, Lost, ThreadEvent, ThreadEventKind};
use std::collections::BTreeMap;

/// The priority of SCHED_DEADLINE, as the kernel counts.
const DEADLINE: Option<i32> = Some(-1);

/// The events of the tasks' threads, and the threads
/// that took precedence over them; in order of time.
#[derive(Default)]
pub(super) struct ReservedThreads {
    pub(super) events: Vec<ThreadEvent>,
    /// Threads that are not tasks: of SCHED_DEADLINE, or of the kernel for stopping a CPU.
    pub(super) above: Vec<Foreign>,
}

pub(super) fn reserved(
    events: &[Event],
    tasks: &Tasks,
    clock: Clock,
    cpus: &mut Cpus,
) -> ReservedThreads {
    let mut reserved = ReservedThreads::default();
    // By task: true if it is known to be under SCHED_DEADLINE, and the CPU on which it is.
    let mut is_reserved = vec![false; tasks.names.len()];
    let mut on: Vec<Option<u32>> = vec![None; tasks.names.len()];
    // By CPU: the thread that has it, and since when.
    let mut holders: BTreeMap<u32, (u32, i64)> = BTreeMap::new();
    for event in events {
        let at = clock.clamped(event.at);
        let mut push = |task: TaskId, kind| reserved.events.push(ThreadEvent { at, task, kind });
        match &event.kind {
            EventKind::Wake { thread, .. } => {
                if let Some(task) = tasks.of(thread.pid)
                    && thread.priority == DEADLINE
                    && on[task.index()].is_none()
                {
                    is_reserved[task.index()] = true;
                    push(task, ThreadEventKind::WokeUp);
                }
            }
            EventKind::Switch { prev, left, next } => {
                let since = holders.insert(event.cpu, (next.pid, event.at));
                if let Some(task) = tasks.of(prev.pid) {
                    let place = task.index();
                    if prev.priority == DEADLINE {
                        // Unless the thread was reserved while it ran on
                        // this CPU, the beginning of its run is missing.
                        if !is_reserved[place] || on[place] != Some(event.cpu) {
                            push(task, ThreadEventKind::Unknown);
                        }
                        is_reserved[place] = true;
                        let lost = match left {
                            StateAfter::Sleeping | StateAfter::Blocked | StateAfter::Dead => {
                                Lost::Slept
                            }
                            StateAfter::Runnable if is_throttled(*prev, *left, *next) => {
                                Lost::Throttled
                            }
                            StateAfter::Runnable => Lost::Preempted,
                        };
                        push(task, ThreadEventKind::LostCpu(lost));
                    } else if std::mem::take(&mut is_reserved[place]) {
                        push(task, ThreadEventKind::Unknown);
                    }
                    on[place] = None;
                } else if let Some((pid, since)) = since
                    && pid == prev.pid
                    && is_above(prev)
                    && let Some(cpu) = cpus.known(event.cpu)
                {
                    let (start, thread) = (clock.clamped(since), prev.comm.to_owned());
                    reserved.above.push(Foreign { cpu, start, end: at, thread });
                }
                if let Some(task) = tasks.of(next.pid) {
                    let place = task.index();
                    on[place] = Some(event.cpu);
                    if next.priority == DEADLINE {
                        is_reserved[place] = true;
                        let was_free = prev.pid == IDLE || !is_above(prev);
                        let cpu = cpus.id(event.cpu);
                        push(task, ThreadEventKind::GotCpu { cpu, was_free });
                    } else if std::mem::take(&mut is_reserved[place]) {
                        push(task, ThreadEventKind::Unknown);
                    }
                }
            }
            EventKind::Migrate { .. } | EventKind::Mark(_) | EventKind::Other => {}
        }
    }
    reserved
}

/// Returns true if a thread is of the class SCHED_DEADLINE or above it.
fn is_above(thread: &NamedThread) -> bool {
    let stops = thread.comm.starts_with("migration/") || thread.comm.starts_with("stopper/");
    thread.priority == DEADLINE || stops
}
