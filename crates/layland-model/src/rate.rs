//! Exact rationals: utilizations, densities, fractions. They decide; [`Rate::to_f64`] only draws.
//!
//! Long because sums of rates see into rates, and each is held against its slow form here.

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Sub};
use std::str::FromStr;

/// An exact rational number: a ratio of 128-bit integers for as long as that is enough, of
/// unbounded integers from then on. The value never depends on which of the two it is.
///
/// ```
/// use layland_model::Rate;
/// let third = Rate::new(1, 3);
/// assert_eq!(third.clone() + third.clone() + third, Rate::ONE);
/// assert_eq!("0.95".parse::<Rate>().unwrap(), Rate::new(19, 20));
/// ```
#[derive(Clone)]
pub struct Rate(Repr);

#[derive(Clone)]
enum Repr {
    Small(Ratio<i128>),
    Big(Box<BigRational>),
}
use Repr::{Big, Small};

impl Rate {
    /// Zero.
    pub const ZERO: Rate = Rate(Small(Ratio::new_raw(0, 1)));
    /// One.
    pub const ONE: Rate = Rate(Small(Ratio::new_raw(1, 1)));

    /// `numerator / denominator`, in lowest terms.
    ///
    /// # Panics
    /// If the denominator is zero.
    pub fn new(numerator: i64, denominator: i64) -> Rate {
        Rate(Small(Ratio::new(numerator.into(), denominator.into())))
    }

    /// A whole number.
    pub fn whole(number: i64) -> Rate {
        Rate(Small(Ratio::from_integer(number.into())))
    }

    /// The nearest floating-point number, to draw and to print.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Small(ratio) => ratio.to_f64().unwrap_or(f64::NAN),
            Big(ratio) => ratio.to_f64().unwrap_or(f64::NAN),
        }
    }

    /// The largest whole number that is not above it, if it fits.
    pub fn floor(&self) -> Option<i64> {
        match &self.0 {
            Small(ratio) => ratio.floor().to_integer().to_i64(),
            Big(ratio) => ratio.floor().to_integer().to_i64(),
        }
    }

    /// The smallest whole number that is not below it, if it fits.
    pub fn ceil(&self) -> Option<i64> {
        match &self.0 {
            Small(ratio) => ratio.ceil().to_integer().to_i64(),
            Big(ratio) => ratio.ceil().to_integer().to_i64(),
        }
    }

    /// Numerator and denominator in lowest terms (denominator positive), if both fit 64 bits.
    pub fn as_i64_pair(&self) -> Option<(i64, i64)> {
        match &self.0 {
            Small(ratio) => Some((ratio.numer().to_i64()?, ratio.denom().to_i64()?)),
            Big(ratio) => Some((ratio.numer().to_i64()?, ratio.denom().to_i64()?)),
        }
    }

    /// `floor(self * 2^64)` and whether that is exact, for a value in `[0, 2^63)`.
    fn fixed_point(&self) -> (u128, bool) {
        match &self.0 {
            Small(ratio) => {
                let (numerator, denominator) = (*ratio.numer() as u128, *ratio.denom() as u128);
                if denominator == 1 {
                    return (numerator << 64, true);
                }
                let (whole, rest) = (numerator / denominator, numerator % denominator);
                // The whole part is below 2^63 by contract; only the remainder can overflow the shift.
                if let Some(shifted) = rest.checked_mul(1 << 64) {
                    return ((whole << 64) + shifted / denominator, shifted % denominator == 0);
                }
            }
            Big(_) => {}
        }
        let big = self.to_big();
        let shifted: BigInt = big.numer() << 64;
        let (quotient, rest) = num_integer::Integer::div_rem(&shifted, big.denom());
        (quotient.to_u128().unwrap_or(u128::MAX), rest.is_zero())
    }

    /// `floor(self * 2^64)`, or 0 below zero and the largest number from 2^62 on: a number that never falls where the
    /// rate grows, to sort many rates by before they are compared exactly.
    ///
    /// ```
    /// use layland_model::Rate;
    /// assert_eq!(Rate::new(1, 2).scaled_floor(), 1 << 63);
    /// assert_eq!(Rate::whole(-1).scaled_floor(), 0);
    /// assert_eq!(Rate::whole(i64::MAX).scaled_floor(), u128::MAX);
    /// ```
    pub fn scaled_floor(&self) -> u128 {
        match self.floor() {
            Some(whole) if whole < 0 => 0,
            Some(whole) if whole < 1 << 62 => self.fixed_point().0,
            Some(_) => u128::MAX,
            None if *self < Rate::ZERO => 0,
            None => u128::MAX,
        }
    }

    fn to_big(&self) -> BigRational {
        match &self.0 {
            Small(ratio) => BigRational::new((*ratio.numer()).into(), (*ratio.denom()).into()),
            Big(ratio) => (**ratio).clone(),
        }
    }

    /// Back to the small form where it fits, so that equal values are cheap to compare.
    fn from_big(ratio: BigRational) -> Rate {
        match (ratio.numer().to_i128(), ratio.denom().to_i128()) {
            (Some(numerator), Some(denominator)) => {
                Rate(Small(Ratio::new_raw(numerator, denominator)))
            }
            _ => Rate(Big(Box::new(ratio))),
        }
    }

    fn combine(
        &self,
        other: &Rate,
        small: impl Fn(&Ratio<i128>, &Ratio<i128>) -> Option<Ratio<i128>>,
        big: impl Fn(BigRational, BigRational) -> BigRational,
    ) -> Rate {
        if let (Small(a), Small(b)) = (&self.0, &other.0)
            && let Some(result) = small(a, b)
        {
            return Rate(Small(result));
        }
        Rate::from_big(big(self.to_big(), other.to_big()))
    }
}

