//! Bounds that use freedom from starvation: between two polling points a polled callback runs at
//! most once (Blass et al., RTSS 2021, Theorems 2 and 3).
//!
//! | paper   | here                                                                 |
//! |---------|----------------------------------------------------------------------|
//! | `R_i`   | `responses`, which these bounds assume and improve iteratively       |
//! | `pp`    | the maximum number of polling points that a job of the subchain sees |
//! | `S*`    | `s`, the start of the job                                            |
//! | `A`     | `a`, the offset of the job from the start of the busy window         |
//!
//! The callbacks are in the order of the executor. Both bounds assume: (1) one thread, the default
//! executor, live timers; (2) `all` contains every callback, and none activates another; (3) WCETs,
//! which are above 0, arrivals, supply and `responses` hold; (4) all times are whole nanoseconds.
//! They are **sufficient**. [`iterate`] computes a fixed point.

use super::casini::sum;
use super::curves::{Load, SupplyBound};
use layland_model::{Duration, Service};

/// One of the bounds, for the last callback of `subchain` (indices into `all`), from bounds on all
/// response times.
pub type Theorem = fn(&[Load], &[usize], &[Duration], SupplyBound, Duration) -> Option<Duration>;

/// The polling points that jobs of the subchain see.
fn polling_points(all: &[Load], subchain: &[usize], responses: &[Duration]) -> i64 {
    sum(subchain.iter().map(|&at| all[at].eta(responses[at].ns())))
}

/// The number of times that callback `at` can precede a job of `end` in the ready set of that job:
/// 0 if `at` comes later in the order.
fn once_more(all: &[Load], at: usize, end: usize) -> i64 {
    let behind = all[at].polled && all[end].polled && at >= end;
    i64::from(!behind)
}

/// Theorem 2: a bound on the response time of the end of a subchain, without a busy window. See the
/// header of the module for the assumptions. `None` if it exceeds the limit.
pub fn round_robin(
    all: &[Load],
    subchain: &[usize],
    responses: &[Duration],
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    let &end = subchain.last()?;
    let points = polling_points(all, subchain, responses);
    // Every job of a callback that is pending at an instant arrived at most its response time
    // before.
    let there = |at: usize, d: i64| all[at].eta(d.saturating_add(responses[at].ns() - 1));
    let before = |d: i64| {
        let of = |(at, one): (usize, &Load)| {
            let jobs = match (at == end, one.polled) {
                (true, _) => (there(at, d) - 1).max(0),
                (false, true) => there(at, d).min(points.saturating_add(once_more(all, at, end))),
                (false, false) => there(at, d),
            };
            one.wcet.ns().saturating_mul(jobs)
        };
        sum(all.iter().enumerate().map(of).chain([1]))
    };
    let s = supply.least(1, limit.ns(), before)?;
    let response = supply.time((supply.at(s) - 1).saturating_add(all[end].wcet.ns()));
    (response <= limit.ns()).then(|| Duration::from_ns(response))
}

/// Theorem 3: the bound of Theorem 2 within a busy window. See the header of the module for the
/// assumptions. For a subchain of several callbacks it is the time from the start of the busy
/// window. `None` if it exceeds the limit.
pub fn busy_window(
    all: &[Load],
    subchain: &[usize],
    responses: &[Duration],
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    let &end = subchain.last()?;
    let own = all[end];
    let points = polling_points(all, subchain, responses);
    let others = |d: i64, a: i64| {
        let rest = all.iter().enumerate().filter(|&(at, _)| at != end);
        sum(rest.map(|(at, one)| {
            let jobs = one.eta(d);
            let jobs = if one.polled {
                let seen = one.eta(a).saturating_add(points);
                jobs.min(seen.saturating_add(once_more(all, at, end)))
            } else {
                jobs
            };
            one.wcet.ns().saturating_mul(jobs)
        }))
    };
    let last = supply.least(1, limit.ns(), |t| sum([1, own.work(t), others(t, t)]))?;
    let mut offsets: Vec<i64> = own.steps().take_while(|&a| a < last).collect();
    for (_, one) in all.iter().enumerate().filter(|&(at, one)| at != end && one.polled) {
        offsets.extend(one.steps().map(|a| a + 1).take_while(|&a| a < last));
    }
    offsets.sort_unstable();
    offsets.dedup();
    let mut longest = 0;
    for a in offsets {
        let earlier = own.wcet.ns().saturating_mul((own.eta(a + 1) - 1).max(0));
        let s = supply.least(1, limit.ns(), |d| sum([1, earlier, others(d, a)]))?;
        let f = supply.time((supply.at(s) - 1).saturating_add(own.wcet.ns()));
        longest = longest.max(if subchain.len() == 1 { f - a } else { f });
    }
    (longest <= limit.ns()).then(|| Duration::from_ns(longest))
}

/// Bounds for all callbacks, each by itself: the least response times that a theorem derives from
/// themselves. Every fixed point is a valid bound. `None` if they exceed the limit, which can
/// happen although other bounds exist.
pub fn iterate(
    all: &[Load],
    theorem: Theorem,
    supply: SupplyBound,
    limit: Duration,
) -> Option<Vec<Duration>> {
    let mut responses: Vec<Duration> =
        all.iter().map(|one| Service::at_unit_speed(one.wcet)).collect();
    loop {
        let mut changed = false;
        for at in 0..all.len() {
            let response = theorem(all, &[at], &responses, supply, limit)?.max(responses[at]);
            changed |= response != responses[at];
            responses[at] = response;
        }
        if !changed {
            return Some(responses);
        }
    }
}
