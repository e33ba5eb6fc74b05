//! Rounds: the policy receives the events that are due, decides, and the engine carries out its
//! decision.
//!
//! A round keeps the order in the contract of [`Policy`](layland_policy::Policy): completions,
//! exhausted budgets and steps by CPU; jobs that have completed on no CPU; jobs that resume; jobs
//! that are aborted at their deadlines; timers; arrivals; requests; measurements. Timers and
//! arrivals come in the order of their times; those with the same time come by id and by the rank
//! of the task, respectively.

pub use crate::tell::tell;

use crate::ledger::Status;
use crate::{ENDLESS, Engine, jobs, requests, steps};
use layland_model::{CpuId, JobId, Time};
use layland_policy::{Action, Event, TimerId};
use layland_trace::JobEnd;

/// Begins a run: every CPU comes online, and the policy decides for the first time.
pub fn begin(engine: &mut impl Engine) {
    begin_on(engine, |_| true);
}

/// Begins the part of a run that these CPUs carry, of a ledger that was
/// [confined](crate::Ledger::confine) to their tasks.
pub fn begin_on(engine: &mut impl Engine, is_own: impl Fn(CpuId) -> bool) {
    for cpu in engine.ledger().online.ids().filter(|&cpu| is_own(cpu)) {
        engine.ledger_mut().online[cpu] = true;
        tell(engine, Event::CpuOnline { cpu });
    }
    decide(engine);
}

/// Runs one round: passes all events that are due to the policy, and lets it decide. Returns true
/// if there was an event.
#[inline]
pub fn round(engine: &mut impl Engine) -> bool {
    let before = engine.ledger().events;
    engine.tell_ends();
    // Before jobs expire: a job that resumes at its deadline may complete at once.
    if engine.ledger().steps.is_some() {
        steps::resume(engine);
    }
    jobs::expire(engine);
    if engine.ledger().exploration.is_some() {
        explore(engine, before);
    } else {
        while engine.ledger().timers.next() <= engine.ledger().now {
            if let Some(timer) = engine.ledger().timers.first() {
                fire(engine, timer);
            }
        }
        while engine.ledger().arrivals.next() <= engine.ledger().now {
            if let Some(position) = engine.ledger().arrivals.first() {
                jobs::arrive(engine, engine.ledger().positions.task(position));
            }
        }
        requests::ask(engine);
        while let Some(visit) = engine.visit() {
            requests::receive(engine, visit);
        }
    }
    if engine.ledger().events > before {
        decide(engine);
        return true;
    }
    // A request without an event, such as one for a CPU that is online already, still needs its
    // answer.
    if !engine.ledger().asked.is_empty() {
        requests::grant(engine);
    }
    false
}

#[inline]
fn fire(engine: &mut impl Engine, timer: usize) {
    let id = TimerId(timer as u32);
    let due = engine.ledger().timers.next();
    engine.ledger_mut().timers.clear(timer);
    engine.fired(id, due);
    tell(engine, Event::Timer { id });
}

/// An event that is due, during exploration.
enum Due {
    Timer(usize),
    Arrival(usize),
}

/// Delivers a random batch of the events that are due, in random order; the rest waits for another
/// round. If a job ends in this round and the next one of its thread has already arrived, the next
/// one comes first, and in this round.
#[cold]
fn explore(engine: &mut impl Engine, events_before: u64) {
    let ledger = engine.ledger_mut();
    let now = ledger.now;
    let exploration = ledger.exploration.as_mut().expect("only called while exploring");
    let continuing = std::mem::take(&mut exploration.continuing);
    let mut due = Vec::new();
    let mut at_once = Vec::new();
    while ledger.timers.next() <= now {
        if let Some(timer) = ledger.timers.first() {
            ledger.timers.clear(timer);
            due.push(Due::Timer(timer));
        }
    }
    while ledger.arrivals.next() <= now {
        if let Some(position) = ledger.arrivals.first() {
            ledger.arrivals.clear(position);
            if continuing.contains(&position) {
                at_once.push(position);
            } else {
                due.push(Due::Arrival(position));
            }
        }
    }
    for position in at_once {
        jobs::arrive(engine, engine.ledger().positions.task(position));
    }
    let ledger = engine.ledger_mut();
    // Requests come last in an instant: after all batches of timers and arrivals.
    if due.is_empty() {
        requests::ask(engine);
        while let Some(visit) = engine.visit() {
            requests::receive(engine, visit);
        }
        return;
    }
    let exploration = ledger.exploration.as_mut().expect("only called while exploring");
    exploration.random.shuffle(&mut due);
    let in_batches = exploration.in_batches;
    let batch = if in_batches {
        // A round must deliver at least one event, or it would achieve nothing.
        let least = i64::from(ledger.events == events_before);
        exploration.random.between(least, due.len() as i64) as usize
    } else {
        due.len()
    };
    for left in due.drain(batch..) {
        match left {
            Due::Timer(timer) => ledger.timers.set(timer, now),
            Due::Arrival(position) => ledger.arrivals.set(position, now),
        }
    }
    for one in due {
        match one {
            Due::Timer(timer) => {
                let id = TimerId(timer as u32);
                engine.fired(id, now);
                tell(engine, Event::Timer { id });
            }
            Due::Arrival(position) => {
                jobs::arrive(engine, engine.ledger().positions.task(position))
            }
        }
    }
    if !in_batches {
        requests::ask(engine);
        while let Some(visit) = engine.visit() {
            requests::receive(engine, visit);
        }
    }
}

