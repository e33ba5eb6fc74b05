//! The order of ready jobs, and the waiting jobs with one mask.

use layland_model::TaskId;
use std::collections::BTreeSet;

/// The place of a ready job in a strict order: smaller comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), derive(PartialOrd, Ord))]
pub(crate) struct PlaceInOrder {
    /// The absolute deadline or the fixed priority.
    pub key: i64,
    /// The time at which it became ready, if jobs of one priority queue; 0 if ranks decide.
    pub ready: i64,
    /// The rank of its task.
    pub rank: i64,
    /// Its task.
    pub task: TaskId,
}

/// The order that is derived elsewhere, with the comparisons counted.
#[cfg(test)]
impl Ord for PlaceInOrder {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        super::touches::touch();
        let of = |place: &Self| (place.key, place.ready, place.rank, place.task);
        of(self).cmp(&of(other))
    }
}

#[cfg(test)]
impl PartialOrd for PlaceInOrder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Waiting jobs: O(log n) to add and to remove, O(1) to look up the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    places: BTreeSet<PlaceInOrder>,
    first: Option<PlaceInOrder>,
}

impl Backlog {
    /// Returns the job that comes first.
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

    /// Removes a job.
    pub(crate) fn remove(&mut self, place: PlaceInOrder) {
        self.places.remove(&place);
        if self.first == Some(place) {
            self.first = self.places.first().copied();
        }
    }
}
