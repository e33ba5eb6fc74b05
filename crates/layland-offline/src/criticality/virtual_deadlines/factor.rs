//! The factor of virtual deadlines (Baruah et al., ECRTS 2012), for deadlines equal to periods.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `U_1^1` | `low` | the sum of `C / T` of low tasks |
//! | `U_2^1` | `high` | the sum for high tasks in the low mode |
//! | `U_2^2` | `own` | the sum for high tasks with their own bounds |
//! | `x` | [`Factors::taken`] | virtual deadlines are `x T` |
//!
//! 1. `low + own <= 1`: plain EDF. No job is ever dropped.
//! 2. Otherwise the low mode needs `low + high / x <= 1`, and the high one `x low + own <= 1`. So
//!    `x` is at least `high / (1 - low)` and at most `(1 - own) / low`, and exists if the first is
//!    not above the second. (`low > 0` here, since otherwise `own > 1`.)
//!
//! The smallest `x` is taken, as in the paper, or the largest if high tasks need nothing in the low
//! mode, where the smallest is 0. Every `x` in between is valid.
//!
//! Virtual deadlines are fractions and must not be rounded: rounding down breaks the first
//! condition, rounding up the second, and if there is only one `x`, both are wrong.

use super::{VirtualDeadlines, first_cut, fits_plainly};
use crate::criticality::{Answer, MixedSet};
use layland_model::{Criticality, Rate};

/// The range of factors with which virtual deadlines work; empty if `least` is above `most`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factors {
    /// The smallest factor, by the low mode.
    pub least: Rate,
    /// The largest factor, by the high mode.
    pub most: Rate,
}

impl Factors {
    /// Returns the factor of EDF-VD, if there is one.
    pub fn taken(&self) -> Option<&Rate> {
        if self.least > self.most {
            return None;
        }
        Some(if self.least == Rate::ZERO { &self.most } else { &self.least })
    }
}

/// Returns the factors for a cut, or `None` if the set fits without modes, or a mode alone needs
/// more than a CPU. Assumes that deadlines equal periods.
///
/// ```
/// use layland_model::{Criticality, Rate};
/// use layland_offline::criticality::{MixedSet, virtual_deadlines};
/// // A low task 4 of 10, and a high one 3, at most 8, of 10: the one factor is 1/2.
/// let set = MixedSet::from_ns(2, &[(10, 10, 0, &[4]), (10, 10, 1, &[3, 8])])?;
/// let factors = virtual_deadlines::factors(&set, Criticality(0)).unwrap();
/// assert_eq!((&factors.least, &factors.most), (&Rate::new(1, 2), &Rate::new(1, 2)));
/// # Ok::<(), layland_offline::criticality::MixedError>(())
/// ```
pub fn factors(set: &MixedSet, cut: Criticality) -> Option<Factors> {
    let is_low = |&i: &usize| set.z(i) <= cut.level();
    let share = |i: usize, wcet: i64| Rate::new(wcet, set.period[i]);
    let tasks = || 0..set.len();
    let low: Rate = tasks().filter(is_low).map(|i| share(i, set.own(i))).sum();
    let high = |wcet: &dyn Fn(usize) -> i64| -> Rate {
        tasks().filter(|i| !is_low(i)).map(|i| share(i, wcet(i))).sum()
    };
    let own = high(&|i| set.own(i));
    let fits = &low + &own <= Rate::ONE;
    if fits || low >= Rate::ONE || own > Rate::ONE {
        return None;
    }
    let high = high(&|i| set.c(cut.level())[i]);
    let rest = |sum: &Rate| &Rate::ONE - sum;
    Some(Factors { least: &high / &rest(&low), most: &rest(&own) / &low })
}

/// EDF-VD with fractional virtual deadlines. Sound.
///
/// # Panics
/// Panics if a deadline differs from the period.
pub fn exact(set: &MixedSet) -> VirtualDeadlines {
    assert_eq!(set.deadline, set.period, "the test is for deadlines equal to periods");
    if fits_plainly(set) {
        return VirtualDeadlines::Plain;
    }
    first_cut(set, |cut| {
        let factors = factors(set, cut).ok_or(Answer::NotSchedulable)?;
        let x = factors.taken().ok_or(Answer::NotSchedulable)?;
        Ok(set.each(|i| {
            let period = Rate::whole(set.period[i]);
            if set.z(i) <= cut.level() { period } else { x * &period }
        }))
    })
}
