//! The search of `layland check` over all states, beside its slow twin, which has no partial systems, no
//! tasks that are judged by themselves, no pruning and no jumps over time.

use super::{Arrival, Model, STATES, SearchResult, draw, replay, search};
use crate::registry;
use layland_guarantee::search::states::{self, ArrivalGrid, Extent, Outcome, TakenJobs, explore};
use layland_model::{Duration, System};

/// The answer of both searches about a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreed {
    /// No job is late.
    Meets,
    /// Jobs are late, also in the simulator.
    Misses,
    /// The slow twin has too many states.
    GaveUp,
}

/// Returns the jobs of a pattern in the units of the slow twin.
pub fn in_units(system: &System, arrivals: &[states::Arrival]) -> Vec<Arrival> {
    let arrival = |arrival: &states::Arrival| Arrival {
        at: arrival.at.ns(),
        task: arrival.task.0 as usize,
        work: system.tasks[arrival.task].own_wcet().ns(),
    };
    arrivals.iter().map(arrival).collect()
}

/// Runs both searches on a random system, at every unit. The fast one looks for late jobs alone, and
/// then for exact responses as well. Returns `None` if the policy rejects the system.
///
/// # Errors
/// The difference, if there is one.
pub fn compare(
    spec: &str,
    seed: u64,
    index: u64,
    tasks: u64,
    affinities: bool,
) -> Result<Option<Agreed>, String> {
    let system = draw(seed, index, tasks, affinities);
    let Ok(policy) = registry().build(spec, &system) else { return Ok(None) };
    let differs = |what: String| format!("{spec}, set {index} of seed {seed}: {what}: {system:?}");
    let model = Model::new(&system, &*policy, false)
        .ok_or_else(|| differs("the slow twin has no model".to_owned()))?;
    let slow = search(&model, false, STATES);
    for wants_responses in [false, true] {
        let extent = Extent {
            jobs: TakenJobs::Own,
            grid: ArrivalGrid::Tick(Duration::from_ns(1)),
            states: STATES,
            wants_responses,
        };
        let found = explore(&system, &*policy, extent).map_err(&differs)?;
        match (found.outcome, &slow) {
            (_, SearchResult::GaveUp) => return Ok(Some(Agreed::GaveUp)),
            (Outcome::Meets { responses }, SearchResult::Meets { responses: slow, .. }) => {
                for (response, &longest) in responses.values().zip(slow) {
                    let within = response.within.ns();
                    let is_exact = response.is_exact || wants_responses;
                    if within < longest || is_exact && within > longest {
                        return Err(differs(format!("{responses:?}, but {slow:?}")));
                    }
                }
            }
            (Outcome::Misses { arrivals, .. }, SearchResult::Misses { .. }) => {
                if !replay(spec, &system, &in_units(&system, &arrivals)) {
                    return Err(differs(format!("no job is late in a run of {arrivals:?}")));
                }
            }
            (fast, slow) => return Err(differs(format!("{fast:?}, but {slow:?}"))),
        }
    }
    Ok(Some(match slow {
        SearchResult::Meets { .. } => Agreed::Meets,
        SearchResult::Misses { .. } => Agreed::Misses,
        SearchResult::GaveUp => Agreed::GaveUp,
    }))
}
