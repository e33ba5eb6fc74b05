//! Collects what the events show of the threads of tasks and of their jobs, before they form a run.

use super::super::gaps::gaps;
use super::super::import::Begins;
use super::super::line::{Event, EventKind, NamedThread, StateAfter};
use super::super::marker::Marker;
use super::super::threads::Tasks;
use layland_model::{Index, JobId, TaskId};
use layland_trace::JobEnd;
use std::collections::{BTreeMap, BTreeSet};

/// A time for which the thread of a task held a CPU, on the trace's clock.
#[derive(Clone, Copy)]
pub(super) struct HeldCpu {
    pub(super) cpu: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    /// The state in which it left; `None` if it still runs.
    pub(super) left: Option<StateAfter>,
    /// The priority with which it left.
    pub(super) priority: Option<i32>,
    /// The time that it had waited for the CPU while that had nothing as important: the latency of
    /// the machine, or execution of less important threads.
    pub(super) unexplained: i64,
}

/// The history of the thread of one task.
#[derive(Default)]
pub(super) struct Life {
    pub(super) runs: Vec<HeldCpu>,
    pub(super) wakes: Vec<Woken>,
    /// The times and CPUs at which the kernel stopped it because its reservation was used up.
    pub(super) throttled: Vec<(i64, u32)>,
    /// The times without events between the captures of the text.
    pub(super) gaps: Vec<(i64, i64)>,
    /// The time of its last wake-up, if it has not run since.
    pub(super) awake: Option<i64>,
}

/// A time for which a thread could not continue, and was not ready either.
#[derive(Clone, Copy)]
pub(super) struct Pause {
    pub(super) from: i64,
    /// The time at which it woke up, or else ran again; `None` if the trace contains neither.
    pub(super) to: Option<i64>,
}

impl Life {
    /// Returns the pauses of a job between two times: its thread left its CPU in a blocked state,
    /// and later continued the same job. If `sleeps`, interruptible sleeps are pauses, too.
    pub(super) fn pauses(&self, from: i64, to: i64, sleeps: bool) -> Vec<Pause> {
        let first = self.runs.partition_point(|run| run.end <= from);
        let of_job = self.runs[first..].iter().take_while(|run| run.start < to);
        let mut pauses = Vec::new();
        for (place, run) in of_job.enumerate() {
            let is_pause = match run.left {
                Some(StateAfter::Blocked) => true,
                Some(StateAfter::Sleeping) => sleeps,
                Some(StateAfter::Runnable | StateAfter::Dead) | None => false,
            };
            // The sleep that ends a job is not a pause in it.
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

/// A wake-up of a thread that later ran.
#[derive(Clone, Copy)]
pub(super) struct Woken {
    pub(super) at: i64,
    pub(super) ran: i64,
    /// True if a switch shows when it ran.
    pub(super) is_seen: bool,
    /// The cause of the wake-up.
    pub(super) by: By,
}

/// The information in the line of a wake-up.
#[derive(Clone, Copy)]
pub(super) struct By {
    pub(super) at: i64,
    /// The thread that had the CPU.
    pub(super) pid: u32,
    /// True if an interrupt had preempted that thread; `None` if the trace does not show it.
    pub(super) in_interrupt: Option<bool>,
    /// True if the thread that woke up has never run before.
    pub(super) is_new: bool,
}

/// The known facts about one job.
#[derive(Clone, Copy, Default)]
pub(super) struct KnownJob {
    pub(super) arrival: Option<i64>,
    pub(super) deadline: Option<i64>,
    pub(super) start: Option<i64>,
    /// The time at which its first mark was written.
    pub(super) told: Option<i64>,
    pub(super) end: Option<(i64, JobEnd)>,
}

/// Another CPU can wake a thread that is about to sleep before it has left its own CPU. The wake-up
/// then belongs to the sleep that begins within this time.
pub(in super::super) const RACE_NS: i64 = 50_000;

/// The id of the idle thread of a CPU.
pub(super) const IDLE: u32 = 0;

/// A time for which a thread that is not a task held a CPU.
pub(super) struct Stranger<'a> {
    pub(super) cpu: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) comm: &'a str,
}

/// A switch that contradicts the one before it on its CPU: another switch is missing.
#[derive(Clone, Copy)]
pub(super) struct Misfit<'a> {
    pub(super) at: i64,
    pub(super) cpu: u32,
    /// The thread that leaves the CPU in this switch.
    pub(super) leaves: &'a str,
    /// The thread that had the CPU according to earlier switches.
    pub(super) had: &'a str,
}

