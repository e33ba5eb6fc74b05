//! Fixed task priorities with a cut-off (Huang et al. 2014, Sections 2.2 and 3.1, Eq. 2).
//!
//! ```text
//! R_i = C_i(z_i) + sum over j in H_i of ceil(R_i / T_j) C_j(z_i)
//! ```
//!
//! `H_i` are the tasks of higher priority. Eq. 2 is printed with `C_j(z_j)`; the sentence before it
//! speaks of the demand at confidence level `z_i`, without which criticality would have no effect.
//! A task of lower criticality that runs for longer than `C_j(z_j)` is cut off, which is what makes
//! the bounds hold for it too.

use crate::criticality::audsley::{Test, audsley};
use crate::criticality::steps::{least, sum, work};
use crate::criticality::{
    Answer, Assignment, MixedSet, NoBound, criticality_monotonic, rate_monotonic,
};
use layland_model::{Duration, TaskId, TaskMap};

/// Response times under a given priority order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Responses<R> {
    /// The tasks, highest priority first.
    pub order: Vec<TaskId>,
    /// The bound of each task.
    pub response: TaskMap<Result<R, NoBound>>,
}

impl<R> Responses<R> {
    /// Whether every task has a bound.
    pub fn answer(&self) -> Answer {
        let failed = |why| self.response.values().any(|bound| bound.as_ref().err() == Some(&why));
        match () {
            () if failed(NoBound::Beyond) => Answer::NotSchedulable,
            () if failed(NoBound::GaveUp) => Answer::GaveUp,
            () => Answer::Schedulable,
        }
    }

    /// Runs `test(i, higher)` for each task, `higher` being those before it in the order.
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
    audsley(set, |i, higher| Test::from(response(set, i, higher).map(Duration::from_ns)))
}

/// `R_i`, for these tasks of higher priority.
fn response(set: &MixedSet, i: usize, higher: &[usize]) -> Result<i64, NoBound> {
    let c = set.c(set.z(i));
    least(c[i], set.deadline[i], |r| {
        let interference = sum(higher.iter().map(|&j| work(set.over[j].ceil(r), c[j])));
        interference.saturating_add(c[i])
    })
}
