//! Sets that grow by one task at a time, as on a CPU on which a heuristic places tasks: whether an
//! analysis accepts one more, without analysing those that are there again.
//!
//! An analysis of `k` tasks takes `k^2` terms, and a heuristic asks for every task. Most answers
//! here take `k`.
//!
//! **Lengths that suffice.** Under given priorities the analyses compute, for each task `i` and
//! for levels `m`, the least `t(m)` with
//!
//! ```text
//! t(m) = sum over j of equal or higher priority of work_j(m, t)
//! ```
//!
//! where no `work_j` decreases with any length. Lengths whose sums do not exceed them are not below
//! the least ones, so within the limit of the task they prove it. A further task of higher
//! priority adds its own term to each sum. As long as no sum exceeds its length, the task stays proven;
//! otherwise its least lengths are computed, and longer ones with room for more tasks are chosen.
//!
//! **A stuck subset.** If no task of a subset passes with the lowest priority among them, no order of
//! a larger set is accepted either: of these tasks one is the lowest in any order, and has at least
//! the others above it. The tasks that stopped one assignment usually stop the next one, too.
//!
//! Answers are those of the whole analyses, unless these give up.

use crate::criticality::audsley::{Assignment, Test, Unordered};
use crate::criticality::period_transformation::Cut;
use crate::criticality::steps::{Reached, climb, sum, work};
use crate::criticality::{MixedSet, amc_rt, criticality_monotonic, fixed, rate_monotonic};
use layland_model::{Index, TaskId};
use smallvec::SmallVec;

/// An analysis, in the form that the header has.
pub trait Analysis: Clone {
    /// Prepares for a set. Returns false if this changes the terms of tasks that were there.
    fn prepare(&mut self, set: &MixedSet) -> bool;

    /// Returns the first of the levels `m` up to the level of a task that have a length.
    fn first_level(&self, set: &MixedSet, i: usize) -> usize;

    /// The longest length that proves a task.
    fn limit(&self, set: &MixedSet, i: usize) -> i64;

    /// `work_j(m, t)`.
    fn work(&self, set: &MixedSet, j: usize, m: usize, length: impl Fn(usize) -> i64) -> i64;

    /// Returns the priorities under which it analyses the set.
    fn priorities(&self, set: &MixedSet) -> Priorities;
}

/// The priorities under which a set is analysed.
pub enum Priorities {
    /// These, highest first.
    Given(Vec<TaskId>),
    /// The best ones.
    Best {
        /// Finds them.
        assign: fn(&MixedSet) -> Assignment<()>,
        /// Returns true if none of these tasks passes with the lowest priority among them.
        is_stuck: fn(&MixedSet, Vec<bool>) -> bool,
    },
}

fn indices(order: &[TaskId]) -> Vec<usize> {
    order.iter().map(|task| task.index()).collect()
}

/// Returns true if none of these tasks passes, by the tests for the lowest priority.
fn none_passes<U: Unordered>(set: &MixedSet, among: Vec<bool>) -> bool {
    let mut left = U::of(set, among.clone());
    (0..set.len()).filter(|&i| among[i]).all(|i| matches!(left.passes(set, i), Test::Fails))
}

/// Eq. 2, as in [`fixed`].
#[derive(Clone)]
pub struct CutOff(CutOffPriorities);

#[derive(Clone, Copy)]
enum CutOffPriorities {
    Best,
    RateMonotonic,
    CriticalityMonotonic,
}

impl CutOff {
    /// With the best priorities.
    pub fn best() -> CutOff {
        CutOff(CutOffPriorities::Best)
    }
    /// Rate monotonic.
    pub fn rate_monotonic() -> CutOff {
        CutOff(CutOffPriorities::RateMonotonic)
    }
    /// Criticality monotonic.
    pub fn criticality_monotonic() -> CutOff {
        CutOff(CutOffPriorities::CriticalityMonotonic)
    }
}

