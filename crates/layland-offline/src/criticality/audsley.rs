//! Optimal priority assignment (Audsley), from the lowest priority upwards.
//!
//! Candidates are tried in a fixed order: longer deadline, then lower criticality, then lower rank.
//! The first candidate that passes with all other unassigned tasks above it gets the priority. The
//! verdict does not depend on this order if the test depends only on the set of tasks of higher
//! priority, and passes again if there are fewer. The priorities do depend on it. There are at most
//! `n (n + 1) / 2` tests.

use crate::criticality::{Answer, MixedSet, NoBound};
use layland_model::{TaskId, TaskMap};
use std::cmp::Reverse;

/// Working priorities, with the result of the test for each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assigned<R> {
    /// The tasks, highest priority first.
    pub order: Vec<TaskId>,
    /// The bound on the response time of each task: one, or one per level up to its own.
    pub response: TaskMap<R>,
}

/// The result of the search for priorities.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment<R> {
    /// Working priorities.
    Found(Assigned<R>),
    /// None of these tasks, ascending, can have the lowest priority among them.
    NoneCanBeLowest(Vec<TaskId>),
    /// None of these tasks was shown to be able to have the lowest priority among them, and for
    /// some the test gave up.
    GaveUp(Vec<TaskId>),
}

impl<R> Assignment<R> {
    /// Returns whether the set is schedulable.
    pub fn answer(&self) -> Answer {
        match self {
            Assignment::Found(_) => Answer::Schedulable,
            Assignment::NoneCanBeLowest(_) => Answer::NotSchedulable,
            Assignment::GaveUp(_) => Answer::GaveUp,
        }
    }
    /// Returns the working priorities.
    pub fn found(self) -> Option<Assigned<R>> {
        match self {
            Assignment::Found(assigned) => Some(assigned),
            Assignment::NoneCanBeLowest(_) | Assignment::GaveUp(_) => None,
        }
    }
}

/// The result of the test of one task against those of higher priority.
pub(crate) enum Test<R> {
    Passes(R),
    Fails,
    GaveUp,
}

impl<R> From<Result<R, NoBound>> for Test<R> {
    fn from(bound: Result<R, NoBound>) -> Test<R> {
        match bound {
            Ok(found) => Test::Passes(found),
            Err(NoBound::Beyond) => Test::Fails,
            Err(NoBound::GaveUp) => Test::GaveUp,
        }
    }
}

/// Returns the tasks in the order in which they are tried.
fn candidates(set: &MixedSet) -> Vec<usize> {
    let mut candidates: Vec<usize> = (0..set.len()).collect();
    candidates.sort_by_key(|&i| (Reverse(set.deadline[i]), set.level[i], set.rank[i]));
    candidates
}

/// Returns the assignment in which every first candidate passes, if it exists. The result is that
/// of [`audsley`], but the tests can run from the highest priority downwards, where each test
/// starts from the result of the previous one. `test(i, higher)` is called in the order of
/// priorities.
pub(crate) fn first_candidates<R>(
    set: &MixedSet,
    mut test: impl FnMut(usize, &[usize]) -> Result<R, NoBound>,
) -> Option<Assignment<R>> {
    let mut order = candidates(set);
    order.reverse();
    let mut response: Vec<Option<R>> = (0..set.len()).map(|_| None).collect();
    for (place, &i) in order.iter().enumerate() {
        response[i] = Some(test(i, &order[..place]).ok()?);
    }
    let order = order.into_iter().map(|i| TaskId(i as u32)).collect();
    let response: Vec<R> = response.into_iter().flatten().collect();
    Some(Assignment::Found(Assigned { order, response: response.into() }))
}

/// Runs the assignment with `test(i, higher)`; `higher` is in no particular order.
pub(crate) fn audsley<R>(
    set: &MixedSet,
    mut test: impl FnMut(usize, &[usize]) -> Test<R>,
) -> Assignment<R> {
    let mut higher = Vec::with_capacity(set.len());
    let above = |higher: &mut Vec<usize>, i: usize, left: &[usize]| {
        higher.clear();
        higher.extend(left.iter().copied().filter(|&j| j != i));
        test(i, higher)
    };
    audsley_with(set, &mut higher, above, |_, _| ())
}

/// The tasks that have no priority yet, of an analysis that tests them for the lowest one.
pub(crate) trait Unordered {
    /// Those that are marked.
    fn of(set: &MixedSet, open: Vec<bool>) -> Self;

    /// Tests whether a task passes with the lowest priority among them.
    fn passes(&mut self, set: &MixedSet, i: usize) -> Test<()>;

    /// Removes a task that has received the priority.
    fn remove(&mut self, set: &MixedSet, i: usize);
}

/// Returns priorities for all tasks.
pub(crate) fn order_by<U: Unordered>(set: &MixedSet) -> Assignment<()> {
    let mut left = U::of(set, vec![true; set.len()]);
    let test = |left: &mut U, i: usize, _: &[usize]| left.passes(set, i);
    audsley_with(set, &mut left, test, |left, i| left.remove(set, i))
}

/// [`audsley`] with a state that the tests share. `test(state, i, left)` receives all tasks without
/// a priority, including `i`. `placed(state, i)` reports that task `i` has received the priority,
/// and so is not above any of the later ones.
pub(crate) fn audsley_with<S, R>(
    set: &MixedSet,
    state: &mut S,
    mut test: impl FnMut(&mut S, usize, &[usize]) -> Test<R>,
    mut placed: impl FnMut(&mut S, usize),
) -> Assignment<R> {
    let mut candidates = candidates(set);
    let mut low_to_high = Vec::with_capacity(set.len());
    let mut response: Vec<Option<R>> = (0..set.len()).map(|_| None).collect();
    while !candidates.is_empty() {
        let mut gave_up = false;
        let lowest = candidates.iter().position(|&i| match test(state, i, &candidates) {
            Test::Passes(found) => {
                response[i] = Some(found);
                true
            }
            Test::Fails => false,
            Test::GaveUp => {
                gave_up = true;
                false
            }
        });
        let Some(lowest) = lowest else {
            let mut left: Vec<TaskId> = candidates.iter().map(|&i| TaskId(i as u32)).collect();
            left.sort();
            return if gave_up {
                Assignment::GaveUp(left)
            } else {
                Assignment::NoneCanBeLowest(left)
            };
        };
        let lowest = candidates.remove(lowest);
        placed(state, lowest);
        low_to_high.push(TaskId(lowest as u32));
    }
    low_to_high.reverse();
    let response: Vec<R> = response.into_iter().flatten().collect();
    Assignment::Found(Assigned { order: low_to_high, response: response.into() })
}
