//! The smallest bound of each task.

use crate::about::is_of_caches;
use crate::assessment::{Assessment, Bound};
use crate::options::AssessOptions;
use crate::seen::Seen;
use crate::views::Bounds;
use layland_analysis::{ResponseBound, Tardiness, TestKind, Verdict, catalogue};
use layland_model::{Algorithm, Behaviour, Duration, System, TaskId, TaskMap};

/// Returns the smallest bound of each task. The tardiness of a task with a larger WCET bounds that
/// of the task itself.
pub(super) fn bounds(
    algorithm: Algorithm,
    views: &[Seen<'_>],
    (system, counts_reloads): (&System, bool),
    found: &Assessment,
    options: &AssessOptions,
) -> TaskMap<Bound> {
    // The job of a thread that never blocks is a budget: it counts from a period before its
    // deadline.
    let sooner = |id: TaskId| {
        let task = &system.tasks[id];
        let is_hog = algorithm.schedules_threads() && task.behaviour == Behaviour::Hog;
        if is_hog { task.period - task.deadline } else { Duration::ZERO }
    };
    let mut bounds = TaskMap::filled(Bound::Unknown, system.tasks.len());
    for seen in views.iter().filter(|seen| seen.bounds != Bounds::None) {
        for at in seen.about.responses.iter() {
            let analysis = &catalogue::RESPONSES[at];
            if !options.bounds_by(analysis.name) {
                continue;
            }
            if !counts_reloads && is_of_caches(analysis.assumptions) {
                continue;
            }
            let Ok(responses) = seen.known.responses(at) else { continue };
            // If a bound depends on ties, it is reached only if they go by rank.
            let has_ties = analysis.depends_on_ties();
            let reached = if has_ties && seen.has_ties_by_rank && seen.bounds == Bounds::All {
                seen.known.responses_by_rank(at).as_ref().ok().and_then(Option::as_ref)
            } else {
                None
            };
            let in_time = |(id, response): (TaskId, &Option<ResponseBound>)| {
                let deadline = seen.known.system().tasks[id].deadline;
                response.as_ref().is_some_and(|response| response.response <= deadline)
            };
            if seen.bounds == Bounds::InTime && !responses.iter().all(in_time) {
                continue;
            }
            for response in responses.values().flatten() {
                let is_served = system.tasks[response.task].budget.is_some();
                if seen.bounds == Bounds::Unserved && is_served {
                    continue;
                }
                let bound = &mut bounds[response.task];
                let within = response.response + sooner(response.task);
                if !matches!(bound, Bound::Response { within: known, .. } if *known <= within) {
                    let by = analysis.name;
                    let task = &seen.known.system().tasks[response.task];
                    // No run has to block a job for as long as the bound assumes.
                    let is_blocked = task.blocking_time > Duration::ZERO;
                    let kind = match seen.bounds {
                        Bounds::All if is_blocked => TestKind::Sufficient,
                        Bounds::All if !has_ties => analysis.kind,
                        Bounds::All
                            if reached.is_some_and(|reached| {
                                reached[response.task].as_ref() == Some(response)
                            }) =>
                        {
                            analysis.kind
                        }
                        Bounds::All
                        | Bounds::Above
                        | Bounds::Unserved
                        | Bounds::InTime
                        | Bounds::None => TestKind::Sufficient,
                    };
                    let per_level = response.per_level.clone();
                    *bound = Bound::Response { within, by, kind, per_level };
                }
            }
        }
    }
    if let (Verdict::Yes, Some(by)) = (found.verdict, found.decided_by) {
        for (id, task) in system.tasks.iter() {
            let within = task.deadline + sooner(id);
            let closer =
                matches!(&bounds[id], Bound::Response { within: known, .. } if *known <= within);
            if !closer {
                let (kind, per_level) = (TestKind::Sufficient, Vec::new());
                bounds[id] = Bound::Response { within, by, kind, per_level };
            }
        }
        return bounds;
    }
    let of_late = |seen: &&Seen<'_>| matches!(seen.bounds, Bounds::All | Bounds::Above);
    for seen in views.iter().filter(of_late) {
        for at in seen.about.bounds.iter() {
            let analysis = &catalogue::BOUNDS[at];
            if !options.bounds_by(analysis.name) {
                continue;
            }
            let Ok(Tardiness::Bounded(found)) = seen.known.tardiness(at) else { continue };
            for tardiness in found.values() {
                let bound = &mut bounds[tardiness.task];
                let closer = match bound {
                    Bound::Response { .. } => true,
                    Bound::Tardiness { within, .. } => *within <= tardiness.tardiness,
                    Bound::Unknown => false,
                };
                if !closer {
                    let (within, by) = (tardiness.tardiness.clone(), analysis.name);
                    *bound = Bound::Tardiness { within, by };
                }
            }
        }
    }
    bounds
}
