//! [`Sorted`]: the entries of a run queue in their order.
//!
//! A run queue has a handful of threads: a sorted list of them takes two cache lines, and an
//! insertion or removal is a short move. From [`Sorted::FEW`] entries on they are in a tree, so
//! that O(log w) holds for any number.

use std::collections::BTreeSet;

/// See the file header.
#[derive(Clone, Debug)]
pub(super) enum Sorted<T> {
    /// In ascending order.
    Few(Vec<T>),
    Many(BTreeSet<T>),
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Sorted::Few(Vec::new())
    }
}

impl<T: Ord + Copy> Sorted<T> {
    /// The maximum number of entries in a list.
    const FEW: usize = 48;

    #[inline]
    pub(super) fn first(&self) -> Option<&T> {
        match self {
            Sorted::Few(list) => list.first(),
            Sorted::Many(tree) => tree.first(),
        }
    }

    /// Adds an entry. Has no effect if the entry is already contained, as in a tree.
    #[inline]
    pub(super) fn insert(&mut self, entry: T) {
        match self {
            Sorted::Few(list) if list.len() < Sorted::<T>::FEW => {
                let at = list.iter().rposition(|&other| other < entry).map_or(0, |at| at + 1);
                if list.get(at) != Some(&entry) {
                    list.insert(at, entry);
                }
            }
            Sorted::Few(_) => self.insert_into_tree(entry),
            Sorted::Many(tree) => {
                tree.insert(entry);
            }
        }
    }

    #[cold]
    fn insert_into_tree(&mut self, entry: T) {
        let mut tree: BTreeSet<T> = self.iter().copied().collect();
        tree.insert(entry);
        *self = Sorted::Many(tree);
    }

    /// Removes an entry, if it is contained.
    #[inline]
    pub(super) fn remove(&mut self, entry: &T) {
        match self {
            Sorted::Few(list) => {
                if let Some(at) = list.iter().position(|other| other == entry) {
                    list.remove(at);
                }
            }
            Sorted::Many(_) => self.remove_from_tree(entry),
        }
    }

    #[inline(never)]
    fn remove_from_tree(&mut self, entry: &T) {
        if let Sorted::Many(tree) = self {
            tree.remove(entry);
            // Far below the limit, so that a queue at the limit does not switch back and forth.
            if tree.len() <= Sorted::<T>::FEW / 4 {
                *self = Sorted::Few(tree.iter().copied().collect());
            }
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Sorted::Few(list) => list.len(),
            Sorted::Many(tree) => tree.len(),
        }
    }

    pub(super) fn contains(&self, entry: &T) -> bool {
        match self {
            Sorted::Few(list) => list.binary_search(entry).is_ok(),
            Sorted::Many(tree) => tree.contains(entry),
        }
    }

    /// Returns the first entry that `is_wanted` accepts.
    #[inline]
    pub(super) fn find(&self, mut is_wanted: impl FnMut(&T) -> bool) -> Option<&T> {
        match self {
            Sorted::Few(list) => list.iter().find(|entry| is_wanted(entry)),
            Sorted::Many(tree) => tree.iter().find(|entry| is_wanted(entry)),
        }
    }

    /// Returns the entries, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let (list, tree) = match self {
            Sorted::Few(list) => (Some(list), None),
            Sorted::Many(tree) => (None, Some(tree)),
        };
        list.into_iter().flatten().chain(tree.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a tree, with phases that fill and phases that empty it. An added entry may
        /// be contained already, and a removed one may be absent.
        #[test]
        fn is_a_set_in_order(steps in prop::collection::vec((0u32..200, 0u8..8), 0..600)) {
            let (mut sorted, mut tree) = (Sorted::default(), BTreeSet::new());
            for (step, (entry, chance)) in steps.into_iter().enumerate() {
                if chance < if step / 150 % 2 == 0 { 7 } else { 1 } {
                    tree.insert(entry);
                    sorted.insert(entry);
                } else {
                    tree.remove(&entry);
                    sorted.remove(&entry);
                }
                prop_assert!(sorted.iter().eq(&tree));
                prop_assert_eq!(sorted.find(|&other| other > entry), tree.range(entry + 1..).next());
                prop_assert_eq!((sorted.first(), sorted.len()), (tree.first(), tree.len()));
                prop_assert_eq!(sorted.contains(&entry), tree.contains(&entry));
                prop_assert_eq!(sorted.is_empty(), tree.is_empty());
            }
        }
    }
}
