//! Steps of jobs that lock resources and suspend themselves ([`Step`]).
//!
//! An engine knows only stretches of work, from one step to the next. It receives their lengths
//! ([`Engine::stretch`]), and reports when a running job has completed one ([`reach`]). This module
//! keeps the holders of resources and the suspensions of jobs, and reports the steps to the policy.
//!
//! The order in an instant: at the end of a stretch, a job immediately releases a resource,
//! suspends itself or ends. It requests a resource only in a later round, if it still holds its
//! CPU. Otherwise a job that releases a resource and requests the next one at the same instant
//! would be a step ahead of a job of higher priority that has just become ready.
//!
//! A job whose suspension ends, and that neither executes nor locks anything afterwards, needs no
//! CPU: it continues at once, before the releases of the instant. Bounds take the end of its last
//! step as the end of the job, and count the releases before that end. If the job had to be
//! selected once more, only to end, it would wait for jobs released at that instant.

use crate::places::{Doing, Place, Steps};
use crate::tell::tell;
use crate::{Engine, Ledger, jobs};
use layland_model::{CpuId, Duration, JobId, ResourceId, Service, Step, TaskId, Time};
use layland_policy::{Event, Policy, State, StepEvent};

/// The result for a job that has reached the end of a stretch of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It continues with a stretch whose length the engine [has received](Engine::stretch).
    Next,
    /// It requests a resource in the next round of the instant, in which the engine calls [`reach`]
    /// again, if the job still holds its CPU.
    Due,
    /// It holds its CPU without progress until the policy grants the requested resource.
    Waits,
    /// It suspends itself, and is off its CPU.
    Suspended,
    /// It is over.
    Ends,
}

impl<P: Policy, T> Ledger<P, T> {
    /// Returns true if the jobs of a task have steps.
    pub fn has_steps(&self, id: TaskId) -> bool {
        self.steps.is_some() && self.streams[id].task().steps.is_some()
    }

    /// Saves the progress of jobs of tasks with steps, to find out whether a state recurs.
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

/// Begins the steps of the ready job of a task.
#[cold]
pub(crate) fn begin(engine: &mut impl Engine, id: TaskId) {
    if !engine.ledger().has_steps(id) {
        return;
    }
    *place(engine, id) = Place { at: 0, doing: Doing::Runs, upto: Service::ZERO };
    settle(engine, id);
}

/// Resumes the jobs whose suspensions end now; those that no longer need a CPU continue at once.
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

/// Returns true if the ready job of a task executes or locks something from its step on.
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

/// Grants a job the resource that it has requested.
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

/// Ends the steps of the ready job of a task, which is over: it holds nothing, and does not suspend
/// itself.
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

/// Reports that the job of a task with steps has completed its stretch of work on its CPU, or that
/// it still holds its CPU in a later round and its request [is due](Reached::Due).
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

/// Takes all steps of a job that need no processor time, from one step on. `cpu` is `None` if the
/// job needs no CPU any more.
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
            // A suspension of zero length does not take the job off its CPU.
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

/// Determines the next stretch of work of a job that has reached another step without its CPU.
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

/// Parts of the execution of a job, in the unit of the engine.
struct Work {
    stretch: i64,
    after: i64,
}

/// Returns the work of a job in a step and after it: whole nanoseconds, rounded up at the end of
/// each step.
fn work_of(engine: &impl Engine, id: TaskId, before: Service, length: Service) -> Work {
    let (demand, unit) = (engine.ledger().tasks[id].demand, engine.amount(Service::from_ns(1)));
    let whole = i128::from(engine.ledger().streams[id].task().own_wcet().ns());
    let upto = |executed: Service| {
        // The product of two times does not fit in 64 bits.
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
