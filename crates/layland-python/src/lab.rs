//! Experiments: reading, changing and running them, and their results.

use crate::errors;
use crate::patience::{Stop, interruptible};
use crate::policy;
use crate::table::Table;
use layland_interchange::columns::{Column, Columns};
use layland_lab::{
    FigureKind, LabError, Origin, Runner, SCHEMA, curves, figure_pdf, figure_svg, judge, packaged,
    parse_horizon, table_text,
};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyRuntimeWarning};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A grid of parameters, and the measurements at each of its points.
#[pyclass(frozen, module = "layland._layland")]
pub(crate) struct Experiment {
    experiment: Arc<layland_lab::Experiment>,
}

/// The changes that a run makes to an experiment.
#[derive(FromPyObject)]
pub(crate) struct Changes {
    #[pyo3(item)]
    sets: Option<u64>,
    #[pyo3(item)]
    seed: Option<u64>,
    #[pyo3(item)]
    horizon: Option<String>,
    /// The axes to restrict, each with the values whose points are measured.
    #[pyo3(item)]
    at: Vec<(String, Vec<String>)>,
    #[pyo3(item)]
    series: Option<Vec<String>>,
}

/// A grid: its name, its axes with their values, and its series.
type GridFields = (String, Vec<(String, Vec<String>)>, Vec<String>);

/// A figure: its name, its title, its kind (`lines`, `distribution` or `bars`), the labels of its
/// axes, their bounds, true if the vertical axis is logarithmic, and the labels of bars.
type FigureFields = (
    String,
    String,
    &'static str,
    (String, String),
    (layland_lab::Bounds, layland_lab::Bounds),
    bool,
    Vec<String>,
);

/// A claim: its name, its statement, its source, the judgement, the number of points where it
/// agrees, the number of points, the number of further points where it could not have failed, the
/// interval of the first of these, and the points where it does not agree.
type ClaimFields = (
    String,
    String,
    String,
    &'static str,
    usize,
    usize,
    usize,
    Option<(usize, usize)>,
    Vec<String>,
);

fn figure_fields(figure: &layland_lab::Figure) -> FigureFields {
    let kind = match figure.kind {
        FigureKind::Lines => "lines",
        FigureKind::Distribution => "distribution",
        FigureKind::Bars => "bars",
    };
    (
        figure.name.clone(),
        figure.title.clone(),
        kind,
        figure.labels.clone(),
        (figure.x_bounds, figure.y_bounds),
        figure.log_y,
        figure.bars.iter().map(|bar| bar.label.clone()).collect(),
    )
}

fn computed(experiment: &layland_lab::Experiment) -> impl Iterator<Item = &layland_lab::Figure> {
    experiment.figures.iter().filter(|figure| figure.origin() == Origin::Computed)
}

/// Returns the figure of this name, with its number.
fn figure<'a>(
    py: Python<'_>,
    experiment: &'a layland_lab::Experiment,
    name: &str,
) -> PyResult<(usize, &'a layland_lab::Figure)> {
    let all = experiment.figures.iter().enumerate();
    let mut computed = all.filter(|(_, figure)| figure.origin() == Origin::Computed);
    computed.clone().find(|(_, figure)| figure.name == name).ok_or_else(|| {
        let known: Vec<&str> = computed.by_ref().map(|(_, figure)| figure.name.as_str()).collect();
        let help = if known.is_empty() {
            format!("{} has none", experiment.name)
        } else {
            format!("there are {}", known.join(", "))
        };
        errors::usage(py, &format!("there is no figure `{name}`"), Some(&help))
    })
}

fn failed(py: Python<'_>, error: &LabError) -> PyErr {
    match error {
        LabError::Write { .. } | LabError::Parquet(_) => PyOSError::new_err(error.to_string()),
        LabError::Draw { .. }
        | LabError::Simulate { .. }
        | LabError::NoUnit { .. }
        | LabError::TooManyUnits { .. } => errors::usage(py, &error.to_string(), None),
    }
}

#[pymethods]
impl Experiment {
    /// Returns the packaged experiment of this name.
    #[staticmethod]
    fn packaged(name: &str) -> Option<Experiment> {
        let found = packaged::find(name)?;
        Some(Experiment { experiment: Arc::new(found.experiment()) })
    }

