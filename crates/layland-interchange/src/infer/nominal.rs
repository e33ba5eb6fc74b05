//! Finds the period that was probably intended: few people write 9.9993 ms.
//!
//! Every length is near some number, and the nearer the more digits the number may have. So a
//! number of one digit is accepted within the whole tolerance, one of two digits within a quarter
//! of it, and one of three within a fortieth. Rates are accepted, too: 16.6667 ms is 60 Hz.

use layland_model::{Duration, Rate};

/// A period that was probably intended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nominal {
    /// The length.
    pub length: Duration,
    /// The rate of which this is the period, if it is not a round length itself.
    pub hertz: Option<i64>,
}

/// Returns the length that was probably intended, if `length`
/// is within the tolerance (a fraction of it) of a round one.
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
    // Programs do not specify times with more digits than these.
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
    // A rate with many digits is as unlikely to be intended as a length with many.
    let is_round = hertz > 0 && hertz <= 1_000;
    let meant = if is_round { (1_000_000_000 + hertz / 2) / hertz } else { 0 };
    (is_round && is_near(meant, 40))
        .then_some(Nominal { length: Duration::from_ns(meant), hertz: Some(hertz) })
}
