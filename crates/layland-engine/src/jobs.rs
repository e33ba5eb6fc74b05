//! The life of jobs: arrival, release and end.

use crate::ledger::Status;
use crate::tell::tell;
use crate::{Asked, ENDLESS, Engine, Ledger, graphs, steps};
use layland_model::{OnMiss, TaskId};
use layland_policy::{AfterJob, Event, Policy, Schedules};
use layland_trace::{Job, JobEnd};

/// Handles the arrival of the next job of a task, or its release if the previous job has ended.
#[inline]
pub(crate) fn arrive(engine: &mut impl Engine, id: TaskId) {
    if engine.ledger().schedules == Schedules::ArrivingJobs {
        arrive_followed(engine, id);
        return;
    }
    if engine.ledger().is_in_graph(id) {
        graphs::arrive(engine, id);
        return;
    }
    let ledger = engine.ledger_mut();
    let task = &mut ledger.tasks[id];
    // Not a `match`: this single branch is easy to predict, and a jump through a table is not.
    if task.status == Status::Ready {
        if task.on_miss == OnMiss::Skip && !task.endless {
            skip(engine, id);
            return;
        }
        task.blocked = true;
        ledger.arrivals.clear(task.position as usize);
        return;
    }
    if task.status == Status::Outside {
        join(engine, id);
    }
    release(engine, id);
}

/// Does the same as [`arrive`] for a policy that follows arrivals: it receives every job that has
/// arrived, and then the release of the first one, unless a job was ready already.
#[inline(never)]
fn arrive_followed(engine: &mut impl Engine, id: TaskId) {
    if engine.ledger().tasks[id].status == Status::Outside {
        join(engine, id);
    }
    while engine.ledger().tasks[id].next_release <= engine.ledger().now {
        let task = &engine.ledger().tasks[id];
        let is_pending = task.status == Status::Ready || !task.waiting.is_empty();
        if task.on_miss == OnMiss::Skip && is_pending {
            skip(engine, id);
            continue;
        }
        let job = task.next_job();
        let demand = draw(engine, id, job);
        engine.ledger_mut().tasks[id].waiting.push_back((job, demand));
        let Job { id: job, release, deadline, .. } = job;
        tell(engine, Event::Arrival { job, release, deadline });
    }
    let ledger = engine.ledger_mut();
    ledger.notice(id, ledger.tasks[id].next_release);
    let task = &mut ledger.tasks[id];
    if task.status == Status::Idle
        && let Some((job, demand)) = task.waiting.pop_front()
    {
        task.status = Status::Ready;
        // The jobs skipped before this one no longer count; others may have been skipped since.
        task.skipped -= job.id.seq.wrapping_sub(task.job.id.seq.wrapping_add(1));
        (task.job, task.demand) = (job, demand);
        set_expiry(engine, id);
        tell_release(engine, id, job);
    }
    let task = &mut engine.ledger_mut().tasks[id];
    task.blocked = !task.waiting.is_empty();
}

/// Skips a job that arrives while the previous one is late.
#[cold]
fn skip(engine: &mut impl Engine, id: TaskId) {
    let job = engine.ledger().tasks[id].next_job();
    draw(engine, id, job);
    let ledger = engine.ledger_mut();
    ledger.tasks[id].skipped += 1;
    // A next job that has arrived already is handled within this round, too.
    ledger.notice(id, ledger.tasks[id].next_release.max(ledger.now));
    engine.skipped(&job);
}

#[cold]
pub(crate) fn join(engine: &mut impl Engine, id: TaskId) {
    let ledger = engine.ledger_mut();
    ledger.tasks[id].status = Status::Idle;
    let request = ledger.new_request(Asked::Join(id));
    let parameters = ledger.streams[id].parameters();
    tell(engine, Event::Join { task: id, parameters, request });
}

#[inline]
fn release(engine: &mut impl Engine, id: TaskId) {
    let ledger = engine.ledger_mut();
    let task = &mut ledger.tasks[id];
    task.status = Status::Ready;
    let job = task.next_job();
    task.job = job;
    task.skipped = 0;
    if let Some(demand) = task.draw_regular() {
        // Most jobs take this path. It looks up the task only once, and never applies to tasks that
        // abort late jobs.
        task.demand = demand;
        ledger.arrivals.set(task.position as usize, task.next_release.max(ledger.now));
    } else {
        release_irregular(engine, id, job);
    }
    tell_release(engine, id, job);
    engine.ledger_mut().tasks[id].blocked = false;
}

#[inline(never)]
fn release_irregular(engine: &mut impl Engine, id: TaskId, job: Job) {
    let task = &mut engine.ledger_mut().tasks[id];
    let demand = if task.endless {
        task.dated = true;
        task.set_next(None);
        ENDLESS
    } else {
        draw(engine, id, job)
    };
    let ledger = engine.ledger_mut();
    ledger.tasks[id].demand = demand;
    // A job that has arrived already is handled within this round, and waits.
    ledger.notice(id, ledger.tasks[id].next_release.max(ledger.now));
    set_expiry(engine, id);
}

