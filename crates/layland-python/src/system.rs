//! Task sets: reading and writing them, and questions about them.

use crate::patience::{Stop, in_background, interruptible};
use crate::run::Simulated;
use crate::{analyses, errors, policy, run};
use layland::answers::simulate::Watch;
use layland::answers::{
    self, ChartSpan, CheckQuestion, DesignQuestion, Set, Unanswered, simulation_report,
};
use layland_config::{
    Columns, Format, Host, RtAppPolicy, SimsoIdentifiers, Unit, simso_identifiers,
};
use layland_lab::Parameters;
use layland_model::{Duration, ScheduleRule, Time};
use layland_policy::Registry;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The identifiers of tasks, and the identifiers and names of processors.
type Identifiers = (Vec<i64>, Vec<(i64, String)>);
/// The pickled form of a set: its line, the length and the policy that its file requests, its
/// warnings, and the identifiers of SimSo.
type State = (String, Option<i64>, Option<String>, Vec<Py<PyAny>>, Option<Identifiers>);

/// The question of `TaskSet.check`, by the attributes of its Python class.
#[derive(FromPyObject)]
struct Question {
    policies: Vec<String>,
    tests: Vec<String>,
    every_test: bool,
    factor: bool,
    sensitivity: bool,
    margin: Option<String>,
    effort: Option<u64>,
    tick_ns: Option<i64>,
}

impl Question {
    fn typed(self, py: Python<'_>) -> PyResult<CheckQuestion> {
        let margin = self.margin.as_deref().map(str::parse).transpose();
        let margin = margin.map_err(|error: String| {
            errors::usage(py, &format!("`reserve` is wrong: {error}"), None)
        })?;
        let tick = self.tick_ns.map(Duration::from_ns);
        if let Some(tick) = tick.filter(|&tick| tick <= Duration::ZERO) {
            let message = format!("a tick of {tick} is not longer than zero");
            return Err(errors::usage(py, &message, Some("write a length such as 1ms")));
        }
        let mut question = CheckQuestion::about(self.policies)
            .with_every_test(self.every_test)
            .with_factor(self.factor)
            .with_limits(self.sensitivity)
            .with_effort(self.effort);
        question.margin = margin;
        question.options.tests = self.tests;
        question.options.tick = tick;
        Ok(question)
    }
}

/// A valid task set.
#[pyclass(frozen, module = "layland._layland")]
pub(crate) struct System {
    system: Arc<layland_model::System>,
    until: Option<Duration>,
    policy: Option<&'static str>,
    warnings: Vec<Py<PyAny>>,
    /// The identifiers of tasks and processors in a file of SimSo.
    identifiers: Option<SimsoIdentifiers>,
}

impl System {
    fn of(system: layland_model::System) -> System {
        let system = Arc::new(system);
        System { system, until: None, policy: None, warnings: Vec::new(), identifiers: None }
    }

    pub(crate) fn inner(&self) -> &layland_model::System {
        &self.system
    }

    /// Returns the set under a name, with the length of the run that its file requests.
    fn set(&self, name: &str) -> Set {
        let mut set = Set::in_memory(name, layland_model::System::clone(&self.system));
        (set.until, set.policy) = (self.until, self.policy);
        set
    }

    /// Answers a command about this system with the policies of these classes.
    fn answer<T: Send + 'static>(
        &self,
        py: Python<'_>,
        classes: &[Py<PyAny>],
        ask: impl FnOnce(&Registry, &layland_model::System, &Stop) -> Result<T, Unanswered>
        + Send
        + 'static,
    ) -> PyResult<T> {
        let stop = Stop::of_work(py)?;
        let registry = policy::registry(py, classes, &stop)?;
        let (system, stopped) = (Arc::clone(&self.system), Arc::clone(&stop));
        let work = move || ask(&registry, &system, &stopped);
        let answered = interruptible(py, &stop, |_| Ok(()), work)?;
        answered.map_err(|error| errors::unanswered(py, &error))
    }

    pub(crate) fn rule(
        &self,
        py: Python<'_>,
        policy: &str,
        classes: &[Py<PyAny>],
    ) -> PyResult<ScheduleRule> {
        run::rule(py, self, policy, classes)
    }
}

fn format_of(py: Python<'_>, name: &str) -> PyResult<Format> {
    name.parse().map_err(|error: String| errors::usage(py, &error, None))
}

