//! The load that a CPU can take under EDF: the processor-demand criterion (Baruah, Mok and Rosier
//! 1990) with the search of QPA (Zhang and Burns 2009), exact for sporadic tasks with deadlines up
//! to their periods; and the largest budgets that still fit.
//!
//! The lengths of searches are bounded: a load whose search takes longer counts as one that does
//! not fit.

use layland_model::{Rate, RateSum, Task};
use std::cmp::Ordering;

/// A sporadic task or a piece of one, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SporadicLoad {
    pub wcet: i64,
    pub deadline: i64,
    pub period: i64,
}

/// The maximum number of lengths that are examined, and of steps to a busy period.
const STEPS: usize = 100_000;

/// Rates are counted in units of `2^-SHIFT`, rounded up.
const SHIFT: u32 = 62;
const ONE: u128 = 1 << SHIFT;

impl SporadicLoad {
    pub(super) fn of(task: &Task) -> SporadicLoad {
        let (wcet, deadline) = (task.own_wcet().ns(), task.deadline.ns());
        SporadicLoad { wcet, deadline, period: task.period.ns() }
    }

    fn utilization(&self) -> Rate {
        Rate::new(self.wcet, self.period)
    }

    /// Returns `wcet / by` in units of `2^-SHIFT`, rounded up.
    fn above(&self, by: i64) -> u128 {
        ((self.wcet as u128) << SHIFT).div_ceil(by as u128)
    }

    /// Returns the work of all jobs that arrive and are due in an interval of this length.
    fn demand(&self, length: i64) -> i64 {
        if length < self.deadline {
            0
        } else {
            ((length - self.deadline) / self.period + 1).saturating_mul(self.wcet)
        }
    }

    /// Returns the last deadline before a length, for jobs that arrive at the start of the interval
    /// and periodically after it.
    fn last_due_before(&self, length: i64) -> Option<i64> {
        let room = length - 1 - self.deadline;
        (room >= 0).then(|| self.deadline + room / self.period * self.period)
    }
}

/// The loads of a CPU.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    loads: Vec<SporadicLoad>,
    /// The sum of the utilizations.
    sum: RateSum,
    /// Upper bounds on the sum of the utilizations and on the sum of the densities, in units of
    /// `2^-SHIFT`.
    utilization: u128,
    density: u128,
    /// The minimum laxity of a load in its own window.
    least_laxity: i64,
}

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu {
            loads: Vec::new(),
            sum: RateSum::default(),
            utilization: 0,
            density: 0,
            least_laxity: i64::MAX,
        }
    }
}

impl Cpu {
    pub(super) fn put(&mut self, load: SporadicLoad) {
        self.loads.push(load);
        self.sum.add(&load.utilization());
        self.utilization += load.above(load.period);
        self.density += load.above(load.deadline);
        self.least_laxity = self.least_laxity.min(load.deadline - load.wcet);
    }

    /// Compares the loads of two CPUs by their sums of utilizations, exactly.
    pub(super) fn compare_load(&self, other: &Cpu) -> Ordering {
        self.sum.cmp_sum(&other.sum)
    }

    /// Returns the share of the CPU that is left, exactly.
    pub(super) fn left(&self) -> Rate {
        &Rate::ONE - &self.sum.exact()
    }

    /// Returns the maximum time that a task of this period can get here in each period.
    pub(super) fn room(&self, period: i64) -> i64 {
        (&self.left() * &Rate::whole(period)).floor().map_or(0, |room| room.clamp(0, period))
    }

    /// Returns true if EDF meets all deadlines with this additional load.
    pub(super) fn fits(&self, more: SporadicLoad) -> bool {
        if more.wcet > more.deadline || !self.sum.fits(&more.utilization(), &Rate::ONE) {
            return false;
        }
        if self.density + more.above(more.deadline) <= ONE {
            return true;
        }
        let all = || self.loads.iter().copied().chain([more]);
        if all().all(|load| load.deadline >= load.period) {
            return true;
        }
        // In its own window, a load without laxity leaves no time to another load; the other's
        // deadline must be later.
        if more.deadline == more.wcet && self.loads.iter().any(|load| load.deadline <= more.wcet) {
            return false;
        }
        match self.longest(more) {
            None => false,
            Some(longest) => is_met(all, longest),
        }
    }

    /// Returns a length from which on the demand always fits: the shorter of the synchronous busy
    /// period and the bound by the utilization.
    fn longest(&self, more: SporadicLoad) -> Option<i64> {
        let all = || self.loads.iter().copied().chain([more]);
        let utilization = self.utilization + more.above(more.period);
        let by_load = ONE.checked_sub(utilization).filter(|&left| left > 0).and_then(|left| {
            let gap = |load: SporadicLoad| {
                let product =
                    i128::from(load.period - load.deadline).max(0) * i128::from(load.wcet);
                num_integer::Integer::div_ceil(&product, &i128::from(load.period)) as u128
            };
            let sum: u128 = all().map(gap).sum();
            let bound = sum.checked_mul(ONE)?.div_ceil(left);
            i64::try_from(bound).ok()
        });
        let mut busy: i64 = all().map(|load| load.wcet).fold(0, i64::saturating_add);
        for _ in 0..STEPS {
            if by_load.is_some_and(|bound| busy >= bound) || busy == i64::MAX {
                return by_load;
            }
            let work = |load: SporadicLoad| {
                num_integer::Integer::div_ceil(&busy, &load.period).saturating_mul(load.wcet)
            };
            let next = all().map(work).fold(0, i64::saturating_add);
            if next == busy {
                return Some(busy);
            }
            busy = next;
        }
        by_load
    }

    /// Returns the largest budget up to `most` with which a piece without laxity, of a task of this
    /// period, fits. If a budget fits, so does every smaller one: nothing else is due before the
    /// end of the piece, and later the smaller budget compensates for the shorter window, period by
    /// period.
    pub(super) fn zero_laxity(&self, period: i64, most: i64) -> i64 {
        // The window of each load must have room for both.
        let most = most.min(self.least_laxity).min(self.room(period));
        largest(most, |budget| self.fits(SporadicLoad { wcet: budget, deadline: budget, period }))
    }

    /// Returns the largest budget that fits in a window of this length, at most `most`.
    pub(super) fn budget(&self, window: i64, period: i64, most: i64) -> i64 {
        let most = most.min(window).min(self.room(period));
        largest(most, |budget| self.fits(SporadicLoad { wcet: budget, deadline: window, period }))
    }
}

/// Runs QPA from the last deadline up to the longest length down, as long as the demand is met.
fn is_met<I: Iterator<Item = SporadicLoad>>(all: impl Fn() -> I, longest: i64) -> bool {
    let least = all().map(|load| load.deadline).min().unwrap_or(0);
    let last_before = |length: i64| all().filter_map(|load| load.last_due_before(length)).max();
    let Some(mut length) = last_before(longest.saturating_add(1)) else { return true };
    for _ in 0..STEPS {
        let demand = all().map(|load| load.demand(length)).fold(0, i64::saturating_add);
        if demand > length {
            return false;
        }
        if demand <= least {
            return true;
        }
        length = if demand < length {
            demand
        } else {
            match last_before(length) {
                Some(earlier) => earlier,
                None => return true,
            }
        };
    }
    false
}

/// Returns the largest number from 1 to `most` that fits, by bisection; 0 if none fits.
pub(super) fn largest(most: i64, fits: impl Fn(i64) -> bool) -> i64 {
    let (mut fitting, mut above) = (0, most.max(0).saturating_add(1));
    while above - fitting > 1 {
        let middle = fitting + (above - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            above = middle;
        }
    }
    fitting
}
