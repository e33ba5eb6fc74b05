//! Measures an experiment on all cores; interrupted runs can be resumed.

use crate::experiment::Experiment;
use crate::measure::{Conditions, Row, Shared, measure};
use crate::metric::METRICS;
use crate::results::{CellRows, GridRows, Results};
use crate::shard::{Kept, Unit, cell_seed, load, store, sweep, units};
use crate::systems::Systems;
use layland_policy::Registry;
use layland_sim::SimError;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The reason why an experiment could not be measured or written.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file or folder cannot be written.
    #[error("failed to write {path}: {error}", path = .path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// A system of a point cannot be drawn.
    #[error("failed to draw a system of grid `{grid}` with {parameters}: {reason}")]
    Draw {
        /// The name of the grid.
        grid: String,
        /// The parameters of the point.
        parameters: String,
        /// The cause.
        reason: String,
    },
    /// A simulation cannot start.
    #[error("failed to simulate a system of grid `{grid}` with {parameters}: {error}")]
    Simulate {
        /// The name of the grid.
        grid: String,
        /// The parameters of the point.
        parameters: String,
        /// The cause.
        error: SimError,
    },
    /// A requested unit is not part of the experiment in this build.
    #[error(
        "no unit is named {name}: names change with the experiment, its options and the build; `layland lab units` \
         lists them"
    )]
    NoUnit {
        /// The requested name.
        name: String,
    },
    /// The experiment is too large to list.
    #[error("the experiment has {units} units of work, and {most} are the most")]
    TooManyUnits {
        /// The number of units.
        units: u64,
        /// The maximum number.
        most: u64,
    },
    /// A table cannot be written as Parquet.
    #[error(transparent)]
    Parquet(#[from] layland_interchange::columns::ColumnsError),
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of units with results.
    pub done: usize,
    /// The number of all units.
    pub units: usize,
    /// The number of completed units whose results existed before.
    pub resumed: usize,
}

/// The work to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The grids that are measured, as indices.
    pub grids: Vec<usize>,
    pub(crate) units: Vec<Unit>,
}

impl Plan {
    /// The number of units.
    pub fn units(&self) -> usize {
        self.units.len()
    }
}

/// Counts the completed units and reports each.
pub(crate) struct Done<'a> {
    tell: Option<&'a (dyn Fn(Progress) + Sync)>,
    units: usize,
    resumed: usize,
    done: AtomicUsize,
}

impl Done<'_> {
    pub(crate) fn new<'a>(runner: &Runner<'a>, units: usize, resumed: usize) -> Done<'a> {
        let done = Done { tell: runner.progress, units, resumed, done: AtomicUsize::new(resumed) };
        done.tell(resumed);
        done
    }

    fn one(&self) {
        self.tell(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    fn tell(&self, done: usize) {
        if let Some(tell) = self.tell {
            tell(Progress { done, units: self.units, resumed: self.resumed });
        }
    }
}

/// Measures an experiment into a folder.
pub struct Runner<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The policies that it names.
    pub registry: &'a Registry,
    /// The inputs of results besides this build: the code of custom policies, as a hash or a
    /// one-line string. Results of other code are not used.
    pub code: Option<&'a str>,
    /// The folder; created if it does not exist.
    pub folder: &'a Path,
    /// Stops the run early when it becomes true.
    pub interrupt: Option<&'a AtomicBool>,
    /// Called from any thread with the progress so far.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Called from any thread with the path of a damaged shard, whose unit is measured again. A
    /// unit can be reported twice.
    pub damaged: Option<&'a (dyn Fn(&Path) + Sync)>,
}

