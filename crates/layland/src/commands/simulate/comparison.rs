//! Simulates one task set under each policy, and once more for the contents of charts and files.

use super::args::SimArgs;
use super::chains;
use crate::ui::exit::Failure;
use crate::ui::gate::Held;
use crate::ui::input::Set;
use crate::ui::progress::{Bar, Lines};
use layland_checker::check;
use layland_model::{Duration, System, Time};
use layland_policy::{Policy, Registry, Schedules};
use layland_sim::{Explored, Horizon, SimError, SimOptions, explored, simulate, simulate_figures};
use layland_trace::{
    Both, ChainFigures, Chained, FirstMiss, Labels, Recorder, Refusals, Statistics, Summary, Trace,
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The longest simulated time by default.
const DEFAULT_LIMIT: Duration = Duration::from_secs(10);

/// The options of simulations.
pub(super) struct Simulate<'a> {
    pub registry: &'a Registry,
    pub args: &'a SimArgs,
    /// True if no progress is shown.
    pub quiet: bool,
    pub interrupt: &'a AtomicBool,
}

/// A task set under each requested policy.
pub(super) struct Comparison<'a> {
    pub args: &'a SimArgs,
    pub set: &'a Set,
    pub horizon: Horizon,
    pub policies: Vec<Simulated>,
    /// True if the simulations were interrupted.
    pub cut: bool,
    interrupt: &'a AtomicBool,
}

/// The result of one policy.
pub(super) struct Simulated {
    /// The policy with its options, as the user wrote it.
    pub spec: String,
    /// The figures, or the reason why the policy rejected the set.
    pub result: Result<Ran, String>,
}

/// The data of one simulation.
pub(super) struct Ran {
    /// The set, with the ranks of an explored order.
    system: System,
    policy: Box<dyn Policy>,
    /// The outcome without the policy, which for many tasks occupies hundreds of megabytes.
    pub outcome: layland_sim::Outcome<()>,
    pub summary: Summary,
    pub first_miss: Option<Time>,
    pub refusals: Refusals,
    /// The measurements of the chains of the set.
    pub chains: Vec<ChainFigures>,
    /// The violations that the checker found, if it was requested.
    pub checked: Option<Vec<String>>,
}

impl Ran {
    /// Returns the constraints on the chains of the set, in the form of limits.
    pub(super) fn constraints(&self) -> Vec<Held> {
        chains::constraints(&self.system, &self.chains)
    }

    /// Returns true if no chain of the run exceeded a constraint.
    pub(super) fn keeps_constraints(&self) -> bool {
        self.constraints().iter().all(|held| held.found.is_none())
    }

    /// Returns the kind of schedules that its policy makes.
    pub(super) fn schedules(&self) -> Schedules {
        self.policy.needs().schedules
    }
}

impl<'a> Comparison<'a> {
    /// Simulates every policy, on all CPUs of this machine.
    pub(super) fn simulate(
        asked: &Simulate<'a>,
        specs: &[String],
        set: &'a Set,
    ) -> Result<Comparison<'a>, Failure> {
        let &Simulate { args, interrupt, .. } = asked;
        let horizon = horizon(args, set);
        if let (Some((from, _)), Some(end)) = (args.window, end(&set.system, horizon))
            && from >= end
        {
            return Err(Failure::usage(format!(
                "the window begins at {from}, and the simulation ends at {end}"
            ))
            .help("choose an earlier --window or a later --until"));
        }
        // The length of a recurrence is known only afterwards.
        if args.check
            && !matches!(horizon, Horizon::Recurrence { .. })
            && let Some(end) = end(&set.system, horizon)
        {
            fits(set.system.arrivals(end), end)?;
        }
        let policies = simulate_all(asked, specs, set, horizon)?;
        let cut = interrupt.load(Ordering::SeqCst);
        Ok(Comparison { args, set, horizon, policies, cut, interrupt })
    }

    /// Simulates again up to some time, and records a window or all of it. Returns true if that was
    /// interrupted.
    pub(super) fn record<R: Recorder>(
        &self,
        ran: &Ran,
        until: Time,
        recorder: &mut R,
    ) -> Result<bool, Failure> {
        let options = SimOptions {
            horizon: Horizon::At(until),
            seed: self.args.seed,
            explore: self.args.explore,
            interrupt: (!self.cut).then_some(self.interrupt),
            progress: None,
        };
        simulate(&ran.system, ran.policy.clone(), recorder, &options)
            .map(|outcome| outcome.interrupted)
            .map_err(cannot_start)
    }

    /// Returns the simulations that took place.
    pub(super) fn ran(&self) -> impl Iterator<Item = &Ran> {
        self.policies.iter().filter_map(|policy| policy.result.as_ref().ok())
    }
}

fn horizon(args: &SimArgs, set: &Set) -> Horizon {
    if let Some(until) = args.until {
        Horizon::At(Time::ZERO + until)
    } else if let Some(count) = args.hyperperiods {
        Horizon::Hyperperiods(count)
    } else if let Some(at_most) = args.cycle {
        Horizon::Recurrence { at_most: Time::ZERO + at_most }
    } else if let Some(until) = set.until {
        Horizon::At(Time::ZERO + until)
    } else {
        Horizon::At(usual_end(&set.system))
    }
}

/// Returns the default end of a simulation.
pub(crate) fn usual_end(system: &System) -> Time {
    let end = after_hyperperiods(system, 2).filter(|&end| end <= DEFAULT_LIMIT);
    Time::ZERO + end.unwrap_or(DEFAULT_LIMIT)
}

/// Returns the end of this many hyperperiods after the last offset, if there is a hyperperiod.
fn after_hyperperiods(system: &System, count: u32) -> Option<Duration> {
    let last_offset = system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
    let length = system.hyperperiod()?.checked_mul(count.into())?;
    last_offset.checked_add(length)
}

