//! Simulates every requested policy.

use super::how_often::ObservedConstraint;
use super::question::SimulateQuestion;
use super::simulated::{PolicyRun, Ran, Simulated, exit};
use crate::limits::{self, Bounds};
use crate::{Set, Unanswered};
use layland_checker::check;
use layland_model::{System, Task, TaskId, Time};
use layland_policy::{BuildError, Policy, Registry};
use layland_sim::{
    Cycle, Explored, Horizon, SimError, SimOptions, explored, simulate, simulate_figures,
};
use layland_trace::{
    Both, ChainFigures, Chained, FirstMiss, Labels, Outcomes, Refusals, Statistics, Trace,
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The interrupt and the progress of a simulation, while a front end waits for the answer.
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    /// Ends the simulations early, with their figures so far, when it becomes true.
    pub interrupt: Option<&'a AtomicBool>,
    /// Receives the mean of the times that the policies have reached, again and again.
    pub progress: Option<&'a (dyn Fn(Time) + Sync)>,
}

/// The most jobs of a trace that is checked. The whole trace is kept in memory.
const MOST_JOBS: i128 = 5_000_000;

impl SimulateQuestion {
    /// Answers the question about a set, with the policies in parallel.
    ///
    /// # Errors
    /// As of [`resolved`](Self::resolved); if the simulation cannot start; and if a limit names
    /// something that does not exist.
    pub fn ask(
        &self,
        registry: &Registry,
        set: Set,
        watch: &Watch<'_>,
    ) -> Result<Simulated, Unanswered> {
        self.clone().resolved(registry)?.answer(registry, set, watch)
    }

    /// Answers a [resolved](Self::resolved) question about a set. Callers with many sets resolve
    /// the question once.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask).
    pub fn answer(
        &self,
        registry: &Registry,
        set: Set,
        watch: &Watch<'_>,
    ) -> Result<Simulated, Unanswered> {
        let specs = self.policies_for(registry, &set);
        limits::known(&self.limits, &set.system)?;
        let bounds = |spec| limits::bounds(&self.limits, registry, spec, &set.system, "");
        let bounds = specs.iter().map(|spec| bounds(spec)).collect::<Result<Vec<_>, _>>()?;
        let horizon = self.horizon_for(&set);
        // The length of a recurrence is known only afterwards.
        if self.check
            && !matches!(horizon, Horizon::Recurrence { .. })
            && let Some(end) = self.latest_end(&set)
        {
            fits(set.system.arrivals(end), end)?;
        }
        let policies = self.simulate_all(registry, &specs, &bounds, &set, watch)?;
        let interrupted = watch.interrupt.is_some_and(|flag| flag.load(Ordering::SeqCst));
        let exit = exit(&policies, interrupted);
        let question = SimulateQuestion { policies: specs, ..self.clone() };
        Ok(Simulated { set, question, horizon, policies, interrupted, exit })
    }

    /// Builds a policy for a system. Returns also the system that it schedules, in which an
    /// exploration breaks ties by other ranks.
    ///
    /// # Errors
    /// If the policy does not exist, or rejects the system.
    pub fn build(
        &self,
        registry: &Registry,
        spec: &str,
        system: &System,
    ) -> Result<(System, Box<dyn Policy>), BuildError> {
        let Some(seed) = self.explore else {
            return Ok((system.clone(), registry.build(spec, system)?));
        };
        let (info, options) = registry.parse(spec)?;
        let Explored { built_from, simulated } = explored(system, info.algorithm(&options), seed);
        Ok((simulated, registry.build(spec, &built_from)?))
    }

    fn simulate_all(
        &self,
        registry: &Registry,
        specs: &[String],
        bounds: &[Bounds],
        set: &Set,
        watch: &Watch<'_>,
    ) -> Result<Vec<PolicyRun>, Unanswered> {
        let reached: Vec<AtomicU64> = specs.iter().map(|_| AtomicU64::new(0)).collect();
        let policies = specs.par_iter().zip(bounds).enumerate().map(|(index, (spec, bounds))| {
            let tell = watch.progress.map(|progress| {
                let reached = &reached;
                move |now: Time| {
                    reached[index].store(now.ns() as u64, Ordering::Relaxed);
                    let sum: u64 = reached.iter().map(|at| at.load(Ordering::Relaxed)).sum();
                    let mean = sum / reached.len() as u64;
                    progress(Time::from_ns(i64::try_from(mean).unwrap_or(i64::MAX)));
                }
            });
            let options = SimOptions {
                horizon: self.horizon_for(set),
                seed: self.seed,
                explore: self.explore,
                event_loop: self.event_loop,
                interrupt: watch.interrupt,
                progress: tell.as_ref().map(|tell| tell as &(dyn Fn(Time) + Sync)),
            };
            let result = match self.build(registry, spec, &set.system) {
                Ok((system, policy)) => Ok(self.simulate_one(system, policy, &options)?),
                Err(error) => Err(set.located(error.to_string(), error.task())),
            };
            let held = result.iter().flat_map(|ran| {
                self.limits
                    .iter()
                    .map(|limit| limit.judge(&ran.summary, bounds, (&ran.system, &ran.outcomes)))
            });
            let held = held.collect();
            Ok(PolicyRun { spec: spec.clone(), result, held })
        });
        policies.collect()
    }