#[pymethods]
impl System {
    /// Reads a task set from a string.
    #[staticmethod]
    #[pyo3(signature = (name, text, format, cpus, unit, columns=None))]
    fn read(
        py: Python<'_>,
        name: &str,
        text: &[u8],
        format: Option<&str>,
        cpus: Option<usize>,
        unit: Option<&str>,
        columns: Option<&str>,
    ) -> PyResult<System> {
        let unknown = |unit: &str| {
            let message = format!("`{unit}` is not a unit: there are ns, us, ms and s");
            errors::usage(py, &message, None)
        };
        let unit = unit.map(|unit| Unit::find(unit).ok_or_else(|| unknown(unit))).transpose()?;
        let format = format.map(|format| format_of(py, format)).transpose()?;
        let here = std::thread::available_parallelism().ok().map(usize::from);
        let columns: Option<Columns> = (columns.map(str::parse).transpose())
            .map_err(|error: String| errors::usage(py, &error, None))?;
        let host = Host { cpus: here, default_cpus: cpus, unit, columns };
        let format = match format {
            Some(format) => format,
            None => {
                Format::detect(name, text, &host).map_err(|report| errors::input(py, &report))?
            }
        };
        let (read, identifiers) = py.detach(|| {
            let of_simso = match format {
                Format::Simso => std::str::from_utf8(text).ok().and_then(simso_identifiers),
                _ => None,
            };
            (layland_config::read(name, text, format, &host), of_simso)
        });
        let loaded = read.map_err(|report| errors::input(py, &report))?;
        Ok(System {
            system: Arc::new(loaded.system),
            until: loaded.until,
            policy: loaded.policy,
            identifiers,
            warnings: errors::problems(py, &loaded.warnings.problems)?,
        })
    }

    /// A bundled set, if there is one of this name.
    #[staticmethod]
    fn demo(py: Python<'_>, name: &str) -> PyResult<Option<System>> {
        let found = layland_config::demo(name).map(|demo| demo.text);
        let name = format!("demo:{name}");
        found
            .map(|text| System::read(py, &name, text.as_bytes(), Some("toml"), None, None, None))
            .transpose()
    }

    /// The sets with these parameters, which have the names of those of experiments, and with these numbers.
    #[staticmethod]
    fn generate(
        py: Python<'_>,
        parameters: BTreeMap<String, String>,
        seed: u64,
        numbers: (u64, u64),
    ) -> PyResult<Vec<System>> {
        let mut named = Parameters::default();
        parameters.into_iter().for_each(|(name, value)| named.put(&name, value));
        let recipe = named.recipe(seed).map_err(|(name, message)| {
            let name = name.map_or(String::new(), |name| format!("`{name}`: "));
            errors::usage(py, &format!("{name}{message}"), None)
        })?;
        let (first, last) = numbers;
        let made = in_background(py, move || {
            let generator = recipe.generator()?;
            (first..last).map(|number| generator.generate(number)).collect::<Result<Vec<_>, _>>()
        })?;
        let systems = made.map_err(|error| errors::usage(py, &error.to_string(), None))?;
        Ok(systems.into_iter().map(System::of).collect())
    }

    /// The set in a format, and warnings about everything that the format cannot express.
    fn write(&self, py: Python<'_>, format: &str) -> PyResult<(String, Vec<Py<PyAny>>)> {
        let system = self.inner();
        let format = format_of(py, format)?;
        if !format.is_written() {
            let help = Some("use csv: this format keeps too little of a set");
            return Err(errors::usage(py, &format!("`{format}` is not written"), help));
        }
        let (text, lost) = answers::convert(system, format, RtAppPolicy::OfTasks)
            .map_err(|error| errors::unanswered(py, &error))?;
        Ok((text, errors::problems(py, &lost)?))
    }

