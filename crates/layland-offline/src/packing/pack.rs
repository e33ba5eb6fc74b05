//! Rates into bins of one capacity: as many as fit into a given number of bins ([`pack`]), into as
//! few bins as the heuristic needs ([`pack_min`], for RUN), or into a given number of bins, some of
//! which may then exceed their capacity ([`pack_over`], for QPS).

use super::heuristic::Chooser;
use super::loads::Loads;
use crate::{Bins, Heuristic, NoRoom, place};
use layland_model::shown::{self, DIGITS};
use layland_model::{Rate, RateSum};
use std::fmt;

/// The load and the capacity of a bin.
#[derive(Debug, Clone)]
pub struct Spare {
    /// The bin.
    pub bin: usize,
    /// The sum of the rates in it.
    pub load: RateSum,
    /// The capacity of the bin.
    pub capacity: Rate,
}

impl Spare {
    /// Returns the exact remaining room. With thousands of unrelated periods in one bin, this is a
    /// long sum.
    pub fn free(&self) -> Rate {
        &self.capacity - &self.load.exact()
    }
}

/// An item that fits no bin it may use, and the loads of those bins.
#[derive(Debug, Clone, thiserror::Error)]
pub struct Unplaced {
    /// The item, as an index.
    pub item: usize,
    /// Its rate.
    pub rate: Rate,
    /// The number of bins that it may use.
    pub allowed: usize,
    /// The bin with the most room among these; `None` if it may use no bin.
    pub emptiest: Option<Spare>,
    /// The bin with the least room among these.
    pub fullest: Option<Spare>,
    /// The bin of each item that was placed before this one.
    pub placed: Vec<Option<usize>>,
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, left) = match &self.emptiest {
            None => (shown::number(&self.rate, DIGITS), String::new()),
            Some(spare) => shown::numbers((&self.rate, &spare.free()), DIGITS),
        };
        write!(f, "failed to place item {} of rate {rate}: ", self.item)?;
        match &self.emptiest {
            None => write!(f, "it may use no bin"),
            Some(Spare { bin, .. }) if self.allowed == 1 => {
                write!(f, "bin {bin}, the only one it may use, has {left} left")
            }
            Some(Spare { bin, .. }) => write!(
                f,
                "the emptiest of the {} bins it may use, bin {bin}, has {left} left",
                self.allowed,
            ),
        }
    }
}

impl Unplaced {
    /// Creates the error for items of these rates, with their rates in each bin.
    pub(crate) fn new<'r, A: Fn(usize, usize) -> bool>(
        no_room: NoRoom,
        items: &[Rate],
        in_bin: impl Fn(usize, usize) -> &'r Rate,
        loads: &Loads<'_, A>,
        capacity: impl Fn(usize) -> Rate,
    ) -> Box<Unplaced> {
        let NoRoom { item, placed } = no_room;
        let spare = |bin| {
            let mut load = RateSum::default();
            let held = placed.iter().enumerate().filter(|(_, at)| **at == Some(bin));
            held.for_each(|(item, _)| load.add(in_bin(item, bin)));
            Spare { bin, load, capacity: capacity(bin) }
        };
        let emptiest = loads.emptiest(item);
        Box::new(Unplaced {
            item,
            rate: emptiest.map_or_else(|| items[item].clone(), |bin| in_bin(item, bin).clone()),
            allowed: loads.allowed_count(item),
            emptiest: emptiest.map(spare),
            fullest: loads.fullest(item).map(spare),
            placed,
        })
    }
}

/// For [`pack`]: lets every item use every bin.
pub fn anywhere(_item: usize, _bin: usize) -> bool {
    true
}

/// Packs items into `bins` bins of one capacity, and returns the bin of each item.
/// `allowed(item, bin)` returns true if the item may use the bin. Exact.
///
/// # Panics
/// Panics if a rate is negative.
///
/// ```
/// use layland_model::Rate;
/// use layland_offline::{Heuristic, anywhere, pack};
/// let items = ["2/3", "1/2", "1/2", "1/3"].map(|text| text.parse::<Rate>().unwrap());
/// assert_eq!(pack(&items, anywhere, 2, Heuristic::Ff, &Rate::ONE).unwrap(), [0, 1, 1, 0]);
/// let error = pack(&items, anywhere, 2, Heuristic::Nf, &Rate::ONE).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "failed to place item 3 of rate 0.333: the emptiest of the 2 bins it may use, bin 0, \
///      has 0.333 left",
/// );
/// ```
pub fn pack(
    items: &[Rate],
    allowed: impl Fn(usize, usize) -> bool,
    bins: usize,
    heuristic: Heuristic,
    capacity: &Rate,
) -> Result<Vec<usize>, Box<Unplaced>> {
    let mut loads = Loads::new(items, allowed, bins, capacity).for_heuristic(heuristic);
    place(&mut loads, &heuristic.order(items), heuristic).map_err(|no_room| {
        Unplaced::new(no_room, items, |item, _| &items[item], &loads, |_| capacity.clone())
    })
}

