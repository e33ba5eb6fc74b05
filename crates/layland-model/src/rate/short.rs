//! Arithmetic with a rate whose numerator and denominator are 64-bit words.
//!
//! The general algorithm first computes the result and then the greatest common divisor of two long
//! numbers, which takes most of the time. If the operands are in lowest terms, it suffices to
//! compute divisors of a word and of the remainder of a long number (Knuth, The Art of Computer
//! Programming 2, Section 4.5.1): the result is then already in lowest terms.

use super::Repr::{Big, Small};
use super::{Rate, as_words};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::{BigRational, Ratio};
use num_traits::ToPrimitive;

/// `a + b`, if one of the operands fits words.
pub(super) fn add(a: &Rate, b: &Rate) -> Option<Rate> {
    match (words(a), words(b)) {
        (Some(a), Some((c, d))) => add_words(a, (c.into(), d)),
        (None, Some((c, d))) => add_long(a, c.into(), d),
        (Some((c, d)), None) => add_long(b, c.into(), d),
        (None, None) => None,
    }
}

/// `a - b`, if `b` fits words.
pub(super) fn sub(a: &Rate, b: &Rate) -> Option<Rate> {
    let (c, d) = words(b)?;
    match words(a) {
        Some(a) => add_words(a, (-i128::from(c), d)),
        None => add_long(a, -i128::from(c), d),
    }
}

/// `a b`, if one of the operands fits words.
pub(super) fn mul(a: &Rate, b: &Rate) -> Option<Rate> {
    match (words(a), words(b)) {
        (Some((a, b)), Some((c, d))) => {
            let (across, back) = (divisor(a, d), divisor(c, b));
            let numerator = i128::from(a / across) * i128::from(c / back);
            let denominator = i128::from(b / back) * i128::from(d / across);
            Some(Rate(Small(Ratio::new_raw(numerator, denominator))))
        }
        (None, Some((c, d))) => mul_long(a, c, d),
        (Some((c, d)), None) => mul_long(b, c, d),
        (None, None) => None,
    }
}

/// `a / b`, if `b` fits words and is not zero.
pub(super) fn div(a: &Rate, b: &Rate) -> Option<Rate> {
    let (c, d) = words(b)?;
    // The smallest word cannot be negated.
    if c == 0 || c == i64::MIN {
        return None;
    }
    let inverse = Rate(Small(Ratio::new_raw((d * c.signum()).into(), c.abs().into())));
    mul(a, &inverse)
}

#[inline]
fn words(rate: &Rate) -> Option<(i64, i64)> {
    match &rate.0 {
        Small(ratio) => as_words(ratio),
        Big(_) => None,
    }
}

/// The greatest common divisor of a word and a positive word.
#[inline]
fn divisor(a: i64, positive: i64) -> i64 {
    // The divisor is at most `positive`, so it fits.
    a.unsigned_abs().gcd(&positive.unsigned_abs()) as i64
}

/// The greatest common divisor of a 128-bit number and a positive word.
#[inline]
fn long_divisor(a: i128, positive: i64) -> i64 {
    match i64::try_from(a) {
        Ok(a) => divisor(a, positive),
        Err(_) => divisor((a % i128::from(positive)) as i64, positive),
    }
}

/// `a/b + c/d`, where `c` is a word or a negated one.
fn add_words((a, b): (i64, i64), (c, d): (i128, i64)) -> Option<Rate> {
    let common = divisor(b, d);
    let sum = (i128::from(a) * i128::from(d / common)).checked_add(c * i128::from(b / common))?;
    // Any common factor of the sum and the denominator divides `common`.
    let shared = long_divisor(sum, common);
    let denominator = i128::from(b / common) * i128::from(d / shared);
    Some(Rate(Small(Ratio::new_raw(sum / i128::from(shared), denominator))))
}

