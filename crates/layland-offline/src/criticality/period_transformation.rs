//! Period transformation (Huang et al. 2014, Section 2.3, Eq. 3).
//!
//! A task is cut into slices, each with its share of the period and of the budget, so that tasks of
//! higher criticality get shorter periods. Then the rate-monotonic and the criticality-monotonic
//! order agree.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `n_i` | [`Slices::count`] | the least integer with `T_i / n_i <= T_j / n_j` for all tasks of lower criticality |
//! | `p_i` | [`Slices::length`] | `floor(K T_i / n_i)` |
//! | `q_i` | [`Slices::budget`] | `ceil(K C_i(z_i) / n_i)` |
//!
//! Priorities: shorter transformed period, then higher criticality, then lower rank. `K`, the
//! resolution, multiplies all times. The run-time mechanism must use the same integers, so that
//! rounding is safe.
//!
//! ```text
//! R_i = sum over j of priority >= i, i included, of
//!         floor(R / T_j) C_j(z_i) + min(ceil((R mod T_j) / p_j) q_j, C_j(z_i))
//! ```
//!
//! `R_i` ends a busy period: after one slice if this slice fits into its segment, otherwise later.
//! Eq. 3 is printed with a ceiling in the first term, which counts the last period twice.
//!
//! [`paper`] compares `R_i` with the deadline. This test accepts sets in which the budget
//! enforcement postpones a slice and a job misses its deadline. [`safe`] compares each slice with
//! its own segment: `R_i <= D_i` if `n_i = 1`, otherwise `R_i <= min(p_i, D_i - (n_i - 1) p_i)`. It
//! requires servers that are anchored at releases, and enforced budgets.

use crate::criticality::steps::{Period, ceil, least, sum, work};
use crate::criticality::{Answer, MixedSet, NoBound};
use layland_model::{TaskId, TaskMap};
use std::cmp::Reverse;

/// The slices of a task. The unit is 1 / resolution of a nanosecond, which is a nanosecond for a
/// resolution of 1. The run-time mechanism must use the same integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// The number of slices.
    pub count: i64,
    /// The length of each. Zero makes the set unschedulable.
    pub length: i64,
    /// The execution time of the task in each slice.
    pub budget: i64,
}

/// The result of the analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transformed {
    /// `K`, the number of units in a nanosecond.
    pub resolution: i64,
    /// The tasks, highest priority first.
    pub order: Vec<TaskId>,
    /// The slices of each task.
    pub slices: TaskMap<Slices>,
    /// `R_i`, in units of 1 / `K` ns, if it is within its limit.
    pub response: TaskMap<Result<i64, NoBound>>,
    /// The answer for the set.
    pub answer: Answer,
}

/// Compares Eq. 3 with deadlines. Not sound.
///
/// # Panics
/// Panics if the resolution is not positive.
pub fn paper(set: &MixedSet, resolution: i64) -> Transformed {
    analyse(set, resolution, |_, deadline| deadline)
}

/// Compares Eq. 3 with segments: every slice must end in its own segment. Sound.
///
/// # Panics
/// Panics if the resolution is not positive.
pub fn safe(set: &MixedSet, resolution: i64) -> Transformed {
    analyse(set, resolution, segment)
}

/// Returns true if [`safe`] accepts the set in whole nanoseconds. Tests from the lowest priority
/// upwards until one task fails.
pub fn accepts(set: &MixedSet) -> bool {
    let cut = Cut::of(set);
    let order = cut.order(set);
    (0..order.len()).rev().all(|place| {
        let i = order[place];
        let demand = |r: i64| sum(order[..=place].iter().map(|&j| cut.demand(set, j, set.z(i), r)));
        let limit = cut.segment(set, i);
        // If some length up to the limit suffices, so does the least one.
        limit >= 1 && (demand(limit) <= limit || least(1, limit, demand).is_ok())
    })
}

/// A set cut into slices of whole nanoseconds.
#[derive(Clone, Default)]
pub struct Cut {
    counts: Vec<i64>,
    slices: Vec<Slices>,
    /// `p_i`, prepared for division.
    lengths: Vec<Period>,
    /// False if a slice would be shorter than a nanosecond, or a period is out of range.
    is_possible: bool,
}

impl Cut {
    pub(crate) fn of(set: &MixedSet) -> Cut {
        let counts = counts(set);
        let slices: Vec<Slices> = slices(set, &counts, 1).values().copied().collect();
        let is_possible = slices.iter().all(|slices| slices.length > 0)
            && set.period.iter().all(|&period| period < 1 << 61);
        let lengths = slices.iter().map(|slices| Period::new(slices.length.max(1))).collect();
        Cut { counts, slices, lengths, is_possible }
    }

    /// Returns true if it has the slices of another one, and more.
    pub(crate) fn extends(&self, before: &Cut) -> bool {
        self.is_possible == before.is_possible && self.slices.starts_with(&before.slices)
    }

    /// Returns the tasks, highest priority first.
    pub(crate) fn order(&self, set: &MixedSet) -> Vec<usize> {
        order(set, &self.counts)
    }

