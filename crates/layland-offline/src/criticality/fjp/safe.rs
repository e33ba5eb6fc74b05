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
//! `f(m)` does not depend on `i`: one number per level serves all tests ([`Lengths`]). Placing a job that is
//! released at `rho` in the pattern changes the right sides only from `rho` on. So an `f(m)` up to `rho` stays what it
//! is, and one above stays above `rho`.
//!
//! Every set that AMC-RT accepts is accepted, as long as no level has utilization 1 or more.

use super::scan::{Lowest, release, scan};
use super::{Jobs, LONGEST, arriving, is_full};
use crate::criticality::lengths::Lengths;
use crate::criticality::steps::{ceil, least, sum, work};
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
        let mut known = Lengths::of(set.levels());
        scan(set, counts, &mut Delay { set, known: &mut known, first: |_| 0, from: 0 })
    })
}

/// Whether [`safe`] accepts the set, which takes a fraction of the time: the verdict does not depend on the order in
/// which jobs get the lowest priorities that are left, so that all that may have one get it at once.
///
/// From a length `t(m)` that is not below `f(m)` every job goes that is due no earlier. The right sides at `t(m)`,
/// without these jobs, are the next lengths: they are not below the next `f(m)`, and fall. Where nothing falls any
/// more, the least fixed points take the place of those that were found from above. If they are the same, no job that
/// is left can have the lowest priority.
///
/// Exact: the answer is that of [`safe`]. What is left of the time goes into busy periods: a CPU whose levels are
/// nearly full has a long one, and every step towards its end is over all tasks. First fit of 2,000 tasks on 64 CPUs
/// takes 1.8 s of processor time with `plrs` and on 16 CPUs 1.2 s, on 2 cores of a shared AMD EPYC; the lists
/// themselves take 3 % of it.
pub fn accepts(set: &MixedSet, jobs: u64) -> bool {
    if (0..set.levels()).any(|m| is_full(set, m)) {
        return false;
    }
    let Some((mut length, mut left)) = pattern(set, jobs) else { return false };
    let n = set.len();
    loop {
        let mut some = false;
        for i in 0..n {
            let late = length[set.z(i)] - set.deadline[i];
            // The jobs that are due before the length.
            let kept = if late > 0 { set.over[i].ceil(late) } else { 0 };
            left[i] = left[i].min(kept);
            some |= left[i] > 0;
        }
        if !some {
            return true;
        }
        let count = |j: usize, f: i64| set.over[j].ceil(f).min(left[j]);
        let mut falls = false;
        for m in 0..set.levels() {
            let right = sum((0..n).map(|j| match set.z(j) {
                z if z < m => work(count(j, length[z]), set.own(j)),
                _ => work(count(j, length[m]), set.c(m)[j]),
            }));
            let next = right.max(1);
            falls |= next < length[m];
            length[m] = next;
        }
        if falls {
            continue;
        }
        for m in 0..set.levels() {
            let closed = (0..n).filter(|&j| set.z(j) < m);
            let closed = sum(closed.map(|j| work(count(j, length[set.z(j)]), set.own(j))));
            let open = |f: i64| (0..n).filter(|&j| set.z(j) >= m).map(move |j| (j, f));
            let least = least(closed, length[m], |f| {
                sum(open(f).map(|(j, f)| work(count(j, f), set.c(m)[j]))).saturating_add(closed)
            });
            let Ok(least) = least else { return false };
            falls |= least < length[m];
            length[m] = least;
        }
        if !falls {
            return false;
        }
    }
}

/// `B(m)` and the counts, if there are no more jobs than this: a busy period with more is not followed to its end.
fn pattern(set: &MixedSet, jobs: u64) -> Option<(Vec<i64>, Vec<i64>)> {
    let mut busy: Vec<i64> = Vec::new();
    let (mut closed, mut counted) = (0i64, 0i64);
    let most = i64::try_from(jobs.min(u32::MAX.into())).expect("it fits");
    for m in 0..set.levels() {
        let c = set.c(m);
        let mut b = closed.max(1);
        loop {
            let (mut right, mut count) = (closed, counted);
            for j in (0..set.len()).filter(|&j| set.z(j) >= m) {
                let jobs = set.over[j].ceil(b);
                count = count.saturating_add(jobs);
                right = right.saturating_add(work(jobs, c[j]));
            }
            if count > most || b > LONGEST {
                return None;
            }
            if right.max(1) == b {
                break;
            }
            b = right;
        }
        busy.push(b);
        for j in (0..set.len()).filter(|&j| set.z(j) == m) {
            let jobs = set.over[j].ceil(b);
            counted = counted.saturating_add(jobs);
            closed = closed.saturating_add(work(jobs, c[j]));
        }
    }
    let counts = (0..set.len()).map(|j| set.over[j].ceil(busy[set.z(j)])).collect();
    Some((busy, counts))
}

/// The test, for jobs of tasks of level `from` and above.
pub(super) struct Delay<'a, R> {
    pub(super) set: &'a MixedSet,
    pub(super) known: &'a mut Lengths,
    /// When the first job of a task is released.
    pub(super) first: R,
    pub(super) from: usize,
}

impl<R: Fn(usize) -> i64> Lowest for Delay<'_, R> {
    fn may_be_lowest(&mut self, i: usize, left: &[usize]) -> Result<bool, NoBound> {
        let Delay { set, ref first, from, ref mut known } = *self;
        let limit = release(set, i, left[i], first).saturating_add(set.deadline[i]);
        let jobs = |j: usize, f: i64| set.over[j].ceil((f - first(j)).max(0)).min(left[j] as i64);
        known.within(set, (from, set.z(i)), limit, jobs)
    }

    fn placed(&mut self, i: usize, left: &[usize]) {
        let release = release(self.set, i, left[i], &self.first);
        self.known.without_job(self.set, self.from, i, release);
    }
}
