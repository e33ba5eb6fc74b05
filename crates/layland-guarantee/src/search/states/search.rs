//! The search over the states of a part.

#![expect(
    clippy::disallowed_types,
    reason = "states are looked up, and never listed in the order of the map"
)]

use super::model::Model;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The result for a part.
pub(super) enum Found {
    Meets {
        responses: Vec<u32>,
    },
    /// Arrivals as (time in units, task), and the task whose job is late.
    Misses {
        arrivals: Vec<(u64, usize)>,
        task: usize,
    },
    GaveUp,
}

pub(super) struct Searched {
    pub(super) outcome: Found,
    pub(super) states: usize,
}

/// The limit on tasks in one choice: more have too many subsets.
const CHOICES: usize = 16;
/// The number of subsets examined per state of the limit: most lead to known states.
const SUBSETS: u64 = 64;

/// A state: for each task the time until it may release again, then for each task the remaining
/// work. A task with work that may release again is late, since no deadline is longer than a
/// period.
struct States {
    tasks: usize,
    words: Vec<u32>,
    /// The time when a state was reached, the state before it, and the tasks that released there.
    from: Vec<(u64, u32, u64)>,
    /// True for states that another state dominates: they are skipped.
    is_dominated: Vec<bool>,
    /// The states that differ only in how long idle tasks have to wait. None of them dominates
    /// another.
    alike: HashMap<Box<[u32]>, Vec<u32>>,
}

impl States {
    fn new(model: &Model) -> States {
        let tasks = model.tasks.len();
        let mut states = States {
            tasks,
            words: Vec::new(),
            from: Vec::new(),
            is_dominated: Vec::new(),
            alike: HashMap::new(),
        };
        states.add(&vec![0; 2 * tasks], (0, 0, 0));
        states
    }

    fn len(&self) -> usize {
        self.from.len()
    }

    fn get(&self, index: u32) -> &[u32] {
        let width = 2 * self.tasks;
        &self.words[index as usize * width..][..width]
    }

    /// Adds a state, unless a known state dominates it.
    fn add(&mut self, state: &[u32], from: (u64, u32, u64)) -> Option<u32> {
        let n = self.tasks;
        let is_idle = |i: usize| state[n + i] == 0;
        let mut key: Box<[u32]> = state.into();
        (0..n).filter(|&i| is_idle(i)).for_each(|i| key[i] = 0);
        let alike = self.alike.entry(key).or_default();
        let (words, width) = (&self.words, 2 * n);
        let waits = |index: u32| &words[index as usize * width..][..n];
        // The key makes tasks with work wait equally long, so comparing all waits suffices.
        let dominates = |a: &[u32], b: &[u32]| a.iter().zip(b).all(|(a, b)| a <= b);
        if alike.iter().any(|&known| dominates(waits(known), &state[..n])) {
            return None;
        }
        alike.retain(|&known| {
            let stays = !dominates(&state[..n], waits(known));
            self.is_dominated[known as usize] |= !stays;
            stays
        });
        let index = self.from.len() as u32;
        alike.push(index);
        self.words.extend_from_slice(state);
        self.from.push(from);
        self.is_dominated.push(false);
        Some(index)
    }

    /// Returns the arrivals that lead to a state, and those of a last choice there.
    fn arrivals(&self, mut index: u32, mut choice: u64) -> Vec<(u64, usize)> {
        let mut arrivals = Vec::new();
        loop {
            let (at, before, released) = self.from[index as usize];
            arrivals
                .extend((0..self.tasks).rev().filter(|i| choice >> i & 1 == 1).map(|i| (at, i)));
            if index == 0 {
                break;
            }
            (index, choice) = (before, released);
        }
        arrivals.reverse();
        arrivals
    }
}

