//! The three integer-nanosecond types: [`Time`] is a point, [`Duration`] a length, [`Service`] an
//! amount of processor work.
//!
//! `Time - Time = Duration` and `Time + Duration = Time`, while `Time + Time` does not compile.
//! `Service` is work at unit speed: it becomes a `Duration` only through a CPU's
//! [`Speed`](crate::Speed), or explicitly with [`Service::at_unit_speed`].
//!
//! `{}` writes a time exactly, as in files (`1230.5us`). `{:#}` writes it for people, with a space
//! before the unit: a length with three significant digits (`1.23 ms`, `29.6 h`), an instant with
//! six, so that it can be found in a chart. An exact value has no trailing zeros (`50 ms`), and a
//! rounded one keeps those of its first three digits.

mod exact;
mod names;
pub(crate) mod readable;

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Rem, Sub, SubAssign};
use std::str::FromStr;

/// The maximum of a time in a [`System`](crate::System), in nanoseconds (about 36 years). Sums of a
/// few such times never overflow.
pub const TIME_LIMIT: i64 = 1 << 60;

macro_rules! nanosecond_type {
    ($(#[$doc:meta])* $name:ident, $digits:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(i64);

        impl $name {
            /// Zero nanoseconds.
            pub const ZERO: Self = Self(0);
            /// The largest value.
            pub const MAX: Self = Self(i64::MAX);

            /// Converts from nanoseconds.
            pub const fn from_ns(ns: i64) -> Self {
                Self(ns)
            }
            /// Converts from microseconds.
            pub const fn from_us(us: i64) -> Self {
                Self(us * 1_000)
            }
            /// Converts from milliseconds.
            pub const fn from_ms(ms: i64) -> Self {
                Self(ms * 1_000_000)
            }
            /// The number of nanoseconds.
            pub const fn ns(self) -> i64 {
                self.0
            }
            /// The value in milliseconds, for drawing and printing only.
            pub fn as_ms_f64(self) -> f64 {
                self.0 as f64 / 1e6
            }
            /// Appends the output of `{}` without a formatter: streams of sets have millions of
            /// times.
            pub fn append_to(self, text: &mut String) {
                // Byte by byte: a search for non-ASCII characters takes longer on a few bytes.
                let mut buffer = Default::default();
                exact::ascii(self.0, &mut buffer).iter().for_each(|&byte| text.push(byte.into()));
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if f.alternate() {
                    readable::write(f, self.0, $digits)
                } else {
                    f.pad(exact::text(self.0, &mut Default::default()))
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseTimeError;
            fn from_str(text: &str) -> Result<Self, ParseTimeError> {
                parse_ns(text).map(Self)
            }
        }
    };
}

nanosecond_type! {
    /// A point in time, in nanoseconds since the start of the run.
    Time, 6
}
nanosecond_type! {
    /// A length of time, in nanoseconds.
    Duration, 3
}
nanosecond_type! {
    /// An amount of processor work: nanoseconds of execution at unit speed.
    Service, 3
}

macro_rules! amount_arithmetic {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
        impl Mul<i64> for $name {
            type Output = Self;
            fn mul(self, factor: i64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Mul<$name> for i64 {
            type Output = $name;
            fn mul(self, amount: $name) -> $name {
                $name(self * amount.0)
            }
        }
        impl Rem for $name {
            type Output = Self;
            fn rem(self, other: Self) -> Self {
                Self(self.0.rem_euclid(other.0))
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                Self(items.map(|item| item.0).sum())
            }
        }
        impl $name {
            /// The number of times that `other` fits into the value: `floor(self / other)`.
            pub fn div_floor(self, other: Self) -> i64 {
                self.0.div_euclid(other.0)
            }
            /// The number of times that `other` is needed to cover the value: `ceil(self / other)`.
            pub fn div_ceil(self, other: Self) -> i64 {
                num_integer::Integer::div_ceil(&self.0, &other.0)
            }
            /// The sum, or `None` on overflow.
            pub fn checked_add(self, other: Self) -> Option<Self> {
                self.0.checked_add(other.0).map(Self)
            }
            /// The product, or `None` on overflow.
            pub fn checked_mul(self, factor: i64) -> Option<Self> {
                self.0.checked_mul(factor).map(Self)
            }
        }
    };
}
amount_arithmetic!(Duration);
amount_arithmetic!(Service);

impl Time {
    /// Later than every event: the value of an unset timer, or the deadline of an idle CPU.
    pub const NEVER: Time = Time(i64::MAX);

    /// `self + length`, or [`Time::NEVER`] on overflow.
    #[must_use]
    pub fn saturating_add(self, length: Duration) -> Time {
        Time(self.0.saturating_add(length.0))
    }

    /// The length of time since the start of the run.
    pub fn since_start(self) -> Duration {
        Duration(self.0)
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, other: Time) -> Duration {
        Duration(self.0 - other.0)
    }
}
impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, length: Duration) -> Time {
        Time(self.0 + length.0)
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, length: Duration) {
        self.0 += length.0;
    }
}
impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, length: Duration) -> Time {
        Time(self.0 - length.0)
    }
}

