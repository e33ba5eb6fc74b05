//! Exact loads of bins that take rates up to one capacity.
//!
//! A bin of smaller capacity starts with a load: the difference to the common capacity. So the
//! fullest bin is always the one with the least room. An item may have another rate in the bins of
//! another class.

use layland_model::{Enclosed, Rate, RateSum};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Bins, Heuristic, Minima};

/// Loads of bins of one capacity. Sums are kept as enclosures ([`RateSum`]) and added up exactly
/// only if an enclosure does not decide a comparison.
///
/// Enclosures do not decide equal loads, which are frequent: tasks come in families with equal
/// rates, and empty bins are equal. Two shortcuts decide nearly all of these comparisons without a
/// sum: an exact sum that is kept as long as its terms have 64 bits, and a number for each distinct
/// history (bins that took equal rates in the same order have the same number).
pub(crate) struct Loads<'a, A> {
    /// The rates of the items in the bins of each class.
    classes: Vec<Vec<Enclosed<'a>>>,
    /// The class of each bin; empty if there is only one class.
    class_of: &'a [u32],
    /// Returns true if an item may use a bin.
    allowed: A,
    capacity: Enclosed<'a>,
    sums: Vec<RateSum>,
    /// For each bin [`RateSum::low`]: bins that are certainly full are skipped.
    lows: Minima<u128>,
    /// The shortcuts for comparisons; `None` if comparisons are rare.
    order: Option<OrderOfLoads<'a>>,
    /// The emptiest bin below each node of a binary tree, for heuristics that ask for it.
    emptiest: Option<Emptiest>,
}

/// The root is 1, the children of `k` are `2k` and `2k + 1`, and the leaves begin at `base`. A node
/// without bins has a number that is not a bin.
struct Emptiest {
    bins: Vec<usize>,
    base: usize,
}

impl Emptiest {
    /// Returns the tree of equally loaded bins.
    fn new(count: usize) -> Emptiest {
        let base = count.next_power_of_two();
        let mut bins = vec![usize::MAX; 2 * base];
        (0..count).for_each(|bin| bins[base + bin] = bin);
        for node in (1..base).rev() {
            bins[node] = bins[2 * node];
        }
        Emptiest { bins, base }
    }
}

/// The two shortcuts of [`Loads`].
struct OrderOfLoads<'a> {
    small: Vec<Option<(i64, i64)>>,
    history: Vec<usize>,
    /// Maps a history and the next rate to the extended history.
    histories: BTreeMap<(usize, &'a Rate), usize>,
}

impl<'a, A: Fn(usize, usize) -> bool> Loads<'a, A> {
    pub(crate) fn new(items: &'a [Rate], allowed: A, bins: usize, capacity: &'a Rate) -> Self {
        Loads::of_classes(vec![items], &[], allowed, bins, capacity)
    }

    /// Returns empty bins of these classes, with the rates of the items in each.
    pub(crate) fn of_classes(
        classes: Vec<&'a [Rate]>,
        class_of: &'a [u32],
        allowed: A,
        bins: usize,
        capacity: &'a Rate,
    ) -> Self {
        let negative = classes.iter().copied().flatten().find(|&rate| *rate < Rate::ZERO);
        assert!(negative.is_none(), "the rate of an item is negative: {negative:?}");
        let enclosed = |items: &'a [Rate]| items.iter().map(Enclosed::from).collect();
        Loads {
            classes: classes.into_iter().map(enclosed).collect(),
            class_of,
            allowed,
            capacity: capacity.into(),
            sums: vec![RateSum::default(); bins],
            lows: Minima::new(bins, 0, u128::MAX),
            order: Some(OrderOfLoads {
                small: vec![Some((0, 1)); bins],
                history: vec![0; bins],
                histories: BTreeMap::new(),
            }),
            emptiest: None,
        }
    }

