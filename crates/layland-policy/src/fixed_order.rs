//! [`FixedOrder`]: the priorities by which a kernel can run jobs between the decisions of a policy.

use layland_model::{CpuId, CpuMap, Duration, TaskId, TaskMap, Time};

/// Fixed priorities of tasks that a kernel can enforce without the policy, and the times until which
/// the policy need not know of a job.
///
/// An engine whose kernel has fixed priorities may then leave releases and ends of jobs to the threads
/// of the tasks: a thread that is released preempts only threads of lower priority, and notifies
/// the policy when it first has a CPU. A policy without a fixed order must be notified of every release
/// at once, so that a manager must be called for it.
///
/// The policy promises:
///
/// 1. Each task runs on one CPU, and no two tasks of a CPU have the same place.
/// 2. While a CPU runs a job, a job of a task with a later place that becomes ready there changes no
///    decision before its [time is up](Self::notified_by), unless the running job
///    [yields](Self::yields). If the policy is notified of it later, it decides as if it had
///    been notified at the release.
/// 3. The same holds for timers and budgets: they are the times at which the policy itself asks to
///    decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedOrder {
    /// The CPU of each task.
    pub cpu_of: TaskMap<CpuId>,
    /// The place of each task in the order of its CPU; the first one is 0 and has the highest
    /// priority.
    pub place: TaskMap<usize>,
    /// The time after its arrival by which the policy must have been notified of a job that has not run;
    /// `None` if there is none.
    pub patience: TaskMap<Option<Duration>>,
    /// The times after its release, ascending, at which the policy may have to decide about a job by
    /// itself, if the job is not over. Without jitter, its timers are always at such times.
    pub instants: TaskMap<Vec<Duration>>,
    /// True if the arrival of a job ends the job of its task that is still pending, so that the policy
    /// must be notified of it at once.
    pub replaces: bool,
    /// For each CPU: true if its job gives way to any job that becomes ready. Changes with decisions.
    pub yields: CpuMap<bool>,
}

impl FixedOrder {
    /// Returns the time by which the policy must have been notified of a job of a task that arrives at
    /// this time; [`Time::NEVER`] if there is none. `is_behind` is true if another job of the task is
    /// pending.
    pub fn notified_by(&self, task: TaskId, arrival: Time, is_behind: bool) -> Time {
        if is_behind && self.replaces {
            return arrival;
        }
        self.patience[task].map_or(Time::NEVER, |patience| arrival.saturating_add(patience))
    }

    /// Returns the first instant after `now` of a job of a task that was released at this time;
    /// [`Time::NEVER`] if there is none.
    pub fn next_instant(&self, task: TaskId, release: Time, now: Time) -> Time {
        let instants = &self.instants[task];
        let next = instants.partition_point(|&instant| release.saturating_add(instant) <= now);
        instants.get(next).map_or(Time::NEVER, |&instant| release.saturating_add(instant))
    }

    /// Returns true if a job of one task takes a CPU from a job of another one.
    pub fn is_before(&self, task: TaskId, other: TaskId) -> bool {
        self.place[task] < self.place[other]
    }
}
