//! The points of a figure.

use crate::experiment::{Experiment, Figure, FigureKind, Grid, Statistic, TARDINESS};
use crate::measure::Row;
use crate::metric::metric;
use crate::observe::BINS;
use crate::results::{CellRows, Results};
use layland_model::Rate;
use std::collections::BTreeMap;

/// The points of one series of a figure, from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The index of the series.
    pub series: usize,
    /// Its points.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The horizontal position.
    pub x: f64,
    /// The statistic; `None` if nothing was measured there.
    pub y: Option<f64>,
    /// The number of values; in a distribution, the number of jobs.
    pub count: u64,
    /// The 95 % confidence interval of a share of systems; `None` for other statistics.
    pub interval: Option<(f64, f64)>,
}

/// Returns the interval of Wilson for a share that was seen in `count` independent draws, at 95 %
/// confidence (Wilson, "Probable inference, the law of succession, and statistical inference",
/// 1927). It never leaves 0 to 1, and is right for shares of 0 and 1 as well.
fn wilson(share: f64, count: u64) -> Option<(f64, f64)> {
    const Z: f64 = 1.959_963_984_540_054;
    if count == 0 {
        return None;
    }
    let n = count as f64;
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * libm::sqrt(share * (1.0 - share) / n + Z * Z / (4.0 * n * n));
    let whole = 1.0 + Z * Z / n;
    Some((((middle - half) / whole).max(0.0), ((middle + half) / whole).min(1.0)))
}

/// The curves of a figure, in the order of its series.
pub fn curves(experiment: &Experiment, results: &Results, figure: &Figure) -> Vec<Curve> {
    let of = |&series: &usize| Curve {
        series,
        points: match figure.kind {
            FigureKind::Lines | FigureKind::Bars => {
                points(experiment, results, figure, series, &figure.y)
            }
            FigureKind::Distribution => distribution(experiment, results, figure, series),
        },
    };
    figure.series.iter().map(of).collect()
}

/// The points of a series for any metric.
pub(crate) fn points(
    experiment: &Experiment,
    results: &Results,
    figure: &Figure,
    series: usize,
    name: &str,
) -> Vec<Point> {
    let is_share = name == "accepted"
        && figure.kind == FigureKind::Lines
        && figure.statistic == Statistic::Mean;
    let point = |values: Values| {
        let y = values.statistic.of(&values.all());
        let count = values.count();
        let interval = y.filter(|_| is_share).and_then(|share| wilson(share, count));
        Point { x: values.x, y, count, interval }
    };
    gathered(experiment, results, figure, series, name).into_iter().map(point).collect()
}

/// The values from which a point of a curve is computed.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// The horizontal position.
    pub x: f64,
    /// The statistic over them.
    pub statistic: Statistic,
    /// The values by point of the grid.
    pub parts: Vec<CellValues>,
}

/// The values of the systems of a point of the grid.
#[derive(Clone, Debug)]
pub(crate) struct CellValues {
    /// The index of the grid, and that of its point.
    pub cell: (usize, usize),
    /// The value of each system, with its weight; `None` where it does not exist.
    pub of: Vec<Option<(f64, f64)>>,
}

impl Values {
    /// All values that exist, in order.
    fn all(&self) -> Vec<(f64, f64)> {
        self.parts.iter().flat_map(|part| part.of.iter().copied().flatten()).collect()
    }

    /// The number of values.
    fn count(&self) -> u64 {
        self.parts.iter().map(|part| part.of.iter().flatten().count() as u64).sum()
    }
}

/// The values of a series for any metric, by point of the figure.
pub(crate) fn gathered(
    experiment: &Experiment,
    results: &Results,
    figure: &Figure,
    series: usize,
    name: &str,
) -> Vec<Values> {
    let grid = &experiment.grids[figure.grid];
    let part = |(at, cell): (usize, &CellRows), name: &str| CellValues {
        cell: (figure.grid, at),
        of: of_sets(grid, cell, series, name),
    };
    if figure.kind == FigureKind::Bars {
        let cells: Vec<(usize, &CellRows)> = shown(experiment, results, figure).collect();
        let bars = (1..).zip(&figure.bars);
        return bars
            .filter(|(_, bar)| name.is_empty() || bar.metric == name)
            .map(|(number, bar): (u32, _)| Values {
                x: f64::from(number),
                statistic: bar.statistic,
                parts: cells.iter().map(|&cell| part(cell, &bar.metric)).collect(),
            })
            .collect();
    }
    let Some(axis) = grid.axis(&figure.x) else { return Vec::new() };
    // If the figure shows the weighted mean, points that differ only in the utilization count
    // together.
    let mut at: BTreeMap<Rate, Vec<CellValues>> = BTreeMap::new();
    for cell in shown(experiment, results, figure) {
        let x = cell.1.values[axis].parse().unwrap_or(Rate::ZERO);
        at.entry(x).or_default().push(part(cell, name));
    }
    let values = |(x, parts): (Rate, Vec<CellValues>)| Values {
        x: x.to_f64(),
        statistic: figure.statistic,
        parts,
    };
    at.into_iter().map(values).collect()
}

