//! Simulations.

use crate::errors;
use crate::patience::{Stop, Watch};
use crate::policy;
use crate::system::System;
use crate::trace::{Recorded, Recording};
use layland_model::{Duration, ScheduleRule, Time};
use layland_policy::{Policy, Registry};
use layland_sim::{Explored, Horizon, Outcome, SimError, SimOptions, explored, simulate};
use layland_trace::{
    Both, FirstMiss, Labels, NoRecord, Recorder, Refusals, Statistics, Summary, Trace,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;

/// The results of a simulation.
#[pyclass(frozen, name = "Simulated", module = "layland._layland")]
pub(crate) struct Simulated {
    policy: String,
    outcome: Outcome<()>,
    summary: Summary,
    first_miss: Option<Time>,
    refusals: Refusals,
    recording: Option<Py<Recording>>,
}

#[pymethods]
impl Simulated {
    /// The policy with its options.
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }
    /// The end of the run, in nanoseconds.
    #[getter]
    fn end_ns(&self) -> i64 {
        self.outcome.end.ns()
    }
    /// The number of events that the policy received.
    #[getter]
    fn events(&self) -> u64 {
        self.outcome.events
    }
    /// The number of decisions that it made.
    #[getter]
    fn decisions(&self) -> u64 {
        self.outcome.decisions
    }
    /// The first deadline that was missed, in nanoseconds.
    #[getter]
    fn first_missed_deadline_ns(&self) -> Option<i64> {
        self.first_miss.map(Time::ns)
    }
    /// The number of requests that the policy refused, and the number of tasks among them that asked to enter.
    #[getter]
    fn refusals(&self) -> (u64, u64) {
        (self.refusals.count, self.refusals.entries)
    }
    /// The time from which the state recurs, and the length of the cycle, in nanoseconds.
    #[getter]
    fn cycle_ns(&self) -> Option<(i64, i64)> {
        self.outcome.cycle.map(|cycle| (cycle.from.ns(), cycle.length.ns()))
    }
    /// The figures as JSON.
    fn summary_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
    /// The schedule, if it was recorded.
    #[getter]
    fn recording(&self, py: Python<'_>) -> Option<Py<Recording>> {
        self.recording.as_ref().map(|recording| recording.clone_ref(py))
    }
}

/// The length of a simulation, in nanoseconds or hyperperiods; the first field that is given
/// counts.
#[derive(Clone, Copy, FromPyObject)]
pub(crate) struct HowLong {
    #[pyo3(item)]
    until: Option<i64>,
    #[pyo3(item)]
    hyperperiods: Option<u32>,
    #[pyo3(item)]
    cycle: Option<i64>,
}

impl HowLong {
    fn horizon(self, system: &System) -> Horizon {
        let usual = || layland::answers::usual_end(system.inner());
        match self {
            HowLong { until: Some(until), .. } => Horizon::At(Time::from_ns(until)),
            HowLong { hyperperiods: Some(count), .. } => Horizon::Hyperperiods(count),
            HowLong { cycle: Some(at_most), .. } => {
                Horizon::Recurrence { at_most: Time::from_ns(at_most) }
            }
            HowLong { until: None, hyperperiods: None, cycle: None } => Horizon::At(
                system.asked_until().map_or_else(usual, |until: Duration| Time::ZERO + until),
            ),
        }
    }
}

/// The options of a simulation besides its length.
#[derive(FromPyObject)]
pub(crate) struct Wishes {
    #[pyo3(item)]
    seed: u64,
    #[pyo3(item)]
    explore: Option<u64>,
    /// True if the schedule is recorded.
    #[pyo3(item)]
    record: bool,
    #[pyo3(item)]
    progress: Option<Py<PyAny>>,
}

/// Simulates a system under a policy, built-in or of these Python classes.
pub(crate) fn run(
    py: Python<'_>,
    system: &System,
    spec: &str,
    classes: &[Py<PyAny>],
    how_long: HowLong,
    wishes: &Wishes,
) -> PyResult<Simulated> {
    let stop = Stop::of_work(py)?;
    let registry = policy::registry(py, classes, &stop)?;
    let Wishes { seed, explore, record, progress } = wishes;
    let (canonical, model) = (registry.canonical(spec), system.inner());
    let spec = canonical.map_err(|error| errors::build(py, spec, model, &error))?;
    let Explored { built_from, simulated } = deal(&registry, &spec, model, *explore);
    let built = py.detach(|| registry.build(&spec, &built_from));
    // Raise the error of a Python class first: it is the cause of a failed build.
    stop.raise()?;
    let policy = built.map_err(|error| errors::build(py, &spec, model, &error))?;
    let rule = policy.rule();
    let horizon = how_long.horizon(system);
    if *record {
        fits(py, model, horizon)?;
    }
    let watch = Watch::new(&stop, progress.as_ref());
    let tell = |now: Time| watch.tell(now.ns());
    let options = SimOptions {
        horizon,
        seed: *seed,
        explore: *explore,
        interrupt: Some(&stop.stopped),
        progress: Some(&tell),
    };
    let labels = Labels::of(model);
    let simulate = || match record {
        true => {
            let ran = figures(&simulated, policy, &options, &labels, Trace::default());
            ran.map(|(ran, trace)| (ran, Some(trace)))
        }
        false => {
            let ran = figures(&simulated, policy, &options, &labels, NoRecord);
            ran.map(|(ran, NoRecord)| (ran, None))
        }
    };
    // A Python policy needs the lock at every decision. Releasing and taking it that often would
    // make other threads wait for long, because there is no fair handover. While Python methods
    // run, the interpreter hands it over.
    let ran = if classes.is_empty() { py.detach(simulate) } else { simulate() };
    stop.raise()?;
    let (ran, trace) = ran.map_err(|error| errors::simulation(py, &error))?;
    let Ran { outcome, summary, first_miss, refusals } = ran;
    let recording = trace.map(|trace| {
        let recorded =
            Recorded { trace, labels, how: None, summary: Some(summary.clone()), json: None };
        Py::new(py, Recording { recorded: Arc::new(recorded), rule: Some(rule) })
    });
    let recording = recording.transpose()?;
    Ok(Simulated { policy: spec, outcome, summary, first_miss, refusals, recording })
}

