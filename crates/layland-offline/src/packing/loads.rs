//! Exact loads of bins that take rates up to one capacity.
//!
//! A bin of smaller capacity starts with a load: what it lacks to the common one. So "fullest" is
//! always "with the least left".

use layland_model::{Rate, RateSum};
use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::Bins;

/// Loads of bins of one capacity. Sums are kept as enclosures ([`RateSum`]) and added up exactly
/// only where an enclosure cannot tell.
///
/// Equal loads are where an enclosure cannot tell, and they are frequent: tasks come in families
/// with equal rates, and empty bins are equal. Two shortcuts decide nearly all of them without a
/// sum: an exact sum that is kept for as long as it has 64-bit terms, and a number for each
/// distinct history (bins that took equal rates in the same order have the same number).
pub(crate) struct Loads<'a, A> {
    items: &'a [Rate],
    /// Whether an item may use a bin.
    allowed: A,
    capacity: &'a Rate,
    sums: Vec<RateSum>,
    small: Vec<Option<(i64, i64)>>,
    history: Vec<usize>,
    /// From a history and the next rate to the history with it.
    histories: BTreeMap<(usize, &'a Rate), usize>,
}

impl<'a, A: Fn(usize, usize) -> bool> Loads<'a, A> {
    pub(crate) fn new(items: &'a [Rate], allowed: A, bins: usize, capacity: &'a Rate) -> Self {
        let negative = items.iter().find(|&rate| *rate < Rate::ZERO);
        assert!(negative.is_none(), "the rate of an item is negative: {negative:?}");
        Loads {
            items,
            allowed,
            capacity,
            sums: vec![RateSum::default(); bins],
            small: vec![Some((0, 1)); bins],
            history: vec![0; bins],
            histories: BTreeMap::new(),
        }
    }

    /// Adds a rate to the load of a bin.
    pub(crate) fn load(&mut self, bin: usize, rate: &'a Rate) {
        self.sums[bin].add(rate);
        self.small[bin] =
            self.small[bin].and_then(|(n, d)| (&Rate::new(n, d) + rate).as_i64_pair());
        let next = self.histories.len() + 1;
        self.history[bin] = *self.histories.entry((self.history[bin], rate)).or_insert(next);
    }

    /// The lowest of the least loaded bins that the item may use.
    pub(crate) fn emptiest(&self, item: usize) -> Option<usize> {
        self.extreme(item, Ordering::Less)
    }

    /// The lowest of the most loaded bins that the item may use.
    pub(crate) fn fullest(&self, item: usize) -> Option<usize> {
        self.extreme(item, Ordering::Greater)
    }

    fn extreme(&self, item: usize, wanted: Ordering) -> Option<usize> {
        (0..self.count())
            .filter(|&bin| (self.allowed)(item, bin))
            .reduce(|best, bin| if self.compare_load(bin, best) == wanted { bin } else { best })
    }

    /// How many bins the item may use.
    pub(crate) fn allowed_count(&self, item: usize) -> usize {
        (0..self.count()).filter(|&bin| (self.allowed)(item, bin)).count()
    }
}

impl<A: Fn(usize, usize) -> bool> Bins for Loads<'_, A> {
    fn count(&self) -> usize {
        self.sums.len()
    }

    fn fits(&self, bin: usize, item: usize) -> bool {
        (self.allowed)(item, bin) && self.sums[bin].fits(&self.items[item], self.capacity)
    }

    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        if self.history[a] == self.history[b] {
            return Ordering::Equal;
        }
        match (self.small[a], self.small[b]) {
            (Some((n, d)), Some((p, q))) => {
                (i128::from(n) * i128::from(q)).cmp(&(i128::from(p) * i128::from(d)))
            }
            _ => self.sums[a].cmp_sum(&self.sums[b]),
        }
    }

    fn put(&mut self, bin: usize, item: usize) {
        let items = self.items;
        self.load(bin, &items[item]);
    }
}
