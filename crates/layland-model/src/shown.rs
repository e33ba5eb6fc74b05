//! Numbers and columns of times, as people read them.
//!
//! A rounded number has three significant digits, a ratio three decimals. A number that is exact
//! with fewer has no zeros at its end, so that `10.0` is near 10 and `10` is 10. A column has one
//! unit. Two numbers that are compared have as many digits as the comparison needs: a bound of
//! 10.0004 ms never looks equal to a deadline of 10 ms.
//!
//! The texts are ASCII, since files contain them. Front ends pass what people read through
//! [`with_micro`].

use crate::time::readable::{Decimal, UNITS, rounded, unit_of};
use crate::{Duration, Rate};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The digits of a rounded number, unless the user asks for more.
pub const DIGITS: u32 = 3;

/// The digits of rounded numbers that the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits(pub u32);

impl Default for Digits {
    fn default() -> Digits {
        Digits(DIGITS)
    }
}

/// The largest number of digits of a rounded number. Numbers that look alike even then are written
/// exactly.
const MOST_DIGITS: u32 = 12;

/// Writes a ratio with this many decimals, or, below 0.1, with as many significant digits.
///
/// ```
/// use layland_model::{Rate, shown};
/// let number = |n, d| shown::number(&Rate::new(n, d), shown::DIGITS);
/// assert_eq!(number(3, 4), "0.75");
/// assert_eq!(number(2, 3), "0.667");
/// assert_eq!(number(1, 300), "0.00333");
/// assert_eq!(number(2, 1), "2");
/// assert_eq!(number(9999, 10000), "1.000");
/// ```
pub fn number(value: &Rate, digits: u32) -> String {
    Ratio::of(value, digits).map_or_else(|| value.to_string(), |ratio| ratio.to_string())
}

/// Writes two ratios that are compared.
///
/// ```
/// use layland_model::{Rate, shown};
/// let pair = |n, d| shown::numbers((&Rate::new(n, d), &Rate::ONE), shown::DIGITS);
/// assert_eq!(pair(13, 12), ("1.083".to_owned(), "1".to_owned()));
/// assert_eq!(pair(1_000_001, 1_000_000), ("1.000001".to_owned(), "1".to_owned()));
/// ```
pub fn numbers((value, other): (&Rate, &Rate), digits: u32) -> (String, String) {
    let order = value.cmp(other);
    let pairs = (digits..=MOST_DIGITS.max(digits))
        .map_while(|digits| Some((Ratio::of(value, digits)?, Ratio::of(other, digits)?)));
    let found = pairs.into_iter().find(|(value, other)| value.order(other) == order);
    match found {
        Some((value, other)) => (value.to_string(), other.to_string()),
        None => (value.to_string(), other.to_string()),
    }
}

/// Writes two times that are compared, in nanoseconds, which may be fractions.
///
/// ```
/// use layland_model::{Rate, shown};
/// let times = |a, b| shown::times((&Rate::whole(a), &Rate::whole(b)), shown::DIGITS);
/// assert_eq!(times(4_000_000, 300_000), ("4 ms".to_owned(), "300 us".to_owned()));
/// assert_eq!(times(10_000_400, 10_000_000), ("10.0004 ms".to_owned(), "10 ms".to_owned()));
/// ```
pub fn times((value, other): (&Rate, &Rate), digits: u32) -> (String, String) {
    let order = value.cmp(other);
    let of = |value: &Rate, digits: u32| Length::of(value, digits);
    let pairs = (digits..=20).map_while(|digits| Some((of(value, digits)?, of(other, digits)?)));
    let found = pairs.into_iter().find(|(value, other)| value.order(other) == order);
    match found {
        Some((value, other)) => (value.text, other.text),
        None => (format!("{value} ns"), format!("{other} ns")),
    }
}

/// A ratio, rounded: `units` / 10^`decimals`.
struct Ratio {
    units: i64,
    decimals: u32,
    is_exact: bool,
}

impl Ratio {
    /// Returns `None` if the number is too long.
    fn of(value: &Rate, digits: u32) -> Option<Ratio> {
        let magnitude = value.to_f64().abs();
        // Zeros behind the point do not count as significant digits.
        let zeros = if magnitude > 0.0 { (-magnitude.log10()).ceil() - 1.0 } else { 0.0 };
        let decimals = digits.saturating_add(zeros.clamp(0.0, 15.0) as u32).min(18);
        let scale = Rate::of_wide(10i128.pow(decimals), 1);
        let scaled = value * &scale;
        let units = (&scaled + &Rate::new(1, 2)).floor()?;
        Some(Ratio { units, decimals, is_exact: Rate::whole(units) == scaled })
    }

