//! Checks that a record is possible for an executor: the invariants of its rule, from the record
//! alone.
//!
//! The checker shares no code with the simulator: it computes the supply as a sum from the start,
//! and derives the pending activations from the jobs. A job without work begins and ends between
//! two other events of one instant, and times do not reveal its position. A record with such a job
//! is checked only against the invariants that do not depend on it: E1, E2, E3 and E7. If several
//! threads poll at one instant, times do not separate their sections either: E4 and E5 are checked
//! for one thread only.
//!
//! The search is quadratic in the number of simultaneously pending jobs and in the number of
//! timers: it is for tests.

use crate::{CallbackKind, Executor, ExecutorKind, Job, Record, Supply, Timers};
use layland_model::Time;
use std::collections::BTreeMap;

/// An invariant that a record breaks. Jobs are indices into the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A job has no activation, or not the one whose turn it was.
    #[error("E2: job {0} is not that of the next activation of its callback")]
    NoActivation(usize),
    /// The numbers of jobs and activations differ, or there is supply left for waiting activations.
    #[error("E3: some activations have no job")]
    Lost,
    /// A job begins before its activation, or at an instant without supply.
    #[error("E1: job {0} cannot have begun then")]
    Start(usize),
    /// A job ends before or after its work is done.
    #[error("E1: job {0} has not had its work when it ends")]
    Work(usize),
    /// A job begins while another runs on its thread.
    #[error("E1: job {0} begins while its thread runs another")]
    Thread(usize),
    /// A job waits while a thread could run it.
    #[error("E3: job {0} waits while a thread is idle")]
    Idle(usize),
    /// A callback ran twice between two polling points, or without an activation at the first.
    #[error("E4: job {0} was not in the ready set")]
    NotReady(usize),
    /// A job begins before one that comes first in the ready set.
    #[error("E5: job {0} begins out of the order of the ready set")]
    ReadyOrder(usize),
    /// A job begins while a live timer waits.
    #[error("E6: job {0} begins while a timer waits")]
    TimerWaits(usize),
    /// A job begins while another of its group runs.
    #[error("E7: job {0} begins while another of its group runs")]
    Group(usize),
    /// A job of an events executor begins before one with a smaller key.
    #[error("job {0} begins before one that comes first in the queue")]
    QueueOrder(usize),
}

/// All violations of a record, for these activations from outside, per callback and in order.
pub fn check(executor: &Executor, arrivals: &[Vec<Time>], record: &Record) -> Vec<Violation> {
    let jobs = &record.jobs;
    let mut found = Vec::new();
    activations(executor, arrivals, record, &mut found);
    for (at, job) in jobs.iter().enumerate() {
        let given = |time: Time| given(&executor.supply, time);
        let (start, finish) = (job.start.ns(), job.finish.ns());
        // The first nanosecond of the job must be supplied.
        if job.start < job.activation || given(Time::from_ns(start + 1)) == given(job.start) {
            found.push(Violation::Start(at));
        }
        let before = given(job.start);
        let work = job.work.ns();
        let done = match work {
            0 => finish == start,
            _ if job.finish == Time::NEVER => given(Time::NEVER) - before < work,
            _ => {
                given(job.finish) - before == work
                    && given(Time::from_ns(finish - 1)) - before == work - 1
            }
        };
        if !done {
            found.push(Violation::Work(at));
        }
        if jobs[..at].iter().any(|one| one.thread == job.thread && one.finish > job.start)
            || job.thread >= executor.kind.threads()
            || (at > 0 && jobs[at - 1].start > job.start)
        {
            found.push(Violation::Thread(at));
        }
        if jobs[..at].iter().any(|one| one.finish > job.start && excludes(executor, one, job)) {
            found.push(Violation::Group(at));
        }
        if is_idle_before(executor, jobs, job) {
            found.push(Violation::Idle(at));
        }
    }
    // E4 to E6 and the queue order depend on the positions of jobs without work.
    if jobs.iter().all(|job| job.work.ns() > 0) {
        sections(executor, record, &mut found);
        timers(executor, jobs, &mut found);
        queue(executor, jobs, &mut found);
    }
    found
}

/// The amount of supply from the start to an instant.
fn given(supply: &Supply, to: Time) -> i64 {
    match supply {
        Supply::Always => to.ns(),
        Supply::Server { period, budget } => {
            let (p, q, t) = (period.ns(), budget.ns(), to.ns());
            if t < p { t.min(q) } else { (t / p).saturating_mul(q) + (t % p - (p - q)).max(0) }
        }
        Supply::Intervals(all) => {
            all.iter().map(|&(start, end)| (end.min(to).ns() - start.ns()).max(0)).sum()
        }
    }
}

/// Returns true if one callback cannot run while the other does.
fn excludes(executor: &Executor, one: &Job, other: &Job) -> bool {
    let [a, b] = [one, other].map(|job| &executor.callbacks[job.callback]);
    let same = one.callback == other.callback || (a.group.is_some() && a.group == b.group);
    let grouped = matches!(executor.kind, ExecutorKind::Multi { .. });
    grouped && same && !a.reentrant && !b.reentrant
}

