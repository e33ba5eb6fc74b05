//! The cost of running: [`Price`], the remaining [`Amount`], and the two arithmetics, [`Arith`].

use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, Values};
use layland_model::{Duration, Rate, Speed, capacity};

/// The binary logarithm of the kernel's unit of bandwidth: it counts in multiples of 2^-20.
pub(super) const BW_SHIFT: u32 = capacity::BANDWIDTH_SHIFT;

pub(crate) fn arith() -> OptionInfo {
    OptionInfo::new(
        "arith",
        "the arithmetic of budgets: exact (default) or kernel (as Linux 6.5 to 7.x rounds: bandwidths in 2^-20, \
           charges to whole nanoseconds)",
        Values::one_of(["exact", "kernel"]),
    )
}

/// The arithmetic of budgets and bandwidths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arith {
    /// Rational numbers.
    #[default]
    Exact,
    /// Integers, rounded as in the kernel.
    Kernel,
}

impl Arith {
    pub(crate) fn of(options: &PolicyOptions) -> Result<Arith, Refusal> {
        let values = [("exact", Arith::Exact), ("kernel", Arith::Kernel)];
        Ok(options.one_of("arith", &values)?.unwrap_or_default())
    }
}

/// Returns the kernel's `to_ratio`: `runtime / period` in units of 2^-20, rounded down.
pub(crate) fn to_ratio(period: i64, runtime: i64) -> i64 {
    capacity::bandwidth(runtime.unsigned_abs(), period.unsigned_abs()) as i64
}

/// The amount of budget that a nanosecond on a CPU costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Price {
    /// One nanosecond.
    Unit,
    /// This fraction of a nanosecond.
    Exact(Rate),
    /// `by / 2^shift` of a nanosecond; a charge is rounded down to whole nanoseconds.
    Scaled {
        /// The numerator.
        by: u64,
        /// The binary logarithm of the denominator.
        shift: u32,
    },
}

impl Price {
    /// Returns an exact price.
    pub fn exact(rate: Rate) -> Price {
        if rate == Rate::ONE { Price::Unit } else { Price::Exact(rate) }
    }

    /// Returns the price for a thread without reclaiming: the work that the CPU does.
    pub fn of_speed(speed: Speed, arith: Arith) -> Price {
        match (speed == Speed::UNIT, arith) {
            (true, _) => Price::Unit,
            (false, Arith::Exact) => Price::Exact(speed.rate()),
            // The kernel has capacities of CPUs in multiples of 1/1024.
            (false, Arith::Kernel) => {
                Price::Scaled { by: capacity::of_speed(speed), shift: capacity::CAPACITY_SHIFT }
            }
        }
    }

    /// Returns the cost of a length of time. Refunded time, a negative `length`, has the same
    /// price.
    pub fn cost(&self, length: Duration) -> Amount {
        match self {
            Price::Unit => Amount::Whole(length.ns()),
            Price::Exact(rate) => Amount::of(&Rate::whole(length.ns()) * rate),
            Price::Scaled { by, shift } => {
                Amount::Whole(((i128::from(length.ns()) * i128::from(*by)) >> shift) as i64)
            }
        }
    }

    /// Returns the least whole number of nanoseconds that cost this much.
    pub(super) fn lasts(&self, q: &Amount) -> i64 {
        let longest = layland_model::TIME_LIMIT;
        let time = match self {
            Price::Unit => q.rate().ceil(),
            Price::Exact(rate) => (&q.rate() / rate).ceil(),
            Price::Scaled { by: 0, .. } => None,
            Price::Scaled { by, shift } => {
                let (by, needed) = (i128::from(*by), i128::from(q.floor()) << shift);
                i64::try_from((needed + by - 1).div_euclid(by)).ok()
            }
        };
        time.unwrap_or(longest).min(longest)
    }
}

/// The treatment of a remaining budget below a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It cannot be used, but is kept for the next replenishment.
    IsKept,
    /// It can be used: the budget lasts until nothing is left.
    Counts,
}

/// An exact amount of processor work in nanoseconds, negative after an overrun. It is stored as an
/// integer whenever it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A whole number of nanoseconds.
    Whole(i64),
    /// Any other amount.
    Exact(Box<Rate>),
}

impl Amount {
    pub(super) fn of(rate: Rate) -> Amount {
        match rate.as_i64_pair() {
            Some((whole, 1)) => Amount::Whole(whole),
            Some(_) | None => Amount::Exact(Box::new(rate)),
        }
    }
    /// Returns the amount as a rate.
    pub fn rate(&self) -> Rate {
        match self {
            Amount::Whole(ns) => Rate::whole(*ns),
            Amount::Exact(rate) => Rate::clone(rate),
        }
    }
    /// Returns the whole nanoseconds of the amount, rounded down.
    pub fn floor(&self) -> i64 {
        match self {
            Amount::Whole(ns) => *ns,
            Amount::Exact(rate) => rate.floor().unwrap_or(i64::MAX),
        }
    }
    pub(super) fn plus(&self, ns: i64) -> Amount {
        match self {
            Amount::Whole(own) => Amount::Whole(own + ns),
            Amount::Exact(rate) => Amount::of(&**rate + &Rate::whole(ns)),
        }
    }
    pub(super) fn minus(&self, cost: &Amount) -> Amount {
        match (self, cost) {
            (Amount::Whole(own), Amount::Whole(cost)) => Amount::Whole(own - cost),
            (Amount::Whole(_) | Amount::Exact(_), _) => Amount::of(&self.rate() - &cost.rate()),
        }
    }
}
