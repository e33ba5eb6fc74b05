//! Zero-slack scheduling (Huang et al. 2014, Section 2.3; after de Niz, Lakshmanan and Rajkumar 2009).
//!
//! Rate-monotonic order. Task `i` has a zero-slack instant `Z_i`, counted from its release: if a
//! job is not complete by then, all tasks of lower criticality are suspended until it is.
//! `Z_i = D_i` means that no timer is needed.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `Z_i` | [`ZeroSlack::zero_slack`] | the zero-slack instant |
//! | `hp`, `lhc` | `higher`, `below` | tasks of higher priority; of lower priority but higher criticality |
//!
//! [`paper`] is a reconstruction of the original method that reproduces the values of Table I; the
//! improved analysis of 2012 may differ. The instant 6 of Table I is too late if the low task may
//! be released with an offset of 2; the value 4 of [`safe`] is correct.

mod paper;
mod safe;
mod short;

pub use paper::paper;
pub use safe::safe;
pub use short::{Instants, accepts, refused};

use crate::criticality::{Answer, MixedSet, NoBound, rate_monotonic};
use layland_model::{Duration, TaskId, TaskMap};
use std::cmp::Reverse;

/// The result of the analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeroSlack {
    /// The tasks, highest priority first: rate monotonic.
    pub order: Vec<TaskId>,
    /// `Z_i`; `None` if there is no feasible value, or if a task on which it depends has none.
    pub zero_slack: TaskMap<Option<Duration>>,
    /// The answer: schedulable if every task has one.
    pub answer: Answer,
}

/// Visits tasks by descending criticality, then by priority, and calls `find(i, higher, below)`,
/// where all of `below` already have a `Z`.
fn visit(
    set: &MixedSet,
    mut find: impl FnMut(usize, &[usize], &[usize]) -> Result<i64, NoBound>,
) -> ZeroSlack {
    let order = rate_monotonic(set);
    let plain: Vec<usize> = order.iter().map(|task| task.0 as usize).collect();
    let mut places: Vec<usize> = (0..plain.len()).collect();
    places.sort_by_key(|&place| (Reverse(set.level[plain[place]]), place));
    let mut found: Vec<Option<i64>> = vec![None; set.len()];
    let mut answer = Answer::Schedulable;
    for place in places {
        let i = plain[place];
        let below: Vec<usize> =
            plain[place + 1..].iter().copied().filter(|&h| set.z(h) > set.z(i)).collect();
        if below.iter().any(|&h| found[h].is_none()) {
            continue;
        }
        match find(i, &plain[..place], &below) {
            Ok(z) => found[i] = Some(z),
            // An unschedulable set stays so, even if other instants are unknown.
            Err(NoBound::Beyond) => answer = Answer::NotSchedulable,
            Err(NoBound::GaveUp) if answer == Answer::Schedulable => answer = Answer::GaveUp,
            Err(NoBound::GaveUp) => {}
        }
    }
    let zero_slack = set.each(|i| found[i].map(Duration::from_ns));
    ZeroSlack { order, zero_slack, answer }
}
