//! Least fixed points of monotone functions of time, with a limit: a search that does not converge
//! reports the point it reached, instead of looping for ever or returning a wrong number.

use layland_model::{Duration, TIME_LIMIT};
use std::cell::Cell;

/// The maximum number of steps of one search.
pub const MAX_STEPS: u64 = 10_000_000;

/// A search ended at a limit of its own, so its result is unknown. The type holds nothing that
/// could be compared with a deadline, so that no caller can mistake it for a late job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GaveUp {
    /// The search took too many steps.
    #[error("the search stopped at {reached} after {steps} steps")]
    OutOfSteps {
        /// The point that the search had reached.
        reached: Duration,
        /// The number of steps taken.
        steps: u64,
    },
    /// The search reached times that are too long to be added up.
    #[error("the search stopped at {reached}, and longer times were not tried")]
    OutOfRange {
        /// The point that the search had reached.
        reached: Duration,
    },
    /// The search has no starting point: no length bounds the intervals to examine.
    #[error("the search stopped, because no length is known that it need not exceed")]
    Endless,
}

/// The reason why there is no fixed point to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Diverged {
    /// The least fixed point is above the limit.
    #[error("it is more than {limit}: the search reached {reached}")]
    Beyond {
        /// The limit.
        limit: Duration,
        /// A point above the limit that the fixed point is not below.
        reached: Duration,
    },
    /// There is no fixed point: more work arrives than the CPU can do.
    #[error("it grows for ever: the load is more than one CPU can do")]
    Overload,
    /// The fixed point is not known.
    #[error(transparent)]
    GaveUp(#[from] GaveUp),
}

/// The least `x >= start` with `f(x) = x`, if it is at most `limit`.
///
/// `f` must be monotone with `f(start) >= start`, and may saturate at [`Duration::MAX`]. The limit
/// is part of the question, like a deadline; [`TIME_LIMIT`] is a separate limit of the search
/// itself.
///
/// ```
/// use layland_analysis::fixed_point::{Diverged, least};
/// use layland_model::{Duration, TIME_LIMIT};
/// let ns = Duration::from_ns;
/// // R = 20 + ceil(R/2) + ceil(R/10)
/// let f = |r: Duration| ns(20 + r.div_ceil(ns(2)) + r.div_ceil(ns(10)));
/// assert_eq!(least(ns(20), ns(100), f), Ok(ns(50)));
/// assert_eq!(least(ns(20), ns(40), f), Err(Diverged::Beyond { limit: ns(40), reached: ns(44) }));
/// ```
///
/// # Errors
/// Returns [`Diverged`] if there is none up to the limit, or if it is not found within
/// [`MAX_STEPS`] steps and [`TIME_LIMIT`].
pub fn least(
    start: Duration,
    limit: Duration,
    f: impl Fn(Duration) -> Duration,
) -> Result<Duration, Diverged> {
    least_within(start, limit, (Duration::from_ns(TIME_LIMIT), &Cell::new(MAX_STEPS)), f)
}

/// [`least`] without a limit.
///
/// # Errors
/// Returns [`GaveUp`] if it is not found within [`MAX_STEPS`] steps and [`TIME_LIMIT`].
pub fn least_of_all(start: Duration, f: impl Fn(Duration) -> Duration) -> Result<Duration, GaveUp> {
    let range = Duration::from_ns(TIME_LIMIT);
    let steps = Cell::new(MAX_STEPS);
    let found = climb(start, |reached| reached > range, &steps, f)?;
    found.map_err(|reached| GaveUp::OutOfRange { reached })
}

/// [`least`] with another range for the search, and a shared count of remaining steps.
pub(crate) fn least_within(
    start: Duration,
    limit: Duration,
    (range, steps): (Duration, &Cell<u64>),
    f: impl Fn(Duration) -> Duration,
) -> Result<Duration, Diverged> {
    let found = climb(start, |reached| reached > limit.min(range), steps, f)?;
    found.map_err(|reached| {
        if reached > limit {
            Diverged::Beyond { limit, reached }
        } else {
            Diverged::GaveUp(GaveUp::OutOfRange { reached })
        }
    })
}

/// Returns the least fixed point from `start` on, or the first point that is too far.
fn climb(
    start: Duration,
    is_too_far: impl Fn(Duration) -> bool,
    steps: &Cell<u64>,
    f: impl Fn(Duration) -> Duration,
) -> Result<Result<Duration, Duration>, GaveUp> {
    let (mut reached, all) = (start, steps.get());
    for left in (0..all).rev() {
        steps.set(left);
        if is_too_far(reached) {
            return Ok(Err(reached));
        }
        let next = f(reached);
        debug_assert!(next >= reached, "a monotone function, from a start that is not above it");
        if next == reached {
            return Ok(Ok(reached));
        }
        reached = next;
    }
    Err(GaveUp::OutOfSteps { reached, steps: all })
}
