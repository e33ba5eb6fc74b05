//! What the events say of the threads of tasks and of their jobs, before it is one run.

use super::super::line::{Event, EventKind, Left, Thread};
use super::super::marker::Marker;
use super::super::threads::Tasks;
use layland_model::{Index, JobId, TaskId};
use layland_trace::JobEnd;
use std::collections::BTreeMap;

/// A task's thread held a CPU. Times are those of the trace's clock.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) cpu: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    /// How it left; `None` if it still runs.
    pub(super) left: Option<Left>,
}

/// What happened to the thread of one task.
#[derive(Default)]
pub(super) struct Life {
    pub(super) runs: Vec<Run>,
    pub(super) wakes: Vec<Woken>,
    /// When, and on which CPU, the kernel took its CPU away because its reservation was used up.
    pub(super) throttled: Vec<(i64, u32)>,
}

/// A thread became ready, and ran then.
#[derive(Clone, Copy)]
pub(super) struct Woken {
    pub(super) at: i64,
    pub(super) ran: i64,
    /// Whether a switch says when it ran.
    pub(super) is_seen: bool,
    /// Who woke it.
    pub(super) by: By,
}

/// What the line of a wake-up says.
#[derive(Clone, Copy)]
pub(super) struct By {
    pub(super) at: i64,
    /// The thread that had the CPU.
    pub(super) pid: u32,
    /// Whether an interrupt had taken it away, where that is told.
    pub(super) in_interrupt: Option<bool>,
    /// Whether the thread that woke up has never run before.
    pub(super) is_new: bool,
}

/// What is known of one job.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    pub(super) arrival: Option<i64>,
    pub(super) deadline: Option<i64>,
    pub(super) start: Option<i64>,
    pub(super) end: Option<(i64, JobEnd)>,
}

/// The thread of a CPU that has nothing to do.
const IDLE: u32 = 0;

/// A thread that is no task held a CPU.
pub(super) struct Stranger<'a> {
    pub(super) cpu: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) comm: &'a str,
}

/// What the switches say of the threads of tasks.
pub(super) struct Lives<'a> {
    pub(super) of_tasks: Vec<Life>,
    /// How many switches contradict the one before on their CPU.
    pub(super) contradictions: u64,
    /// When switches of each task were noticed to be missing.
    pub(super) torn: BTreeMap<TaskId, Vec<i64>>,
    /// How many times a task must have followed an idle CPU and no switch says so.
    pub(super) silent_starts: u64,
    /// In the order of their ends.
    pub(super) strangers: Vec<Stranger<'a>>,
}