/// `long + c/d`, where `c` is a word or a negated one.
fn add_long(long: &Rate, c: i128, d: i64) -> Option<Rate> {
    if let Small(ratio) = &long.0 {
        let (p, q) = (*ratio.numer(), *ratio.denom());
        let common = long_divisor(q, d);
        let parts = (p.checked_mul((d / common).into()), c.checked_mul(q / i128::from(common)));
        if let (Some(left), Some(right)) = parts
            && let Some(sum) = left.checked_add(right)
        {
            let shared = long_divisor(sum, common);
            let denominator = (q / i128::from(common)).checked_mul((d / shared).into());
            if let Some(denominator) = denominator {
                return Some(Rate(Small(Ratio::new_raw(sum / i128::from(shared), denominator))));
            }
        }
    }
    let (p, q) = terms(long);
    let common = big_divisor(&q, d);
    let rest = q / common;
    let sum = p * (d / common) + &rest * c;
    let shared = big_divisor(&sum, common);
    Some(Rate::from_big(BigRational::new_raw(sum / shared, rest * (d / shared))))
}

/// `long c/d`.
fn mul_long(long: &Rate, c: i64, d: i64) -> Option<Rate> {
    // The absolute value of the smallest word overflows, and a divisor must be positive.
    if c == 0 || c == i64::MIN {
        return None;
    }
    if let Small(ratio) = &long.0 {
        let (p, q) = (*ratio.numer(), *ratio.denom());
        let (across, back) = (long_divisor(p, d), long_divisor(q, c.abs()));
        let numerator = (p / i128::from(across)).checked_mul((c / back).into());
        let denominator = (q / i128::from(back)).checked_mul((d / across).into());
        if let (Some(numerator), Some(denominator)) = (numerator, denominator) {
            return Some(Rate(Small(Ratio::new_raw(numerator, denominator))));
        }
    }
    let (p, q) = terms(long);
    let (across, back) = (big_divisor(&p, d), big_divisor(&q, c.abs()));
    let (numerator, denominator) = (p / across * (c / back), q / back * (d / across));
    Some(Rate::from_big(BigRational::new_raw(numerator, denominator)))
}

fn terms(long: &Rate) -> (BigInt, BigInt) {
    match &long.0 {
        Small(ratio) => ((*ratio.numer()).into(), (*ratio.denom()).into()),
        Big(ratio) => (ratio.numer().clone(), ratio.denom().clone()),
    }
}

/// The greatest common divisor of an unbounded number and a positive word.
fn big_divisor(a: &BigInt, positive: i64) -> i64 {
    // The remainder of a division by a word fits a word.
    (a % positive).to_i64().map_or(1, |rest| divisor(rest, positive))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Draws a rate of words, or of numbers with two or three times as many digits.
    fn rates() -> impl Strategy<Value = Rate> {
        let word = || prop_oneof![any::<i64>(), -50i64..50, Just(i64::MIN), Just(0)];
        let positive = || prop_oneof![1i64.., 1i64..50, Just(i64::MAX)];
        let rate = (word(), positive()).prop_map(|(n, d)| Rate::new(n, d));
        prop::collection::vec(rate, 1..4).prop_map(|factors| {
            let product = factors
                .iter()
                .fold(BigRational::from_integer(1.into()), |product, rate| product * rate.to_big());
            Rate::from_big(product)
        })
    }

    proptest! {
        /// Compares with reduced rationals of unbounded integers.
        #[test]
        fn what_has_words_is_added_and_multiplied_as_any_other(a in rates(), b in rates(), equal in any::<bool>()) {
            let b = if equal { a.clone() } else { b };
            let (p, q) = (a.to_big(), b.to_big());
            let same = |rate: &Rate, exact: BigRational| {
                // Equal digits imply lowest terms; the short representation must be used where it
                // fits.
                let slow = Rate::from_big(exact);
                rate.to_string() == slow.to_string()
                    && matches!(rate.0, Small(_)) == matches!(slow.0, Small(_))
            };
            prop_assert!(same(&(&a + &b), &p + &q));
            prop_assert!(same(&(&a - &b), &p - &q));
            prop_assert!(same(&(&a * &b), &p * &q));
            if b != Rate::ZERO {
                prop_assert!(same(&(&a / &b), &p / &q));
            }
        }
    }
}
