//! Least fixed points of monotone functions of time, with a limit: a search that does not end says
//! so, with the point it reached, instead of looping for ever or returning a wrong number.

use layland_model::{Duration, TIME_LIMIT};
use std::cell::Cell;

/// The most steps that one search takes.
pub const MAX_STEPS: u64 = 10_000_000;

/// A search ended at a limit of its own: nothing is known about what was looked for. It has no part that a deadline
/// could be compared with, so that no caller can take it for a late job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GaveUp {
    /// It took too many steps.
    #[error("gave up at {reached} after {steps} steps")]
    OutOfSteps {
        /// Where it was.
        reached: Duration,
        /// How many steps were taken.
        steps: u64,
    },
    /// It came to times that are too long to be added up.
    #[error("gave up at {reached}: longer times are not looked at")]
    OutOfRange {
        /// Where it was.
        reached: Duration,
    },
    /// It has nowhere to begin: no length bounds what would have to be looked at.
    #[error("gave up: no length is known beyond which nothing has to be looked at")]
    Endless,
}

/// Why there is no fixed point to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Diverged {
    /// The least fixed point is above the limit.
    #[error("it is more than {limit}: the search reached {reached}")]
    Beyond {
        /// The limit.
        limit: Duration,
        /// A point above it that the fixed point is not below.
        reached: Duration,
    },
    /// There is none: more work comes than the CPU can do.
    #[error("it grows for ever: the load is more than one CPU can do")]
    Overload,
    /// The fixed point is not known.
    #[error(transparent)]
    GaveUp(#[from] GaveUp),
}

/// The least `x >= start` with `f(x) = x`, if it is at most `limit`.
///
/// `f` must be monotone with `f(start) >= start`, and may saturate at [`Duration::MAX`]. The limit is part of the
/// question, as a deadline is; the search has one of its own, [`TIME_LIMIT`].
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
/// [`Diverged`] if there is none up to the limit, or it is not found in [`MAX_STEPS`] steps and up to [`TIME_LIMIT`].
pub fn least(
    start: Duration,
    limit: Duration,
    f: impl Fn(Duration) -> Duration,
) -> Result<Duration, Diverged> {
    least_within(start, limit, (Duration::from_ns(TIME_LIMIT), &Cell::new(MAX_STEPS)), f)
}

/// [`least`] of a question without a limit.
///
/// # Errors
/// If it is not found in [`MAX_STEPS`] steps and up to [`TIME_LIMIT`].
pub fn least_of_all(start: Duration, f: impl Fn(Duration) -> Duration) -> Result<Duration, GaveUp> {
    let range = Duration::from_ns(TIME_LIMIT);
    let steps = Cell::new(MAX_STEPS);
    let found = climb(start, |reached| reached > range, &steps, f)?;
    found.map_err(|reached| GaveUp::OutOfRange { reached })
}

/// [`least`] with another range in which the search stays, and the steps that are left to it.
pub(crate) fn least_within(
    start: Duration,
    limit: Duration,
    (range, steps): (Duration, &Cell<u64>),
    f: impl Fn(Duration) -> Duration,
) -> Result<Duration, Diverged> {
    let found = climb(start, |reached| reached > limit.min(range), steps, f)?;
    found.map_err(|reached| match reached > limit {
        true => Diverged::Beyond { limit, reached },
        false => Diverged::GaveUp(GaveUp::OutOfRange { reached }),
    })
}

/// The least fixed point from `start` on, or the first point that is too far.
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
