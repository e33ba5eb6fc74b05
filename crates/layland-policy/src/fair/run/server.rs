//! The servers of RUN, and their tasks.

use super::super::parts::{NEVER, PlannedTime};
use layland_model::JobId;
use layland_offline::Minima;

/// A task. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct PackedTask {
    /// Its ready job, or the last one.
    pub job: JobId,
    /// Its number.
    pub seat: u32,
    /// The server of level 0 whose client it is.
    pub server: u32,
    pub rate: i64,
    pub period: i64,
    /// The first release that is not in the current window.
    pub next_release: i64,
    /// The end of the current window, and the execution that remains in it.
    pub deadline: i64,
    pub remaining: i64,
    pub account: PlannedTime,
    /// True if there is a job; true if that job has executed.
    pub ready: bool,
    pub executed: bool,
    pub picked: bool,
    /// The CPU that it is placed on, and its last CPU: indices, or `NONE`.
    pub cpu: u32,
    pub last_cpu: u32,
}

/// A server.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub rate: i64,
    /// The end of the current window, and the execution that is required until then.
    pub deadline: i64,
    pub budget: i64,
    /// Its clients: members if it is of level 0, otherwise nodes.
    pub first: u32,
    pub end: u32,
    /// The client that it picked last.
    pub pick: u32,
    /// True if it is of level 0.
    pub leaf: bool,
    pub runs: bool,
    /// The order of its clients, if they are many tasks.
    pub order: Option<Box<TaskOrder>>,
}

impl Node {
    /// Updates the order of its clients after a change of the one at this index.
    #[inline]
    pub(super) fn reorder(&mut self, index: usize, member: &PackedTask) {
        if let Some(order) = &mut self.order {
            let place = index - self.first as usize;
            order.windows.set(place, member.deadline);
            order.pending.set(place, if member.is_pending() { member.deadline } else { NEVER });
        }
    }
}

/// The number of tasks up to which a server looks at each of them: this is quicker than a tree.
pub(super) const FEW_TASKS: usize = 24;

/// The tasks of a server, by their deadlines.
#[derive(Clone, Debug)]
pub(super) struct TaskOrder {
    /// The end of the window of each.
    pub windows: Minima<i64>,
    /// The end of the window of each pending one; [`NEVER`] for the others.
    pub pending: Minima<i64>,
}

impl TaskOrder {
    /// Returns the order of tasks whose windows end at time zero, and of which none is pending.
    pub(super) fn new(tasks: usize) -> TaskOrder {
        TaskOrder {
            windows: Minima::new(tasks, 0, NEVER),
            pending: Minima::new(tasks, NEVER, NEVER),
        }
    }

    /// Returns the first pending task with the earliest deadline.
    pub(super) fn first_pending(&self) -> Option<usize> {
        let earliest = self.pending.least();
        if earliest == NEVER { None } else { self.pending.first_below(0, earliest + 1) }
    }
}

impl PackedTask {
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.ready && self.remaining > 0
    }

    /// Begins the next window: up to the end of the next job, or to its release if that is not now.
    pub(super) fn open(&mut self, now: i64, unit: i64) {
        let release = num_integer::div_ceil(self.next_release, unit) * unit;
        // The remaining work of a late job; zero if the elapsed time counts, as no job is late
        // then.
        let late = if self.ready { self.remaining.max(0) } else { 0 };
        if release > now {
            (self.deadline, self.remaining) = (release, late);
        } else {
            self.next_release += self.period;
            self.deadline = num_integer::div_floor(self.next_release, unit) * unit;
            self.remaining = self.rate * ((self.deadline - now) / unit) + late;
        }
    }
}
