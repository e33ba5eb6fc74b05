//! What period was probably meant: few people write 9.9993 ms.
//!
//! Every length is near some number, the nearer the more digits that may have. So a number of one digit is believed
//! within the whole tolerance, one of two digits within a quarter, and one of three within a fortieth. Rates are
//! believed, too: 16.6667 ms is 60 Hz.

use layland_model::{Duration, Rate};

/// A length that was probably meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nominal {
    /// The length.
    pub length: Duration,
    /// The rate that it is one of, if it is not a round length itself.
    pub hertz: Option<i64>,
}

/// What was probably meant by this length, if it is within the tolerance (a part of the length) of a round one.
///
/// ```
/// use layland_interchange::infer::nominal;
/// use layland_model::{Duration, Rate};
/// let of = |ns| nominal(Duration::from_ns(ns), &Rate::new(1, 100)).unwrap();
/// assert_eq!(of(9_999_300).length, Duration::from_ms(10));
/// assert_eq!(of(16_666_131).hertz, Some(60));
/// ```
pub fn nominal(length: Duration, tolerance: &Rate) -> Option<Nominal> {
    let ns = length.ns();
    if ns <= 0 || *tolerance <= Rate::ZERO {
        return None;
    }
    // The digits stop before what a program could not have meant.
    let unit = |digits: u32| 10i64.checked_pow(ns.ilog10().saturating_sub(digits - 1));
    let is_near = |meant: i64, part: i64| {
        let difference = Rate::new((meant - ns).abs(), ns);
        difference <= &Rate::new(1, part) * tolerance
    };
    for (digits, part) in [(1, 1), (2, 4), (3, 40)] {
        let unit = unit(digits)?;
        let meant = (ns + unit / 2) / unit * unit;
        if meant > 0 && is_near(meant, part) {
            return Some(Nominal { length: Duration::from_ns(meant), hertz: None });
        }
    }
    let hertz = (1_000_000_000 + ns / 2) / ns;
    // A rate of many digits is as accidental as a length of many.
    let is_round = hertz > 0 && hertz <= 1_000;
    let meant = if is_round { (1_000_000_000 + hertz / 2) / hertz } else { 0 };
    (is_round && is_near(meant, 40))
        .then_some(Nominal { length: Duration::from_ns(meant), hertz: Some(hertz) })
}
