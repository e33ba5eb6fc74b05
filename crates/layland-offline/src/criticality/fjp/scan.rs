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

/// The scan, with what it counts in.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// How many jobs of each task have no priority yet.
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

    /// Places so many jobs of each task, from the lowest priority upwards: `place` gets the task and the index of the
    /// job, from 0.
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

/// The priorities of the jobs of each task, falling.
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

/// The priorities of jobs that pass [`Totals`], if all tasks are released together.
pub(super) fn summed(
    set: &MixedSet,
    counts: &[usize],
    demand: impl Fn(usize, usize, usize) -> i64,
) -> Result<Vec<Vec<u32>>, NoBound> {
    let mut total: Vec<i128> =
        (0..set.levels()).map(|level| total(counts, level, &demand)).collect();
    scan(set, counts, &mut Totals { set, demand, total: &mut total, first: |_| 0 })
}

/// The sum of the demands of all jobs that are left, at the level of the task, by its deadline.
pub(super) struct Totals<'a, D, R> {
    pub(super) set: &'a MixedSet,
    /// The demand of job `k`, from 1, of a task at a level.
    pub(super) demand: D,
    /// The [`total`] of the jobs that are left, per level.
    pub(super) total: &'a mut [i128],
    /// When the first job of a task is released.
    pub(super) first: R,
}

/// The demand of so many jobs of each task at a level.
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

/// When job `k`, from 1, is released, if the first one is released then and the others periodically.
pub(super) fn release(set: &MixedSet, i: usize, k: usize, first: impl Fn(usize) -> i64) -> i64 {
    (k as i64 - 1).saturating_mul(set.period[i]).saturating_add(first(i))
}
