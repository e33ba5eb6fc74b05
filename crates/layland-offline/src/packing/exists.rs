//! Existence of a partition: exhaustive search, for small sets.
//!
//! The decision is NP-complete (bin packing). The search places the tasks by decreasing density,
//! each onto the CPUs in ascending order, and cuts a branch
//!
//! - if a CPU is interchangeable with one that failed: both have equal speed and room, and every task
//!   may use both or neither;
//! - if the remaining tasks need more than the room on the CPUs that can still take the smallest of
//!   them.
//!
//! In the worst case there are `m^n` nodes for `n` tasks on `m` CPUs (`m^n / m!` if they are
//! identical). The lexicographically first partition follows from any partition by fixing the tasks
//! in order, each on the lowest CPU for which the search still places the rest.

use super::partition::Sizes;
use layland_model::{CpuId, Index, Rate, System, TaskMap};
use num_bigint::BigInt;
use num_integer::Integer;
use std::ops::{Add, Sub};

/// The result of the search for a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Existence {
    /// A partition exists; this is the first one. Any other has a higher CPU for the first task at
    /// which they differ, with tasks in the order of [`System::by_rank`].
    Partition(TaskMap<CpuId>),
    /// No partition exists.
    NoPartition,
    /// The search gave up after this many nodes.
    Unknown {
        /// The number of nodes that were visited, which are placements of one task on one CPU.
        nodes: u64,
    },
}

/// Searches at most `limit` nodes for a placement of the tasks such that the densities on each CPU
/// sum to at most its speed, where `C` counts as `s ceil(C / s)` on a CPU of speed `s`. Exact, except
/// for [`Existence::Unknown`].
///
/// ```
/// use layland_model::{CpuId, Duration, Service, System, Task};
/// use layland_offline::{Existence, Heuristic, exists_partition, partition};
/// // First fit decreasing puts 3 with 3 and then fails; 3 + 2 + 2 twice fits.
/// let tasks = [3, 3, 2, 2, 2, 2]
///     .iter().enumerate()
///     .map(|(i, &c)| Task::implicit(i.to_string(), Service::from_ms(c), Duration::from_ms(7)))
///     .collect();
/// let system = System::new(2, tasks);
/// assert!(partition(&system, Heuristic::Ffd).is_err());
/// let first = [0, 1, 0, 0, 1, 1].map(CpuId).to_vec().into();
/// assert_eq!(exists_partition(&system, 1_000), Existence::Partition(first));
/// assert_eq!(exists_partition(&system, 3), Existence::Unknown { nodes: 3 });
/// ```
pub fn exists_partition(system: &System, limit: u64) -> Existence {
    let sizes = Sizes::new(system);
    let cpus = system.platform.cpu_count();
    let allowed: Vec<Vec<bool>> = (0..sizes.tasks.len())
        .map(|item| {
            let set = sizes.allowed(item);
            (0..cpus).map(|cpu| set.contains(CpuId::from_index(cpu))).collect()
        })
        .collect();
    let speeds: Vec<Rate> = system.platform.speeds.values().map(|speed| speed.rate()).collect();
    let all: Vec<Rate> = sizes.classes().flatten().cloned().collect();
    let classes = sizes.class_of.as_slice();
    let found = match scale(&all, &speeds) {
        Some((items, free)) => Search::new(items, classes, free, allowed, 0, limit).first(),
        None => match scale_any(&all, &speeds) {
            Some((items, free)) => {
                Search::new(items, classes, free, allowed, BigInt::ZERO, limit).first()
            }
            None => Search::new(all, classes, speeds, allowed, Rate::ZERO, limit).first(),
        },
    };
    match found {
        Ok(Some(bins)) => Existence::Partition(sizes.by_task(bins, CpuId::from_index)),
        Ok(None) => Existence::NoPartition,
        Err(GaveUp) => Existence::Unknown { nodes: limit },
    }
}

/// Converts densities and speeds to integers over their common denominator, if these and their sums
/// fit.
fn scale(densities: &[Rate], speeds: &[Rate]) -> Option<(Vec<i128>, Vec<i128>)> {
    let pairs = |rates: &[Rate]| rates.iter().map(Rate::as_i64_pair).collect::<Option<Vec<_>>>();
    let (densities, speeds) = (pairs(densities)?, pairs(speeds)?);
    let mut common = 1i128;
    for &(_, d) in densities.iter().chain(&speeds) {
        let d = i128::from(d);
        common = common.checked_mul(d / common.gcd(&d))?;
    }
    let mut total = 0i128;
    let mut scaled = |pairs: Vec<(i64, i64)>| -> Option<Vec<i128>> {
        let scale = |(n, d)| (common / i128::from(d)).checked_mul(i128::from(n));
        let scaled = pairs.into_iter().map(scale).collect::<Option<Vec<_>>>()?;
        total = scaled.iter().try_fold(total, |total, x| total.checked_add(*x))?;
        Some(scaled)
    };
    Some((scaled(densities)?, scaled(speeds)?))
}