impl Duration {
    /// Converts from whole seconds.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds * 1_000_000_000)
    }
    /// The work that a unit-speed CPU does in this time.
    pub const fn at_unit_speed(self) -> Service {
        Service(self.0)
    }
}

impl Service {
    /// The time that a unit-speed CPU needs for this work.
    pub const fn at_unit_speed(self) -> Duration {
        Duration(self.0)
    }
}

/// The reason why a string is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseTimeError {
    /// A number without a unit.
    #[error("a time needs a unit")]
    MissingUnit {
        /// The number as written.
        number: String,
    },
    /// A unit other than ns, us, ms, s.
    #[error("unknown time unit `{unit}`")]
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// The number in front of it.
        number: String,
    },
    /// No number precedes the unit.
    #[error("`{text}` is not a time")]
    NotANumber {
        /// The string as written.
        text: String,
    },
    /// A value that is not a whole number of nanoseconds.
    #[error("`{text}` is not a whole number of nanoseconds")]
    NotWhole {
        /// The string as written.
        text: String,
    },
    /// The value exceeds [`TIME_LIMIT`].
    #[error("`{text}` is too long: at most about 36 years fit")]
    TooLarge {
        /// The string as written.
        text: String,
    },
}

impl ParseTimeError {
    /// Advice for the user.
    pub fn help(&self) -> String {
        match self {
            // Only the user knows the unit.
            Self::MissingUnit { .. } => "add ns, us, ms or s to the number".to_owned(),
            Self::UnknownUnit { number, unit } => match names::in_our_units(number, unit) {
                Some(time) => format!("write \"{time}\""),
                None => "the units are ns, us, ms and s".to_owned(),
            },
            Self::NotANumber { .. } => {
                "a time is a number and a unit: \"5ms\", \"1.5us\", \"10/3s\"".to_owned()
            }
            Self::NotWhole { .. } => {
                "one nanosecond is the smallest unit of time: round the value".to_owned()
            }
            Self::TooLarge { .. } => "use a smaller value".to_owned(),
        }
    }
}

/// Parses a time: an integer, a decimal or a fraction, and a unit.
fn parse_ns(text: &str) -> Result<i64, ParseTimeError> {
    match plain_ns(text.as_bytes()) {
        Some(ns) => Ok(ns),
        None => parse_any_ns(text),
    }
}

/// Parses a time as programs write it: digits, perhaps a point and more digits, and a unit. Returns
/// `None` for any other or invalid form.
fn plain_ns(text: &[u8]) -> Option<i64> {
    let (number, scale) = match text {
        [number @ .., b'n', b's'] => (number, 1),
        [number @ .., b'u', b's'] => (number, 1_000),
        [number @ .., b'm', b's'] => (number, 1_000_000),
        [number @ .., b's'] => (number, 1_000_000_000i64),
        _ => return None,
    };
    let (mut value, mut unit, mut digits) = (0i64, scale, 0);
    let mut is_fraction = false;
    for &byte in number {
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add((byte - b'0').into())?;
                digits += 1;
                if is_fraction {
                    // More decimals than nanoseconds need take the slow path, even if they are
                    // zeros.
                    if unit % 10 != 0 {
                        return None;
                    }
                    unit /= 10;
                }
            }
            b'.' if digits > 0 && !is_fraction => is_fraction = true,
            _ => return None,
        }
    }
    if digits == 0 || number.ends_with(b".") {
        return None;
    }
    value.checked_mul(unit).filter(|&ns| ns <= TIME_LIMIT)
}

