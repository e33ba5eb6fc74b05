//! **FIFO** within a group on one server: one response time for all of its tasks, sufficient.
//!
//! A job that arrives `A` after the start of a busy period ends once all work that arrived up to
//! then is supplied. The response time is the largest
//! `tbf(sum (floor(A / T_j) + 1) C_j) - A` over the multiples `A` of the periods below the busy length
//! `L`, the least `L > 0` with `L >= tbf(sum ceil(L / T_j) C_j)`. At equal bandwidth there may be no
//! `L`; then the responses repeat after a hyperperiod of the tasks and the server.
//!
//! Assumptions as in [`fixed_priority`](super::fixed_priority), for any deadlines.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::fixed_priority::arrived;
use super::{Supply, hyperperiod, overloads};
use crate::Sporadic;
use crate::fixed_point::{Diverged, GaveUp, MAX_STEPS};
use layland_model::{Duration, TIME_LIMIT};

/// The maximum response time of these tasks, first come, first served, if it is at most `limit`.
///
/// ```
/// use layland_analysis::{Sporadic, groups::{Supply, fifo::response_time}};
/// use layland_model::{Duration, Service};
/// let ns = Duration::from_ns;
/// let tasks = [(5, 10), (5, 10)].map(|(c, t)| Sporadic::implicit(Service::from_ns(c), ns(t)));
/// assert_eq!(response_time(&Supply::DEDICATED, &tasks, ns(100)), Ok(ns(10)));
/// ```
///
/// # Errors
/// [`Diverged::Overload`] if the tasks need more than the bandwidth, [`Diverged::Beyond`] if a
/// response exceeds the limit, [`Diverged::GaveUp`] if the search is too long.
pub fn response_time(
    supply: &Supply,
    tasks: &[Sporadic],
    limit: Duration,
) -> Result<Duration, Diverged> {
    if overloads(tasks.iter(), &supply.bandwidth()) {
        return Err(Diverged::Overload);
    }
    let H = hyperperiod(tasks.iter(), [supply]);
    let mut left = MAX_STEPS;
    let mut spend = |reached: i64| match left.checked_sub(tasks.len() as u64 + 1) {
        Some(fewer) => {
            left = fewer;
            Ok(())
        }
        None => {
            let reached = Duration::from_ns(reached.min(TIME_LIMIT));
            Err(Diverged::from(GaveUp::OutOfSteps { reached, steps: MAX_STEPS }))
        }
    };
    let mut L = supply.tbf(arrived(tasks, 1));
    while H.is_none_or(|H| L < H) {
        spend(L)?;
        let next = supply.tbf(arrived(tasks, L));
        if next <= L {
            break;
        }
        if next > TIME_LIMIT {
            return Err(GaveUp::OutOfRange { reached: Duration::from_ns(L) }.into());
        }
        L = next;
    }
    let L = H.map_or(L, |H| L.min(H));
    let (mut A, mut R) = (0, 0);
    while A < L {
        spend(A)?;
        let jobs = |task: &Sporadic| (A / task.period.ns() + 1).saturating_mul(task.wcet.ns());
        let end = supply.tbf(tasks.iter().map(jobs).fold(0, i64::saturating_add));
        R = R.max(end - A);
        if R > limit.ns() {
            return Err(Diverged::Beyond { limit, reached: Duration::from_ns(R) });
        }
        let next =
            tasks.iter().map(|task| (A / task.period.ns() + 1).saturating_mul(task.period.ns()));
        A = next.min().unwrap_or(i64::MAX);
    }
    Ok(Duration::from_ns(R))
}
