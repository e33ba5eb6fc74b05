//! The slacks of all tasks of a system, each given those of the others. The proof is in [`super`].

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::crowds::{Delay, Windows};
use super::response::DelaySearch;
use crate::Sporadic;

/// The limit of rounds of each kind. Each round is sound; more rounds only accept more.
const ROUNDS: usize = 100;

/// The number of times that the work of a task in a window is computed for one system.
const BUDGET: i64 = 250_000;

/// With more tasks, no round would end within the budget.
pub(crate) const MOST_TASKS: usize = 512;

/// For each task its response bound and the choice for which it was found; `None` if the task may
/// be late. The values are bounds only if all tasks have one.
pub(crate) type ChosenBounds = Vec<Option<(i64, usize)>>;

/// The responses under EDF for these choices of each task.
pub(crate) fn under_edf(tasks: &[Sporadic], delays: &[Vec<Delay>]) -> ChosenBounds {
    let mut S = vec![0i64; tasks.len()];
    let mut best: ChosenBounds = vec![None; tasks.len()];
    let mut search = DelaySearch::new(tasks, BUDGET);
    // Windows from the release are cheaper, and the slacks that they yield improve those from the
    // gap.
    for with_gaps in [false, true] {
        // `changes` counts the slacks that grew. A task is analysed again only if slacks have grown
        // since its last analysis.
        let (mut changes, mut asked) = (0usize, vec![usize::MAX; tasks.len()]);
        for _ in 0..ROUNDS {
            let before = changes;
            for k in 0..tasks.len() {
                if asked[k] == changes {
                    continue;
                }
                asked[k] = changes;
                for (at, delay) in delays[k].iter().enumerate() {
                    let since_release = (delay.windows != Windows::WithOwn)
                        .then(|| search.since_release(k, &S, delay));
                    let since_gap = (with_gaps && delay.windows != Windows::WithoutOwn)
                        .then(|| search.since_gap(k, &S, delay));
                    for R in [since_release, since_gap].into_iter().flatten().flatten() {
                        if best[k].is_none_or(|(known, _)| R < known) {
                            best[k] = Some((R, at));
                        }
                    }
                }
                let slack = best[k].map_or(0, |(R, _)| tasks[k].deadline.ns() - R);
                if slack > S[k] {
                    S[k] = slack;
                    changes += 1;
                }
            }
            if best.iter().all(Option::is_some) {
                return best;
            }
            if changes == before {
                break;
            }
        }
    }
    best
}

/// The responses under fixed priorities and the choices for which they were found, for tasks from
/// the highest priority down to the first one that may be late.
pub(crate) fn under_priorities(
    tasks: &[Sporadic],
    delays: impl Fn(usize) -> Vec<Delay>,
) -> Vec<Option<(i64, Delay)>> {
    let mut S: Vec<i64> = Vec::with_capacity(tasks.len());
    let mut found = Vec::with_capacity(tasks.len());
    let mut search = DelaySearch::new(tasks, BUDGET);
    for (k, tau_k) in tasks.iter().enumerate() {
        let mut best: Option<(i64, Delay)> = None;
        for delay in delays(k).into_iter().filter(|delay| delay.windows != Windows::WithOwn) {
            let R = search.by_priority(k, &S, &delay);
            if let Some(R) = R.filter(|R| best.as_ref().is_none_or(|(known, _)| R < known)) {
                best = Some((R, delay));
            }
        }
        let Some((R, _)) = &best else { break };
        S.push(tau_k.deadline.ns() - R);
        found.push(best);
    }
    found
}
