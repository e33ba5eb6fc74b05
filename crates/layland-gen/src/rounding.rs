//! Rounds drawn numbers to exact rates and whole numbers of granules.
//!
//! A floating-point utilization `u` becomes the multiple `floor(u * 2^50) / 2^50`; all later
//! computations are exact. Products with a time are rounded down to whole granules.

use crate::Random;
use layland_model::{Duration, Rate};

/// The number of steps per unit, for numbers drawn in
/// floating point and for fractions drawn directly.
pub(crate) const STEPS: i64 = 1 << 50;

/// Rounds a floating-point number in `[0, 8192)` down to a multiple of `2^-50`.
pub(crate) fn to_rate(x: f64) -> Rate {
    Rate::new((x * STEPS as f64) as i64, STEPS)
}

/// Returns `floor(rate * length / granule)` granules.
pub(crate) fn share(rate: &Rate, length: Duration, granule: Duration) -> Duration {
    // Products of two words fit in 128 bits, so the fractions need not be reduced.
    let granules = match rate.as_i64_pair() {
        Some((n, d)) => {
            let (n, d) =
                (i128::from(n) * i128::from(length.ns()), i128::from(d) * i128::from(granule.ns()));
            i64::try_from(n.div_euclid(d)).ok()
        }
        None => (rate * &Rate::new(length.ns(), granule.ns())).floor(),
    };
    Duration::from_ns(granules.and_then(|n| n.checked_mul(granule.ns())).unwrap_or(i64::MAX))
}

/// Draws a rate uniform on `[min, max]`:
/// `min + (max - min) k / 2^50` for a uniform `k` from 0 to `2^50`.
pub(crate) fn uniform_rate(min: &Rate, max: &Rate, random: &mut Random) -> Rate {
    min + &(&(max - min) * &Rate::new(random.between(0, STEPS), STEPS))
}

/// A probability, rounded down to a multiple of `2^-50`; exact for 0 and 1.
pub(crate) struct Chance(i64);

impl Chance {
    pub(crate) fn new(probability: &Rate) -> Chance {
        Chance((probability * &Rate::whole(STEPS)).floor().unwrap_or(STEPS))
    }

    /// Draws whether the event happens.
    pub(crate) fn happens(&self, random: &mut Random) -> bool {
        random.between(0, STEPS - 1) < self.0
    }
}

/// Divides a whole number by random weights, uniform on 1 to 100. Each part is at least 1, even if
/// the sum then exceeds the number.
pub(crate) fn split(whole: i64, parts: usize, random: &mut Random) -> Vec<i64> {
    let weights: Vec<i64> = (0..parts).map(|_| random.between(1, 100)).collect();
    let sum: i64 = weights.iter().sum();
    let rest = (whole - parts as i64).max(0);
    let share = |weight: i64| (i128::from(rest) * i128::from(weight) / i128::from(sum)) as i64;
    // Differences of rounded cumulative shares sum to the rest exactly.
    let mut until = 0;
    let mut part = |weight: &i64| {
        let before = share(until);
        until += weight;
        1 + share(until) - before
    };
    weights.iter().map(&mut part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the product of rationals, including terms that exceed a word.
        #[test]
        fn a_share_is_the_rounded_product(
            (n, d, wide) in (0i64.., 1i64.., any::<bool>()),
            (length, granule) in (0i64..1 << 60, 1i64..1 << 60),
            short in any::<bool>(),
        ) {
            let shrink = |value: i64| if short { value % 1000 + 1 } else { value };
            let rate = Rate::new(shrink(n), shrink(d));
            let rate = if wide { &rate * &rate } else { rate };
            let [length, granule] = [shrink(length), shrink(granule)].map(Duration::from_ns);
            let granules = (&rate * &Rate::new(length.ns(), granule.ns())).floor();
            let slow = granules.and_then(|n| n.checked_mul(granule.ns())).unwrap_or(i64::MAX);
            prop_assert_eq!(share(&rate, length, granule).ns(), slow);
        }
    }
}
