//! A comparison of a set that was inferred from a trace with that trace.
//!
//! If the set is as demanding as the threads were, the observed run is one run of the set: then no
//! bound is below an observed response time, and no guaranteed deadline was missed. Where this does
//! not hold, the set leaves something out, and the answers of analyses do not apply to the threads.

use crate::assess::assess;
use crate::assessment::Bound;
use crate::options::{AssessOptions, BoundsBy, Effort, Findings, Wanted};
use layland_analysis::Verdict;
use layland_model::{Duration, Rate, System, TaskId, TaskMap};
use layland_policy::Registry;

/// An observation of a task in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The longest response time of a job; for an unfinished job, its time so far.
    pub response: Duration,
}

/// Returns the observations of a trace that contradict the analysis of the set under these
/// policies, in sentences without full stops.
///
/// ```
/// use layland_guarantee::{Shown, unexplained};
/// use layland_model::{Duration, Service, System, Task};
/// use layland_policy::Registry;
/// let mut task = Task::implicit("control", Service::from_ms(2), Duration::from_ms(10));
/// task.priority = Some(39);
/// let system = System::new(1, vec![task]);
/// let of = |ms| {
///     let shown = vec![Shown { response: Duration::from_ms(ms) }].into();
///     unexplained(&Registry::standard(), &system, &shown, &["p-fp"])
/// };
/// assert!(of(2).is_empty());
/// assert_eq!(of(5), ["under p-fp `control` takes at most 2 ms, and a job took 5 ms"]);
/// ```
pub fn unexplained(
    registry: &Registry,
    system: &System,
    shown: &TaskMap<Shown>,
    policies: &[&str],
) -> Vec<String> {
    let wanted = Wanted { findings: Findings::Verdict, bounds: BoundsBy::All, ..Wanted::default() };
    let options = AssessOptions { wanted, effort: Effort::Quick, ..AssessOptions::default() };
    let mut sentences = Vec::new();
    let mut named: Vec<TaskId> = Vec::new();
    let mut refused: Option<&&str> = None;
    for spec in policies {
        // An unknown policy, or one that cannot schedule such a set, says nothing about the trace.
        let Ok(found) = assess(registry, spec, system, &options) else { continue };
        if found.refused.is_some() {
            // No fixed-priority policy schedules tasks with one CPU beside tasks with several.
            let tied = system.tasks.values().filter(|task| task.affinity.is_some()).count();
            if tied > 0 && tied < system.tasks.len() && refused.replace(spec).is_some() {
                let which = "some threads may use one CPU and others several";
                sentences
                    .push(format!("{which}, and no policy schedules such a set as it was seen"));
            }
            continue;
        }
        for (id, task) in system.tasks.iter() {
            let Some(seen) = shown.get(id).map(|shown| shown.response) else { continue };
            let within = match found.bounds.get(id) {
                Some(Bound::Response { within, .. }) => Some(Rate::whole(within.ns())),
                Some(Bound::Tardiness { within, .. }) => {
                    Some(within + &Rate::whole(task.deadline.ns()))
                }
                Some(Bound::Unknown) | None => None,
            };
            let is_guaranteed = found.verdict == Verdict::Yes;
            let name = &task.name;
            let sentence = match within {
                Some(within) if Rate::whole(seen.ns()) > within => {
                    let within = Duration::from_ns(within.ceil().unwrap_or(i64::MAX));
                    format!(
                        "under {spec} `{name}` takes at most {within:#}, and a job took {seen:#}"
                    )
                }
                Some(_) | None if is_guaranteed && seen > task.deadline => format!(
                    "under {spec} `{name}` is never later than {:#}, and a job took {seen:#}",
                    task.deadline
                ),
                Some(_) | None => continue,
            };
            if !named.contains(&id) {
                named.push(id);
                sentences.push(sentence);
            }
        }
    }
    sentences
}
