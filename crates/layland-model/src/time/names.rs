//! Other names of the units of time, for the advice of an error.

/// Returns a time that is written with another name of a unit, or in minutes or hours. No name that
/// could mean two units is taken.
pub(super) fn in_our_units(number: &str, unit: &str) -> Option<String> {
    let seconds = |each: i128| {
        let (numerator, denominator) = crate::rate::parse_decimal_or_fraction(number)?;
        let numerator = numerator.checked_mul(each)?;
        let whole = numerator % denominator == 0;
        let whole = whole.then(|| format!("{}s", numerator / denominator));
        Some(whole.unwrap_or_else(|| format!("{numerator}/{denominator}s")))
    };
    match unit.to_lowercase().as_str() {
        "nsec" | "nsecs" | "nanosecond" | "nanoseconds" | "nanos" => Some(format!("{number}ns")),
        "usec" | "usecs" | "µsec" | "μsec" | "microsecond" | "microseconds" | "micros" => {
            Some(format!("{number}us"))
        }
        "msec" | "msecs" | "millisecond" | "milliseconds" | "millis" => Some(format!("{number}ms")),
        "sec" | "secs" | "second" | "seconds" => Some(format!("{number}s")),
        "min" | "mins" | "minute" | "minutes" => seconds(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => seconds(3600),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Duration;

    #[test]
    fn a_hint_is_the_same_time_and_no_guess() {
        let of = |text: &str| text.parse::<Duration>().expect_err(text).help();
        let meant = [
            ("300 usec", "300us"),
            ("2sec", "2s"),
            ("1h", "3600s"),
            ("1.5 min", "90s"),
            ("1/7 hours", "3600/7s"),
            ("7 Nanoseconds", "7ns"),
            ("3msecs", "3ms"),
        ];
        for (text, time) in meant {
            assert_eq!(of(text), format!("write \"{time}\""));
            // Its value is checked where it is a whole number of nanoseconds.
            let parsed = time.parse::<Duration>();
            assert!(parsed.is_ok() || time.contains('/'), "{time}");
        }
        for text in ["300", "1.5", "5m", "5MS", "5Ms", "5 ticks", "5d", "5 x"] {
            let help = of(text);
            assert!(!help.contains(|char: char| char.is_ascii_digit()), "{text}: {help}");
        }
    }
}
