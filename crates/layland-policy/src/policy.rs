//! The boundary between policies and engines: [`Policy`], [`Event`], [`Action`].

use crate::refusal::Refusal;
use crate::state::State;
use layland_model::{
    Change, CpuId, CpuSet, JobId, Note, ResourceId, ScheduleRule, Service, Speed, Task, TaskId,
    Time,
};
use std::sync::Arc;

/// Names a timer of a policy; the policy chooses the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TimerId(pub u32);

/// Names a request, so that it can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestId(pub u32);

/// What the thread does at the end of a job. Policies that schedule jobs and not threads need not
/// look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum AfterJob {
    /// It sleeps until the `Release` of its next job.
    Blocks,
    /// Its next job is ready already: the thread runs on without blocking. The `Release` of that
    /// job follows in the same instant.
    Continues,
    /// It gives up the rest of its budget, then sleeps or continues.
    Yields,
}

/// Something that happened, told to a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A task asks to enter. The policy may know it from its construction, or see it for the
    /// first time.
    Join {
        /// The task.
        task: TaskId,
        /// Its parameters.
        parameters: Arc<Task>,
        /// To refuse it.
        request: RequestId,
    },
    /// A task has left. If a job of it was ready, it is no longer, and the CPU that ran it runs
    /// nothing.
    Leave {
        /// The task.
        task: TaskId,
    },
    /// A task asks for other parameters, another affinity or another cluster.
    Reconfigure {
        /// The task.
        task: TaskId,
        /// What it asks for.
        change: Change,
        /// To refuse it.
        request: RequestId,
    },
    /// A cluster is to get other CPUs.
    SetClusterCpus {
        /// Index of the cluster.
        cluster: usize,
        /// Its CPUs from now on.
        cpus: CpuSet,
        /// To refuse it.
        request: RequestId,
    },
    /// A job has arrived; its predecessor may still be pending. The `Release` of the job follows, at once
    /// or when its predecessor has ended. Only a policy that schedules
    /// [arriving jobs](Schedules::ArrivingJobs) gets this event.
    Arrival {
        /// The job.
        job: JobId,
        /// When it could have run first, had its predecessor ended.
        release: Time,
        /// Its absolute deadline.
        deadline: Time,
    },
    /// What a ready job has got in all, from an engine that measures it; of a hog, what it has got since
    /// it entered. Only a policy that schedules [arriving jobs](Schedules::ArrivingJobs) or
    /// [threads](Schedules::Threads), or that asks for it ([`Progress::Measured`]), gets this event.
    Measured {
        /// The job.
        job: JobId,
        /// The processor time that it has got.
        executed: Service,
    },
    /// A job is ready: it has arrived, and its predecessor is completed.
    Release {
        /// The job.
        job: JobId,
        /// When it could have run first; before `now` if its predecessor was late.
        release: Time,
        /// Its absolute deadline.
        deadline: Time,
    },
    /// The running job signals its end; its CPU runs nothing.
    Completion {
        /// The job.
        job: JobId,
        /// The CPU that ran it.
        cpu: CpuId,
        /// What its thread does next.
        then: AfterJob,
    },
    /// A ready job is over, and no CPU signals it. Either its engine gave it up at its deadline
    /// ([`OnMiss::Abort`](layland_model::OnMiss)), and a CPU that ran it runs nothing; or it is on no CPU and has
    /// completed all the same: it got the last of its work while it was being preempted, or its last step was to
    /// suspend itself. To the policy these mean that the job is there no longer. What is left of a budget is left, and
    /// the thread of the job sleeps until the next `Release` of its task, which may follow in the same instant.
    Ended {
        /// The job.
        job: JobId,
    },
    /// The running job used the processor time that `Run` granted, and has not completed. It goes
    /// on holding its CPU until the policy decides otherwise.
    BudgetExhausted {
        /// The job.
        job: JobId,
        /// The CPU that runs it.
        cpu: CpuId,
    },
    /// A job has come to one of its [steps](layland_model::Step). Only a policy that
    /// [follows steps](crate::PolicyInfo::following_steps) gets this event.
    Step {
        /// The job.
        job: JobId,
        /// What it does.
        step: StepEvent,
    },
    /// A point in time that the policy asked for has come. The timer is no longer set.
    Timer {
        /// The timer.
        id: TimerId,
    },
    /// A CPU can be used.
    CpuOnline {
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU can no longer be used, and runs nothing. The job that it ran is still ready.
    CpuOffline {
        /// The CPU.
        cpu: CpuId,
    },
}

