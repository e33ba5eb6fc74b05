//! A job pattern that no run exceeds, and a safe test of each job. Sound if lists are reused as in
//! the policy `plrs`.
//!
//! ```text
//! B(m) = least b >= 1 with b = sum over z_i >= m of ceil(b / T_i) C_i(m)
//!                            + sum over z_i < m of ceil(B(z_i) / T_i) C_i(z_i)     (reject if full)
//! n_i  = ceil(B(z_i) / T_i)                                   no list ever runs empty
//! ```
//!
//! The last remaining job of task `i`, its `k`-th, may have the lowest priority, with `left_j` jobs
//! left of each task, if `f(z_i) <= (k-1) T_i + D_i`, where for `m = 0..z_i`
//!
//! ```text
//! f(m) = least f with f = sum over z_j >= m of min(left_j, ceil(f / T_j)) C_j(m)
//!                       + sum over z_j < m of min(left_j, ceil(f(z_j) / T_j)) C_j(z_j)
//! ```
//!
//! Proof of soundness with reuse: let a sub-busy interval of priority `x` start at `t1`; just
//! before, no job above the running priority `y < x` was pending. Reuse turns the remaining entries
//! of each list above `y` into the first entries of that list. So the `p`-th job of `i` since `t1`
//! with a priority above `y` has entry `p`, arrives no earlier than `t1 + (p-1) T_i`, and is
//! delayed by at most `min(left_j, ceil(f / T_j))` jobs of `j`, where tasks of levels below `m`
//! delay it only until the interval would have ended at their level. Reuse above a running priority
//! higher than `x` keeps the number of entries above `x`.
//!
//! `f(m)` does not depend on `i`, so one number per level serves all tests ([`Lengths`]). Placing a
//! job that is released at `rho` in the pattern changes the right sides only from `rho` on. So an
//! `f(m)` up to `rho` does not change, and an `f(m)` above `rho` stays above it.
//!
//! Every set that AMC-RT accepts is accepted, as long as no level has utilization 1 or more.
//!
//! **One level, and deadlines at the ends of periods.** Below utilization 1 there is always an
//! order, and only the number of jobs of the pattern must be found (`always_has_an_order`). Take
//! any remaining jobs, and let `d` be the latest of their deadlines: of each task `j` there are at
//! most `floor((d - D_j) / T_j) + 1`, so all of them together take at most `sum d C_j / T_j <= d`.
//! `f` is not longer than all of them together, so the job due at `d` may have the lowest priority.

use super::scan::{Lowest, release, scan};
use super::{Jobs, LONGEST, arriving, is_full};
use crate::criticality::lengths::Lengths;
use crate::criticality::steps::{Period, least, sum, work};
use crate::criticality::{Answer, MixedSet, NoBound, amc_rt};
use std::cmp::Reverse;

/// Computes the pattern and the priorities. Sound.
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
    let busy = match busy_periods(set) {
        Ok(busy) => busy,
        Err(answer) => return Jobs::none(answer),
    };
    Jobs::scanned(set, &busy, jobs, |counts| {
        let mut known = Lengths::of(set.levels());
        scan(set, counts, &mut Delay { set, known: &mut known, first: |_| 0, from: 0 })
    })
}

/// Returns the answer of [`safe`] and the number of jobs of its pattern, if known. This takes a
/// fraction of the time, since no job gets a priority (see [`accepts`]).
///
/// Exact: both values are those of [`safe`].
pub fn decide(set: &MixedSet, jobs: u64) -> (Answer, Option<u64>) {
    let busy = match busy_periods(set) {
        Ok(busy) => busy,
        Err(answer) => return (answer, None),
    };
    let counts: Vec<i64> = (0..set.len()).map(|j| set.over[j].ceil(busy[set.z(j)])).collect();
    let all = counts.iter().fold(0u64, |all, &count| all.saturating_add(count as u64));
    let answer = if all > jobs.min(u32::MAX.into()) {
        Answer::GaveUp
    } else if always_has_an_order(set) {
        Answer::Schedulable
    } else {
        match UnorderedJobs::new(set, busy, counts).find_an_order() {
            Ok(true) => Answer::Schedulable,
            Ok(false) | Err(NoBound::Beyond) => Answer::NotSchedulable,
            Err(NoBound::GaveUp) => Answer::GaveUp,
        }
    };
    (answer, Some(all))
}