/// The limit on the jobs of a recorded schedule: it is kept in memory.
const MOST_JOBS: i128 = 5_000_000;

/// Checks that the schedule can be recorded, as far as its length is known in advance.
fn fits(py: Python<'_>, system: &layland_model::System, horizon: Horizon) -> PyResult<()> {
    let end = match horizon {
        Horizon::At(at) => Some(at),
        Horizon::Hyperperiods(count) => {
            let length = system.hyperperiod().and_then(|length| length.checked_mul(count.into()));
            length.map(|length| Time::ZERO.saturating_add(length))
        }
        // The recurrence is known only afterwards.
        Horizon::Recurrence { .. } => None,
    };
    let jobs = end.map_or(0, |end| system.arrivals(end));
    if jobs <= MOST_JOBS {
        return Ok(());
    }
    let message = format!("the schedule has {jobs} jobs, and at most {MOST_JOBS} are recorded");
    let help = "simulate a shorter time, or the figures alone with record=False";
    Err(errors::usage(py, &message, Some(help)))
}

/// Chooses the system with the ranks from which the policy is built, and the one that it schedules.
fn deal(
    registry: &Registry,
    spec: &str,
    system: &layland_model::System,
    explore: Option<u64>,
) -> Explored {
    match (explore, registry.parse(spec)) {
        (Some(seed), Ok((info, given))) => explored(system, info.algorithm(&given), seed),
        (Some(_) | None, _) => Explored { built_from: system.clone(), simulated: system.clone() },
    }
}

struct Ran {
    outcome: Outcome<()>,
    summary: Summary,
    first_miss: Option<Time>,
    refusals: Refusals,
}

/// Simulates with the statistics of the command, and another recorder.
fn figures<R: Recorder>(
    system: &layland_model::System,
    policy: Box<dyn Policy>,
    options: &SimOptions<'_>,
    labels: &Labels,
    other: R,
) -> Result<(Ran, R), SimError> {
    let statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
    let told = Both(FirstMiss::default(), Refusals::default());
    let mut recorder = Both(Both(statistics, told), other);
    let outcome = simulate(system, policy, &mut recorder, options)?;
    // Drop the policy now: a Python policy must be dropped with the interpreter's lock held.
    let outcome = outcome.without_policy();
    let Both(Both(statistics, Both(FirstMiss(first_miss), refusals)), other) = recorder;
    let summary = statistics.summary(labels);
    Ok((Ran { outcome, summary, first_miss, refusals }, other))
}

/// Returns the rule that every schedule of a policy keeps on a system.
pub(crate) fn rule(
    py: Python<'_>,
    system: &System,
    spec: &str,
    classes: &[Py<PyAny>],
) -> PyResult<ScheduleRule> {
    let stop = Stop::of_work(py)?;
    let registry = policy::registry(py, classes, &stop)?;
    let built = py.detach(|| registry.build(spec, system.inner()));
    stop.raise()?;
    Ok(built.map_err(|error| errors::build(py, spec, system.inner(), &error))?.rule())
}

/// The description of a policy: its name, its title, its behaviour, its refusals, its options with
/// their meaning, and its sources as BibTeX.
pub(crate) type Known =
    (String, String, String, Vec<String>, Vec<(String, String)>, Vec<&'static str>);

/// Every policy of the registry.
#[pyfunction]
pub(crate) fn policies() -> Vec<Known> {
    let registry = Registry::standard();
    let text = |text: &layland_policy::Text| text.to_string();
    let known = registry.iter().map(|info| {
        let options = info.options.iter();
        (
            text(&info.name),
            text(&info.title),
            text(&info.summary),
            info.refuses.iter().map(text).collect(),
            options.map(|option| (text(&option.name), text(&option.help))).collect(),
            info.citations.iter().map(|citation| citation.bibtex).collect(),
        )
    });
    known.collect()
}