/// The sum of these rates.
///
/// Addition by addition, a long sum would be reduced each time by the greatest common divisor of two long numbers. Once
/// it has outgrown 128 bits, what is left is therefore put over one common denominator and reduced once.
fn sum_of(rates: &[Rate]) -> Rate {
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
        // The divisor of two short numbers: the common denominator soon is hundreds of digits long.
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

macro_rules! operator {
    ($trait:ident, $method:ident, $checked:path, $op:tt) => {
        impl $trait<&Rate> for &Rate {
            type Output = Rate;
            fn $method(self, other: &Rate) -> Rate {
                self.combine(other, |a, b| $checked(a, b), |a, b| a $op b)
            }
        }
        impl $trait for Rate {
            type Output = Rate;
            fn $method(self, other: Rate) -> Rate {
                (&self).$method(&other)
            }
        }
    };
}
operator!(Add, add, CheckedAdd::checked_add, +);
operator!(Sub, sub, CheckedSub::checked_sub, -);
operator!(Mul, mul, CheckedMul::checked_mul, *);
operator!(Div, div, CheckedDiv::checked_div, /);

impl std::iter::Sum for Rate {
    fn sum<I: Iterator<Item = Rate>>(items: I) -> Rate {
        sum_of(&items.collect::<Vec<Rate>>())
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Rate) -> Ordering {
        match (&self.0, &other.0) {
            (Small(a), Small(b)) => {
                // Products of numbers of 64 bits have 128; the way without products takes many divisions.
                match (as_words(a), as_words(b)) {
                    (Some((n, d)), Some((p, q))) => {
                        (i128::from(n) * i128::from(q)).cmp(&(i128::from(p) * i128::from(d)))
                    }
                    (Some(_) | None, _) => a.cmp(b),
                }
            }
            _ => self.to_big().cmp(&other.to_big()),
        }
    }
}

/// Numerator and denominator, if each is one word.
#[inline]
fn as_words(ratio: &Ratio<i128>) -> Option<(i64, i64)> {
    Some((i64::try_from(*ratio.numer()).ok()?, i64::try_from(*ratio.denom()).ok()?))
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Rate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Rate {
    fn eq(&self, other: &Rate) -> bool {
        match (&self.0, &other.0) {
            // Both are in lowest terms.
            (Small(a), Small(b)) => a.numer() == b.numer() && a.denom() == b.denom(),
            _ => self.cmp(other) == Ordering::Equal,
        }
    }
}
impl Eq for Rate {}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Small(ratio) => write!(f, "{ratio}"),
            Big(ratio) => write!(f, "{ratio}"),
        }
    }
}
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rate({self})")
    }
}