/// Returns the latest end of a simulation, if it is known beforehand.
fn end(system: &System, horizon: Horizon) -> Option<Time> {
    match horizon {
        Horizon::At(at) | Horizon::Recurrence { at_most: at } => Some(at),
        Horizon::Hyperperiods(count) => {
            after_hyperperiods(system, count).map(|length| Time::ZERO + length)
        }
    }
}

/// The most jobs of a trace that is checked. The whole trace is kept in memory.
const MOST_JOBS: i128 = 5_000_000;

/// Checks that a trace with this many jobs can be checked.
fn fits(jobs: i128, end: Time) -> Result<(), Failure> {
    if jobs <= MOST_JOBS {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--check needs all {jobs} jobs up to {end:#} in memory, and at most {MOST_JOBS} are kept"
    ))
    .help("simulate a shorter time, with --until; figures, charts and traces as files have no such limit"))
}

/// Reports why a simulation cannot start, with advice.
fn cannot_start(error: SimError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        SimError::NoHyperperiod | SimError::NeverRecurs { .. } | SimError::ProgramsNeverRecur => {
            failure.help("use --until TIME, as in --until 10s")
        }
        SimError::OutOfRange { .. } => failure.help("choose a time within that range"),
    }
}

fn simulate_all(
    asked: &Simulate<'_>,
    specs: &[String],
    set: &Set,
    horizon: Horizon,
) -> Result<Vec<Simulated>, Failure> {
    let &Simulate { registry, args, quiet, interrupt, .. } = asked;
    let all = end(&set.system, horizon);
    let bar = Bar::simulating(all, quiet, args.ascii);
    let lines = Lines::new(quiet);
    let reached: Vec<AtomicU64> = specs.iter().map(|_| AtomicU64::new(0)).collect();
    let policies = specs.par_iter().enumerate().map(|(index, spec)| {
        let show = |now: Time| {
            reached[index].store(now.ns() as u64, Ordering::Relaxed);
            let sum: u64 = reached.iter().map(|at| at.load(Ordering::Relaxed)).sum();
            let mean = sum / reached.len() as u64;
            bar.set_position(mean);
            lines.tell(mean, all.map(|all| all.ns() as u64), || {
                let at = Time::from_ns(i64::try_from(mean).unwrap_or(i64::MAX));
                format!("simulated up to {at:#}")
            });
        };
        let options = SimOptions {
            horizon,
            seed: args.seed,
            explore: args.explore,
            interrupt: Some(interrupt),
            progress: Some(&show),
        };
        let Explored { built_from, simulated } = match (args.explore, registry.parse(spec)) {
            (Some(seed), Ok((info, given))) => explored(&set.system, info.algorithm(&given), seed),
            (Some(_) | None, _) => {
                Explored { built_from: set.system.clone(), simulated: set.system.clone() }
            }
        };
        let result = match registry.build(spec, &built_from) {
            Ok(policy) => Ok(simulate_one(args, simulated, policy, &options)?),
            Err(error) => Err(set.located(error.to_string(), error.task())),
        };
        Ok(Simulated { spec: spec.clone(), result })
    });
    let policies = policies.collect();
    bar.finish();
    policies
}

fn simulate_one(
    args: &SimArgs,
    system: System,
    policy: Box<dyn Policy>,
    options: &SimOptions<'_>,
) -> Result<Ran, Failure> {
    let statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
    let mut recorder = Both(statistics, Both(FirstMiss::default(), Refusals::default()));
    let outcome = simulate_figures(&system, policy.clone(), &mut recorder, options)
        .map_err(cannot_start)?
        .without_policy();
    if args.check && !outcome.interrupted {
        fits(system.arrivals(outcome.end), outcome.end)?;
    }
    let chains = match system.chains.is_empty() {
        true => Vec::new(),
        false => chained(&system, &*policy, outcome.end, options)?,
    };
    let checked = match args.check && !outcome.interrupted {
        true => broken_rules(&system, &*policy, outcome.end, options)?,
        false => None,
    };
    let Both(statistics, Both(FirstMiss(first_miss), refusals)) = recorder;
    let summary = match args.tells_of_tasks() {
        true => statistics.summary(&Labels::of(&system)),
        false => statistics.totals(system.platform.cpu_count()),
    };
    Ok(Ran { system, policy, outcome, summary, first_miss, refusals, chains, checked })
}

/// Measures the data flow of the chains in the same schedule. This is a separate run, so that sets
/// without chains pay nothing. An interrupted run yields partial measurements.
fn chained(
    system: &System,
    policy: &dyn Policy,
    end: Time,
    options: &SimOptions<'_>,
) -> Result<Vec<ChainFigures>, Failure> {
    let mut chained = Chained::new(system);
    let options = SimOptions { horizon: Horizon::At(end), progress: None, ..*options };
    simulate(system, policy.clone_policy(), &mut chained, &options).map_err(cannot_start)?;
    Ok(chained.figures(system))
}

/// Returns the violations that the checker finds in the same schedule; `None` if that was
/// interrupted.
fn broken_rules(
    system: &System,
    policy: &dyn Policy,
    end: Time,
    options: &SimOptions<'_>,
) -> Result<Option<Vec<String>>, Failure> {
    let mut trace = Trace::default();
    let options = SimOptions { horizon: Horizon::At(end), progress: None, ..*options };
    let again =
        simulate(system, policy.clone_policy(), &mut trace, &options).map_err(cannot_start)?;
    if again.interrupted {
        return Ok(None);
    }
    let report = check(&trace, system, &policy.rule(), 20);
    Ok(Some(match report.is_clean() {
        true => Vec::new(),
        false => report.to_string().lines().map(str::to_owned).collect(),
    }))
}
