//! Busy-window bounds for timers, for polled callbacks, for chains (Casini et al., ECRTS 2019), and
//! for a FIFO queue.
//!
//! | paper      | here                 |
//! |------------|----------------------|
//! | `rbf(d)`   | [`Load::work`]       |
//! | `sbf(d)`   | [`SupplyBound::at`]  |
//! | `A`        | `a`, the offset of the job from the start of the busy window |
//! | `F`        | `f`, the end of the job, also from the start of the busy window |
//!
//! The analysis of chains follows the corrected paper: other callbacks count with the arrivals of
//! the sources of their chains.

use super::curves::{Load, SupplyBound};
use layland_model::{Duration, Service};

/// The response time of a live timer. `before` are the timers that come before it, and
/// `longest_after` is the WCET of the longest callback that comes after it, one of which may have
/// begun. `None` if it exceeds the limit.
///
/// Assumes: (1) one thread, the default executor, live timers; (2) `before` contains all timers
/// before it, and `longest_after` covers all other callbacks; (3) WCETs, which are above 0,
/// arrivals and supply hold; (4) nothing else activates it or the timers before it; (5) all times
/// are whole nanoseconds. **Sufficient.** Casini et al. 2019, Lemma 1 with the terms of timers.
pub fn casini_timer(
    own: Load,
    before: &[Load],
    longest_after: Service,
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    busy_window(own, before, longest_after.ns(), supply, limit)
}

/// The response time of a callback that waits for polling points: every other callback may come
/// before it. The bound does not use that a callback runs at most once between two polling points.
///
/// Assumes: (1) one thread that is never idle while a callback waits, and that runs callbacks to
/// their ends, and the jobs of one callback in the order of their activations, as **every**
/// executor with one thread does here; (2) `others` contains all other callbacks of the executor,
/// each with the arrivals of the source of its chain; (3) WCETs, which are above 0, arrivals and
/// supply hold; (4) all times are whole nanoseconds. **Sufficient.** Casini et al. 2019, for the
/// default executor. That (1) suffices is our own result: the proof counts everything that is
/// activated before the job begins.
pub fn casini_polled(
    own: Load,
    others: &[Load],
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    busy_window(own, others, 0, supply, limit)
}

/// The time from an activation of the source of a chain to the end of the resulting job of its last
/// callback.
///
/// `last` is the last callback with the arrivals of the source, `prefix` contains the other
/// callbacks of the chain, also with the arrivals of the source, and `others` everything else, each
/// with the arrivals of its own source.
///
/// Assumes what [`casini_polled`] assumes, and (5) that the chain is within one executor.
/// **Sufficient.** Casini et al. 2019, with the authors' errata.
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
    // The length of the longest interval without an idle instant.
    let busy = supply.least(1, limit, |d| sum([own.work(d), all(d), blocking]))?;
    let mut longest = 0;
    for a in own.steps().take_while(|&a| a <= busy) {
        // Once the job has begun, no other job precedes it: only arrivals up to its start count.
        let begun = |f: i64| (f - own.wcet.ns()).max(a) + 1;
        let f = supply.least(a + 1, limit.saturating_add(a), |f| {
            sum([own.work(a + 1), blocking, all(begun(f))])
        })?;
        longest = longest.max(f - a);
    }
    (longest <= limit).then(|| Duration::from_ns(longest))
}

/// A bound for all callbacks of an executor with a queue in the order of activation: `events-fifo`.
///
/// Assumes: (1) one thread; (2) `all` contains every callback, and none activates another; (3)
/// WCETs, which are above 0, arrivals and supply hold; (4) all times are whole nanoseconds.
/// **Sufficient.** With a dedicated CPU it is the classic bound for FIFO (Bedarkar et al., RTSS
/// 2022), and the supply bound replaces the CPU.
pub fn fifo(all: &[Load], supply: SupplyBound, limit: Duration) -> Option<Duration> {
    let limit = limit.ns();
    let work = |d: i64| sum(all.iter().map(|one| one.work(d)));
    let busy = supply.least(1, limit, work)?;
    let steps = all.iter().flat_map(|one| one.steps().take_while(|&a| a < busy));
    let longest = steps.map(|a| supply.time(work(a + 1)) - a).max().unwrap_or(0);
    (longest <= limit).then(|| Duration::from_ns(longest))
}

/// A saturating sum: the largest number is above every limit.
pub(super) fn sum(all: impl IntoIterator<Item = i64>) -> i64 {
    all.into_iter().fold(0, i64::saturating_add)
}