/// A switch to the thread of a task that the kernel did not
/// record: it happened after `after`, and not after `by`.
#[derive(Clone, Copy)]
pub(super) struct Missed<'a> {
    pub(super) task: TaskId,
    pub(super) cpu: u32,
    pub(super) after: i64,
    pub(super) by: i64,
    /// The thread that had the CPU before.
    pub(super) from: &'a str,
}

/// The histories of the threads of tasks, according to the switches.
pub(super) struct Lives<'a> {
    pub(super) of_tasks: Vec<Life>,
    /// The switches that contradict the one before on their CPU.
    pub(super) misfits: Vec<Misfit<'a>>,
    /// By task, the times at which missing switches were detected.
    pub(super) torn: BTreeMap<TaskId, Vec<i64>>,
    /// The switches to tasks that the kernel does not record.
    pub(super) missed: Vec<Missed<'a>>,
    /// In the order of their ends.
    pub(super) strangers: Vec<Stranger<'a>>,
}

/// The thread that has a CPU.
#[derive(Clone, Copy)]
struct Holder<'a> {
    pid: u32,
    comm: &'a str,
    since: i64,
    /// The last event on that CPU, up to which the thread is known to be there.
    last: i64,
}

/// Returns the threads that get a CPU and never leave it in the trace, by CPU.
///
/// Some virtual machines record no switch *from* certain threads. The idle thread of a CPU can
/// always be one of them: if another thread is seen on an idle CPU, no event is lost.
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

/// Returns the times at which threads held CPUs, by task.
///
/// If the kernel did not record the switch to a thread, the thread began after the last event of
/// the thread before it on that CPU, after it became ready, and not after its own first event
/// there. By default it is taken to have begun as early as possible if its wake-up is in the trace,
/// and as late as possible otherwise.
pub(super) fn lives<'a>(events: &[Event<'a>], tasks: &Tasks, begins: Begins) -> Lives<'a> {
    let mut begin = events.first().map_or(0, |event| event.at);
    let mut reader = LifeReader::new(events, tasks, begins);
    let gaps = gaps(events);
    let mut next_gap = gaps.iter().copied().peekable();
    for event in events {
        if let Some((from, to)) = next_gap.next_if(|&(_, to)| event.at >= to) {
            reader.leave(from);
            begin = to;
        }
        let seen = match &event.kind {
            EventKind::Switch { prev, .. } => *prev,
            EventKind::Wake { .. }
            | EventKind::Migrate { .. }
            | EventKind::Mark(_)
            | EventKind::Other => event.thread,
        };
        // The thread that is seen first on a CPU has been there since the beginning.
        let (pid, comm) = (seen.pid, seen.comm);
        reader.on.entry(event.cpu).or_insert(Holder { pid, comm, since: begin, last: begin });
        let holder = reader.find_holder(event, seen);
        match &event.kind {
            EventKind::Switch { prev, left, next } => {
                reader.switch(event, holder, (*prev, *left, *next));
            }
            EventKind::Wake { thread, is_new } => reader.wake(event, thread.pid, *is_new),
            EventKind::Migrate { thread, .. } => {
                reader.ready.insert(thread.pid, event.at);
            }
            EventKind::Mark(_) | EventKind::Other => {}
        }
    }
    let mut lives = reader.end(events.last().map_or(0, |event| event.at));
    lives.of_tasks.iter_mut().for_each(|life| life.gaps.clone_from(&gaps));
    lives
}

