//! The measurements, in the order of the experiment, and as tables for output.

use crate::experiment::Experiment;
use crate::measure::Row;
use crate::metric::{METRICS, metric};
use layland_interchange::columns::{Column, Columns};
use std::collections::{BTreeMap, BTreeSet};

/// The version of the results: of their columns, and of the rules by which they are measured. It
/// changes whenever either does, and shards of other versions are not used.
pub const SCHEMA: u32 = 5;

/// The metrics of the system itself, which every series has.
const OF_SYSTEMS: [&str; 3] = ["utilization", "tied_tasks", "migrating_tasks"];

/// All measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The measured grids.
    pub grids: Vec<GridRows>,
    /// The number of units of work.
    pub units: usize,
    /// The number of completed units.
    pub done: usize,
}

/// The rows of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRows {
    /// The index of the grid.
    pub grid: usize,
    /// Its points, in order.
    pub cells: Vec<CellRows>,
}

/// The rows of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRows {
    /// The value of each axis.
    pub values: Vec<String>,
    /// The seed from which its systems are drawn.
    pub seed: u64,
    /// The rows, ordered by system, then by series.
    pub rows: Vec<Row>,
}

impl Results {
    /// Returns true if everything was measured.
    pub fn is_complete(&self) -> bool {
        self.done == self.units
    }

    /// The points of a grid; empty if it was not measured.
    pub fn cells(&self, grid: usize) -> &[CellRows] {
        self.grids.iter().find(|rows| rows.grid == grid).map_or(&[], |rows| &rows.cells)
    }

    /// Returns the index of each series that has no value for any system, with the reason for the
    /// first one. Figures and tables leave such a series out.
    pub fn without_values(&self) -> BTreeMap<usize, &str> {
        let rows = || self.grids.iter().flat_map(|grid| &grid.cells).flat_map(|cell| &cell.rows);
        let of_systems = OF_SYSTEMS.map(|name| metric(name).expect("it is a metric"));
        let has_value = |row: &&Row| {
            let mut values = row.values.iter().enumerate();
            values.any(|(at, value)| value.is_some() && !of_systems.contains(&at))
        };
        let with: BTreeSet<usize> = rows().filter(has_value).map(|row| row.series).collect();
        let mut without = BTreeMap::new();
        for row in rows().filter(|row| !with.contains(&row.series)) {
            if let Some(reason) = &row.refused {
                without.entry(row.series).or_insert(&**reason);
            }
        }
        without
    }

    /// One line per system and series: the content of `results.csv`.
    pub fn table(&self, experiment: &Experiment) -> Columns {
        let (mut columns, all) = self.keys(experiment, |_| 1);
        columns.push("refused", Column::Text(all.iter().map(|row| row.refused.clone()).collect()));
        for (at, metric) in METRICS.iter().enumerate() {
            let values = all.iter().map(|row| row.values[at]).collect();
            columns.push(metric.name, Column::Real(values));
        }
        columns
    }

    /// One line per system, series and bin of tardiness; `None` if distributions were not
    /// requested.
    pub fn distribution(&self, experiment: &Experiment) -> Option<Columns> {
        let (mut columns, all) = self.keys(experiment, |row| row.tardiness.len());
        if columns.rows() == 0 {
            return None;
        }
        let bins = || all.iter().flat_map(|row| row.tardiness.iter());
        let real = |bin: u64| Some(bin as f64 / crate::observe::BINS as f64);
        columns.push("tardiness", Column::Real(bins().map(|&(bin, _)| real(bin)).collect()));
        columns.push("jobs", Column::Int(bins().map(|&(_, jobs)| Some(jobs as i64)).collect()));
        Some(columns)
    }

    /// The columns that identify a row, where each row is repeated `times` times.
    fn keys(&self, experiment: &Experiment, times: impl Fn(&Row) -> usize) -> (Columns, Vec<&Row>) {
        let mut axes: Vec<&str> = Vec::new();
        for grid in self.grids.iter().map(|rows| &experiment.grids[rows.grid]) {
            for (axis, _) in &grid.axes {
                if !axes.contains(&axis.as_str()) {
                    axes.push(axis);
                }
            }
        }
        let mut all: Vec<&Row> = Vec::new();
        let (mut grids, mut points, mut sets, mut seeds, mut series) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut values: Vec<Vec<Option<String>>> = vec![Vec::new(); axes.len()];
        for rows in &self.grids {
            let grid = &experiment.grids[rows.grid];
            for (point, cell) in rows.cells.iter().enumerate() {
                for row in &cell.rows {
                    all.push(row);
                    for _ in 0..times(row) {
                        grids.push(Some(grid.name.clone()));
                        points.push(Some(point as i64));
                        sets.push(Some(row.set as i64));
                        seeds.push(Some(cell.seed as i64));
                        series.push(Some(experiment.series[row.series].name.clone()));
                        for (axis, values) in axes.iter().zip(&mut values) {
                            values.push(grid.axis(axis).map(|at| cell.values[at].clone()));
                        }
                    }
                }
            }
        }
        let mut columns = Columns::new(SCHEMA).with("provenance", experiment.provenance());
        columns.push("grid", Column::Text(grids));
        columns.push("point", Column::Int(points));
        for (axis, values) in axes.iter().zip(values) {
            // The prefix is needed because a parameter may have the name of a metric.
            columns.push(&format!("at_{axis}"), Column::Text(values));
        }
        columns.push("set", Column::Int(sets));
        columns.push("seed", Column::Int(seeds));
        columns.push("series", Column::Text(series));
        (columns, all)
    }
}