    /// Reads a description, which may name these Python classes.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        name: &str,
        place: &str,
        text: &[u8],
        classes: Vec<Py<PyAny>>,
    ) -> PyResult<Experiment> {
        let stop = Stop::of_work(py)?;
        let registry = policy::registry(py, &classes, &stop)?;
        let read = layland_lab::read(name, place, text, &registry);
        let experiment = Arc::new(read.map_err(|report| errors::input(py, &report))?);
        Ok(Experiment { experiment })
    }

    /// Returns the same experiment with a policy beside its series.
    fn with_policy(
        &self,
        py: Python<'_>,
        name: &str,
        label: &str,
        spec: &str,
        classes: Vec<Py<PyAny>>,
    ) -> PyResult<Experiment> {
        let registry = policy::registry(py, &classes, &Stop::of_work(py)?)?;
        let mut experiment = (*self.experiment).clone();
        let added = experiment.add_policy(name, label, spec, &registry);
        added.map_err(|error| errors::usage(py, &error, None))?;
        Ok(Experiment { experiment: Arc::new(experiment) })
    }

    /// Returns the same experiment with other numbers, or a part of it.
    fn changed(&self, py: Python<'_>, changes: Changes) -> PyResult<Experiment> {
        let wrong = |error: String| errors::usage(py, &error, None);
        let mut experiment = (*self.experiment).clone();
        let Changes { sets, seed, horizon, at, series } = changes;
        experiment.sets = sets.unwrap_or(experiment.sets);
        experiment.seed = seed.unwrap_or(experiment.seed);
        if let Some(horizon) = horizon {
            experiment.horizon = parse_horizon(&horizon).map_err(wrong)?;
        }
        for (axis, values) in at {
            experiment.keep_points(&axis, &values).map_err(wrong)?;
        }
        if let Some(names) = series {
            experiment.keep_series(&names).map_err(wrong)?;
        }
        Ok(Experiment { experiment: Arc::new(experiment) })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.experiment.name
    }
    #[getter]
    fn title(&self) -> &str {
        &self.experiment.title
    }
    #[getter]
    fn source(&self) -> &str {
        &self.experiment.source
    }
    #[getter]
    fn notes(&self) -> &str {
        &self.experiment.notes
    }
    #[getter]
    fn sets(&self) -> u64 {
        self.experiment.sets
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.experiment.seed
    }
    /// The description, as TOML.
    #[getter]
    fn text(&self) -> &str {
        &self.experiment.text
    }

    /// The name, the axes with their values, and the series of each grid.
    fn grids(&self) -> Vec<GridFields> {
        let series = |at: &usize| self.experiment.series[*at].name.clone();
        let grids = self.experiment.grids.iter();
        let fields = |grid: &layland_lab::Grid| {
            (grid.name.clone(), grid.axes.clone(), grid.series.iter().map(series).collect())
        };
        grids.map(fields).collect()
    }

    /// The figures that need no clock.
    fn figures(&self) -> Vec<FigureFields> {
        computed(&self.experiment).map(figure_fields).collect()
    }

    /// The name and the label of each series.
    fn series(&self) -> Vec<(String, String)> {
        let all = self.experiment.series.iter();
        all.map(|series| (series.name.clone(), series.label.clone())).collect()
    }

    /// Measures what these figures need, or everything. Units that the folder has are not measured again.
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        figures: Vec<String>,
        classes: Vec<Py<PyAny>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Results> {
        let stop = Stop::of_work(py)?;
        let registry = policy::registry(py, &classes, &stop)?;
        let of = |name: &String| figure(py, &self.experiment, name).map(|(at, _)| at);
        let figures = figures.iter().map(of).collect::<PyResult<Vec<usize>>>()?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
        let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let reached = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let shards = Arc::new(Mutex::new(BTreeSet::new()));
        let found = Arc::clone(&shards);
        let (experiment, stopped, told) =
            (Arc::clone(&self.experiment), Arc::clone(&stop), Arc::clone(&reached));
        let work = move || {
            let tell = |progress: layland_lab::Progress| {
                told.1.store(progress.units, Ordering::Relaxed);
                told.0.fetch_max(progress.done, Ordering::Relaxed);
            };
            let damaged = |shard: &Path| {
                found.lock().expect("no thread panics with it").insert(shard.to_owned());
            };
            let runner = Runner {
                experiment: &experiment,
                registry: &registry,
                // No code version: results with Python classes must not be resumed.
                code: None,
                folder: &folder,
                interrupt: Some(&stopped.stopped),
                progress: Some(&tell),
                damaged: Some(&damaged),
            };
            let plan = runner.plan(&figures)?;
            pool.install(|| runner.run(&plan))
        };
        let tell = |py: Python<'_>| match &progress {
            None => Ok(()),
            Some(progress) => {
                let (done, units) = &*reached;
                let at = (done.load(Ordering::Relaxed), units.load(Ordering::Relaxed));
                progress.call1(py, at).map(|_| ())
            }
        };
        let ran = interruptible(py, &stop, tell, work)?;
        let results = ran.map_err(|error| failed(py, &error))?;
        for shard in shards.lock().expect("no thread panics with it").iter() {
            let text = format!("{} is damaged: its unit was measured again", shard.display());
            let text = CString::new(text).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
        }
        Ok(Results { experiment: Arc::clone(&self.experiment), results })
    }
}