/// The state of the CPUs and threads between two events.
struct LifeReader<'e, 'a> {
    tasks: &'e Tasks,
    begins: Begins,
    /// The threads that get a CPU and never leave it.
    never: BTreeMap<(u32, u32), &'a str>,
    on: BTreeMap<u32, Holder<'a>>,
    /// The times since which threads are ready.
    ready: BTreeMap<u32, i64>,
    woken: BTreeMap<TaskId, By>,
    /// Wake-ups of threads that still have a CPU.
    early: BTreeMap<TaskId, By>,
    found: Lives<'a>,
}

impl<'e, 'a> LifeReader<'e, 'a> {
    fn new(events: &[Event<'a>], tasks: &'e Tasks, begins: Begins) -> LifeReader<'e, 'a> {
        LifeReader {
            tasks,
            begins,
            never: never_left(events),
            on: BTreeMap::new(),
            ready: BTreeMap::new(),
            woken: BTreeMap::new(),
            early: BTreeMap::new(),
            found: Lives {
                of_tasks: tasks.names.iter().map(|_| Life::default()).collect(),
                misfits: Vec::new(),
                torn: BTreeMap::new(),
                missed: Vec::new(),
                strangers: Vec::new(),
            },
        }
    }

    /// Returns the holder of the event's CPU. If the kernel did not record the switch to the thread
    /// that is seen there, that thread becomes the holder.
    fn find_holder(&mut self, event: &Event<'a>, seen: NamedThread<'a>) -> Holder<'a> {
        let holder = self.on.get_mut(&event.cpu).expect("it was entered");
        let is_silent = holder.pid == IDLE
            || self.tasks.of(holder.pid).is_none()
                && self.never.contains_key(&(event.cpu, holder.pid));
        if holder.pid != seen.pid && seen.pid != IDLE && is_silent {
            let became_ready = self.ready.get(&seen.pid).map(|&at| at.max(holder.last));
            let after = became_ready.unwrap_or(holder.last);
            let start = match self.begins {
                Begins::Likely => became_ready.unwrap_or(event.at),
                Begins::Earliest => after,
                Begins::Latest => event.at,
            };
            if holder.pid != IDLE && holder.since < after {
                let (cpu, start, comm) = (event.cpu, holder.since, holder.comm);
                self.found.strangers.push(Stranger { cpu, start, end: after, comm });
            }
            if let Some(task) = self.tasks.of(seen.pid) {
                let (cpu, by, from) = (event.cpu, event.at, holder.comm);
                self.found.missed.push(Missed { task, cpu, after, by, from });
                if became_ready.is_none() {
                    self.found.torn.entry(task).or_default().push(event.at);
                }
                if let Some(by) = self.woken.remove(&task) {
                    let woken = Woken { at: by.at, ran: start, is_seen: false, by };
                    self.found.of_tasks[task.index()].wakes.push(woken);
                }
            }
            *holder = Holder { pid: seen.pid, comm: seen.comm, since: start, last: event.at };
        }
        holder.last = event.at;
        *holder
    }

