//! Least fixed points of monotone functions of time, in nanoseconds, and rounding divisions.

/// The maximum number of steps of one search, far more than any sensible set needs.
const MAX_STEPS: u64 = 10_000_000;

/// The reason why there is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBound {
    /// The bound is above the deadline or another limit.
    #[error("it is beyond what is allowed")]
    Beyond,
    /// Finding the bound took more steps than allowed.
    #[error("finding it takes too many steps")]
    GaveUp,
}

/// The least fixed point of `r = max(1, f(r))`, if it is at most `limit`, by iteration from
/// `start`, which must not be above it. The lower bound of 1 matters: with an execution time of 0
/// the false fixed point 0 would hide all interference.
///
/// `f` saturates at [`i64::MAX`].
#[inline]
pub(crate) fn least(start: i64, limit: i64, f: impl Fn(i64) -> i64) -> Result<i64, NoBound> {
    match climb(start, limit, f)? {
        Reached::At(found) => Ok(found),
        Reached::Beyond(_) => Err(NoBound::Beyond),
    }
}

/// The result of an iteration.
pub(crate) enum Reached {
    /// The least fixed point.
    At(i64),
    /// A point above the limit that the fixed point is not below.
    Beyond(i64),
}

/// [`least`] that also returns the point reached.
#[inline]
pub(crate) fn climb(start: i64, limit: i64, f: impl Fn(i64) -> i64) -> Result<Reached, NoBound> {
    let mut reached = start.max(1);
    for _ in 0..MAX_STEPS {
        if reached > limit {
            return Ok(Reached::Beyond(reached));
        }
        let next = f(reached).max(1);
        if next == reached {
            return Ok(Reached::At(reached));
        }
        debug_assert!(next > reached, "a monotone function, from a start that is not above it");
        reached = next;
    }
    Err(NoBound::GaveUp)
}

/// `ceil(a / b)` for `0 <= a` and `0 < b`, both at most 2^62.
#[inline]
pub(crate) fn ceil(a: i64, b: i64) -> i64 {
    debug_assert!(a >= 0 && b > 0, "lengths");
    (a as u64).div_ceil(b as u64) as i64
}

/// `floor(a / b)` for `0 <= a` and `0 < b`.
#[inline]
pub(crate) fn floor(a: i64, b: i64) -> i64 {
    debug_assert!(a >= 0 && b > 0, "lengths");
    (a as u64 / b as u64) as i64
}

/// A period, prepared for division: a division takes two multiplications.
///
/// With `inverse = floor((2^64 - 1) / T)` the estimate `q = floor(a inverse / 2^64)` is
/// `floor(a / T)` or one less, for `a < 2^63`; the remainder decides which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    ns: u64,
    inverse: u64,
}

impl Period {
    pub(crate) fn new(ns: i64) -> Period {
        debug_assert!(ns > 0, "a period is positive");
        Period { ns: ns as u64, inverse: u64::MAX / ns as u64 }
    }
    /// `T`.
    pub(crate) fn ns(self) -> i64 {
        self.ns as i64
    }
    /// The unit of [`rate`](Self::rate).
    pub(crate) const ONE: u128 = 1 << 64;
    /// `c / T` for `0 <= c`, rounded down, and slightly further down.
    pub(crate) fn rate(self, c: i64) -> u128 {
        c as u128 * self.inverse as u128
    }
    /// `c / T` for `0 <= c`, rounded up, and slightly further up: `2^64 / T` is below
    /// `inverse + 2`.
    pub(crate) fn rate_above(self, c: i64) -> u128 {
        c as u128 * (u128::from(self.inverse) + 2)
    }
    #[inline]
    fn divide(self, a: i64) -> (u64, u64) {
        debug_assert!(a >= 0, "a length");
        let q = ((a as u128 * self.inverse as u128) >> 64) as u64;
        (q, a as u64 - q * self.ns)
    }
    /// `ceil(a / T)` for `0 <= a`.
    #[inline]
    pub(crate) fn ceil(self, a: i64) -> i64 {
        let (q, rest) = self.divide(a);
        (q + u64::from(rest > 0) + u64::from(rest > self.ns)) as i64
    }
    /// `floor(a / T)` for `0 <= a`.
    #[inline]
    pub(crate) fn floor(self, a: i64) -> i64 {
        let (q, rest) = self.divide(a);
        (q + u64::from(rest >= self.ns)) as i64
    }
}

/// A task with one job per period, each of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recurrent {
    pub(crate) period: Period,
    pub(crate) wcet: i64,
}

/// The work of these tasks in an interval of this length, if all are released at its start and then periodically.
#[inline]
pub(crate) fn arriving(tasks: &[Recurrent], length: i64) -> i64 {
    sum(tasks.iter().map(|task| work(task.period.ceil(length), task.wcet)))
}

/// The work of `count` jobs.
#[inline]
pub(crate) fn work(count: i64, wcet: i64) -> i64 {
    count.saturating_mul(wcet)
}

/// A saturating sum of non-negative numbers.
#[inline]
pub(crate) fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}

/// The number of fixed points, or other steps, that an analysis may still compute.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Effort(u64);

impl Effort {
    pub(crate) fn new(fixed_points: u64) -> Effort {
        Effort(fixed_points)
    }
    #[inline]
    pub(crate) fn spend(&mut self) -> Result<(), NoBound> {
        self.spend_on(1)
    }
    /// Spends `count` steps at once. Equivalent to [`spend`](Self::spend) that often, up to the
    /// first that exceeds the limit.
    pub(crate) fn spend_all(&mut self, count: i64) -> Result<(), NoBound> {
        let left = self.0.checked_sub(count as u64);
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(NoBound::GaveUp)
    }
    #[inline]
    pub(crate) fn spend_on(&mut self, count: usize) -> Result<(), NoBound> {
        self.0 = self.0.checked_sub(count as u64).ok_or(NoBound::GaveUp)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn multiplications_divide(
            a in prop_oneof![0i64..100, 0i64..=i64::MAX, (0i64..200).prop_map(|less| i64::MAX - less)],
            b in prop_oneof![1i64..20, 1i64..1 << 61, (0u32..61).prop_map(|bits| 1i64 << bits)],
            times in 0i64..1000,
        ) {
            let period = Period::new(b);
            for a in [a, b.saturating_mul(times), (b.saturating_mul(times) - 1).max(0)] {
                prop_assert_eq!(period.floor(a), a / b);
                prop_assert_eq!(period.ceil(a), (a as u64).div_ceil(b as u64) as i64);
            }
        }
    }
}