/// Converts densities and speeds to integers over their common denominator, of any size. Integers
/// are only added, whereas sums of fractions would be reduced at every node.
fn scale_any(densities: &[Rate], speeds: &[Rate]) -> Option<(Vec<BigInt>, Vec<BigInt>)> {
    let pairs = |rates: &[Rate]| rates.iter().map(Rate::as_i64_pair).collect::<Option<Vec<_>>>();
    let (densities, speeds) = (pairs(densities)?, pairs(speeds)?);
    let mut common = BigInt::from(1);
    for &(_, d) in densities.iter().chain(&speeds) {
        let d = BigInt::from(d);
        let rest = &common % &d;
        if rest != BigInt::ZERO {
            common *= &d / rest.gcd(&d);
        }
    }
    let scale = |(n, d): (i64, i64)| &common / d * n;
    let scaled = |pairs: Vec<(i64, i64)>| pairs.into_iter().map(scale).collect();
    Some((scaled(densities), scaled(speeds)))
}

struct GaveUp;

/// The state of a search. Sizes are integers over a common denominator if there is one, otherwise
/// rates.
struct Search<'a, T> {
    /// The sizes of the items on the CPUs of each class.
    classes: Vec<Vec<T>>,
    /// The class of each CPU; empty if there is only one class.
    class_of: &'a [u32],
    /// The least size of each item.
    least: Vec<T>,
    /// The remaining room of each CPU.
    free: Vec<T>,
    zero: T,
    /// True if an item (outer) may use a CPU (inner).
    allowed: Vec<Vec<bool>>,
    /// For two CPUs, true if every item may use both or neither.
    alike: Vec<Vec<bool>>,
    /// The number of nodes that may still be visited.
    left: u64,
}

