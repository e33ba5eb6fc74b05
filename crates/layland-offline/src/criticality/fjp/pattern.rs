//! FJP-IJA: the improved job-arrival pattern (Section 3.2). Not sound: with the job executions of
//! the pattern, which the paper's worked example needs, it accepts a set that no online scheduler
//! can guarantee. An early high job may overrun after all low work of higher priority is done.
//!
//! For `m = 0..N-1`, with `n_i^(-1) = 0` and `s^0 = 0`:
//!
//! ```text
//! reject if the sum over z_i >= m of C_i(m) / T_i is 1 or more
//! B(m)    = least b >= 1 with b = sum over i, l < m of (n_i^l - n_i^(l-1)) C_i(l)
//!                               + sum over z_i >= m of max(0, ceil(b / T_i) - n_i^(m-1)) C_i(m)
//! s^(m+1) = max(s^m, max over z_i = m of (ceil(B(m) / T_i) - 1) T_i + C_i(m))
//! n_i^m   = n_i^(m-1)                                 if z_i < m
//!         = max(n_i^(m-1), ceil(B(m) / T_i))          if z_i = m
//!         = max(n_i^(m-1), ceil(s^(m+1) / T_i))       if z_i > m      (floor in `ija_floor`)
//! ```
//!
//! Task `i` has `n_i^(z_i)` jobs. Job `k` executes at level `v(k)`, the least `m` with `n_i^m >= k`: its demand at
//! level `l` is `C_i(min(l, v(k), z_i))`.
//!
//! Differences from the printed version: there, the indices of `s^m` in `n_i^m` are off by one, and
//! the last release in `B` is `ceil(B / T) T`. The test of the utilization and the `max` in the
//! counts are additions.

use super::scan::summed;
use super::{LONGEST, Pattern, arriving, is_full, prioritised};
use crate::criticality::steps::{ceil, floor, least, work};
use crate::criticality::{Answer, MixedSet, NoBound};
use layland_model::Duration;

/// FJP-IJA as in the paper's example. Not sound.
///
/// ```
/// use layland_offline::criticality::{MixedSet, fjp};
/// // The worked example of Section 3.2.
/// let set = MixedSet::from_ns(2, &[
///     (10, 10, 1, &[4, 6]), (20, 20, 1, &[3, 5]), (30, 30, 0, &[6, 6]), (15, 15, 0, &[2, 2]),
/// ])?;
/// let found = fjp::ija_paper(&set, fjp::JOBS);
/// assert_eq!(found.total(), Some(4 + 2 + 1 + 2));
/// let ns = |times: Option<Vec<layland_model::Duration>>| {
///     times.unwrap().iter().map(|time| time.ns()).collect::<Vec<i64>>()
/// };
/// assert_eq!(ns(found.busy), [28, 38]);
/// assert_eq!(ns(found.change)[0], 17);
/// let priorities = found.priorities.unwrap();
/// assert_eq!(priorities.values().as_slice(), [
///     vec![7, 5, 2, 0], vec![6, 1], vec![3], vec![8, 4],
/// ]);
/// // With high jobs counted by a floor there are too many at level 1.
/// assert!(!fjp::ija_floor(&set, fjp::JOBS).answer.is_yes());
/// # Ok::<(), layland_offline::criticality::MixedError>(())
/// ```
pub fn ija_paper(set: &MixedSet, jobs: u64) -> Pattern {
    ija(set, jobs, ceil)
}

/// FJP-IJA with high jobs counted by a floor. Not sound.
pub fn ija_floor(set: &MixedSet, jobs: u64) -> Pattern {
    ija(set, jobs, floor)
}

fn ija(set: &MixedSet, limit: u64, count: fn(i64, i64) -> i64) -> Pattern {
    let none =
        |answer| Pattern { answer, busy: None, change: None, counts: None, priorities: None };
    if (0..set.levels()).any(|m| is_full(set, m)) {
        return none(Answer::NotSchedulable);
    }
    // n_i^m, by level.
    let mut n: Vec<Vec<i64>> = Vec::new();
    let (mut busy, mut change) = (Vec::new(), Vec::new());
    let mut before = vec![0; set.len()];
    // The execution of the jobs counted so far, at their levels.
    let mut counted = 0i64;
    let mut s = 0i64;
    for m in 0..set.levels() {
        let b = match least(counted, LONGEST, |b| {
            arriving(set, m, b, |i| before[i]).saturating_add(counted)
        }) {
            Ok(b) => b,
            Err(NoBound::Beyond | NoBound::GaveUp) => return none(Answer::GaveUp),
        };
        for i in (0..set.len()).filter(|&i| set.z(i) == m) {
            s = s.max((ceil(b, set.period[i]) - 1) * set.period[i] + set.c(m)[i]);
        }
        let now: Vec<i64> = (0..set.len())
            .map(|i| match set.z(i) {
                z if z < m => before[i],
                z if z == m => before[i].max(ceil(b, set.period[i])),
                _ => before[i].max(count(s, set.period[i])),
            })
            .collect();
        for i in 0..set.len() {
            counted = counted.saturating_add(work(now[i] - before[i], set.c(m)[i]));
        }
        busy.push(Duration::from_ns(b));
        change.push(Duration::from_ns(s));
        n.push(now.clone());
        before = now;
    }
    let totals: Vec<u64> = (0..set.len()).map(|i| n[set.z(i)][i] as u64).collect();
    let (answer, priorities) = prioritised(&totals, limit, |counts| {
        let demand = |i: usize, k: usize, l: usize| {
            let executes = (0..set.levels()).find(|&m| n[m][i] >= k as i64).unwrap_or(set.z(i));
            set.c(l.min(executes).min(set.z(i)))[i]
        };
        summed(set, counts, demand)
    });
    let counts = set.each(|i| n.iter().map(|n| n[i] as u64).collect());
    Pattern { answer, busy: Some(busy), change: Some(change), counts: Some(counts), priorities }
}
