//! **EDF** within a group on one server: the demand against the supply, with the search of QPA.
//!
//! `dbf(t) <= sbf(t)` for all `t` (Shin and Lee 2003). **Exact** for the periodic supply and any
//! deadlines, and **sufficient** for a CBS, whose own history makes its supply larger in places.
//! Without preemption within the group, `dbf(t) + max{C_j - 1 : D_j > t} <= sbf(t)`, sufficient.
//!
//! | symbol | meaning |
//! |---|---|
//! | `dbf(t)` | `sum max(0, floor((t - D_i) / T_i) + 1) C_i` |
//! | `K` | `sum U_i max(0, T_i - D_i)`, so that `dbf(t) <= U t + K` |
//! | `L` | no length above it needs a look |
//!
//! Assumptions as in [`fixed_priority`](super::fixed_priority). If `U < alpha`, lengths above
//! `(K + alpha delay) / (alpha - U)` cannot fail. If `U <= alpha`, a length that fails beyond one
//! hyperperiod `H` of tasks and server fails earlier, too: `dbf` grows by `U H` in each `H` from
//! `max(D_i - T_i)` on, and `sbf` by `alpha H` from the gap on. So a search ends at equal bandwidth.
//!
//! The blocked demand does not decrease: where `C_j - 1` leaves the maximum, at `D_j`, the demand
//! grows by `C_j`. So the search for it is the same.
//!
//! Deviation: the first bound is computed from numbers that are rounded up to 2^-62 and to
//! nanoseconds.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{Supply, hyperperiod, overloads};
use crate::Sporadic;
use crate::fixed_point::{GaveUp, MAX_STEPS};
use crate::global_edf::quotient;
use crate::sporadic::{fixed, load_above};
use crate::uniprocessor::edf::{Demand, last_deadline_before};
use layland_model::Duration;

/// Tests whether tasks meet every deadline under preemptive EDF on one server.
///
/// ```
/// use layland_analysis::{Sporadic, groups::{Supply, demand}, uniprocessor::edf::Demand};
/// use layland_model::{Duration, GroupServer, ServerRule, Service};
/// let ns = Duration::from_ns;
/// let (budget, period, deadline) = (Service::from_ns(3), ns(10), ns(10));
/// let supply = Supply::of(&GroupServer { budget, period, deadline, rule: ServerRule::Cbs });
/// let task = |deadline| Sporadic { wcet: Service::from_ns(3), deadline: ns(deadline), period: ns(10) };
/// // The bandwidth is used up in both cases.
/// assert_eq!(demand::preemptive(&supply, &[task(24)]), Ok(Demand::Met));
/// let late = Demand::Exceeds { interval: ns(10), demand: ns(3) };
/// assert_eq!(demand::preemptive(&supply, &[task(10)]), Ok(late));
/// ```
///
/// # Errors
/// Returns [`GaveUp`] if the search reaches its limit, which requires a load of nearly the bandwidth
/// and unrelated periods.
pub fn preemptive(supply: &Supply, tasks: &[Sporadic]) -> Result<Demand, GaveUp> {
    visited(supply, tasks, true, |_, _| {})
}

/// [`preemptive`] if a job that has begun is not preempted by jobs of its group.
///
/// # Errors
/// See [`preemptive`].
pub fn nonpreemptive(supply: &Supply, tasks: &[Sporadic]) -> Result<Demand, GaveUp> {
    visited(supply, tasks, false, |_, _| {})
}

/// The search; `each` receives the lengths that it visits, descending, and the demand in each.
/// Between a length and the next one, the demand is at most that of the longer one, and the supply
/// at least as large.
pub(crate) fn visited(
    supply: &Supply,
    tasks: &[Sporadic],
    is_preemptive: bool,
    mut each: impl FnMut(i64, i64),
) -> Result<Demand, GaveUp> {
    if overloads(tasks.iter(), &supply.bandwidth()) {
        return Ok(Demand::Overload);
    }
    let Some(shortest) = tasks.iter().map(|task| task.deadline.ns()).min() else {
        return Ok(Demand::Met);
    };
    let mut L = longest(supply, tasks).ok_or(GaveUp::Endless)?;
    if !is_preemptive {
        // Up to the longest deadline, jobs that are due later block.
        L = L.max(tasks.iter().map(|task| task.deadline.ns()).max().unwrap_or(0));
    }
    let blocking = |t: i64| {
        let later = tasks.iter().filter(|task| !is_preemptive && task.deadline.ns() > t);
        later.map(|task| task.wcet.ns() - 1).max().unwrap_or(0)
    };
    let mut next = last_deadline_before(tasks, L.saturating_add(1));
    for _ in 0..MAX_STEPS {
        let Some(t) = next else { return Ok(Demand::Met) };
        let h = tasks.iter().map(|task| task.demand(t)).fold(blocking(t), i64::saturating_add);
        each(t, h);
        let enough = supply.tbf(h);
        if enough > t {
            let [interval, demand] = [t, h].map(Duration::from_ns);
            return Ok(Demand::Exceeds { interval, demand });
        }
        // For every length s from `enough` to `t`: the demand is at most h <= sbf(s).
        if enough <= shortest {
            return Ok(Demand::Met);
        }
        next = if enough < t { Some(enough) } else { last_deadline_before(tasks, t) };
    }
    let reached = Duration::from_ns(next.unwrap_or(0));
    Err(GaveUp::OutOfSteps { reached, steps: MAX_STEPS })
}

/// `L`, if it is known: the load is at most the bandwidth.
fn longest(supply: &Supply, tasks: &[Sporadic]) -> Option<i64> {
    let beyond = tasks.iter().map(|task| (task.deadline - task.period).ns()).max().unwrap_or(0);
    let (from, _) = supply.repeats();
    let repetition =
        hyperperiod(tasks.iter(), [supply]).and_then(|H| H.checked_add(from.max(beyond).max(0)));
    let (numerator, denominator) = supply.alpha();
    let [up, above, delay] =
        [i128::from(numerator), i128::from(denominator), supply.delay().ns().into()];
    let mut most = num_integer::Integer::div_ceil(&(up * delay), &above);
    for task in tasks {
        let [C, D, T] = task.ns();
        let product = i128::from((T - D).max(0)) * i128::from(C);
        most += num_integer::Integer::div_ceil(&product, &i128::from(T));
    }
    let room =
        fixed(numerator, denominator).checked_sub(load_above(tasks)).filter(|&room| room > 0);
    let load_bound = room.and_then(|room| quotient(most, room));
    match (repetition, load_bound) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