impl Analysis for CutOff {
    fn prepare(&mut self, _: &MixedSet) -> bool {
        true
    }
    fn first_level(&self, set: &MixedSet, i: usize) -> usize {
        set.z(i)
    }
    fn limit(&self, set: &MixedSet, i: usize) -> i64 {
        set.deadline[i]
    }
    #[inline]
    fn work(&self, set: &MixedSet, j: usize, m: usize, length: impl Fn(usize) -> i64) -> i64 {
        work(set.over[j].ceil(length(m)), set.c(m)[j])
    }
    fn priorities(&self, set: &MixedSet) -> Priorities {
        match self.0 {
            CutOffPriorities::Best => Priorities::Best {
                assign: fixed::order,
                is_stuck: none_passes::<fixed::UnorderedTasks>,
            },
            CutOffPriorities::RateMonotonic => Priorities::Given(rate_monotonic(set)),
            CutOffPriorities::CriticalityMonotonic => Priorities::Given(criticality_monotonic(set)),
        }
    }
}

/// AMC-RT, as in [`amc_rt`].
#[derive(Clone)]
pub struct Adaptive;

impl Analysis for Adaptive {
    fn prepare(&mut self, _: &MixedSet) -> bool {
        true
    }
    fn first_level(&self, _: &MixedSet, _: usize) -> usize {
        0
    }
    fn limit(&self, set: &MixedSet, i: usize) -> i64 {
        set.deadline[i]
    }
    #[inline]
    fn work(&self, set: &MixedSet, j: usize, m: usize, length: impl Fn(usize) -> i64) -> i64 {
        let m = m.min(set.z(j));
        work(set.over[j].ceil(length(m)), set.c(m)[j])
    }
    fn priorities(&self, _: &MixedSet) -> Priorities {
        Priorities::Best { assign: amc_rt::order, is_stuck: none_passes::<amc_rt::UnorderedTasks> }
    }
}

impl Analysis for Cut {
    fn prepare(&mut self, set: &MixedSet) -> bool {
        let before = std::mem::replace(self, Cut::of(set));
        self.extends(&before)
    }
    fn first_level(&self, set: &MixedSet, i: usize) -> usize {
        set.z(i)
    }
    fn limit(&self, set: &MixedSet, i: usize) -> i64 {
        self.segment(set, i)
    }
    #[inline]
    fn work(&self, set: &MixedSet, j: usize, m: usize, length: impl Fn(usize) -> i64) -> i64 {
        self.demand(set, j, m, length(m))
    }
    fn priorities(&self, set: &MixedSet) -> Priorities {
        Priorities::Given(self.order(set).into_iter().map(TaskId::from_index).collect())
    }
}

/// A set that grows, whatever the analysis.
pub trait Grows {
    /// Returns true if the analysis accepts the set, in which the last task is new and the others
    /// are there, in the order in which they came.
    fn accepts(&mut self, set: &MixedSet) -> bool;

    /// Adds the task that was asked for last.
    fn put(&mut self);

    /// Forgets what is known of the tasks: others are there.
    fn forget(&mut self);
}

/// Tasks that an analysis accepts, and whether it would accept one more.
pub struct Growing<A> {
    analysis: A,
    /// The tasks that are there, if they are proven.
    proof: Option<Proof>,
    /// Those together with the task that was asked for last, if it was accepted.
    next: Option<(A, Proof)>,
    /// Tasks that are there, and with which a new one could have no priorities; or the one that
    /// would have missed its limit under given priorities, where a number beyond them is the new task.
    refusal: Vec<usize>,
}

/// Priorities, with lengths that suffice.
#[derive(Clone)]
struct Proof {
    /// The tasks, highest priority first.
    order: Vec<usize>,
    rows: Vec<Rows>,
}

/// The lengths of a task from its first level on, with the sums of work at them.
#[derive(Clone, Default)]
struct Rows(SmallVec<[(i64, i64); 2]>);

impl Rows {
    fn hold(&self) -> bool {
        self.0.iter().all(|&(length, work)| work <= length)
    }
}