/// Requests a decision of the policy, and carries it out.
// Inlined where nearly every round decides, and once more where a run begins.
#[inline(always)]
fn decide(engine: &mut impl Engine) {
    engine.tell_measured();
    engine.ledger_mut().decisions += 1;
    // Take the buffer out of the ledger while the engine carries out the actions, and reuse its
    // memory.
    let mut actions = std::mem::take(&mut engine.ledger_mut().actions);
    engine.consult(&mut actions);
    for action in &actions {
        act(engine, action);
    }
    actions.clear();
    engine.ledger_mut().actions = actions;
    engine.enact();
    if !engine.ledger().asked.is_empty() {
        requests::grant(engine);
    }
}

#[inline]
fn act(engine: &mut impl Engine, action: &Action) {
    // Handle `Run` first: nearly every action is a `Run`, and a jump table predicts worse than one
    // branch.
    if let Action::Run { cpu, job, budget } = *action {
        engine.decided(action);
        let ledger = engine.ledger();
        assert!(
            ledger.tasks[job.task].is_ready(job) && ledger.online[cpu],
            "the policy runs {job:?}, which is not ready, on {cpu:?}"
        );
        engine.run(cpu, job, budget);
    } else {
        act_otherwise(engine, action);
    }
}

#[inline(never)]
fn act_otherwise(engine: &mut impl Engine, action: &Action) {
    engine.decided(action);
    match *action {
        Action::Run { .. } => unreachable!("it has been carried out"),
        Action::Idle { cpu } => engine.idle(cpu),
        Action::SetTimer { id, at } => {
            let ledger = engine.ledger_mut();
            ledger.timers.grow(id.0 as usize + 1);
            ledger.timers.set(id.0 as usize, at.max(ledger.now));
        }
        Action::ClearTimer { id } => {
            let ledger = engine.ledger_mut();
            ledger.timers.grow(id.0 as usize + 1);
            ledger.timers.clear(id.0 as usize);
        }
        Action::Abort { job } => {
            assert!(
                engine.ledger().tasks[job.task].is_ready(job),
                "the policy aborts {job:?}, which is not ready"
            );
            jobs::stop(engine, job.task, JobEnd::Aborted);
        }
        Action::Grant { job, resource } => steps::grant(engine, job, resource),
        Action::EndJob { job, used_up } => end_job(engine, job, used_up),
        Action::SetDates { job, release, deadline } => set_dates(engine, job, release, deadline),
        Action::SetSpeed { cpu, speed } => engine.set_speed(cpu, speed),
        // It reports an internal event, and requests nothing.
        Action::Note { .. } => {}
        Action::Refuse { request, ref reason } => requests::refuse(engine, request, reason.clone()),
    }
}

/// Ends the ready job of a hog, whose work the policy cuts into jobs; the next job is then ready.
fn end_job(engine: &mut impl Engine, job: JobId, used_up: bool) {
    let task = &engine.ledger().tasks[job.task];
    // A hog that leaves in this instant has already been removed, but its last job may still end.
    assert!(
        task.endless && task.job.id == job && task.status != Status::Idle,
        "the policy ends {job:?}, which is not the ready job of a hog"
    );
    engine.cut(job.task, if used_up { JobEnd::Completed } else { JobEnd::Aborted });
    let task = &mut engine.ledger_mut().tasks[job.task];
    task.job.id.seq += 1;
    task.demand = ENDLESS;
    task.dated = false;
}

fn set_dates(engine: &mut impl Engine, job: JobId, release: Time, deadline: Time) {
    let task = &mut engine.ledger_mut().tasks[job.task];
    assert!(task.is_ready(job), "the policy dates {job:?}, which is not ready");
    task.job.deadline = deadline;
    if task.endless {
        (task.job.arrival, task.job.release) = (release, release);
        if !std::mem::replace(&mut task.dated, true) {
            engine.dated(job.task);
        }
    }
}
