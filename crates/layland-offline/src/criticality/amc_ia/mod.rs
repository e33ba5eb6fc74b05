//! AMC-IA, the paper's improved analysis of AMC (Huang et al. 2014, Section 3.1), and a corrected
//! version.
//!
//! Both examine every sequence of instants `s_1 <= s_2 <= ..` at which the indicator may rise,
//! `s_l` from level `l - 1` to `l`, and take the largest response time at each level, by a
//! depth-first search over the levels. They differ in the instants that they examine and in how
//! they count jobs; see `paper.rs` and `safe.rs`.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `s_l` | `s[l]` | the change from level `l - 1` to `l`; `s[0] = 0` |
//! | `R(l)` | `r[l]` | the response time at level `l`, after the changes chosen so far |
//! | `H_i` | `higher` | the tasks of higher priority |
//!
//! The search takes up to `P^(N-1)` fixed points, where `P` is about the number of jobs in `R`. A
//! limit bounds the search; if it reaches the limit, the analysis gives up.

mod paper;
mod safe;

use crate::criticality::amc_rt;
use crate::criticality::audsley::{Test, Unordered, audsley, audsley_with};
use crate::criticality::fixed::Responses;
use crate::criticality::steps::{Effort, Period, Recurrent, arriving, least, sum};
use crate::criticality::{Assignment, MixedSet, NoBound};
use layland_model::{Duration, TaskId};
use paper::Paper;
use safe::Safe;

/// The default for the maximum number of fixed points that one analysis of a set computes.
pub const FIXED_POINTS: u64 = 20_000_000;

/// The paper's analysis with the best priorities. Not sound.
///
/// ```
/// use layland_offline::criticality::{MixedSet, amc_ia, amc_max, amc_rt};
/// use layland_model::Duration;
/// // The worked example of Section 3.1: the third task is delayed for at most 58.
/// let set = MixedSet::from_ns(2, &[
///     (2, 2, 0, &[1, 1]), (10, 10, 1, &[1, 5]), (100, 100, 1, &[20, 20]),
/// ])?;
/// let third = |found: layland_offline::criticality::Assignment<Vec<Duration>>| {
///     found.found().unwrap().response.values().last().unwrap().clone()
/// };
/// let ns = |bounds: [i64; 2]| bounds.map(Duration::from_ns).to_vec();
/// assert_eq!(third(amc_ia::paper(&set, amc_ia::FIXED_POINTS)), ns([50, 58]));
/// assert_eq!(third(amc_ia::safe(&set, amc_ia::FIXED_POINTS)), ns([50, 64]));
/// assert_eq!(third(amc_max::amc_max(&set)?), ns([50, 64]));
/// assert_eq!(third(amc_rt::amc_rt(&set)), ns([50, 90]));
/// # Ok::<(), layland_offline::criticality::MixedError>(())
/// ```
pub fn paper(set: &MixedSet, fixed_points: u64) -> Assignment<Vec<Duration>> {
    assign::<Paper>(set, fixed_points)
}

/// The corrected analysis with the best priorities: returns `R_i(0), .., R_i(z_i)` of each task.
/// Sound.
pub fn safe(set: &MixedSet, fixed_points: u64) -> Assignment<Vec<Duration>> {
    assign::<Safe>(set, fixed_points)
}

/// Returns only the priorities of [`paper`], which takes less time: a task that passes AMC-RT is
/// not examined further.
pub fn paper_order(set: &MixedSet, fixed_points: u64) -> Assignment<()> {
    assign_order::<Paper>(set, fixed_points)
}

/// Returns only the priorities of [`safe`], which takes a fraction of the time: a task that passes
/// AMC-RT is not examined further.
pub fn safe_order(set: &MixedSet, fixed_points: u64) -> Assignment<()> {
    assign_order::<Safe>(set, fixed_points)
}

/// The paper's analysis under the given priorities, highest first. Not sound.
pub fn paper_under(
    set: &MixedSet,
    order: &[TaskId],
    fixed_points: u64,
) -> Responses<Vec<Duration>> {
    under::<Paper>(set, order, fixed_points)
}

/// The corrected analysis under the given priorities, highest first.
pub fn safe_under(set: &MixedSet, order: &[TaskId], fixed_points: u64) -> Responses<Vec<Duration>> {
    under::<Safe>(set, order, fixed_points)
}

fn assign<C: Count>(set: &MixedSet, fixed_points: u64) -> Assignment<Vec<Duration>> {
    let mut effort = Effort::new(fixed_points);
    audsley(set, |i, higher| Test::from(responses::<C>(set, i, higher, &mut effort)))
}

fn assign_order<C: Count>(set: &MixedSet, fixed_points: u64) -> Assignment<()> {
    let mut effort = Effort::new(fixed_points);
    let mut left = amc_rt::UnorderedTasks::all(set);
    let test =
        |left: &mut amc_rt::UnorderedTasks, i: usize, all: &[usize]| match left.passes(set, i) {
            Test::Passes(()) => Test::Passes(()),
            Test::Fails | Test::GaveUp => {
                let higher: Vec<usize> = all.iter().copied().filter(|&j| j != i).collect();
                let higher = higher.as_slice();
                Test::from(responses::<C>(set, i, higher, &mut effort).map(|_| ()))
            }
        };
    audsley_with(set, &mut left, test, |left, i| left.remove(set, i))
}

