//! [`Halts`]: the intervals in which jobs stop by their own steps, because they suspend themselves
//! or wait for a lock.

use crate::{LockMark, Mark, MarkKind};
use layland_model::{JobId, ResourceId, TaskId, Time};
use std::collections::BTreeMap;

/// The reason why a job does not continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It suspends itself.
    Suspends,
    /// It has requested a resource that it does not hold yet: it waits off its CPU or spins on it.
    Waits(ResourceId),
    /// It releases a resource, which takes no time.
    GivesBack(ResourceId),
}

/// An interval in which a job does not continue, from one of its steps until the next event that
/// concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt {
    /// The job.
    pub job: JobId,
    /// The reason.
    pub why: Why,
    /// The start.
    pub from: Time,
    /// The end; [`Time::NEVER`] if it is not known. It may equal `from`.
    pub to: Time,
}

/// The halts of jobs at their steps, from the marks of a run.
///
/// ```
/// use layland_model::{JobId, TaskId, Time};
/// use layland_trace::{Halts, Mark, MarkKind};
/// let job = JobId { task: TaskId(0), seq: 0 };
/// let mut halts = Halts::default();
/// halts.mark(&Mark { at: Time::from_ms(2), kind: MarkKind::Suspended(job) });
/// halts.mark(&Mark { at: Time::from_ms(5), kind: MarkKind::Resumed(job) });
/// // A segment of the job that ends at 2 ms ends by a step of its own. One that ends at 7 ms does not.
/// assert!(!halts.is_preempted(job, Time::from_ms(2), false));
/// assert!(halts.is_preempted(job, Time::from_ms(7), false));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Halts {
    /// In the order of time. Those of one job do not overlap.
    by_task: BTreeMap<TaskId, Vec<Halt>>,
}

impl Halts {
    /// Collects the halts from all marks.
    pub fn of<'a>(marks: impl IntoIterator<Item = &'a Mark>) -> Halts {
        let mut halts = Halts::default();
        marks.into_iter().for_each(|mark| halts.mark(mark));
        halts
    }

    /// Processes a mark. Marks must come in the order of time; marks that are not steps have no
    /// effect.
    pub fn mark(&mut self, mark: &Mark) {
        let begins = |job, why, to| Halt { job, why, from: mark.at, to };
        match mark.kind {
            MarkKind::Suspended(job) => self.begin(begins(job, Why::Suspends, Time::NEVER)),
            MarkKind::Lock(job, resource, LockMark::Requested) => {
                self.begin(begins(job, Why::Waits(resource), Time::NEVER));
            }
            MarkKind::Lock(job, resource, LockMark::Unlocked) => {
                self.begin(begins(job, Why::GivesBack(resource), mark.at));
            }
            MarkKind::Resumed(job) | MarkKind::Lock(job, _, LockMark::Granted) => {
                if let Some(last) = self.by_task.get_mut(&job.task).and_then(|all| all.last_mut())
                    && last.job == job
                    && last.to == Time::NEVER
                {
                    last.to = mark.at;
                }
            }
            MarkKind::BudgetExhausted(..)
            | MarkKind::CpuOnline(_)
            | MarkKind::CpuOffline(_)
            | MarkKind::Speed(..)
            | MarkKind::Note(_) => {}
        }
    }

    fn begin(&mut self, halt: Halt) {
        self.by_task.entry(halt.job.task).or_default().push(halt);
    }

    /// Returns true if there are no halts.
    pub fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }

    /// The halts of the jobs of a task, in the order of time.
    pub fn of_task(&self, task: TaskId) -> &[Halt] {
        self.by_task.get(&task).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a job was preempted at the end of a segment that is not its last one, when
    /// it could have continued.
    ///
    /// It could not continue if it suspends itself or waits for a lock when the segment ends. A job
    /// that continues on another CPU (`moves`) right after it requested or released a lock is not
    /// preempted either: some protocols execute critical sections on other CPUs. Every mark up to
    /// and including the end of the segment must have been processed.
    pub fn is_preempted(&self, job: JobId, end: Time, moves: bool) -> bool {
        let all = self.of_task(job.task);
        let until = all.partition_point(|halt| halt.from <= end);
        let last = all[..until].last().filter(|halt| halt.job == job);
        !last.is_some_and(|halt| end < halt.to || moves && halt.from == end)
    }

    /// Drops the halts of a task that ended before a time.
    pub(crate) fn forget(&mut self, task: TaskId, before: Time) {
        if let Some(all) = self.by_task.get_mut(&task) {
            all.retain(|halt| halt.to >= before);
        }
    }
}
