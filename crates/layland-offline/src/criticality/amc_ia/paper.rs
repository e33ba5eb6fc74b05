//! The counts of Section 3.1 (Eq. 4), with the corrections that its worked example requires. Not
//! sound: for one set the result is 16, equal to the deadline, for every choice of change points,
//! but if all tasks are released together and periodically, the task misses its deadline. A low job
//! released between the last deadline and the mode change is not counted.
//!
//! Candidates for `s_m` are `s_(m-1)` and the deadlines `k T_j + D_j > s_(m-1)` of jobs of higher
//! priority released before `R(m-1)`. With
//!
//! ```text
//! c_j(l) = min(ceil(s_(l+1) / T_j), ceil(R(l) / T_j))        if z_j = l
//! c_j(l) = max(floor((s_(l+1) - D_j) / T_j) + 1, 0)          if z_j > l
//! ```
//!
//! a task of level `z_j` executes
//! `n C_j(0) + sum over l <= min(m, z_j) of max(0, n - c_j(l-1)) (C_j(l) - C_j(l-1))` in its `n`
//! jobs: `n = c_j(z_j)` if it is below level `m`, `n = ceil(t / T_j)` otherwise. This is the
//! printed sum of `(c(l) - c(l-1)) C(l)`, with no count above the last, ordered by jumps.
//!
//! Differences from the printed version: the own term `C_i(0)`; `s_l` where `s_(l+1)` belongs;
//! `R_k(m)` for `t`; counts that may be negative; no change at 0, and no change equal to the last;
//! a range of deadlines that the example contradicts.
//!
//! Only two kinds of candidates can attain the maximum, and only they are examined: `s_(m-1)` and,
//! for each release of a task of level `m - 1` in `[s_(m-1), R(m-1))`, the first admissible
//! deadline after it. Between them, the demand of closing tasks is constant, and the demand of the
//! others decreases.

use super::{Count, Interferer};
use crate::criticality::steps::{Period, ceil, sum, work};

pub(super) struct Paper;

pub(super) struct Open {
    period: Period,
    base: i64,
    /// For each jump up to the level, the number of jobs due before it, and its increase.
    jumps: Vec<(i64, i64)>,
}

impl Count for Paper {
    type Open = Open;

    fn candidates(higher: &[Interferer], m: usize, s: &[i64], r: i64, found: &mut Vec<i64>) {
        let before = s[m - 1];
        found.push(before);
        for task in higher.iter().filter(|task| task.level == m - 1) {
            let mut release = ceil(before, task.period) * task.period;
            while release < r {
                let first = higher.iter().filter_map(|other| {
                    let k = if release < other.deadline {
                        0
                    } else {
                        other.over.floor(release - other.deadline) + 1
                    };
                    let from = k * other.period;
                    (from < r).then_some(from + other.deadline)
                });
                found.extend(first.min());
                release += task.period;
            }
        }
    }

    fn closed(task: &Interferer, s: &[i64], r: i64) -> i64 {
        let jobs = task.over.ceil(s[task.level + 1].min(r));
        let jumps = task.jumps.iter().map(|&(l, by)| (due(task, s[l]), by));
        executed(jobs, task.base, jumps)
    }

    fn open(task: &Interferer, m: usize, s: &[i64]) -> Open {
        let jumps = task.jumps.iter().filter(|&&(l, _)| l <= m);
        Open {
            period: task.over,
            base: task.base,
            jumps: jumps.map(|&(l, by)| (due(task, s[l]), by)).collect(),
        }
    }

    fn demand(open: &Open, t: i64) -> i64 {
        executed(open.period.ceil(t), open.base, open.jumps.iter().copied())
    }
}

/// Returns the number of jobs due at `s` or before.
fn due(task: &Interferer, s: i64) -> i64 {
    if s < task.deadline { 0 } else { task.over.floor(s - task.deadline) + 1 }
}

fn executed(jobs: i64, base: i64, jumps: impl Iterator<Item = (i64, i64)>) -> i64 {
    let more = sum(jumps.map(|(small, by)| work((jobs - small).max(0), by)));
    work(jobs, base).saturating_add(more)
}
