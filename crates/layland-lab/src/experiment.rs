//! The description of an experiment.

use crate::Parameters;
use crate::metric::{Origin, origin};
pub use crate::real::{Engines, Said, Threads};
use crate::series::Series;
use layland_sim::Horizon;

/// An experiment: the systems that are drawn, the series that are measured on them, and the
/// figures, tables and claims that show the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The name of its file, without the extension.
    pub name: String,
    /// One line about the question that it answers.
    pub title: String,
    /// The publication that it reproduces, if any.
    pub source: String,
    /// Further remarks for readers.
    pub notes: String,
    /// The number of random systems per point.
    pub sets: u64,
    /// The seed of every random draw.
    pub seed: u64,
    /// The length of each simulation.
    pub horizon: Horizon,
    /// The number of systems that are measured together and kept in one shard.
    pub block: u64,
    /// The policies and analyses that are compared.
    pub series: Vec<Series>,
    /// The points.
    pub grids: Vec<Grid>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The expected results.
    pub claims: Vec<Claim>,
    /// The statements of the source that do not hold.
    pub errata: Vec<Erratum>,
    /// The measurement of decision times, if any.
    pub timing: Option<Timing>,
    /// The measurements on real threads, if any.
    pub threads: Option<Threads>,
    /// The runs on every engine, if any.
    pub engines: Option<Engines>,
    /// The contents of its file.
    pub text: String,
}

impl Experiment {
    /// Returns true if jobs are counted by their tardiness on this grid.
    pub fn needs_distribution(&self, grid: usize) -> bool {
        let figures = || self.figures.iter().filter(|figure| figure.grid == grid);
        let tables = || self.tables.iter().filter(|table| table.grid == grid);
        figures().any(|figure| figure.kind == FigureKind::Distribution)
            || tables().any(|table| table.columns.iter().any(|column| column.0 == TARDINESS))
    }

    /// The number of systems of a grid that are measured together; always the same number if the
    /// grid is pooled.
    pub fn block(&self, grid: usize) -> u64 {
        if !self.grids[grid].pooled {
            return self.block;
        }
        (1..=self.block.min(self.sets))
            .rev()
            .find(|block| self.sets.is_multiple_of(*block))
            .unwrap_or(1)
    }

    /// Returns true if only real threads measure this grid, because nothing else uses it.
    pub(crate) fn is_for_threads(&self, grid: usize) -> bool {
        let figures = || self.figures.iter().filter(|figure| figure.grid == grid);
        let shown = figures().any(|figure| figure.origin() != Origin::Threads)
            || self.tables.iter().any(|table| table.grid == grid);
        !shown && self.threads.as_ref().is_some_and(|threads| threads.grid == grid)
    }

    /// Returns true if the experiment shows switches between threads, which requires another run,
    /// traced by the kernel.
    pub fn shows_switches(&self) -> bool {
        let reported = self.threads.iter().flat_map(|threads| &threads.reported);
        let metrics = reported.map(|said| &said.metric);
        metrics.chain(self.figures.iter().map(|figure| &figure.y)).any(|name| name == SWITCHES)
    }

    /// One line for the head of every output file: version, experiment, sets, horizon, seed.
    pub fn provenance(&self) -> String {
        let horizon = match self.horizon {
            Horizon::At(at) => format!("{}", at.since_start()),
            Horizon::Hyperperiods(count) => format!("{count} hyperperiods"),
            Horizon::Recurrence { at_most } => {
                format!("recurrence, at most {}", at_most.since_start())
            }
        };
        format!(
            "layland-lab {}, experiment {}: {}{SETS_PER_POINT}, horizon {horizon}, seed {}",
            env!("CARGO_PKG_VERSION"),
            self.name,
            self.sets,
            self.seed
        )
    }
}

/// The words behind the number of sets in the head of every output file.
pub(crate) const SETS_PER_POINT: &str = " sets per point";

/// The metric of switches between threads.
const SWITCHES: &str = "thread_switches";

/// The metric of individual jobs: tardiness over period.
pub const TARDINESS: &str = "tardiness";

/// The measurement of the decision times of policies, and the reference values. Measured times are
/// never the same twice, so they are written to separate files.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The number of systems of each point that are measured.
    pub sets: u64,
    /// The length of each simulation.
    pub horizon: Horizon,
    /// Times that the source reports.
    pub reported: Vec<Reported>,
    /// The expected results.
    pub claims: Vec<TimingClaim>,
}

