//! Busy-window bounds: of timers, of polled callbacks, of chains (Casini et al., ECRTS 2019), and of a queue.
//!
//! | paper      | here                 |
//! |------------|----------------------|
//! | `rbf(d)`   | [`Load::work`]       |
//! | `sbf(d)`   | [`SupplyBound::at`]  |
//! | `A`        | `a`, the offset of the job from the begin of the busy window |
//! | `F`        | `f`, the end of the job, from there, too |
//!
//! The chain is that of the corrected paper: other callbacks count with the arrivals of the sources of their chains.

use super::curves::{Load, SupplyBound};
use layland_model::{Duration, Service};

/// The response time of a live timer: `before` are the timers that come before it, `longest_after` is the WCET of the
/// longest callback that comes after it, one of which may have begun. `None` above the limit.
///
/// Assumes: (1) one thread, the default executor, live timers; (2) all timers before it are in `before`, and all other
/// callbacks in `longest_after`; (3) WCETs, which are above 0, arrivals and supply hold; (4) nobody else activates it
/// or the timers before it; (5) all times are whole nanoseconds. **Sufficient.** Casini et al. 2019, Lemma 1 with the
/// terms of timers.
pub fn casini_timer(
    own: Load,
    before: &[Load],
    longest_after: Service,
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    busy_window(own, before, longest_after.ns(), supply, limit)
}

/// The response time of a callback that waits for polling points: every other callback may come before it. That a
/// callback runs once between two polling points is not used.
///
/// Assumes: (1) one thread that is never idle while something waits and runs callbacks to their ends, and the jobs of
/// one callback in the order of their activations, as **every** executor with one thread does here; (2) `others` has
/// all that the executor runs besides, each callback with the arrivals of the source of its chain; (3) WCETs, which are
/// above 0, arrivals and supply hold; (4) all times are whole nanoseconds. **Sufficient.** Casini et al. 2019, for the
/// default executor; that (1) is enough is ours: the proof counts everything that is activated before the job begins.
pub fn casini_polled(
    own: Load,
    others: &[Load],
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    busy_window(own, others, 0, supply, limit)
}

/// The time from an activation of the source of a chain to the end of the job of its last callback that stems from it.
///
/// `last` is the last callback with the arrivals of the source, `prefix` has the other callbacks of the chain with the
/// arrivals of the source, too, and `others` all else, each with the arrivals of its own source.
///
/// Assumes what [`casini_polled`] does, and (5) that the chain is inside of one executor. **Sufficient.** Casini et al.
/// 2019, with the authors' errata.
pub fn casini_chain(
    last: Load,
    prefix: &[Load],
    others: &[Load],
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    let all = [prefix, others].concat();
    busy_window(last, &all, 0, supply, limit)
}

fn busy_window(
    own: Load,
    others: &[Load],
    blocking: i64,
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    let limit = limit.ns();
    let all = |d: i64| sum(others.iter().map(|one| one.work(d)));
    // The longest time without an idle instant.
    let busy = supply.least(1, limit, |d| sum([own.work(d), all(d), blocking]))?;
    let mut longest = 0;
    for a in own.steps().take_while(|&a| a <= busy) {
        // Once the job has begun nobody comes before it: what counts is what arrives up to then.
        let begun = |f: i64| (f - own.wcet.ns()).max(a) + 1;
        let f = supply.least(a + 1, limit.saturating_add(a), |f| {
            sum([own.work(a + 1), blocking, all(begun(f))])
        })?;
        longest = longest.max(f - a);
    }
    (longest <= limit).then(|| Duration::from_ns(longest))
}

/// One bound for all callbacks of an executor with a queue in the order of activation: `events-fifo`.
///
/// Assumes: (1) one thread; (2) `all` has every callback, and none activates another; (3) WCETs, which are above 0,
/// arrivals and supply hold; (4) all times are whole nanoseconds. **Sufficient.** With a CPU of its own it is the
/// classic bound for FIFO (Bedarkar et al., RTSS 2022), and the supply bound replaces the CPU.
pub fn fifo(all: &[Load], supply: SupplyBound, limit: Duration) -> Option<Duration> {
    let limit = limit.ns();
    let work = |d: i64| sum(all.iter().map(|one| one.work(d)));
    let busy = supply.least(1, limit, work)?;
    let steps = all.iter().flat_map(|one| one.steps().take_while(|&a| a < busy));
    let longest = steps.map(|a| supply.time(work(a + 1)) - a).max().unwrap_or(0);
    (longest <= limit).then(|| Duration::from_ns(longest))
}

/// A sum that stays at the largest number instead of overflowing: it is above every limit.
pub(super) fn sum(all: impl IntoIterator<Item = i64>) -> i64 {
    all.into_iter().fold(0, i64::saturating_add)
}
