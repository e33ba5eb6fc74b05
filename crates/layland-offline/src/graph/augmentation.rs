//! The capacity augmentation test (Li et al. 2014): schedulable on `m` CPUs if the utilizations sum up to at most
//! `m / b` and every `L` is at most `D / b`.
//!
//! | scheduler | `b` |
//! |---|---|
//! | federated | 2 |
//! | global EDF | `(3 + sqrt 5) / 2` |
//! | global RM | `2 + sqrt 3` |
//!
//! Assumptions: (1) `D = T`; (2) priorities of global RM are by period. Sufficient. The comparisons
//! avoid roots: `x <= M (3 - sqrt 5) / 2` iff `3M - 2x >= 0` and `5 M^2 <= (3M - 2x)^2`, and
//! `x <= M (2 - sqrt 3)` iff `2M - x >= 0` and `3 M^2 <= (2M - x)^2`.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::Recurrent;
use layland_model::Rate;

/// The scheduler that the test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Federated scheduling.
    Federated,
    /// Global EDF.
    GlobalEdf,
    /// Global rate-monotonic priorities.
    GlobalRm,
}

impl Scheduler {
    /// Returns true if `x <= M / b`.
    fn is_within(self, x: &Rate, M: &Rate) -> bool {
        let (zero, whole) = (Rate::whole(0), Rate::whole);
        let (d, square) = match self {
            Scheduler::Federated => return &whole(2) * x <= *M,
            Scheduler::GlobalEdf => (&(&whole(3) * M) - &(&whole(2) * x), 5),
            Scheduler::GlobalRm => (&(&whole(2) * M) - x, 3),
        };
        d >= zero && &whole(square) * &(M * M) <= &d * &d
    }
}

/// Returns true if the test accepts these tasks on `cpus` CPUs, or `None` if a deadline differs
/// from the period, which the test does not cover.
pub fn accepts(tasks: &[Recurrent], cpus: usize, scheduler: Scheduler) -> Option<bool> {
    if tasks.iter().any(|task| task.deadline != task.period) {
        return None;
    }
    let U: Rate = tasks.iter().map(|task| Rate::new(task.dag.volume(), task.period)).sum();
    let is_short = |task: &Recurrent| {
        scheduler.is_within(&Rate::whole(task.dag.length()), &Rate::whole(task.deadline))
    };
    Some(scheduler.is_within(&U, &Rate::whole(cpus as i64)) && tasks.iter().all(is_short))
}
