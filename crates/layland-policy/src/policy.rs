//! The boundary between policies and engines: [`Policy`], [`Event`], [`Action`].
//!
//! Long because the events, the actions and their contract are read together.

use crate::FixedOrder;
use crate::refusal::Refusal;
use crate::state::State;
use layland_model::{
    Change, CpuId, CpuSet, Duration, JobId, Note, ResourceId, ScheduleRule, Service, Speed, Task,
    TaskId, Time,
};
use std::sync::Arc;

/// Identifies a timer of a policy; the policy chooses the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TimerId(pub u32);

/// Identifies a request, so that the policy can refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestId(pub u32);

/// The behaviour of the thread at the end of a job. Policies that schedule jobs and not threads can
/// ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum AfterJob {
    /// The thread sleeps until the `Release` of its next job.
    Blocks,
    /// The next job is already ready, so the thread runs on without blocking. The `Release` of that
    /// job follows in the same instant.
    Continues,
    /// The thread gives up the rest of its budget, then sleeps or continues.
    Yields,
}

/// A notification to a policy: something has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A task asks to enter. The policy may know the task from its construction or see it for the
    /// first time.
    Join {
        /// The task.
        task: TaskId,
        /// Its parameters.
        parameters: Arc<Task>,
        /// Identifies the request if the policy refuses it.
        request: RequestId,
    },
    /// A task has left. A ready job of the task is dropped, and the CPU that ran it becomes idle.
    Leave {
        /// The task.
        task: TaskId,
    },
    /// A task asks for other parameters, another affinity or another cluster.
    Reconfigure {
        /// The task.
        task: TaskId,
        /// The requested change.
        change: Change,
        /// Identifies the request if the policy refuses it.
        request: RequestId,
    },
    /// A cluster is about to get other CPUs.
    SetClusterCpus {
        /// Index of the cluster.
        cluster: usize,
        /// Its CPUs from now on.
        cpus: CpuSet,
        /// Identifies the request if the policy refuses it.
        request: RequestId,
    },
    /// A job has arrived; its predecessor may still be pending. The `Release` of the job follows,
    /// either at once or when its predecessor has ended. Only a policy that schedules [arriving
    /// jobs](Schedules::ArrivingJobs) gets this event.
    Arrival {
        /// The job.
        job: JobId,
        /// The earliest time at which the job could have run, had its predecessor ended.
        release: Time,
        /// Its absolute deadline.
        deadline: Time,
    },
    /// The total processor time that a ready job has received, as measured by the engine; for a
    /// hog, the time since it entered. Only a policy that schedules [arriving
    /// jobs](Schedules::ArrivingJobs) or [threads](Schedules::Threads), or that asks for
    /// measurements ([`Progress::Measured`]), gets this event.
    Measured {
        /// The job.
        job: JobId,
        /// The processor time that the job has received.
        executed: Service,
    },
    /// A job is ready: it has arrived, and its predecessor has completed.
    Release {
        /// The job.
        job: JobId,
        /// The earliest time at which the job could have run; before `now` if its predecessor was
        /// late.
        release: Time,
        /// Its absolute deadline.
        deadline: Time,
    },
    /// The running job signals its end, and its CPU becomes idle.
    Completion {
        /// The job.
        job: JobId,
        /// The CPU that ran it.
        cpu: CpuId,
        /// The next action of its thread.
        then: AfterJob,
    },
    /// A ready job is over, and no CPU signals its end. There are two cases. Either the engine
    /// aborted the job at its deadline ([`OnMiss::Abort`](layland_model::OnMiss)), and a CPU that
    /// ran it becomes idle. Or the job is on no CPU and has completed nevertheless: it got the last
    /// of its work while it was being preempted, or its last step was to suspend itself. The policy
    /// treats both cases alike: the job no longer exists. An unused budget remains, and the thread
    /// of the job sleeps until the next `Release` of its task, which may follow in the same
    /// instant.
    Ended {
        /// The job.
        job: JobId,
    },
    /// The running job has used the processor time that `Run` granted, and has not completed. It
    /// keeps its CPU until the policy decides otherwise.
    BudgetExhausted {
        /// The job.
        job: JobId,
        /// The CPU that runs it.
        cpu: CpuId,
    },
    /// A job has reached one of its [steps](layland_model::Step). Only a policy that [follows
    /// steps](crate::PolicyInfo::following_steps) gets this event.
    Step {
        /// The job.
        job: JobId,
        /// The kind of step.
        step: StepEvent,
    },
    /// A timer that the policy set has expired. The timer is no longer set.
    Timer {
        /// The timer.
        id: TimerId,
    },
    /// A CPU has become available.
    CpuOnline {
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU is no longer available, and runs nothing. The job that it ran is still ready.
    CpuOffline {
        /// The CPU.
        cpu: CpuId,
    },
}

