//! [`Engine`]: what an engine has to provide.

use crate::programs::Visit;
use crate::{Asked, Ledger};
use layland_model::{CpuId, JobId, Service, Speed, TaskId, Time};
use layland_policy::{Action, Event, Policy, Refusal, TimerId};
use layland_trace::{Job, JobEnd};

/// What an engine provides: CPUs, and a place to write down what happens.
///
/// The functions of [`rounds`](crate::rounds) and [`jobs`](crate::jobs) keep the [`Ledger`] and call these
/// methods. There are no defaults: an engine that has nothing to do or to write says so.
pub trait Engine {
    /// The policy that it drives.
    type Policy: Policy;
    /// What it keeps of each task besides what the ledger has.
    type Task: Default;

    /// The ledger.
    fn ledger(&self) -> &Ledger<Self::Policy, Self::Task>;
    /// The ledger.
    fn ledger_mut(&mut self) -> &mut Ledger<Self::Policy, Self::Task>;

    // Its CPUs.

    /// Work in its own unit.
    fn amount(&self, work: Service) -> i64;
    /// Tells the policy which jobs have completed ([`jobs::complete`](crate::jobs::complete)) and which budgets
    /// are used up, by CPU; then which jobs have completed that are on no CPU ([`Event::Ended`]), by rank.
    fn tell_ends(&mut self);
    /// What a program has done by now, if any has come or gone ([`programs`](crate::programs)).
    fn visit(&mut self) -> Option<Visit>;
    /// Tells the policy what it has measured ([`Event::Measured`]), if it measures and the policy wants to know.
    fn tell_measured(&mut self);
    /// Passes an event to the policy: `policy.on_event(now, event)`. An engine may take the time.
    fn hear(&mut self, event: Event);
    /// Asks the policy for its decision: `policy.decide(now, actions)`. An engine may take the time.
    fn consult(&mut self, actions: &mut Vec<Action>);
    /// From now on a CPU that is online runs this job, which is ready and may be on another CPU.
    fn run(&mut self, cpu: CpuId, job: JobId, budget: Option<Service>);
    /// From now on a CPU runs nothing.
    fn idle(&mut self, cpu: CpuId);
    /// Every action of a decision was passed on: the CPUs are to run what they say.
    fn enact(&mut self);
    /// A CPU has gone offline, and runs nothing.
    fn vacate(&mut self, cpu: CpuId);
    /// The ready job of a task is taken off its CPU at once, if it is on one: it is over, or a hog leaves.
    fn withdraw(&mut self, task: TaskId);
    /// The ready job of a task, which has done all that it could, executes so much before its next
    /// [step](crate::steps), and so much after that; at once, if it is on a CPU.
    fn stretch(&mut self, task: TaskId, work: i64, after: i64);
    /// From now on a CPU has this speed.
    fn set_speed(&mut self, cpu: CpuId, speed: Speed);

    // What happened.

    /// The policy is about to be told this.
    fn told(&mut self, event: &Event);
    /// The policy decided this.
    fn decided(&mut self, action: &Action);
    /// A timer that was due at this time is about to be told.
    fn fired(&mut self, timer: TimerId, due: Time);
    /// A task has a ready job. If the ledger says `blocked`, it has waited for its predecessor.
    fn released(&mut self, task: TaskId);
    /// The ready part of a hog has got its first dates.
    fn dated(&mut self, task: TaskId);
    /// The policy ends the ready part of a hog, completed or given up; the next part goes on where this one was.
    fn cut(&mut self, task: TaskId, end: JobEnd);
    /// The ready job of a task, which is on no CPU any more, is over.
    fn ended(&mut self, task: TaskId, end: JobEnd);
    /// A job that had arrived will never be ready: its task skips it, because the job before it is late.
    fn skipped(&mut self, job: &Job);
    /// What was asked was granted, or refused for this reason.
    fn answered(&mut self, asked: Asked, refused: Option<Refusal>);
}
