//! The interface of the policies with affinities to their rules: a rule matches ready tasks to
//! CPUs.

use super::backlog::PlaceInOrder;
use layland_model::{CpuId, CpuSet, Form, JobOrder, ScheduleRule, TaskId, TaskMap, Time};

/// The CPU and the time at which the engine last ran a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastRun {
    /// The CPU, if the task ever ran.
    pub cpu: Option<CpuId>,
    /// True if the task is running there.
    pub is_running: bool,
    /// The end of its last run, if it is not running.
    pub until: Time,
}

impl LastRun {
    pub(crate) const NEVER: LastRun = LastRun { cpu: None, is_running: false, until: Time::ZERO };

    /// Returns the key of recency: the time, and among equal times, a running task comes last.
    #[inline]
    pub(crate) fn recency(self, now: Time) -> (Time, bool) {
        (if self.is_running { now } else { self.until }, self.is_running)
    }
}

/// A rule that matches ready tasks to the CPUs that they may use.
///
/// Tasks that may use the same CPUs form one *class*. CPUs are offline until they come online.
pub(crate) trait Matcher: Clone + Send + 'static {
    /// The form of scheduling that results.
    const FORM: Form;
    /// True if masks must be nested or disjoint.
    const LAMINAR: bool;

    /// Returns the rule that every schedule obeys.
    fn rule(order: JobOrder) -> ScheduleRule;
    /// Adds a class with the next number; its tasks may use these CPUs.
    fn add_class(&mut self, cpus: &CpuSet);
    /// Limits the ready tasks to these classes from now on; a task keeps its class.
    fn use_classes(&mut self, _in_use: &[bool]) {}
    /// Makes room for this many tasks.
    fn resize(&mut self, tasks: usize);
    /// Handles the job of a task of this class that becomes ready.
    fn arrive(&mut self, class: usize, place: PlaceInOrder, ran: &TaskMap<LastRun>);
    /// Handles the job of a task that is no longer ready.
    fn depart(&mut self, task: TaskId);
    /// Handles a CPU that becomes available.
    fn online(&mut self, cpu: CpuId);
    /// Handles a CPU that is no longer available; its job is still ready.
    fn offline(&mut self, cpu: CpuId, ran: &TaskMap<LastRun>);
    /// Makes the mapping final for this instant.
    fn settle(&mut self, now: Time, ran: &TaskMap<LastRun>);
    /// Returns the task that is matched to a CPU.
    fn on(&self, cpu: CpuId) -> Option<TaskId>;
    /// Moves the CPUs whose match may have changed since the last call into `touched`, in any
    /// order.
    fn take_touched(&mut self, touched: &mut Vec<CpuId>);
}
