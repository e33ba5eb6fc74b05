//! Least fixed points of monotone functions of time, with a limit: a search that does not end says
//! so, with the point it reached, instead of looping for ever or returning a wrong number.

use layland_model::Duration;

/// The most steps that one search takes.
pub const MAX_STEPS: u64 = 10_000_000;

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
    /// The search took too many steps: the fixed point is not known.
    #[error("gave up at {reached} after {steps} steps")]
    OutOfSteps {
        /// A point that the fixed point is not below.
        reached: Duration,
        /// How many steps were taken.
        steps: u64,
    },
}

/// The least `x >= start` with `f(x) = x`, if it is at most `limit`.
///
/// `f` must be monotone with `f(start) >= start`, and may saturate at [`Duration::MAX`].
///
/// ```
/// use layland_analysis::fixed_point::{Diverged, least};
/// use layland_model::Duration;
/// let ns = Duration::from_ns;
/// // R = 20 + ceil(R/2) + ceil(R/10)
/// let f = |r: Duration| ns(20 + r.div_ceil(ns(2)) + r.div_ceil(ns(10)));
/// assert_eq!(least(ns(20), ns(100), f), Ok(ns(50)));
/// assert_eq!(least(ns(20), ns(40), f), Err(Diverged::Beyond { limit: ns(40), reached: ns(44) }));
/// ```
///
/// # Errors
/// [`Diverged`] if there is none up to the limit, or it is not found in [`MAX_STEPS`] steps.
pub fn least(
    start: Duration,
    limit: Duration,
    f: impl Fn(Duration) -> Duration,
) -> Result<Duration, Diverged> {
    let mut reached = start;
    for _ in 0..MAX_STEPS {
        if reached > limit {
            return Err(Diverged::Beyond { limit, reached });
        }
        let next = f(reached);
        debug_assert!(next >= reached, "a monotone function, from a start that is not above it");
        if next == reached {
            return Ok(reached);
        }
        reached = next;
    }
    Err(Diverged::OutOfSteps { reached, steps: MAX_STEPS })
}
