//! Simulations.

use crate::errors;
use crate::patience::{Stop, Watch};
use crate::policy;
use crate::system::System;
use crate::trace::{Recorded, Recording};
use layland::answers::simulate::measured_chains;
use layland::answers::{Set, SimulateQuestion, UsualPolicy};
use layland_model::{ScheduleRule, Time};
use layland_policy::{Policy, Registry};
use layland_sim::{Horizon, Outcome, SimError, SimOptions, simulate};
use layland_trace::{
    Both, Chained, FirstMiss, Labels, NoRecord, Recorder, Refusals, Statistics, Summary, Trace,
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
    /// The reason for the choice of the policy, if the user named none.
    because: Option<&'static str>,
    /// The measured chains, as JSON.
    chains: String,
}

#[pymethods]
impl Simulated {
    /// The policy with its options.
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }
    /// The reason for the choice of the policy, if the question named none: a clause after "because".
    #[getter]
    fn because(&self) -> Option<&'static str> {
        self.because
    }
    /// The measurements of the chains, as JSON.
    #[getter]
    fn chains_json(&self) -> &str {
        &self.chains
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

/// The question of `TaskSet.simulate`, by the attributes of its Python class.
#[derive(FromPyObject)]
pub(crate) struct Question {
    policies: Vec<String>,
    until_ns: Option<i64>,
    hyperperiods: Option<u32>,
    cycle_ns: Option<i64>,
    seed: u64,
    explore: Option<u64>,
}

impl Question {
    pub(crate) fn typed(self) -> SimulateQuestion {
        let until = self.until_ns.map(|ns| Horizon::At(Time::from_ns(ns)));
        let hyperperiods = self.hyperperiods.map(Horizon::Hyperperiods);
        let cycle = self.cycle_ns.map(|ns| Horizon::Recurrence { at_most: Time::from_ns(ns) });
        SimulateQuestion {
            horizon: until.or(hyperperiods).or(cycle),
            seed: self.seed,
            explore: self.explore,
            ..SimulateQuestion::about(self.policies)
        }
    }
}

/// Simulates a set under a policy, built-in or of these Python classes.
pub(crate) fn run(
    py: Python<'_>,
    set: &Set,
    question: &SimulateQuestion,
    classes: &[Py<PyAny>],
    records: bool,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Simulated> {
    let stop = Stop::of_work(py)?;
    let registry = policy::registry(py, classes, &stop)?;
    let model = &set.system;
    let (chosen, because) = match &question.policies[..] {
        [] => py.detach(|| chosen(&registry, set)),
        [spec] => (spec.clone(), None),
        _ => return Err(errors::usage(py, "one policy is simulated at a time", None)),
    };
    let (spec, canonical) = (&chosen, registry.canonical(&chosen));
    let spec = canonical.map_err(|error| errors::build(py, spec, model, &error))?;
    let built = py.detach(|| question.build(&registry, &spec, model));
    // Raise the error of a Python class first: it is the cause of a failed build.
    stop.raise()?;
    let (simulated, policy) = built.map_err(|error| errors::build(py, &spec, model, &error))?;
    let rule = policy.rule();
    if records {
        fits(py, question, set)?;
    }
    let watch = Watch::new(&stop, progress);
    let tell = |now: Time| watch.tell(now.ns());
    let options = SimOptions {
        horizon: question.horizon_for(set),
        seed: question.seed,
        explore: question.explore,
        event_loop: question.event_loop,
        interrupt: Some(&stop.stopped),
        progress: Some(&tell),
    };
    let labels = Labels::of(model);
    let simulate = || {
        let chained = Chained::new(&simulated);
        let has_chains = !simulated.chains.is_empty();
        let run = (&simulated, policy, &options, &labels);
        // Sets without chains pay nothing for them.
        Ok::<_, SimError>(match (records, has_chains) {
            (true, true) => {
                let (ran, Both(trace, chained)) = figures(run, Both(Trace::default(), chained))?;
                (ran, Some(trace), chained.figures(&simulated))
            }
            (true, false) => {
                let (ran, trace) = figures(run, Trace::default())?;
                (ran, Some(trace), Vec::new())
            }
            (false, true) => {
                let (ran, chained) = figures(run, chained)?;
                (ran, None, chained.figures(&simulated))
            }
            (false, false) => (figures(run, NoRecord)?.0, None, Vec::new()),
        })
    };
    // A Python policy needs the lock at every decision. Releasing and taking it that often would
    // make other threads wait for long, because there is no fair handover. While Python methods
    // run, the interpreter hands it over.
    let ran = if classes.is_empty() { py.detach(simulate) } else { simulate() };
    stop.raise()?;
    let (ran, trace, chains) = ran.map_err(|error| errors::simulation(py, &error))?;
    let chains = serde_json::to_string(&measured_chains(&simulated, &chains))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let Ran { outcome, summary, first_miss, refusals } = ran;
    let recording = trace.map(|trace| {
        let recorded =
            Recorded { trace, labels, how: None, summary: Some(summary.clone()), json: None };
        Py::new(py, Recording { recorded: Arc::new(recorded), rule: Some(rule) })
    });
    let recording = recording.transpose()?;
    Ok(Simulated {
        policy: spec,
        outcome,
        summary,
        first_miss,
        refusals,
        recording,
        because,
        chains,
    })
}

/// Returns the policy for a set for which the user names none, and the reason.
fn chosen(registry: &Registry, set: &Set) -> (String, Option<&'static str>) {
    let usual = UsualPolicy::of(registry, set);
    (usual.spec, Some(usual.because))
}

/// The name of a policy as results have it: with its options.
#[pyfunction]
pub(crate) fn canonical(py: Python<'_>, spec: &str) -> PyResult<String> {
    let canonical = Registry::standard().canonical(spec);
    canonical.map_err(|error| errors::usage(py, &error.to_string(), None))
}

/// The limit on the jobs of a recorded schedule: it is kept in memory.
const MOST_JOBS: i128 = 5_000_000;

/// Checks that the schedule can be recorded, as far as its length is known in advance.
fn fits(py: Python<'_>, question: &SimulateQuestion, set: &Set) -> PyResult<()> {
    let end = match question.horizon_for(set) {
        Horizon::At(_) | Horizon::Hyperperiods(_) => question.latest_end(set),
        // The recurrence is known only afterwards.
        Horizon::Recurrence { .. } => None,
    };
    let jobs = end.map_or(0, |end| set.system.arrivals(end));
    if jobs <= MOST_JOBS {
        return Ok(());
    }
    let message = format!("the schedule has {jobs} jobs, and at most {MOST_JOBS} are recorded");
    let help = "simulate a shorter time, or the figures alone with record=False";
    Err(errors::usage(py, &message, Some(help)))
}

/// A simulation: the system, its policy, and the options; and the names of the tasks.
type Asked<'a> = (&'a layland_model::System, Box<dyn Policy>, &'a SimOptions<'a>, &'a Labels);

struct Ran {
    outcome: Outcome<()>,
    summary: Summary,
    first_miss: Option<Time>,
    refusals: Refusals,
}

/// Simulates with the statistics of the command, and another recorder.
fn figures<R: Recorder>(
    (system, policy, options, labels): Asked<'_>,
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
