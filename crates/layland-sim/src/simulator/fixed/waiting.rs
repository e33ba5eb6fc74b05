//! [`Waiting`]: the ready jobs of a group that do not run.

use super::least::NEVER;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

/// The keys of waiting jobs. The least key is that of the highest job.
///
/// Some of the highest are in a sorted list: on most platforms few jobs wait, and an insertion by
/// comparing all of them has no branch to mispredict. The others are in a heap.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// In descending order: the highest job comes last.
    front: Vec<u64>,
    /// No key is smaller than one of the front, and it is empty if the front is.
    rest: BinaryHeap<Reverse<u64>>,
}

impl Waiting {
    /// The length at which a part of the front goes to the rest.
    const MOST: usize = 64;
    /// The length up to which an insertion compares with all.
    const FEW: usize = 24;

    /// Returns the least key, or [`NEVER`] if no job waits.
    #[inline(always)]
    pub(super) fn highest(&self) -> u64 {
        self.front.last().copied().unwrap_or(NEVER)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, key: u64) {
        if self.rest.peek().is_some_and(|&Reverse(best)| best < key) {
            self.rest.push(Reverse(key));
            return;
        }
        if self.front.len() <= Waiting::FEW {
            // Each place keeps the larger of two keys, and the smaller one goes on to the next.
            let mut smaller = key;
            for place in &mut self.front {
                let there = *place;
                let stays = there > smaller;
                *place = select_unpredictable(stays, there, smaller);
                smaller = select_unpredictable(stays, smaller, there);
            }
            self.front.push(smaller);
            return;
        }
        if key < self.highest() {
            self.front.push(key);
        } else {
            let place = self.front.partition_point(|&other| other > key);
            self.front.insert(place, key);
        }
        if self.front.len() > Waiting::MOST {
            self.make_room();
        }
    }

    /// Removes the highest job.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.front.pop();
        if self.front.is_empty() && !self.rest.is_empty() {
            self.refill();
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.rest.extend(self.front.drain(..Waiting::MOST / 2).map(Reverse));
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let best = std::iter::from_fn(|| self.rest.pop()).take(Waiting::MOST / 2);
        self.front.extend(best.map(|Reverse(key)| key));
        self.front.reverse();
    }
}