    /// Warnings about settings that do not count as written.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.warnings.iter().map(|warning| warning.clone_ref(py)).collect()
    }

    /// The policy that the file requests.
    #[getter]
    fn policy(&self) -> Option<&str> {
        self.policy
    }

    /// The identifiers of tasks, and the identifiers and names of processors, if the set is from a file of SimSo.
    #[getter]
    fn simso_identifiers(&self) -> Option<Identifiers> {
        let SimsoIdentifiers { tasks, processors } = self.identifiers.clone()?;
        Some((tasks, processors))
    }

    /// The state from which [`restored`](Self::restored) makes the set again, in another process.
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, State)> {
        let py = slf.py();
        let this = slf.get();
        let state = (
            layland_config::to_line(this.inner()),
            this.until.map(Duration::ns),
            this.policy.map(str::to_owned),
            this.warnings(py),
            this.simso_identifiers(),
        );
        Ok((slf.get_type().getattr("restored")?.unbind(), state))
    }

    /// A set that was sent from another process.
    #[staticmethod]
    fn restored(
        py: Python<'_>,
        line: &str,
        until_ns: Option<i64>,
        policy: Option<String>,
        warnings: Vec<Py<PyAny>>,
        identifiers: Option<Identifiers>,
    ) -> PyResult<System> {
        let made = System::read(py, "<pickle>", line.as_bytes(), Some("jsonl"), None, None, None)?;
        let identifiers =
            identifiers.map(|(tasks, processors)| SimsoIdentifiers { tasks, processors });
        let until = until_ns.map(Duration::from_ns);
        // The policy that a file requests is one of the table of SimSo's schedulers.
        let known = layland_config::SIMSO_SCHEDULERS.iter().filter_map(|found| found.policy);
        let policy = policy.and_then(|policy| known.clone().find(|known| *known == policy));
        Ok(System { until, policy, warnings, identifiers, ..made })
    }

    /// The length of the run that the file requests, in nanoseconds.
    #[getter]
    fn asked_until_ns(&self) -> Option<i64> {
        self.until.map(Duration::ns)
    }

    /// The number of CPUs.
    #[getter]
    fn cpus(&self) -> usize {
        self.system.platform.cpu_count()
    }

    /// The names of the criticality levels, low to high.
    #[getter]
    fn levels(&self) -> Vec<String> {
        self.system.levels.names().to_vec()
    }

    fn __len__(&self) -> usize {
        self.system.tasks.len()
    }

    /// The sum of the utilizations, as a fraction.
    fn utilization(&self) -> String {
        self.system.utilization().exact().to_string()
    }

    /// The hyperperiod in nanoseconds, if there is one.
    fn hyperperiod_ns(&self) -> Option<i64> {
        self.system.hyperperiod().map(Duration::ns)
    }

    fn __eq__(&self, other: &System) -> bool {
        self.system == other.system
    }

    /// The output of `layland check --json`.
    fn check(
        &self,
        py: Python<'_>,
        name: String,
        question: Question,
        classes: Vec<Py<PyAny>>,
    ) -> PyResult<String> {
        let question = question.typed(py)?;
        self.answer(py, &classes, move |registry, system, _| {
            Ok(question.ask(registry, Set::in_memory(&name, system.clone()))?.json())
        })
    }

    /// The page that `layland check -o FILE.html` writes.
    fn check_page(
        &self,
        py: Python<'_>,
        name: String,
        question: Question,
        classes: Vec<Py<PyAny>>,
    ) -> PyResult<String> {
        let question = question.typed(py)?;
        self.answer(py, &classes, move |registry, system, _| {
            answers::check_page(registry, &question, Set::in_memory(&name, system.clone()))
        })
    }

    /// The certificate that `layland check --certificate` writes.
    fn certificate(
        &self,
        py: Python<'_>,
        name: String,
        question: Question,
        classes: Vec<Py<PyAny>>,
    ) -> PyResult<String> {
        let question = question.typed(py)?;
        self.answer(py, &classes, move |registry, system, _| {
            let set = Set::in_memory(&name, system.clone());
            let checked = question.with_proofs()?.ask(registry, set)?;
            Ok(checked.certificate_text(registry))
        })
    }

    /// The answer of `layland check --design`, as JSON. Periods are in nanoseconds.
    fn design(
        &self,
        py: Python<'_>,
        name: String,
        group: String,
        periods: Vec<i64>,
        cpus: Option<(usize, usize)>,
    ) -> PyResult<String> {
        let periods = periods.into_iter().map(Duration::from_ns).collect();
        let cpus = cpus.map(|(from, to)| from..=to);
        let question = DesignQuestion { group, periods, cpus };
        self.answer(py, &[], move |_, system, _| Ok(question.ask(&name, system)?.text()))
    }

    /// The page that `layland sim -o FILE.html` writes.
    fn simulation_page(
        &self,
        py: Python<'_>,
        name: String,
        question: run::Question,
        classes: Vec<Py<PyAny>>,
    ) -> PyResult<String> {
        let (question, set) = (question.typed(), self.set(&name));
        let page = self.answer(py, &classes, move |registry, _, stop| {
            let watch = Watch { interrupt: Some(&stop.stopped), progress: None };
            let simulated = question.ask(registry, set, &watch)?;
            let report = simulation_report(&simulated, ChartSpan::default(), &stop.stopped)?;
            Ok(report.map(|report| report.html()))
        })?;
        page.ok_or_else(|| PyKeyboardInterrupt::new_err(()))
    }

    /// Writes the files that `layland sim -o FILE` writes. Charts show the window, in nanoseconds.
    fn write_simulation(
        &self,
        py: Python<'_>,
        name: String,
        question: run::Question,
        classes: Vec<Py<PyAny>>,
        paths: Vec<PathBuf>,
        window: Option<(i64, i64)>,
    ) -> PyResult<()> {
        if let Some((from, to)) = window.filter(|(from, to)| *from < 0 || from >= to) {
            let (from, to) = (Duration::from_ns(from), Duration::from_ns(to));
            let message = format!("a part from {from} to {to} is empty");
            return Err(errors::usage(py, &message, Some("choose a later end")));
        }
        let window = window.map(|(from, to)| (Time::from_ns(from), Time::from_ns(to)));
        let shown = ChartSpan { window, ..ChartSpan::default() };
        let (question, set) = (question.typed(), self.set(&name));
        self.answer(py, &classes, move |registry, _, stop| {
            answers::write_simulation(registry, &question, set, shown, &paths, &stop.stopped)
        })
    }

    /// Simulates.
    fn simulate(
        &self,
        py: Python<'_>,
        question: run::Question,
        classes: Vec<Py<PyAny>>,
        record: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Simulated> {
        let (question, set) = (question.typed(), self.set(""));
        run::run(py, &set, &question, &classes, record, progress.as_ref())
    }

    /// The answer of one analysis.
    fn analyse(&self, py: Python<'_>, name: String) -> PyResult<analyses::Answer> {
        let system = Arc::clone(&self.system);
        in_background(py, move || analyses::run(&name, &system))?
            .ok_or_else(|| PyValueError::new_err("there is no such analysis"))
    }
}