/// The measurements of an experiment.
#[pyclass(frozen, module = "layland._layland")]
pub(crate) struct Results {
    experiment: Arc<layland_lab::Experiment>,
    results: layland_lab::Results,
}

impl Results {
    fn is_measured(&self, grid: usize) -> bool {
        self.results.cells(grid).iter().any(|cell| !cell.rows.is_empty())
    }
}

#[pymethods]
impl Results {
    /// Version, experiment, sets, horizon and seed.
    #[getter]
    fn provenance(&self) -> String {
        self.experiment.provenance()
    }

    /// A row for each set and series.
    fn table(&self) -> Table {
        Table::of(self.results.table(&self.experiment))
    }

    /// A row for each set, series and tardiness, if that was requested.
    fn distribution(&self) -> Option<Table> {
        self.results.distribution(&self.experiment).map(Table::of)
    }

    /// The figures of the measurements.
    fn figures(&self) -> Vec<FigureFields> {
        let measured = computed(&self.experiment).filter(|figure| self.is_measured(figure.grid));
        measured.map(figure_fields).collect()
    }

    /// The points of a figure: a row for each series and point.
    fn curves(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let (_, figure) = figure(py, &self.experiment, name)?;
        let (mut series, mut numbers, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut x, mut y, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for curve in curves(&self.experiment, &self.results, figure) {
            for point in curve.points {
                series.push(Some(self.experiment.series[curve.series].name.clone()));
                numbers.push(i64::try_from(curve.series).ok());
                x.push(Some(point.x));
                y.push(point.y);
                counts.push(i64::try_from(point.count).ok());
                low.push(point.interval.map(|(low, _)| low));
                high.push(point.interval.map(|(_, high)| high));
            }
        }
        let mut columns = Columns::new(SCHEMA).with("provenance", self.experiment.provenance());
        columns.push("series", Column::Text(series));
        columns.push("number", Column::Int(numbers));
        columns.push("x", Column::Real(x));
        columns.push("y", Column::Real(y));
        columns.push("count", Column::Int(counts));
        columns.push("low", Column::Real(low));
        columns.push("high", Column::Real(high));
        Ok(Table::of(columns))
    }

    /// The look of each series: its colour, the number of its marker, the dashes of its line, and
    /// whether its marker is an outline.
    fn looks(&self) -> Vec<(String, usize, Vec<f64>, bool)> {
        let of = |look: layland_lab::Look| {
            let [red, green, blue] = look.colour();
            let colour = format!("#{red:02x}{green:02x}{blue:02x}");
            (colour, look.marker(), look.dashes().to_vec(), look.is_hollow())
        };
        layland_lab::looks(&self.experiment).into_iter().map(of).collect()
    }

    fn svg(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let (_, figure) = figure(py, &self.experiment, name)?;
        Ok(figure_svg(&self.experiment, &self.results, figure))
    }

    fn png(&self, py: Python<'_>, name: &str, scale: u16) -> PyResult<Option<Cow<'static, [u8]>>> {
        let (_, figure) = figure(py, &self.experiment, name)?;
        let svg = figure_svg(&self.experiment, &self.results, figure);
        Ok(layland_chart::png::of(&svg, scale).map(Cow::Owned))
    }

    fn pdf(&self, py: Python<'_>, name: &str) -> PyResult<Cow<'static, [u8]>> {
        let (_, figure) = figure(py, &self.experiment, name)?;
        Ok(Cow::Owned(figure_pdf(&self.experiment, &self.results, figure)))
    }

    /// The claims about the measurements.
    fn claims(&self) -> Vec<ClaimFields> {
        let judged = judge(&self.experiment, &self.results);
        let fields = |judged: &layland_lab::Judged<'_>| {
            let claim = judged.claim;
            (
                claim.name.clone(),
                claim.text.clone(),
                claim.source.clone(),
                judged.judgement.name(),
                judged.agree,
                judged.of,
                judged.even,
                judged.sampled.map(|sampled| (sampled.low, sampled.high)),
                judged.against.clone(),
            )
        };
        judged.iter().map(fields).collect()
    }

    /// The tables as text, by their names.
    fn tables(&self) -> Vec<(String, String)> {
        let measured = self.experiment.tables.iter().filter(|table| self.is_measured(table.grid));
        let text = |table| table_text(&self.experiment, &self.results, table);
        measured.map(|table| (table.name.clone(), text(table))).collect()
    }

    /// Writes the files that `layland lab run` writes, and returns their names.
    fn write(&self, py: Python<'_>, folder: &str) -> PyResult<Vec<PathBuf>> {
        let written = layland_lab::write(&self.experiment, &self.results, &[], Path::new(folder));
        written.map_err(|error| failed(py, &error))
    }
}

/// The names of the packaged experiments.
#[pyfunction]
pub(crate) fn experiments() -> Vec<&'static str> {
    packaged::ALL.iter().map(|packaged| packaged.name).collect()
}
