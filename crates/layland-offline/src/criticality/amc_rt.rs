//! AMC-RT: response times per criticality level (Huang et al. 2014, Section 2.3; after Baruah, Burns
//! and Davis 2011), for any number of levels. Sound.
//!
//! For `m = 0..z_i`:
//!
//! ```text
//! R_i(m) = C_i(m) + sum over j in H_i, z_j >= m of ceil(R_i(m) / T_j) C_j(m)
//!                 + sum over j in H_i, z_j <  m of ceil(R_i(z_j) / T_j) C_j(z_j)
//! ```
//!
//! A task of level `z_j < m` runs only while the indicator is at most `z_j`, which lasts at most
//! `R_i(z_j)` inside the busy interval of task `i`. `R_i(m)` never decreases with `m`.

use crate::criticality::audsley::{Test, Unordered, audsley, first_candidates, order_by};
use crate::criticality::fixed::Responses;
use crate::criticality::lengths::Lengths;
use crate::criticality::steps::{Recurrent, arriving, least, sum, work};
use crate::criticality::{Assignment, MixedSet, NoBound};
use layland_model::{Duration, TaskId};

/// AMC-RT with the best priorities: returns `R_i(0), .., R_i(z_i)` of each task.
pub fn amc_rt(set: &MixedSet) -> Assignment<Vec<Duration>> {
    let mut test = AmcRt::default();
    let by_deadline = first_candidates(set, |i, higher| test.responses(set, i, higher));
    by_deadline.unwrap_or_else(|| one_by_one(set))
}

/// The search, from the lowest priority upwards.
fn one_by_one(set: &MixedSet) -> Assignment<Vec<Duration>> {
    let mut test = AmcRt::default();
    audsley(set, |i, higher| Test::from(test.responses(set, i, higher)))
}

/// Returns only the priorities of [`amc_rt`], which takes a fraction of the time.
pub fn order(set: &MixedSet) -> Assignment<()> {
    order_by::<UnorderedTasks>(set)
}

/// The tasks that have no priority yet, and the bounds that one of them would have with the lowest
/// priority. `R_i(m)` is equal for every task that has this priority and passes, since it has one
/// job up to its deadline, as the others have `ceil(R / T_j)`.
pub(crate) struct UnorderedTasks {
    open: Vec<bool>,
    lengths: Lengths,
}

impl UnorderedTasks {
    pub(crate) fn all(set: &MixedSet) -> UnorderedTasks {
        UnorderedTasks::of(set, vec![true; set.len()])
    }
}

impl Unordered for UnorderedTasks {
    fn of(set: &MixedSet, open: Vec<bool>) -> UnorderedTasks {
        UnorderedTasks { open, lengths: Lengths::of(set.levels()) }
    }

    fn passes(&mut self, set: &MixedSet, i: usize) -> Test<()> {
        let UnorderedTasks { open, lengths } = self;
        let jobs = |j: usize, f: i64| if open[j] { set.over[j].ceil(f) } else { 0 };
        match lengths.within(set, (0, set.z(i)), set.deadline[i], jobs) {
            Ok(true) => Test::Passes(()),
            Ok(false) => Test::Fails,
            Err(_) => Test::GaveUp,
        }
    }

    fn remove(&mut self, set: &MixedSet, i: usize) {
        self.open[i] = false;
        self.lengths.without_task(set, i);
    }
}

/// AMC-RT under the given priorities, highest first.
pub fn under(set: &MixedSet, order: &[TaskId]) -> Responses<Vec<Duration>> {
    let mut test = AmcRt::default();
    Responses::under(order, |i, higher| test.responses(set, i, higher))
}

/// The test of one task after another; reuses its buffers.
#[derive(Default)]
struct AmcRt {
    /// The tasks of level `m` and above.
    open: Vec<Recurrent>,
    /// `R_i(0), R_i(1), ..`.
    found: Vec<i64>,
}

impl AmcRt {
    /// Returns `R_i(0), .., R_i(z_i)` below these tasks.
    fn responses(
        &mut self,
        set: &MixedSet,
        i: usize,
        higher: &[usize],
    ) -> Result<Vec<Duration>, NoBound> {
        self.found.clear();
        for m in 0..=set.z(i) {
            self.level(set, i, higher, m)?;
        }
        Ok(self.found.iter().copied().map(Duration::from_ns).collect())
    }

    /// Computes `R_i(m)` after those of the levels below.
    fn level(
        &mut self,
        set: &MixedSet,
        i: usize,
        higher: &[usize],
        m: usize,
    ) -> Result<(), NoBound> {
        let constant = self.constant(set, i, higher, m);
        let found = self.least(set, i, constant)?;
        self.found.push(found);
        Ok(())
    }

    /// Returns the part that does not depend on `R_i(m)`; fills `open`.
    #[inline]
    fn constant(&mut self, set: &MixedSet, i: usize, higher: &[usize], m: usize) -> i64 {
        self.open.clear();
        let mut constant = set.c(m)[i];
        for &j in higher {
            match set.z(j) {
                z if z < m => {
                    let jobs = set.over[j].ceil(self.found[z]);
                    constant = constant.saturating_add(work(jobs, set.c(z)[j]));
                }
                _ => self.open.push(set.at_level(j, m)),
            }
        }
        constant
    }

    /// Returns the least fixed point, which is not less than `R_i(m-1)`, nor than one job of each
    /// open task.
    #[inline]
    fn least(&self, set: &MixedSet, i: usize, constant: i64) -> Result<i64, NoBound> {
        let each = sum(self.open.iter().map(|task| task.wcet));
        let start = constant.saturating_add(each).max(self.found.last().copied().unwrap_or(0));
        least(start, set.deadline[i], |r| arriving(&self.open, r).saturating_add(constant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]
        #[test]
        fn the_guess_by_deadlines_changes_nothing(
            tasks in prop::collection::vec((5i64..60, 0i64..10, 0u8..3, 0i64..4, 0i64..3), 1..9),
        ) {
            let wcets: Vec<Vec<i64>> = (tasks.iter())
                .map(|t| (0..3).map(|l| t.3 + t.4 * i64::from(t.2.min(l))).collect())
                .map(|wcets: Vec<i64>| wcets.into_iter().map(|c| c.max(1)).collect())
                .collect();
            let plain: Vec<(i64, i64, u8, &[i64])> = (tasks.iter().zip(&wcets))
                .map(|(t, wcet)| (t.0, (t.0 - t.1).max(1), t.2, wcet.as_slice()))
                .collect();
            let set = MixedSet::from_ns(3, &plain).expect("it is valid");
            let found = one_by_one(&set);
            let order_of = |found: Assignment<Vec<Duration>>| found.found().map(|found| found.order);
            prop_assert_eq!(order(&set).found().map(|found| found.order), order_of(found.clone()));
            prop_assert_eq!(amc_rt(&set), found);
        }
    }
}
