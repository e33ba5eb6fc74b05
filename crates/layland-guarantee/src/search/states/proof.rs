//! Proofs that no job is late on ticks, and their check, which searches nothing.
//!
//! A proof is a list of states for each part, such that the start is covered by one of them, and of
//! each of them, whatever releases, no job is late until the next choice, and the state that is then
//! reached is covered by one of them. By induction no reachable state has a late job. Under global
//! fixed priorities there may be a list for each task instead: what is reached need not be covered if
//! the job of that task is done, or if nothing can delay it enough.
//!
//! Only states that no other one covers are listed. The check uses the step, the relation and the cut
//! of the search; an order of states or a hash has no part in it.

use super::extent::{ASSUMES, ArrivalGrid, Extent, MOST_STATES, TakenJobs};
use super::model::{self, Keys, Model};
use super::search::{self, Budget, subsets};
use super::state::{TickState, members};
use super::targets::{self, LateJob};
use layland_model::{System, TaskId};
use layland_policy::Policy;
use std::collections::BTreeMap;

/// A state at a tick, before the releases of that tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofState {
    /// For each task, the time until it may release again, in units.
    pub waits: Vec<u32>,
    /// For each task, the work that its job has left, in units.
    pub left: Vec<u32>,
}

/// The states that cover all those that a part can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Of all tasks together.
    All(Vec<ProofState>),
    /// For each task that needs them, by its place in the order of priorities: states of the tasks
    /// up to it. The response-time test with limited carry-in accepts the others, or they are among
    /// the `m` highest.
    Targets(BTreeMap<usize, Vec<ProofState>>),
}

/// The proof for CPUs that serve some tasks, and no others do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartProof {
    /// The tasks in the order of the states: by priority, or by the rank that breaks ties.
    pub tasks: Vec<TaskId>,
    /// The states.
    pub reached: Reached,
}

type Wide = TickState<u32, 64>;

fn models(system: &System, policy: &dyn Policy, grid: ArrivalGrid) -> Result<Vec<Model>, String> {
    for assumption in ASSUMES.into_iter().chain([layland_analysis::Assumption::NoBlocking]) {
        assumption.check(system).map_err(|refusal| refusal.to_string())?;
    }
    let rule = policy.rule();
    let extent = Extent { jobs: TakenJobs::Own, grid, states: 0, wants_responses: false };
    let parts = model::parts(system, &rule)?;
    parts.iter().map(|part| Model::new(system, part, &rule, extent)).collect()
}

/// Searches for a proof: `None` if a job can be late, or there are too many states.
///
/// # Errors
/// The reason, if the search does not support such a policy or such a system.
pub fn prove(
    system: &System,
    policy: &dyn Policy,
    grid: ArrivalGrid,
    states: usize,
) -> Result<Option<Vec<PartProof>>, String> {
    let mut budget = Budget::new(states.min(MOST_STATES));
    let mut proofs = Vec::new();
    for (part, model) in
        model::parts(system, &policy.rule())?.iter().zip(models(system, policy, grid)?)
    {
        let tasks = model.tasks.iter().map(|task| part.tasks[task.place]).collect();
        let Some(reached) = search::prove(&model, &mut budget) else { return Ok(None) };
        proofs.push(PartProof { tasks, reached });
    }
    Ok(Some(proofs))
}

/// Checks a proof, which has one list of states for each part.
///
/// # Errors
/// The reason why it shows nothing.
pub fn check(
    system: &System,
    policy: &dyn Policy,
    grid: ArrivalGrid,
    proofs: &[PartProof],
) -> Result<(), String> {
    let parts = model::parts(system, &policy.rule())?;
    let models = models(system, policy, grid)?;
    if parts.len() != proofs.len() {
        return Err(format!("there are {} parts, and proofs of {}", parts.len(), proofs.len()));
    }
    for ((part, model), proof) in parts.iter().zip(&models).zip(proofs) {
        if !model.tasks.iter().map(|task| part.tasks[task.place]).eq(proof.tasks.iter().copied()) {
            return Err("the tasks of a part or their order are others".to_owned());
        }
        if model.tasks.iter().any(|task| task.wcet > task.deadline) {
            return Err("a WCET is longer than its deadline".to_owned());
        }
        match &proof.reached {
            Reached::All(states) => check_all(model, states)?,
            Reached::Targets(targets) => check_targets(model, targets)?,
        }
    }
    Ok(())
}

