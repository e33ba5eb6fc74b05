//! The order of ready jobs, and the jobs of one mask that wait.

use layland_model::TaskId;
use std::collections::BTreeSet;

/// The place of a ready job in a strict order: smaller comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlaceInOrder {
    /// The absolute deadline or the fixed priority.
    pub key: i64,
    /// When it became ready, where jobs of one priority queue; 0 where ranks decide.
    pub ready: i64,
    /// The rank of its task.
    pub rank: i64,
    /// Its task.
    pub task: TaskId,
}

/// Jobs that wait: O(log n) to add and to take out, O(1) to look at the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    places: BTreeSet<PlaceInOrder>,
    first: Option<PlaceInOrder>,
}

impl Backlog {
    /// The job that comes first.
    #[inline]
    pub(crate) fn first(&self) -> Option<PlaceInOrder> {
        self.first
    }

    pub(crate) fn insert(&mut self, place: PlaceInOrder) {
        self.places.insert(place);
        if self.first.is_none_or(|first| place < first) {
            self.first = Some(place);
        }
    }

    /// Takes a job out.
    pub(crate) fn remove(&mut self, place: PlaceInOrder) {
        self.places.remove(&place);
        if self.first == Some(place) {
            self.first = self.places.first().copied();
        }
    }
}
