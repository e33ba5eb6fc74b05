//! Finds bursts of arrivals: a period near the mean gap, and a jitter with which it allows every burst.
//!
//! With the shortest gap as a separation, the densest burst would never end: a thread with a batch of ten jobs every
//! 100 ms would be a hundred times as heavy as it is. With period `T` and jitter `J` at most `ceil((w + J) / T)` jobs
//! arrive in a window of length `w`: `J` is room for a burst, and `T` is the rate in the long run.
//!
//! **Safe.** Let `d(n)` be the shortest time in which `n` arrivals in a row were seen. `T` and `J` allow all of them if
//! `d(n) >= (n - 1) T - J` for every `n`. The least such `J` is `J(T) = max over n of (n - 1) T - d(n)`, which is the
//! largest sum of `T - gap` over gaps in a row: [`ahead`] finds it in one pass. No window is left out.
//!
//! **Chosen.** `J(T)` never falls as `T` grows, and neither does `n(T) = 1 + ceil(J(T) / T)`, the number of jobs that
//! may come within a period. A longer period is a lighter task with larger bursts. So the period is the result of four
//! steps:
//!
//! 1. The rule is for threads of which at least [`FEWEST`] arrivals were seen and which the separation makes more than
//!    twice as heavy as they are: the mean gap is more than two separations, and the load more than 1/[`SPARE`] of a
//!    CPU above the longest execution per mean gap. A period of which at least every second one was empty is such a
//!    separation, too.
//! 2. The shortest period that is acceptable makes the load a tenth larger than that, or larger by 1/[`SPARE`] of a
//!    CPU if that is more.
//! 3. A jitter of more than 1/[`BURST`] of the observed time is a change of the rate and not a burst. If the jitter of
//!    step 2 is longer, the shortest period is instead the longest one whose jitter is not.
//! 4. The period is the longest one from there to the mean gap that lets no more jobs come within a period than the
//!    shortest one, with a jitter that step 3 accepts.
//!
//! Steps 3 and 4 are searches by bisection, up to 1/[`FINE`] of the mean gap. The period is rounded down to four
//! digits, and the jitter is that of the rounded one. A thread with `n` arrivals costs some thirty
//! passes over `n` gaps.
//!
//! A thread whose deadline is not in the trace gets `D = T + 2 J`. A job is late by `J` at most, and a time `T + J`
//! after a burst the next one of that size may come: a thread whose bursts are over by then keeps this deadline. A
//! shorter one is a wrong *no*: beside a thread of more importance the first job of a burst may wait for longer than a
//! period, although the thread keeps up.
//!
//! A deadline in the trace counts from the arrival, and jitter is a part of every response. So the rule does not
//! apply if jitter and execution are longer than such a deadline. Nor does it apply to SCHED_DEADLINE, where a
//! server limits what a burst gets.

use super::arrivals::{Arrivals, Pattern, ahead};
use super::estimate::rounded_down;
use super::observation::SeenJob;
use layland_model::{Duration, Service};

/// The rate of fewer arrivals is unknown.
const FEWEST: usize = 10;
/// A load that is too large by this part of a CPU (one in `SPARE`) does not matter.
const SPARE: i128 = 200;
/// A burst takes at most this part (one in `BURST`) of the observed time.
const BURST: i64 = 10;
/// Periods are searched to this part (one in `FINE`) of the mean gap.
const FINE: i64 = 2_000;

/// Returns the arrivals of jobs as bursts, if they are bursts. `longest` is the longest execution of
/// a job, and `deadline` is that of the trace.
pub(super) fn bursts(
    jobs: &[SeenJob],
    plain: &Arrivals,
    longest: Service,
    deadline: Option<Duration>,
) -> Option<Arrivals> {
    let [_, mean, _] = plain.gaps;
    let (separation, sleep) = match plain.pattern {
        Pattern::Sporadic { separation, sleep, .. } => (separation, sleep),
        // At least every second period was empty: the period is that of a clock, and not that of the jobs.
        Pattern::Periodic { period, empty, .. } if empty >= plain.count as u64 => (period, None),
        Pattern::Periodic { .. } | Pattern::Bursts { .. } => return None,
    };
    let spare = shortest_with_spare(longest, mean);
    if plain.count < FEWEST || separation * 2 >= mean || separation >= spare {
        return None;
    }
    // Step 2.
    let acceptable = spare.min(Duration::from_ns(mean.ns() / 11 * 10));
    // Step 3.
    let seen = jobs.last()?.arrival - jobs.first()?.arrival;
    let longest_burst = Duration::from_ns(seen.ns() / BURST);
    let is_burst = |period| ahead(jobs, period) <= longest_burst;
    if !is_burst(separation) {
        return None;
    }
    let shortest = longest_period(separation.max(Duration::from_ns(1)), acceptable, mean, is_burst);
    // Step 4.
    let most = within_a_period(shortest, ahead(jobs, shortest));
    let period = longest_period(shortest, mean, mean, |period| {
        let jitter = ahead(jobs, period);
        jitter <= longest_burst && within_a_period(period, jitter) <= most
    });
    let period = rounded_down(period);
    let jitter = ahead(jobs, period);
    let is_in_time = deadline.is_none_or(|deadline| jitter + longest.at_unit_speed() <= deadline);
    (is_in_time && period > separation * 2)
        .then(|| Arrivals { pattern: Pattern::Bursts { period, jitter, sleep }, ..plain.clone() })
}

/// Returns the number of jobs with this period and jitter that may arrive in a half-open window as
/// long as the period.
pub(super) fn within_a_period(period: Duration, jitter: Duration) -> i64 {
    let (jitter, period) = (jitter.ns(), period.ns().max(1));
    1 + jitter / period + i64::from(jitter % period > 0)
}

/// Returns the period with which jobs load a CPU by 1/[`SPARE`] more than with the mean gap:
/// `C / T = C / mean + 1 / SPARE`.
fn shortest_with_spare(longest: Service, mean: Duration) -> Duration {
    let (longest, mean) = (i128::from(longest.ns()), i128::from(mean.ns()));
    let above = longest * mean * SPARE;
    let below = longest * SPARE + mean;
    // It is no longer than the mean.
    Duration::from_ns((above / below.max(1)) as i64)
}

/// Returns the longest period from `least` to `most` that satisfies a condition. The condition holds
/// for `least`, and for every period shorter than one for which it holds.
fn longest_period(
    least: Duration,
    most: Duration,
    mean: Duration,
    is_so: impl Fn(Duration) -> bool,
) -> Duration {
    if most <= least || is_so(most) {
        return most.max(least);
    }
    let (mut least, mut above) = (least.ns(), most.ns());
    while above - least > (mean.ns() / FINE).max(1) {
        let middle = least + (above - least) / 2;
        if is_so(Duration::from_ns(middle)) { least = middle } else { above = middle }
    }
    Duration::from_ns(least)
}
