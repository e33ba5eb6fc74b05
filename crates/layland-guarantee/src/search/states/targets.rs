//! Global fixed priorities on identical CPUs: task by task, from the highest priority down.
//!
//! A task is judged by the first of these that decides: it is one of the `m` highest, so it is never
//! delayed; the response-time test with limited carry-in accepts it, given the responses of higher
//! tasks; a search for a late job of it alone ends. That search examines much less than one for late
//! jobs of all tasks:
//!
//! 1. *One job.* The task, the target, releases one job. Lower tasks delay nothing, and earlier jobs
//!    of the target are done at its release, so removing them is legal and changes nothing.
//! 2. *When.* The job is released only if, before the releases of that instant, fewer than `m` higher
//!    tasks are active, and after them at least `m` are. Take a late job. Let `t0` be the last instant
//!    up to its release before which a CPU was free of higher jobs. From then on all CPUs execute
//!    higher jobs, so if it is released at `t0` it completes at the same time, with a longer response.
//!    And if it runs at once, it may be released one unit later: it completes no earlier than one unit
//!    later, or responds as late. Repeating this ends, since the job is late.
//! 3. *End.* A branch ends when the job completes. Late jobs of higher tasks were looked for before.
//! 4. *Cut.* A state is dropped if nothing that follows can delay the job enough.
//!
//! The rules *when* and *cut* need that any free CPU serves, and arrivals at every unit.

use super::kept::{Antichain, Reach};
use super::model::Model;
use super::proof::ProofState;
use super::search::{Budget, End, arrivals, enter, subsets, urgency, with_states};
use super::state::{TickState, Word, members};
use layland_analysis::Sporadic;
use layland_analysis::global_fp::limited_carry_in;
use layland_model::{Duration, Service};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Judges each task, and enters its response: a bound, and true if it is exact. The lists of states
/// prove what the searches find.
pub(super) fn search(
    model: &Model,
    wants_responses: bool,
    budget: &mut Budget,
    responses: &mut [(u32, bool)],
    lists: &mut Option<BTreeMap<usize, Vec<ProofState>>>,
) -> End {
    let mut accepted = Accepted::new(model);
    for (k, response) in responses.iter_mut().enumerate() {
        let (wcet, deadline) = (model.tasks[k].wcet, model.tasks[k].deadline);
        *response = match accepted.response(k) {
            // A response as short as the WCET is exact.
            Some(within) if !wants_responses || within == wcet => (within, within == wcet),
            _ => {
                let model = model.highest(k + 1);
                let target = LateJob { model: &model, wants_response: wants_responses };
                let mut list = lists.is_some().then(Vec::new);
                let found = with_states!(target.model, target_states(&target, budget, &mut list));
                if let (Some(lists), Some(list)) = (&mut *lists, list) {
                    lists.insert(k, list);
                }
                match found {
                    (End::Meets, longest) if wants_responses => (longest, true),
                    (End::Meets, _) => (deadline, false),
                    (end @ (End::Misses(..) | End::GaveUp), _) => return end,
                }
            }
        };
        accepted.push(k, response.0);
    }
    End::Meets
}

/// The tasks that were judged, with bounds on their responses.
pub(super) struct Accepted<'a> {
    model: &'a Model,
    higher: Vec<(Sporadic, Duration)>,
}

impl Accepted<'_> {
    pub(super) fn new(model: &Model) -> Accepted<'_> {
        Accepted { model, higher: Vec::new() }
    }

    /// A task, where one unit stands for a nanosecond: the test then counts in units.
    fn sporadic(&self, k: usize) -> Sporadic {
        let task = &self.model.tasks[k];
        let [wcet, deadline, period] = [task.wcet, task.deadline, task.period].map(i64::from);
        Sporadic {
            wcet: Service::from_ns(wcet),
            deadline: Duration::from_ns(deadline),
            period: Duration::from_ns(period),
        }
    }

    /// A bound on the response of the next task by a test, if it is within the deadline.
    pub(super) fn response(&self, k: usize) -> Option<u32> {
        if k < self.model.cpus {
            return Some(self.model.tasks[k].wcet);
        }
        let bound = limited_carry_in(&self.sporadic(k), &self.higher, self.model.cpus)?;
        u32::try_from(bound.ns()).ok()
    }

    /// Adds the next task.
    pub(super) fn push(&mut self, k: usize, bound: u32) {
        self.higher.push((self.sporadic(k), Duration::from_ns(i64::from(bound))));
    }
}

/// The search for a late job of the last task of a model.
pub(super) struct LateJob<'a> {
    /// The tasks up to the target.
    pub(super) model: &'a Model,
    /// True if the longest response is wanted, and not only whether the job can be late.
    pub(super) wants_response: bool,
}

