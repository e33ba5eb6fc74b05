//! Jobs: they arrive, are ready, and end.

use crate::ledger::Status;
use crate::tell::tell;
use crate::{Asked, ENDLESS, Engine, Ledger, graphs, steps};
use layland_model::{OnMiss, TaskId};
use layland_policy::{AfterJob, Event, Policy, Schedules};
use layland_trace::{Job, JobEnd};

/// The next job of a task arrives, or is ready because the one before it has ended.
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
    // Not a `match`: this is one branch that is easy to predict, and a jump through a table is not.
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

/// The same for a policy that follows arrivals: it is told of every job that has arrived, and then of
/// the one that is ready, if none was.
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
        // Those that came before it are behind us; others may have come since.
        task.skipped -= job.id.seq.wrapping_sub(task.job.id.seq.wrapping_add(1));
        (task.job, task.demand) = (job, demand);
        set_expiry(engine, id);
        tell_release(engine, id, job);
    }
    let task = &mut engine.ledger_mut().tasks[id];
    task.blocked = !task.waiting.is_empty();
}

/// A job arrives while the one before it is late, and its task skips it.
#[cold]
fn skip(engine: &mut impl Engine, id: TaskId) {
    let job = engine.ledger().tasks[id].next_job();
    draw(engine, id, job);
    let ledger = engine.ledger_mut();
    ledger.tasks[id].skipped += 1;
    // One that has arrived already is noticed within this round, too.
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
        // Most jobs come this way: their task is looked up once, and is never one that gives up late jobs.
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
    // A job that has arrived already is noticed within this round, and waits.
    ledger.notice(id, ledger.tasks[id].next_release.max(ledger.now));
    set_expiry(engine, id);
}

/// What a job that arrives needs; and when the one after it arrives.
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

/// A job is ready: it is given up at its deadline, if that is what its task does.
#[inline]
fn set_expiry(engine: &mut impl Engine, id: TaskId) {
    let task = &engine.ledger().tasks[id];
    if task.on_miss == OnMiss::Abort && !task.endless {
        let (at, position) = (task.job.deadline, task.position as usize);
        engine.ledger_mut().expiries.set(position, at);
    }
}

/// Gives up the jobs that have reached their deadlines. Those that end at this time have been told before.
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

/// The ready job of a task, which is on no CPU any more, has completed. What its thread does next: a
/// [`Event::Completion`] says so, and an [`Event::Ended`] of a job that was being preempted need not.
#[inline]
pub fn complete(engine: &mut impl Engine, id: TaskId) -> AfterJob {
    end(engine, id, JobEnd::Completed)
}

/// Ends the ready job of a task, wherever it is.
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
    // Nearly every job. The others take a call at the end, after which nothing has to be looked up again here.
    let alone = ledger.steps.is_none() && ledger.graphs.is_none();
    if alone && ledger.tasks[id].on_miss != OnMiss::Abort {
        after(ledger, id)
    } else {
        end_among_others(engine, id)
    }
}

/// The rest of the end of a job that may have steps, be given up at its deadline or have followers.
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

/// What the thread of a task does whose job is over; a job that waits is noticed as an arrival of this instant.
#[inline(always)]
fn after<P: Policy, T>(ledger: &mut Ledger<P, T>, id: TaskId) -> AfterJob {
    let (now, task) = (ledger.now, &ledger.tasks[id]);
    if task.blocked {
        ledger.notice(id, now);
        continues(ledger, id);
        // A thread calls `sched_yield` at the end of each job, whether or not it is late: a kernel takes the
        // rest of its budget, and the job that waits has to do with the next one.
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

/// A task goes on with its next job, which is there already, in the round in which a job ends.
#[inline]
pub(crate) fn continues<P, T>(ledger: &mut Ledger<P, T>, id: TaskId) {
    if let Some(exploration) = &mut ledger.exploration {
        exploration.continuing.push(ledger.tasks[id].position as usize);
    }
}