impl<'a, T> Search<'a, T>
where
    T: Clone + Ord,
    for<'t> &'t T: Add<&'t T, Output = T> + Sub<&'t T, Output = T>,
{
    /// Prepares a search for the items of all classes, one class after the other.
    fn new(
        all: Vec<T>,
        class_of: &'a [u32],
        free: Vec<T>,
        allowed: Vec<Vec<bool>>,
        zero: T,
        left: u64,
    ) -> Self {
        let same_class = |a: usize, b: usize| class_of.is_empty() || class_of[a] == class_of[b];
        let alike =
            |a: usize, b: usize| same_class(a, b) && allowed.iter().all(|row| row[a] == row[b]);
        let cpus = 0..free.len();
        let alike = cpus.clone().map(|a| cpus.clone().map(|b| alike(a, b)).collect()).collect();
        let count = allowed.len();
        let classes: Vec<Vec<T>> = all.chunks(count.max(1)).map(<[T]>::to_vec).collect();
        let sizes = |item: usize| classes.iter().map(move |class| &class[item]);
        let least = (0..count).filter_map(|item| sizes(item).min().cloned()).collect();
        Search { classes, class_of, least, free, zero, allowed, alike, left }
    }

    /// Returns the size of an item on a CPU.
    fn size(&self, item: usize, bin: usize) -> &T {
        let class = self.class_of.get(bin).map_or(0, |&class| class as usize);
        &self.classes[class][item]
    }

    /// Returns the lexicographically first partition.
    fn first(&mut self) -> Result<Option<Vec<usize>>, GaveUp> {
        // The largest items have the fewest CPUs to choose from, so dead ends appear early.
        let mut by_size: Vec<usize> = (0..self.least.len()).collect();
        by_size.sort_by(|&a, &b| self.least[b].cmp(&self.least[a]));
        let mut witness = vec![0; self.least.len()];
        if !self.complete(&by_size, &self.needs(&by_size), &mut witness)? {
            return Ok(None);
        }
        for item in 0..self.least.len() {
            // The current partition agrees with the first one on every item before this one.
            by_size.retain(|&other| other != item);
            let needs = self.needs(&by_size);
            // Only a lower CPU than that of the witness can improve it.
            for bin in self.candidates(item) {
                if bin >= witness[item] {
                    break;
                }
                let mut other = witness.clone();
                other[item] = bin;
                let before = self.take(item, bin)?;
                let found = self.complete(&by_size, &needs, &mut other)?;
                self.free[bin] = before;
                if found {
                    witness = other;
                    break;
                }
            }
            let bin = witness[item];
            self.free[bin] = &self.free[bin] - self.size(item, bin);
        }
        Ok(Some(witness))
    }

    /// Returns for each of these items the sum of its least size and those of the items after it.
    fn needs(&self, items: &[usize]) -> Vec<T> {
        let mut sum = self.zero.clone();
        let mut needs: Vec<T> = (items.iter().rev())
            .map(|&item| {
                sum = &sum + &self.least[item];
                sum.clone()
            })
            .collect();
        needs.reverse();
        needs
    }

    /// Places these items, which decrease in their least size and have these [`needs`](Self::needs). Returns
    /// true if this is possible. Leaves `free` unchanged.
    fn complete(
        &mut self,
        items: &[usize],
        needs: &[T],
        bin_of: &mut [usize],
    ) -> Result<bool, GaveUp> {
        let Some((&item, rest)) = items.split_first() else { return Ok(true) };
        if !self.enough(items, &needs[0]) {
            return Ok(false);
        }
        for bin in self.candidates(item) {
            let before = self.take(item, bin)?;
            bin_of[item] = bin;
            let found = self.complete(rest, &needs[1..], bin_of);
            self.free[bin] = before;
            if found? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the CPUs for an item, ascending, without those that are interchangeable with a lower
    /// one.
    fn candidates(&self, item: usize) -> Vec<usize> {
        let mut candidates: Vec<usize> = Vec::new();
        for bin in 0..self.free.len() {
            let same =
                |&lower: &usize| self.alike[lower][bin] && self.free[lower] == self.free[bin];
            if self.allowed[item][bin]
                && *self.size(item, bin) <= self.free[bin]
                && !candidates.iter().any(same)
            {
                candidates.push(bin);
            }
        }
        candidates
    }

    /// Returns true if the items need at most the total room of the CPUs on which the smallest of
    /// them still fits.
    fn enough(&self, items: &[usize], need: &T) -> bool {
        let Some(&smallest) = items.last() else { return true };
        // A CPU with less room than the smallest item is of no use to any of them.
        let smallest = &self.least[smallest];
        let usable = self.free.iter().filter(|free| *free >= smallest);
        let usable = usable.fold(self.zero.clone(), |sum, free| &sum + free);
        *need <= usable
    }

    /// Visits a node: subtracts the item from the room of the CPU, and returns the previous room.
    fn take(&mut self, item: usize, bin: usize) -> Result<T, GaveUp> {
        self.left = self.left.checked_sub(1).ok_or(GaveUp)?;
        let after = &self.free[bin] - self.size(item, bin);
        Ok(std::mem::replace(&mut self.free[bin], after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_beyond_128_bits_find_what_fractions_find() {
        let primes: Vec<i64> =
            (1_000_003i64..).filter(|n| (2..=1001).all(|d| n % d != 0)).take(12).collect();
        let (mut found, mut none, mut gave_up) = (0, 0, 0);
        for percent in (10..50).step_by(3) {
            let sizes: Vec<Rate> = (primes.iter().enumerate())
                .map(|(at, &period)| {
                    Rate::new(period * (percent + 3 * at as i64 % 17) / 100, period)
                })
                .collect();
            let speeds = vec![Rate::ONE; 4];
            assert!(scale(&sizes, &speeds).is_none(), "128 bits must not suffice");
            let (items, free) = scale_any(&sizes, &speeds).expect("the parts are short");
            // The first item may not use the first CPU, so that not all CPUs are alike.
            let allowed: Vec<Vec<bool>> =
                (0..sizes.len()).map(|item| (0..4).map(|cpu| item + cpu > 0).collect()).collect();
            let whole = Search::new(items, &[], free, allowed.clone(), BigInt::ZERO, 3_000).first();
            let fractions = Search::new(sizes, &[], speeds, allowed, Rate::ZERO, 3_000).first();
            match (whole, fractions) {
                (Ok(whole), Ok(fractions)) => {
                    assert_eq!(whole, fractions, "{percent} %");
                    if whole.is_some() { found += 1 } else { none += 1 }
                }
                (Err(GaveUp), Err(GaveUp)) => gave_up += 1,
                (Ok(_), Err(GaveUp)) | (Err(GaveUp), Ok(_)) => panic!("{percent} %: one gave up"),
            }
        }
        assert!(found > 2 && none > 2, "{found} found, {none} have none, {gave_up} gave up");
    }
}
