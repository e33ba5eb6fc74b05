//! [`Minima`]: many numbers, with a search for the first one that is small enough.

/// A number for each position, and the least of these numbers below each node of a binary tree.
/// Changing a number, and finding the first position from a given one on whose number is below a
/// bound, take O(log n).
///
/// ```
/// use layland_offline::Minima;
/// let mut minima = Minima::new(5, 7, i64::MAX);
/// minima.set(2, 3);
/// minima.set(4, 1);
/// assert_eq!(minima.first_below(0, 4), Some(2));
/// assert_eq!(minima.first_below(3, 4), Some(4));
/// assert_eq!(minima.first_below(3, 8), Some(3));
/// assert_eq!(minima.first_below(0, 1), None);
/// ```
#[derive(Clone, Debug)]
pub struct Minima<K> {
    /// The root is 1, the children of `k` are `2k` and `2k + 1`, and the leaves begin at `base`.
    least: Vec<K>,
    base: usize,
}

impl<K: Copy + Ord> Minima<K> {
    /// Creates this number of positions with one number. No number may be above `most`.
    pub fn new(places: usize, number: K, most: K) -> Minima<K> {
        let base = places.next_power_of_two();
        let mut minima = Minima { least: vec![most; 2 * base], base };
        minima.least[base..base + places].fill(number);
        for node in (1..base).rev() {
            minima.least[node] = minima.below(node);
        }
        minima
    }

    /// Returns the least number below a node that is not a leaf.
    fn below(&self, node: usize) -> K {
        self.least[2 * node].min(self.least[2 * node + 1])
    }

    /// Returns the least number of all positions.
    pub fn least(&self) -> K {
        self.least[1]
    }

    /// Changes the number of a position.
    pub fn set(&mut self, place: usize, number: K) {
        let mut node = self.base + place;
        self.least[node] = number;
        while node > 1 {
            node /= 2;
            let least = self.below(node);
            if self.least[node] == least {
                return;
            }
            self.least[node] = least;
        }
    }

    /// Returns the first position from this one on whose number is below a bound, which is at most
    /// `most`.
    pub fn first_below(&self, from: usize, bound: K) -> Option<usize> {
        if from >= self.base {
            return None;
        }
        let mut node = self.base + from;
        while self.least[node] >= bound {
            // Go to the next tree on the right. A right child has none except beside an ancestor.
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < self.base {
            node *= 2;
            node += usize::from(self.least[node] >= bound);
        }
        Some(node - self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a search through all positions.
        #[test]
        fn the_first_is_what_a_search_finds(
            places in 1usize..40,
            steps in prop::collection::vec((0usize..40, 0u32..20, 0usize..45, 0u32..=20), 1..100),
        ) {
            let mut minima = Minima::new(places, 10, 20);
            let mut numbers = vec![10; places];
            for (place, number, from, bound) in steps {
                minima.set(place % places, number);
                numbers[place % places] = number;
                let slow = (from..places).find(|&place| numbers[place] < bound);
                prop_assert_eq!(minima.first_below(from, bound), slow);
            }
        }
    }
}
