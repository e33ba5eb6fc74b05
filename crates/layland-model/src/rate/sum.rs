//! Sums of many rates: compares and formats them, and adds exactly only where necessary.

use super::Rate;
use super::Repr::{Big, Small};
use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{CheckedAdd, Zero};
use std::cmp::Ordering;

/// The sum of these rates.
///
/// If each addition reduced the sum, each would compute the greatest common divisor of two long
/// numbers. Once the sum has outgrown 128 bits, the remaining addends are therefore put over one
/// common denominator and reduced once.
pub(super) fn sum_of(rates: &[Rate]) -> Rate {
    let mut sum = Ratio::new_raw(0i128, 1);
    let mut rest = rates;
    while let [Rate(Small(first)), others @ ..] = rest
        && let Some(more) = CheckedAdd::checked_add(&sum, first)
    {
        (sum, rest) = (more, others);
    }
    if rest.is_empty() {
        return Rate(Small(sum));
    }
    let mut fractions: Vec<(BigInt, BigInt)> = Vec::with_capacity(rest.len() + 1);
    fractions.push(((*sum.numer()).into(), (*sum.denom()).into()));
    fractions.extend(rest.iter().map(|rate| match &rate.0 {
        Small(ratio) => ((*ratio.numer()).into(), (*ratio.denom()).into()),
        Big(ratio) => (ratio.numer().clone(), ratio.denom().clone()),
    }));
    let mut common = BigInt::from(1);
    for (_, denominator) in &fractions {
        // Take the divisor with the short number: the common denominator is soon hundreds of digits
        // long.
        let rest = &common % denominator;
        if !rest.is_zero() {
            common *= denominator / num_integer::Integer::gcd(&rest, denominator);
        }
    }
    let parts =
        fractions.iter().map(|(numerator, denominator)| numerator * (&common / denominator));
    let numerator: BigInt = parts.sum();
    Rate::from_big(BigRational::new(numerator, common))
}

/// A non-negative rate with its enclosure between two 64.64 fixed-point numbers. A rate that is
/// compared with several [sums](RateSum) would otherwise be enclosed anew each time.
#[derive(Clone, Copy, Debug)]
pub struct Enclosed<'r> {
    rate: &'r Rate,
    low: u128,
    high: u128,
}

impl<'r> From<&'r Rate> for Enclosed<'r> {
    fn from(rate: &'r Rate) -> Enclosed<'r> {
        let (low, high) = rate.enclosure();
        Enclosed { rate, low, high }
    }
}

impl<'r> Enclosed<'r> {
    /// The rate.
    pub fn rate(self) -> &'r Rate {
        self.rate
    }
}

/// A sum of many non-negative rates that is compared with a bound. The comparison is exact, but
/// fast where the answer is not close.
///
/// The sum is enclosed between two 64.64 fixed-point numbers. The addends are summed exactly only
/// if the bound lies between them. This matters when thousands of utilizations with unrelated
/// periods are packed: their exact sums have denominators of hundreds of digits.
///
/// ```
/// use layland_model::{Rate, RateSum};
/// let mut load = RateSum::default();
/// load.add(&Rate::new(2, 3));
/// assert!(load.fits(&Rate::new(1, 3), &Rate::ONE));
/// assert!(!load.fits(&Rate::new(334, 1000), &Rate::ONE));
/// ```
#[derive(Clone, Debug, Default)]
pub struct RateSum {
    /// A lower bound of the sum, in units of 2^-64.
    low: u128,
    /// An upper bound of the sum, in units of 2^-64.
    high: u128,
    addends: Vec<Rate>,
    /// The addends that were removed again.
    taken: Vec<Rate>,
}

impl RateSum {
    /// An empty sum with capacity for this number of rates.
    pub fn with_capacity(rates: usize) -> RateSum {
        RateSum { addends: Vec::with_capacity(rates), ..RateSum::default() }
    }

