//! Exact intervals for the share of late jobs in **independent** runs (Clopper and Pearson 1934).
//!
//! The sample is one job of a task in each run, fixed beforehand. The jobs of one run depend on each
//! other, and no interval of this kind holds for them.

use super::{Mass, Rounding, Scaled};
use layland_model::Rate;

/// The digits of the grid of the ends.
const DIGITS: u32 = 40;
const ONE: u64 = 1 << DIGITS;

/// A two-sided interval; its ends are multiples of 2^-40, rounded outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleInterval {
    low: u64,
    high: u64,
}

impl SampleInterval {
    /// The interval with the confidence `1 - alpha` after `late` late jobs in `runs` runs. The true
    /// probability is outside with a probability of at most `alpha`.
    ///
    /// ```
    /// use layland_analysis::how_often::SampleInterval;
    /// use layland_model::Rate;
    /// let interval = SampleInterval::new(100, 5, &Rate::new(1, 20));
    /// assert!(interval.low() > Rate::new(16, 1000) && interval.high() < Rate::new(113, 1000));
    /// assert_eq!(SampleInterval::new(500, 0, &Rate::new(1, 20)).low(), Rate::ZERO);
    /// ```
    ///
    /// # Panics
    /// Panics if there are more late jobs than runs, or `alpha` is not a probability.
    pub fn new(runs: u64, late: u64, alpha: &Rate) -> SampleInterval {
        assert!(late <= runs, "{late} of {runs}");
        let half = alpha / &Rate::whole(2);
        // The greatest p with P(Bin >= late) <= alpha / 2, which grows with p.
        let low =
            if late == 0 { 0 } else { greatest(|p| at_least_is_at_most(runs, late, p, &half)) };
        // The least p with P(Bin <= late) <= alpha / 2, which falls with p.
        let high = if late == runs {
            ONE
        } else {
            ONE - greatest(|rest| at_least_is_at_most(runs, runs - late, rest, &half))
        };
        SampleInterval { low, high }
    }

    /// The lower end.
    pub fn low(&self) -> Rate {
        Rate::new(self.low as i64, ONE as i64)
    }

    /// The upper end.
    pub fn high(&self) -> Rate {
        Rate::new(self.high as i64, ONE as i64)
    }
}

/// The greatest numerator up to 1 for which this holds, if it holds up to a point. It holds at 0.
fn greatest(holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, ONE);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// Returns true only if `P(Bin(n, p) >= x) <= limit`, for `0 < p < 1` and `x >= 1`: by the sum with
/// fewer terms, rounded against the claim.
fn at_least_is_at_most(n: u64, x: u64, p: u64, limit: &Rate) -> bool {
    if x - 1 <= n - x {
        let rest = Mass::of(&(&Rate::ONE - limit), Rounding::Up);
        let rest = Scaled::of_mass(rest, Rounding::Up);
        return rest.is_at_most(at_most(n, x - 1, p, Rounding::Down));
    }
    let limit = Scaled::of_mass(Mass::of(limit, Rounding::Down), Rounding::Down);
    at_most(n, n - x, ONE - p, Rounding::Up).is_at_most(limit)
}

/// `P(Bin(n, p) <= x)` for `0 < p < 1`, rounded.
fn at_most(n: u64, x: u64, p: u64, rounding: Rounding) -> Scaled {
    let odds = Scaled::ratio(p, ONE - p, rounding);
    let mut term = Scaled::ratio(ONE - p, ONE, rounding).power(n, rounding);
    let mut sum = term;
    for i in 0..x {
        let factor = Scaled::ratio(n - i, i + 1, rounding).times(odds, rounding);
        term = term.times(factor, rounding);
        sum = sum.plus(term, rounding);
    }
    sum
}