/// Returns true if any jobs of a set whose levels are not full have priorities; see the file
/// header.
fn always_has_an_order(set: &MixedSet) -> bool {
    set.levels() == 1 && set.deadline == set.period
}

/// Returns `B(0), B(1), ..`, or the answer if there are none.
fn busy_periods(set: &MixedSet) -> Result<Vec<i64>, Answer> {
    if (0..set.levels()).any(|m| is_full(set, m)) {
        return Err(Answer::NotSchedulable);
    }
    let mut busy: Vec<i64> = Vec::new();
    let mut closed = 0i64;
    for m in 0..set.levels() {
        match least(closed, LONGEST, |b| arriving(set, m, b, |_| 0).saturating_add(closed)) {
            Ok(b) => busy.push(b),
            Err(NoBound::Beyond | NoBound::GaveUp) => return Err(Answer::GaveUp),
        }
        let of_level = (0..set.len()).filter(|&i| set.z(i) == m);
        let ends = of_level.map(|i| work(set.over[i].ceil(busy[m]), set.own(i)));
        closed = closed.saturating_add(sum(ends));
    }
    Ok(busy)
}

/// Returns true if [`safe`] accepts the set. This takes a fraction of the time: the verdict does
/// not depend on the order in which jobs get the lowest free priorities, so all jobs that may have
/// one get it at once (`UnorderedJobs`).
///
/// Exact: the answer is that of [`safe`].
pub fn accepts(set: &MixedSet, jobs: u64) -> bool {
    accepts_unless(set, jobs, &mut None)
}

/// Some jobs of the tasks of a set, none of which may have the lowest priority.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// The number of jobs of each task.
    jobs: Vec<i64>,
    /// `f(m)` for these jobs.
    length: Vec<i64>,
}

/// [`accepts`] for a set that differs from the previous one by another last task, or by more tasks
/// at the end. The jobs in `stuck` are tested first, and replaced by the jobs that are stuck now.
///
/// Three properties make most answers fast.
///
/// 1. *Fewer jobs are easier.* If some jobs have no order, the jobs of the busy period have none,
///    and its length need not be computed. Jobs that were stuck beside one task are usually stuck
///    beside the next one, too.
/// 2. *More jobs do not matter.* A bound replaces a busy period that does not end in a few steps.
///    With `U` the utilization of level `m` and above, `b >= (closed + sum of C_i(m)) / (1 - U)` is
///    not below `B(m)`, and its right side is not above it. A job that is released at `B(z_i)` or
///    later is due beyond `f(z_i) <= B(z_i)`, so it gets its priority at once, and only the jobs of
///    the busy period remain. This requires that the jobs released in `b` do not exceed the limit.
///    Then every set that AMC-RT accepts is accepted.
/// 3. Otherwise the busy period is followed to its end, which is late for a CPU whose levels are
///    nearly full.
pub fn accepts_unless(set: &MixedSet, jobs: u64, stuck: &mut Option<Stuck>) -> bool {
    if (0..set.levels()).any(|m| is_full(set, m)) {
        return false;
    }
    let most = i64::try_from(jobs.min(u32::MAX.into())).expect("it fits");
    if always_has_an_order(set) {
        let ends = || matches!(pattern(set, most, u64::MAX), Busy::Ends(..));
        return UnorderedJobs::enclosing(set, most).is_some() || ends();
    }
    if let Some(mut left) = stuck.as_ref().and_then(|stuck| UnorderedJobs::of_stuck(set, stuck))
        && left.find_an_order() != Ok(true)
    {
        *stuck = Some(left.stuck());
        return false;
    }
    let mut left = match pattern(set, most, SHORT) {
        Busy::Ends(busy, counts) => UnorderedJobs::new(set, busy, counts),
        Busy::HasTooManyJobs => return false,
        Busy::IsLong => match UnorderedJobs::enclosing(set, most) {
            Some(_) if amc_rt::order(set).answer().is_yes() => return true,
            Some(enclosing) => enclosing,
            None => match pattern(set, most, u64::MAX) {
                Busy::Ends(busy, counts) => UnorderedJobs::new(set, busy, counts),
                Busy::HasTooManyJobs | Busy::IsLong => return false,
            },
        },
    };
    let accepted = left.find_an_order() == Ok(true);
    if !accepted {
        *stuck = Some(left.stuck());
    }
    accepted
}

