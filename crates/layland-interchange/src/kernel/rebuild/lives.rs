//! What the events say of the threads of tasks and of their jobs, before it is one run.

use super::super::import::Begins;
use super::super::line::{Event, EventKind, Left, Thread};
use super::super::marker::Marker;
use super::super::threads::Tasks;
use layland_model::{Index, JobId, TaskId};
use layland_trace::JobEnd;
use std::collections::{BTreeMap, BTreeSet};

/// A task's thread held a CPU. Times are those of the trace's clock.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) cpu: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    /// How it left; `None` if it still runs.
    pub(super) left: Option<Left>,
    /// The priority with which it left.
    pub(super) priority: Option<i32>,
    /// How long it had waited for the CPU while nothing as important had that: this is what the machine takes to
    /// begin, or what less important threads took.
    pub(super) unexplained: i64,
}

/// What happened to the thread of one task.
#[derive(Default)]
pub(super) struct Life {
    pub(super) runs: Vec<Run>,
    pub(super) wakes: Vec<Woken>,
    /// When, and on which CPU, the kernel took its CPU away because its reservation was used up.
    pub(super) throttled: Vec<(i64, u32)>,
    /// When it woke up last, if it has not run since.
    pub(super) awake: Option<i64>,
}

/// A thread that could not go on, and was not ready either.
#[derive(Clone, Copy)]
pub(super) struct Pause {
    pub(super) from: i64,
    /// When it woke up, or else ran again; none if it did neither in the trace.
    pub(super) to: Option<i64>,
}

impl Life {
    /// The pauses of a job between two times: after this run its thread left its CPU in such a state, and was to go on
    /// with the same job. `sleeps` says whether an interruptible sleep is one, too.
    pub(super) fn pauses(&self, from: i64, to: i64, sleeps: bool) -> Vec<Pause> {
        let first = self.runs.partition_point(|run| run.end <= from);
        let of_job = self.runs[first..].iter().take_while(|run| run.start < to);
        let mut pauses = Vec::new();
        for (place, run) in of_job.enumerate() {
            let is_pause = match run.left {
                Some(Left::Blocked) => true,
                Some(Left::Sleeping) => sleeps,
                Some(Left::Runnable | Left::Dead) | None => false,
            };
            // What ends a job is no pause in it.
            if !is_pause || run.end >= to {
                continue;
            }
            let resumed = match self.runs.get(first + place + 1) {
                Some(next) => {
                    let at = self.wakes.partition_point(|woken| woken.ran < next.start);
                    let woken = self.wakes.get(at).filter(|woken| woken.ran == next.start);
                    Some(woken.map_or(next.start, |woken| woken.at.max(run.end)))
                }
                None => self.awake.map(|at| at.max(run.end)),
            };
            pauses.push(Pause { from: run.end, to: resumed });
        }
        pauses
    }
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
    /// When the first mark of it was written.
    pub(super) told: Option<i64>,
    pub(super) end: Option<(i64, JobEnd)>,
}

/// A thread that is about to sleep can be woken by another CPU before it has left its own: the wake-up is of the sleep
/// that begins within this time.
pub(in super::super) const RACE_NS: i64 = 50_000;

/// The thread of a CPU that has nothing to do.
pub(super) const IDLE: u32 = 0;

/// A thread that is no task held a CPU.
pub(super) struct Stranger<'a> {
    pub(super) cpu: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) comm: &'a str,
}

/// A switch that contradicts what came before it on its CPU: another one is missing.
#[derive(Clone, Copy)]
pub(super) struct Misfit<'a> {
    pub(super) at: i64,
    pub(super) cpu: u32,
    /// The thread that leaves.
    pub(super) leaves: &'a str,
    /// The one that had the CPU by the switches before.
    pub(super) had: &'a str,
}

/// A switch to the thread of a task that the kernel did not record: it happened after `after`, and not after `by`.
#[derive(Clone, Copy)]
pub(super) struct Missed<'a> {
    pub(super) task: TaskId,
    pub(super) cpu: u32,
    pub(super) after: i64,
    pub(super) by: i64,
    /// The thread that had the CPU before.
    pub(super) from: &'a str,
}