/// Text that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a number: write a decimal (\"0.75\") or a fraction (\"3/4\")")]
pub struct ParseRateError(String);

impl FromStr for Rate {
    type Err = ParseRateError;
    fn from_str(text: &str) -> Result<Rate, ParseRateError> {
        let (numerator, denominator) = parse_decimal_or_fraction(text.trim())
            .ok_or_else(|| ParseRateError(text.to_owned()))?;
        Ok(Rate(Small(Ratio::new(numerator, denominator))))
    }
}

/// Reads `12`, `1_000`, `-1.25` or `10/3` exactly: numerator and positive denominator.
pub(crate) fn parse_decimal_or_fraction(text: &str) -> Option<(i128, i128)> {
    let (text, sign) = match text.strip_prefix('-') {
        Some(rest) => (rest, -1),
        None => (text, 1),
    };
    let digits = |text: &str| -> Option<i128> {
        let plain: String = text.chars().filter(|&c| c != '_').collect();
        (!plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit()))
            .then(|| plain.parse().ok())?
    };
    if let Some((numerator, denominator)) = text.split_once('/') {
        let denominator = digits(denominator.trim())?;
        return (denominator > 0).then_some((sign * digits(numerator.trim())?, denominator));
    }
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    // Checked: a long row of decimals is refused, not wrapped.
    let denominator = 10i128.checked_pow(decimals.chars().filter(|&c| c != '_').count() as u32)?;
    let fraction = if decimals.is_empty() { 0 } else { digits(decimals)? };
    let whole = if whole.is_empty() && !decimals.is_empty() { 0 } else { digits(whole)? };
    Some((sign * whole.checked_mul(denominator)?.checked_add(fraction)?, denominator))
}

/// A sum of many non-negative rates that is compared with a bound: exact, but fast where the
/// answer is not close.
///
/// The sum is enclosed between two 64.64 fixed-point numbers; only when the bound lies between
/// them are the addends summed exactly. This matters where thousands of utilizations with
/// unrelated periods are packed: their exact sums have denominators of hundreds of digits.
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
    /// At most the sum, in units of 2^-64.
    low: u128,
    /// At least the sum, in the same unit.
    high: u128,
    addends: Vec<Rate>,
    /// Those of the addends that were taken away again.
    taken: Vec<Rate>,
}

impl RateSum {
    /// Adds a rate, which must not be negative.
    pub fn add(&mut self, rate: &Rate) {
        let (floor, exact) = rate.fixed_point();
        // Rounded down on one side and up on the other: the sum lies between the two.
        self.low += floor;
        self.high += floor + u128::from(!exact);
        self.addends.push(rate.clone());
    }

    /// Takes one addend of this value away again, if there is one. It is looked for among all: see
    /// [`take`](Self::take).
    pub fn remove(&mut self, rate: &Rate) {
        self.cancel();
        if let Some(at) = self.addends.iter().position(|addend| addend == rate) {
            self.addends.swap_remove(at);
            let (floor, exact) = rate.fixed_point();
            self.low -= floor;
            self.high -= floor + u128::from(!exact);
        }
    }

    /// Takes one addend of this value away again, which must be there. O(log n) on average.
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
    /// If it is not there; at once, or with a later call.
    pub fn take(&mut self, rate: &Rate) {
        let (floor, exact) = rate.fixed_point();
        self.low -= floor;
        self.high -= floor + u128::from(!exact);
        self.taken.push(rate.clone());
        if 2 * self.taken.len() > self.addends.len() {
            self.cancel();
        }
    }

