//! What the policies with affinities differ in: which ready tasks are matched to CPUs, and to which.

use super::backlog::PlaceInOrder;
use layland_model::{CpuId, CpuSet, Form, JobOrder, ScheduleRule, TaskId, TaskMap, Time};

/// Where and when the engine ran a task last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// The CPU, if it ran at all.
    pub cpu: Option<CpuId>,
    /// Whether it is running there.
    pub is_running: bool,
    /// Until when, if it is not.
    pub until: Time,
}

impl Ran {
    pub(crate) const NEVER: Ran = Ran { cpu: None, is_running: false, until: Time::ZERO };

    /// What decides who ran last: the time, and at the same time whoever still runs.
    #[inline]
    pub(crate) fn recency(self, now: Time) -> (Time, bool) {
        (if self.is_running { now } else { self.until }, self.is_running)
    }
}

/// Matches ready tasks to the CPUs that they may use.
///
/// Tasks that may use the same CPUs are of one *class*. CPUs are offline until they come online.
pub(crate) trait Matcher: Clone + Send + 'static {
    /// The form of scheduling that it makes.
    const FORM: Form;
    /// Whether masks must be nested or disjoint.
    const LAMINAR: bool;

    /// What holds of every schedule.
    fn rule(order: JobOrder) -> ScheduleRule;
    /// Another class, the next in number; tasks of it may use these CPUs.
    fn add_class(&mut self, cpus: &CpuSet);
    /// The tasks of these classes are all that can be ready from now on; a task keeps its class.
    fn use_classes(&mut self, _in_use: &[bool]) {}
    /// Makes room for this many tasks.
    fn resize(&mut self, tasks: usize);
    /// The job of a task of this class becomes ready.
    fn arrive(&mut self, class: usize, place: PlaceInOrder, ran: &TaskMap<Ran>);
    /// The job of a task is no longer ready.
    fn depart(&mut self, task: TaskId);
    /// A CPU can be used.
    fn online(&mut self, cpu: CpuId);
    /// A CPU can no longer be used; its job is still ready.
    fn offline(&mut self, cpu: CpuId, ran: &TaskMap<Ran>);
    /// Makes the mapping final for this instant.
    fn settle(&mut self, now: Time, ran: &TaskMap<Ran>);
    /// The task that is matched to a CPU.
    fn on(&self, cpu: CpuId) -> Option<TaskId>;
    /// The CPUs to which another task may be matched since this was last called, in any order.
    fn take_touched(&mut self, touched: &mut Vec<CpuId>);
}
