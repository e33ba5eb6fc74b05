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
    // Whole numbers of 128 bits hold the products of words: nothing needs to be in lowest terms.
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

/// Uniform on `[min, max]`: `min + (max - min) k / 2^50` for a uniform `k` from 0 to `2^50`.
pub(crate) fn uniform_rate(min: &Rate, max: &Rate, random: &mut Random) -> Rate {
    min + &(&(max - min) * &Rate::new(random.between(0, STEPS), STEPS))
}

/// A probability, rounded down to a multiple of `2^-50`: 0 never happens, and 1 always does.
pub(crate) struct Chance(i64);

impl Chance {
    pub(crate) fn new(probability: &Rate) -> Chance {
        Chance((probability * &Rate::whole(STEPS)).floor().unwrap_or(STEPS))
    }

    /// Whether it happens this time.
    pub(crate) fn happens(&self, random: &mut Random) -> bool {
        random.between(0, STEPS - 1) < self.0
    }
}

/// Parts a whole number by random weights, uniform on 1 to 100; each part is 1 at least, even where that is more.
pub(crate) fn split(whole: i64, parts: usize, random: &mut Random) -> Vec<i64> {
    let weights: Vec<i64> = (0..parts).map(|_| random.between(1, 100)).collect();
    let sum: i64 = weights.iter().sum();
    let rest = (whole - parts as i64).max(0);
    let share = |weight: i64| (i128::from(rest) * i128::from(weight) / i128::from(sum)) as i64;
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
        /// Against the product of rationals, also where terms outgrow a word.
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
