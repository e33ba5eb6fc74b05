//! Steps: jobs that lock resources and suspend themselves ([`Step`]).
//!
//! An engine knows only stretches of work, from one step to the next. It is told how long they are
//! ([`Engine::stretch`]), and tells when a running job has done one ([`reach`]). Which job holds what, which one
//! suspends itself until when, and what the policy hears of it is kept here.
//!
//! The order of an instant: at the end of a stretch a job gives back what it holds, suspends itself or ends at once. It
//! asks for a resource in a later round, if it holds its CPU still. Otherwise a job that gives back a resource and asks
//! for the next one at the same instant is a step ahead of a job of higher priority that has just become ready.
//!
//! A job whose suspension ends, and that neither executes nor locks anything after it, needs no CPU: it goes on at
//! once, before the releases of the instant. Bounds take the end of its last step for the end of a job, and count what
//! is released before that. If it had to be selected once more, only to end, it would wait for jobs released just then.

use crate::places::{Doing, Place, Steps};
use crate::tell::tell;
use crate::{Engine, Ledger, jobs};
use layland_model::{CpuId, Duration, JobId, ResourceId, Service, Step, TaskId, Time};
use layland_policy::{Event, Policy, State, StepEvent};

/// What a job does that has come to the end of a stretch of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It goes on with a stretch of which the engine [has been told](Engine::stretch).
    Next,
    /// It asks for a resource in the next round of the instant, in which [`reach`] is called again, if it still holds
    /// its CPU.
    Due,
    /// It holds its CPU without progress, until it is granted what it has asked for.
    Waits,
    /// It suspends itself, and is off its CPU.
    Suspended,
    /// It is over.
    Ends,
}

impl<P: Policy, T> Ledger<P, T> {
    /// Whether the jobs of a task have steps.
    pub fn has_steps(&self, id: TaskId) -> bool {
        self.steps.is_some() && self.streams[id].task().steps.is_some()
    }

    /// Saves where the jobs of tasks with steps are, for finding out whether a state recurs.
    pub fn save_steps(&self, state: &mut State) {
        let Some(steps) = &self.steps else { return };
        for (id, place) in steps.places.iter() {
            let job = &self.tasks[id];
            if job.status == crate::Status::Ready && self.has_steps(id) {
                state.number(place.at as i64);
                state.number(place.doing as i64);
                let mut resumes = steps.resumes.clone();
                while resumes.next() != Time::NEVER {
                    let Some(position) = resumes.first() else { break };
                    if position == job.position as usize {
                        state.time(resumes.next(), self.now);
                    }
                    resumes.clear(position);
                }
            }
        }
        for holder in steps.holders.values() {
            state.number(holder.map_or(-1, |task| i64::from(task.0)));
        }
    }
}

/// The ready job of a task begins its steps.
#[cold]
pub(crate) fn begin(engine: &mut impl Engine, id: TaskId) {
    if !engine.ledger().has_steps(id) {
        return;
    }
    *place(engine, id) = Place { at: 0, doing: Doing::Runs, upto: Service::ZERO };
    settle(engine, id);
}

/// Jobs that have suspended themselves until now are ready again; those that need no CPU any more go on at once.
#[cold]
pub(crate) fn resume(engine: &mut impl Engine) {
    loop {
        let now = engine.ledger().now;
        let Some(steps) = &mut engine.ledger_mut().steps else { return };
        if steps.resumes.next() > now {
            return;
        }
        let Some(position) = steps.resumes.first() else { return };
        steps.resumes.clear(position);
        let id = engine.ledger().positions.task(position);
        place(engine, id).at += 1;
        let job = engine.ledger().tasks[id].job.id;
        if needs_cpu(engine, id) {
            settle(engine, id);
            tell(engine, Event::Step { job, step: StepEvent::Resumes });
            continue;
        }
        tell(engine, Event::Step { job, step: StepEvent::Resumes });
        let now_at = *place(engine, id);
        match proceed(engine, None, id, now_at) {
            Reached::Ends => {
                jobs::complete(engine, id);
                tell(engine, Event::Ended { job });
            }
            Reached::Suspended => {}
            Reached::Next | Reached::Due | Reached::Waits => unreachable!("{job:?} needs no CPU"),
        }
    }
}

/// True if the ready job of a task executes or locks something from its step on.
fn needs_cpu(engine: &mut impl Engine, id: TaskId) -> bool {
    let Place { at, mut upto, .. } = *place(engine, id);
    engine.ledger().streams[id].task().steps()[at..].iter().any(|step| match *step {
        // A job that needs less than its WCET may have nothing left for its last steps.
        Step::Run(length) => {
            let work = work_of(engine, id, upto, length);
            upto += length;
            work.stretch > 0
        }
        Step::Lock(_) => true,
        Step::Unlock(_) | Step::Suspend(_) => false,
    })
}

/// A job gets what it has asked for.
#[cold]
pub(crate) fn grant(engine: &mut impl Engine, job: JobId, resource: ResourceId) {
    let id = job.task;
    assert!(
        engine.ledger().tasks[id].is_ready(job),
        "the policy grants {job:?}, which is not ready"
    );
    let Place { at, doing, .. } = *place(engine, id);
    let asked = Step::Lock(resource);
    assert!(
        doing == Doing::Waits && engine.ledger().streams[id].task().steps().get(at) == Some(&asked),
        "the policy grants {job:?} {resource:?}, for which it has not asked"
    );
    let holder = &mut steps(engine).holders[resource];
    assert!(
        holder.is_none(),
        "the policy grants {resource:?} to {job:?}, and another job holds it"
    );
    *holder = Some(id);
    place(engine, id).at += 1;
    settle(engine, id);
}