/// The states of a list, if each is one in which no job is late already.
fn listed(model: &Model, states: &[ProofState]) -> Result<Vec<Wide>, String> {
    let n = model.tasks.len();
    let state = |listed: &ProofState| {
        if listed.waits.len() != n || listed.left.len() != n {
            return Err(format!("a state is not one of {n} tasks: {listed:?}"));
        }
        let mut state = Wide::start();
        state.wait[..n].copy_from_slice(&listed.waits);
        state.left[..n].copy_from_slice(&listed.left);
        if (0..n).any(|i| state.wait[i] > model.tasks[i].period) {
            return Err(format!("a task waits for longer than its period: {listed:?}"));
        }
        if members(state.active()).any(|i| state.left[i] > state.due(i, model)) {
            return Err(format!("a job is late: {listed:?}"));
        }
        Ok(state)
    };
    states.iter().map(state).collect()
}

/// Returns true if whatever misses after `state` misses after `by`.
fn is_covered(model: &Model, state: &Wide, by: &Wide) -> bool {
    (0..model.tasks.len()).all(|i| {
        let agrees = match model.keys {
            Keys::Fixed => by.wait[i] <= state.wait[i],
            Keys::Points | Keys::PointsAnyTies | Keys::ZeroLaxity if state.left[i] > 0 => {
                by.wait[i] == state.wait[i]
            }
            Keys::Points | Keys::PointsAnyTies | Keys::ZeroLaxity => by.wait[i] <= state.wait[i],
        };
        by.left[i] >= state.left[i] && agrees
    })
}

fn show(model: &Model, state: &Wide) -> String {
    let n = model.tasks.len();
    format!("waits {:?}, work {:?}", &state.wait[..n], &state.left[..n])
}

fn check_all(model: &Model, states: &[ProofState]) -> Result<(), String> {
    let (states, n) = (listed(model, states)?, model.tasks.len());
    let covered = |state: &Wide| states.iter().any(|by| is_covered(model, state, by));
    if !covered(&Wide::start()) {
        return Err("the start is not covered".to_owned());
    }
    let mut responses = [0; 64];
    for state in &states {
        for released in subsets(state.free(n)) {
            let mut after = *state;
            members(released).for_each(|i| after.release(i, model));
            let step = after.until_next_choice(n, model.tick);
            if let Err(task) = model.advance(&mut after, step, &mut responses) {
                return Err(format!("task {task} is late after {}", show(model, state)));
            }
            if !covered(&after) {
                return Err(format!(
                    "not covered: {}, after {}",
                    show(model, &after),
                    show(model, state)
                ));
            }
        }
    }
    Ok(())
}

fn check_targets(model: &Model, lists: &BTreeMap<usize, Vec<ProofState>>) -> Result<(), String> {
    if model.keys != Keys::Fixed || !model.is_whole || model.tick != 1 {
        return Err("only global fixed priorities have proofs by task".to_owned());
    }
    let mut accepted = targets::Accepted::new(model);
    for k in 0..model.tasks.len() {
        let of_test = accepted.response(k);
        let bound = match (of_test, lists.get(&k)) {
            (_, Some(states)) => {
                check_target(&model.highest(k + 1), states)
                    .map_err(|why| format!("task {k}: {why}"))?;
                model.tasks[k].deadline
            }
            (Some(bound), None) => bound,
            (None, None) => return Err(format!("task {k} has no proof")),
        };
        accepted.push(k, bound);
    }
    Ok(())
}

fn check_target(model: &Model, states: &[ProofState]) -> Result<(), String> {
    let states = listed(model, states)?;
    let target = LateJob { model, wants_response: false };
    let covered = |state: &Wide| states.iter().any(|by| is_covered(model, state, by));
    if !covered(&Wide::start()) {
        return Err("the start is not covered".to_owned());
    }
    let mut responses = [0; 64];
    for state in &states {
        for (released, with) in target.choices(state) {
            let mut after = with;
            match target.pass(&mut after, &mut responses) {
                Err(task) => {
                    let released: Vec<usize> = members(released).collect();
                    let state = show(model, state);
                    return Err(format!(
                        "task {task} is late if {released:?} release after {state}"
                    ));
                }
                Ok(is_over) if !is_over && !covered(&after) => {
                    let (after, state) = (show(model, &after), show(model, state));
                    return Err(format!("not covered: {after}, after {state}"));
                }
                Ok(_) => {}
            }
        }
    }
    Ok(())
}