    /// Returns the time by which a slice of a task must end; 0 if there are no slices.
    pub(crate) fn segment(&self, set: &MixedSet, i: usize) -> i64 {
        if self.is_possible { segment(&self.slices[i], set.deadline[i]) } else { 0 }
    }

    /// Returns the work of a task at a level in an interval of this length: whole periods, and the
    /// slices that have begun since.
    #[inline]
    pub(crate) fn demand(&self, set: &MixedSet, j: usize, level: usize, length: i64) -> i64 {
        let (whole, wcet) = (set.over[j].floor(length), set.c(level)[j]);
        let begun = self.lengths[j].ceil(length - whole * set.period[j]);
        work(whole, wcet).saturating_add(work(begun, self.slices[j].budget).min(wcet))
    }
}

/// Returns the time by which a slice must end, from its start.
fn segment(slices: &Slices, deadline: i64) -> i64 {
    match slices.count {
        1 => deadline,
        count => slices.length.min(deadline - (count - 1) * slices.length),
    }
}

/// Returns the slices of each task.
fn slices(set: &MixedSet, counts: &[i64], resolution: i64) -> TaskMap<Slices> {
    set.each(|i| {
        let (period, wcet, count) = (set.period[i], set.own(i), i128::from(counts[i]));
        let scaled = |value: i64| i128::from(value) * i128::from(resolution);
        Slices {
            count: counts[i],
            length: i64::try_from(scaled(period) / count).unwrap_or(i64::MAX),
            budget: i64::try_from((scaled(wcet) + count - 1) / count).unwrap_or(i64::MAX),
        }
    })
}

fn analyse(set: &MixedSet, resolution: i64, limit: impl Fn(&Slices, i64) -> i64) -> Transformed {
    assert!(resolution > 0, "a resolution is positive");
    let counts = counts(set);
    let order = order(set, &counts);
    let longest = set.period.iter().max().copied().unwrap_or(0);
    // Everything below is at most a sum of periods, which is in range if the scaled periods are
    // below 2^61.
    let in_range = longest.checked_mul(resolution).is_some_and(|scaled| scaled < 1 << 61);
    let cut = slices(set, &counts, resolution);
    let slices = cut.values().as_slice();
    let feasible = slices.iter().all(|slices| slices.length > 0);
    let mut response = vec![Err(NoBound::Beyond); set.len()];
    for (place, &i) in order.iter().enumerate() {
        response[i] = match (in_range, feasible) {
            (_, false) => Err(NoBound::Beyond),
            (false, true) => Err(NoBound::GaveUp),
            (true, true) => {
                let wcet = set.c(set.z(i));
                let limit = limit(&slices[i], set.deadline[i] * resolution);
                least(1, limit, |r| {
                    sum(order[..=place].iter().map(|&j| {
                        let (period, wcet) =
                            (set.period[j] * resolution, wcet[j].saturating_mul(resolution));
                        let (whole, rest) = (r / period, r % period);
                        let begun = work(ceil(rest, slices[j].length), slices[j].budget);
                        work(whole, wcet).saturating_add(begun.min(wcet))
                    }))
                })
            }
        };
    }
    let answer = if response.contains(&Err(NoBound::Beyond)) {
        Answer::NotSchedulable
    } else if response.contains(&Err(NoBound::GaveUp)) {
        Answer::GaveUp
    } else {
        Answer::Schedulable
    };
    Transformed {
        resolution,
        order: order.iter().map(|&i| TaskId(i as u32)).collect(),
        slices: cut,
        response: response.into(),
        answer,
    }
}

/// Returns `n_i`, from the lowest level upwards.
fn counts(set: &MixedSet) -> Vec<i64> {
    let mut counts = vec![1i64; set.len()];
    // The shortest transformed period below the current level, as period and count.
    let mut shortest: Option<(i64, i64)> = None;
    for level in 0..set.levels() {
        let mine = || (0..set.len()).filter(|&i| set.z(i) == level);
        if let Some((period, count)) = shortest {
            for i in mine() {
                let whole = i128::from(set.period[i]) * i128::from(count);
                let least = (whole + i128::from(period) - 1) / i128::from(period);
                counts[i] = i64::try_from(least).unwrap_or(i64::MAX).max(1);
            }
        }
        for i in mine() {
            let this = (set.period[i], counts[i]);
            if shortest.is_none_or(|least| shorter(this, least)) {
                shortest = Some(this);
            }
        }
    }
    counts
}

/// Returns true if `T_a / n_a < T_b / n_b`.
fn shorter((period_a, n_a): (i64, i64), (period_b, n_b): (i64, i64)) -> bool {
    i128::from(period_a) * i128::from(n_b) < i128::from(period_b) * i128::from(n_a)
}

fn order(set: &MixedSet, counts: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..set.len()).collect();
    order.sort_by(|&a, &b| {
        let product = |x: usize, y: usize| i128::from(set.period[x]) * i128::from(counts[y]);
        (product(a, b).cmp(&product(b, a)))
            .then_with(|| Reverse(set.level[a]).cmp(&Reverse(set.level[b])))
            .then_with(|| set.rank[a].cmp(&set.rank[b]))
    });
    order
}
