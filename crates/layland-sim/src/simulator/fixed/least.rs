//! [`Least`]: the least of many words, of which one changes at a time.

use std::hint::select_unpredictable;

/// More than every word.
pub(super) const NEVER: u64 = u64::MAX;

/// Returns the smaller word. The comparison is unpredictable, so avoid a branch.
#[inline(always)]
pub(super) fn smaller(a: u64, b: u64) -> u64 {
    select_unpredictable(a < b, a, b)
}

/// A tournament: every node has the smaller word of its two children. Its height is fixed, so that a
/// change takes the same steps whatever the words are, and no branch is mispredicted.
#[derive(Debug)]
pub(super) struct Least {
    /// The number of places, a power of two.
    half: usize,
    /// The root is at 1, and the places begin at `half`.
    nodes: Vec<u64>,
}

impl Least {
    /// Returns places with [`NEVER`].
    pub(super) fn new(size: usize) -> Least {
        let half = size.next_power_of_two().max(2);
        Least { half, nodes: vec![NEVER; 2 * half] }
    }

    /// Returns the least word.
    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        self.nodes[1]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, place: usize, word: u64) {
        let mut node = self.half + place;
        // The length is even, so that a sibling is in bounds wherever a node is.
        let nodes = &mut self.nodes[..2 * self.half];
        let mut least = word;
        nodes[node] = least;
        while node > 1 {
            least = smaller(least, nodes[node ^ 1]);
            node >>= 1;
            nodes[node] = least;
        }
    }
}
