//! Returns the jobs of every thread of a kernel trace, to find out the behaviour of a program.
//!
//! The jobs of a thread with marks in the trace are delimited by these, and those of other threads
//! by their sleeps. Jobs whose beginnings are not in the trace are left out. So is the execution of
//! a thread when it is born, before it first sleeps, and when it dies.

use super::super::gaps::gaps;
use super::super::import::{Begins, ReadError};
use super::super::line::{Event, EventKind, Lines, NamedThread, StateAfter};
use super::super::marker::Marker;
use super::super::threads::Tasks;
use super::lives::{KnownJob, Life, Lives, lives, marked_jobs};
use super::spans::{Span, inferred_spans, marked_spans};
use super::tied::tied;
use super::waits::Holders;
use super::{Clock, Cpus, damages};
use crate::infer::{Observation, Partial, SeenJob, Stretch, Thread, Waker};
use layland_model::{Duration, Index, JobId, Service, TaskId, Time};
use layland_trace::JobEnd;
use std::collections::{BTreeMap, BTreeSet};

/// The information in the events about a thread, except for its jobs.
#[derive(Default)]
struct Notice<'a> {
    name: &'a str,
    priorities: BTreeMap<i32, u64>,
}

pub(in super::super) fn observe(lines: Lines) -> Result<Observation, ReadError> {
    let events = &lines.events;
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Err(ReadError::NoEvents { first_unknown_line: lines.first_unknown });
    };
    let begin = events.iter().find_map(|event| match event.kind {
        EventKind::Mark(Marker::Begin { t, ref cpus }) => Some((t, cpus.as_slice())),
        EventKind::Mark(_)
        | EventKind::Switch { .. }
        | EventKind::Wake { .. }
        | EventKind::Migrate { .. }
        | EventKind::Other => None,
    });
    let clock = Clock { origin: begin.map_or(first.at, |(t, _)| t) };
    let mut cpus = Cpus::new(begin.map_or(&[], |(_, cpus)| cpus));
    if !cpus.is_listed {
        for event in events {
            cpus.id(event.cpu);
        }
    }
    let (Some(_), Some(over)) = (clock.exact(first.at), clock.exact(last.at)) else {
        return Err(ReadError::TooLong);
    };
    let notices = notices(events);
    let tasks = Tasks::everybody(notices.iter().map(|(&pid, notice)| (pid, notice.name)));
    let Lives { mut of_tasks, torn, missed, .. } = lives(events, &tasks, Begins::Likely);
    // Ties: the more important priority, which is the smaller number.
    let usual = |notice: &Notice<'_>| {
        let most = notice
            .priorities
            .iter()
            .max_by_key(|&(&priority, &count)| (count, std::cmp::Reverse(priority)));
        most.map(|(&priority, _)| priority)
    };
    let mut holders = Holders::of(&of_tasks, notices.values().map(usual).collect());
    holders.explain(&mut of_tasks);
    let known = marked_jobs(events, &tasks);
    let tied = tied(events, &tasks);
    let mut threads = Vec::new();
    for (index, (life, (pid, notice))) in of_tasks.iter().zip(notices).enumerate() {
        let task = TaskId::from_index(index);
        let torn = torn.get(&task).map_or(&[][..], Vec::as_slice);
        let mut thread = jobs(task, life, &known, torn, (&mut holders, clock));
        for cpu in life.runs.iter().filter_map(|run| cpus.known(run.cpu)) {
            thread.cpus.insert(cpu);
        }
        thread.tied = tied[index].values().sum();
        thread.passed = tied[index].keys().filter_map(|&cpu| cpus.known(cpu)).collect();
        thread.waits_since = life.awake.map(|at| clock.clamped(at));
        thread.throttled = life.throttled.len() as u64;
        thread.name = notice.name.to_owned();
        thread.pid = Some(pid);
        thread.priorities = notice.priorities.into_iter().collect();
        thread.priorities.sort_by_key(|&(priority, count)| (std::cmp::Reverse(count), priority));
        threads.push(thread);
    }
    let mut remarks = damages(&lines, &[]);
    let has_wakes = events.iter().any(|event| matches!(event.kind, EventKind::Wake { .. }));
    if !has_wakes && known.is_empty() {
        remarks.push("no wake-ups are traced: jobs arrive when they first run".to_owned());
    }
    let between = gaps(events);
    let gaps: Vec<(Time, Time)> =
        between.iter().map(|&(from, to)| (clock.clamped(from), clock.clamped(to))).collect();
    let is_fine = events.iter().any(|event| event.at % 1_000 != 0);
    Ok(Observation {
        threads,
        taken: holders.taken(),
        over,
        cpus: cpus.count(),
        origin_ns: clock.origin,
        is_run: begin.is_some(),
        // The length excludes a time in which nothing was recorded.
        length: over.since_start()
            - gaps.iter().fold(Duration::ZERO, |sum, &(from, to)| sum + (to - from)),
        gaps,
        resolution: Duration::from_ns(if is_fine { 1 } else { 1_000 }),
        dialect: Some(lines.dialect.name()),
        lost: lines.lost,
        unrecorded: missed.len() as u64,
        unknown_lines: lines.unknown,
        remarks,
    })
}