/// What the switches say of the threads of tasks.
pub(super) struct Lives<'a> {
    pub(super) of_tasks: Vec<Life>,
    /// The switches that contradict the one before on their CPU.
    pub(super) misfits: Vec<Misfit<'a>>,
    /// When switches of each task were noticed to be missing.
    pub(super) torn: BTreeMap<TaskId, Vec<i64>>,
    /// The switches to tasks that the kernel does not record.
    pub(super) missed: Vec<Missed<'a>>,
    /// In the order of their ends.
    pub(super) strangers: Vec<Stranger<'a>>,
}

/// A thread that has a CPU.
struct Holder<'a> {
    pid: u32,
    comm: &'a str,
    since: i64,
    /// The last event on that CPU, which shows it there.
    last: i64,
}

/// The threads that the trace shows to get a CPU, and never to leave it, by CPU.
///
/// Some virtual machines record no switch *from* certain threads. The idle thread of a CPU can always be one of them:
/// nothing is lost where another thread is seen on an idle CPU.
pub(in super::super) fn never_left<'a>(events: &[Event<'a>]) -> BTreeMap<(u32, u32), &'a str> {
    let mut never: BTreeMap<(u32, u32), &'a str> = BTreeMap::new();
    let mut left: BTreeSet<(u32, u32)> = BTreeSet::new();
    for event in events {
        if let EventKind::Switch { prev, next, .. } = event.kind {
            left.insert((event.cpu, prev.pid));
            never.insert((event.cpu, next.pid), next.comm);
        }
    }
    never.retain(|key, _| !left.contains(key));
    never
}

