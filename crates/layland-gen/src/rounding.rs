//! Rounding of drawn numbers to exact rates and whole numbers of granules.
//!
//! A floating-point utilization `u` becomes the multiple `floor(u * 2^50) / 2^50`; everything after
//! that is exact. Products with a time are rounded down to whole granules.

use crate::Random;
use layland_model::{Duration, Rate};

/// Steps per unit of numbers that are drawn in floating point, and of fractions that are drawn directly.
pub(crate) const STEPS: i64 = 1 << 50;

/// A floating-point number in `[0, 8192)` rounded down to a multiple of `2^-50`.
pub(crate) fn to_rate(x: f64) -> Rate {
    Rate::new((x * STEPS as f64) as i64, STEPS)
}

/// `floor(rate * length / granule)` granules.
pub(crate) fn share(rate: &Rate, length: Duration, granule: Duration) -> Duration {
    let granules = rate * &Rate::new(length.ns(), granule.ns());
    Duration::from_ns(
        granules.floor().and_then(|n| n.checked_mul(granule.ns())).unwrap_or(i64::MAX),
    )
}

/// Uniform on `[min, max]`: `min + (max - min) k / 2^50` for a uniform `k` from 0 to `2^50`.
pub(crate) fn uniform_rate(min: &Rate, max: &Rate, random: &mut Random) -> Rate {
    min + &(&(max - min) * &Rate::new(random.between(0, STEPS), STEPS))
}