impl<A: Analysis> Grows for Growing<A> {
    fn accepts(&mut self, set: &MixedSet) -> bool {
        let mut analysis = self.analysis.clone();
        let same = analysis.prepare(set);
        self.next = None;
        let found = match analysis.priorities(set) {
            Priorities::Given(order) => self.under(&analysis, set, &indices(&order), same),
            Priorities::Best { assign, is_stuck } => {
                self.with_best(&analysis, set, assign, is_stuck)
            }
        };
        let accepted = found.is_some();
        self.next = found.map(|proof| (analysis, proof));
        accepted
    }

    fn put(&mut self) {
        match self.next.take() {
            Some((analysis, proof)) => {
                self.analysis = analysis;
                self.proof = Some(proof);
            }
            None => self.proof = None,
        }
    }

    fn forget(&mut self) {
        (self.proof, self.next) = (None, None);
        self.refusal.clear();
    }
}

impl<A: Analysis> Growing<A> {
    /// No tasks.
    pub fn new(analysis: A) -> Growing<A> {
        let none = Proof { order: Vec::new(), rows: Vec::new() };
        Growing { analysis, proof: Some(none), next: None, refusal: Vec::new() }
    }

    /// Under given priorities.
    fn under(
        &mut self,
        analysis: &A,
        set: &MixedSet,
        order: &[usize],
        same: bool,
    ) -> Option<Proof> {
        let new = set.len() - 1;
        let proof = self.proof.as_ref().filter(|proof| same && proof.order.len() == new);
        let mut place_of = vec![0; set.len()];
        order.iter().enumerate().for_each(|(place, &i)| place_of[i] = place);
        // A number beyond the tasks is that of the new one, whose own number rises.
        if let Some(&suspect) = self.refusal.first() {
            let i = suspect.min(new);
            rows(analysis, set, i, &order[..=place_of[i]])?;
        }
        let mut next = match proof {
            Some(proof) => proof.clone(),
            None => Proof { order: Vec::new(), rows: vec![Rows::default(); new] },
        };
        let kept = proof.is_some();
        next.rows.push(Rows::default());
        // The lowest ones have the most work ahead of them.
        for (place, &i) in order.iter().enumerate().rev() {
            if kept
                && i != new
                && (place < place_of[new] || add(analysis, set, &mut next.rows[i], i, new))
            {
                continue;
            }
            let Some(found) = rows(analysis, set, i, &order[..=place]) else {
                self.refusal = vec![if i == new { usize::MAX } else { i }];
                return None;
            };
            next.rows[i] = found;
        }
        next.order = order.to_vec();
        Some(next)
    }

    /// With the best priorities.
    fn with_best(
        &mut self,
        analysis: &A,
        set: &MixedSet,
        assign: fn(&MixedSet) -> Assignment<()>,
        is_stuck: fn(&MixedSet, Vec<bool>) -> bool,
    ) -> Option<Proof> {
        let new = set.len() - 1;
        if let Some(proof) = self.proof.as_ref().filter(|proof| proof.order.len() == new) {
            if !self.refusal.is_empty() {
                let mut among = vec![false; set.len()];
                self.refusal.iter().for_each(|&i| among[i] = true);
                among[new] = true;
                if is_stuck(set, among) {
                    return None;
                }
            }
            if let Some(next) = proof.with(analysis, set) {
                return Some(next);
            }
        }
        match assign(set) {
            Assignment::Found(assigned) => {
                let order = indices(&assigned.order);
                let mut rows_of = vec![Rows::default(); set.len()];
                for (place, &i) in order.iter().enumerate() {
                    // It exists, but a search for it can give up. Then nothing is kept of the task, and it is tried
                    // again with the next one.
                    rows_of[i] =
                        rows(analysis, set, i, &order[..=place]).unwrap_or_else(Rows::unknown);
                }
                Some(Proof { order, rows: rows_of })
            }
            Assignment::NoneCanBeLowest(left) => {
                let left = left.iter().map(|task| task.index());
                self.refusal = left.filter(|&i| i != new).collect();
                None
            }
            Assignment::GaveUp(_) => None,
        }
    }
}

impl Rows {
    /// Rows that never hold.
    fn unknown() -> Rows {
        Rows([(0, 1)].into_iter().collect())
    }
}