/// The points of the grid that the figure shows, each with its index.
fn shown<'a>(
    experiment: &'a Experiment,
    results: &'a Results,
    figure: &'a Figure,
) -> impl Iterator<Item = (usize, &'a CellRows)> {
    let grid = &experiment.grids[figure.grid];
    results.cells(figure.grid).iter().enumerate().filter(move |(_, cell)| {
        figure
            .only
            .iter()
            .all(|(axis, value)| grid.axis(axis).is_some_and(|at| cell.values[at] == *value))
    })
}

/// The share of jobs whose tardiness is at most x, at every x where it changes.
fn distribution(
    experiment: &Experiment,
    results: &Results,
    figure: &Figure,
    series: usize,
) -> Vec<Point> {
    let cells: Vec<&CellRows> = shown(experiment, results, figure).map(|(_, cell)| cell).collect();
    let counts = tardiness(&cells, series);
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    let point = |&(x, count): &(f64, u64)| {
        seen += count;
        Point { x, y: Some(seen as f64 / total as f64), count: total, interval: None }
    };
    counts.iter().map(point).collect()
}

/// The number of jobs of a series for each tardiness, in periods.
fn tardiness(cells: &[&CellRows], series: usize) -> Vec<(f64, u64)> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    let rows = cells.iter().flat_map(|cell| &cell.rows).filter(|row| row.series == series);
    for &(bin, count) in rows.flat_map(|row| &row.tardiness) {
        *bins.entry(bin).or_default() += count;
    }
    bins.into_iter().map(|(bin, count)| (bin as f64 / BINS as f64, count)).collect()
}

/// The numbers of the systems of a point, in ascending order.
pub(crate) fn set_numbers(cell: &CellRows) -> Vec<u64> {
    let mut numbers: Vec<u64> = cell.rows.iter().map(|row| row.set).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The value of a metric for each system of a point, with the utilization of the point or, if that
/// is not an axis, of the system.
fn of_sets(grid: &Grid, cell: &CellRows, series: usize, name: &str) -> Vec<Option<(f64, f64)>> {
    let numbers = set_numbers(cell);
    let mut values = vec![None; numbers.len()];
    let (Some(at), Some(weight)) = (metric(name), metric("utilization")) else { return values };
    let utilization =
        grid.axis("utilization").and_then(|axis| cell.values[axis].parse::<Rate>().ok());
    let utilization = utilization.map(|utilization| utilization.to_f64());
    let value = |row: &Row, at: usize| row.values.get(at).copied().flatten();
    for row in cell.rows.iter().filter(|row| row.series == series) {
        let place = numbers.binary_search(&row.set).expect("the number is among them");
        values[place] = value(row, at).zip(utilization.or(value(row, weight)));
    }
    values
}

/// A statistic of one point of a grid.
pub(crate) fn at_cell(
    grid: &Grid,
    cell: &CellRows,
    series: usize,
    name: &str,
    of: Statistic,
) -> Option<f64> {
    if name == TARDINESS {
        of.of_counts(&tardiness(&[cell], series))
    } else {
        let values: Vec<(f64, f64)> =
            of_sets(grid, cell, series, name).into_iter().flatten().collect();
        of.of(&values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_tables() {
        // Values that R prints: prop.test(x, n, correct = FALSE).
        for (share, count, low, high) in [
            (0.0, 10, 0.0, 0.277_532),
            (0.5, 10, 0.236_593, 0.763_407),
            (0.95, 20, 0.763_869, 0.991_119),
            (1.0, 100, 0.963_005, 1.0),
        ] {
            let (from, to) = wilson(share, count).expect("there are draws");
            assert!((from - low).abs() < 1e-5 && (to - high).abs() < 1e-5, "{from} {to}");
        }
        assert_eq!(wilson(0.5, 0), None);
    }
}
