//! The search over the states of a part.
//!
//! A state is kept at each tick at which some task may release; there is one successor for each set
//! of tasks that release. Under global fixed priorities the search goes by task instead
//! (`targets.rs`).

use super::kept::{Antichain, Reach};
use super::model::{Keys, Model};
use super::proof::{ProofState, Reached};
use super::state::{TickState, Word, members};
use super::targets;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The result for a part. Tasks are places in the part.
pub(super) enum Found {
    Meets {
        /// A bound on the response of each task, and true if it is exact.
        responses: Vec<(u32, bool)>,
    },
    Misses {
        /// Arrivals as (time in units, task).
        arrivals: Vec<(u64, usize)>,
        /// The task whose job is late.
        task: usize,
    },
    GaveUp,
}

pub(super) struct Searched {
    pub(super) outcome: Found,
    pub(super) states: usize,
}

/// The number of subsets examined per state of the limit: most lead to known states.
const SUBSETS: u64 = 64;
/// At least one choice of this many tasks must be possible, whatever the limit on states.
const CHOICES: u32 = 16;
/// The memory that a search may use, in bytes.
const MEMORY: usize = 3 << 30;

/// The rest of the limits of a search.
pub(super) struct Budget {
    states: usize,
    pub(super) used: usize,
    subsets: u64,
}

impl Budget {
    pub(super) fn new(states: usize) -> Budget {
        let subsets = (states as u64).saturating_mul(SUBSETS).max(1 << CHOICES);
        Budget { states, used: 0, subsets }
    }

    /// Returns false if no further choice can be examined.
    #[inline]
    pub(super) fn takes_choice(&mut self) -> bool {
        match self.subsets.checked_sub(1) {
            Some(left) => {
                self.subsets = left;
                true
            }
            None => false,
        }
    }

    /// Returns true if a search with this many states may go on.
    #[inline]
    pub(super) fn allows<W: Word, const N: usize>(&self, states: usize) -> bool {
        self.used + states <= self.states.min(MEMORY / Antichain::<W, N>::BYTES)
    }
}

/// The end of the search of states or of a target.
pub(super) enum End {
    /// No job is late.
    Meets,
    /// With these arrivals, the job of a task is late: both by index in the model.
    Misses(Vec<(u64, usize)>, usize),
    GaveUp,
}

/// Calls a generic function with the narrowest states that suffice for a model.
macro_rules! with_states {
    ($model:expr, $function:ident($($argument:expr),*)) => {{
        let longest = $model.tasks.iter().map(|task| task.period).max().unwrap_or(0);
        match (longest, $model.tasks.len()) {
            (0..=0xff, 0..=8) => $function::<u8, 8>($($argument),*),
            (0..=0xff, 9..=16) => $function::<u8, 16>($($argument),*),
            (0..=0xffff, 0..=8) => $function::<u16, 8>($($argument),*),
            (0..=0xffff, 9..=16) => $function::<u16, 16>($($argument),*),
            (_, 0..=8) => $function::<u32, 8>($($argument),*),
            (_, 9..=16) => $function::<u32, 16>($($argument),*),
            (_, _) => $function::<u32, 64>($($argument),*),
        }
    }};
}
pub(super) use with_states;

/// Examines the states of a part, up to a limit on states and on the ways to reach them. If the
/// responses are wanted, they are exact; otherwise they may be bounds.
pub(super) fn search(model: &Model, limit: usize, wants_responses: bool) -> Searched {
    let n = model.tasks.len();
    // From here on, no job is late at its release.
    if let Some(task) = model.tasks.iter().find(|task| task.wcet > task.deadline) {
        let outcome = Found::Misses { arrivals: vec![(0, task.place)], task: task.place };
        return Searched { outcome, states: 0 };
    }
    let mut budget = Budget::new(limit);
    let mut responses = vec![(0, true); n];
    let end = if is_by_target(model) {
        targets::search(model, wants_responses, &mut budget, &mut responses, &mut None)
    } else {
        let mut longest = vec![0; n];
        let end = with_states!(model, every_state(model, &mut budget, &mut longest, &mut None));
        responses = longest.into_iter().map(|response| (response, true)).collect();
        end
    };
    let place = |i: usize| model.tasks[i].place;
    let outcome = match end {
        End::Meets => {
            let mut by_place = vec![(0, true); n];
            (0..n).for_each(|i| by_place[place(i)] = responses[i]);
            Found::Meets { responses: by_place }
        }
        End::Misses(arrivals, task) => {
            let mut arrivals: Vec<(u64, usize)> =
                arrivals.into_iter().map(|(at, i)| (at, place(i))).collect();
            arrivals.sort_unstable();
            Found::Misses { arrivals, task: place(task) }
        }
        End::GaveUp => Found::GaveUp,
    };
    Searched { outcome, states: budget.used }
}

fn is_by_target(model: &Model) -> bool {
    model.keys == Keys::Fixed && model.is_whole && model.tick == 1
}

/// Returns the states that prove that no job is late, if none is and they are within the budget.
pub(super) fn prove(model: &Model, budget: &mut Budget) -> Option<Reached> {
    if model.tasks.iter().any(|task| task.wcet > task.deadline) {
        return None;
    }
    let n = model.tasks.len();
    let (end, reached) = if is_by_target(model) {
        let (mut lists, mut responses) = (Some(BTreeMap::new()), vec![(0, true); n]);
        let end = targets::search(model, false, budget, &mut responses, &mut lists);
        (end, Reached::Targets(lists.unwrap_or_default()))
    } else {
        let (mut list, mut longest) = (Some(Vec::new()), vec![0; n]);
        let end = with_states!(model, every_state(model, budget, &mut longest, &mut list));
        (end, Reached::All(list.unwrap_or_default()))
    };
    matches!(end, End::Meets).then_some(reached)
}

