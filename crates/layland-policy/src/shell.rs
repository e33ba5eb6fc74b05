//! The code that policies share, so that a policy file holds only its algorithm.
//!
//! ```text
//!   events                                                               actions
//!   -------> Grouped: tasks, CPUs, requests, the difference -------------------->
//!                |  a job waits, a waiting job is gone          ^
//!                v                                              |  start, preempt, wake me at
//!            Scheduler: which jobs of one group of CPUs run now ------> Turn
//! ```
//!
//! A [`Scheduler`] decides for one group of CPUs: [`HighestFirst`](crate::HighestFirst) is one, in
//! a page. [`Grouped`] turns it into a [`Policy`](crate::Policy). One group of all CPUs is global
//! scheduling, one for each cluster is clustered scheduling, one for each CPU is partitioned
//! scheduling; a [`Scope`] selects the form. The shell keeps the tasks and the CPUs, answers
//! requests, places the jobs that start, and reports changes to the engine.
//!
//! Policies without such groups use the smaller parts: `Refusals`, `Alarm`, and the answers of
//! policies that place their tasks before the start (`fixed_answer`).
//!
//! ```
//! use layland_model::{Duration, Order, Service, System, Task};
//! use layland_policy::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
//! use layland_policy::{Policy, PolicyOptions};
//! # use layland_model::{Group, JobOrder, ScheduleRule};
//!
//! /// Runs what became ready first, and never preempts.
//! #[derive(Clone, Debug, Default)]
//! struct FirstInFirstOut {
//!     queue: Vec<Priority>,
//! }
//!
//! impl Scheduler for FirstInFirstOut {
//!     const PROGRESS: Progress = Progress::Ignored;
//!     fn wait(&mut self, job: Priority) {
//!         self.queue.push(job);
//!     }
//!     fn forget(&mut self, job: Priority) {
//!         self.queue.retain(|&other| other != job);
//!     }
//!     fn clear(&mut self) {
//!         self.queue.clear();
//!     }
//!     fn decide(&mut self, turn: &mut Turn<'_>) {
//!         while turn.has_idle_cpu() && !self.queue.is_empty() {
//!             turn.start(self.queue.remove(0));
//!         }
//!     }
//!     fn rule(&self, _groups: Vec<Group>, _order: JobOrder) -> ScheduleRule {
//!         ScheduleRule::None
//!     }
//! }
//!
//! let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
//! let system = System::new(2, vec![task]);
//! let fifo = FirstInFirstOut::default();
//! let policy =
//!     Grouped::new("fifo", Scope::Global, Order::Deadline, &system, &PolicyOptions::default(), fifo);
//! assert!(policy.is_ok());
//! ```

mod federated;
mod grouped;
pub(crate) mod groups;
mod parts;
mod priority;
mod requests;
mod tasks;
mod turn;

pub use grouped::Grouped;
pub(crate) use parts::{Alarm, Refusals, fixed_answer};
pub use priority::Priority;
pub use turn::Turn;

use crate::{Schedules, State};
use layland_model::{Group, JobOrder, ScheduleRule, Task, TaskId, Time};
use std::fmt::Debug;

/// The CPUs over which the jobs of a task may migrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Over all CPUs.
    Global,
    /// Within the cluster of the task.
    Clustered,
    /// Not at all: each task is assigned to a CPU before the start.
    Partitioned,
    /// Over the CPUs that the task was given before the start.
    Federated,
}

/// The choice whether the shell tracks the remaining WCET of each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not tracked: only priorities matter.
    Ignored,
    /// Tracked: [laxity](Turn::zero_laxity_at) matters, or the [execution of a
    /// job](Turn::executed).
    Tracked,
}

/// Decides which jobs of one group of CPUs run. See the [module](self) for an example.
pub trait Scheduler: Clone + Debug + Send + 'static {
    /// The tracking of progress that it needs.
    const PROGRESS: Progress;

    /// The events that require a decision: by default those of ready jobs.
    const SCHEDULES: Schedules = Schedules::ReadyJobs;

    /// Adds a waiting job: it is ready, or it has lost its CPU without a decision.
    fn wait(&mut self, job: Priority);

    /// Removes a waiting job.
    fn forget(&mut self, job: Priority);

    /// Removes all waiting jobs. Those that still wait are added again with [`wait`](Self::wait).
    fn clear(&mut self);

    /// Decides which jobs run, once per instant with events in the group.
    fn decide(&mut self, turn: &mut Turn<'_>);

    /// Saves the state that future decisions depend on, apart from the ready jobs of the group,
    /// their CPUs and their remaining WCETs: see [`Policy::save`](crate::Policy::save).
    fn save(&self, _now: Time, _state: &mut State) {}

    /// Returns true if it preempts the jobs of a task only where the parameters of the task allow
    /// it. A scheduler that returns true for a task with non-preemptive regions must implement
    /// them.
    fn keeps_regions(&self, _id: TaskId, parameters: &Task) -> bool {
        parameters.preemption.is_anywhere()
    }

    /// Returns true if it runs the jobs of highest priority by an order of this kind, and does
    /// nothing else: see [`Policy::is_highest_first`](crate::Policy::is_highest_first).
    fn is_highest_first(&self, _order: &JobOrder) -> bool {
        false
    }

    /// Returns the rule that the schedule of these groups satisfies.
    fn rule(&self, groups: Vec<Group>, order: JobOrder) -> ScheduleRule;
}