/// What a job does besides executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum StepEvent {
    /// The running job asks for a resource. It goes on holding its CPU and makes no progress, until the policy
    /// [grants](Action::Grant) it: where it is left on its CPU it spins, and where it is taken off it waits.
    Requests {
        /// What it asks for.
        resource: ResourceId,
        /// The CPU that runs it.
        cpu: CpuId,
    },
    /// A job gives back what it holds. On its CPU it goes on running.
    Unlocks {
        /// What it held.
        resource: ResourceId,
        /// The CPU that runs it; none of a job that has just resumed and needs no processor time any more.
        cpu: Option<CpuId>,
    },
    /// A job suspends itself; its CPU runs nothing.
    Suspends {
        /// The CPU that ran it; none of a job that has just resumed and needs no processor time any more.
        cpu: Option<CpuId>,
    },
    /// A job that suspended itself is ready again. If it neither executes nor locks anything from here on, it does the
    /// rest of its steps at once, and may have [ended](Event::Ended) in the same round.
    Resumes,
}

/// Something that a policy wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// From now on `cpu` runs `job`.
    Run {
        /// The CPU.
        cpu: CpuId,
        /// The job, which must be ready.
        job: JobId,
        /// At most this much processor time (at the speed of the CPU, with what the engine itself
        /// spends on it) until `BudgetExhausted`, counted from now; unlimited if `None`. A new `Run`
        /// of the same job replaces the budget.
        budget: Option<Service>,
    },
    /// From now on `cpu` runs nothing.
    Idle {
        /// The CPU.
        cpu: CpuId,
    },
    /// The job holds from now on what it has asked for, and makes progress again where it runs.
    Grant {
        /// The job.
        job: JobId,
        /// What it asked for.
        resource: ResourceId,
    },
    /// Asks for `Timer { id }` at `at`, in place of any earlier setting of this timer.
    SetTimer {
        /// The timer.
        id: TimerId,
        /// When; not before `now`.
        at: Time,
    },
    /// Takes back a timer.
    ClearTimer {
        /// The timer.
        id: TimerId,
    },
    /// Gives up a job that is ready. A CPU that runs it runs nothing from now on.
    Abort {
        /// The job.
        job: JobId,
    },
    /// Ends the ready job of a hog whose thread this policy schedules: from now on the ready job is the
    /// next one, `seq + 1`.
    EndJob {
        /// The job.
        job: JobId,
        /// Whether its budget is used up. Otherwise its deadline has passed before that, and the server starts
        /// anew: the job is given up.
        used_up: bool,
    },
    /// Gives the ready job of a hog or of a thread that suspends itself the dates of its server. The
    /// job of a hog is released by the first of these.
    SetDates {
        /// The job.
        job: JobId,
        /// Its release; counts for hogs only.
        release: Time,
        /// Its absolute deadline.
        deadline: Time,
    },
    /// From now on a CPU has this speed. If it runs a job with a budget, a `Run` that grants the budget
    /// anew follows in the same decision.
    SetSpeed {
        /// The CPU.
        cpu: CpuId,
        /// Its speed.
        speed: Speed,
    },
    /// Says what went on inside, for the trace. Has no effect.
    Note {
        /// What.
        note: Note,
    },
    /// Refuses a request: it has no effect.
    Refuse {
        /// The request.
        request: RequestId,
        /// Why.
        reason: Refusal,
    },
}

