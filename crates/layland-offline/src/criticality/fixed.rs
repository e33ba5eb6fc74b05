//! Fixed task priorities with a cut-off (Huang et al. 2014, Sections 2.2 and 3.1, Eq. 2).
//!
//! ```text
//! R_i = C_i(z_i) + sum over j in H_i of ceil(R_i / T_j) C_j(z_i)
//! ```
//!
//! `H_i` are the tasks of higher priority. Eq. 2 is printed with `C_j(z_j)`; but the sentence
//! before it refers to the demand at confidence level `z_i`, without which criticality would have
//! no effect. A task of lower criticality that runs for longer than `C_j(z_j)` is cut off, so the
//! bounds hold for it, too.

use crate::criticality::audsley::{Test, Unordered, audsley, first_candidates, order_by};
use crate::criticality::steps::{Reached, climb, least, sum, work};
use crate::criticality::{
    Answer, Assignment, MixedSet, NoBound, criticality_monotonic, rate_monotonic,
};
use layland_model::{Duration, Index, TaskId, TaskMap};

/// Response times under a given priority order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Responses<R> {
    /// The tasks, highest priority first.
    pub order: Vec<TaskId>,
    /// The bound of each task.
    pub response: TaskMap<Result<R, NoBound>>,
}

impl<R> Responses<R> {
    /// Returns the answer: schedulable if every task has a bound.
    pub fn answer(&self) -> Answer {
        let failed = |why| self.response.values().any(|bound| bound.as_ref().err() == Some(&why));
        match () {
            () if failed(NoBound::Beyond) => Answer::NotSchedulable,
            () if failed(NoBound::GaveUp) => Answer::GaveUp,
            () => Answer::Schedulable,
        }
    }

    /// Runs `test(i, higher)` for each task, where `higher` are the tasks before it in the order.
    pub(crate) fn under(
        order: &[TaskId],
        mut test: impl FnMut(usize, &[usize]) -> Result<R, NoBound>,
    ) -> Responses<R> {
        let plain: Vec<usize> = order.iter().map(|task| task.0 as usize).collect();
        let mut response: Vec<_> = plain.iter().map(|_| Err(NoBound::Beyond)).collect();
        for (place, &i) in plain.iter().enumerate() {
            response[i] = test(i, &plain[..place]);
        }
        Responses { order: order.to_vec(), response: response.into() }
    }
}

/// Rate monotonic with a cut-off ("RM+SMC").
pub fn rms(set: &MixedSet) -> Responses<Duration> {
    under(set, &rate_monotonic(set))
}

/// Criticality monotonic with a cut-off ("CM+SMC").
pub fn cms(set: &MixedSet) -> Responses<Duration> {
    under(set, &criticality_monotonic(set))
}

/// Eq. 2 under the given priorities, highest first.
pub fn under(set: &MixedSet, order: &[TaskId]) -> Responses<Duration> {
    Responses::under(order, |i, higher| response(set, i, higher).map(Duration::from_ns))
}

/// FTP-SMC: Eq. 2 with the best priorities.
pub fn ftp_smc(set: &MixedSet) -> Assignment<Duration> {
    // `last` is the last bound of each level. The bound of a task below includes the previous
    // task's work and its own, so it is not less than the previous bound plus its own execution
    // time.
    let mut last = vec![0i64; set.levels()];
    let by_deadline = first_candidates(set, |i, higher| {
        let level = set.z(i);
        last[level] = response_from(set, i, higher, last[level])?;
        Ok(Duration::from_ns(last[level]))
    });
    by_deadline.unwrap_or_else(|| one_by_one(set))
}

/// Returns only the priorities of [`ftp_smc`], which takes a fraction of the time.
pub fn order(set: &MixedSet) -> Assignment<()> {
    order_by::<UnorderedTasks>(set)
}

/// The tasks that have no priority yet, and the known bounds on `f(l)` for each level.
///
/// A task that passes with the lowest priority has one job in its own bound `R_i <= D_i <= T_i`, so
/// the bound is `f(z_i)`, the least fixed point of the sum of `ceil(f / T_j) C_j(z_i)` over all
/// that have no priority yet, itself included. So one number per level serves all tests of a
/// priority.
pub(crate) struct UnorderedTasks {
    open: Vec<bool>,
    known: Vec<KnownBounds>,
}

/// `above < f(l) <= within`.
#[derive(Clone, Copy, Default)]
struct KnownBounds {
    above: i64,
    within: Option<i64>,
}

impl Unordered for UnorderedTasks {
    fn of(set: &MixedSet, open: Vec<bool>) -> UnorderedTasks {
        UnorderedTasks { open, known: vec![KnownBounds::default(); set.levels()] }
    }

