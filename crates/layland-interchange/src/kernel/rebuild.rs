//! Rebuilds a run from events: first the times at which threads held CPUs, then their jobs.
//!
//! With marks, the execution of a thread between the completions of two jobs belongs to the second
//! one, from its arrival on: the way into and out of a sleep belongs to no job. Without marks, a
//! job lasts from a wake-up to the next interruptible sleep. A sleep within a job is a suspension
//! of that job: state `D` always, and state `S` if marks show that the job is not over.

mod lives;
mod observe;
mod reserved;
mod spans;
mod tied;
mod waits;
mod words;

pub(super) use lives::{RACE_NS, is_throttled};
pub(super) use observe::observe;

use self::lives::{KnownJob, Life, Lives, Missed, Stranger, lives, marked_jobs};
use self::reserved::{ReservedThreads, reserved};
use self::spans::{Span, inferred_spans, marked_spans};
use self::words::{called, damages, remarks, unrecorded_words};
use super::import::{
    Decision, Import, NO_DEADLINE, ReadError, ReadOptions, Threads, Unrecorded, Wake,
};
use super::line::{Event, EventKind, Lines};
use super::marker::Marker;
use super::threads::Tasks;
use layland_model::{
    CpuId, Duration, Index, JobId, MoveReason, Note, Service, System, TIME_LIMIT, TaskId, Time,
};
use layland_trace::{Foreign, Job, JobRecord, Labels, Mark, MarkKind, Segment, Trace};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn rebuild(mut lines: Lines, options: &ReadOptions) -> Result<Import, ReadError> {
    if let Some(from) = options.from_ns {
        lines.events.retain(|event| event.at >= from);
    }
    let events = &lines.events;
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Err(ReadError::NoEvents { first_unknown_line: lines.first_unknown });
    };
    let tasks = Tasks::find(events, options)?;
    let system = match options.threads {
        Threads::Of(system) | Threads::Known(system, _) => Some(system),
        Threads::Marked | Threads::Where(_) => None,
    };
    let Lives { of_tasks: lives, misfits, missed, strangers, .. } =
        lives(events, &tasks, options.begins);
    let mut known = marked_jobs(events, &tasks);
    let is_inferred = known.is_empty();
    let begin = events.iter().find_map(|event| match &event.kind {
        EventKind::Mark(Marker::Begin { t, cpus }) => Some((*t, cpus.as_slice())),
        EventKind::Mark(_)
        | EventKind::Switch { .. }
        | EventKind::Wake { .. }
        | EventKind::Migrate { .. }
        | EventKind::Other => None,
    });
    // Convert times of the run to times of the trace's clock.
    let of_run = begin.is_none().then(|| run_origin(events, first.at, last.at)).flatten();
    if let Some(origin) = of_run {
        for known in known.values_mut() {
            known.arrival = known.arrival.map(|at| at.saturating_add(origin));
            known.deadline = known.deadline.map(|at| at.saturating_add(origin));
        }
    }
    let origin_ns = options
        .origin_ns
        .or(begin.map(|(t, _)| t))
        .or(of_run)
        .or_else(|| system.and_then(|system| implied_origin(&known, system)))
        .unwrap_or(first.at);
    let clock = Clock { origin: origin_ns };
    let (Some(_), Some(over)) = (clock.exact(first.at), clock.exact(last.at)) else {
        return Err(ReadError::TooLong);
    };
    let until = events.iter().rev().find_map(|event| match event.kind {
        EventKind::Mark(Marker::End { t }) => Some(clock.clamped(t)),
        EventKind::Mark(_)
        | EventKind::Switch { .. }
        | EventKind::Wake { .. }
        | EventKind::Migrate { .. }
        | EventKind::Other => None,
    });
    let over = until.map_or(over, |until| over.max(until)).max(Time::ZERO);

    let mut cpus = Cpus::new(begin.map_or(&[], |(_, cpus)| cpus));
    let mut trace = Trace { over, ..Trace::default() };
    // With marks, the run reports itself when budgets are used up.
    let mut throttled: Vec<Mark> = Vec::new();
    let mut suspensions: Vec<Mark> = Vec::new();
    for (index, life) in lives.iter().enumerate() {
        let task = TaskId::from_index(index);
        let spans =
            if is_inferred { inferred_spans(task, life) } else { marked_spans(task, life, &known) };
        let relative = system.and_then(|system| system.tasks.get(task)).map(|task| task.deadline);
        for span in spans {
            if is_inferred {
                throttled.extend(throttles(life, &span, clock, &mut cpus));
            }
            suspensions.extend(suspended(life, &span, clock));
            job(&mut trace, life, &span, relative, clock, &mut cpus);
        }
    }
    trace.jobs.sort_by_key(|record| {
        (record.end.map_or((1, trace.over), |(at, _)| (0, at)), record.job.id)
    });
    trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
    trace.marks = marks(events, &tasks, clock, &mut cpus);
    trace.marks.extend(throttled);
    let over = trace.over;
    trace.marks.extend(suspensions.into_iter().filter(|mark| mark.at <= over));
    trace.marks.sort_by_key(|mark| mark.at);
    let wakes = wakes(&lives, clock);
    let decisions = decisions(events, &tasks, clock, &mut cpus);
    let foreign = foreign(&strangers, clock, &cpus);
    let ReservedThreads { events: thread_events, above } =
        reserved(events, &tasks, clock, &mut cpus);
    let is_told = options.origin_ns.is_none() && (begin.is_some() || of_run.is_some());
    let since = is_told.then(|| clock.clamped(first.at).max(Time::ZERO));
    let of_system = system.map_or(0, |system| system.platform.cpu_count());
    let levels = system.map_or(Vec::new(), |system| Labels::of(system).levels);
    let known_cpus = cpus;
    let cpus = known_cpus.count().max(of_system);
    let labels = Labels { tasks: tasks.names.clone().into(), cpus, levels, ..Labels::default() };
    let mut remarks = remarks(&lines, &tasks, &lives, &misfits);
    remarks.extend(unrecorded_words(&missed, &tasks));
    let unrecorded = unrecorded(&missed, clock, &known_cpus);
    Ok(Import {
        trace,
        labels,
        dialect: lines.dialect,
        origin_ns,
        events: lines.events.len() as u64,
        // A switch that contradicts the one before it proves that one is missing.
        lost: lines.lost.max(misfits.len() as u64),
        unrecorded,
        unknown_lines: lines.unknown,
        first_unknown_line: lines.first_unknown,
        is_inferred,
        since,
        until,
        foreign,
        thread_events,
        above,
        wakes,
        decisions,
        remarks,
    })
}