impl Runner<'_> {
    /// Plans the measurements that these figures need, given as indices; without any, all
    /// measurements. A grid that only real threads measure is not simulated.
    ///
    /// # Errors
    /// Returns an error if there are too many units.
    pub fn plan(&self, figures: &[usize]) -> Result<Plan, LabError> {
        let experiment = self.experiment;
        let needed = |&grid: &usize| {
            if figures.is_empty() {
                return !experiment.is_for_threads(grid);
            }
            figures.iter().any(|&at| experiment.figures[at].grid == grid)
        };
        let grids: Vec<usize> = (0..experiment.grids.len()).filter(needed).collect();
        let units = units(experiment, &grids, self.code)?;
        Ok(Plan { grids, units })
    }

    /// Measures every unit that has no results yet, on the threads of the current pool. Units that
    /// are interrupted are missing in the results.
    ///
    /// # Errors
    /// Returns an error if a system cannot be drawn or simulated, or a shard cannot be written.
    pub fn run(&self, plan: &Plan) -> Result<Results, LabError> {
        let shards = self.shards()?;
        let mut rows: Vec<Option<Vec<Row>>> =
            plan.units.par_iter().map(|unit| self.load(unit, &shards)).collect();
        let missing: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].is_none()).collect();
        let of_missing: Vec<&Unit> = missing.iter().map(|&at| &plan.units[at]).collect();
        let done = Done::new(self, plan.units(), plan.units() - missing.len());
        let measured = self.measure_missing(&of_missing, &shards, &done, |rows| rows)?;
        for (at, measured) in missing.into_iter().zip(measured) {
            rows[at] = measured;
        }
        Ok(self.merge(plan, rows))
    }

    /// The folder of the shards, which is created if it does not exist.
    pub(crate) fn shards(&self) -> Result<PathBuf, LabError> {
        let shards = self.folder.join("shards");
        std::fs::create_dir_all(&shards)
            .map_err(|error| LabError::Write { path: shards.clone(), error })?;
        sweep(&shards);
        sweep(&self.folder.join("figures"));
        sweep(self.folder);
        Ok(shards)
    }

    fn series(&self, unit: &Unit) -> &[usize] {
        &self.experiment.grids[unit.grid].series
    }

    /// Loads the rows of a unit from the folder. A damaged shard is reported, and its unit is
    /// measured again.
    fn load(&self, unit: &Unit, shards: &Path) -> Option<Vec<Row>> {
        let kept = load(unit, self.series(unit), shards);
        if let (Kept::Damaged, Some(damaged)) = (&kept, self.damaged) {
            damaged(&unit.path(shards));
        }
        kept.rows()
    }

    /// Measures units, and returns the result of `keep` for the rows of each; `None` for units that
    /// are interrupted. A unit that another process has measured meanwhile is not measured again.
    pub(crate) fn measure_missing<T: Send>(
        &self,
        units: &[&Unit],
        shards: &Path,
        done: &Done<'_>,
        keep: impl Fn(Vec<Row>) -> T + Sync,
    ) -> Result<Vec<Option<T>>, LabError> {
        let failed = AtomicBool::new(false);
        let failure = Mutex::new(None);
        let one = |(at, &unit): (usize, &&Unit)| {
            // After a failure or an interrupt, skip the remaining units.
            if failed.load(Ordering::Relaxed) || self.interrupted() {
                return None;
            }
            // Another process may have measured the unit in the meantime.
            let measured = match self.load(unit, shards) {
                Some(rows) => Ok(Some(rows)),
                None => self.measure(unit).and_then(|rows| {
                    let kept = rows.as_ref();
                    kept.map_or(Ok(()), |rows| store(unit, self.series(unit), rows, shards))?;
                    Ok(rows)
                }),
            };
            match measured {
                Ok(rows) => rows.map(|rows| {
                    done.one();
                    keep(rows)
                }),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    // Report the failure of the first unit, regardless of which thread was faster.
                    let mut failure = failure.lock().expect("no thread panics with it");
                    if failure.as_ref().is_none_or(|&(first, _)| at < first) {
                        *failure = Some((at, error));
                    }
                    None
                }
            }
        };
        let kept = units.par_iter().enumerate().map(one).collect();
        match failure.into_inner().expect("no thread panics with it") {
            Some((_, error)) => Err(error),
            None => Ok(kept),
        }
    }

    pub(crate) fn interrupted(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::SeqCst))
    }

    /// The rows of a unit by set, then series; `None` if the measurement was interrupted.
    fn measure(&self, unit: &Unit) -> Result<Option<Vec<Row>>, LabError> {
        let grid = &self.experiment.grids[unit.grid];
        let cell = grid.cell(unit.cell).expect("units are of points of the grid");
        let systems = Systems::new(self.experiment, grid, &cell)?;
        let conditions = Conditions {
            registry: self.registry,
            horizon: self.experiment.horizon,
            distribution: self.experiment.needs_distribution(unit.grid),
            interrupt: self.interrupt,
        };
        let mut rows = Vec::new();
        for set in unit.sets.clone() {
            let system = systems.draw(set)?;
            let (seed, mut shared) = (systems.run_seed(set), Shared::of(&system));
            for &at in &grid.series {
                let series = (at, &self.experiment.series[at]);
                let row = measure(&mut shared, set, series, seed, &conditions);
                match row.map_err(|error| systems.not_simulated(error))? {
                    Some(row) => rows.push(row),
                    None => return Ok(None),
                }
                if self.interrupted() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(if grid.pooled {
            grid.series.iter().map(|&series| pooled(series, &rows)).collect()
        } else {
            rows
        }))
    }

    fn merge(&self, plan: &Plan, rows: Vec<Option<Vec<Row>>>) -> Results {
        let done = rows.iter().filter(|rows| rows.is_some()).count();
        let mut grids: Vec<GridRows> = plan
            .grids
            .iter()
            .map(|&grid| {
                let cells = self.experiment.grids[grid].cells().into_iter().map(|cell| CellRows {
                    seed: cell_seed(self.experiment.seed, &cell.parameters.line()),
                    values: cell.values,
                    rows: Vec::new(),
                });
                GridRows { grid, cells: cells.collect() }
            })
            .collect();
        for (unit, rows) in plan.units.iter().zip(rows) {
            let at = plan.grids.iter().position(|&grid| grid == unit.grid);
            let grid = &mut grids[at.expect("a unit is of a grid of its plan")];
            grid.cells[unit.cell].rows.extend(rows.unwrap_or_default());
        }
        Results { grids, units: plan.units.len(), done }
    }
}

/// The means of a series over the systems of a unit, with the first reason for a refusal.
fn pooled(series: usize, rows: &[Row]) -> Row {
    let of_series = || rows.iter().filter(|row| row.series == series);
    let mean = |at: usize| {
        let values: Vec<f64> = of_series().filter_map(|row| row.values[at]).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let mut tardiness: BTreeMap<u64, u64> = BTreeMap::new();
    for &(bin, count) in of_series().flat_map(|row| &row.tardiness) {
        *tardiness.entry(bin).or_default() += count;
    }
    Row {
        set: of_series().map(|row| row.set).next().unwrap_or_default(),
        series,
        refused: of_series().find_map(|row| row.refused.clone()),
        values: (0..METRICS.len()).map(mean).collect(),
        tardiness: tardiness.into_iter().collect(),
    }
}