    /// Adds a rate, which must not be negative.
    pub fn add<'r>(&mut self, rate: impl Into<Enclosed<'r>>) {
        let Enclosed { rate, low, high } = rate.into();
        self.put(rate.clone(), low, high);
    }

    /// Adds `numerator / denominator`, which is below 2^63. The fraction is reduced only when the
    /// exact sum is required.
    ///
    /// # Panics
    /// Panics if the denominator is zero.
    pub fn add_fraction(&mut self, numerator: u128, denominator: u128) {
        let small = |n: u128| i128::try_from(n).ok();
        let rate = match (small(numerator), small(denominator)) {
            (Some(n), Some(d)) => Rate(Small(Ratio::new_raw(n, d))),
            _ => Rate::from_big(BigRational::new(numerator.into(), denominator.into())),
        };
        let (low, high) = rate.enclosure();
        self.put(rate, low, high);
    }

    fn put(&mut self, addend: Rate, low: u128, high: u128) {
        self.low += low;
        self.high += high;
        self.addends.push(addend);
    }

    /// Adds all addends of another sum.
    pub fn add_all(&mut self, other: &RateSum) {
        self.low += other.low;
        self.high += other.high;
        self.addends.extend_from_slice(&other.addends);
        self.taken.extend_from_slice(&other.taken);
    }

    /// Removes one addend of this value, if there is one. Searches all addends;
    /// [`take`](Self::take) is faster.
    pub fn remove(&mut self, rate: &Rate) {
        self.cancel();
        if let Some(at) = self.addends.iter().position(|addend| addend == rate) {
            let (low, high) = self.addends.swap_remove(at).enclosure();
            self.low -= low;
            self.high -= high;
        }
    }

    /// Removes one addend of this value, which must have been [added](Self::add). O(log n) on
    /// average.
    ///
    /// ```
    /// use layland_model::{Rate, RateSum};
    /// let mut load = RateSum::default();
    /// [3, 7, 3].map(|d| load.add(&Rate::new(1, d)));
    /// load.take(&Rate::new(1, 3));
    /// load.take(&Rate::new(1, 7));
    /// assert_eq!(load.exact(), Rate::new(1, 3));
    /// ```
    ///
    /// # Panics
    /// Panics if there is no such addend, now or in a later call.
    pub fn take(&mut self, rate: &Rate) {
        let (low, high) = rate.enclosure();
        self.low -= low;
        self.high -= high;
        self.taken.push(rate.clone());
        // Cancel only when half of the addends are taken: this amortizes the sorting.
        if 2 * self.taken.len() > self.addends.len() {
            self.cancel();
        }
    }

    /// Removes the taken rates from the addends.
    fn cancel(&mut self) {
        if self.taken.is_empty() {
            return;
        }
        // Opposite orders: while the addends ascend, the next taken rate is the last one.
        self.taken.sort_unstable_by(|a, b| b.cmp(a));
        self.addends.sort_unstable();
        let taken = &mut self.taken;
        self.addends.retain(|addend| {
            let goes = taken.last() == Some(addend);
            if goes {
                taken.pop();
            }
            !goes
        });
        assert!(self.taken.is_empty(), "what is taken away is in the sum");
    }

    /// Returns true if the sum with one more `rate` is at most `bound`. Exact.
    pub fn fits<'r>(&self, rate: impl Into<Enclosed<'r>>, bound: impl Into<Enclosed<'r>>) -> bool {
        let (rate, bound) = (rate.into(), bound.into());
        // *Yes* compares the largest possible sum with the smallest possible bound, *no* the
        // smallest sum with the largest bound.
        if self.high + rate.high <= bound.low {
            return true;
        }
        if self.low + rate.low > bound.high {
            return false;
        }
        &self.exact() + rate.rate <= *bound.rate
    }

    /// A lower bound of the sum in units of 2^-64, for comparison with
    /// [`most_before`](Self::most_before).
    #[inline]
    pub fn low(&self) -> u128 {
        self.low
    }

    /// If the [`low`](Self::low) of a sum is more than this, the sum with one more `rate` is above
    /// `bound`, and the rate does not [fit](Self::fits). [`None`] if the rate fits no sum.
    ///
    /// ```
    /// use layland_model::{Rate, RateSum};
    /// let mut load = RateSum::default();
    /// load.add(&Rate::new(2, 3));
    /// assert!(load.low() <= RateSum::most_before(&Rate::new(1, 3), &Rate::ONE).unwrap());
    /// assert!(load.low() > RateSum::most_before(&Rate::new(1, 2), &Rate::ONE).unwrap());
    /// assert_eq!(RateSum::most_before(&Rate::new(3, 2), &Rate::ONE), None);
    /// ```
    pub fn most_before<'r>(
        rate: impl Into<Enclosed<'r>>,
        bound: impl Into<Enclosed<'r>>,
    ) -> Option<u128> {
        bound.into().high.checked_sub(rate.into().low)
    }

    /// Compares two sums. Exact.
    pub fn cmp_sum(&self, other: &RateSum) -> Ordering {
        if self.high < other.low {
            Ordering::Less
        } else if self.low > other.high {
            Ordering::Greater
        } else {
            self.exact().cmp(&other.exact())
        }
    }

    /// The exact sum.
    pub fn exact(&self) -> Rate {
        let sum = sum_of(&self.addends);
        if self.taken.is_empty() { sum } else { &sum - &sum_of(&self.taken) }
    }

    /// The smallest integer that is not below the sum, if it fits.
    pub fn ceil(&self) -> Option<i64> {
        let up = |fixed: u128| fixed.div_ceil(1 << 64);
        if up(self.low) == up(self.high) {
            i64::try_from(up(self.low)).ok()
        } else {
            self.exact().ceil()
        }
    }

    /// The sum in millionths, as [`Rate::to_f64`] of [`exact`](Self::exact) prints it with six
    /// decimals. `None` if that requires the exact sum; otherwise the sum is not an integer.
    pub fn millionths(&self) -> Option<u64> {
        // A floating-point number is within 2^-53 of the sum, relative to it.
        let rounding = (self.high >> 50) + 1;
        let (low, high) = (self.low.checked_sub(rounding)?, self.high + rounding);
        // True if an integer lies between the bounds.
        let may_be_whole = high >> 64 << 64 >= low;
        let millionths = |fixed: u128| Some((fixed.checked_mul(1_000_000)? + (1 << 63)) >> 64);
        let (least, most) = (millionths(low)?, millionths(high)?);
        (!may_be_whole && least == most).then_some(u64::try_from(least).ok()).flatten()
    }

    /// The nearest floating-point number, for drawing and printing.
    pub fn to_f64(&self) -> f64 {
        (self.low as f64 / 2.0 + self.high as f64 / 2.0) / 2f64.powi(64)
    }

    /// Returns true if the sum has no addends.
    pub fn is_empty(&self) -> bool {
        self.addends.len() == self.taken.len()
    }
}

