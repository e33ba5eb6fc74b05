//! What the events say of the threads of tasks and of their jobs, before it is one run.

use super::super::line::{Event, EventKind, Left};
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
}

/// A thread became ready, and ran then.
#[derive(Clone, Copy)]
pub(super) struct Woken {
    pub(super) at: i64,
    pub(super) ran: i64,
    /// Whether a switch says when it ran.
    pub(super) is_seen: bool,
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
    /// How many times a task must have followed an idle CPU and no switch says so.
    pub(super) silent_starts: u64,
    /// In the order of their ends.
    pub(super) strangers: Vec<Stranger<'a>>,
}

/// Who held which CPU, by task.
///
/// Some virtual machines trace no switch out of the idle thread of some CPUs: a thread is then seen on
/// a CPU that was idle. It began when it became ready, as nobody was before it.
pub(super) fn lives<'a>(events: &[Event<'a>], tasks: &Tasks) -> Lives<'a> {
    let mut lives: Vec<Life> = tasks.names.iter().map(|_| Life::default()).collect();
    let begin = events.first().map_or(0, |event| event.at);
    let mut on: BTreeMap<u32, (u32, i64)> = BTreeMap::new();
    let mut ready: BTreeMap<u32, i64> = BTreeMap::new();
    let mut woken: BTreeMap<TaskId, i64> = BTreeMap::new();
    let (mut contradictions, mut silent_starts) = (0, 0);
    let mut strangers = Vec::new();
    for event in events {
        let seen = match &event.kind {
            EventKind::Switch { prev, .. } => prev.pid,
            EventKind::Wake(_)
            | EventKind::Migrate { .. }
            | EventKind::Mark(_)
            | EventKind::Other => event.thread.pid,
        };
        // Whoever is seen first on a CPU has been there since the beginning.
        let holder = on.entry(event.cpu).or_insert((seen, begin));
        if holder.0 == IDLE && seen != IDLE {
            let start = ready.get(&seen).map_or(event.at, |&at| at.max(holder.1));
            *holder = (seen, start);
            if let Some(task) = tasks.of(seen) {
                silent_starts += 1;
                if let Some(at) = woken.remove(&task) {
                    lives[task.index()].wakes.push(Woken { at, ran: start, is_seen: false });
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
                }
                let start = if fits { since } else { event.at };
                if let Some(task) = tasks.of(prev.pid) {
                    let run = Run { cpu: event.cpu, start, end: event.at, left: Some(*left) };
                    lives[task.index()].runs.push(run);
                    woken.remove(&task);
                } else if prev.pid != IDLE && start < event.at {
                    let (cpu, end) = (event.cpu, event.at);
                    strangers.push(Stranger { cpu, start, end, comm: prev.comm });
                }
                ready.insert(prev.pid, event.at);
                on.insert(event.cpu, (next.pid, event.at));
                if let Some(task) = tasks.of(next.pid)
                    && let Some(at) = woken.remove(&task)
                {
                    lives[task.index()].wakes.push(Woken { at, ran: event.at, is_seen: true });
                }
            }
            EventKind::Wake(thread) => {
                ready.insert(thread.pid, event.at);
                if let Some(task) = tasks.of(thread.pid)
                    && !on.values().any(|&(pid, _)| pid == thread.pid)
                {
                    woken.entry(task).or_insert(event.at);
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
    Lives { of_tasks: lives, contradictions, silent_starts, strangers }
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