    fn simulate_one(
        &self,
        system: System,
        policy: Box<dyn Policy>,
        options: &SimOptions<'_>,
    ) -> Result<Ran, Unanswered> {
        let statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
        let mut recorder = Both(statistics, Both(FirstMiss::default(), Refusals::default()));
        let outcome = simulate_figures(&system, policy.clone(), &mut recorder, options)
            .map_err(cannot_start)?
            .without_policy();
        let checks = self.check && !outcome.interrupted;
        if checks {
            fits(system.arrivals(outcome.end), outcome.end)?;
        }
        let again = SimOptions { horizon: Horizon::At(outcome.end), progress: None, ..*options };
        let chains =
            if system.chains.is_empty() { Vec::new() } else { chained(&system, &*policy, &again)? };
        let is_asked = self.limits.iter().any(limits::Limit::needs_outcomes);
        let (outcomes, how_often) = how_often(&system, &*policy, &outcome, &again, is_asked)?;
        let broken_rules = if checks { broken_rules(&system, &*policy, &again)? } else { None };
        let Both(statistics, Both(FirstMiss(first_miss), refusals)) = recorder;
        let is_hard = |id: &TaskId| !system.tasks[*id].has_constraints();
        let missed = |id: TaskId| statistics.counters().task(id).missed;
        let missed_of_hard = system.tasks.ids().filter(is_hard).map(missed).sum();
        // A limit is about the figures of tasks.
        let summary = if self.tasks || !self.limits.is_empty() {
            statistics.summary(&Labels::of(&system))
        } else {
            statistics.totals(system.platform.cpu_count())
        };
        Ok(Ran {
            system,
            policy,
            outcome,
            summary,
            first_miss,
            missed_of_hard,
            refusals,
            chains,
            outcomes,
            how_often,
            broken_rules,
        })
    }
}

/// Checks that a trace with this many jobs can be checked.
fn fits(jobs: i128, end: Time) -> Result<(), Unanswered> {
    if jobs <= MOST_JOBS {
        return Ok(());
    }
    Err(Unanswered::usage(format!(
        "--check needs all {jobs} jobs up to {end:#} in memory, and at most {MOST_JOBS} are kept"
    ))
    .help("simulate a shorter time, with --until; figures, charts and traces as files have no such limit"))
}

/// Reports why a simulation cannot start, with advice.
pub(super) fn cannot_start(error: SimError) -> Unanswered {
    let unanswered = Unanswered::usage(error.to_string());
    match error {
        SimError::NoHyperperiod | SimError::NeverRecurs { .. } | SimError::ProgramsNeverRecur => {
            unanswered.help("use --until TIME, as in --until 10s")
        }
        SimError::OutOfRange { .. } => unanswered.help("choose a time within that range"),
    }
}

/// Measures the data flow of the chains in the same schedule. This is a separate run, so that sets
/// without chains pay nothing. An interrupted run yields partial measurements.
fn chained(
    system: &System,
    policy: &dyn Policy,
    options: &SimOptions<'_>,
) -> Result<Vec<ChainFigures>, Unanswered> {
    let mut chained = Chained::new(system);
    simulate(system, policy.clone_policy(), &mut chained, options).map_err(cannot_start)?;
    Ok(chained.figures(system))
}

/// Returns the outcomes of all jobs, and judges the weakly hard constraints, in the same schedule,
/// or, if it recurs, in all of it. This is a separate run, so that questions without constraints pay
/// nothing.
fn how_often(
    system: &System,
    policy: &dyn Policy,
    outcome: &layland_sim::Outcome<()>,
    options: &SimOptions<'_>,
    is_asked: bool,
) -> Result<(Outcomes, Vec<ObservedConstraint>), Unanswered> {
    let has_constraints = system.tasks.values().any(Task::has_constraints);
    if !has_constraints && !is_asked {
        return Ok((Outcomes::default(), Vec::new()));
    }
    // The jobs of one turn of a cycle are decided by their deadlines.
    let longest = system.tasks.values().map(|task| task.deadline + task.jitter).max();
    let decided = |cycle: Cycle| {
        cycle.from.saturating_add(cycle.length).saturating_add(longest.unwrap_or_default())
    };
    let cycle = outcome.cycle.filter(|_| !outcome.interrupted);
    let end = cycle.map_or(outcome.end, |cycle| decided(cycle).max(outcome.end));
    let options = SimOptions { horizon: Horizon::At(end), ..*options };
    let mut outcomes = Outcomes::default();
    simulate(system, policy.clone_policy(), &mut outcomes, &options).map_err(cannot_start)?;
    let observed = ObservedConstraint::all(system, &outcomes, cycle);
    Ok((outcomes, observed))
}

/// Returns the violations that the checker finds in the same schedule; `None` if that was
/// interrupted.
fn broken_rules(
    system: &System,
    policy: &dyn Policy,
    options: &SimOptions<'_>,
) -> Result<Option<Vec<String>>, Unanswered> {
    let mut trace = Trace::default();
    let again =
        simulate(system, policy.clone_policy(), &mut trace, options).map_err(cannot_start)?;
    if again.interrupted {
        return Ok(None);
    }
    let report = check(&trace, system, &policy.rule(), 20);
    Ok(Some(if report.is_clean() {
        Vec::new()
    } else {
        report.to_string().lines().map(str::to_owned).collect()
    }))
}