/// Parses a time as people write it: also with spaces, a sign, underscores between digits, or as a
/// fraction.
fn parse_any_ns(text: &str) -> Result<i64, ParseTimeError> {
    let trimmed = text.trim();
    let not_a_number = || ParseTimeError::NotANumber { text: text.to_owned() };
    let unit_at = trimmed.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |at| at + 1);
    let (number, unit) = (trimmed[..unit_at].trim(), trimmed[unit_at..].trim());
    if number.is_empty() {
        return Err(not_a_number());
    }
    let scale: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "" => return Err(ParseTimeError::MissingUnit { number: number.to_owned() }),
        _ => {
            return Err(ParseTimeError::UnknownUnit {
                unit: unit.to_owned(),
                number: number.to_owned(),
            });
        }
    };
    let (numerator, denominator) =
        crate::rate::parse_decimal_or_fraction(number).ok_or_else(not_a_number)?;
    let too_large = || ParseTimeError::TooLarge { text: text.to_owned() };
    let scaled = numerator.checked_mul(scale).ok_or_else(too_large)?;
    if scaled % denominator != 0 {
        return Err(ParseTimeError::NotWhole { text: text.to_owned() });
    }
    i64::try_from(scaled / denominator)
        .ok()
        .filter(|ns| ns.abs() <= TIME_LIMIT)
        .ok_or_else(too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back_as_written() {
        for (text, ns) in [
            ("5ms", 5_000_000),
            ("1.5us", 1_500),
            ("10/2s", 5_000_000_000),
            ("0s", 0),
            ("1_000ns", 1_000),
            ("-2ms", -2_000_000),
            (" 7 µs ", 7_000),
        ] {
            assert_eq!(text.parse::<Duration>(), Ok(Duration::from_ns(ns)), "{text}");
        }
    }

    #[test]
    fn the_short_way_reads_what_the_long_one_does() {
        let numbers = [
            "0",
            "00",
            "7",
            "12",
            "12.5",
            "12.500",
            "0.001",
            "0.000001",
            "0.0000001",
            ".5",
            "5.",
            ".",
            "",
            "1.2.3",
            "1152921504606846976",
            "1152921504606846977",
            "1152921504.606846976",
            "9223372036854775807",
            "1_000",
            "-3",
            "+3",
            " 4",
            "10/2",
            "1e3",
        ];
        let mut read = 0;
        for number in numbers {
            for unit in ["ns", "us", "ms", "s", "µs", "", "m", " ms", "ms "] {
                let text = format!("{number}{unit}");
                if let Some(ns) = plain_ns(text.as_bytes()) {
                    assert_eq!(parse_any_ns(&text), Ok(ns), "{text}");
                    read += 1;
                }
            }
        }
        assert!(read > 25, "{read} were read in the short way");
        assert_eq!(plain_ns(b"0.375us"), Some(375));
    }

    #[test]
    fn wrong_times_say_what_is_wrong() {
        let error = |text: &str| text.parse::<Duration>().unwrap_err();
        assert!(matches!(error("5"), ParseTimeError::MissingUnit { .. }));
        assert!(matches!(error("5msec"), ParseTimeError::UnknownUnit { .. }));
        assert!(matches!(error("ms"), ParseTimeError::NotANumber { .. }));
        assert!(matches!(error("1.5ns"), ParseTimeError::NotWhole { .. }));
        assert!(matches!(error("10/3ms"), ParseTimeError::NotWhole { .. }));
        assert!(matches!(error("1/0ms"), ParseTimeError::NotANumber { .. }));
        assert!(matches!(error("99999999999s"), ParseTimeError::TooLarge { .. }));
        assert!(matches!(error("9".repeat(60).as_str()), ParseTimeError::MissingUnit { .. }));
    }

    #[test]
    fn instants_have_six_digits_and_no_zeros_that_say_nothing() {
        for (ns, text) in [
            (5_000_000, "5 ms"),
            (1_000_001, "1.00 ms"),
            (12_300_001, "12.3 ms"),
            (12_340_001, "12.34 ms"),
            (123_456_789, "123.457 ms"),
            (-1_000_001, "-1.00 ms"),
        ] {
            assert_eq!(format!("{:#}", Time::from_ns(ns)), text);
        }
    }

    #[test]
    fn display_is_short_exact_and_parses_back() {
        for (ns, text) in [
            (0, "0ns"),
            (1, "1ns"),
            (1_500, "1.5us"),
            (1_234_567, "1234.567us"),
            (1_200_000, "1.2ms"),
            (-5_000_000, "-5ms"),
            (2_000_000_000, "2s"),
            (1_000_000_001, "1000000.001us"),
            (TIME_LIMIT, "1152921504606846.976us"),
            (-TIME_LIMIT + 1, "-1152921504606846.975us"),
        ] {
            assert_eq!(Duration::from_ns(ns).to_string(), text);
            assert_eq!(text.parse::<Duration>().unwrap().ns(), ns);
        }
    }
}