    /// Drops what was taken away from the addends.
    fn cancel(&mut self) {
        if self.taken.is_empty() {
            return;
        }
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

    /// Whether the sum with one more `rate` is at most `bound`. Exact.
    pub fn fits(&self, rate: &Rate, bound: &Rate) -> bool {
        let ((rate_floor, rate_exact), (bound_floor, bound_exact)) =
            (rate.fixed_point(), bound.fixed_point());
        // *Yes* compares the largest possible sum with the smallest possible bound, *no* the other way round.
        if self.high + rate_floor + u128::from(!rate_exact) <= bound_floor {
            return true;
        }
        if self.low + rate_floor > bound_floor + u128::from(!bound_exact) {
            return false;
        }
        &self.exact() + rate <= *bound
    }

    /// A number that is at most the sum, in units of 2^-64: what [`most_before`](Self::most_before) is compared with.
    #[inline]
    pub fn low(&self) -> u128 {
        self.low
    }

    /// If the [`low`](Self::low) of a sum is more than this, the sum with one more `rate` is above `bound`, and it
    /// does not [fit](Self::fits). [`None`] if that holds of every sum.
    ///
    /// ```
    /// use layland_model::{Rate, RateSum};
    /// let mut load = RateSum::default();
    /// load.add(&Rate::new(2, 3));
    /// assert!(load.low() <= RateSum::most_before(&Rate::new(1, 3), &Rate::ONE).unwrap());
    /// assert!(load.low() > RateSum::most_before(&Rate::new(1, 2), &Rate::ONE).unwrap());
    /// assert_eq!(RateSum::most_before(&Rate::new(3, 2), &Rate::ONE), None);
    /// ```
    pub fn most_before(rate: &Rate, bound: &Rate) -> Option<u128> {
        let ((rate_floor, _), (bound_floor, bound_exact)) =
            (rate.fixed_point(), bound.fixed_point());
        (bound_floor + u128::from(!bound_exact)).checked_sub(rate_floor)
    }

    /// How two sums compare. Exact.
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

    /// The nearest floating-point number, to draw and to print.
    pub fn to_f64(&self) -> f64 {
        (self.low as f64 / 2.0 + self.high as f64 / 2.0) / 2f64.powi(64)
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.addends.len() == self.taken.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_outgrow_128_bits_and_come_back() {
        let primes = [1_000_003, 1_000_033, 1_000_037, 1_000_039, 1_000_081, 1_000_099, 1_000_117];
        let sum: Rate = primes.iter().map(|&p| Rate::new(1, p)).sum();
        let back = primes.iter().fold(sum.clone(), |rest, &p| rest - Rate::new(1, p));
        assert_eq!(back, Rate::ZERO);
        assert!(sum > Rate::ZERO && sum < Rate::new(1, 100_000));
    }

    #[test]
    fn decimals_and_fractions_read_exactly() {
        for (text, rate) in [
            ("0.95", Rate::new(19, 20)),
            ("5/3", Rate::new(5, 3)),
            (".5", Rate::new(1, 2)),
            ("-2", Rate::whole(-2)),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap(), rate);
        }
        for text in ["", ".", "1/0", "1e3", "a", "1/2/3", "--1"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    proptest! {
        /// Against the difference, also where products outgrow 128 bits.
        #[test]
        fn rates_compare_as_their_difference_says(
            (n, d, p, q) in (any::<i64>(), 1i64.., any::<i64>(), 1i64..),
            (small, close, wide) in (any::<bool>(), -1i64..=1, any::<bool>()),
        ) {
            let shrink = |value: i64| if small { value % 7 } else { value };
            let mut a = Rate::new(shrink(n), shrink(d).max(1));
            let mut b = if close == 0 { a.clone() } else { Rate::new(shrink(p), shrink(q).max(1)) };
            if wide {
                let more = Rate::new(1, q);
                (a, b) = (&a + &more, &b + &more);
            }
            let difference = (&a - &b).to_big();
            let sign = difference.numer().cmp(&BigInt::from(0));
            prop_assert_eq!(a.cmp(&b), sign);
            prop_assert_eq!(a == b, sign == Ordering::Equal);
        }

        /// Against the addends in a list.
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
                // An addend that is itself beyond 128 bits.
                rates.insert(rates.len() / 2, add(&rates));
            }
            let (sum, slow) = (sum_of(&rates), add(&rates));
            prop_assert_eq!(&sum, &slow);
            prop_assert_eq!(sum.to_string(), slow.to_string());
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