/// Enters the states that no other one covers, if there is a list.
pub(super) fn enter<W: Word, const N: usize>(
    kept: &Antichain<W, N>,
    count: usize,
    list: &mut Option<Vec<ProofState>>,
) {
    let Some(list) = list else { return };
    let values = |words: &[W; N]| words[..count].iter().map(|word| word.value()).collect();
    let state = |state: &TickState<W, N>| ProofState {
        waits: values(&state.wait),
        left: values(&state.left),
    };
    list.extend(kept.antichain().map(state));
}

/// Returns every subset of a set, the largest first.
#[inline]
pub(super) fn subsets(set: u64) -> impl Iterator<Item = u64> {
    let mut next = Some(set);
    std::iter::from_fn(move || {
        let subset = next?;
        next = subset.checked_sub(1).map(|less| less & set);
        Some(subset)
    })
}

/// Examines every state of a model. States with the least laxity come first, so that a late job is
/// found soon.
fn every_state<W: Word, const N: usize>(
    model: &Model,
    budget: &mut Budget,
    longest: &mut [u32],
    list: &mut Option<Vec<ProofState>>,
) -> End {
    let n = model.tasks.len();
    let mut kept: Antichain<W, N> = Antichain::new(model);
    let mut open = BinaryHeap::from([(Reverse(0u64), 0u32)]);
    let mut responses = [0; N];
    let mut after_ties = Vec::new();
    let end = 'all: {
        while let Some((_, number)) = open.pop() {
            if kept.is_covered(number) {
                continue;
            }
            let state = *kept.get(number);
            for released in subsets(state.free(n)) {
                if !budget.takes_choice() {
                    break 'all End::GaveUp;
                }
                let mut after = state;
                members(released).for_each(|i| after.release(i, model));
                after_ties.clear();
                let step = after.until_next_choice(n, model.tick);
                let passed = if model.keys == Keys::PointsAnyTies {
                    pass_any_ties(model, &after, step, &mut responses, &mut after_ties)
                } else {
                    let passed = model.advance(&mut after, step, &mut responses);
                    after_ties.push(after);
                    passed
                };
                if let Err(task) = passed {
                    break 'all End::Misses(
                        arrivals(model, &kept.choices(number, released), n),
                        task,
                    );
                }
                for after in &after_ties {
                    if let Some(new) = kept.add(after, Reach { before: number, released }) {
                        open.push((Reverse(urgency(model, after)), new));
                    }
                }
            }
            if !budget.allows::<W, N>(kept.len()) {
                break 'all End::GaveUp;
            }
        }
        End::Meets
    };
    budget.used += kept.len();
    enter(&kept, n, list);
    longest.iter_mut().zip(responses).for_each(|(longest, response)| *longest = response);
    end
}

/// The states after the next time that passes, for each way to break a tie. They need not be those
/// at which a task may release: who runs among tied jobs is chosen anew at each tick.
fn pass_any_ties<W: Word, const N: usize>(
    model: &Model,
    state: &TickState<W, N>,
    mut step: u32,
    responses: &mut [u32; N],
    after: &mut Vec<TickState<W, N>>,
) -> Result<(), usize> {
    let mut state = *state;
    while step > 0 {
        let (before, tied, places) = model.running_with_ties(&state);
        if tied == 0 {
            step -= model.execute(&mut state, before, step, responses)?;
            continue;
        }
        for chosen in subsets(tied).filter(|set| set.count_ones() as usize == places) {
            let mut next = state;
            model.execute(&mut next, before | chosen, 1, responses)?;
            after.push(next);
        }
        return Ok(());
    }
    after.push(state);
    Ok(())
}

/// The key by which states are examined: the least laxity of a job, then the most work and the
/// shortest waits.
pub(super) fn urgency<W: Word, const N: usize>(model: &Model, state: &TickState<W, N>) -> u64 {
    let laxity = |i: usize| state.due(i, model).saturating_sub(state.left[i].value());
    let least = members(state.active()).map(laxity).min().unwrap_or(u32::MAX);
    u64::from(least) << 32 | u64::from(lightness(state))
}

/// Less for states with more work and shorter waits.
fn lightness<W: Word, const N: usize>(state: &TickState<W, N>) -> u32 {
    let sum = |words: &[W; N]| words.iter().map(|word| u64::from(word.value())).sum::<u64>();
    let difference = sum(&state.wait) as i64 - sum(&state.left) as i64;
    (difference + (1 << 31)).clamp(0, i64::from(u32::MAX)) as u32
}

/// The arrivals of a sequence of choices.
pub(super) fn arrivals(model: &Model, choices: &[u64], count: usize) -> Vec<(u64, usize)> {
    let (mut state, mut at) = (TickState::<u32, 64>::start(), 0u64);
    let mut arrivals = Vec::new();
    for &released in choices {
        for i in members(released) {
            state.release(i, model);
            arrivals.push((at, i));
        }
        let step = state.until_next_choice(count, model.tick);
        // Only the waits matter for the time of the next choice.
        state.left = [0; 64];
        state.wait.iter_mut().for_each(|wait| *wait = wait.saturating_sub(step));
        at += u64::from(step);
    }
    arrivals
}