/// Examines every state of a model, up to a limit on states, and on the ways to reach them. States
/// with the least laxity come first, so that a late job is found soon.
pub(super) fn search(model: &Model, limit: usize) -> Searched {
    let n = model.tasks.len();
    let mut states = States::new(model);
    let mut open = BinaryHeap::from([(Reverse((0u32, 0u64)), 0u32)]);
    let mut responses = vec![0u32; n];
    let (mut running, mut after) = (Vec::new(), vec![0u32; 2 * n]);
    // At least one choice of the most tasks must be possible, whatever the limit.
    let mut subsets = (limit as u64).saturating_mul(SUBSETS).max(1 << CHOICES);
    while let Some((_, index)) = open.pop() {
        if states.is_dominated[index as usize] {
            continue;
        }
        let (at, ..) = states.from[index as usize];
        let state: Vec<u32> = states.get(index).to_vec();
        let may_release: Vec<usize> =
            (0..n).filter(|&i| state[i] == 0 && state[n + i] == 0).collect();
        if may_release.len() > CHOICES {
            return Searched { outcome: Found::GaveUp, states: states.len() };
        }
        let Some(left) = subsets.checked_sub(1 << may_release.len()) else {
            return Searched { outcome: Found::GaveUp, states: states.len() };
        };
        subsets = left;
        for chosen in 0..1u64 << may_release.len() {
            after.copy_from_slice(&state);
            let mut released = 0;
            for (bit, &i) in may_release.iter().enumerate() {
                if chosen >> bit & 1 == 1 {
                    (after[i], after[n + i]) = (model.tasks[i].period, model.tasks[i].wcet);
                    released |= 1 << i;
                }
            }
            let step = until_next_choice(model, &after);
            if let Err(task) = advance(model, &mut after, step, &mut running, &mut responses) {
                let arrivals = states.arrivals(index, released);
                return Searched {
                    outcome: Found::Misses { arrivals, task },
                    states: states.len(),
                };
            }
            let at = at + u64::from(step);
            if let Some(fresh) = states.add(&after, (at, index, released)) {
                open.push((Reverse(order(model, &after, at)), fresh));
            }
        }
        if states.len() > limit {
            return Searched { outcome: Found::GaveUp, states: states.len() };
        }
    }
    Searched { outcome: Found::Meets { responses }, states: states.len() }
}

/// Returns the key by which states are examined: the least laxity of a job, then the time.
fn order(model: &Model, state: &[u32], at: u64) -> (u32, u64) {
    let n = model.tasks.len();
    let laxity = |i: usize| {
        let task = &model.tasks[i];
        (task.deadline + state[i]).saturating_sub(task.period + state[n + i])
    };
    let least = (0..n).filter(|&i| state[n + i] > 0).map(laxity).min();
    (least.unwrap_or(u32::MAX), at)
}

/// Returns the time until another task may release: a whole number of ticks.
fn until_next_choice(model: &Model, state: &[u32]) -> u32 {
    let shortest = state[..model.tasks.len()].iter().copied().min().unwrap_or(0);
    shortest.max(1).div_ceil(model.tick).saturating_mul(model.tick)
}

/// Advances the state by this time without arrivals. The error is the task whose job is late.
fn advance(
    model: &Model,
    state: &mut [u32],
    mut step: u32,
    running: &mut Vec<usize>,
    responses: &mut [u32],
) -> Result<(), usize> {
    let n = model.tasks.len();
    while step > 0 {
        model.running(state, running);
        // Up to the next completion or deadline.
        let completes = running.iter().map(|&i| state[n + i]).min();
        let mut part = completes.map_or(step, |completes| completes.min(step));
        for i in (0..n).filter(|&i| state[n + i] > 0) {
            let task = &model.tasks[i];
            let due = (task.deadline + state[i]).saturating_sub(task.period);
            part = part.min(due);
        }
        for &i in running.iter() {
            state[n + i] -= part;
        }
        for i in 0..n {
            let task = &model.tasks[i];
            let wait = state[i].saturating_sub(part);
            let since = task.period - wait;
            state[i] = wait;
            if state[n + i] > 0 && since >= task.deadline {
                return Err(i);
            }
        }
        for &i in running.iter().filter(|&&i| state[n + i] == 0) {
            responses[i] = responses[i].max(model.tasks[i].period - state[i]);
        }
        step -= part;
    }
    Ok(())
}