/// Packs items of rate at most 1 into the smallest number K >= `at_least` of unit bins for which
/// the heuristic places them all; empty bins are then dropped, the others keep their order. Each
/// bin lists its items in the order in which they were placed. Exact.
///
/// Returns an error if an item is above 1.
///
/// ```
/// use layland_model::Rate;
/// use layland_offline::{Heuristic, pack_min};
/// let items = [Rate::new(3, 5), Rate::new(3, 5), Rate::new(2, 5)];
/// assert_eq!(pack_min(&items, 1, Heuristic::Ffd).unwrap(), [vec![0, 2], vec![1]]);
/// // Worst fit spreads the items over all the bins that it is given.
/// assert_eq!(pack_min(&items, 3, Heuristic::Wfd).unwrap(), [vec![0], vec![1], vec![2]]);
/// ```
pub fn pack_min(
    items: &[Rate],
    at_least: usize,
    heuristic: Heuristic,
) -> Result<Vec<Vec<usize>>, Box<Unplaced>> {
    let order = heuristic.order(items);
    if let Some(item) = items.iter().position(|rate| *rate > Rate::ONE) {
        let loads = Loads::new(items, anywhere, at_least.max(1), &Rate::ONE);
        let no_room = NoRoom { item, placed: vec![None; items.len()] };
        return Err(Unplaced::new(no_room, items, |item, _| &items[item], &loads, |_| Rate::ONE));
    }
    // If bins are opened on demand, the placement is equal for every sufficient K. Otherwise K
    // grows from a lower bound given by the sum of the rates; n bins are always enough.
    let most = at_least.max(items.len());
    let mut count =
        if heuristic.opens_on_demand() { most } else { at_least.max(whole_bins_needed(items)) };
    loop {
        let mut loads = Loads::new(items, anywhere, count, &Rate::ONE).for_heuristic(heuristic);
        if let Ok(bin_of) = place(&mut loads, &order, heuristic) {
            let mut bins = vec![Vec::new(); count];
            order.iter().for_each(|&item| bins[bin_of[item]].push(item));
            bins.retain(|bin| !bin.is_empty());
            return Ok(bins);
        }
        count += 1;
        assert!(count <= most, "items of rate at most 1 fit into as many bins");
    }
}

/// Returns a lower bound on the number of unit bins of any packing: the sum of the rates, each
/// rounded down to a multiple of 2^-30, rounded up.
fn whole_bins_needed(items: &[Rate]) -> usize {
    const GRID: i64 = 1 << 30;
    let grid = Rate::whole(GRID);
    let sum: i64 = items.iter().filter_map(|rate| (rate * &grid).floor()).sum();
    num_integer::Integer::div_ceil(&sum, &GRID) as usize
}

/// Packs items into exactly `bins` unit bins; an item that fits no bin goes to the emptiest one
/// (ties: the lowest), which it overfills. Each bin, empty ones included, lists its items in the
/// order in which they were placed. Exact.
///
/// # Panics
/// Panics if there are items but no bins, or a rate is negative.
///
/// ```
/// use layland_model::Rate;
/// use layland_offline::{Heuristic, pack_over};
/// let items = [Rate::new(2, 3), Rate::new(2, 3), Rate::new(2, 3)];
/// assert_eq!(pack_over(&items, 2, Heuristic::Ffd), [vec![0, 2], vec![1]]);
/// ```
pub fn pack_over(items: &[Rate], bins: usize, heuristic: Heuristic) -> Vec<Vec<usize>> {
    let mut loads = Loads::new(items, anywhere, bins, &Rate::ONE);
    let mut chooser = Chooser::new(heuristic);
    let mut packed = vec![Vec::new(); bins];
    for item in heuristic.order(items) {
        let bin = chooser
            .choose(&loads, item)
            .or_else(|| loads.emptiest(item))
            .expect("items need at least one bin");
        loads.put(bin, item);
        packed[bin].push(item);
    }
    packed
}