/// An operation of a job other than executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum StepEvent {
    /// The running job requests a resource. It keeps its CPU and makes no progress until the policy
    /// [grants](Action::Grant) the resource. The job spins if the policy leaves it on its CPU, and
    /// waits if the policy takes it off.
    Requests {
        /// The requested resource.
        resource: ResourceId,
        /// The CPU that runs it.
        cpu: CpuId,
    },
    /// A job releases a resource. A job on a CPU continues to run.
    Unlocks {
        /// The released resource.
        resource: ResourceId,
        /// The CPU that runs the job; `None` for a job that has just resumed and needs no more
        /// processor time.
        cpu: Option<CpuId>,
    },
    /// A job suspends itself, and its CPU becomes idle.
    Suspends {
        /// The CPU that ran the job; `None` for a job that has just resumed and needs no more
        /// processor time.
        cpu: Option<CpuId>,
    },
    /// A job that suspended itself is ready again. If it neither executes nor locks anything from
    /// here on, it takes its remaining steps at once, and may have [ended](Event::Ended) in the
    /// same round.
    Resumes,
}

/// An operation that a policy requests from its engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// From now on `cpu` runs `job`.
    Run {
        /// The CPU.
        cpu: CpuId,
        /// The job, which must be ready.
        job: JobId,
        /// The limit on the time for which the job holds the CPU, including what the engine itself
        /// spends there, until `BudgetExhausted`, counted from now; unlimited if `None`. A new
        /// `Run` of the same job replaces the budget. It is a time and no amount of work: on a CPU
        /// of speed 2/3 no whole amount of work ends after 1 ns.
        budget: Option<Duration>,
    },
    /// From now on `cpu` runs nothing.
    Idle {
        /// The CPU.
        cpu: CpuId,
    },
    /// From now on the job holds the resource that it requested, and makes progress again when it
    /// runs.
    Grant {
        /// The job.
        job: JobId,
        /// The requested resource.
        resource: ResourceId,
    },
    /// Requests `Timer { id }` at `at`, and replaces any earlier setting of this timer.
    SetTimer {
        /// The timer.
        id: TimerId,
        /// The time of expiry; not before `now`.
        at: Time,
    },
    /// Cancels a timer.
    ClearTimer {
        /// The timer.
        id: TimerId,
    },
    /// Aborts a ready job. A CPU that runs it becomes idle.
    Abort {
        /// The job.
        job: JobId,
    },
    /// Ends the ready job of a hog whose thread this policy schedules. From now on the ready job is
    /// the next one, `seq + 1`.
    EndJob {
        /// The job.
        job: JobId,
        /// True if the budget of the job is used up. Otherwise the job is aborted: its deadline has
        /// passed first, and the server starts anew.
        used_up: bool,
    },
    /// Gives the dates of a server to the ready job of a hog or of a thread that suspends itself.
    /// The first such action for a job of a hog releases that job.
    SetDates {
        /// The job.
        job: JobId,
        /// The release, which matters for hogs only.
        release: Time,
        /// Its absolute deadline.
        deadline: Time,
    },
    /// Sets the speed of a CPU. If the CPU runs a job with a budget, a `Run` that grants the budget
    /// anew follows in the same decision.
    SetSpeed {
        /// The CPU.
        cpu: CpuId,
        /// Its speed.
        speed: Speed,
    },
    /// Reports an internal event for the trace. Has no effect.
    Note {
        /// The event.
        note: Note,
    },
    /// Refuses a request, which then has no effect.
    Refuse {
        /// The request.
        request: RequestId,
        /// The reason.
        reason: Refusal,
    },
}