/// A scheduling policy: a deterministic state machine from events to actions.
///
/// Every method is required, also where an empty answer is common: a policy around another one that forgot to
/// forward a method would get an empty answer in silence, and change what the engine does.
///
/// # The contract
///
/// An engine promises:
///
/// 1. `now` never decreases. All events of one instant come before its `decide`; after the actions
///    of a `decide` are carried out, the same instant may have a further round of events and
///    another `decide` (a job with nothing to execute completes at once; a timer was set for now).
/// 2. Within a round, events come in this order: `Completion`, `BudgetExhausted` and `Step` by CPU;
///    `Ended` of jobs that have completed; `Step` of jobs that resume, with the `Ended` of those that need no
///    processor time any more; `Ended` of jobs that are given up, each of these by the rank and id of the
///    task; `Timer` by id; `Join`, `Arrival` and `Release` by the rank and id of the task; then requests
///    (`Leave`, `Reconfigure`, `SetClusterCpus`, `CpuOnline`, `CpuOffline`) in their order; then `Measured`.
///    A policy may rely on this order only for its tie-breaks, never for its correctness: real
///    engines approximate it.
/// 3. Before anything else, every CPU that can be used comes online.
/// 4. A task joins before its first release. It has at most one ready job at any time: the next
///    `Release` comes when the job before it has completed, has ended or was aborted. Sequence numbers ascend.
///    A task that joins with the id of one that has left is a new task, whose sequence numbers go on; its
///    `Join` comes after the decision that followed the `Leave`. The job of a task that follows others is released
///    when also the jobs of its number of all of these have completed; if that is now, in the round of the last
///    `Completion`. Only a policy that [takes followers](crate::PolicyInfo::taking_followers) is driven with such
///    tasks.
/// 5. No event carries an execution time to come. If budget and job end together, only the completion is
///    reported.
/// 6. A request that the next `decide` does not refuse is granted; its effect on later releases is
///    the engine's business (new parameters count from the next job on).
/// 7. To a policy that schedules [threads](Schedules::Threads), the work of a hog is one job
///    that never completes; the policy cuts it into jobs with `EndJob`. Where a job ends and the next
///    one is there already (`Continues`, or `Yields` with a late job), the `Release` of that one
///    follows in the same instant, and the thread goes on with what is left of its budget.
/// 8. A policy that schedules [arriving jobs](Schedules::ArrivingJobs) hears of every job when it
///    arrives. If its predecessor has ended, the `Release` follows in the same round; if the predecessor ends by a
///    completion, an end or an abort, in the same instant. Where a job has got less or more than the time since
///    its `Run` when it loses its CPU (overheads of a real machine), an engine may say so with
///    `Measured`, before the job can run again.
/// 9. A policy that schedules threads is told the same, and also just before each `Completion` and
///    `BudgetExhausted` of a job and before the `Ended` of one that has completed, and when a job holds its
///    CPU for longer than its budget because it did not get all of that time: so the budget that it has left
///    is what the thread has not got.
/// 10. What the last `Run` or `Idle` said for a CPU stays true until the next one, except that a CPU
///     runs nothing after a completion, an end, an abort, a suspension or a leave of its job, and while it is offline.
/// 11. A job completes only if it has run or suspended itself. Where decisions take effect after their time, a job
///     may complete between the decision that preempts it and the moment at which it loses its CPU: this is an
///     `Ended`, told in a later round. If the policy runs the job again before it is told, the CPU signals a
///     `Completion` at once.
/// 12. Only a policy that [follows steps](crate::PolicyInfo::following_steps) is driven with tasks that have some, and
///     hears of them. A job asks for a resource while it holds its CPU, and not in the round in which it has come to
///     that step: if anything else happens at that instant, a decision comes between. It asks once, however long it
///     waits.
///
/// A policy promises:
///
/// 1. `on_event` absorbs and decides nothing.
/// 2. After `decide`, no job is on two CPUs and every job that runs is ready. Intermediate states
///    within one batch of actions do not count: a job may be moved by `Run` on its new CPU before
///    another `Run` or `Idle` on the old one.
/// 3. It says only what changes: a CPU without an action goes on with what it runs.
/// 4. The same events give the same actions, always; a clone behaves like the original.
/// 5. It grants a job only what that has asked for and nobody holds.
///
/// ```
/// use layland_model::{CpuId, Duration, JobId, Service, System, Task, TaskId, Time};
/// use layland_policy::{Action, Event, Registry, RequestId};
/// # use std::sync::Arc;
/// let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
/// let system = System::new(1, vec![task.clone()]);
/// let mut policy = Registry::standard().build("g-edf", &system).unwrap();
/// let (a, job) = (TaskId(0), JobId { task: TaskId(0), seq: 0 });
/// policy.on_event(Time::ZERO, Event::CpuOnline { cpu: CpuId(0) });
/// policy.on_event(
///     Time::ZERO,
///     Event::Join { task: a, parameters: Arc::new(task), request: RequestId(0) },
/// );
/// policy.on_event(
///     Time::ZERO,
///     Event::Release { job, release: Time::ZERO, deadline: Time::from_ms(5) },
/// );
/// let mut actions = Vec::new();
/// policy.decide(Time::ZERO, &mut actions);
/// assert_eq!(actions, [Action::Run { cpu: CpuId(0), job, budget: None }]);
/// ```
pub trait Policy: ClonePolicy + Send {
    /// Absorbs one event. Decides nothing.
    fn on_event(&mut self, now: Time, event: Event);

