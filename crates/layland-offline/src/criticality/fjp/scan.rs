//! The scan for priorities, from the lowest upwards (after OCBP).
//!
//! Each pass tries the levels from the highest down. The tasks of a level, in index order, may
//! place one job each; if a job has been placed, the next pass begins at the highest level again.
//! The paper gives no order; this one reproduces its printed priorities. The verdict does not
//! depend on the order, because placing a job only makes the tests of the others easier.

use crate::criticality::{MixedSet, NoBound};

/// The condition under which a job may have the lowest priority among the remaining ones.
pub(super) trait Lowest {
    /// Returns true if the last remaining job of task `i` may, where `left[j]` is the number of
    /// remaining jobs of each task.
    fn may_be_lowest(&mut self, i: usize, left: &[usize]) -> Result<bool, NoBound>;
    /// Reports that the job was placed; `left` still includes it.
    fn placed(&mut self, i: usize, left: &[usize]);
}

/// The scan, with its counters.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// The number of jobs of each task that have no priority yet.
    left: Vec<usize>,
    /// The tasks of each level, the highest level first.
    by_level: Vec<Vec<usize>>,
}

impl Scan {
    pub(super) fn new(set: &MixedSet) -> Scan {
        let of_level = |level| (0..set.len()).filter(|&i| set.z(i) == level).collect();
        let by_level = (0..set.levels()).rev().map(of_level).collect();
        Scan { left: vec![0; set.len()], by_level }
    }

    /// Places this number of jobs of each task, from the lowest priority upwards: `place` receives
    /// the task and the index of the job, from 0.
    pub(super) fn run(
        &mut self,
        counts: &[usize],
        test: &mut impl Lowest,
        mut place: impl FnMut(usize, usize),
    ) -> Result<(), NoBound> {
        let Scan { left, by_level } = self;
        left.copy_from_slice(counts);
        let mut unplaced: usize = counts.iter().sum();
        while unplaced > 0 {
            let mut progress = false;
            for tasks in &*by_level {
                for &i in tasks {
                    if left[i] > 0 && test.may_be_lowest(i, left)? {
                        test.placed(i, left);
                        left[i] -= 1;
                        unplaced -= 1;
                        place(i, left[i]);
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
        Ok(())
    }
}

/// Returns the priorities of the jobs of each task, descending.
pub(super) fn scan(
    set: &MixedSet,
    counts: &[usize],
    test: &mut impl Lowest,
) -> Result<Vec<Vec<u32>>, NoBound> {
    let mut priorities: Vec<Vec<u32>> = counts.iter().map(|&n| vec![0; n]).collect();
    let mut next = 0;
    Scan::new(set).run(counts, test, |i, job| {
        priorities[i][job] = next;
        next += 1;
    })?;
    Ok(priorities)
}

/// Returns the priorities of jobs that pass [`Totals`], if all tasks are released together.
pub(super) fn summed(
    set: &MixedSet,
    counts: &[usize],
    demand: impl Fn(usize, usize, usize) -> i64,
) -> Result<Vec<Vec<u32>>, NoBound> {
    let mut total: Vec<i128> =
        (0..set.levels()).map(|level| total(counts, level, &demand)).collect();
    scan(set, counts, &mut Totals { set, demand, total: &mut total, first: |_| 0 })
}

/// The test that compares the sum of the demands of all remaining jobs, at the level of the task,
/// with its deadline.
pub(super) struct Totals<'a, D, R> {
    pub(super) set: &'a MixedSet,
    /// Returns the demand of job `k`, from 1, of a task at a level.
    pub(super) demand: D,
    /// The [`total`] of the remaining jobs, per level.
    pub(super) total: &'a mut [i128],
    /// Returns the release of the first job of a task.
    pub(super) first: R,
}

/// Returns the demand of this number of jobs of each task at a level.
pub(super) fn total(
    counts: &[usize],
    level: usize,
    demand: impl Fn(usize, usize, usize) -> i64,
) -> i128 {
    let of_task = |(i, &count)| (1..=count).map(|k| i128::from(demand(i, k, level))).sum::<i128>();
    counts.iter().enumerate().map(of_task).sum()
}

impl<D: Fn(usize, usize, usize) -> i64, R: Fn(usize) -> i64> Lowest for Totals<'_, D, R> {
    fn may_be_lowest(&mut self, i: usize, left: &[usize]) -> Result<bool, NoBound> {
        let due = release(self.set, i, left[i], &self.first).saturating_add(self.set.deadline[i]);
        Ok(self.total[self.set.z(i)] <= i128::from(due))
    }
    fn placed(&mut self, i: usize, left: &[usize]) {
        for (level, total) in self.total.iter_mut().enumerate() {
            *total -= i128::from((self.demand)(i, left[i], level));
        }
    }
}

/// Returns the release of job `k`, from 1, if the first job is released at `first` and the others
/// periodically.
pub(super) fn release(set: &MixedSet, i: usize, k: usize, first: impl Fn(usize) -> i64) -> i64 {
    (k as i64 - 1).saturating_mul(set.period[i]).saturating_add(first(i))
}