/// Returns names and priorities by thread id.
fn notices<'a>(events: &[Event<'a>]) -> BTreeMap<u32, Notice<'a>> {
    let mut notices: BTreeMap<u32, Notice> = BTreeMap::new();
    let mut notice = |thread: NamedThread<'a>| {
        if thread.pid == 0 || thread.comm.is_empty() {
            return;
        }
        let notice = notices.entry(thread.pid).or_default();
        notice.name = thread.comm;
        if let Some(priority) = thread.priority {
            *notice.priorities.entry(priority).or_default() += 1;
        }
    };
    for event in events {
        notice(event.thread);
        match event.kind {
            EventKind::Switch { prev, next, .. } => {
                notice(prev);
                notice(next);
            }
            EventKind::Wake { thread, .. } | EventKind::Migrate { thread, .. } => notice(thread),
            EventKind::Mark(_) | EventKind::Other => {}
        }
    }
    notices
}

fn jobs(
    task: TaskId,
    life: &Life,
    known: &BTreeMap<JobId, KnownJob>,
    torn: &[i64],
    (holders, clock): (&mut Holders, Clock),
) -> Thread {
    let of_task = JobId { task, seq: 0 }..=JobId { task, seq: u64::MAX };
    let is_marked = known.range(of_task).next().is_some();
    let spans =
        if is_marked { marked_spans(task, life, known) } else { inferred_spans(task, life) };
    let mut thread = Thread { is_marked, ..Thread::default() };
    let dead = life.runs.iter().filter(|run| matches!(run.left, Some(StateAfter::Dead)));
    let deaths: BTreeSet<i64> = dead.map(|run| run.end).collect();
    for span in spans {
        let missing = torn.partition_point(|&at| at < span.from);
        let is_torn = torn.get(missing).is_some_and(|&at| at <= span.to);
        let is_born = span.woken.is_some_and(|woken| woken.by.is_new);
        let is_dying = span.end.is_some_and(|(at, _)| deaths.contains(&at));
        if is_torn {
            thread.torn += 1;
            continue;
        }
        let mut job = job(&span, life, (is_marked, task.index()), holders, clock);
        if !span.is_begin_seen || span.arrival < clock.origin {
            thread.beheaded += 1;
            // A thread without a wake-up in the trace may have
            // waited for as long as others kept it from its CPU.
            let first = life.runs.iter().find(|run| run.start == span.from && !is_marked);
            if let (false, Some(run)) = (span.is_begin_seen, first) {
                job.arrival = clock.clamped(holders.busy_since(task.index(), run.cpu, run.start));
            }
            job.arrival = job.arrival.max(Time::ZERO);
            thread.partial.push(Partial { job, is_cut: true });
        } else if is_born || is_dying {
            thread.unlike += 1;
            thread.partial.push(Partial { job, is_cut: false });
        } else {
            thread.jobs.push(job);
        }
    }
    thread.jobs.sort_by_key(|job| job.arrival);
    thread
}

/// Returns the stretches of a job between its suspensions, if it has any. The latency before a
/// stretch counts as part of it: that time is lost to later threads of the machine, too.
fn stretches(span: &Span, life: &Life) -> Vec<Stretch> {
    let pauses = span.pauses(life);
    if pauses.is_empty() {
        return Vec::new();
    }
    let first = life.runs.partition_point(|run| run.end <= span.from);
    let runs = life.runs[first..].iter().take_while(|run| run.start < span.to);
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut left = pauses.iter().peekable();
    let mut stretch = Stretch::default();
    for (place, run) in runs.enumerate() {
        let held = (run.end.min(span.to) - run.start.max(span.from)).max(0);
        // The latency before the first stretch is the delay of the job.
        let lost = if place == 0 { 0 } else { run.unexplained };
        stretch.executed += Service::from_ns(held.saturating_add(lost));
        if let Some(pause) = left.next_if(|pause| pause.from == run.end) {
            let length = pause.to.map_or(0, |to| to - pause.from);
            stretch.suspended = Duration::from_ns(length);
            stretches.push(std::mem::take(&mut stretch));
        }
    }
    stretches.push(stretch);
    stretches
}

fn job(
    span: &Span,
    life: &Life,
    (is_marked, thread): (bool, usize),
    holders: &mut Holders,
    clock: Clock,
) -> SeenJob {
    let first = life.runs.partition_point(|run| run.end <= span.from);
    let runs = life.runs[first..].iter().take_while(|run| run.start < span.to);
    let (mut executed, mut lost, mut delay) = (0i64, 0i64, 0i64);
    for (place, run) in runs.enumerate() {
        executed += (run.end.min(span.to) - run.start.max(span.from)).max(0);
        match place {
            // A mark may be written before the thread wakes up.
            0 if is_marked => {
                let wait = (span.from, run.start);
                delay = holders.unexplained(thread, run.cpu, wait);
            }
            0 => delay = run.unexplained,
            _ => lost += run.unexplained,
        }
    }
    let completed = span.end.filter(|&(_, how)| how == JobEnd::Completed);
    SeenJob {
        arrival: clock.clamped(span.arrival),
        delay: Duration::from_ns(delay),
        end: completed.map(|(at, _)| clock.clamped(at)),
        executed: Service::from_ns(executed),
        lost: Duration::from_ns(lost),
        stretches: stretches(span, life),
        deadline: span
            .deadline
            .map(|at| Duration::from_ns(at.saturating_sub(span.arrival)))
            .filter(|&length| length > Duration::ZERO),
        woken_by: span
            .woken
            .map(|woken| Waker { pid: woken.by.pid, in_interrupt: woken.by.in_interrupt }),
    }
}
