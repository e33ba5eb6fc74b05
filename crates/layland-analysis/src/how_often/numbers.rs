//! Numbers that are rounded one way only, so that a bound stays a bound.
//!
//! - [`Mass`]: a probability in units of 2^-96. Sums are exact, products are rounded.
//! - [`Scaled`]: 64 digits and an exponent, for powers that are far below or above 1.
//!
//! Every operation is monotone in its operands, and all operands are at least 0. So an expression
//! in which every operation rounds up is an upper bound, and likewise down.

use layland_model::Rate;

/// The direction in which every product of a calculation is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards 0: the result is a lower bound.
    Down,
    /// Away from 0: the result is an upper bound.
    Up,
}

/// A probability in units of 2^-96. A sum that was rounded up may be a little above 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mass(pub(super) u128);

/// The number of binary digits of a mass.
const DIGITS: u32 = 96;
const HALF: u32 = DIGITS / 2;
const LOW: u128 = (1 << HALF) - 1;

impl Mass {
    /// 0.
    pub const ZERO: Mass = Mass(0);
    /// 1.
    pub const ONE: Mass = Mass(1 << DIGITS);

    /// A probability, rounded to the grid.
    ///
    /// ```
    /// use layland_analysis::how_often::{Mass, Rounding};
    /// use layland_model::Rate;
    /// let third = Rate::new(1, 3);
    /// let (low, high) = (Mass::of(&third, Rounding::Down), Mass::of(&third, Rounding::Up));
    /// assert!(low.to_rate() < third && third < high.to_rate());
    /// assert_eq!(Mass::of(&Rate::new(3, 8), Rounding::Down).to_rate(), Rate::new(3, 8));
    /// ```
    ///
    /// # Panics
    /// Panics unless the rate is between 0 and 1.
    pub fn of(rate: &Rate, rounding: Rounding) -> Mass {
        assert!(*rate >= Rate::ZERO && *rate <= Rate::ONE, "the probability {rate}");
        let half = Rate::whole(1 << HALF);
        let (high, rest) = whole_and_rest(&(rate * &half));
        let (low, rest) = whole_and_rest(&(&rest * &half));
        let floor = (high << HALF) + low;
        Mass(floor + u128::from(rounding == Rounding::Up && rest > Rate::ZERO))
    }

    /// The exact value.
    pub fn to_rate(self) -> Rate {
        // Sums of masses are far below 2^127.
        Rate::of_wide(self.0 as i128, 1 << DIGITS)
    }

    /// The product, rounded.
    #[must_use]
    pub fn times(self, other: Mass, rounding: Rounding) -> Mass {
        Mass(product(self.0, other.0, rounding))
    }

    /// The exact sum.
    #[must_use]
    pub fn plus(self, other: Mass) -> Mass {
        Mass(self.0.saturating_add(other.0))
    }

    /// The smaller of this and 1.
    #[must_use]
    pub fn at_most_one(self) -> Mass {
        self.min(Mass::ONE)
    }
}

fn whole_and_rest(value: &Rate) -> (u128, Rate) {
    // The value is at most 2^48.
    let whole = value.floor().unwrap_or_default();
    (whole as u128, value - &Rate::whole(whole))
}

/// `a b / 2^96`, rounded, for factors of a few units above 1 at most.
#[inline]
pub(super) fn product(a: u128, b: u128, rounding: Rounding) -> u128 {
    let parts = |x: u128| ((x >> HALF) as u64, (x & LOW) as u64);
    let ((a_high, a_low), (b_high, b_low)) = (parts(a), parts(b));
    let of = |x: u64, y: u64| u128::from(x) * u128::from(y);
    let low = of(a_low, b_low);
    let middle = of(a_high, b_low) + of(a_low, b_high) + (low >> HALF);
    let floor = of(a_high, b_high) + (middle >> HALF);
    let has_rest = (middle | low) & LOW != 0;
    floor + u128::from(has_rest && rounding == Rounding::Up)
}

/// A number that is at least 0: `digits 2^exponent`, with 64 digits of which the first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaled {
    digits: u64,
    exponent: i64,
}

impl Scaled {
    /// 0.
    pub const ZERO: Scaled = Scaled { digits: 0, exponent: i64::MIN };
    /// 1.
    pub const ONE: Scaled = Scaled { digits: 1 << 63, exponent: -63 };

