//! Preemptive fixed priorities (**FP**) on one CPU: response times, utilization bounds, and the
//! assignment of priorities.
//!
//! | analysis | source | kind |
//! |---|---|---|
//! | [`response_time`] | Lehoczky 1990 (arbitrary deadlines); Tindell, Burns, Wellings 1994 (jitter) | exact |
//! | [`LIU_LAYLAND`], `U <= n (2^(1/n) - 1)` | Liu and Layland 1973 | sufficient, rate-monotonic |
//! | [`HYPERBOLIC`], `prod (u_i + 1) <= 2` | Bini, Buttazzo, Buttazzo 2003 | sufficient, rate-monotonic |
//! | [`AUDSLEY`] | Audsley 1991 | exact: decides whether any priorities work |
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart,
//! (3) WCETs are kept, (4) overheads are part of `C_i`, (5) unit speeds, (6) nothing changes while
//! the system runs, (7) few pairs of tasks share a CPU, (8) for given priorities: every task has
//! one; for the two bounds: `D_i = T_i` and no jitter. Jobs do not suspend themselves. *Exact*
//! refers to sporadic tasks and tasks that may become ready together.
//!
//! A blocking time `B_i` is an upper bound, which the response times include (Sha, Rajkumar and
//! Lehoczky 1990): a *yes* holds with it, a *no* requires a job that is late without it, and a
//! response time is then only a bound. The other tests and the assignment of priorities refuse
//! tasks with blocking times.
//!
//! Equal priorities go to the smaller rank, then to the smaller id, as the policies do.

mod audsley;
mod responses;
mod sweep;
mod utilization;

pub use audsley::{AUDSLEY, AUDSLEY_1991};
pub(crate) use responses::{BLOCKED_FOR_LESS, unblocked};
pub use responses::{LEHOCZKY, RTA, TINDELL, response_bounds, response_time};
pub use sweep::sweep;
pub use utilization::{BINI, HYPERBOLIC, LIU_LAYLAND};

use crate::Assumption::{self, *};
use crate::group::Group;
use layland_model::{System, Task, TaskId};

const PINNED: &[Assumption] =
    &[OneCpuEach, BoundedArrivals, WcetKept, NoOverheads, UnitSpeeds, NoRequests, FewPairs];
/// A blocking time is valid for one order of priorities, so only response times under a given order
/// use it.
const BLOCKED: &[Assumption] = &crate::assumption::and::<8>(PINNED, BlockingKept);
const GIVEN: &[Assumption] = &crate::assumption::and::<9>(BLOCKED, Priorities);

/// The source of the priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityOrder {
    /// The shorter period comes first.
    RateMonotonic,
    /// The shorter relative deadline comes first.
    DeadlineMonotonic,
    /// The given priorities, the smaller number first.
    Given,
}

impl PriorityOrder {
    /// The sort key, ascending from the highest priority; the last two components break ties.
    fn key(self, id: TaskId, task: &Task) -> (i64, i64, TaskId) {
        let key = match self {
            PriorityOrder::RateMonotonic => task.period.ns(),
            PriorityOrder::DeadlineMonotonic => task.deadline.ns(),
            PriorityOrder::Given => task.priority.unwrap_or(i64::MAX),
        };
        (key, task.rank, id)
    }

    pub(crate) fn sort<'a>(self, group: &Group<'a>) -> Vec<(TaskId, &'a Task)> {
        let mut tasks = group.tasks.clone();
        tasks.sort_by_key(|(id, task)| self.key(*id, task));
        tasks
    }

    /// Returns all tasks of a system, the highest priority first.
    pub(crate) fn sort_all(self, system: &System) -> Vec<TaskId> {
        let mut ids: Vec<TaskId> = system.tasks.ids().collect();
        ids.sort_by_key(|&id| self.key(id, &system.tasks[id]));
        ids
    }
}