/// Who held which CPU, by task.
///
/// Some virtual machines trace no switch out of the idle thread of some CPUs: a thread is then seen on
/// a CPU that was idle. It began when it became ready, as nobody was before it. Where the wake-up is missing,
/// too, it was in the interrupt of that idle thread: nobody knows then when it began.
pub(super) fn lives<'a>(events: &[Event<'a>], tasks: &Tasks) -> Lives<'a> {
    let mut lives: Vec<Life> = tasks.names.iter().map(|_| Life::default()).collect();
    let begin = events.first().map_or(0, |event| event.at);
    let mut on: BTreeMap<u32, (u32, i64)> = BTreeMap::new();
    let mut ready: BTreeMap<u32, i64> = BTreeMap::new();
    let mut woken: BTreeMap<TaskId, By> = BTreeMap::new();
    let (mut contradictions, mut silent_starts) = (0, 0);
    let mut torn: BTreeMap<TaskId, Vec<i64>> = BTreeMap::new();
    let mut strangers = Vec::new();
    for event in events {
        let seen = match &event.kind {
            EventKind::Switch { prev, .. } => prev.pid,
            EventKind::Wake { .. }
            | EventKind::Migrate { .. }
            | EventKind::Mark(_)
            | EventKind::Other => event.thread.pid,
        };
        // Whoever is seen first on a CPU has been there since the beginning.
        let holder = on.entry(event.cpu).or_insert((seen, begin));
        if holder.0 == IDLE && seen != IDLE {
            let became_ready = ready.get(&seen).map(|&at| at.max(holder.1));
            let start = became_ready.unwrap_or(event.at);
            *holder = (seen, start);
            if let Some(task) = tasks.of(seen) {
                silent_starts += 1;
                if became_ready.is_none() {
                    contradictions += 1;
                    torn.entry(task).or_default().push(event.at);
                }
                if let Some(by) = woken.remove(&task) {
                    let woken = Woken { at: by.at, ran: start, is_seen: false, by };
                    lives[task.index()].wakes.push(woken);
                }
            }
        }
        let (running, since) = *holder;
        match &event.kind {
            EventKind::Switch { prev, left, next } => {
                // A switch of a task that is missing shows in the next one on its CPU.
                let fits = running == prev.pid;
                if !fits && (tasks.of(running).is_some() || tasks.of(prev.pid).is_some()) {
                    contradictions += 1;
                    for pid in [running, prev.pid] {
                        if let Some(task) = tasks.of(pid) {
                            torn.entry(task).or_default().push(event.at);
                        }
                    }
                }
                let start = if fits { since } else { event.at };
                if let Some(task) = tasks.of(prev.pid) {
                    let run = Run { cpu: event.cpu, start, end: event.at, left: Some(*left) };
                    lives[task.index()].runs.push(run);
                    if is_throttled(*prev, *left, *next) {
                        lives[task.index()].throttled.push((event.at, event.cpu));
                    }
                    woken.remove(&task);
                } else if prev.pid != IDLE && start < event.at {
                    let (cpu, end) = (event.cpu, event.at);
                    strangers.push(Stranger { cpu, start, end, comm: prev.comm });
                }
                match left {
                    Left::Runnable => ready.insert(prev.pid, event.at),
                    Left::Sleeping | Left::Blocked | Left::Dead => ready.remove(&prev.pid),
                };
                on.insert(event.cpu, (next.pid, event.at));
                if let Some(task) = tasks.of(next.pid)
                    && let Some(by) = woken.remove(&task)
                {
                    let woken = Woken { at: by.at, ran: event.at, is_seen: true, by };
                    lives[task.index()].wakes.push(woken);
                }
            }
            EventKind::Wake { thread, is_new } => {
                ready.insert(thread.pid, event.at);
                if let Some(task) = tasks.of(thread.pid)
                    && !on.values().any(|&(pid, _)| pid == thread.pid)
                {
                    let (at, pid) = (event.at, event.thread.pid);
                    let in_interrupt = event.in_interrupt;
                    let by = By { at, pid, in_interrupt, is_new: *is_new };
                    woken.entry(task).or_insert(by);
                }
            }
            EventKind::Migrate { thread, .. } => {
                ready.insert(thread.pid, event.at);
            }
            EventKind::Mark(_) | EventKind::Other => {}
        }
    }
    let end = events.last().map_or(0, |event| event.at);
    for (cpu, (pid, since)) in on {
        if let Some(task) = tasks.of(pid) {
            lives[task.index()].runs.push(Run { cpu, start: since, end, left: None });
        }
    }
    Lives { of_tasks: lives, contradictions, torn, silent_starts, strangers }
}

/// Whether a thread of `SCHED_DEADLINE` loses its CPU because it has no runtime left, or has given it up by a yield.
///
/// It could go on, and somebody of a lower class follows. Only the threads that stop a CPU are above it.
fn is_throttled(prev: Thread, left: Left, next: Thread) -> bool {
    let is_below = next.priority.is_some_and(|priority| priority >= 0);
    let stops = next.comm.starts_with("migration/") || next.comm.starts_with("stopper/");
    prev.priority == Some(-1) && left == Left::Runnable && is_below && !stops
}

pub(super) fn marked_jobs(events: &[Event], tasks: &Tasks) -> BTreeMap<JobId, Known> {
    let mut jobs: BTreeMap<JobId, Known> = BTreeMap::new();
    for event in events {
        let EventKind::Mark(mark) = &event.kind else { continue };
        let (name, seq) = match *mark {
            Marker::Release { task, job, .. }
            | Marker::Start { task, job }
            | Marker::Complete { task, job }
            | Marker::Abort { task, job } => (task, job),
            Marker::Overrun { .. }
            | Marker::Decision { .. }
            | Marker::Begin { .. }
            | Marker::End { .. } => continue,
        };
        let Some(task) = tasks.named(name, event.thread.pid) else { continue };
        let known = jobs.entry(JobId { task, seq }).or_default();
        match *mark {
            Marker::Release { t, deadline, .. } => {
                known.arrival.get_or_insert(t);
                known.deadline = known.deadline.or(deadline);
            }
            Marker::Start { .. } => {
                known.start.get_or_insert(event.at);
            }
            Marker::Complete { .. } => {
                known.end.get_or_insert((event.at, JobEnd::Completed));
            }
            Marker::Abort { .. } => {
                known.end.get_or_insert((event.at, JobEnd::Aborted));
            }
            Marker::Overrun { .. }
            | Marker::Decision { .. }
            | Marker::Begin { .. }
            | Marker::End { .. } => {}
        }
    }
    jobs
}
