//! What running costs a budget: [`Price`], the [`Amount`] that is left, and the two ways to count them, [`Arith`].

use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, Values};
use layland_model::{Duration, Rate, Speed};

/// The kernel counts bandwidths in multiples of 2^-20.
pub(super) const BW_SHIFT: u32 = 20;

pub(crate) fn arith() -> OptionInfo {
    OptionInfo::new(
        "arith",
        "how budgets are counted: exact (default) or kernel (as Linux 6.5 to 7.x rounds: bandwidths in 2^-20, \
           charges to whole nanoseconds)",
        Values::one_of(["exact", "kernel"]),
    )
}

/// How budgets and bandwidths are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arith {
    /// In rationals.
    #[default]
    Exact,
    /// As the kernel rounds.
    Kernel,
}

impl Arith {
    pub(crate) fn of(options: &PolicyOptions) -> Result<Arith, Refusal> {
        let values = [("exact", Arith::Exact), ("kernel", Arith::Kernel)];
        Ok(options.one_of("arith", &values)?.unwrap_or_default())
    }
}

/// `to_ratio` of the kernel: `runtime / period` in units of 2^-20, rounded down.
pub(crate) fn to_ratio(period: i64, runtime: i64) -> i64 {
    ((i128::from(runtime) << BW_SHIFT) / i128::from(period)) as i64
}

/// What a nanosecond on a CPU costs of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Price {
    /// A nanosecond.
    Unit,
    /// So much of one.
    Exact(Rate),
    /// `by / 2^shift` of one; a charge is rounded down to whole nanoseconds.
    Scaled {
        /// The numerator.
        by: u64,
        /// The binary logarithm of the denominator.
        shift: u32,
    },
}

impl Price {
    /// An exact price.
    pub fn exact(rate: Rate) -> Price {
        if rate == Rate::ONE { Price::Unit } else { Price::Exact(rate) }
    }

    /// What a thread without reclaiming pays: the work that the CPU does.
    pub fn of_speed(speed: Speed, arith: Arith) -> Price {
        match (speed == Speed::UNIT, arith) {
            (true, _) => Price::Unit,
            (false, Arith::Exact) => Price::Exact(speed.rate()),
            // Capacities of CPUs are multiples of 1/1024.
            (false, Arith::Kernel) => Price::Scaled {
                by: (speed.numerator() * 1024 / speed.denominator()) as u64,
                shift: 10,
            },
        }
    }

    /// What a stretch of time costs. Nanoseconds that are given back, where `length` is negative, are worth as much.
    pub fn cost(&self, length: Duration) -> Amount {
        match self {
            Price::Unit => Amount::Whole(length.ns()),
            Price::Exact(rate) => Amount::of(&Rate::whole(length.ns()) * rate),
            Price::Scaled { by, shift } => {
                Amount::Whole(((i128::from(length.ns()) * i128::from(*by)) >> shift) as i64)
            }
        }
    }

    /// The least whole number of nanoseconds that cost this much.
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

/// Whether a rest of a budget below a nanosecond can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// No: it is kept for the next replenishment.
    IsKept,
    /// Yes: the budget lasts until nothing is left.
    Counts,
}

/// An exact amount of processor work in nanoseconds, negative after an overrun: an integer for as
/// long as it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A whole number of nanoseconds.
    Whole(i64),
    /// Any other.
    Exact(Box<Rate>),
}

impl Amount {
    pub(super) fn of(rate: Rate) -> Amount {
        match rate.as_i64_pair() {
            Some((whole, 1)) => Amount::Whole(whole),
            Some(_) | None => Amount::Exact(Box::new(rate)),
        }
    }
    /// As a rate.
    pub fn rate(&self) -> Rate {
        match self {
            Amount::Whole(ns) => Rate::whole(*ns),
            Amount::Exact(rate) => Rate::clone(rate),
        }
    }
    /// The whole nanoseconds in it.
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