    /// Decides, once per instant, after every event of that instant.
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>);

    /// Writes all that its future decisions depend on, in a form that does not change when every
    /// event so far is moved in time: two instants with the same state and the same future events
    /// have the same future decisions.
    fn save(&self, now: Time, state: &mut State);

    /// What it needs of its engine. The answer is the same throughout its life.
    fn needs(&self) -> Needs;

    /// What it promises of every schedule that it makes; [`ScheduleRule::None`] if it promises nothing
    /// that the trace checker could hold it to.
    fn rule(&self) -> ScheduleRule;

    /// What it counted of itself since its start, for statistics; empty if it counts nothing. No decision
    /// depends on it.
    fn counts(&self) -> Vec<Count>;
}

/// What a policy needs of the engine that drives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// What it schedules: this decides which events it gets.
    pub schedules: Schedules,
    /// Who decides how fast the CPUs are.
    pub speeds: Speeds,
    /// How it knows what jobs have got.
    pub progress: Progress,
}

impl Needs {
    /// Jobs that are ready, on CPUs as fast as the platform says: what most policies need.
    pub const READY_JOBS: Needs = Needs {
        schedules: Schedules::ReadyJobs,
        speeds: Speeds::Fixed,
        progress: Progress::Elapsed,
    };
}

/// How a policy knows what jobs have got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// From the time that passes while they run; and as [`Schedules`] says from what it is told when they lose
    /// their CPUs.
    Elapsed,
    /// An engine that measures tells it before every decision, of each job that has run since the last one
    /// ([`Event::Measured`]). From an engine that does not, it hears nothing, and time is what jobs get.
    Measured,
}

/// What a policy schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// Jobs, of which it hears when they are ready.
    ReadyJobs,
    /// Jobs, of which it hears when they arrive, even if their predecessors are pending.
    ArrivingJobs,
    /// Threads, by budgets of its own: the jobs of a hog are its budgets, and those of a thread that
    /// suspends itself are due when its server is.
    Threads,
}

/// Who decides how fast the CPUs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speeds {
    /// The platform: each CPU keeps the speed that it has.
    Fixed,
    /// The policy, with [`Action::SetSpeed`]. An engine whose CPUs have one speed refuses it.
    SetByPolicy,
}

/// How often something happened inside a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// What.
    pub name: &'static str,
    /// How often.
    pub count: u64,
}

/// Lets a boxed policy be cloned. Implemented for every policy that is [`Clone`].
pub trait ClonePolicy {
    /// A copy that behaves the same.
    fn clone_policy(&self) -> Box<dyn Policy>;
}

impl<P: Policy + Clone + 'static> ClonePolicy for P {
    fn clone_policy(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Policy> {
    fn clone(&self) -> Self {
        (**self).clone_policy()
    }
}

impl Policy for Box<dyn Policy> {
    fn on_event(&mut self, now: Time, event: Event) {
        (**self).on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        (**self).decide(now, actions);
    }
    fn save(&self, now: Time, state: &mut State) {
        (**self).save(now, state);
    }
    fn needs(&self) -> Needs {
        (**self).needs()
    }
    fn rule(&self) -> ScheduleRule {
        (**self).rule()
    }
    fn counts(&self) -> Vec<Count> {
        (**self).counts()
    }
}