impl Proof {
    /// Returns the proof with a new task somewhere in the order; `None` says nothing of other orders.
    fn with<A: Analysis>(&self, analysis: &A, set: &MixedSet) -> Option<Proof> {
        let new = set.len() - 1;
        let (place, found) = self.place(analysis, set)?;
        let mut next = self.clone();
        next.order.insert(place, new);
        next.rows.push(found);
        for at in place + 1..next.order.len() {
            let i = next.order[at];
            if !add(analysis, set, &mut next.rows[i], i, new) {
                next.rows[i] = rows(analysis, set, i, &next.order[..=at])?;
            }
        }
        Some(next)
    }

    /// Returns a place for a new task at which it passes: by its deadline, as the assignment tries
    /// tasks; else as low as possible, where it delays the fewest others.
    fn place<A: Analysis>(&self, analysis: &A, set: &MixedSet) -> Option<(usize, Rows)> {
        let new = set.len() - 1;
        let below = |place: usize| {
            let mut tasks = self.order[..place].to_vec();
            tasks.push(new);
            rows(analysis, set, new, &tasks)
        };
        let sooner = self.order.iter().rposition(|&i| set.deadline[i] <= set.deadline[new]);
        let by_deadline = sooner.map_or(0, |last| last + 1);
        if let Some(rows) = below(by_deadline) {
            return Some((by_deadline, rows));
        }
        let (mut found, mut from, mut fails) = (None, 0, by_deadline);
        while from < fails {
            let middle = from + (fails - from) / 2;
            match below(middle) {
                Some(rows) => (found, from) = (Some((middle, rows)), middle + 1),
                None => fails = middle,
            }
        }
        found
    }
}

/// Adds the work of a new task above task `i`. Returns true if its lengths still suffice.
fn add<A: Analysis>(analysis: &A, set: &MixedSet, rows: &mut Rows, i: usize, new: usize) -> bool {
    let first = analysis.first_level(set, i);
    for at in 0..rows.0.len() {
        let more = analysis.work(set, new, first + at, |m| rows.0[m - first].0);
        rows.0[at].1 = rows.0[at].1.saturating_add(more);
    }
    rows.hold()
}

/// Returns lengths that suffice for the last of these tasks, below the others, if there are any
/// within its limit.
fn rows<A: Analysis>(analysis: &A, set: &MixedSet, i: usize, tasks: &[usize]) -> Option<Rows> {
    let (first, limit) = (analysis.first_level(set, i), analysis.limit(set, i));
    let total = |m: usize, length: &dyn Fn(usize) -> i64| {
        sum(tasks.iter().map(|&j| analysis.work(set, j, m, length)))
    };
    // With the limit at all levels no search is needed, and the room is largest.
    let at = |lengths: &[i64]| -> Rows {
        let each = lengths.iter().enumerate();
        Rows(each.map(|(at, &l)| (l, total(first + at, &|m| lengths[m - first]))).collect())
    };
    let levels = set.z(i) + 1 - first;
    if limit < 1 {
        return None;
    }
    let widest = at(&vec![limit; levels]);
    if widest.hold() {
        return Some(widest);
    }
    let mut least: Vec<i64> = Vec::with_capacity(levels);
    for m in first..first + levels {
        let from = least.last().copied().unwrap_or(1);
        let length = |t: i64| {
            let least = &least;
            move |level: usize| if level == m { t } else { least[level - first] }
        };
        match climb(from, limit, |t| total(m, &length(t))) {
            Ok(Reached::At(found)) => least.push(found),
            Ok(Reached::Beyond(_)) | Err(_) => return None,
        }
    }
    // Longer ones, by a part of what is left, have room if the work rises more slowly than they do.
    let room = |rows: &Rows| rows.0.iter().map(|&(length, work)| length - work).min();
    let longer = [2, 4, 8, 16].map(|part| {
        let each = least.iter().map(|&found| found + (limit - found) / part);
        at(&each.collect::<Vec<i64>>())
    });
    let exact = at(&least);
    longer.into_iter().filter(Rows::hold).max_by_key(room).or(Some(exact))
}

#[cfg(test)]
mod tests;
