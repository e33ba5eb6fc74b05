//! The life that policies share, so that a policy file holds its algorithm and nothing else.
//!
//! ```text
//!   events                                                               actions
//!   -------> Grouped: tasks, CPUs, requests, the difference -------------------->
//!                |  a job waits, a waiting job is gone          ^
//!                v                                              |  start, preempt, wake me at
//!            Scheduler: which jobs of one group of CPUs run now ------> Turn
//! ```
//!
//! A [`Scheduler`] decides for one group of CPUs: [`HighestFirst`](crate::HighestFirst) is one, in a
//! page. [`Grouped`] makes a [`Policy`](crate::Policy) of it. One group of all CPUs is global
//! scheduling, one for each cluster is clustered scheduling, one for each CPU is partitioned
//! scheduling; which it is, a [`Scope`] says. The shell knows the tasks and the CPUs, answers requests,
//! places the jobs that start, and tells the engine what changes.
//!
//! Policies whose jobs are not in groups of that kind use the small parts: `Refusals`, `Alarm`,
//! and the answers of policies that place their tasks before the start (`fixed_answer`).
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

/// How far the jobs of a task may migrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Over all CPUs.
    Global,
    /// Within the cluster of the task.
    Clustered,
    /// Not at all: each task is assigned to a CPU before the start.
    Partitioned,
    /// Over the CPUs that its task was given before the start.
    Federated,
}

/// Whether the shell keeps what is left of the WCET of each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// No: priorities are all that counts.
    Ignored,
    /// Yes: [laxity](Turn::zero_laxity_at) counts, or [what a job has executed](Turn::executed).
    Tracked,
}

/// Decides which jobs of one group of CPUs run. See the [module](self) for an example.
pub trait Scheduler: Clone + Debug + Send + 'static {
    /// Whether it needs to know how far jobs are.
    const PROGRESS: Progress;

    /// Which events call for a decision: by default those of jobs that are ready.
    const SCHEDULES: Schedules = Schedules::ReadyJobs;

    /// A job waits from now on: it is ready, or it has lost its CPU without a decision.
    fn wait(&mut self, job: Priority);

    /// A job that waits is no longer there.
    fn forget(&mut self, job: Priority);

    /// No job waits any longer. Those that still do are told anew, with [`wait`](Self::wait).
    fn clear(&mut self);

    /// Decides what runs, once per instant, if something happened to the group.
    fn decide(&mut self, turn: &mut Turn<'_>);

    /// Saves what future decisions depend on besides the ready jobs of the group, where they run and how much of them
    /// is left: see [`Policy::save`](crate::Policy::save).
    fn save(&self, _now: Time, _state: &mut State) {}

    /// Whether it preempts the jobs of a task where its parameters let it, and nowhere else. What says so of a task
    /// with non-preemptive regions is built for that.
    fn keeps_regions(&self, _id: TaskId, parameters: &Task) -> bool {
        parameters.preemption.is_anywhere()
    }

    /// What the schedule of these groups satisfies.
    fn rule(&self, groups: Vec<Group>, order: JobOrder) -> ScheduleRule;
}
