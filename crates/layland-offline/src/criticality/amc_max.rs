//! AMC-MAX: the worst over every instant of the mode change (Huang et al. 2014, Section 2.3; after
//! Baruah, Burns and Davis 2011), for at most two levels. Sound, and never above AMC-RT.
//!
//! `R_i(0)` is that of AMC-RT. For a task of level 1 and every instant `s` of the change in
//! `{0} + {k T_j < R_i(0) : j in H_i, z_j = 0}`, take the least
//!
//! ```text
//! t = C_i(1) + sum over j in H_i, z_j = 0 of (floor(s / T_j) + 1) C_j(0)
//!            + sum over k in H_i, z_k = 1 of M C_k(1) + (ceil(t / T_k) - M) C_k(0)
//! M = min(max(0, ceil((t - s - (T_k - D_k)) / T_k) + 1), ceil(t / T_k))
//! ```
//!
//! `R_i(1)` is the largest of these. `M` is the number of jobs that may be live at the change or
//! arrive after it.

use crate::criticality::audsley::{Test, audsley};
use crate::criticality::fixed::Responses;
use crate::criticality::steps::{Effort, Recurrent, arriving, least, sum, work};
use crate::criticality::{Assignment, MixedError, MixedSet, NoBound};
use layland_model::{Duration, TaskId};

/// AMC-MAX with the best priorities: returns `R_i(0), .., R_i(z_i)` of each task.
///
/// # Errors
/// Returns [`MixedError::TwoLevelsOnly`] for a set with more than two levels.
pub fn amc_max(set: &MixedSet) -> Result<Assignment<Vec<Duration>>, MixedError> {
    check(set)?;
    Ok(audsley(set, |i, higher| Test::from(responses(set, i, higher))))
}

/// AMC-MAX under the given priorities, highest first.
///
/// # Errors
/// See [`amc_max`].
pub fn under(set: &MixedSet, order: &[TaskId]) -> Result<Responses<Vec<Duration>>, MixedError> {
    check(set)?;
    Ok(Responses::under(order, |i, higher| responses(set, i, higher)))
}

fn check(set: &MixedSet) -> Result<(), MixedError> {
    match set.levels() {
        1 | 2 => Ok(()),
        more => Err(MixedError::TwoLevelsOnly(more)),
    }
}

fn responses(set: &MixedSet, i: usize, higher: &[usize]) -> Result<Vec<Duration>, NoBound> {
    let deadline = set.deadline[i];
    let c = set.c(0);
    let all: Vec<Recurrent> = higher.iter().map(|&j| set.at_level(j, 0)).collect();
    let low_mode = least(c[i], deadline, |r| arriving(&all, r).saturating_add(c[i]))?;
    if set.z(i) == 0 {
        return Ok(vec![Duration::from_ns(low_mode)]);
    }
    let (high, low): (Vec<usize>, Vec<usize>) = higher.iter().partition(|&&j| set.z(j) == 1);
    let mut effort = Effort::new(crate::criticality::amc_ia::FIXED_POINTS);
    let mut worst = 1;
    let mut at = |s: i64| -> Result<(), NoBound> {
        effort.spend()?;
        let closed = sum(low.iter().map(|&j| work(set.over[j].floor(s) + 1, c[j])));
        let constant = closed.saturating_add(set.own(i));
        let f = |t: i64| {
            let opened = sum(high.iter().map(|&k| {
                let (period, slack) = (set.period[k], set.period[k] - set.deadline[k]);
                let all = set.over[k].ceil(t);
                let after = match t - s - slack {
                    // ceil(x / T) + 1 <= 0 for x <= -T.
                    x if x <= -period => 0,
                    x if x <= 0 => 1,
                    x => set.over[k].ceil(x) + 1,
                };
                let large = after.min(all);
                work(large, set.own(k)).saturating_add(work(all - large, c[k]))
            }));
            opened.saturating_add(constant)
        };
        // If f does not exceed the worst value there, the least fixed point does not either, so
        // skip the search.
        if f(worst) > worst {
            worst = worst.max(least(constant, deadline, f)?);
        }
        Ok(())
    };
    at(0)?;
    for &j in &low {
        let mut s = set.period[j];
        while s < low_mode {
            at(s)?;
            s += set.period[j];
        }
    }
    Ok([low_mode, worst].map(Duration::from_ns).to_vec())
}