/// Who held which CPU, by task.
///
/// Where the kernel did not record the switch to a thread, that one began after the last event of the thread before it
/// on that CPU and after it became ready, and not after its own first event there. By default it is taken to have begun
/// as early as that allows if its wake-up is in the trace, and as late otherwise.
pub(super) fn lives<'a>(events: &[Event<'a>], tasks: &Tasks, begins: Begins) -> Lives<'a> {
    let mut lives: Vec<Life> = tasks.names.iter().map(|_| Life::default()).collect();
    let begin = events.first().map_or(0, |event| event.at);
    let never = never_left(events);
    let mut on: BTreeMap<u32, Holder<'a>> = BTreeMap::new();
    let mut ready: BTreeMap<u32, i64> = BTreeMap::new();
    let mut woken: BTreeMap<TaskId, By> = BTreeMap::new();
    // Wake-ups of threads that still have a CPU.
    let mut early: BTreeMap<TaskId, By> = BTreeMap::new();
    let (mut misfits, mut missed) = (Vec::new(), Vec::new());
    let mut torn: BTreeMap<TaskId, Vec<i64>> = BTreeMap::new();
    let mut strangers = Vec::new();
    for event in events {
        let seen = match &event.kind {
            EventKind::Switch { prev, .. } => *prev,
            EventKind::Wake { .. }
            | EventKind::Migrate { .. }
            | EventKind::Mark(_)
            | EventKind::Other => event.thread,
        };
        // Whoever is seen first on a CPU has been there since the beginning.
        let holder = on.entry(event.cpu).or_insert(Holder {
            pid: seen.pid,
            comm: seen.comm,
            since: begin,
            last: begin,
        });
        let is_silent = holder.pid == IDLE
            || tasks.of(holder.pid).is_none() && never.contains_key(&(event.cpu, holder.pid));
        if holder.pid != seen.pid && seen.pid != IDLE && is_silent {
            let became_ready = ready.get(&seen.pid).map(|&at| at.max(holder.last));
            let after = became_ready.unwrap_or(holder.last);
            let start = match begins {
                Begins::Likely => became_ready.unwrap_or(event.at),
                Begins::Earliest => after,
                Begins::Latest => event.at,
            };
            if holder.pid != IDLE && holder.since < after {
                let (cpu, start, comm) = (event.cpu, holder.since, holder.comm);
                strangers.push(Stranger { cpu, start, end: after, comm });
            }
            if let Some(task) = tasks.of(seen.pid) {
                let (cpu, by, from) = (event.cpu, event.at, holder.comm);
                missed.push(Missed { task, cpu, after, by, from });
                if became_ready.is_none() {
                    torn.entry(task).or_default().push(event.at);
                }
                if let Some(by) = woken.remove(&task) {
                    let woken = Woken { at: by.at, ran: start, is_seen: false, by };
                    lives[task.index()].wakes.push(woken);
                }
            }
            *holder = Holder { pid: seen.pid, comm: seen.comm, since: start, last: event.at };
        }
        holder.last = event.at;
        let Holder { pid: running, comm: had, since, .. } = *holder;
        match &event.kind {
            EventKind::Switch { prev, left, next } => {
                // A switch of a task that is missing shows in the next one on its CPU.
                let fits = running == prev.pid;
                if !fits && (tasks.of(running).is_some() || tasks.of(prev.pid).is_some()) {
                    let (at, cpu, leaves) = (event.at, event.cpu, prev.comm);
                    misfits.push(Misfit { at, cpu, leaves, had });
                    for pid in [running, prev.pid] {
                        if let Some(task) = tasks.of(pid) {
                            torn.entry(task).or_default().push(event.at);
                        }
                    }
                }
                let start = if fits { since } else { event.at };
                if let Some(task) = tasks.of(prev.pid) {
                    let (cpu, end, priority) = (event.cpu, event.at, prev.priority);
                    let run = Run { cpu, start, end, left: Some(*left), priority, unexplained: 0 };
                    lives[task.index()].runs.push(run);
                    if is_throttled(*prev, *left, *next) {
                        lives[task.index()].throttled.push((event.at, event.cpu));
                    }
                    woken.remove(&task);
                    let sleeps = matches!(left, Left::Sleeping | Left::Blocked);
                    let race =
                        early.remove(&task).filter(|by| event.at - by.at <= RACE_NS && sleeps);
                    woken.extend(race.map(|by| (task, by)));
                } else if prev.pid != IDLE && start < event.at {
                    let (cpu, end) = (event.cpu, event.at);
                    strangers.push(Stranger { cpu, start, end, comm: prev.comm });
                }
                match left {
                    Left::Runnable => ready.insert(prev.pid, event.at),
                    Left::Sleeping | Left::Blocked | Left::Dead => ready.remove(&prev.pid),
                };
                let (pid, comm, since_now) = (next.pid, next.comm, event.at);
                on.insert(event.cpu, Holder { pid, comm, since: since_now, last: since_now });
                if let Some(task) = tasks.of(next.pid)
                    && let Some(by) = woken.remove(&task)
                {
                    let woken = Woken { at: by.at, ran: event.at, is_seen: true, by };
                    lives[task.index()].wakes.push(woken);
                }
            }
            EventKind::Wake { thread, is_new } => {
                ready.insert(thread.pid, event.at);
                if let Some(task) = tasks.of(thread.pid) {
                    let (at, pid) = (event.at, event.thread.pid);
                    let in_interrupt = event.in_interrupt;
                    let by = By { at, pid, in_interrupt, is_new: *is_new };
                    let runs_on = on.iter().find(|(_, holder)| holder.pid == thread.pid);
                    match runs_on.map(|(&cpu, _)| cpu) {
                        None => drop(woken.entry(task).or_insert(by)),
                        // What wakes it on its own CPU finds it there, and it goes on.
                        Some(cpu) if cpu == event.cpu => {}
                        Some(_) => drop(early.insert(task, by)),
                    }
                }
            }
            EventKind::Migrate { thread, .. } => {
                ready.insert(thread.pid, event.at);
            }
            EventKind::Mark(_) | EventKind::Other => {}
        }
    }
    let end = events.last().map_or(0, |event| event.at);
    for (cpu, Holder { pid, since, .. }) in on {
        if let Some(task) = tasks.of(pid) {
            let run = Run { cpu, start: since, end, left: None, priority: None, unexplained: 0 };
            lives[task.index()].runs.push(run);
        }
    }
    for (task, by) in woken {
        lives[task.index()].awake = Some(by.at);
    }
    Lives { of_tasks: lives, misfits, torn, missed, strangers }
}

/// Whether a thread of `SCHED_DEADLINE` loses its CPU because it has no runtime left, or has given it up by a yield.
///
/// It could go on, and somebody of a lower class follows. Only the threads that stop a CPU are above it.
pub(in super::super) fn is_throttled(prev: Thread, left: Left, next: Thread) -> bool {
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
        known.told.get_or_insert(event.at);
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
