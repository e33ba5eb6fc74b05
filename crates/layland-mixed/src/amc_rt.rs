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
//! A task of level `z_j < m` only runs while the indicator is at most `z_j`, which inside the busy
//! interval of task `i` lasts at most `R_i(z_j)`. `R_i(m)` never falls with `m`.

use crate::audsley::{Test, audsley};
use crate::fixed::Responses;
use crate::steps::{ceil, least, sum, work};
use crate::{Assignment, MixedSet, NoBound};
use layland_model::{Duration, TaskId};

/// AMC-RT with the best priorities: `R_i(0), .., R_i(z_i)` of each task.
pub fn amc_rt(set: &MixedSet) -> Assignment<Vec<Duration>> {
    audsley(set, |i, higher| Test::from(responses(set, i, higher)))
}

/// AMC-RT under the given priorities, highest first.
pub fn under(set: &MixedSet, order: &[TaskId]) -> Responses<Vec<Duration>> {
    Responses::under(order, |i, higher| responses(set, i, higher))
}

/// Whether task `i` passes below these tasks.
pub(crate) fn passes(set: &MixedSet, i: usize, higher: &[usize]) -> Result<(), NoBound> {
    responses(set, i, higher).map(|_| ())
}

fn responses(set: &MixedSet, i: usize, higher: &[usize]) -> Result<Vec<Duration>, NoBound> {
    let mut found: Vec<i64> = Vec::with_capacity(set.z(i) + 1);
    for m in 0..=set.z(i) {
        let c = set.c(m);
        let (open, closed): (Vec<usize>, Vec<usize>) = higher.iter().partition(|&&j| set.z(j) >= m);
        let closed = sum(closed.iter().map(|&j| {
            let z = set.z(j);
            work(ceil(found[z], set.period[j]), set.c(z)[j])
        }));
        let constant = closed.saturating_add(c[i]);
        found.push(least(constant, set.deadline[i], |r| {
            let opened = sum(open.iter().map(|&j| work(ceil(r, set.period[j]), c[j])));
            opened.saturating_add(constant)
        })?);
    }
    Ok(found.into_iter().map(Duration::from_ns).collect())
}