/// The jobs that have no priority yet.
///
/// Let `t(m)` be a length that is not below `f(m)`, and not below its own right side. Every job
/// that is due at `t(m)` or later is removed. The right sides at `t(m)`, without these jobs, are
/// the next lengths: they are not below the next `f(m)`, and decrease. When none decreases any
/// more, the least fixed points replace those that were found from above. If they are equal, no
/// remaining job can have the lowest priority.
struct UnorderedJobs<'a> {
    set: &'a MixedSet,
    /// The tasks with remaining jobs, the highest level first.
    tasks: Vec<usize>,
    /// The number of remaining jobs of each task.
    jobs: Vec<i64>,
    /// `t(m)`.
    length: Vec<i64>,
}

impl<'a> UnorderedJobs<'a> {
    /// Starts with these numbers of jobs.
    fn new(set: &'a MixedSet, length: Vec<i64>, jobs: Vec<i64>) -> UnorderedJobs<'a> {
        let mut tasks: Vec<usize> = (0..set.len()).collect();
        tasks.sort_by_key(|&j| Reverse(set.level[j]));
        UnorderedJobs { set, tasks, jobs, length }
    }

    /// Starts with the jobs of each task that were stuck, and for a new task with the jobs of the
    /// longest of the intervals. Returns `None` if the set has fewer tasks.
    fn of_stuck(set: &'a MixedSet, stuck: &Stuck) -> Option<UnorderedJobs<'a>> {
        let stay = stuck.jobs.len() - 1;
        let longest = stuck.length.iter().copied().max()?;
        let new = set.over.get(stay..)?.iter().map(|period| period.ceil(longest));
        let jobs: Vec<i64> = stuck.jobs[..stay].iter().copied().chain(new).collect();
        // No interval is longer than the work of all jobs.
        let all = |m: usize| sum((0..set.len()).map(|j| work(jobs[j], set.c(m.min(set.z(j)))[j])));
        let length = (0..set.levels()).map(|m| all(m).max(1)).collect();
        Some(UnorderedJobs::new(set, length, jobs))
    }

    /// Returns the remaining jobs as stuck.
    fn stuck(self) -> Stuck {
        Stuck { jobs: self.jobs, length: self.length }
    }

    /// Returns the jobs of an interval that encloses the busy period, unless there are more than
    /// `most`.
    fn enclosing(set: &'a MixedSet, most: i64) -> Option<UnorderedJobs<'a>> {
        let mut length: Vec<i64> = Vec::with_capacity(set.levels());
        let mut closed = 0i64;
        for m in 0..set.levels() {
            let c = set.c(m);
            let (mut rate, mut each) = (0u128, closed);
            for j in (0..set.len()).filter(|&j| set.z(j) >= m) {
                rate = rate.saturating_add(set.over[j].rate_above(c[j]));
                each = each.saturating_add(c[j]);
            }
            let free = Period::ONE.checked_sub(rate).filter(|&free| free > 0)?;
            let b = i64::try_from(each as u128 * Period::ONE / free + 1).ok()?;
            if b > LONGEST {
                return None;
            }
            length.push(b);
            let of_level = (0..set.len()).filter(|&j| set.z(j) == m);
            closed = sum(of_level.map(|j| work(set.over[j].ceil(b), c[j])).chain([closed]));
        }
        let jobs: Vec<i64> = (0..set.len()).map(|j| set.over[j].ceil(length[set.z(j)])).collect();
        (sum(jobs.iter().copied()) <= most).then(|| UnorderedJobs::new(set, length, jobs))
    }

    /// Returns true if there are priorities for all jobs.
    fn find_an_order(&mut self) -> Result<bool, NoBound> {
        loop {
            let UnorderedJobs { set, tasks, jobs, length } = self;
            tasks.retain(|&i| {
                let late = length[set.z(i)] - set.deadline[i];
                // Keep the jobs that are due before the length.
                let kept = if late > 0 { set.over[i].ceil(late) } else { 0 };
                jobs[i] = jobs[i].min(kept);
                jobs[i] > 0
            });
            if tasks.is_empty() {
                return Ok(true);
            }
            if !self.falls() && !self.falls_to_the_least()? {
                return Ok(false);
            }
        }
    }

    /// Replaces the lengths by the right sides. Returns true if one is shorter.
    fn falls(&mut self) -> bool {
        let UnorderedJobs { set, tasks, jobs, length } = self;
        let (mut closed, mut falls) = (0i64, false);
        for (m, length) in length.iter_mut().enumerate() {
            let c = set.c(m);
            let (mut open, mut ends) = (0i64, 0i64);
            for &j in tasks.iter().take_while(|&&j| set.z(j) >= m) {
                let takes = work(set.over[j].ceil(*length).min(jobs[j]), c[j]);
                open = open.saturating_add(takes);
                // Levels above its own count its jobs up to here.
                ends = ends.saturating_add(if set.z(j) == m { takes } else { 0 });
            }
            let next = closed.saturating_add(open).max(1);
            falls |= next < *length;
            *length = next;
            closed = closed.saturating_add(ends);
        }
        falls
    }

    /// Replaces the lengths by the least fixed points. Returns true if one is shorter.
    fn falls_to_the_least(&mut self) -> Result<bool, NoBound> {
        let UnorderedJobs { set, tasks, jobs, length } = self;
        let count = |j: usize, f: i64| set.over[j].ceil(f).min(jobs[j]);
        let (mut closed, mut falls) = (0i64, false);
        for (m, length) in length.iter_mut().enumerate() {
            let c = set.c(m);
            let open = || tasks.iter().copied().take_while(|&j| set.z(j) >= m);
            let least = least(closed, *length, |f| {
                sum(open().map(|j| work(count(j, f), c[j]))).saturating_add(closed)
            });
            // A least fixed point exists, unless times exceed 64 bits or the search takes too many
            // steps.
            let least = least?;
            falls |= least < *length;
            *length = least;
            let ends = open().filter(|&j| set.z(j) == m);
            closed = sum(ends.map(|j| work(count(j, least), c[j])).chain([closed]));
        }
        Ok(falls)
    }
}

/// The number of steps for which the busy period is followed before its bound replaces it.
const SHORT: u64 = 64;

/// The busy period, as far as it is known.
enum Busy {
    /// `B(m)`, and the number of jobs of each task in it.
    Ends(Vec<i64>, Vec<i64>),
    /// It has more jobs than the limit, or is longer than the limit of times.
    HasTooManyJobs,
    /// It takes more steps than the limit.
    IsLong,
}

/// Follows the busy period for at most this number of steps, and until there are more than `most`
/// jobs.
fn pattern(set: &MixedSet, most: i64, mut steps: u64) -> Busy {
    let mut busy: Vec<i64> = Vec::new();
    let (mut closed, mut counted) = (0i64, 0i64);
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
                return Busy::HasTooManyJobs;
            }
            if right.max(1) == b {
                break;
            }
            if steps == 0 {
                return Busy::IsLong;
            }
            steps -= 1;
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
    Busy::Ends(busy, counts)
}

/// The test for jobs of tasks of level `from` and above.
pub(super) struct Delay<'a, R> {
    pub(super) set: &'a MixedSet,
    pub(super) known: &'a mut Lengths,
    /// Returns the release of the first job of a task.
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
