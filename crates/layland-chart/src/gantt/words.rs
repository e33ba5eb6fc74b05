//! Formats times and counts.

use layland_model::{Duration, Time, counted};
use std::fmt;

/// A time or a duration that is printed exactly,
/// whatever its value: a window may have arbitrary ends.
#[derive(Clone, Copy)]
pub(super) struct Nanoseconds(pub(super) i64);

impl From<Time> for Nanoseconds {
    fn from(at: Time) -> Self {
        Nanoseconds(at.ns())
    }
}
impl From<Duration> for Nanoseconds {
    fn from(length: Duration) -> Self {
        Nanoseconds(length.ns())
    }
}
impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == i64::MAX {
            return f.write_str("never");
        }
        // The absolute value of the smallest `i64` does not fit in an `i64`.
        let (sign, ns) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        // The largest unit in which the value is exact with at most three decimals.
        let units = [("s", 1_000_000_000, 1_000_000), ("ms", 1_000_000, 1_000), ("us", 1_000, 1)];
        let unit = units.into_iter().find(|&(_, scale, step)| ns >= scale && ns % step == 0);
        let Some((unit, scale, step)) = unit else {
            return if ns == 0 { f.write_str("0") } else { write!(f, "{sign}{ns} ns") };
        };
        let decimals = format!(".{:03}", ns % scale / step);
        let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{sign}{}{decimals} {unit}", ns / scale)
    }
}

/// Formats a number of misses: `1 deadline miss`, `no deadline miss`.
pub(super) fn counted_misses(count: usize) -> String {
    match count {
        0 => "no deadline miss".to_owned(),
        _ => counted(count, "deadline miss"),
    }
}