    fn order(&self, other: &Ratio) -> Ordering {
        let scaled = |of: &Ratio, by: u32| i128::from(of.units) * 10i128.pow(by);
        scaled(self, other.decimals).cmp(&scaled(other, self.decimals))
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.units < 0 { "-" } else { "" };
        let decimal = Decimal {
            units: u128::from(self.units.unsigned_abs()),
            decimals: self.decimals,
            is_exact: self.is_exact,
        };
        write!(f, "{sign}{decimal}")
    }
}

/// A time, rounded, with its value in nanoseconds.
struct Length {
    text: String,
    shown: Rate,
}

impl Length {
    fn of(ns: &Rate, digits: u32) -> Option<Length> {
        if let Some((whole, 1)) = ns.as_i64_pair() {
            let (unit, decimal) = unit_of(u128::from(whole.unsigned_abs()), digits);
            return Some(Length::new(whole < 0, &decimal, unit));
        }
        // Up to a nanosecond times as whole numbers do, if the digits end before.
        let near = (ns + &Rate::new(1, 2)).floor()?;
        let (unit, _) = unit_of(u128::from(near.unsigned_abs()), digits);
        let (_, scale, _) = UNITS[unit];
        let value = ns / &Rate::of_wide(i128::try_from(scale).ok()?, 1);
        let before = (value.to_f64().abs().log10().floor() + 1.0).clamp(1.0, 20.0) as u32;
        let at = |decimals: u32| {
            let scaled = &value * &Rate::of_wide(10i128.pow(decimals), 1);
            let units = (&scaled + &Rate::new(1, 2)).floor()?;
            let is_exact = Rate::whole(units) == scaled;
            Some((units, Decimal { units: units.unsigned_abs().into(), decimals, is_exact }))
        };
        let decimals = digits.saturating_sub(before);
        let (mut units, mut decimal) = at(decimals)?;
        // With three digits, 9.996 is 10.0, not 10.00.
        if decimal.units >= 10u128.pow(digits) && decimals > 0 {
            (units, decimal) = at(decimals - 1)?;
        }
        Some(Length::new(units < 0, &decimal, unit))
    }

    fn new(is_negative: bool, decimal: &Decimal, unit: usize) -> Length {
        let (name, scale, _) = UNITS[unit];
        let sign = if is_negative { "-" } else { "" };
        let units = i128::try_from(decimal.units * scale).unwrap_or(i128::MAX);
        let shown =
            Rate::of_wide(if is_negative { -units } else { units }, 10i128.pow(decimal.decimals));
        let text =
            if decimal.units == 0 { "0".to_owned() } else { format!("{sign}{decimal} {name}") };
        Length { text, shown }
    }

    fn order(&self, other: &Length) -> Ordering {
        self.shown.cmp(&other.shown)
    }
}

/// The unit of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit(usize);

impl Unit {
    /// Returns the unit of a column: that of its longest time, or a smaller one if the shortest
    /// would have more than one zero behind the point.
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Unit {
        let is_length = |time: &Duration| *time != Duration::ZERO && *time != Duration::MAX;
        let lengths = times.into_iter().filter(is_length).map(|time| time.ns().unsigned_abs());
        let (least, most) =
            lengths.fold((u64::MAX, 0), |(least, most), ns| (least.min(ns), most.max(ns)));
        let (largest, _) = unit_of(most.into(), DIGITS);
        let is_clear = |unit: &usize| u128::from(least) * 100 >= UNITS[*unit].1;
        Unit((0..=largest).rev().find(is_clear).unwrap_or(0))
    }

    /// Writes a time in this unit with as many significant digits; digits before the point are kept.
    pub fn show(self, time: Duration, digits: u32) -> String {
        if time == Duration::ZERO || time == Duration::MAX {
            return format!("{time:#}");
        }
        let (name, scale, _) = UNITS[self.0];
        let decimal = Decimal::of(u128::from(time.ns().unsigned_abs()), scale, digits);
        let sign = if time < Duration::ZERO { "-" } else { "" };
        format!("{sign}{decimal} {name}")
    }

    /// Writes a limit that stands beside these values in other columns of this unit: with as many
    /// digits if they leave every comparison as it is, and exactly otherwise.
    pub fn show_limit(self, limit: Duration, values: &[Duration], digits: u32) -> String {
        let digits = if self.is_limit_rounded(limit, values, digits) { digits } else { EXACT };
        self.show(limit, digits)
    }

    fn is_limit_rounded(self, limit: Duration, values: &[Duration], digits: u32) -> bool {
        let shown = |time| self.value(time, digits);
        values.iter().all(|&value| shown(value).cmp(&shown(limit)) == value.cmp(&limit))
    }