fn under<C: Count>(
    set: &MixedSet,
    order: &[TaskId],
    fixed_points: u64,
) -> Responses<Vec<Duration>> {
    let mut effort = Effort::new(fixed_points);
    Responses::under(order, |i, higher| responses::<C>(set, i, higher, &mut effort))
}

fn responses<C: Count>(
    set: &MixedSet,
    i: usize,
    higher: &[usize],
    effort: &mut Effort,
) -> Result<Vec<Duration>, NoBound> {
    let (own, z) = (set.c(0)[i], set.z(i));
    let open: Vec<Recurrent> = higher.iter().map(|&j| set.at_level(j, 0)).collect();
    let lowest = least(own, set.deadline[i], |r| arriving(&open, r).saturating_add(own))?;
    let mut search = ChangeSearch::<C> {
        set,
        i,
        higher: higher.iter().map(|&j| Interferer::new(set, j)).collect(),
        s: vec![0; z + 1],
        r: vec![lowest; z + 1],
        worst: vec![lowest; z + 1],
        open: (0..=z).map(|_| Vec::with_capacity(higher.len())).collect(),
        candidates: (0..=z).map(|_| Vec::new()).collect(),
        effort,
    };
    if z > 0 {
        search.level(1, 0)?;
    }
    Ok(search.worst.into_iter().map(Duration::from_ns).collect())
}

/// A task of higher priority.
struct Interferer {
    period: i64,
    over: Period,
    deadline: i64,
    level: usize,
    /// `C(0)`.
    base: i64,
    /// The levels `l` with `C(l - 1) < C(l)`, each with the increase: one for a task with two
    /// budgets.
    jumps: Vec<(usize, i64)>,
}

impl Interferer {
    fn new(set: &MixedSet, j: usize) -> Interferer {
        let grows = |l: usize| (l, set.c(l)[j] - set.c(l - 1)[j]);
        Interferer {
            period: set.period[j],
            over: set.over[j],
            deadline: set.deadline[j],
            level: set.z(j),
            base: set.c(0)[j],
            jumps: (1..=set.z(j)).map(grows).filter(|&(_, by)| by > 0).collect(),
        }
    }
}

/// The rules that select the changes to examine, and count jobs.
trait Count {
    /// The data of a task that is open at a level, before the length of the interval is known.
    type Open;
    /// Adds the instants to examine for the change to level `m`, given the previous ones and
    /// `R(m - 1)`, in no particular order.
    fn candidates(higher: &[Interferer], m: usize, s: &[i64], r: i64, found: &mut Vec<i64>);
    /// Returns the total demand of a task of level `m - 1`, after the change to level `m` at
    /// `s[m]`.
    fn closed(task: &Interferer, s: &[i64], r: i64) -> i64;
    /// Prepares a task of level `m` or above, after the change to level `m` at `s[m]`.
    fn open(task: &Interferer, m: usize, s: &[i64]) -> Self::Open;
    /// Returns its demand in an interval of length `t`.
    fn demand(open: &Self::Open, t: i64) -> i64;
}

struct ChangeSearch<'a, C: Count> {
    set: &'a MixedSet,
    i: usize,
    higher: Vec<Interferer>,
    s: Vec<i64>,
    r: Vec<i64>,
    /// The largest `R(m)` so far.
    worst: Vec<i64>,
    open: Vec<Vec<C::Open>>,
    candidates: Vec<Vec<i64>>,
    effort: &'a mut Effort,
}

impl<C: Count> ChangeSearch<'_, C> {
    /// Examines every change to level `m`, after `closed` demand of tasks below level `m - 1`.
    fn level(&mut self, m: usize, closed: i64) -> Result<(), NoBound> {
        let (last, deadline) = (self.set.z(self.i), self.set.deadline[self.i]);
        let mut candidates = std::mem::take(&mut self.candidates[m]);
        candidates.clear();
        C::candidates(&self.higher, m, &self.s, self.r[m - 1], &mut candidates);
        candidates.sort_unstable();
        candidates.dedup();
        for &s in &candidates {
            self.effort.spend()?;
            self.s[m] = s;
            let (r, now, after) = (self.r[m - 1], &self.s[..=m], m);
            let ends = self.higher.iter().filter(|task| task.level == m - 1);
            let closed = closed.saturating_add(sum(ends.map(|task| C::closed(task, now, r))));
            self.open[m].clear();
            let remain = self.higher.iter().filter(|task| task.level >= after);
            self.open[m].extend(remain.map(|task| C::open(task, m, now)));
            let constant = closed.saturating_add(self.set.c(m)[self.i]);
            let open = &self.open[m];
            let f =
                |t: i64| sum(open.iter().map(|task| C::demand(task, t))).saturating_add(constant);
            // If f does not exceed the worst value there, the least fixed point does not either, so
            // skip the search.
            if m == last && f(self.worst[m]) <= self.worst[m] {
                continue;
            }
            self.r[m] = least(constant, deadline, f)?;
            self.worst[m] = self.worst[m].max(self.r[m]);
            if m < last {
                self.level(m + 1, closed)?;
            }
        }
        self.candidates[m] = candidates;
        Ok(())
    }
}
