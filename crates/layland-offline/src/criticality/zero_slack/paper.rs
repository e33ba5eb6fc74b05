//! The original method, reconstructed. Not sound: a low job that was suspended by one critical job
//! runs immediately before the next job of its task, as carry-in that is not counted here.
//!
//! ```text
//! rem(h, l)  = max(0, C_h(l) - progress_h(l))           for h in lhc
//! normal(l)  = {(T_j, C_j(l)) : j in hp} + {(T_h, rem(h, l)) : h in lhc}
//! critical   = {(T_j, C_j(z_i)) : j in hp, z_j >= z_i} + {(T_h, rem(h, z_i)) : h in lhc}
//! cc = C_i(z_i)
//! repeat
//!     L  = least L >= cc with L = cc + sum over critical of ceil(L / T) c   (0 if cc = 0)
//!     Z  = D_i - L
//!     nc = max(0, C_i(z_i) - idle(Z, normal(z_i)))
//!     stop if nc = cc; cc = nc
//! Z_i = Z;  progress_i(l) = idle(Z, normal(l)) for all l <= z_i
//! ```
//!
//! `cc` is the remaining work in critical mode. `idle(Z, g)` is the time that synchronous demand
//! leaves in `[0, Z]`: the largest `x - sum of ceil(x / T) c` over `x = Z` and the multiples of
//! periods below it.

use super::{ZeroSlack, visit};
use crate::criticality::MixedSet;
use crate::criticality::steps::{Effort, NoBound, Period, Recurrent, arriving, least};

/// The maximum number of points that [`idle`] examines, over a whole set.
const POINTS: u64 = 50_000_000;

/// Synchronous demand.
type SynchronousDemand = Vec<Recurrent>;

/// The original method. Not sound.
///
/// ```
/// use layland_offline::criticality::{MixedSet, zero_slack};
/// use layland_model::Duration;
/// // Table I: the instant of the high task is 6.
/// let set = MixedSet::from_ns(2, &[(10, 10, 1, &[4, 6]), (5, 5, 0, &[3, 3])])?;
/// let instant = |ns| Some(Duration::from_ns(ns));
/// assert_eq!(zero_slack::paper(&set).zero_slack.values().as_slice(), [instant(6), instant(0)]);
/// assert_eq!(zero_slack::safe(&set).zero_slack.values().as_slice(), [instant(4), None]);
/// # Ok::<(), layland_offline::criticality::MixedError>(())
/// ```
pub fn paper(set: &MixedSet) -> ZeroSlack {
    let mut effort = Effort::new(POINTS);
    // progress_h(l) of each visited task.
    let mut progress: Vec<Vec<i64>> = vec![Vec::new(); set.len()];
    visit(set, |i, higher, below| {
        let (level, deadline) = (set.z(i), set.deadline[i]);
        let rest = |l: usize| {
            let progress = &progress;
            below.iter().map(move |&h| {
                let wcet = (set.c(l)[h] - progress[h][l]).max(0);
                Recurrent { wcet, ..set.at_level(h, l) }
            })
        };
        let normal = |l: usize| -> SynchronousDemand {
            let above = higher.iter().map(|&j| set.at_level(j, l));
            above.chain(rest(l)).filter(|task| task.wcet > 0).collect()
        };
        let above = higher.iter().filter(|&&j| set.z(j) >= level);
        let critical: SynchronousDemand =
            above.map(|&j| set.at_level(j, level)).chain(rest(level)).collect();
        let normally = normal(level);
        let own = set.own(i);
        let mut left = own;
        let instant = loop {
            let length = match left {
                0 => 0,
                left => least(left, deadline, |t| arriving(&critical, t).saturating_add(left))?,
            };
            let instant = deadline - length;
            let next = (own - idle(instant, &normally, &mut effort)?).max(0);
            if next == left {
                break instant;
            }
            left = next;
        };
        let made = (0..=level).map(|l| idle(instant, &normal(l), &mut effort));
        let made: Result<Vec<i64>, NoBound> = made.collect();
        progress[i] = made?;
        Ok(instant)
    })
}

/// Returns the time that is left over in `[0, z]`.
///
/// Demand up to `x` is at least `x` times the sum of `c / T`. So a point leaves more than `most`
/// only from some length on, and most points are before it. The skipped points still count as
/// effort, because the definition includes when the search gives up.
fn idle(z: i64, demand: &[Recurrent], effort: &mut Effort) -> Result<i64, NoBound> {
    let points = demand.iter().map(|task| (z - 1).max(0) / task.period.ns());
    effort.spend_all(points.fold(1, i64::saturating_add))?;
    let rate = demand.iter().map(|task| task.period.rate(task.wcet)).fold(0, u128::saturating_add);
    // Up to this length, no point leaves more than `most`.
    let up_to = |most: i64| match Period::ONE.checked_sub(rate) {
        Some(free @ 1..) => i64::try_from(most as u128 * Period::ONE / free).unwrap_or(i64::MAX),
        Some(0) | None => i64::MAX,
    };
    let left = |x: i64| x.saturating_sub(arriving(demand, x));
    let mut most = left(z).max(0);
    let mut from = up_to(most);
    for task in demand {
        let period = task.period.ns();
        // Try the last point first, because late points leave more.
        let mut x = (z - 1).max(0) / period * period;
        while x > from && x > 0 {
            if left(x) > most {
                most = left(x);
                from = up_to(most);
            }
            x -= period;
        }
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Follows the definition, point by point.
    fn idle_slowly(z: i64, demand: &[Recurrent], effort: &mut Effort) -> Result<i64, NoBound> {
        let mut most = 0;
        let mut at = |x: i64| -> Result<(), NoBound> {
            effort.spend()?;
            most = most.max(x.saturating_sub(arriving(demand, x)));
            Ok(())
        };
        at(z)?;
        for task in demand {
            let period = task.period.ns();
            let mut x = period;
            while x < z {
                at(x)?;
                x += period;
            }
        }
        Ok(most)
    }

    proptest! {
        #[test]
        fn points_that_are_left_out_leave_no_more(
            tasks in prop::collection::vec((1i64..60, 0i64..40), 0..6),
            z in 0i64..2000,
            unit in prop_oneof![Just(1i64), Just(1_000_003), Just(1 << 40)],
            most in prop_oneof![Just(u64::MAX), 0u64..400],
        ) {
            let task = |&(period, wcet): &(i64, i64)| {
                Recurrent { period: Period::new(period * unit), wcet: wcet * unit }
            };
            let demand: Vec<Recurrent> = tasks.iter().map(task).collect();
            let (mut fast, mut slow) = (Effort::new(most), Effort::new(most));
            for z in [z * unit, (z * unit - 1).max(0), z / 3] {
                prop_assert_eq!(idle(z, &demand, &mut fast), idle_slowly(z, &demand, &mut slow));
                prop_assert_eq!(&fast, &slow);
            }
        }
    }
}