    /// Writes a value beside a limit: with as many digits, or more if it would seem to be on
    /// another side of the limit.
    ///
    /// ```
    /// use layland_model::{Duration, shown::{DIGITS, Unit}};
    /// let (limit, bound) = (Duration::from_ms(10), Duration::from_us(10_004));
    /// let unit = Unit::of([limit, bound]);
    /// assert_eq!(unit.show(bound, DIGITS), "10.0 ms");
    /// assert_eq!(unit.show_beside(bound, limit, DIGITS), "10.004 ms");
    /// ```
    pub fn show_beside(self, value: Duration, limit: Duration, digits: u32) -> String {
        let limit_shown = [digits, EXACT].map(|digits| self.value(limit, digits));
        let order = value.cmp(&limit);
        let agrees = |digits: &u32| {
            let shown = self.value(value, *digits);
            limit_shown.iter().all(|limit| shown.cmp(limit) == order)
        };
        let found = (digits.min(EXACT)..EXACT).find(agrees);
        self.show(value, found.unwrap_or(EXACT))
    }

    /// The value that is shown, in nanoseconds.
    fn value(self, time: Duration, digits: u32) -> Rate {
        let scale = UNITS[self.0].1;
        let (units, decimals) = rounded(u128::from(time.ns().unsigned_abs()), scale, digits);
        let wide = |number: u128| i128::try_from(number).unwrap_or(i128::MAX);
        let ns = wide(units.saturating_mul(scale)) * i128::from(time.ns().signum());
        Rate::of_wide(ns, 10i128.pow(decimals))
    }
}

/// Digits for every time to be exact.
const EXACT: u32 = 20;

/// Writes `us` behind a number as `µs`, for a page or a terminal that can show it.
///
/// ```
/// use layland_model::shown::with_micro;
/// assert_eq!(with_micro("300 us, 1 ms (2.5 us)"), "300 µs, 1 ms (2.5 µs)");
/// assert_eq!(with_micro("between us, wcet = 3us, 4 users"), "between us, wcet = 3us, 4 users");
/// ```
pub fn with_micro(text: &str) -> Cow<'_, str> {
    replaced(text, " us", " µs")
}

/// Writes `µs` as `us`, for a terminal that has ASCII characters only.
///
/// ```
/// use layland_model::shown::without_micro;
/// assert_eq!(without_micro("300 µs"), "300 us");
/// ```
pub fn without_micro(text: &str) -> Cow<'_, str> {
    if text.contains('µ') { Cow::Owned(text.replace("µs", "us")) } else { Cow::Borrowed(text) }
}

/// Writes the exact times in a sentence with a blank before their unit, as other times are written.
///
/// ```
/// use layland_model::shown::with_blanks;
/// assert_eq!(with_blanks("runs at 5ms, until 6.25us"), "runs at 5 ms, until 6.25 us");
/// assert_eq!(with_blanks("`5ms` and cam5ms wait"), "`5ms` and cam5ms wait");
/// ```
pub fn with_blanks(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        let number = bare.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let (unit, rest) = (&bare[number.len()..], &word[bare.len()..]);
        let is_number = number.starts_with(|c: char| c.is_ascii_digit())
            && number.chars().all(|c| c.is_ascii_digit() || c == '.');
        let is_unit = ["ns", "us", "ms", "s"].contains(&unit);
        if is_number && is_unit { format!("{number} {unit}{rest}") } else { word.to_owned() }
    };
    text.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

/// Writes a no-break space between a number and its unit, so that no line ends between them.
///
/// ```
/// use layland_model::shown::with_units_kept;
/// assert_eq!(with_units_kept("40 us of 2 CPUs"), "40\u{a0}us of 2 CPUs");
/// ```
pub fn with_units_kept(text: &str) -> Cow<'_, str> {
    let mut kept = Cow::Borrowed(text);
    for (unit, by) in [
        (" ns", "\u{a0}ns"),
        (" us", "\u{a0}us"),
        (" µs", "\u{a0}µs"),
        (" ms", "\u{a0}ms"),
        (" s", "\u{a0}s"),
    ] {
        if let Cow::Owned(replaced) = replaced(&kept, unit, by) {
            kept = Cow::Owned(replaced);
        }
    }
    kept
}

