//! Exact rationals: utilizations, densities, fractions. Decisions use exact values;
//! [`Rate::to_f64`] is for drawing only.

mod short;
mod sum;

pub use sum::{Enclosed, RateSum};

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Sub};
use std::str::FromStr;

/// An exact rational number: a ratio of 128-bit integers while these suffice, and of unbounded
/// integers otherwise. The value never depends on the representation.
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
    /// Panics if the denominator is zero.
    pub fn new(numerator: i64, denominator: i64) -> Rate {
        match (u64::try_from(numerator), u64::try_from(denominator)) {
            // The greatest common divisor of 64-bit numbers takes a fraction of the time of the
            // 128-bit one.
            (Ok(n), Ok(d)) if d > 0 => {
                let divisor = num_integer::Integer::gcd(&n, &d);
                Rate(Small(Ratio::new_raw((n / divisor).into(), (d / divisor).into())))
            }
            _ => Rate(Small(Ratio::new(numerator.into(), denominator.into()))),
        }
    }

    /// `numerator / denominator` of 128-bit integers, in lowest terms.
    ///
    /// # Panics
    /// Panics if the denominator is zero.
    pub fn of_wide(numerator: i128, denominator: i128) -> Rate {
        match (i64::try_from(numerator), i64::try_from(denominator)) {
            (Ok(numerator), Ok(denominator)) => Rate::new(numerator, denominator),
            _ => Rate(Small(Ratio::new(numerator, denominator))),
        }
    }

    /// A whole number.
    pub fn whole(number: i64) -> Rate {
        Rate(Small(Ratio::from_integer(number.into())))
    }

    /// The nearest floating-point number, for drawing and printing.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Small(ratio) => ratio.to_f64().unwrap_or(f64::NAN),
            Big(ratio) => ratio.to_f64().unwrap_or(f64::NAN),
        }
    }

    /// The largest integer that is not above the value, if it fits.
    pub fn floor(&self) -> Option<i64> {
        match &self.0 {
            // `Ratio::floor` and `Ratio::ceil` add numerator and denominator, which can overflow
            // 128 bits.
            Small(ratio) => num_integer::Integer::div_floor(ratio.numer(), ratio.denom()).to_i64(),
            Big(ratio) => ratio.floor().to_integer().to_i64(),
        }
    }

    /// The smallest integer that is not below the value, if it fits.
    pub fn ceil(&self) -> Option<i64> {
        match &self.0 {
            Small(ratio) => num_integer::Integer::div_ceil(ratio.numer(), ratio.denom()).to_i64(),
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

    /// A lower and an upper bound of the value in units of 2^-64, for a value in `[0, 2^63)`. They
    /// differ by at most one unit if numerator and denominator fit 64 bits, and otherwise perhaps
    /// by a few units.
    fn enclosure(&self) -> (u128, u128) {
        match &self.0 {
            Small(ratio) => enclosure(*ratio.numer() as u128, *ratio.denom() as u128),
            Big(ratio) => {
                let shifted: BigInt = ratio.numer() << 64;
                let (quotient, rest) = num_integer::Integer::div_rem(&shifted, ratio.denom());
                // One below the maximum, so that the addition below cannot overflow.
                let floor = quotient.to_u128().unwrap_or(u128::MAX - 1);
                (floor, floor + u128::from(!rest.is_zero()))
            }
        }
    }

    /// `floor(self * 2^64)`, or 0 for negative values and the largest number from 2^62 on. The
    /// number is monotonic in the rate, so many rates can be sorted by it before they are compared
    /// exactly.
    ///
    /// ```
    /// use layland_model::Rate;
    /// assert_eq!(Rate::new(1, 2).scaled_floor(), 1 << 63);
    /// assert_eq!(Rate::whole(-1).scaled_floor(), 0);
    /// assert_eq!(Rate::whole(i64::MAX).scaled_floor(), u128::MAX);
    /// ```
    pub fn scaled_floor(&self) -> u128 {
        // Below 2^62 the shifted numerator fits 128 bits.
        if let Some((n @ 0..=0x3fff_ffff_ffff_ffff, d)) = self.as_i64_pair() {
            return ((n as u128) << 64) / d as u128;
        }
        match self.floor() {
            Some(whole) if whole < 0 => 0,
            Some(whole) if whole < 1 << 62 => self.fixed_floor(),
            Some(_) => u128::MAX,
            None if *self < Rate::ZERO => 0,
            None => u128::MAX,
        }
    }

    /// `floor(self * 2^64)`, for a value in `[0, 2^63)`.
    fn fixed_floor(&self) -> u128 {
        if let Small(ratio) = &self.0 {
            let (numerator, denominator) = (*ratio.numer() as u128, *ratio.denom() as u128);
            let (whole, rest) = (numerator / denominator, numerator % denominator);
            // The whole part is below 2^63 by contract; only the remainder can overflow the shift.
            if let Some(shifted) = rest.checked_mul(1 << 64) {
                return (whole << 64) + shifted / denominator;
            }
        }
        let big = self.to_big();
        let shifted: BigInt = big.numer() << 64;
        (shifted / big.denom()).to_u128().unwrap_or(u128::MAX)
    }

    fn to_big(&self) -> BigRational {
        match &self.0 {
            Small(ratio) => BigRational::new((*ratio.numer()).into(), (*ratio.denom()).into()),
            Big(ratio) => (**ratio).clone(),
        }
    }

    /// Converts back to the small form if it fits, so that equal values are cheap to compare.
    fn from_big(ratio: BigRational) -> Rate {
        match (ratio.numer().to_i128(), ratio.denom().to_i128()) {
            (Some(numerator), Some(denominator)) => {
                Rate(Small(Ratio::new_raw(numerator, denominator)))
            }
            _ => Rate(Big(Box::new(ratio))),
        }
    }
}

/// [`Rate::enclosure`] of a fraction.
fn enclosure(numerator: u128, denominator: u128) -> (u128, u128) {
    let floor = |n: u64, d: u64| (u128::from(n) << 64) / u128::from(d);
    if let (Ok(n), Ok(d)) = (u64::try_from(numerator), u64::try_from(denominator)) {
        let low = floor(n, d);
        return (low, low + u128::from(low * u128::from(d) != u128::from(n) << 64));
    }
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    let (low, high) = match u64::try_from(denominator) {
        Ok(_) => enclosure(rest, denominator),
        Err(_) => {
            // Keep the first 63 digits of the denominator, and drop as many digits of the smaller
            // number.
            let fewer = u128::BITS - denominator.leading_zeros() - 63;
            let (n, d) = ((rest >> fewer) as u64, (denominator >> fewer) as u64);
            // Round the denominator up for the lower bound, and the numerator for the upper one.
            (floor(n, d + 1), floor(n + 1, d) + 1)
        }
    };
    ((whole << 64) + low, (whole << 64) + high)
}

macro_rules! operator {
    ($trait:ident, $method:ident, $checked:path, $op:tt) => {
        impl $trait<&Rate> for &Rate {
            type Output = Rate;
            fn $method(self, other: &Rate) -> Rate {
                if let Some(result) = short::$method(self, other) {
                    return result;
                }
                // The greatest common divisor of the smallest 128-bit number and zero does not fit
                // 128 bits.
                if let (Small(a), Small(b)) = (&self.0, &other.0)
                    && *a.numer() != i128::MIN
                    && *b.numer() != i128::MIN
                    && let Some(result) = $checked(a, b)
                {
                    return Rate(Small(result));
                }
                Rate::from_big(self.to_big() $op other.to_big())
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
        sum::sum_of(&items.collect::<Vec<Rate>>())
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Rate) -> Ordering {
        match (&self.0, &other.0) {
            (Small(a), Small(b)) => {
                // Products of 64-bit numbers fit 128 bits; the comparison without products takes
                // many divisions.
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

/// Numerator and denominator, if each fits one word.
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

/// The error for a string that is not a rate.
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

/// Parses `12`, `1_000`, `-1.25` or `10/3` exactly. Returns the numerator and the positive
/// denominator.
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
    // Checked: a long row of decimals is an error and must not wrap.
    let denominator = 10i128.checked_pow(decimals.chars().filter(|&c| c != '_').count() as u32)?;
    let fraction = if decimals.is_empty() { 0 } else { digits(decimals)? };
    let whole = if whole.is_empty() && !decimals.is_empty() { 0 } else { digits(whole)? };
    Some((sign * whole.checked_mul(denominator)?.checked_add(fraction)?, denominator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fractions_of_long_numbers_are_rounded() {
        // The sum of numerator and denominator exceeds 128 bits.
        let above_one = Rate::of_wide(i128::MAX, i128::MAX - 1);
        assert_eq!((above_one.floor(), above_one.ceil()), (Some(1), Some(2)));
        let below = Rate::of_wide(-i128::MAX, i128::MAX - 1);
        assert_eq!((below.floor(), below.ceil()), (Some(-2), Some(-1)));
        let least = Rate::of_wide(i128::MIN, 3);
        assert_eq!((&Rate::ZERO / &least, &least / &least), (Rate::ZERO, Rate::ONE));
        assert_eq!(
            &least * &Rate::new(-3, 1),
            Rate::from_big(BigInt::from(i128::MIN).into()) * Rate::whole(-1)
        );
    }

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
        /// Compares with the sign of the difference, also where products exceed 128 bits.
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

        #[test]
        fn a_rate_is_in_lowest_terms(n in -1000i64..1000, d in 1i64..1000, by in 1i64..1000) {
            prop_assert_eq!(Rate::new(n * by, d * by).to_string(), Ratio::new(n, d).to_string());
            prop_assert_eq!(Rate::new(n * by, -d * by).to_string(), Ratio::new(-n, d).to_string());
        }
    }
}