/// A time that the source of an experiment reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// The index of the series.
    pub series: usize,
    /// The statistic over all decisions.
    pub statistic: Statistic,
    /// The time in microseconds.
    pub us: f64,
}

/// The claim that decisions of one series take longer than those of another, by some statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct TimingClaim {
    /// The claim, in a sentence.
    pub text: String,
    /// The place where the source makes the claim.
    pub source: String,
    /// The statistics that are compared.
    pub statistics: Vec<Statistic>,
    /// The index of the series that is slower.
    pub slower: usize,
    /// The index of the series that is faster.
    pub faster: usize,
    /// Also by how much: the ratio that the source has, and the factor within which it is met.
    pub ratio: Option<(f64, f64)>,
}

/// A grid of points: every combination of the values of its axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Its name.
    pub name: String,
    /// Parameters with several values, in the order of the file: the first varies slowest.
    pub axes: Vec<(String, Vec<String>)>,
    /// The other parameters.
    pub fixed: Parameters,
    /// The series that are measured, as indices.
    pub series: Vec<usize>,
    /// True if only the means over each block of systems are kept, for experiments with millions of
    /// systems. A block then takes the role of a system in every statistic.
    pub pooled: bool,
}

/// One point of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The value of each axis.
    pub values: Vec<String>,
    /// All parameters.
    pub parameters: Parameters,
}

impl Grid {
    /// Its points, in order.
    pub fn cells(&self) -> Vec<Cell> {
        (0..).map_while(|at| self.cell(at)).collect()
    }

    /// The number of points; the largest number if it overflows.
    pub fn points(&self) -> usize {
        let lengths = self.axes.iter().map(|(_, values)| values.len());
        // An axis without values leaves no point, regardless of the number of values of the others.
        if lengths.clone().any(|length| length == 0) {
            0
        } else {
            lengths.fold(1, usize::saturating_mul)
        }
    }

    /// The point with this index among [`cells`](Self::cells). Computes only this point: computing
    /// all of them can take longer than measuring one.
    pub fn cell(&self, at: usize) -> Option<Cell> {
        let mut below = self.points();
        if at >= below {
            return None;
        }
        let mut cell = Cell { values: Vec::new(), parameters: self.fixed.clone() };
        for (axis, values) in &self.axes {
            below /= values.len();
            let value = &values[at / below % values.len()];
            cell.values.push(value.clone());
            cell.parameters.put(axis, value.clone());
        }
        Some(cell)
    }

    /// The index of an axis.
    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|(axis, _)| axis == name)
    }
}

/// A statistic over the values of a metric at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The middle value; for an even number of values, the mean of the two in the middle.
    Median,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The sum.
    Sum,
    /// The smallest value that is at least as large as this share of the values (nearest rank).
    Quantile(f64),
    /// The mean, weighted by the utilization of the systems: that of their point if utilization is
    /// an axis, otherwise that of each system as drawn. For `accepted`, this is the weighted
    /// schedulability (Bastoni, Brandenburg, Anderson 2010), `sum U pi(U) / sum U`.
    Weighted,
}

/// The content of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// A statistic of a metric along an axis.
    Lines,
    /// The share of all jobs whose tardiness, in periods, is at most x.
    Distribution,
    /// Several statistics side by side, each with a bar for every series.
    Bars,
}

/// The interval that an axis shows. Where it has no bound, the data determine it.
pub type Bounds = Option<(f64, f64)>;

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, also that of its files.
    pub name: String,
    /// The title line, if any.
    pub title: String,
    /// The content.
    pub kind: FigureKind,
    /// The index of its grid.
    pub grid: usize,
    /// Its axis of the grid; unused by distributions and bars.
    pub x: String,
    /// Its metric; unused by bars.
    pub y: String,
    /// The content of the bars, from left to right.
    pub bars: Vec<Bar>,
    /// The statistic over the systems of a point.
    pub statistic: Statistic,
    /// Its series, as indices.
    pub series: Vec<usize>,
    /// The values of other axes of the grid to which its points are restricted.
    pub only: Vec<(String, String)>,
    /// The labels of the axes.
    pub labels: (String, String),
    /// The bounds of the horizontal axis.
    pub x_bounds: Bounds,
    /// The bounds of the vertical axis.
    pub y_bounds: Bounds,
    /// True if the vertical axis is logarithmic, which omits points at 0.
    pub log_y: bool,
}