    /// Adapts to a heuristic that may not compare loads. Comparisons are then equally exact but
    /// slower, and filling bins is cheaper.
    pub(crate) fn for_heuristic(mut self, heuristic: Heuristic) -> Self {
        if !heuristic.compares_loads() {
            self.order = None;
        }
        if matches!(heuristic, Heuristic::Wf | Heuristic::Wfd) {
            self.emptiest = Some(Emptiest::new(self.sums.len()));
        }
        self
    }

    /// Returns the rate of an item in a bin.
    #[inline]
    fn rate(&self, bin: usize, item: usize) -> Enclosed<'a> {
        match self.class_of.get(bin) {
            None => self.classes[0][item],
            Some(&class) => self.classes[class as usize][item],
        }
    }

    /// Adds a rate to the load of a bin.
    pub(crate) fn load(&mut self, bin: usize, rate: impl Into<Enclosed<'a>>) {
        let enclosed = rate.into();
        let rate = enclosed.rate();
        self.sums[bin].add(enclosed);
        self.lows.set(bin, self.sums[bin].low());
        if let Some(OrderOfLoads { small, history, histories }) = &mut self.order {
            small[bin] = small[bin].and_then(|(n, d)| (&Rate::new(n, d) + rate).as_i64_pair());
            let next = histories.len() + 1;
            history[bin] = *histories.entry((history[bin], rate)).or_insert(next);
        }
        self.sort_in(bin);
    }

    /// Finds the emptiest bins of the tree again, after the load of one has grown.
    fn sort_in(&mut self, bin: usize) {
        let Some(mut tree) = self.emptiest.take() else { return };
        let mut node = (tree.base + bin) / 2;
        while node >= 1 {
            let (left, right) = (tree.bins[2 * node], tree.bins[2 * node + 1]);
            let is_right =
                right < self.sums.len() && self.compare_load(right, left) == Ordering::Less;
            tree.bins[node] = if is_right { right } else { left };
            node /= 2;
        }
        self.emptiest = Some(tree);
    }

    /// Returns the lowest of the least loaded bins that the item may use.
    pub(crate) fn emptiest(&self, item: usize) -> Option<usize> {
        self.extreme(item, Ordering::Less)
    }

    /// Returns the lowest of the most loaded bins that the item may use.
    pub(crate) fn fullest(&self, item: usize) -> Option<usize> {
        self.extreme(item, Ordering::Greater)
    }

    fn extreme(&self, item: usize, wanted: Ordering) -> Option<usize> {
        (0..self.count())
            .filter(|&bin| (self.allowed)(item, bin))
            .reduce(|best, bin| if self.compare_load(bin, best) == wanted { bin } else { best })
    }

    /// Returns the number of bins that the item may use.
    pub(crate) fn allowed_count(&self, item: usize) -> usize {
        (0..self.count()).filter(|&bin| (self.allowed)(item, bin)).count()
    }
}