/// Returns the wake-ups of the tasks' threads from the origin on, in order.
fn wakes(lives: &[Life], clock: Clock) -> Vec<Wake> {
    let mut wakes: Vec<Wake> = Vec::new();
    for (index, life) in lives.iter().enumerate() {
        let seen = life.wakes.iter().filter(|woken| woken.is_seen && woken.at >= clock.origin);
        wakes.extend(seen.map(|woken| Wake {
            task: TaskId::from_index(index),
            at: clock.clamped(woken.at),
            latency: Duration::from_ns(woken.ran - woken.at),
        }));
    }
    wakes.sort_by_key(|wake| (wake.at, wake.task));
    wakes
}

/// Returns the intervals in which other threads held CPUs of the run, by CPU.
fn foreign(strangers: &[Stranger<'_>], clock: Clock, cpus: &Cpus) -> Vec<Foreign> {
    let mut foreign: Vec<Foreign> = strangers
        .iter()
        .filter(|run| run.end > clock.origin)
        .filter_map(|run| {
            let (start, end) = (clock.clamped(run.start).max(Time::ZERO), clock.clamped(run.end));
            Some(Foreign { cpu: cpus.known(run.cpu)?, start, end, thread: run.comm.to_owned() })
        })
        .collect();
    foreign.sort_by_key(|run| (run.cpu, run.end));
    foreign
}

/// Returns the switches to tasks that the kernel did not record.
fn unrecorded(missed: &[Missed<'_>], clock: Clock, cpus: &Cpus) -> Vec<Unrecorded> {
    let on_run = |missed: &Missed<'_>| {
        let cpu = cpus.known(missed.cpu)?;
        let (after, by) = (clock.clamped(missed.after), clock.clamped(missed.by));
        let from = called(missed.from).to_owned();
        Some(Unrecorded { task: missed.task, cpu, after, by, from })
    };
    missed.iter().filter_map(on_run).collect()
}

/// Returns the threads from which no switch on a CPU
/// is recorded, although others are seen there later.
pub(super) fn never_left(events: &[Event]) -> Vec<(u32, String, u32)> {
    let mut never = lives::never_left(events);
    // No switch is missing from a thread that has its CPU to the end.
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    let mut followed: BTreeSet<(u32, u32)> = BTreeSet::new();
    for event in events {
        let seen = match &event.kind {
            EventKind::Switch { prev, .. } => prev.pid,
            EventKind::Wake { .. }
            | EventKind::Migrate { .. }
            | EventKind::Mark(_)
            | EventKind::Other => event.thread.pid,
        };
        if let Some(&on) = last.get(&event.cpu)
            && on != seen
        {
            followed.insert((event.cpu, on));
        }
        if let EventKind::Switch { next, .. } = &event.kind {
            last.insert(event.cpu, next.pid);
        }
    }
    never.retain(|key, _| followed.contains(key));
    never.into_iter().map(|((cpu, pid), comm)| (cpu, called(comm).to_owned(), pid)).collect()
}

/// Converts times from the trace's clock to the time of the run.
#[derive(Clone, Copy)]
struct Clock {
    origin: i64,
}

impl Clock {
    fn exact(self, at: i64) -> Option<Time> {
        let ns = at.checked_sub(self.origin)?;
        (-TIME_LIMIT..=TIME_LIMIT).contains(&ns).then(|| Time::from_ns(ns))
    }
    /// Times in marks are arbitrary, so limit them.
    fn clamped(self, at: i64) -> Time {
        Time::from_ns(at.saturating_sub(self.origin).clamp(-TIME_LIMIT, TIME_LIMIT))
    }
}

/// The numbers of kernel CPUs: their positions in the `begin` mark, or else their own numbers.
struct Cpus {
    of_run: Vec<u32>,
    is_listed: bool,
    count: usize,
}

impl Cpus {
    fn new(listed: &[u32]) -> Cpus {
        Cpus { of_run: listed.to_vec(), is_listed: !listed.is_empty(), count: listed.len() }
    }
    /// Returns the number of a CPU. CPUs that are not in
    /// the list follow it, in the order of their events.
    fn id(&mut self, cpu: u32) -> CpuId {
        let index = if self.is_listed {
            self.of_run.iter().position(|&of_run| of_run == cpu).unwrap_or_else(|| {
                self.of_run.push(cpu);
                self.of_run.len() - 1
            })
        } else {
            cpu as usize
        };
        self.count = self.count.max(index + 1);
        CpuId::from_index(index)
    }
    /// Returns the number of a CPU that was met before, or is in the list.
    fn known(&self, cpu: u32) -> Option<CpuId> {
        let index = if self.is_listed {
            self.of_run.iter().position(|&of_run| of_run == cpu)?
        } else {
            cpu as usize
        };
        (index < self.count).then(|| CpuId::from_index(index))
    }
    fn count(&self) -> usize {
        self.count
    }
}

/// The longest time before the first event at which a job released in the trace may have arrived.
const LONGEST_WAIT_NS: i64 = 10_000_000_000;

/// Returns time 0 of the run, if marks contain times of the run. A mark is never written before the
/// time in it, so the mark with the least delay gives the closest estimate.
fn run_origin(events: &[Event], first: i64, last: i64) -> Option<i64> {
    let release = |event: &Event| match event.kind {
        EventKind::Mark(Marker::Release { t, .. }) => Some((event.at, t)),
        EventKind::Mark(_)
        | EventKind::Switch { .. }
        | EventKind::Wake { .. }
        | EventKind::Migrate { .. }
        | EventKind::Other => None,
    };
    let (_, t) = events.iter().find_map(release)?;
    if (first.saturating_sub(LONGEST_WAIT_NS)..=last).contains(&t) {
        return None;
    }
    events.iter().filter_map(release).map(|(at, t)| at.saturating_sub(t)).min()
}

/// Returns the time 0 that the first arrivals imply if the tasks are periodic.
fn implied_origin(known: &BTreeMap<JobId, KnownJob>, system: &System) -> Option<i64> {
    let origins = known.iter().filter_map(|(id, known)| {
        let task = system.tasks.get(id.task)?;
        let periods = i64::try_from(id.seq).ok()?.checked_mul(task.period.ns())?;
        known.arrival?.checked_sub(task.offset.ns())?.checked_sub(periods)
    });
    origins.min()
}

/// Adds a job with its segments.
fn job(
    trace: &mut Trace,
    life: &Life,
    span: &Span,
    relative: Option<Duration>,
    clock: Clock,
    cpus: &mut Cpus,
) {
    let end = span.end.map(|(at, how)| (clock.clamped(at), how));
    if end.is_some_and(|(at, _)| at <= Time::ZERO) {
        return;
    }
    let from = clock.clamped(span.from).max(Time::ZERO);
    let to = clock.clamped(span.to).min(trace.over);
    let mut executed = Service::ZERO;
    let mut last: Option<usize> = None;
    let first = life.runs.partition_point(|run| run.end <= span.from);
    for run in life.runs[first..].iter().take_while(|run| run.start < span.to) {
        let (start, end) = (clock.clamped(run.start).max(from), clock.clamped(run.end).min(to));
        if start >= end {
            continue;
        }
        executed += Service::from_ns((end - start).ns());
        let cpu = cpus.id(run.cpu);
        // A pause below the resolution of the trace does not split a segment.
        if let Some(segment) = last.and_then(|last| trace.segments.get_mut(last))
            && segment.end == start
            && segment.cpu == cpu
        {
            segment.end = end;
            continue;
        }
        last = Some(trace.segments.len());
        let overhead = Duration::ZERO;
        trace.segments.push(Segment { job: span.id, cpu, start, end, overhead });
    }
    let true_arrival = clock.clamped(span.arrival);
    let arrival = true_arrival.max(Time::ZERO);
    let deadline = match (span.deadline, relative) {
        (Some(deadline), _) => clock.clamped(deadline),
        // A mark may set the arrival of the job to the end of time.
        (None, Some(relative)) => (true_arrival + relative).min(NO_DEADLINE),
        (None, None) => NO_DEADLINE,
    };
    trace.over = trace.over.max(end.map_or(arrival, |(at, _)| at)).max(arrival);
    let job = Job { id: span.id, arrival, release: arrival, deadline: deadline.max(Time::ZERO) };
    trace.jobs.push(JobRecord { job, end, executed });
}

/// Returns marks for the suspensions of a job and their ends.
fn suspended(life: &Life, span: &Span, clock: Clock) -> Vec<Mark> {
    let mut marks = Vec::new();
    for pause in span.pauses(life) {
        let (from, to) = (clock.clamped(pause.from), pause.to.map(|to| clock.clamped(to)));
        // Suspensions before the origin are cut off.
        if to.is_some_and(|to| to <= Time::ZERO.max(from)) {
            continue;
        }
        let kind = MarkKind::Suspended(span.id);
        marks.push(Mark { at: from.max(Time::ZERO), kind });
        marks.extend(to.map(|at| Mark { at, kind: MarkKind::Resumed(span.id) }));
    }
    marks
}

/// Returns a mark for each time at which the budget of a job was used up.
fn throttles(life: &Life, span: &Span, clock: Clock, cpus: &mut Cpus) -> Vec<Mark> {
    let first = life.throttled.partition_point(|&(at, _)| at <= span.from);
    let of_job = life.throttled[first..].iter().take_while(|&&(at, _)| at <= span.to);
    let marks = of_job.map(|&(at, cpu)| Mark {
        at: clock.clamped(at),
        kind: MarkKind::BudgetExhausted(span.id, cpus.id(cpu)),
    });
    marks.filter(|mark| mark.at >= Time::ZERO).collect()
}

fn marks(events: &[Event], tasks: &Tasks, clock: Clock, cpus: &mut Cpus) -> Vec<Mark> {
    // Threads that were woken and have not run since.
    let mut woken: BTreeSet<u32> = BTreeSet::new();
    let mark = |event: &Event| {
        match &event.kind {
            EventKind::Wake { thread, .. } => {
                woken.insert(thread.pid);
            }
            EventKind::Switch { next, .. } => {
                woken.remove(&next.pid);
            }
            EventKind::Migrate { .. } | EventKind::Mark(_) | EventKind::Other => {}
        }
        let at = clock.clamped(event.at);
        if at < Time::ZERO {
            return None;
        }
        match event.kind {
            EventKind::Migrate { thread, from, to } if from != to => {
                let task = tasks.of(thread.pid)?;
                // The event lacks a reason, but it has the
                // thread that moves the other one, and the CPU.
                let why = if woken.contains(&thread.pid) {
                    MoveReason::Placed
                } else if event.thread.comm.starts_with("migration/") {
                    MoveReason::Expelled
                } else if event.cpu == to {
                    MoveReason::Pulled
                } else {
                    MoveReason::Pushed
                };
                let (from, to) = (cpus.id(from), cpus.id(to));
                Some(Mark { at, kind: MarkKind::Note(Note::Moved { task, from, to, why }) })
            }
            EventKind::Mark(Marker::Overrun { task, job }) => {
                let id = JobId { task: tasks.named(task, event.thread.pid)?, seq: job };
                Some(Mark { at, kind: MarkKind::BudgetExhausted(id, cpus.id(event.cpu)) })
            }
            EventKind::Migrate { .. }
            | EventKind::Mark(_)
            | EventKind::Switch { .. }
            | EventKind::Wake { .. }
            | EventKind::Other => None,
        }
    };
    events.iter().filter_map(mark).collect()
}

fn decisions(events: &[Event], tasks: &Tasks, clock: Clock, cpus: &mut Cpus) -> Vec<Decision> {
    let decision = |event: &Event| match event.kind {
        EventKind::Mark(Marker::Decision { cpu, run }) => {
            let run = match run {
                None => None,
                Some((name, seq)) => {
                    Some(JobId { task: tasks.named(name, event.thread.pid)?, seq })
                }
            };
            // The engine already uses the CPU numbers of the run.
            cpus.count = cpus.count.max(CpuId(cpu).index() + 1);
            Some(Decision { at: clock.clamped(event.at), cpu: CpuId(cpu), run })
        }
        EventKind::Mark(_)
        | EventKind::Migrate { .. }
        | EventKind::Switch { .. }
        | EventKind::Wake { .. }
        | EventKind::Other => None,
    };
    events.iter().filter_map(decision).collect()
}