    fn passes(&mut self, set: &MixedSet, i: usize) -> Test<()> {
        let UnorderedTasks { open, known } = self;
        let (c, deadline) = (set.c(set.z(i)), set.deadline[i]);
        let demand = |f: i64| {
            let each = (0..set.len()).filter(|&j| open[j]);
            sum(each.map(|j| work(set.over[j].ceil(f), c[j])))
        };
        let known = &mut known[set.z(i)];
        if known.within.is_some_and(|within| within <= deadline) {
            return Test::Passes(());
        }
        if known.above >= deadline {
            return Test::Fails;
        }
        let most = demand(deadline);
        if most <= deadline {
            known.within = Some(most);
            return Test::Passes(());
        }
        match climb(known.above.saturating_add(1), deadline, demand) {
            Ok(Reached::At(found)) => {
                *known = KnownBounds { above: found - 1, within: Some(found) };
                Test::Passes(())
            }
            Ok(Reached::Beyond(reached)) => {
                known.above = reached - 1;
                Test::Fails
            }
            Err(_) => Test::GaveUp,
        }
    }

    fn remove(&mut self, set: &MixedSet, i: usize) {
        self.open[i] = false;
        for (level, known) in self.known.iter_mut().enumerate() {
            known.above = 0;
            // At the sufficient length, the right side is less by all the work of the task.
            known.within =
                known.within.map(|f| (f - work(set.over[i].ceil(f), set.c(level)[i])).max(1));
        }
    }
}

/// Returns true if Eq. 2 holds for every task under the given priorities, highest first. Gives the
/// answer of [`under`], but tests from the lowest priority upwards until one task fails.
pub fn accepts(set: &MixedSet, order: &[TaskId]) -> bool {
    let plain: Vec<usize> = order.iter().map(|task| task.index()).collect();
    (0..plain.len()).rev().all(|place| {
        let i = plain[place];
        let (c, deadline) = (set.c(set.z(i)), set.deadline[i]);
        let demand = |r: i64| sum(plain[..=place].iter().map(|&j| work(set.over[j].ceil(r), c[j])));
        // The task has one job up to its deadline. If some length up to there suffices, so does the
        // least one.
        demand(deadline) <= deadline || response(set, i, &plain[..place]).is_ok()
    })
}

/// The search, from the lowest priority upwards.
fn one_by_one(set: &MixedSet) -> Assignment<Duration> {
    audsley(set, |i, higher| Test::from(response(set, i, higher).map(Duration::from_ns)))
}

/// Returns `R_i` for these tasks of higher priority.
fn response(set: &MixedSet, i: usize, higher: &[usize]) -> Result<i64, NoBound> {
    response_from(set, i, higher, 0)
}

/// Returns `R_i`, which must be at least `known` plus `C_i`.
fn response_from(set: &MixedSet, i: usize, higher: &[usize], known: i64) -> Result<i64, NoBound> {
    let c = set.c(set.z(i));
    least(known.saturating_add(c[i]), set.deadline[i], |r| {
        let interference = sum(higher.iter().map(|&j| work(set.over[j].ceil(r), c[j])));
        interference.saturating_add(c[i])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        static SEEN: Cell<[u32; 2]> = const { Cell::new([0; 2]) };
    }

    #[test]
    fn the_guess_by_deadlines_changes_nothing() {
        let task = (5i64..60, 0i64..10, 0u8..3, 1i64..5, 0i64..3);
        let sets = prop::collection::vec(task, 1..10);
        let check = |tasks: Vec<(i64, i64, u8, i64, i64)>| {
            let wcet = |level: u8, c: i64, more: i64| -> Vec<i64> {
                (0..3).map(|l| c + more * i64::from(level.min(l))).collect()
            };
            let wcets: Vec<Vec<i64>> = tasks.iter().map(|t| wcet(t.2, t.3, t.4)).collect();
            let plain: Vec<(i64, i64, u8, &[i64])> = (tasks.iter().zip(&wcets))
                .map(|(t, wcet)| (t.0, (t.0 - t.1).max(1), t.2, wcet.as_slice()))
                .collect();
            let set = MixedSet::from_ns(3, &plain).expect("it is valid");
            let guess = first_candidates(&set, |i, higher| response(&set, i, higher));
            let mut seen = SEEN.get();
            seen[usize::from(guess.is_some())] += 1;
            SEEN.set(seen);
            prop_assert_eq!(ftp_smc(&set), one_by_one(&set));
            Ok(())
        };
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        runner.run(&sets, check).unwrap();
        let [without, with] = SEEN.get();
        assert!(with > 20 && without > 20, "{with} were in the order of deadlines, {without} not");
    }

    #[test]
    fn a_search_starts_where_the_last_one_ended() {
        // 200 tasks with one period: starting at C_i, each bound needs a pass over all tasks.
        let plain: Vec<(i64, i64, u8, &[i64])> =
            (0..200).map(|_| (1_000, 1_000, 0, [4].as_slice())).collect();
        let set = MixedSet::from_ns(1, &plain).expect("it is valid");
        let mut order: Vec<usize> = (0..200).collect();
        order.reverse();
        let known = response(&set, order[198], &order[..198]).unwrap();
        assert_eq!(known + 4, response_from(&set, order[199], &order[..199], known).unwrap());
    }
}
