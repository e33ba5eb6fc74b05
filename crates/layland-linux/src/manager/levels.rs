//! The priorities of threads where the kernel runs them by a fixed order.

use layland_model::TaskId;
use layland_policy::FixedOrder;

/// The priority of a thread, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level {
    /// The priority to run: that of its task, or one for all.
    #[default]
    Own,
    /// Above waiting threads alone.
    Yielding,
    /// The lowest one.
    Waiting,
}

impl Level {
    /// Returns the level of the thread to which its CPU was given.
    pub fn of_chosen(order: &FixedOrder, chosen: TaskId) -> Level {
        if order.yields[order.cpu_of[chosen]] { Level::Yielding } else { Level::Own }
    }

    /// Returns the level that another thread of this CPU, which has a job, must have so that the chosen
    /// one runs. A thread keeps a level that is not in the way.
    pub fn of_other(self, order: &FixedOrder, chosen: TaskId, other: TaskId) -> Level {
        let yields = order.yields[order.cpu_of[chosen]];
        let is_in_the_way = match self {
            Level::Own => yields || order.is_before(other, chosen),
            Level::Yielding => yields,
            Level::Waiting => false,
        };
        if is_in_the_way { Level::Waiting } else { self }
    }
}
