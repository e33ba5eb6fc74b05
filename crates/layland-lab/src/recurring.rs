//! The counts of a simulation up to the horizon, computed from a short simulation if the schedule
//! recurs.
//!
//! Once a state recurs, the schedule repeats itself. Let a state recur first at `t1`, after a cycle
//! of length `L`. The counts at `t1 + L` less the counts at `t1` are those of each further turn, so
//! two short runs determine the counts of a long one. The first turn must be excluded: whether the
//! first job of a task migrates depends on the CPU on which the task executed before, which is not
//! part of the state.
//!
//! This is only used if enough turns are left, and if they end at the horizon.

use crate::measure::Conditions;
use crate::observe::Observer;
use layland_model::{Duration, System, TaskMap, Time};
use layland_policy::{Count, Policy};
use layland_sim::{Horizon, SimError, SimOptions, simulate};
use layland_trace::{Both, Counters, NoRecord, TaskCounters};

/// The number of hyperperiods that are searched for a recurrence.
const LOOKED_AT: i64 = 4;

/// The minimum length of the horizon, as a multiple of the length of the search.
const WORTH_IT: i64 = 4;

/// The counts at the end of a run.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub tasks: TaskMap<TaskCounters>,
    pub observer: Observer,
    /// The counts of the policy.
    pub counts: Vec<Count>,
}

/// The counts of a simulation up to the horizon; `None` if it was interrupted.
///
/// # Errors
/// Returns an error if it cannot start.
pub(crate) fn counted<P: Policy + Clone>(
    system: &System,
    policy: &P,
    seed: u64,
    conditions: &Conditions<'_>,
) -> Result<Option<Counted>, SimError> {
    let run = |horizon: Horizon| run(system, policy.clone(), (horizon, seed), conditions);
    if let Some((once, twice, turns)) = turns(system, policy, conditions.horizon) {
        let (Some(before), Some(now)) = (run(Horizon::At(once))?, run(Horizon::At(twice))?) else {
            return Ok(None);
        };
        return Ok(Some(now.after(&before, turns)));
    }
    run(conditions.horizon)
}

/// The ends of the first two turns of the cycle, and the number of turns from there to the horizon.
/// Only the second of them counts like all later ones.
fn turns<P: Policy + Clone>(
    system: &System,
    policy: &P,
    horizon: Horizon,
) -> Option<(Time, Time, u64)> {
    let Horizon::At(end) = horizon else { return None };
    let looked_at = system.hyperperiod()?.checked_mul(LOOKED_AT)?;
    let offset = system.tasks.values().map(|task| task.offset).max()?;
    let at_most = Time::ZERO + offset.checked_add(looked_at)?;
    if (at_most - Time::ZERO).checked_mul(WORTH_IT)? > end - Time::ZERO {
        return None;
    }
    let options = SimOptions { horizon: Horizon::Recurrence { at_most }, ..SimOptions::until(end) };
    // A schedule with random draws does not recur.
    let outcome = simulate(system, policy.clone(), &mut NoRecord, &options).ok()?;
    let cycle = outcome.cycle?;
    let once = cycle.from + cycle.length;
    let twice = once + cycle.length;
    let left = end - twice;
    // The extrapolation is exact only if a turn ends at the horizon.
    let whole = left >= Duration::ZERO && left % cycle.length == Duration::ZERO;
    whole.then(|| (once, twice, (left.ns() / cycle.length.ns()) as u64))
}

fn run<P: Policy>(
    system: &System,
    policy: P,
    (horizon, seed): (Horizon, u64),
    conditions: &Conditions<'_>,
) -> Result<Option<Counted>, SimError> {
    let counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    let mut recorder = Both(counters, Observer::new(system, conditions.distribution));
    let options = SimOptions {
        horizon,
        seed,
        interrupt: conditions.interrupt,
        ..SimOptions::until(Time::ZERO)
    };
    let outcome = simulate(system, policy, &mut recorder, &options)?;
    if outcome.interrupted {
        return Ok(None);
    }
    let Both(counters, observer) = recorder;
    let tasks = system.tasks.ids().map(|task| counters.task(task)).collect();
    Ok(Some(Counted { tasks, observer, counts: outcome.policy.counts() }))
}

impl Counted {
    /// Extrapolates the counts of a run with `turns` more turns, where this run has one turn more
    /// than `earlier`.
    fn after(&self, earlier: &Counted, turns: u64) -> Counted {
        let tasks = self.tasks.iter().map(|(task, now)| now.after(&earlier.tasks[task], turns));
        let counts = self.counts.iter().zip(&earlier.counts).map(|(now, before)| Count {
            count: now.count + turns * (now.count - before.count),
            ..*now
        });
        Counted {
            tasks: tasks.collect(),
            observer: self.observer.after(&earlier.observer, turns),
            counts: counts.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_gen::{Periods, Recipe, Utilizations};
    use layland_model::Rate;
    use layland_policy::Registry;
    use std::collections::BTreeMap;

    /// Under every policy, a short run and its turns have the counts of the long run.
    #[test]
    fn turns_count_what_a_long_run_counts() {
        let registry = Registry::standard();
        let end = Time::from_ms(1_640);
        let conditions = Conditions {
            registry: &registry,
            horizon: Horizon::At(end),
            distribution: true,
            interrupt: None,
        };
        let mut seen: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
        for (seed, total) in (0..).zip([12, 15, 18, 19, 20, 21].into_iter().cycle().take(60)) {
            let utilizations = Utilizations::RandFixedSum {
                tasks: 5,
                total: Rate::new(total, 10),
                min: Rate::ZERO,
                max: Rate::ONE,
            };
            let mut recipe = Recipe::new(2, utilizations, seed);
            recipe.periods = Periods::Choice([10, 20, 40].map(Duration::from_ms).to_vec());
            recipe.granularity = Duration::from_ms(1);
            let generator = recipe.generator().expect("the recipe is feasible");
            let mut system = generator.generate(seed).expect("the recipe is feasible");
            // The first release is not always that of the cycle.
            for (index, task) in system.tasks.values_mut().enumerate() {
                task.offset = Duration::from_ms(if seed % 3 == 0 { 7 * index as i64 } else { 0 });
            }
            for info in registry.iter() {
                let Ok(policy) = registry.build(&info.name, &system) else { continue };
                let long = run(&system, policy.clone(), (conditions.horizon, 0), &conditions);
                let short = counted(&system, &policy, 0, &conditions);
                let recurs = turns(&system, &policy, conditions.horizon).is_some();
                seen.entry(&*info.name).or_default()[usize::from(recurs)] += 1;
                let [long, short] = [long, short].map(|counted| {
                    let mut counted = counted.expect("in range").expect("nobody interrupts");
                    counted.observer.forget_times();
                    counted
                });
                assert_eq!(long.tasks, short.tasks, "{} {seed}", info.name);
                assert_eq!(long.observer, short.observer, "{} {seed}", info.name);
                assert_eq!(long.counts, short.counts, "{} {seed}", info.name);
            }
        }
        println!("{seen:?}");
        let recur = seen.values().filter(|[_, recurs]| *recurs > 5).count();
        assert!(recur > 20, "{seen:?}");
    }
}
