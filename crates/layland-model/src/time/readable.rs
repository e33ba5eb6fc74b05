//! Formats times for people: in the right unit and with a readable number of digits.

use crate::shown::DIGITS;
use std::fmt;

const S: u128 = 1_000_000_000;

/// Units from the smallest up, each with its length in nanoseconds and the length from which the
/// next unit is used.
pub(crate) const UNITS: [(&str, u128, u128); 7] = [
    ("ns", 1, 1_000),
    ("us", 1_000, 1_000_000),
    ("ms", 1_000_000, S),
    ("s", S, 1_000 * S),
    ("min", 60 * S, 120 * 60 * S),
    ("h", 3_600 * S, 48 * 3_600 * S),
    ("d", 86_400 * S, u128::MAX),
];

/// Writes nanoseconds with this many significant digits. An exact figure has no trailing zeros
/// (`50 ms`), a rounded one has all its digits (`50.0 ms`), but for zeros beyond [`DIGITS`], which
/// say nothing; digits before the point are always kept.
pub(super) fn write(f: &mut fmt::Formatter<'_>, ns: i64, digits: u32) -> fmt::Result {
    match ns {
        i64::MAX => return f.pad("never"),
        0 => return f.pad("0"),
        _ => {}
    }
    let of = |digits: u32| {
        let (unit, decimal) = unit_of(u128::from(ns.unsigned_abs()), digits);
        format!("{decimal} {}", UNITS[unit].0)
    };
    // An instant has more digits than a length, and 1.00000 ms is no more than 1.00 ms.
    let has_zeros = |text: &str| {
        text.split_once(' ')
            .is_some_and(|(number, _)| number.contains('.') && number.ends_with('0'))
    };
    let mut digits = digits;
    let mut text = of(digits);
    while digits > DIGITS && has_zeros(&text) {
        digits -= 1;
        text = of(digits);
    }
    let sign = if ns < 0 { "-" } else { "" };
    f.pad(&format!("{sign}{text}"))
}

/// Returns the unit of a length of time, as an index of [`UNITS`], and the rounded number of units.
pub(crate) fn unit_of(magnitude: u128, digits: u32) -> (usize, Decimal) {
    // A value that rounds up to the next unit is written in that unit: 999.9 us are 1.00 ms.
    let fits = |&(_, (_, scale, end)): &(usize, (&str, u128, u128))| {
        let (rounded, decimals) = rounded(magnitude, scale, digits);
        rounded < (end / scale).saturating_mul(10u128.pow(decimals))
    };
    let found = UNITS.into_iter().enumerate().find(fits);
    let unit = found.map_or(UNITS.len() - 1, |(unit, _)| unit);
    (unit, Decimal::of(magnitude, UNITS[unit].1, digits))
}

/// The value in this unit, rounded half up to as many decimals as the digits permit; and that
/// number of decimals. Zeros behind the point do not count.
pub(crate) fn rounded(magnitude: u128, scale: u128, digits: u32) -> (u128, u32) {
    if magnitude == 0 {
        return (0, 0);
    }
    let at = |decimals: u32| (2 * magnitude * 10u128.pow(decimals) + scale) / (2 * scale);
    let before = (magnitude / scale).checked_ilog10().map_or(0, |log| log + 1);
    let mut decimals = if before > 0 {
        digits.saturating_sub(before)
    } else {
        let zeros = (1..).take_while(|&zeros| magnitude * 10u128.pow(zeros) < scale).count();
        digits + zeros as u32
    };
    // A nanosecond has no parts. In minutes and longer units its decimals have no end.
    let power = scale.ilog10();
    decimals = decimals.min(if scale == 10u128.pow(power) { power } else { 18 });
    // With three digits, 9.996 is 10.0, not 10.00.
    let is_longer = |decimals: u32| at(decimals) >= 10u128.pow(digits) && decimals > 0;
    if is_longer(decimals) { (at(decimals - 1), decimals - 1) } else { (at(decimals), decimals) }
}

/// A rounded decimal number: `units` / 10^`decimals`.
pub(crate) struct Decimal {
    pub(crate) units: u128,
    pub(crate) decimals: u32,
    pub(crate) is_exact: bool,
}

impl Decimal {
    pub(crate) fn of(magnitude: u128, scale: u128, digits: u32) -> Decimal {
        let (units, decimals) = rounded(magnitude, scale, digits);
        Decimal { units, decimals, is_exact: units * scale == magnitude * 10u128.pow(decimals) }
    }
}

impl fmt::Display for Decimal {
    /// Without zeros at the end, if the number is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ten = 10u128.pow(self.decimals);
        let (whole, part) = (self.units / ten, self.units % ten);
        let part = format!("{part:0width$}", width = self.decimals as usize);
        let part = if self.is_exact { part.trim_end_matches('0') } else { &part };
        match part {
            _ if self.decimals == 0 => write!(f, "{whole}"),
            "" => write!(f, "{whole}"),
            part => write!(f, "{whole}.{part}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Duration, Time};

    #[test]
    fn durations_have_three_digits_and_the_right_unit() {
        for (ns, text) in [
            (0, "0"),
            (1, "1 ns"),
            (47_619, "47.6 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (9_996_000, "10.0 ms"),
            (50_000_000, "50 ms"),
            (49_990_000, "50.0 ms"),
            (2_190_000, "2.19 ms"),
            (-2_195_001, "-2.20 ms"),
            (99_960_000, "100 ms"),
            (12_000_000_000, "12 s"),
            (999_400_000_000, "999 s"),
            (1_234_000_000_000, "20.6 min"),
            (106_586_315_411_403, "29.6 h"),
            (3_600_000_000_000, "60 min"),
            (7_200_000_000_000, "2 h"),
            (864_000_000_000_000, "10 d"),
            (i64::MAX - 1, "106752 d"),
            (i64::MIN, "-106752 d"),
            (i64::MAX, "never"),
        ] {
            assert_eq!(format!("{:#}", Duration::from_ns(ns)), text, "{ns}");
        }
    }

    #[test]
    fn instants_can_be_looked_up() {
        for (ns, text) in [
            (3_465_115_000, "3.46512 s"),
            (1_230_022_065, "1.23002 s"),
            (248_000_000, "248 ms"),
            (2_999, "2.999 us"),
            (1_000_000_000_000, "16.6667 min"),
        ] {
            assert_eq!(format!("{:#}", Time::from_ns(ns)), text, "{ns}");
        }
        assert_eq!(format!("{:#}", Time::NEVER), "never");
    }

    #[test]
    fn width_is_kept() {
        assert_eq!(format!("{:>#8}|", Duration::from_ms(50)), "   50 ms|");
    }

    /// For every length, the output is within half a unit of its last digit.
    #[test]
    fn nothing_is_off_by_more_than_its_last_digit() {
        let mut ns = 2i64;
        while ns < i64::MAX / 4 {
            for ns in [ns - 1, ns, ns + ns / 7] {
                let text = format!("{:#}", Duration::from_ns(ns));
                let (value, unit) = text.split_once(' ').unwrap();
                let scale = super::UNITS.iter().find(|known| known.0 == unit).unwrap().1;
                let decimals = value.split_once('.').map_or(0, |(_, part)| part.len() as u32);
                let digits: u128 = value.replace('.', "").parse().unwrap();
                let off = (digits * scale).abs_diff(ns as u128 * 10u128.pow(decimals));
                assert!(2 * off <= scale, "{ns}: {text}");
            }
            ns *= 3;
        }
    }
}