/// The content of a group of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The metric.
    pub metric: String,
    /// The statistic over the systems.
    pub statistic: Statistic,
    /// The label below it.
    pub label: String,
}

impl Figure {
    /// The origin of the values that it shows: measured, if any of them is measured.
    pub fn origin(&self) -> Origin {
        let bars = self.bars.iter().map(|bar| bar.metric.as_str());
        measured(bars.chain([self.y.as_str()]).map(origin))
    }
}

/// A table: one line per point and series.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The title line.
    pub title: String,
    /// The index of its grid.
    pub grid: usize,
    /// Its series, as indices.
    pub series: Vec<usize>,
    /// Metrics, each with its statistic and its heading as written.
    pub columns: Vec<(String, Statistic, String)>,
}

/// A comparison that can be checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// The claim, in a sentence.
    pub text: String,
    /// The place where the source makes the claim.
    pub source: String,
    /// True if the source does not make the claim: it is of this experiment alone.
    pub ours: bool,
    /// The figures whose points decide the claim, as indices.
    pub figures: Vec<usize>,
    /// The share of the points, or pairs of points, from which the claim holds; `None` for all of
    /// the points, and nine in ten of the pairs.
    pub share: Option<f64>,
    /// The part of the horizontal axis that decides the claim.
    pub range: Range,
    /// The left side of the comparison.
    pub left: Operand,
    /// The kind of comparison.
    pub comparison: Comparison,
}

/// A statement of the source that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erratum {
    /// The place of the statement.
    pub source: String,
    /// The finding.
    pub text: String,
    /// The commands that show it.
    pub commands: Vec<String>,
}

/// A closed interval of an axis; unbounded on a side without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The lower limit.
    pub from: Option<f64>,
    /// The upper limit.
    pub to: Option<f64>,
}

impl Range {
    /// Returns true if the value lies in the interval.
    pub fn contains(&self, x: f64) -> bool {
        self.from.is_none_or(|from| x >= from) && self.to.is_none_or(|to| x <= to)
    }
}

impl Claim {
    /// The origin of the values that it compares.
    pub fn origin(&self, experiment: &Experiment) -> Origin {
        let operands = self.comparison.others().iter().filter_map(|other| match other {
            Other::Series(operand) => Some(operand),
            Other::Value(_) => None,
        });
        let figures = self.figures.iter().map(|&at| experiment.figures[at].origin());
        let metrics = operands.chain([&self.left]).filter_map(|operand| operand.metric.as_deref());
        measured(figures.chain(metrics.map(origin)))
    }
}

/// The first origin that is measured.
fn measured(mut origins: impl Iterator<Item = Origin>) -> Origin {
    origins.find(|&origin| origin != Origin::Computed).unwrap_or(Origin::Computed)
}

/// A series, with the metric of the figure or another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The index of the series.
    pub series: usize,
    /// A metric other than that of the figure.
    pub metric: Option<String>,
    /// A figure other than that of the claim, as an index: its points are used in their order.
    pub figure: Option<usize>,
}

/// The kinds of comparison of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// Less than each of the others at every point.
    Below(Vec<Other>),
    /// At most each of the others at every point.
    AtMost(Vec<Other>),
    /// More than each of the others at every point.
    Above(Vec<Other>),
    /// At least each of the others at every point.
    AtLeast(Vec<Other>),
    /// Equal to each of the others at every point.
    Equals(Vec<Other>),
    /// Within this factor of each of the others at every point, above or below.
    Like(Vec<Other>, f64),
    /// Within this factor at every two points.
    Flat(f64),
    /// Rises along the axis: at least nine in ten pairs of points do.
    Rises,
    /// Falls along the axis: at least nine in ten pairs of points do.
    Falls,
}

impl Comparison {
    /// The right sides.
    pub fn others(&self) -> &[Other] {
        match self {
            Comparison::Below(others)
            | Comparison::AtMost(others)
            | Comparison::Above(others)
            | Comparison::AtLeast(others)
            | Comparison::Equals(others)
            | Comparison::Like(others, _) => others,
            Comparison::Flat(_) | Comparison::Rises | Comparison::Falls => &[],
        }
    }
}

/// The right side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Other {
    /// Another series.
    Series(Operand),
    /// A number.
    Value(f64),
}