/// Replaces a unit behind a digit.
fn replaced<'a>(text: &'a str, unit: &str, by: &str) -> Cow<'a, str> {
    let is_unit = |at: usize| {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
        let after = text.as_bytes().get(at + unit.len());
        before.is_some_and(u8::is_ascii_digit) && !after.is_some_and(is_word)
    };
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices(unit).filter(|&(at, _)| is_unit(at)) {
        out += &text[done..at];
        out += by;
        done = at + unit.len();
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[done..]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Draws times of all magnitudes, many of them round.
    fn lengths() -> impl Strategy<Value = Duration> {
        (0u32..13, 0i64..100_000)
            .prop_map(|(power, digits)| Duration::from_ns(digits.saturating_mul(10i64.pow(power))))
    }

    /// The value of a text in nanoseconds, and its unit.
    fn read(text: &str) -> (Rate, Option<&str>) {
        if text == "0" {
            return (Rate::ZERO, None);
        }
        let (number, name) = text.split_once(' ').expect("a space before the unit");
        let scale = UNITS.iter().find(|unit| unit.0 == name).expect("a known unit").1;
        let decimals = number.split_once('.').map_or(0, |(_, part)| part.len() as u32);
        let digits: i128 = number.replace('.', "").parse().expect("digits");
        (Rate::of_wide(digits * scale as i128, 10i128.pow(decimals)), Some(name))
    }

    fn significant(text: &str) -> usize {
        let number = text.split(' ').next().unwrap_or_default().replace('.', "");
        number.trim_start_matches('0').len()
    }

    proptest! {
        /// A column has one unit, and a rounded number has three digits or no decimals.
        #[test]
        fn a_column_has_one_unit(times in prop::collection::vec(lengths(), 1..8)) {
            let unit = Unit::of(times.iter().copied());
            let texts: Vec<String> = times.iter().map(|&time| unit.show(time, DIGITS)).collect();
            let mut units: Vec<_> = texts.iter().filter_map(|text| read(text).1).collect();
            units.dedup();
            prop_assert!(units.len() <= 1, "{:?}", texts);
            for (text, time) in texts.iter().zip(&times) {
                let is_exact = read(text).0 == Rate::whole(time.ns());
                let is_short = significant(text) <= 3 || !text.contains('.');
                prop_assert!(is_short, "{:?}: {}", time, text);
                prop_assert!(is_exact || significant(text) >= 3, "{:?}: {}", time, text);
            }
        }

        /// Values are on the side of their limit where they are, whatever else is in the row.
        #[test]
        fn a_value_stays_on_its_side_of_the_limit(
            limit in lengths(),
            near in prop::collection::vec(-20_000i64..20_000, 1..4),
            far in lengths(),
        ) {
            let mut values: Vec<Duration> =
                near.iter().map(|ns| Duration::from_ns((limit.ns() + ns).max(0))).collect();
            values.push(far);
            let unit = Unit::of(values.iter().copied().chain([limit]));
            let (shown_limit, _) = {
                let text = unit.show_limit(limit, &values, DIGITS);
                let (value, name) = read(&text);
                (value, name.map(str::to_owned))
            };
            for &value in &values {
                let text = unit.show_beside(value, limit, DIGITS);
                prop_assert_eq!(read(&text).0.cmp(&shown_limit), value.cmp(&limit), "{}", text);
            }
        }

        /// Two numbers that are compared look as they compare.
        #[test]
        fn numbers_look_as_they_compare(
            (n, d) in (0i64..1_000_000_000, 1i64..1_000_000_000),
            (off, of) in (-3i64..4, 1i64..1_000_000_000_000),
        ) {
            let value = Rate::new(n, d);
            let other = &value + &Rate::new(off, of);
            let order = value.cmp(&other);
            let (left, right) = numbers((&value, &other), DIGITS);
            let parse = |text: &str| crate::rate::parse_decimal_or_fraction(text)
                .map(|(n, d)| Rate::of_wide(n, d));
            if let (Some(left), Some(right)) = (parse(&left), parse(&right)) {
                prop_assert_eq!(left.cmp(&right), order);
            }
            let (left, right) = times((&value, &other), DIGITS);
            let is_decimal = |text: &str| !text.contains('/') && !text.starts_with('-');
            if is_decimal(&left) && is_decimal(&right) {
                prop_assert_eq!(read(&left).0.cmp(&read(&right).0), order, "{} {}", left, right);
            }
        }
    }

    #[test]
    fn a_column_has_the_unit_of_its_longest_time_if_the_shortest_can_be_read() {
        let column = |times: &[i64]| -> String {
            let times: Vec<Duration> = times.iter().map(|&ns| Duration::from_ns(ns)).collect();
            let unit = Unit::of(times.iter().copied());
            times.iter().map(|&time| unit.show(time, DIGITS)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(column(&[300_000, 200_000_000]), "0.3 ms, 200 ms");
        assert_eq!(column(&[1_000_000, 47_619, 0]), "1 ms, 0.0476 ms, 0");
        assert_eq!(column(&[100, 12_345_678]), "0.1 us, 12346 us");
        assert_eq!(column(&[2_030_000, 5_000_000_000]), "2.03 ms, 5000 ms");
        assert_eq!(column(&[1, 2_000_000_000]), "1 ns, 2000000000 ns");
        assert_eq!(column(&[0, i64::MAX]), "0, never");
    }
}