    /// Ends the time of the previous thread on its CPU, and begins that of the next one.
    fn switch(
        &mut self,
        event: &Event<'a>,
        holder: Holder<'a>,
        (prev, left, next): (NamedThread<'a>, StateAfter, NamedThread<'a>),
    ) {
        let LifeReader { tasks, found, .. } = self;
        // A missing switch of a task is detected at the next switch on its CPU.
        let fits = holder.pid == prev.pid;
        if !fits && (tasks.of(holder.pid).is_some() || tasks.of(prev.pid).is_some()) {
            let (at, cpu, leaves, had) = (event.at, event.cpu, prev.comm, holder.comm);
            found.misfits.push(Misfit { at, cpu, leaves, had });
            for pid in [holder.pid, prev.pid] {
                if let Some(task) = tasks.of(pid) {
                    found.torn.entry(task).or_default().push(event.at);
                }
            }
        }
        let start = if fits { holder.since } else { event.at };
        if let Some(task) = tasks.of(prev.pid) {
            let (cpu, end, priority) = (event.cpu, event.at, prev.priority);
            let run = HeldCpu { cpu, start, end, left: Some(left), priority, unexplained: 0 };
            let life = &mut found.of_tasks[task.index()];
            life.runs.push(run);
            if is_throttled(prev, left, next) {
                life.throttled.push((event.at, event.cpu));
            }
            self.woken.remove(&task);
            let sleeps = matches!(left, StateAfter::Sleeping | StateAfter::Blocked);
            let race = self.early.remove(&task).filter(|by| event.at - by.at <= RACE_NS && sleeps);
            self.woken.extend(race.map(|by| (task, by)));
        } else if prev.pid != IDLE && start < event.at {
            let (cpu, end) = (event.cpu, event.at);
            found.strangers.push(Stranger { cpu, start, end, comm: prev.comm });
        }
        match left {
            StateAfter::Runnable => self.ready.insert(prev.pid, event.at),
            StateAfter::Sleeping | StateAfter::Blocked | StateAfter::Dead => {
                self.ready.remove(&prev.pid)
            }
        };
        let (pid, comm, since) = (next.pid, next.comm, event.at);
        self.on.insert(event.cpu, Holder { pid, comm, since, last: since });
        if let Some(task) = tasks.of(next.pid)
            && let Some(by) = self.woken.remove(&task)
        {
            let woken = Woken { at: by.at, ran: event.at, is_seen: true, by };
            found.of_tasks[task.index()].wakes.push(woken);
        }
    }

    /// Notes that an event woke a thread.
    fn wake(&mut self, event: &Event<'a>, pid: u32, is_new: bool) {
        self.ready.insert(pid, event.at);
        if let Some(task) = self.tasks.of(pid) {
            let in_interrupt = event.in_interrupt;
            let by = By { at: event.at, pid: event.thread.pid, in_interrupt, is_new };
            let runs_on = self.on.iter().find(|(_, holder)| holder.pid == pid);
            match runs_on.map(|(&cpu, _)| cpu) {
                None => drop(self.woken.entry(task).or_insert(by)),
                // A wake-up on its own CPU finds the thread running, so it continues.
                Some(cpu) if cpu == event.cpu => {}
                Some(_) => drop(self.early.insert(task, by)),
            }
        }
    }

    /// Ends a capture: nothing is known of what follows, not even which threads are ready.
    fn leave(&mut self, end: i64) {
        for (cpu, Holder { pid, since, .. }) in std::mem::take(&mut self.on) {
            if let Some(task) = self.tasks.of(pid) {
                let run =
                    HeldCpu { cpu, start: since, end, left: None, priority: None, unexplained: 0 };
                self.found.of_tasks[task.index()].runs.push(run);
            }
        }
        self.ready.clear();
        self.early.clear();
        self.woken.clear();
    }

    /// Ends the trace.
    fn end(mut self, end: i64) -> Lives<'a> {
        let woken = std::mem::take(&mut self.woken);
        self.leave(end);
        for (task, by) in woken {
            self.found.of_tasks[task.index()].awake = Some(by.at);
        }
        self.found
    }
}

/// Returns true if a thread of `SCHED_DEADLINE` loses
/// its CPU because its runtime is used up or yielded.
///
/// The thread could continue, and one of a lower class follows. Only the kernel's threads for
/// stopping a CPU are above `SCHED_DEADLINE`; they do not count.
pub(in super::super) fn is_throttled(
    prev: NamedThread,
    left: StateAfter,
    next: NamedThread,
) -> bool {
    let is_below = next.priority.is_some_and(|priority| priority >= 0);
    let stops = next.comm.starts_with("migration/") || next.comm.starts_with("stopper/");
    prev.priority == Some(-1) && left == StateAfter::Runnable && is_below && !stops
}

pub(super) fn marked_jobs(events: &[Event], tasks: &Tasks) -> BTreeMap<JobId, KnownJob> {
    let mut jobs: BTreeMap<JobId, KnownJob> = BTreeMap::new();
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