/// A scheduling policy: a deterministic state machine from events to actions.
///
/// Every method is required, even those for which an empty answer is common. If there were
/// defaults, a policy that wraps another one and forgot to forward a method would silently give an
/// empty answer, and so change what the engine does.
///
/// # The contract
///
/// An engine promises:
///
/// 1. `now` never decreases. All events of one instant come before its `decide`. After the actions
///    of a `decide` are carried out, the same instant may have a further round of events and
///    another `decide` (a job with nothing to execute completes at once; a timer was set for now).
/// 2. Within a round, events come in this order: `Completion`, `BudgetExhausted` and `Step` by CPU;
///    `Ended` of jobs that have completed; `Step` of jobs that resume, with the `Ended` of those
///    that need no more processor time; `Ended` of jobs that are aborted, each of these by the rank
///    and id of the task; `Timer` by id; `Join`, `Arrival` and `Release` by the rank and id of the
///    task; then requests (`Leave`, `Reconfigure`, `SetClusterCpus`, `CpuOnline`, `CpuOffline`) in
///    their order; then `Measured`. A policy may rely on this order only for its tie-breaks, never
///    for its correctness: real engines approximate it.
/// 3. Every available CPU comes online before any other event.
/// 4. A task joins before its first release. It has at most one ready job at any time: the next
///    `Release` comes when the previous job has completed, has ended or was aborted. Sequence
///    numbers ascend. A task that joins with the id of one that has left is a new task, whose
///    sequence numbers continue those of the old one; its `Join` comes after the decision that
///    followed the `Leave`. A job of a task that follows others is released only when the jobs with
///    the same number of all those tasks have also completed; if that is now, in the round of the
///    last `Completion`. Only a policy that [takes followers](crate::PolicyInfo::taking_followers)
///    is driven with such tasks.
/// 5. No event carries a future execution time. If budget and job end together, only the completion
///    is reported.
/// 6. A request that the next `decide` does not refuse is granted. The engine is responsible for
///    its effect on later releases (new parameters count from the next job on).
/// 7. To a policy that schedules [threads](Schedules::Threads), the work of a hog is one job that
///    never completes; the policy cuts it into jobs with `EndJob`. If a job ends and the next one
///    has already arrived (`Continues`, or `Yields` with a late job), the `Release` of the next job
///    follows in the same instant, and the thread continues with the rest of its budget.
/// 8. A policy that schedules [arriving jobs](Schedules::ArrivingJobs) is notified of every job
///    when it arrives. If its predecessor has ended, the `Release` follows in the same round; if
///    the predecessor ends by a completion, an end or an abort, the `Release` follows in the same
///    instant. If a job that loses its CPU has received less or more than the time since its `Run`
///    (overheads of a real machine), an engine may report the difference with `Measured`, before
///    the job can run again.
/// 9. A policy that schedules threads receives `Measured` in the same case. It also receives
///    `Measured` just before each `Completion` and `BudgetExhausted` of a job, before the `Ended`
///    of one that has completed, and when a job holds its CPU for longer than its budget because it
///    did not receive all of that time. So the remaining budget of a thread is the part that it has
///    not received.
/// 10. The last `Run` or `Idle` for a CPU stays in effect until the next one, except that a CPU
///     runs nothing after a completion, an end, an abort, a suspension or a leave of its job, and
///     while it is offline.
/// 11. A job completes only if it has run or suspended itself. If decisions take effect late, a job
///     may complete between the decision that preempts it and the moment at which it loses its CPU.
///     The engine reports this as an `Ended` in a later round. If the policy runs the job again
///     before that round, the CPU signals a `Completion` at once.
/// 12. Only a policy that [follows steps](crate::PolicyInfo::following_steps) is driven with tasks
///     that have steps, and receives `Step` events. A job requests a resource while it holds its
///     CPU, and not in the round in which it has reached that step: if anything else happens at
///     that instant, a decision comes between. It requests the resource once, however long it
///     waits.
///
/// A policy promises:
///
/// 1. `on_event` absorbs an event and decides nothing.
/// 2. After `decide`, no job is on two CPUs and every job that runs is ready. Intermediate states
///    within one batch of actions do not count: a `Run` may move a job to its new CPU before
///    another `Run` or `Idle` for the old one.
/// 3. It reports only changes: a CPU without an action keeps running its job.
/// 4. The same events always give the same actions; a clone behaves like the original.
/// 5. It grants a job only a resource that the job has requested and that no job holds.
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

    /// Decides once per instant, after every event of that instant.
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>);

    /// The first half of a decision, for an engine that times the two halves apart: brings the state
    /// up to date with the events of this instant, and selects nothing. The engine may call it after
    /// the last event of an instant and just before [`decide`](Self::decide), with the same `now`. The
    /// decision is the same with and without the call, because `decide` does the work that is left.
    ///
    /// RUN updates its tree here, and QPS its hierarchies (Compagnin et al. 2015, Sections IV and
    /// V-B). Other policies have no such half, and neither has a wrapper that forwards nothing.
    fn update(&mut self, _now: Time) {}

    /// Writes everything that future decisions depend on, in a form that does not change when all
    /// events so far are shifted in time. Two instants with the same state and the same future
    /// events have the same future decisions.
    fn save(&self, now: Time, state: &mut State);

    /// Returns the needs of the policy, which stay the same throughout its life.
    fn needs(&self) -> Needs;

    /// Returns the rule that every schedule of this policy obeys; [`ScheduleRule::None`] if it
    /// promises nothing that the trace checker could verify.
    fn rule(&self) -> ScheduleRule;

    /// Returns the counters of the policy since its start, for statistics; empty if it counts
    /// nothing. No decision depends on them.
    fn counts(&self) -> Vec<Count>;

    /// Returns true if it does nothing but this: in each group of its [rule](Self::rule), which is
    /// [`ScheduleRule::HighestFirst`], the jobs of highest priority run, on the CPUs that the
    /// [shell](crate::shell) chooses. The simulator may then compute the schedule without it.
    fn is_highest_first(&self) -> bool {
        false
    }

    /// Returns the fixed priorities by which a kernel can run jobs between its decisions; `None`, also
    /// for a wrapper that forwards nothing, if the policy must be notified of every release at once. The
    /// answer is `Some` always or never.
    fn fixed_order(&self) -> Option<&FixedOrder> {
        None
    }
}

