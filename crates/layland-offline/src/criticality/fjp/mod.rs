//! Fixed job priorities (Huang et al. 2014, Section 3.2): for each task a list of priorities for its jobs
//! in one busy period. A larger number is a higher priority, 0 is the lowest, all are distinct.
//!
//! The analyses first determine the number of jobs in a busy period. Then they assign the
//! priorities, from the lowest upwards, by a scan for a job that may have the lowest free one
//! (after OCBP). Job `k` of task `i`, from 1, is due at `(k-1) T_i + D_i`, and the jobs of a task
//! have descending priorities.
//!
//! | function | pattern | test of a job | |
//! |---|---|---|---|
//! | [`ija_paper`] | Section 3.2 | sum of the demands of the pattern | not sound |
//! | [`ija_floor`] | Section 3.2, high jobs by a floor | sum of the demands of the pattern | not sound |
//! | [`load_based`] | from the load | sum of full demands | sound |
//! | [`safe`] | a bound per level | a bound per level on the delay | sound |
//!
//! [`Rescan`] assigns new priorities at run time to the remaining jobs.
//!
//! An analysis that needs more jobs than its limit gives up.

mod load_based;
mod pattern;
mod rescan;
mod safe;
mod scan;

pub use load_based::load_based;
pub use pattern::{ija_floor, ija_paper};
pub use rescan::Rescan;
pub use safe::{Stuck, accepts, accepts_unless, decide, safe};

use crate::criticality::steps::{ceil, sum};
use crate::criticality::{Answer, MixedSet, NoBound};
use layland_model::{Duration, Rate, TaskMap};

/// The default for the maximum number of jobs in a busy period, beyond which an analysis gives up.
pub const JOBS: u64 = 20_000;

/// The length beyond which no busy period is followed.
const LONGEST: i64 = 1 << 61;

/// A busy period and the priorities of its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// The answer for the set.
    pub answer: Answer,
    /// `B(0), B(1), ..`: the length of the busy period per level; `None` if a level has utilization
    /// 1 or more, or if it is unknown.
    pub busy: Option<Vec<Duration>>,
    /// `n_i`: the number of jobs of each task in it.
    pub counts: Option<TaskMap<u64>>,
    /// For each task, the priorities of its jobs, descending; `None` if the set is not accepted.
    pub priorities: Option<TaskMap<Vec<u32>>>,
}

/// The improved job-arrival pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The answer for the set.
    pub answer: Answer,
    /// `B(0), B(1), ..`; `None` if a level has utilization 1 or more, or if it is unknown.
    pub busy: Option<Vec<Duration>>,
    /// `s^1, .., s^N`: the latest change from each level to the next.
    pub change: Option<Vec<Duration>>,
    /// `n_i^0, .., n_i^(N-1)` of each task.
    pub counts: Option<TaskMap<Vec<u64>>>,
    /// For each task, the priorities of its jobs, descending; `None` if the set is not accepted.
    pub priorities: Option<TaskMap<Vec<u32>>>,
}

impl Pattern {
    /// Returns the number of jobs of the pattern, if it is known: those of each task up to its own
    /// level.
    pub fn total(&self) -> Option<u64> {
        // Counts never decrease with the level, nor grow above a task's own level.
        let own = |counts: &Vec<u64>| counts.last().copied().unwrap_or(0);
        let counts = self.counts.as_ref()?;
        Some(counts.values().map(own).fold(0, u64::saturating_add))
    }
}

impl Jobs {
    /// Returns the number of jobs of the busy period, if it is known.
    pub fn total(&self) -> Option<u64> {
        let counts = self.counts.as_ref()?;
        Some(counts.values().copied().fold(0, u64::saturating_add))
    }

    fn none(answer: Answer) -> Jobs {
        Jobs { answer, busy: None, counts: None, priorities: None }
    }

    /// Creates the result from the busy periods and the numbers of jobs, with `scan` for the
    /// priorities.
    fn scanned(
        set: &MixedSet,
        busy: &[i64],
        limit: u64,
        scan: impl FnOnce(&[usize]) -> Result<Vec<Vec<u32>>, NoBound>,
    ) -> Jobs {
        let counts: Vec<u64> =
            (0..set.len()).map(|i| ceil(busy[set.z(i)], set.period[i]) as u64).collect();
        let (answer, priorities) = prioritised(&counts, limit, scan);
        Jobs {
            answer,
            busy: Some(busy.iter().copied().map(Duration::from_ns).collect()),
            counts: Some(counts.into()),
            priorities,
        }
    }
}

/// Returns the priorities, unless there are too many jobs.
fn prioritised(
    counts: &[u64],
    limit: u64,
    scan: impl FnOnce(&[usize]) -> Result<Vec<Vec<u32>>, NoBound>,
) -> (Answer, Option<TaskMap<Vec<u32>>>) {
    let all = counts.iter().fold(0u64, |sum, &count| sum.saturating_add(count));
    if all > limit.min(u32::MAX.into()) {
        return (Answer::GaveUp, None);
    }
    let counts: Vec<usize> = counts.iter().map(|&count| count as usize).collect();
    match scan(&counts) {
        Ok(priorities) => (Answer::Schedulable, Some(priorities.into())),
        Err(NoBound::Beyond) => (Answer::NotSchedulable, None),
        Err(NoBound::GaveUp) => (Answer::GaveUp, None),
    }
}

/// Returns true if the tasks of level `m` and above leave no time at that level: the sum of
/// `C_i(m) / T_i` is 1 or more. Exact.
fn is_full(set: &MixedSet, m: usize) -> bool {
    const SHIFT: u32 = 62;
    let c = set.c(m);
    let mine = || (0..set.len()).filter(|&i| set.z(i) >= m);
    // Each term is rounded down by less than one unit.
    let low: u128 = mine().map(|i| ((c[i] as u128) << SHIFT) / set.period[i] as u128).sum();
    if low >= 1 << SHIFT {
        return true;
    }
    if low + set.len() as u128 <= 1 << SHIFT {
        return false;
    }
    utilization(set, m) >= Rate::ONE
}

/// Returns the sum of `C_i(m) / T_i` over the tasks of level `m` and above.
fn utilization(set: &MixedSet, m: usize) -> Rate {
    let mine = (0..set.len()).filter(|&i| set.z(i) >= m);
    mine.map(|i| Rate::new(set.c(m)[i], set.period[i])).sum()
}

/// Returns the work of the jobs of level `m` and above that are released in `b`, without `less`
/// jobs of each task.
fn arriving(set: &MixedSet, m: usize, b: i64, less: impl Fn(usize) -> i64) -> i64 {
    let c = set.c(m);
    sum((0..set.len()).filter(|&i| set.z(i) >= m).map(|i| {
        let jobs = (set.over[i].ceil(b) - less(i)).max(0);
        jobs.saturating_mul(c[i])
    }))
}
