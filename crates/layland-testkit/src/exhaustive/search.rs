//! Every state that a model can reach, by every choice of releases.

#![expect(
    clippy::disallowed_types,
    reason = "states are looked up, and never listed in the order of the map"
)]

use super::rules::{Model, TASKS};
use std::collections::HashMap;

/// A model between two units. For each task, it has the time since the last arrival, up to the
/// period; the remaining work; the task's CPU, and the CPU that it ran on last (both only under
/// [`Rule::Weak`](super::Rule::Weak)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ModelState([u16; TASKS]);

// Each task has 16 bits: 5 for the time, 5 for the work, 3 for its CPU (0 is none), and 3 for its
// last CPU.
const ON: u32 = 10;
const LAST: u32 = 13;

impl ModelState {
    fn field(self, i: usize, at: u32, bits: u32) -> u8 {
        (self.0[i] >> at & ((1 << bits) - 1)) as u8
    }
    fn set(&mut self, i: usize, at: u32, bits: u32, value: u8) {
        let mask = ((1 << bits) - 1) << at;
        self.0[i] = self.0[i] & !mask | u16::from(value) << at;
    }
    pub(super) fn since(self, i: usize) -> u8 {
        self.field(i, 0, 5)
    }
    pub(super) fn left(self, i: usize) -> u8 {
        self.field(i, 5, 5)
    }
    pub(super) fn on(self, i: usize) -> Option<usize> {
        self.field(i, ON, 3).checked_sub(1).map(usize::from)
    }
    pub(super) fn last(self, i: usize) -> Option<usize> {
        self.field(i, LAST, 3).checked_sub(1).map(usize::from)
    }
    pub(super) fn put(&mut self, i: usize, cpu: Option<usize>) {
        self.set(i, ON, 3, cpu.map_or(0, |c| c as u8 + 1));
    }
}

/// A job of a pattern of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The arrival, in units.
    pub at: i64,
    /// The index of the task.
    pub task: usize,
    /// The execution time.
    pub work: i64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchResult {
    /// No job ever misses its deadline. The longest response times are exact.
    Meets {
        /// The longest response time of each task, in units.
        responses: Vec<i64>,
        /// The number of states.
        states: usize,
    },
    /// A job misses its deadline after a shortest pattern of releases.
    Misses {
        /// The pattern, ordered by time, then by task.
        arrivals: Vec<Arrival>,
        /// The task of the late job.
        task: usize,
        /// The instant of its deadline.
        at: i64,
    },
    /// There are more states than the limit of the search.
    GaveUp,
}

/// Searches all reachable states, breadth first, up to `limit` states. Jobs execute for their WCET
/// or, if `shorter` is set, for any time from one unit up to it.
pub fn search(model: &Model, shorter: bool, limit: usize) -> SearchResult {
    let tasks = &model.tasks;
    let mut start = ModelState([0; TASKS]);
    for (i, task) in tasks.iter().enumerate() {
        start.set(i, 0, 5, task.period);
    }
    let mut states = vec![start];
    // For each state, the previous one, and the work that arrived in between: 5 bits for each task.
    let mut from: Vec<(u32, u32)> = vec![(0, 0)];
    let mut known: HashMap<ModelState, u32> = HashMap::from([(start, 0)]);
    let mut responses = vec![0i64; tasks.len()];
    let mut next = 0;
    let mut choices: Vec<u32> = Vec::new();
    while next < states.len() {
        let state = states[next];
        arrivals(model, &state, shorter, &mut choices);
        for &choice in &choices {
            let (mut with, mut arrived) = (state, 0u8);
            for i in 0..tasks.len() {
                let work = work_of(choice, i);
                if work > 0 {
                    with.set(i, 0, 5, 0);
                    with.set(i, 5, 5, work);
                    arrived |= 1 << i;
                }
            }
            for (mut after, running) in model.units(&with, arrived) {
                let mut late = None;
                for (i, task) in tasks.iter().enumerate() {
                    let since = (after.since(i) + 1).min(task.period);
                    after.set(i, 0, 5, since);
                    if running >> i & 1 == 1 {
                        let left = after.left(i) - 1;
                        after.set(i, 5, 5, left);
                        after.set(i, LAST, 3, after.field(i, ON, 3));
                        if left == 0 {
                            responses[i] = responses[i].max(i64::from(since));
                        }
                    }
                    if after.left(i) > 0 && since >= task.deadline {
                        late = Some(i);
                    }
                }
                if let Some(task) = late {
                    return misses(&from, next, choice, task);
                }
                model.depart(&mut after);
                let fresh = states.len() as u32;
                known.entry(after).or_insert_with(|| {
                    states.push(after);
                    from.push((next as u32, choice));
                    fresh
                });
                if states.len() > limit {
                    return SearchResult::GaveUp;
                }
            }
        }
        next += 1;
    }
    SearchResult::Meets { responses, states: states.len() }
}

fn work_of(choice: u32, i: usize) -> u8 {
    (choice >> (5 * i) & 31) as u8
}

/// Lists every choice of arriving tasks and their amounts of work.
fn arrivals(model: &Model, state: &ModelState, shorter: bool, choices: &mut Vec<u32>) {
    choices.clear();
    choices.push(0);
    for (i, task) in model.tasks.iter().enumerate() {
        if state.since(i) < task.period || state.left(i) > 0 {
            continue;
        }
        let least = if shorter { 1 } else { task.wcet };
        for at in 0..choices.len() {
            choices.extend(
                (least..=task.wcet)
                    .map(|work| choices[at] | u32::from(work) << (5 * i))
                    .collect::<Vec<u32>>(),
            );
        }
    }
}

/// Returns the pattern that leads to a state and then makes this choice.
fn misses(from: &[(u32, u32)], mut at: usize, choice: u32, task: usize) -> SearchResult {
    let mut steps = vec![choice];
    while at > 0 {
        let (before, choice) = from[at];
        steps.push(choice);
        at = before as usize;
    }
    steps.reverse();
    let mut arrivals = Vec::new();
    for (unit, &choice) in steps.iter().enumerate() {
        let of = |i: usize| (i, i64::from(work_of(choice, i)));
        let came = (0..TASKS).map(of).filter(|&(_, work)| work > 0);
        arrivals.extend(came.map(|(task, work)| Arrival { at: unit as i64, task, work }));
    }
    SearchResult::Misses { arrivals, task, at: steps.len() as i64 }
}