/// Checks E2, and that no activation is lost: the activations of a callback are those from outside
/// and the ends of its activators.
fn activations(
    executor: &Executor,
    arrivals: &[Vec<Time>],
    record: &Record,
    found: &mut Vec<Violation>,
) {
    let mut waiting = Vec::new();
    for (callback, own) in arrivals.iter().enumerate() {
        let outside = own.iter().map(|&at| (at, callback, at));
        let ended = record.jobs.iter().filter(|job| {
            job.finish != Time::NEVER && executor.callbacks[job.callback].next.contains(&callback)
        });
        let mut all: Vec<(Time, usize, Time)> =
            outside.chain(ended.map(|job| (job.finish, job.source, job.origin))).collect();
        all.sort_unstable();
        let times: Vec<Time> = all.iter().map(|one| one.0).collect();
        let mut left = BTreeMap::<_, usize>::new();
        all.iter().for_each(|&one| *left.entry(one).or_default() += 1);
        let mine = record.jobs.iter().enumerate().filter(|(_, job)| job.callback == callback);
        let mut count = 0;
        for (turn, (at, job)) in mine.enumerate() {
            count += 1;
            let known = left.get_mut(&(job.activation, job.source, job.origin));
            let is_next = times.get(turn) == Some(&job.activation) && job.number == turn as u64;
            match known.filter(|left| **left > 0) {
                Some(left) if is_next => *left -= 1,
                _ => found.push(Violation::NoActivation(at)),
            }
        }
        waiting.extend(times.iter().skip(count).copied());
    }
    let cut = record.jobs.iter().any(|job| job.finish == Time::NEVER);
    let last = record.jobs.iter().map(|job| job.finish).max().unwrap_or(Time::ZERO);
    let unused = waiting
        .iter()
        .any(|&at| given(&executor.supply, Time::NEVER) > given(&executor.supply, at.max(last)));
    if waiting.len() != record.waiting || (unused && !cut) {
        found.push(Violation::Lost);
    }
}

/// E3: returns true if a thread idles at a supplied instant between the activation and the start of
/// a job that could run.
fn is_idle_before(executor: &Executor, jobs: &[Job], job: &Job) -> bool {
    let (from, to) = (job.activation, job.start);
    let others = || jobs.iter().filter(|one| one.start < to && one.finish > from);
    if executor.kind.threads() == 1 {
        let used = |one: &Job| {
            given(&executor.supply, one.finish.min(to))
                - given(&executor.supply, one.start.max(from))
        };
        let all = given(&executor.supply, to) - given(&executor.supply, from);
        return all > others().map(used).sum();
    }
    // With several threads, the set of running jobs changes where a job begins or ends.
    let changes = others().flat_map(|one| [one.start, one.finish]).chain([from]);
    changes.filter(|&at| from <= at && at < to).any(|at| {
        let running = || jobs.iter().filter(|one| one.start <= at && at < one.finish);
        running().count() < executor.kind.threads()
            && !running().any(|one| excludes(executor, one, job))
    })
}

fn is_live_timer(executor: &Executor, job: &Job) -> bool {
    executor.kind.timers() == Some(Timers::Live)
        && executor.callbacks[job.callback].kind == CallbackKind::Timer
}

/// Checks E4 and E5.
fn sections(executor: &Executor, record: &Record, found: &mut Vec<Violation>) {
    if !matches!(executor.kind, ExecutorKind::Default(_)) {
        return;
    }
    let mut polls = record.polls.iter().copied().peekable();
    let mut poll = None;
    let mut last = None;
    for (at, job) in record.jobs.iter().enumerate() {
        while let Some(next) = polls.next_if(|&next| next <= job.start) {
            (poll, last) = (Some(next), None);
        }
        if is_live_timer(executor, job) {
            continue;
        }
        let place = (executor.callbacks[job.callback].kind, job.callback);
        if poll.is_none_or(|poll| job.activation > poll) || last == Some(place) {
            found.push(Violation::NotReady(at));
        } else if last.is_some_and(|last| place < last) {
            found.push(Violation::ReadyOrder(at));
        }
        last = Some(place);
    }
}

/// Checks E6.
fn timers(executor: &Executor, jobs: &[Job], found: &mut Vec<Violation>) {
    for (at, job) in jobs.iter().enumerate().filter(|(_, job)| !is_live_timer(executor, job)) {
        let waits = jobs[at + 1..].iter().any(|timer| {
            is_live_timer(executor, timer)
                && timer.activation <= job.start
                && !jobs[..at]
                    .iter()
                    .any(|one| one.finish > job.start && excludes(executor, one, timer))
        });
        if waits {
            found.push(Violation::TimerWaits(at));
        }
    }
}

/// Checks the order of the queue of an events executor.
fn queue(executor: &Executor, jobs: &[Job], found: &mut Vec<Violation>) {
    let key = |job: &Job| {
        let callback = &executor.callbacks[job.callback];
        let first = match executor.kind {
            ExecutorKind::EventsFifo => 0,
            ExecutorKind::EventsEdf => {
                job.activation.ns() + callback.deadline.map_or(0, |deadline| deadline.ns())
            }
            ExecutorKind::EventsFp => callback.priority.unwrap_or(0),
            ExecutorKind::Default(_) | ExecutorKind::Multi { .. } => return None,
        };
        Some((first, job.activation, job.callback, job.number))
    };
    for (at, job) in jobs.iter().enumerate() {
        let first = |other: &Job| other.activation <= job.start && key(other) < key(job);
        if jobs[at + 1..].iter().any(first) {
            found.push(Violation::QueueOrder(at));
        }
    }
}