/// The needs of a policy, which its engine must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The things that the policy schedules, which determine the events that it gets.
    pub schedules: Schedules,
    /// The authority over the speeds of the CPUs.
    pub speeds: Speeds,
    /// The source from which the policy knows how much processor time jobs have received.
    pub progress: Progress,
}

impl Needs {
    /// Ready jobs, on CPUs with the speeds of the platform. Most policies need this.
    pub const READY_JOBS: Needs = Needs {
        schedules: Schedules::ReadyJobs,
        speeds: Speeds::Fixed,
        progress: Progress::Elapsed,
    };
}

/// The source from which a policy knows how much processor time jobs have received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The time that passes while jobs run. [`Schedules`] states which policies also receive
    /// measurements when jobs lose their CPUs.
    Elapsed,
    /// Measurements: before every decision, an engine that measures reports each job that has run
    /// since the last decision ([`Event::Measured`]). An engine that does not measure reports
    /// nothing, and the elapsed time counts.
    Measured,
}

/// The things that a policy schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// Jobs, reported to the policy when they are ready.
    ReadyJobs,
    /// Jobs, reported to the policy when they arrive, even if their predecessors are pending.
    ArrivingJobs,
    /// Threads, with budgets of the policy's own. The jobs of a hog are its budgets, and those of a
    /// thread that suspends itself have the deadlines of its server.
    Threads,
}

/// The authority over the speeds of the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speeds {
    /// The platform: each CPU keeps its speed.
    Fixed,
    /// The policy, with [`Action::SetSpeed`]. An engine whose CPUs have only one speed refuses such
    /// a policy.
    SetByPolicy,
}

/// The number of times that something happened inside a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The name of the counter.
    pub name: &'static str,
    /// The number of times.
    pub count: u64,
}

/// Lets a boxed policy be cloned. Implemented for every policy that is [`Clone`].
pub trait ClonePolicy {
    /// Returns a copy that behaves the same.
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
    fn update(&mut self, now: Time) {
        (**self).update(now);
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
    fn is_highest_first(&self) -> bool {
        (**self).is_highest_first()
    }
    fn fixed_order(&self) -> Option<&FixedOrder> {
        (**self).fixed_order()
    }
}