/// Returns the work of a job that arrives, and determines the arrival of the next job.
#[inline]
fn draw<E: Engine>(engine: &mut E, id: TaskId, job: Job) -> i64 {
    if let Some(demand) = engine.ledger_mut().tasks[id].draw_regular() {
        return demand;
    }
    let stream = &mut engine.ledger_mut().streams[id];
    let demand = stream.demand(job.id.seq);
    let next = stream.next(job.id.seq, job.arrival);
    engine.ledger_mut().tasks[id].set_next(next);
    engine.amount(demand)
}

/// Schedules the abort of a ready job at its deadline, if its task wants that.
#[inline]
fn set_expiry(engine: &mut impl Engine, id: TaskId) {
    let task = &engine.ledger().tasks[id];
    if task.on_miss == OnMiss::Abort && !task.endless {
        let (at, position) = (task.job.deadline, task.position as usize);
        engine.ledger_mut().expiries.set(position, at);
    }
}

/// Aborts the jobs that have reached their deadlines. Jobs that complete at this time were reported
/// before.
#[inline]
pub(crate) fn expire(engine: &mut impl Engine) {
    while engine.ledger().expiries.next() <= engine.ledger().now {
        let Some(position) = engine.ledger().expiries.first() else { return };
        let id = engine.ledger().positions.task(position);
        let job = engine.ledger().tasks[id].job.id;
        stop(engine, id, JobEnd::Aborted);
        tell(engine, Event::Ended { job });
    }
}

#[inline(always)]
pub(crate) fn tell_release(engine: &mut impl Engine, id: TaskId, job: Job) {
    let Job { id: job, release, deadline, .. } = job;
    tell(engine, Event::Release { job, release, deadline });
    engine.released(id);
    if engine.ledger().steps.is_some() {
        steps::begin(engine, id);
    }
}

/// Handles the completion of the ready job of a task, which is no longer on a CPU. Returns the next
/// action of its thread: an [`Event::Completion`] carries it, but an [`Event::Ended`] for a job
/// that was being preempted need not.
#[inline]
pub fn complete(engine: &mut impl Engine, id: TaskId) -> AfterJob {
    end(engine, id, JobEnd::Completed)
}

/// Ends the ready job of a task, on or off a CPU.
#[inline(never)]
pub(crate) fn stop(engine: &mut impl Engine, id: TaskId, how: JobEnd) {
    engine.withdraw(id);
    end(engine, id, how);
}

#[inline(always)]
fn end(engine: &mut impl Engine, id: TaskId, how: JobEnd) -> AfterJob {
    engine.ledger_mut().tasks[id].status = Status::Idle;
    engine.ended(id, how);
    let ledger = engine.ledger_mut();
    // Nearly every job takes the first path. The others take a tail call, after which nothing has
    // to be reloaded here.
    let alone = ledger.steps.is_none() && ledger.graphs.is_none();
    if alone && ledger.tasks[id].on_miss != OnMiss::Abort {
        after(ledger, id)
    } else {
        end_among_others(engine, id)
    }
}

/// Completes the end of a job that may have steps, be aborted at its deadline or have followers.
#[inline(never)]
fn end_among_others(engine: &mut impl Engine, id: TaskId) -> AfterJob {
    let ledger = engine.ledger_mut();
    if ledger.steps.is_some() {
        steps::end(ledger, id);
    }
    if ledger.tasks[id].on_miss == OnMiss::Abort {
        ledger.expiries.clear(ledger.tasks[id].position as usize);
    }
    if ledger.is_in_graph(id) {
        return graphs::end(engine, id);
    }
    after(ledger, id)
}

/// Returns the next action of the thread of a task whose job is over. Schedules a waiting job like
/// an arrival at this instant.
#[inline(always)]
fn after<P: Policy, T>(ledger: &mut Ledger<P, T>, id: TaskId) -> AfterJob {
    let (now, task) = (ledger.now, &ledger.tasks[id]);
    if task.blocked {
        ledger.notice(id, now);
        continues(ledger, id);
        // A thread calls `sched_yield` at the end of each job, whether or not the job is late. A
        // kernel takes the rest of its budget, and the waiting job gets only the next budget.
        return if ledger.streams[id].yields() { AfterJob::Yields } else { AfterJob::Continues };
    }
    let mut next = task.next_release;
    if task.regular.is_none() {
        let stream = &mut ledger.streams[id];
        let yields = stream.yields();
        if let Some(arrival) = stream.after_completion(task.job.id.seq, now) {
            ledger.set_next(id, Some(arrival));
        }
        next = ledger.tasks[id].next_release;
        if yields {
            if next <= now {
                continues(ledger, id);
            }
            return AfterJob::Yields;
        }
    }
    if next <= now {
        continues(ledger, id);
        AfterJob::Continues
    } else {
        AfterJob::Blocks
    }
}

/// Records that a task continues with its next job, which has already arrived, in the round in
/// which a job ends.
#[inline]
pub(crate) fn continues<P, T>(ledger: &mut Ledger<P, T>, id: TaskId) {
    if let Some(exploration) = &mut ledger.exploration {
        exploration.continuing.push(ledger.tasks[id].position as usize);
    }
}
