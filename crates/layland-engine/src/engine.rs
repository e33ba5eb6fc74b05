//! [`Engine`]: the interface that an engine provides.

use crate::programs::Visit;
use crate::{Asked, Ledger};
use layland_model::{CpuId, Duration, JobId, Service, Speed, TaskId, Time};
use layland_policy::{Action, Event, Policy, Refusal, TimerId};
use layland_trace::{Job, JobEnd};

/// An engine: CPUs, and a place to record events.
///
/// The functions of [`rounds`](crate::rounds) and [`jobs`](crate::jobs) keep the [`Ledger`] and
/// call these methods. There are no defaults: an engine that has nothing to do or to record must
/// say so.
pub trait Engine {
    /// The policy that the engine drives.
    type Policy: Policy;
    /// The data that the engine keeps for each task in addition to the ledger.
    type Task: Default;

    /// Returns the ledger.
    fn ledger(&self) -> &Ledger<Self::Policy, Self::Task>;
    /// Returns the ledger for changes.
    fn ledger_mut(&mut self) -> &mut Ledger<Self::Policy, Self::Task>;

    // The CPUs.

    /// Converts work to the unit of the engine.
    fn amount(&self, work: Service) -> i64;
    /// Reports completed jobs ([`jobs::complete`](crate::jobs::complete)) and used-up budgets to
    /// the policy, by CPU; then completed jobs that are on no CPU ([`Event::Ended`]), by rank.
    fn tell_ends(&mut self);
    /// Returns the next arrival or departure of a program or a CPU, if there is one by now
    /// ([`programs`](crate::programs)).
    fn visit(&mut self) -> Option<Visit>;
    /// Reports measurements to the policy ([`Event::Measured`]), if the engine measures and the
    /// policy needs them.
    fn tell_measured(&mut self);
    /// Passes an event to the policy: `policy.on_event(now, event)`. An engine may time the call.
    fn hear(&mut self, event: Event);
    /// Requests the decision of the policy: `policy.decide(now, actions)`. An engine may time the
    /// call.
    fn consult(&mut self, actions: &mut Vec<Action>);
    /// Makes a CPU that is online run this job, which is ready and may be on another CPU.
    fn run(&mut self, cpu: CpuId, job: JobId, budget: Option<Duration>);
    /// Makes a CPU idle.
    fn idle(&mut self, cpu: CpuId);
    /// Notifies the engine that every action of a decision was passed on: the CPUs must now run
    /// their jobs.
    fn enact(&mut self);
    /// Notifies the engine that a CPU has gone offline, and runs nothing.
    fn vacate(&mut self, cpu: CpuId);
    /// Takes the ready job of a task off its CPU at once, if it is on one: the job is over, or a
    /// hog leaves.
    fn withdraw(&mut self, task: TaskId);
    /// Sets the remaining work of the ready job of a task, which has completed its stretch: `work`
    /// up to its next [step](crate::steps), and `after` behind that step. Takes effect at once if
    /// the job is on a CPU.
    fn stretch(&mut self, task: TaskId, work: i64, after: i64);
    /// Sets the speed of a CPU.
    fn set_speed(&mut self, cpu: CpuId, speed: Speed);

    // Notifications for the record.

    /// The policy is about to receive this event.
    fn told(&mut self, event: &Event);
    /// The policy has decided this action.
    fn decided(&mut self, action: &Action);
    /// The policy is about to receive a timer that expired at this time.
    fn fired(&mut self, timer: TimerId, due: Time);
    /// A task has a ready job. If it is marked `blocked` in the ledger, it has waited for its
    /// predecessor.
    fn released(&mut self, task: TaskId);
    /// The ready part of a hog has received its first dates.
    fn dated(&mut self, task: TaskId);
    /// The policy ends the ready part of a hog, as completed or aborted; the next part continues
    /// from there.
    fn cut(&mut self, task: TaskId, end: JobEnd);
    /// The ready job of a task, which is no longer on a CPU, is over.
    fn ended(&mut self, task: TaskId, end: JobEnd);
    /// A job that has arrived will never be ready: its task skips it, because the previous job is
    /// late.
    fn skipped(&mut self, job: &Job);
    /// A request was granted, or refused for this reason.
    fn answered(&mut self, asked: Asked, refused: Option<Refusal>);
}