    /// `digits 2^exponent`, rounded to 64 digits. `has_rest` says that the exact value is larger
    /// by less than one of the given digits.
    fn rounded(digits: u128, exponent: i64, has_rest: bool, rounding: Rounding) -> Scaled {
        if digits == 0 {
            // A number below the smallest of these digits must not vanish upwards.
            return match rounding {
                Rounding::Up if has_rest => Scaled { digits: 1 << 63, exponent: exponent - 63 },
                Rounding::Up | Rounding::Down => Scaled::ZERO,
            };
        }
        let zeros = digits.leading_zeros();
        if zeros >= 64 {
            let (digits, exponent) =
                ((digits as u64) << (zeros - 64), exponent - i64::from(zeros - 64));
            let is_up = has_rest && rounding == Rounding::Up;
            return Scaled { digits, exponent }.next_if(is_up);
        }
        let dropped = 64 - zeros;
        let has_rest = has_rest || digits & ((1 << dropped) - 1) != 0;
        let kept =
            Scaled { digits: (digits >> dropped) as u64, exponent: exponent + i64::from(dropped) };
        kept.next_if(has_rest && rounding == Rounding::Up)
    }

    /// The next larger number, if asked.
    fn next_if(self, is_up: bool) -> Scaled {
        if !is_up {
            return self;
        }
        match self.digits.checked_add(1) {
            Some(digits) => Scaled { digits, ..self },
            None => Scaled { digits: 1 << 63, exponent: self.exponent + 1 },
        }
    }

    /// `numerator 2^exponent`, rounded to 64 digits.
    pub(super) fn of(numerator: u128, exponent: i64, rounding: Rounding) -> Scaled {
        Scaled::rounded(numerator, exponent, false, rounding)
    }

    /// `numerator / denominator`, rounded to 64 digits. The denominator is not 0.
    pub(super) fn ratio(numerator: u64, denominator: u64, rounding: Rounding) -> Scaled {
        if numerator == 0 {
            return Scaled::ZERO;
        }
        let (up, below) = (numerator.leading_zeros(), denominator.leading_zeros());
        let (n, d) = (u128::from(numerator << up) << 64, u128::from(denominator << below));
        let exponent = i64::from(below) - i64::from(up) - 64;
        Scaled::rounded(n / d, exponent, n % d != 0, rounding)
    }

    /// A mass as such a number.
    pub fn of_mass(mass: Mass, rounding: Rounding) -> Scaled {
        Scaled::of(mass.0, -i64::from(DIGITS), rounding)
    }

    /// The product, rounded.
    #[must_use]
    pub fn times(self, other: Scaled, rounding: Rounding) -> Scaled {
        if self.digits == 0 || other.digits == 0 {
            return Scaled::ZERO;
        }
        let digits = u128::from(self.digits) * u128::from(other.digits);
        Scaled::rounded(digits, self.exponent + other.exponent, false, rounding)
    }

    /// The sum, rounded.
    #[must_use]
    pub fn plus(self, other: Scaled, rounding: Rounding) -> Scaled {
        let (large, small) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if small.digits == 0 {
            return large;
        }
        // 62 digits more than the larger one has, and one free for the carry.
        let digits = u128::from(large.digits) << 62;
        let exponent = large.exponent - 62;
        let shift = exponent - small.exponent;
        let (more, has_rest) = match u32::try_from(shift) {
            Ok(shift @ 0..=63) => {
                let more = u128::from(small.digits >> shift);
                (more, (more as u64) << shift != small.digits)
            }
            Ok(_) => (0, true),
            // The exponents differ by less than 62: the smaller one is shifted up.
            Err(_) => (u128::from(small.digits) << -shift, false),
        };
        Scaled::rounded(digits + more, exponent, has_rest, rounding)
    }

