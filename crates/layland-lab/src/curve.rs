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
    let grid = &experiment.grids[figure.grid];
    if figure.kind == FigureKind::Bars {
        return bars(experiment, results, figure, series, name);
    }
    let Some(axis) = grid.axis(&figure.x) else { return Vec::new() };
    // If the figure shows the weighted mean, points that differ only in the utilization count
    // together.
    let mut at: BTreeMap<Rate, Vec<(f64, f64)>> = BTreeMap::new();
    for cell in shown(experiment, results, figure) {
        let x = cell.values[axis].parse().unwrap_or(Rate::ZERO);
        at.entry(x).or_default().extend(values(grid, cell, series, name));
    }
    let point = |(x, values): (Rate, Vec<(f64, f64)>)| {
        let y = figure.statistic.of(&values);
        let count = values.len() as u64;
        let is_share = name == "accepted" && figure.statistic == Statistic::Mean;
        let interval = y.filter(|_| is_share).and_then(|share| wilson(share, count));
        Point { x: x.to_f64(), y, count, interval }
    };
    at.into_iter().map(point).collect()
}

/// The bars of a series, numbered from 1; only those of metric `name`, if given.
fn bars(
    experiment: &Experiment,
    results: &Results,
    figure: &Figure,
    series: usize,
    name: &str,
) -> Vec<Point> {
    let grid = &experiment.grids[figure.grid];
    let cells: Vec<&CellRows> = shown(experiment, results, figure).collect();
    let bars = (1..).zip(&figure.bars);
    bars.filter(|(_, bar)| name.is_empty() || bar.metric == name)
        .map(|(number, bar)| {
            let values: Vec<(f64, f64)> =
                cells.iter().flat_map(|cell| values(grid, cell, series, &bar.metric)).collect();
            let y = bar.statistic.of(&values);
            Point { x: f64::from(number), y, count: values.len() as u64, interval: None }
        })
        .collect()
}

/// The points of the grid that the figure shows.
fn shown<'a>(
    experiment: &'a Experiment,
    results: &'a Results,
    figure: &'a Figure,
) -> impl Iterator<Item = &'a CellRows> {
    let grid = &experiment.grids[figure.grid];
    results.cells(figure.grid).iter().filter(move |cell| {
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
    let cells: Vec<&CellRows> = shown(experiment, results, figure).collect();
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

/// The values of a metric, each with the utilization of its point or, if that is not an axis, of
/// its system.
fn values(grid: &Grid, cell: &CellRows, series: usize, name: &str) -> Vec<(f64, f64)> {
    let (Some(at), Some(weight)) = (metric(name), metric("utilization")) else {
        return Vec::new();
    };
    let utilization =
        grid.axis("utilization").and_then(|axis| cell.values[axis].parse::<Rate>().ok());
    let utilization = utilization.map(|utilization| utilization.to_f64());
    let value = |row: &Row, at: usize| row.values.get(at).copied().flatten();
    let rows = cell.rows.iter().filter(|row| row.series == series);
    rows.filter_map(|row| Some((value(row, at)?, utilization.or(value(row, weight))?))).collect()
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
        of.of(&values(grid, cell, series, name))
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
