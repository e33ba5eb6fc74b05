//! A tournament tree: the best of a fixed set of keys, each of which changes often.

use std::marker::PhantomData;

/// Which of two keys wins. Between equal keys the place in the tree decides.
pub trait Rule: Copy {
    /// The key of a leaf that takes no part.
    const ABSENT: i64;
    /// Whether the key on the left wins against the key on the right.
    fn left_wins(left: i64, right: i64) -> bool;
}

/// The smallest key wins; among equal keys the first leaf.
#[derive(Clone, Copy, Debug)]
pub struct SmallestFirst;
impl Rule for SmallestFirst {
    const ABSENT: i64 = i64::MAX;
    #[inline(always)]
    fn left_wins(left: i64, right: i64) -> bool {
        left <= right
    }
}

/// The largest key wins; among equal keys the last leaf.
#[derive(Clone, Copy, Debug)]
pub struct LargestLast;
impl Rule for LargestLast {
    const ABSENT: i64 = i64::MIN;
    #[inline(always)]
    fn left_wins(left: i64, right: i64) -> bool {
        left > right
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    key: i64,
    leaf: u32,
}

/// A complete binary tree whose inner nodes hold the winner of the leaves below. Reading the best
/// is O(1); changing a key is O(log n), without a branch that depends on the keys.
///
/// ```
/// use layland_model::{SmallestFirst, Tournament};
/// let mut tree = Tournament::<SmallestFirst>::new(3);
/// tree.set(0, 7);
/// tree.set(2, 7);
/// assert_eq!(tree.best(), Some((0, 7)));
/// tree.clear(0);
/// assert_eq!(tree.best(), Some((2, 7)));
/// ```
#[derive(Clone, Debug)]
pub struct Tournament<R> {
    /// Node 1 is the root, the children of `i` are `2i` and `2i + 1`, the leaves come last.
    nodes: Vec<Node>,
    leaves: usize,
    rule: PhantomData<R>,
}

impl<R: Rule> Tournament<R> {
    /// A tree with `leaves` leaves, none of which takes part.
    pub fn new(leaves: usize) -> Self {
        let width = leaves.next_power_of_two();
        let node = |leaf: usize| Node { key: R::ABSENT, leaf: leaf as u32 };
        let mut nodes = vec![node(0); 2 * width];
        for leaf in 0..width {
            nodes[width + leaf] = node(leaf);
        }
        let mut tree = Self { nodes, leaves: width, rule: PhantomData };
        (1..width).rev().for_each(|parent| tree.play(parent));
        tree
    }

    #[inline(always)]
    fn play(&mut self, parent: usize) {
        let (left, right) = (self.nodes[2 * parent], self.nodes[2 * parent + 1]);
        self.nodes[parent] = if R::left_wins(left.key, right.key) { left } else { right };
    }

    /// Gives a leaf a key.
    #[inline]
    pub fn set(&mut self, leaf: usize, key: i64) {
        let mut node = self.leaves + leaf;
        self.nodes[node].key = key;
        while node > 1 {
            node /= 2;
            self.play(node);
        }
    }

    /// Takes a leaf out.
    #[inline]
    pub fn clear(&mut self, leaf: usize) {
        self.set(leaf, R::ABSENT);
    }

    /// The key of a leaf; [`Rule::ABSENT`] if it takes no part.
    #[inline]
    pub fn key(&self, leaf: usize) -> i64 {
        self.nodes[self.leaves + leaf].key
    }

    /// The winning leaf and its key, if any takes part.
    #[inline]
    pub fn best(&self) -> Option<(usize, i64)> {
        let best = self.nodes[1];
        (best.key != R::ABSENT).then_some((best.leaf as usize, best.key))
    }

    /// The winning key; [`Rule::ABSENT`] if none takes part.
    #[inline]
    pub fn best_key(&self) -> i64 {
        self.nodes[1].key
    }

    /// Makes room for at least this many leaves.
    pub fn grow(&mut self, leaves: usize) {
        if leaves > self.leaves {
            let mut larger = Self::new(leaves);
            for leaf in 0..self.leaves {
                larger.nodes[larger.leaves + leaf].key = self.key(leaf);
            }
            (1..larger.leaves).rev().for_each(|parent| larger.play(parent));
            *self = larger;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn best_is_what_a_scan_finds(n in 1usize..40, steps in prop::collection::vec((0usize..40, prop::option::of(-5i64..5)), 0..80)) {
            let (mut low, mut high) = (Tournament::<SmallestFirst>::new(n), Tournament::<LargestLast>::new(n));
            let mut keys = vec![None; n];
            for (at, (leaf, key)) in steps.into_iter().enumerate() {
                let leaf = leaf % n;
                keys[leaf] = key;
                match key {
                    Some(key) => { low.set(leaf, key); high.set(leaf, key); }
                    None => { low.clear(leaf); high.clear(leaf); }
                }
                if at == 20 { low.grow(n + 30); }
                let present = || keys.iter().enumerate().filter_map(|(leaf, key)| Some((leaf, (*key)?)));
                prop_assert_eq!(low.best(), present().min_by_key(|&(leaf, key)| (key, leaf)));
                prop_assert_eq!(high.best(), present().max_by_key(|&(leaf, key)| (key, leaf)));
            }
        }
    }
}
