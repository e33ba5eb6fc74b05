//! An agenda: the time of the next event of each of a number of items, and the item that comes
//! first.
//!
//! A tournament tree: every inner node holds the earlier of the two times below. A lookup is O(1);
//! changing one time is O(log n), in a loop without a branch that depends on the times.
//!
//! The index of the first item moves up the tree with its time, in registers. A tree of times alone
//! (or one with four children per node, half as deep) takes fewer instructions but more time: to
//! find the index, it reads back, level by level, what it has just written.
//!
//! A tree of a million items does not fit in a cache, and each of its lower levels lies on another
//! page. In such a tree, a leaf stands for a block of items whose times are adjacent in memory.

use layland_model::Time;
use std::hint::select_unpredictable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AgendaItem {
    at: i64,
    id: u32,
}

impl AgendaItem {
    /// Returns the earlier of `self`, on this side of a pair, and the other one. If both have the
    /// same time, the item on side 0 wins, which has the smaller number.
    ///
    /// The result is unpredictable, and a mispredicted branch costs more time than this
    /// computation: hence no branch.
    #[inline(always)]
    fn earlier(self, side: usize, other: AgendaItem) -> AgendaItem {
        // Side 1 loses ties: times are integers, so subtracting 1 turns `<` into `<=`.
        let other_wins = other.at - (side as i64) < self.at;
        AgendaItem {
            at: select_unpredictable(other_wins, other.at, self.at),
            id: select_unpredictable(other_wins, other.id, self.id),
        }
    }
}

/// See the file header. Times are not negative; ties go to the smaller number.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Node 1 is the root. Node `i` is the earlier of pair `i`, which has the nodes `2i` and `2i +
    /// 1`; the pairs of the second half hold the leaves. Pair 0 is unused.
    pairs: Vec<[AgendaItem; 2]>,
    first: AgendaItem,
    /// The time of each item, if there are more than [`FEW`]; each [`BLOCK`] of them shares a leaf.
    /// Otherwise empty: each item has its own leaf.
    times: Vec<i64>,
}

/// The number of items that share a leaf, if there are more than [`FEW`] items.
const BLOCK: usize = 32;

/// The largest number of items whose tree still fits into a second-level cache.
const FEW: usize = 1 << 14;

impl Agenda {
    /// Returns an empty agenda for the items with numbers below `size`.
    pub fn new(size: usize) -> Agenda {
        Agenda::with(size, size > FEW)
    }

    fn with(size: usize, in_blocks: bool) -> Agenda {
        let of_leaf = if in_blocks { BLOCK } else { 1 };
        // At least one pair, so that there is a root.
        let width = size.div_ceil(of_leaf).next_power_of_two().max(2);
        let never = |leaf: usize| AgendaItem { at: i64::MAX, id: (leaf * of_leaf) as u32 };
        let mut pairs = vec![[never(0); 2]; width / 2];
        pairs.extend((0..width / 2).map(|pair| [never(2 * pair), never(2 * pair + 1)]));
        let times = vec![i64::MAX; if in_blocks { width * BLOCK } else { 0 }];
        Agenda { pairs, first: never(0), times }
    }

    /// Sets the time of an item and replaces an earlier one; [`Time::NEVER`] removes it.
    #[inline]
    pub fn set(&mut self, id: usize, at: Time) {
        if self.times.is_empty() {
            self.set_leaf(id, AgendaItem { at: at.ns(), id: id as u32 });
        } else {
            self.set_in_block(id, at);
        }
    }

    #[inline(never)]
    fn set_in_block(&mut self, id: usize, at: Time) {
        self.times[id] = at.ns();
        let (block, start) = (id / BLOCK, id - id % BLOCK);
        let times = &self.times[start..start + BLOCK];
        // Find the earliest time first, without a branch, and then its item.
        let earliest = times.iter().fold(i64::MAX, |first, &at| first.min(at));
        let first = times.iter().position(|&at| at == earliest).unwrap_or(0);
        let earliest = AgendaItem { at: earliest, id: (start + first) as u32 };
        self.set_leaf(block, earliest);
    }

    #[inline(always)]
    fn set_leaf(&mut self, leaf: usize, mut winner: AgendaItem) {
        let pairs = self.pairs.as_mut_slice();
        let mut node = pairs.len() + leaf;
        // Replay the matches on the path from the leaf to the root.
        while node > 1 {
            let side = node & 1;
            node /= 2;
            let pair = &mut pairs[node];
            pair[side] = winner;
            winner = winner.earlier(side, pair[side ^ 1]);
        }
        self.first = winner;
    }

    /// Removes the time of an item.
    #[inline]
    pub fn clear(&mut self, id: usize) {
        self.set(id, Time::NEVER);
    }

    /// Returns the earliest time; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        Time::from_ns(self.first.at)
    }

    /// Returns the item with the earliest time.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        (self.next() != Time::NEVER).then_some(self.first.id as usize)
    }

    /// Returns all items with the earliest time, in ascending order. Visits every item.
    pub fn all_first(&self) -> impl Iterator<Item = usize> {
        let first = self.next();
        let is_first = move |&(_, at): &(usize, Time)| at == first && first != Time::NEVER;
        self.all().filter(is_first).map(|(id, _)| id)
    }

    /// Returns all items with their times.
    fn all(&self) -> impl Iterator<Item = (usize, Time)> {
        let leaves = if self.times.is_empty() { &self.pairs[self.pairs.len() / 2..] } else { &[] };
        let of_leaves = leaves.iter().flatten().map(|entry| entry.at);
        of_leaves.chain(self.times.iter().copied()).map(Time::from_ns).enumerate()
    }

    /// Makes room for the items with numbers below `size`.
    pub fn grow(&mut self, size: usize) {
        if size > self.pairs.len().max(self.times.len()) {
            self.copy_into(Agenda::new(size));
        }
    }

    fn copy_into(&mut self, mut larger: Agenda) {
        let set = self.all().filter(|&(_, at)| at != Time::NEVER);
        set.for_each(|(id, at)| larger.set(id, at));
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn first_is_what_a_scan_finds(
            size in 1usize..90,
            in_blocks in [any::<bool>(), any::<bool>()],
            steps in prop::collection::vec((0usize..150, prop::option::of(0i64..9)), 0..200),
        ) {
            let mut agenda = Agenda::with(size, in_blocks[0]);
            let mut times = vec![Time::NEVER; size + 60];
            for (step, (id, at)) in steps.into_iter().enumerate() {
                if step == 100 {
                    agenda.copy_into(Agenda::with(size + 60, in_blocks[1]));
                }
                let id = id % if step < 100 { size } else { size + 60 };
                times[id] = at.map_or(Time::NEVER, Time::from_ns);
                agenda.set(id, times[id]);
                let present = (0..times.len()).map(|id| (times[id], id));
                let expected = present.min().filter(|(at, _)| *at < Time::NEVER);
                prop_assert_eq!(agenda.first(), expected.map(|(_, id)| id));
                let all = (0..times.len()).filter(|&id| Some(times[id]) == expected.map(|(at, _)| at));
                prop_assert!(agenda.all_first().eq(all));
                prop_assert_eq!(agenda.next(), expected.map_or(Time::NEVER, |(at, _)| at));
            }
        }
    }
}