impl LateJob<'_> {
    /// The index of the target.
    #[inline]
    fn last(&self) -> usize {
        self.model.tasks.len() - 1
    }

    /// Returns the sets of tasks that may release in a state, with the state after that.
    #[inline]
    pub(super) fn choices<W: Word, const N: usize>(
        &self,
        state: &TickState<W, N>,
    ) -> impl Iterator<Item = (u64, TickState<W, N>)> {
        let (model, k, state) = (self.model, self.last(), *state);
        let job = 1u64 << k;
        let busy = move |state: &TickState<W, N>| (state.active() & !job).count_ones() as usize;
        let may_release = state.left[k] == W::default() && busy(&state) < model.cpus;
        subsets(state.free(k)).flat_map(move |chosen| {
            let mut with = state;
            members(chosen).for_each(|i| with.release(i, model));
            let job_too = (may_release && busy(&with) >= model.cpus).then(|| {
                let mut with = with;
                with.release(k, model);
                (chosen | job, with)
            });
            job_too.into_iter().chain([(chosen, with)])
        })
    }

    /// Lets time pass until a higher task may release. Returns true if the job completes, or if
    /// nothing can delay it enough; the error is the task whose job is late.
    #[inline]
    pub(super) fn pass<W: Word, const N: usize>(
        &self,
        state: &mut TickState<W, N>,
        responses: &mut [u32; N],
    ) -> Result<bool, usize> {
        let (model, k) = (self.model, self.last());
        let is_released = state.left[k] > W::default();
        let is_new = is_released && state.wait[k].value() == model.tasks[k].period;
        if is_new && self.cut(state, responses[k]) {
            return Ok(true);
        }
        let step = state.until_next_choice(k, 1);
        model.advance(state, step, responses)?;
        Ok(is_released && (state.left[k] == W::default() || self.cut(state, responses[k])))
    }

    /// Returns true if no job of the target that is active in this state can be late, or respond
    /// later than the longest response seen.
    ///
    /// Let `w` be the time until the job may respond at the latest, and `L = w - c_k + 1` the delay
    /// that exceeds it. A higher task executes for at most `W_j` in the window: releases as early as
    /// possible give most work. Delay needs all `m` CPUs, and a task delays on one at most.
    #[inline]
    fn cut<W: Word, const N: usize>(&self, state: &TickState<W, N>, longest: u32) -> bool {
        let (model, k) = (self.model, self.last());
        let own = &model.tasks[k];
        let limit = if self.wants_response { longest } else { own.deadline };
        let since = own.period - state.wait[k].value();
        let window = i64::from(limit) - i64::from(since);
        let delay = window - i64::from(state.left[k].value()) + 1;
        if delay <= 0 {
            return false;
        }
        // Within these limits 32 bits suffice, and their division takes a third of the time.
        let (window, delay) = (window as u32, delay as u32);
        let mut sum = 0u64;
        for (j, task) in model.tasks[..k].iter().enumerate() {
            let mut work = u64::from(state.left[j].value().min(window));
            let first = state.wait[j].value();
            if first < window {
                let rest = window - first;
                let jobs = rest / task.period;
                work += u64::from(jobs) * u64::from(task.wcet);
                work += u64::from((rest - jobs * task.period).min(task.wcet));
            }
            sum += work.min(u64::from(delay));
        }
        sum < u64::from(delay) * model.cpus as u64
    }
}

/// Returns the end of the search for a target and the longest response seen, which is the longest
/// one if it is wanted.
fn target_states<W: Word, const N: usize>(
    target: &LateJob<'_>,
    budget: &mut Budget,
    list: &mut Option<Vec<ProofState>>,
) -> (End, u32) {
    let (model, k) = (target.model, target.last());
    let mut kept: Antichain<W, N> = Antichain::new(model);
    let mut open = BinaryHeap::from([(Reverse(0u64), 0u32)]);
    let mut responses = [0; N];
    responses[k] = model.tasks[k].wcet;
    let end = 'all: {
        while let Some((_, number)) = open.pop() {
            if kept.is_covered(number) {
                continue;
            }
            let state = *kept.get(number);
            // The bound of the cut may have grown since the state was kept.
            let is_released = state.left[k] > W::default();
            if is_released && target.wants_response && target.cut(&state, responses[k]) {
                continue;
            }
            for (released, mut after) in target.choices(&state) {
                if !budget.takes_choice() {
                    break 'all End::GaveUp;
                }
                match target.pass(&mut after, &mut responses) {
                    Err(task) => {
                        let choices = kept.choices(number, released);
                        break 'all End::Misses(arrivals(model, &choices, k), task);
                    }
                    Ok(true) => {}
                    Ok(false) => {
                        if let Some(new) = kept.add(&after, Reach { before: number, released }) {
                            open.push((Reverse(urgency(model, &after)), new));
                        }
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
    enter(&kept, k + 1, list);
    (end, responses[k])
}