impl<A: Fn(usize, usize) -> bool> Bins for Loads<'_, A> {
    fn count(&self) -> usize {
        self.sums.len()
    }

    fn fits(&self, bin: usize, item: usize) -> bool {
        (self.allowed)(item, bin) && self.sums[bin].fits(self.rate(bin, item), self.capacity)
    }

    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        let Some(OrderOfLoads { small, history, .. }) = &self.order else {
            return self.sums[a].cmp_sum(&self.sums[b]);
        };
        if history[a] == history[b] {
            return Ordering::Equal;
        }
        match (small[a], small[b]) {
            (Some((n, d)), Some((p, q))) => {
                (i128::from(n) * i128::from(q)).cmp(&(i128::from(p) * i128::from(d)))
            }
            _ => self.sums[a].cmp_sum(&self.sums[b]),
        }
    }

    fn put(&mut self, bin: usize, item: usize) {
        self.load(bin, self.rate(bin, item));
    }

    fn emptiest_fit(&self, item: usize) -> Option<usize> {
        match &self.emptiest {
            _ if self.sums.is_empty() => None,
            // A bin of another class may take what the emptiest does not.
            _ if !self.class_of.is_empty() => {
                let fitting = (0..self.count()).filter(|&bin| self.fits(bin, item));
                fitting.reduce(|best, bin| {
                    if self.compare_load(bin, best) == Ordering::Less { bin } else { best }
                })
            }
            // The capacity is the same for all, so that no other bin takes what the emptiest does not.
            Some(tree) if (self.allowed)(item, tree.bins[1]) => {
                Some(tree.bins[1]).filter(|&bin| self.fits(bin, item))
            }
            Some(_) | None => self.emptiest(item).filter(|&bin| self.fits(bin, item)),
        }
    }

    fn first_fit(&self, bins: Range<usize>, item: usize) -> Option<usize> {
        // The bins of the class in which the item is smallest may be fullest.
        let of_class = |items: &Vec<Enclosed<'_>>| RateSum::most_before(items[item], self.capacity);
        let most = self.classes.iter().filter_map(of_class).max()?;
        let mut from = bins.start;
        while from < bins.end {
            let bin = self.lows.first_below(from, most + 1).filter(|bin| bins.contains(bin))?;
            if self.fits(bin, item) {
                return Some(bin);
            }
            from = bin + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a search through every bin.
        #[test]
        fn the_first_bin_with_room_is_found(
            rates in prop::collection::vec((0i64..=12, 1i64..=12), 1..60),
            bins in 1usize..20,
            from in 0usize..20,
            forbidden in 0usize..7,
        ) {
            let rates: Vec<Rate> = rates.iter().map(|&(n, d)| Rate::new(n.min(d + 1), d)).collect();
            let allowed = |item: usize, bin: usize| (item + bin) % 7 != forbidden;
            let mut loads = Loads::new(&rates, allowed, bins, &Rate::ONE).for_heuristic(Heuristic::Ff);
            for item in 0..rates.len() {
                for range in [0..bins, from.min(bins)..bins, 0..from.min(bins)] {
                    let slow = range.clone().find(|&bin| loads.fits(bin, item));
                    prop_assert_eq!(loads.first_fit(range, item), slow);
                }
                if let Some(bin) = loads.first_fit(0..bins, item) {
                    loads.put(bin, item);
                }
            }
        }

        /// Compares the emptiest bin with that of a search through every bin.
        #[test]
        fn the_emptiest_bin_is_found(
            rates in prop::collection::vec((0i64..=6, 1i64..=6), 1..60),
            bins in 1usize..20,
            forbidden in 0usize..7,
        ) {
            let rates: Vec<Rate> = rates.iter().map(|&(n, d)| Rate::new(n.min(d + 1), d)).collect();
            let allowed = |item: usize, bin: usize| (item + bin) % 7 != forbidden;
            let capacity = Rate::whole(3);
            let mut loads =
                Loads::new(&rates, allowed, bins, &capacity).for_heuristic(Heuristic::Wf);
            for item in 0..rates.len() {
                let fitting = (0..bins).filter(|&bin| loads.fits(bin, item));
                let slow = fitting.min_by_key(|&bin| (loads.sums[bin].exact(), bin));
                prop_assert_eq!(loads.emptiest_fit(item), slow);
                if let Some(bin) = slow {
                    loads.put(bin, item);
                }
            }
        }

        /// Comparisons have equal results with and without the shortcuts.
        #[test]
        fn comparisons_are_the_same(rates in prop::collection::vec((0i64..5, 1i64..9), 1..40)) {
            let rates: Vec<Rate> = rates.iter().map(|&(n, d)| Rate::new(n, d)).collect();
            let capacity = Rate::whole(1000);
            let mut quick = Loads::new(&rates, |_, _| true, 3, &capacity);
            let mut plain = Loads::new(&rates, |_, _| true, 3, &capacity).for_heuristic(Heuristic::Ff);
            for item in 0..rates.len() {
                quick.put(item % 3, item);
                plain.put(item % 3, item);
                for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                    prop_assert_eq!(quick.compare_load(a, b), plain.compare_load(a, b));
                }
            }
        }
    }
}
