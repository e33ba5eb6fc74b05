//! A job pattern that no run exceeds, and a test of each job that holds. Sound with lists that are reused as
//! the policy `plrs` reuses them.
//!
//! ```text
//! B(m) = least b >= 1 with b = sum over z_i >= m of ceil(b / T_i) C_i(m)
//!                            + sum over z_i < m of ceil(B(z_i) / T_i) C_i(z_i)     (reject if full)
//! n_i  = ceil(B(z_i) / T_i)                                   no list ever runs empty
//! ```
//!
//! The last job that is left of task `i`, its `k`-th, with `left_j` jobs left of each task, may have the lowest
//! priority if `f(z_i) <= (k-1) T_i + D_i`, where for `m = 0..z_i`
//!
//! ```text
//! f(m) = least f with f = sum over z_j >= m of min(left_j, ceil(f / T_j)) C_j(m)
//!                       + sum over z_j < m of min(left_j, ceil(f(z_j) / T_j)) C_j(z_j)
//! ```
//!
//! Why it is sound with reuse: let a sub-busy interval of priority `x` start at `t1`; just before, nothing
//! above the running priority `y < x` was pending. Reuse makes what is left of each list above `y` the first
//! entries of that list. So the `p`-th job of `i` since `t1` with a priority above `y` has entry `p`, arrives
//! no earlier than `t1 + (p-1) T_i`, and is delayed by at most `min(left_j, ceil(f / T_j))` jobs of `j`, tasks
//! of levels below `m` only until the interval would have ended at their level. Reuse above a running priority
//! higher than `x` keeps the number of entries above `x`.
//!
//! **What is remembered.** Placing a job that is released at `rho` in the pattern changes the right sides only
//! from `rho` on. So an `f(m)` up to `rho` stays what it is, and one above stays above `rho`.
//!
//! Every set that AMC-RT accepts is accepted, as long as no level has utilization 1 or more.

use super::scan::{Lowest, release, scan};
use super::{Jobs, LONGEST, arriving, is_full};
use crate::criticality::steps::{Reached, ceil, climb, least, sum, work};
use crate::criticality::{Answer, MixedSet, NoBound};

/// The pattern and the priorities. Sound.
///
/// ```
/// use layland_offline::criticality::{MixedSet, fjp};
/// // The set of the worked example of Section 3.2.
/// let set = MixedSet::from_ns(2, &[
///     (10, 10, 1, &[4, 6]), (20, 20, 1, &[3, 5]), (30, 30, 0, &[6, 6]), (15, 15, 0, &[2, 2]),
/// ])?;
/// let found = fjp::safe(&set, fjp::JOBS);
/// assert_eq!(found.total(), Some(8 + 4 + 1 + 2));
/// assert_eq!(found.priorities.unwrap().values().as_slice(), [
///     vec![13, 12, 11, 9, 7, 5, 2, 0], vec![10, 8, 6, 1], vec![3], vec![14, 4],
/// ]);
/// # Ok::<(), layland_offline::criticality::MixedError>(())
/// ```
pub fn safe(set: &MixedSet, jobs: u64) -> Jobs {
    if (0..set.levels()).any(|m| is_full(set, m)) {
        return Jobs::none(Answer::NotSchedulable);
    }
    let mut busy: Vec<i64> = Vec::new();
    for m in 0..set.levels() {
        let closed = sum((0..set.len())
            .filter(|&i| set.z(i) < m)
            .map(|i| work(ceil(busy[set.z(i)], set.period[i]), set.own(i))));
        match least(closed, LONGEST, |b| arriving(set, m, b, |_| 0).saturating_add(closed)) {
            Ok(b) => busy.push(b),
            Err(NoBound::Beyond | NoBound::GaveUp) => return Jobs::none(Answer::GaveUp),
        }
    }
    Jobs::scanned(set, &busy, jobs, |counts| {
        let mut known = vec![Known::up_to(set.levels()); set.len()];
        scan(set, counts, &mut Delay { set, known: &mut known, first: |_| 0, from: 0 })
    })
}

/// What is known of the `f` of a task.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// `f(from), f(from + 1), ..`.
    f: Vec<i64>,
    /// The next ones are above this.
    above: i64,
}

impl Known {
    /// Nothing, with room for so many levels.
    pub(super) fn up_to(levels: usize) -> Known {
        Known { f: Vec::with_capacity(levels), above: 0 }
    }
    /// Nothing again.
    pub(super) fn forget(&mut self) {
        self.f.clear();
        self.above = 0;
    }
    /// A job was placed that is released then.
    fn placed(&mut self, release: i64) {
        let stay = self.f.iter().take_while(|&&f| f <= release).count();
        if stay < self.f.len() {
            self.f.truncate(stay);
            self.above = release;
        }
        self.above = self.above.min(release);
    }
}

/// The test, for jobs of tasks of level `from` and above.
pub(super) struct Delay<'a, R> {
    pub(super) set: &'a MixedSet,
    pub(super) known: &'a mut [Known],
    /// When the first job of a task is released.
    pub(super) first: R,
    pub(super) from: usize,
}

impl<R: Fn(usize) -> i64> Lowest for Delay<'_, R> {
    fn may_be_lowest(&mut self, i: usize, left: &[usize]) -> Result<bool, NoBound> {
        let Delay { set, ref first, from, .. } = *self;
        let Known { f, above } = &mut self.known[i];
        let limit = release(set, i, left[i], first).saturating_add(set.deadline[i]);
        let last = set.z(i);
        if let Some(&f) = f.get(last - from) {
            return Ok(f <= limit);
        }
        if *above >= limit {
            return Ok(false);
        }
        let jobs = |j: usize, f: i64| set.over[j].ceil((f - first(j)).max(0)).min(left[j] as i64);
        // No interval is longer than one that suffices for all levels.
        let all = (0..set.len()).map(|j| work(jobs(j, limit), set.c(last.min(set.z(j)))[j]));
        if sum(all) <= limit {
            return Ok(true);
        }
        for m in from + f.len()..=last {
            let c = set.c(m);
            let (mut closed, mut start) = (0i64, 0i64);
            for j in (0..set.len()).filter(|&j| left[j] > 0) {
                match set.z(j) {
                    z if z < m => {
                        closed = closed.saturating_add(work(jobs(j, f[z - from]), set.c(z)[j]));
                    }
                    // What comes later is not in every interval.
                    _ if first(j) > 0 => {}
                    _ => start = start.saturating_add(c[j]),
                }
            }
            let start = closed.saturating_add(start).max(above.saturating_add(1));
            let reached = climb(start, limit, |f| {
                let open = (0..set.len()).filter(|&j| set.z(j) >= m);
                sum(open.map(|j| work(jobs(j, f), c[j]))).saturating_add(closed)
            })?;
            match reached {
                Reached::At(found) => {
                    f.push(found);
                    // No level is below one before it.
                    *above = (*above).max(found - 1);
                }
                Reached::Beyond(reached) => {
                    *above = reached - 1;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn placed(&mut self, i: usize, left: &[usize]) {
        let release = release(self.set, i, left[i], &self.first);
        self.known.iter_mut().for_each(|known| known.placed(release));
    }
}
