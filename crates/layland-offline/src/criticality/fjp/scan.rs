//! The scan for priorities, from the lowest upwards (after OCBP).
//!
//! In each pass the levels are tried from the highest down; the tasks of a level, in index order, may place
//! one job each; once one is placed the next pass begins at the highest level again. The paper gives no
//! order; this one reproduces its printed priorities. The verdict does not depend on it: placing a job only
//! makes the tests of the others easier.

use crate::criticality::{MixedSet, NoBound};

/// The condition under which a job may have the lowest priority among those that are left.
pub(super) trait Lowest {
    /// Whether the last job that is left of task `i` may, `left[j]` being how many are left of each.
    fn may_be_lowest(&mut self, i: usize, left: &[usize]) -> Result<bool, NoBound>;
    /// It was placed; `left` is from before.
    fn placed(&mut self, i: usize, left: &[usize]);
}

/// The priorities of the jobs of each task, falling.
pub(super) fn scan(
    set: &MixedSet,
    counts: &[usize],
    test: &mut impl Lowest,
) -> Result<Vec<Vec<u32>>, NoBound> {
    let mut left = counts.to_vec();
    let mut priorities: Vec<Vec<u32>> = counts.iter().map(|&n| vec![0; n]).collect();
    let by_level: Vec<Vec<usize>> = (0..set.levels())
        .rev()
        .map(|level| (0..set.len()).filter(|&i| set.z(i) == level).collect())
        .collect();
    let mut next = 0;
    let all: usize = counts.iter().sum();
    while (next as usize) < all {
        let mut progress = false;
        for tasks in &by_level {
            for &i in tasks {
                if left[i] > 0 && test.may_be_lowest(i, &left)? {
                    test.placed(i, &left);
                    left[i] -= 1;
                    priorities[i][left[i]] = next;
                    next += 1;
                    progress = true;
                }
            }
            if progress {
                break;
            }
        }
        if !progress {
            return Err(NoBound::Beyond);
        }
    }
    Ok(priorities)
}

/// The sum of the demands of all jobs that are left, at the level of the task, by its deadline.
pub(super) struct Totals<'a, D: Fn(usize, usize, usize) -> i64> {
    set: &'a MixedSet,
    /// The demand of job `k`, from 1, of a task at a level.
    demand: D,
    /// The total of the jobs that are left, per level.
    total: Vec<i128>,
}

impl<'a, D: Fn(usize, usize, usize) -> i64> Totals<'a, D> {
    pub(super) fn new(set: &'a MixedSet, counts: &[usize], demand: D) -> Totals<'a, D> {
        let of_task =
            |i: usize, l: usize| (1..=counts[i]).map(|k| i128::from(demand(i, k, l))).sum::<i128>();
        let total = (0..set.levels()).map(|l| (0..set.len()).map(|i| of_task(i, l)).sum());
        let total = total.collect();
        Totals { set, demand, total }
    }
}

impl<D: Fn(usize, usize, usize) -> i64> Lowest for Totals<'_, D> {
    fn may_be_lowest(&mut self, i: usize, left: &[usize]) -> Result<bool, NoBound> {
        Ok(self.total[self.set.z(i)] <= i128::from(due(self.set, i, left[i])))
    }
    fn placed(&mut self, i: usize, left: &[usize]) {
        for (level, total) in self.total.iter_mut().enumerate() {
            *total -= i128::from((self.demand)(i, left[i], level));
        }
    }
}

/// When job `k`, from 1, of the synchronous pattern is due.
pub(super) fn due(set: &MixedSet, i: usize, k: usize) -> i64 {
    (k as i64 - 1).saturating_mul(set.period[i]).saturating_add(set.deadline[i])
}