/// The ready job of a task is over: it holds nothing, and does not suspend itself.
#[cold]
pub(crate) fn end<P: Policy, T>(ledger: &mut Ledger<P, T>, id: TaskId) {
    let position = ledger.tasks[id].position as usize;
    if let Some(steps) = &mut ledger.steps
        && steps.places.get(id).is_some()
    {
        steps.resumes.clear(position);
        for holder in steps.holders.values_mut() {
            holder.take_if(|&mut holder| holder == id);
        }
    }
}

/// The job of a task with steps has done its stretch of work on the CPU that it holds; or it holds that in another
/// round than the one in which it did, and something [is due](Reached::Due).
pub fn reach(engine: &mut impl Engine, cpu: CpuId, id: TaskId) -> Reached {
    let job = engine.ledger().tasks[id].job.id;
    let mut now_at = *place(engine, id);
    match now_at.doing {
        Doing::Runs => now_at.at += 1,
        Doing::Waits => return Reached::Waits,
        Doing::IsDue => {
            let step = engine.ledger().streams[id].task().steps().get(now_at.at).copied();
            if let Some(Step::Lock(resource)) = step {
                place(engine, id).doing = Doing::Waits;
                tell(engine, Event::Step { job, step: StepEvent::Requests { resource, cpu } });
                return Reached::Waits;
            }
        }
        Doing::Suspends => unreachable!("{job:?} runs, and suspends itself"),
    }
    proceed(engine, Some(cpu), id, now_at)
}

/// A job does all that needs no processor time from a step on; on no CPU, if it needs none any more.
fn proceed(engine: &mut impl Engine, cpu: Option<CpuId>, id: TaskId, mut now_at: Place) -> Reached {
    let job = engine.ledger().tasks[id].job.id;
    loop {
        let step = engine.ledger().streams[id].task().steps().get(now_at.at).copied();
        match step {
            None => return Reached::Ends,
            Some(Step::Run(length)) => {
                let work = work_of(engine, id, now_at.upto, length);
                now_at.upto += length;
                if work.stretch > 0 {
                    now_at.doing = Doing::Runs;
                    *place(engine, id) = now_at;
                    engine.stretch(id, work.stretch, work.after);
                    return Reached::Next;
                }
            }
            Some(Step::Lock(_)) => {
                now_at.doing = Doing::IsDue;
                *place(engine, id) = now_at;
                return Reached::Due;
            }
            Some(Step::Unlock(resource)) => {
                steps(engine).holders[resource] = None;
                tell(engine, Event::Step { job, step: StepEvent::Unlocks { resource, cpu } });
            }
            Some(Step::Suspend(Duration::ZERO)) => {}
            Some(Step::Suspend(length)) => {
                now_at.doing = Doing::Suspends;
                *place(engine, id) = now_at;
                let (now, position) = (engine.ledger().now, engine.ledger().tasks[id].position);
                steps(engine).resumes.set(position as usize, now.saturating_add(length));
                engine.withdraw(id);
                tell(engine, Event::Step { job, step: StepEvent::Suspends { cpu } });
                return Reached::Suspended;
            }
        }
        now_at.at += 1;
    }
}

/// Says how far a job can execute that has come to another step without its CPU.
fn settle(engine: &mut impl Engine, id: TaskId) {
    let mut now_at = *place(engine, id);
    let mut work = work_of(engine, id, now_at.upto, Service::ZERO);
    now_at.doing = Doing::IsDue;
    while let Some(&Step::Run(length)) = engine.ledger().streams[id].task().steps().get(now_at.at) {
        work = work_of(engine, id, now_at.upto, length);
        now_at.upto += length;
        if work.stretch > 0 {
            now_at.doing = Doing::Runs;
            break;
        }
        now_at.at += 1;
    }
    *place(engine, id) = now_at;
    engine.stretch(id, work.stretch, work.after);
}

/// Parts of what a job executes, in the unit of the engine.
struct Work {
    stretch: i64,
    after: i64,
}

/// What a job executes in a step, and after it: whole nanoseconds of work, rounded up at the end of each step.
fn work_of(engine: &impl Engine, id: TaskId, before: Service, length: Service) -> Work {
    let (demand, unit) = (engine.ledger().tasks[id].demand, engine.amount(Service::from_ns(1)));
    let whole = i128::from(engine.ledger().streams[id].task().own_wcet().ns());
    let upto = |executed: Service| {
        let exact = i128::from(executed.ns()) * i128::from(demand / unit);
        ((exact + whole - 1) / whole) as i64 * unit
    };
    let (begin, end) = (upto(before), upto(before + length));
    Work { stretch: end - begin, after: demand - end }
}

fn steps<E: Engine>(engine: &mut E) -> &mut Steps {
    engine.ledger_mut().steps.as_mut().expect("a task has steps")
}

fn place<E: Engine>(engine: &mut E, id: TaskId) -> &mut Place {
    &mut steps(engine).places[id]
}