impl PartialEq for RateSum {
    fn eq(&self, other: &RateSum) -> bool {
        self.cmp_sum(other) == Ordering::Equal
    }
}
impl Eq for RateSum {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a list of the addends.
        #[test]
        fn what_is_taken_away_is_gone(
            steps in prop::collection::vec((0usize..5, 0usize..8, any::<bool>()), 0..60),
        ) {
            let rates = [(1, 3), (0, 1), (1, 7), (2, 3), (5, 4)].map(|(n, d)| Rate::new(n, d));
            let (mut sum, mut list) = (RateSum::default(), Vec::new());
            for (rate, at, adds) in steps {
                if adds {
                    sum.add(&rates[rate]);
                    list.push(rate);
                } else if at < list.len() {
                    let gone = &rates[list.swap_remove(at)];
                    if at % 3 == 0 { sum.remove(gone) } else { sum.take(gone) }
                }
                let slow: Rate = list.iter().map(|&at| rates[at].clone()).sum();
                prop_assert_eq!(sum.exact(), slow.clone());
                prop_assert_eq!(sum.is_empty(), list.is_empty());
                prop_assert!(sum.fits(&Rate::ZERO, &slow));
                prop_assert!(!sum.fits(&Rate::new(1, 1_000_000), &slow));
            }
        }

        #[test]
        fn a_sum_is_what_its_additions_give(
            rates in prop::collection::vec((-2_000_000i64..2_000_000, 1i64..1 << 40), 0..40),
            twice in any::<bool>(),
        ) {
            let mut rates: Vec<Rate> = rates.iter().map(|&(n, d)| Rate::new(n, d)).collect();
            let add = |rates: &[Rate]| rates.iter().fold(Rate::ZERO, |sum, rate| &sum + rate);
            if twice {
                // An addend that itself exceeds 128 bits.
                rates.insert(rates.len() / 2, add(&rates));
            }
            let (sum, slow) = (sum_of(&rates), add(&rates));
            prop_assert_eq!(&sum, &slow);
            prop_assert_eq!(sum.to_string(), slow.to_string());
        }

        #[test]
        fn what_an_enclosed_sum_tells_is_what_the_exact_one_tells(
            fractions in prop::collection::vec((0u128..3_000_000, 1u128..2_000_000), 0..30),
            whole in any::<bool>(),
            shift in 0u32..106,
        ) {
            let (mut quick, mut slow) = (RateSum::default(), RateSum::default());
            for &(n, d) in &fractions {
                let (n, d) = if whole { (n - n % d, d) } else { (n << shift, d << shift) };
                quick.add_fraction(n, d);
                slow.add(&Rate::of_wide(n as i128, d as i128));
            }
            prop_assert_eq!(&quick, &slow);
            let exact = quick.exact();
            prop_assert_eq!(exact.to_string(), slow.exact().to_string());
            prop_assert_eq!(quick.ceil(), exact.ceil());
            if let Some(millionths) = quick.millionths() {
                let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
                prop_assert_eq!(text, format!("{:.6}", exact.to_f64()));
                prop_assert!(exact.as_i64_pair().is_none_or(|(_, denominator)| denominator != 1));
            }
            let mut both = slow.clone();
            both.add_all(&quick);
            prop_assert_eq!(both.exact(), &exact + &exact);
        }

        #[test]
        fn enclosed_sums_decide_as_exact_sums(
            rates in prop::collection::vec((0i64..2_000_000, 1i64..2_000_000), 0..12),
            (n, d) in (0i64..1000, 1i64..1000),
        ) {
            let rate = Rate::new(n, d);
            let mut sum = RateSum::default();
            for &(n, d) in &rates {
                sum.add(&Rate::new(n % d, d));
            }
            let exact = sum.exact();
            for bound in [Rate::ONE, &exact + &rate, Rate::new(n, d)] {
                prop_assert_eq!(sum.fits(&rate, &bound), &exact + &rate <= bound);
            }
            if let Some(&(n, d)) = rates.first() {
                let before = sum.clone();
                sum.remove(&Rate::new(n % d, d));
                prop_assert_eq!(before.cmp_sum(&sum), before.exact().cmp(&sum.exact()));
            }
        }
    }
}
