//! Least fixed points of monotone functions of time, in nanoseconds, and rounding divisions.

/// The most steps of one search: far more than any sensible set needs.
const MAX_STEPS: u64 = 10_000_000;

/// Why there is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBound {
    /// It is above the deadline (or what else must not be exceeded).
    #[error("it is beyond what is allowed")]
    Beyond,
    /// Finding it took more steps than allowed.
    #[error("finding it takes too many steps")]
    GaveUp,
}

/// The least fixed point of `r = max(1, f(r))`, if it is at most `limit`, by iteration from `start`,
/// which it must not be below. A bound of at least 1 matters: with an execution time of 0 the false
/// fixed point 0 would hide all interference.
///
/// `f` saturates at [`i64::MAX`].
#[inline]
pub(crate) fn least(start: i64, limit: i64, f: impl Fn(i64) -> i64) -> Result<i64, NoBound> {
    let mut reached = start.max(1);
    for _ in 0..MAX_STEPS {
        if reached > limit {
            return Err(NoBound::Beyond);
        }
        let next = f(reached).max(1);
        if next == reached {
            return Ok(reached);
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

/// What `count` jobs need.
#[inline]
pub(crate) fn work(count: i64, wcet: i64) -> i64 {
    count.saturating_mul(wcet)
}

/// A saturating sum of non-negative numbers.
#[inline]
pub(crate) fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}

/// How many fixed points an analysis may still compute.
#[derive(Debug)]
pub(crate) struct Effort(u64);

impl Effort {
    pub(crate) fn new(fixed_points: u64) -> Effort {
        Effort(fixed_points)
    }
    #[inline]
    pub(crate) fn spend(&mut self) -> Result<(), NoBound> {
        self.0 = self.0.checked_sub(1).ok_or(NoBound::GaveUp)?;
        Ok(())
    }
}