    /// The power, by squaring, each product rounded.
    #[must_use]
    pub fn power(self, mut exponent: u64, rounding: Rounding) -> Scaled {
        let (mut result, mut square) = (Scaled::ONE, self);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.times(square, rounding);
            }
            exponent >>= 1;
            if exponent > 0 {
                square = square.times(square, rounding);
            }
        }
        result
    }

    /// Returns true if this number is at most the other one: exact.
    pub fn is_at_most(self, other: Scaled) -> bool {
        // The first digit is 1, so the exponents decide unless they are equal.
        self.digits == 0 || (self.exponent, self.digits) <= (other.exponent, other.digits)
    }

    /// The number as a mass, rounded; at most 1.
    pub fn to_mass(self, rounding: Rounding) -> Mass {
        if Scaled::ONE.is_at_most(self) {
            return Mass::ONE;
        }
        let shift = self.exponent + i64::from(DIGITS);
        let (mass, has_rest) = match u32::try_from(-shift) {
            Ok(shift @ 0..=63) => {
                let mass = self.digits >> shift;
                (u128::from(mass), mass << shift != self.digits)
            }
            Ok(_) => (0, self.digits != 0),
            Err(_) if self.digits == 0 => (0, false),
            // Below 1, so at most 32 places.
            Err(_) => (u128::from(self.digits) << shift, false),
        };
        Mass(mass + u128::from(has_rest && rounding == Rounding::Up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(of: Scaled) -> Rate {
        let two = |power: i64| Rate::whole(1 << power);
        let mut value = Rate::of_wide(i128::from(of.digits), 1);
        let mut exponent = of.exponent.max(-400);
        while exponent != 0 {
            let step = exponent.abs().min(60);
            value = if exponent < 0 { &value / &two(step) } else { &value * &two(step) };
            exponent -= step * exponent.signum();
        }
        value
    }

    /// Numbers of many sizes, from a simple generator.
    fn numbers() -> Vec<Scaled> {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        (0..40)
            .map(|_| Scaled::of(next().into(), (next() % 200) as i64 - 150, Rounding::Down))
            .collect()
    }

    #[test]
    fn operations_enclose_the_exact_results() {
        let unit = Rate::of_wide(1, 1 << 63);
        for a in numbers() {
            for b in numbers() {
                for (down, up, exactly) in [
                    (a.times(b, Rounding::Down), a.times(b, Rounding::Up), &exact(a) * &exact(b)),
                    (a.plus(b, Rounding::Down), a.plus(b, Rounding::Up), &exact(a) + &exact(b)),
                ] {
                    let (down, up) = (exact(down), exact(up));
                    assert!(down <= exactly && exactly <= up, "{a:?} {b:?}");
                    assert!(&up - &down <= &down * &unit, "{a:?} {b:?}: {down} {up}");
                }
                assert_eq!(a.is_at_most(b), exact(a) <= exact(b));
            }
            let (down, up) = (a.to_mass(Rounding::Down), a.to_mass(Rounding::Up));
            if exact(a) <= Rate::ONE {
                assert!(down.to_rate() <= exact(a) && exact(a) <= up.to_rate());
                assert!(up.0 - down.0 <= 1);
            } else {
                assert_eq!((down, up), (Mass::ONE, Mass::ONE));
            }
        }
    }

    #[test]
    fn products_of_masses_are_rounded_by_less_than_a_unit() {
        let third = Mass::of(&Rate::new(1, 3), Rounding::Down);
        for other in
            [Mass::ONE, third, Mass(1), Mass::ZERO, Mass::of(&Rate::new(1, 8), Rounding::Up)]
        {
            let exactly = &third.to_rate() * &other.to_rate();
            let (down, up) = (third.times(other, Rounding::Down), third.times(other, Rounding::Up));
            assert!(down.to_rate() <= exactly && exactly <= up.to_rate());
            assert!(up.0 - down.0 <= 1);
        }
    }

    #[test]
    fn ratios_enclose_the_exact_ones() {
        for n in [1u64, 3, 7, 1 << 40, u64::MAX >> 1, 12_345_678_901] {
            for d in [1u64, 3, 10, (1 << 40) - 1, u64::MAX >> 1] {
                let exactly = Rate::of_wide(n.into(), d.into());
                let [down, up] =
                    [Rounding::Down, Rounding::Up].map(|way| exact(Scaled::ratio(n, d, way)));
                assert!(down <= exactly && exactly <= up, "{n}/{d}");
                assert!(&up - &down <= &down * &Rate::of_wide(1, 1 << 62), "{n}/{d}");
            }
        }
    }

    #[test]
    fn powers_far_below_one_do_not_vanish() {
        let tenth = Scaled::of_mass(Mass::of(&Rate::new(1, 10), Rounding::Down), Rounding::Down);
        let (down, up) = (tenth.power(1_000, Rounding::Down), tenth.power(1_000, Rounding::Up));
        assert!(Scaled::ZERO.is_at_most(down) && down != Scaled::ZERO && down.is_at_most(up));
        assert_eq!((down.to_mass(Rounding::Down), up.to_mass(Rounding::Up)), (Mass(0), Mass(1)));
    }
}
