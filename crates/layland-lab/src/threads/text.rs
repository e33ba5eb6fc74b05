//! Formats the measurements on real threads beside the values of the source.

use super::{Costs, ThreadRun, ThreadRuns, Times, mean};
use crate::claim::{judge_of, short};
use crate::experiment::{Experiment, Said, Threads};
use crate::metric::{Origin, metric};
use crate::results::Results;
use crate::table::{aligned, claims_list};

impl ThreadRuns {
    /// Formats the results: claims, each run beside the values of the source, the costs of the
    /// dispatcher, and changes of priorities.
    pub fn text(&self, experiment: &Experiment) -> String {
        let Some(threads) = &experiment.threads else { return String::new() };
        let mut out = format!(
            "measured on real threads, {}; figures differ from run to run and from machine to machine\n\n",
            self.machine
        );
        let results = self.results(threads);
        let judged = judge_of(experiment, &results, Origin::Threads);
        if !judged.is_empty() {
            out += &(claims_list(experiment, &judged) + "\n");
        }
        out += &self.busy_text(experiment, threads);
        out += &self.costs_text(experiment);
        if !threads.reported.is_empty() {
            out += &beside(experiment, threads, &results);
        }
        if !self.moves.is_empty() {
            out += &self.moves_text();
        }
        if experiment.shows_switches() {
            out += &self.correlation_text(threads);
        }
        for remark in &self.remarks {
            out += &format!("\n{remark}\n");
        }
        out
    }

    fn busy_text(&self, experiment: &Experiment, threads: &Threads) -> String {
        let grid = &experiment.grids[threads.grid];
        let axes = grid.axes.iter().map(|(axis, _)| axis.as_str());
        let rest = ["set", "series", "busy periods", "busy us", "overhead %", "switches", "missed"];
        let mut rows: Vec<Vec<String>> = vec![axes.chain(rest).map(str::to_owned).collect()];
        for run in &self.runs {
            let one = |value: Option<f64>, decimals: usize| {
                value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
            };
            let mut row = run.values.clone();
            row.extend([
                run.set.to_string(),
                experiment.series[run.series].label.clone(),
                run.busy_ns.len().to_string(),
                one(run.busy_us(), 1),
                one(self.overhead(run, threads), 3),
                one(run.mean_switches(), 1),
                format!("{} of {}", run.missed, run.jobs),
            ]);
            rows.push(row);
        }
        let axes = grid.axes.len();
        let right: Vec<bool> = (0..axes + rest.len()).map(|at| at != axes + 1).collect();
        aligned(&rows, &right)
    }

    /// Formats the costs of the dispatcher under each series, over all runs.
    fn costs_text(&self, experiment: &Experiment) -> String {
        let mut out = "\ncosts of the dispatcher, in microseconds: mean, median, 99.9th percentile (the median \
                       and the largest of those of the runs), longest\n"
            .to_owned();
        let heading = ["series", "what", "count", "mean", "median", "99.9 %", "longest"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        for series in self.series() {
            let runs: Vec<&ThreadRun> =
                self.runs.iter().filter(|run| run.series == series).collect();
            for at in 0..Costs::default().all().len() {
                let times = runs.iter().map(|run| run.costs.all()[at].2);
                let all: Vec<&Times> = times.filter(|times| times.count > 0).collect();
                let count: u64 = all.iter().map(|times| times.count).sum();
                if count == 0 {
                    continue;
                }
                let sum: f64 = all.iter().map(|times| times.sum_ns()).sum();
                let mut medians: Vec<u64> = all.iter().map(|times| times.median_ns).collect();
                medians.sort_unstable();
                let most = |of: fn(&Times) -> u64| all.iter().map(|times| of(times)).max();
                let us = |ns: f64| format!("{:.2}", ns / 1e3);
                rows.push(vec![
                    experiment.series[series].label.clone(),
                    runs[0].costs.all()[at].1.to_owned(),
                    count.to_string(),
                    us(sum / count as f64),
                    us(medians[medians.len() / 2] as f64),
                    us(most(|times| times.q999_ns).unwrap_or(0) as f64),
                    us(most(|times| times.max_ns).unwrap_or(0) as f64),
                ]);
            }
        }
        out += &aligned(&rows, &[false, false, true, true, true, true, true]);
        out
    }

    fn moves_text(&self) -> String {
        let mut out =
            "\nchanges of priorities, in microseconds: median, mean and maximum of each\n"
                .to_owned();
        let names = ["threads", "preemption", "first change", "further changes", "return"];
        let mut rows = vec![names.map(str::to_owned).to_vec()];
        for moved in &self.moves {
            let us = |times: &Times| {
                let (median, mean) = (times.median_ns as f64 / 1e3, times.mean_ns / 1e3);
                format!("{median:.2} {mean:.2} {:.1}", times.max_ns as f64 / 1e3)
            };
            let times = [&moved.preemption, &moved.first, &moved.further, &moved.back];
            let none = |times: &Times| if times.count == 0 { "-".to_owned() } else { us(times) };
            let first = [moved.threads.to_string()].into_iter();
            rows.push(first.chain(times.map(none)).collect());
        }
        out += &aligned(&rows, &[true; 5]);
        out
    }

    /// Formats the correlation of overheads and switches.
    fn correlation_text(&self, threads: &Threads) -> String {
        let pairs: Vec<(f64, f64)> = (self.runs.iter())
            .filter_map(|run| Some((run.mean_switches()?, self.overhead(run, threads)?)))
            .collect();
        match correlation(&pairs) {
            None => "\noverheads and thread switches: no correlation can be computed\n".to_owned(),
            Some(found) => {
                format!("\noverheads and thread switches: correlation over all runs {found:.2}\n")
            }
        }
    }
}

/// Formats the values of the source beside the measured ones: the mean over the runs.
fn beside(experiment: &Experiment, threads: &Threads, results: &Results) -> String {
    let grid = &experiment.grids[threads.grid];
    let axis = grid.axes.first().map_or("", |(axis, _)| axis.as_str());
    let mut out = "\nbeside the source\n".to_owned();
    let heading = [axis, "series", "what", "here", "source"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for Said { series, at, metric: name, value } in &threads.reported {
        let cells = results.cells(threads.grid).iter();
        let cells = cells.filter(|cell| at.is_none() || cell.values.first() == at.as_ref());
        let of = metric(name).expect("it was looked up when it was read");
        let all = cells.flat_map(|cell| &cell.rows).filter(|row| row.series == *series);
        let all: Vec<f64> = all.filter_map(|row| row.values[of]).collect();
        let here = if name.contains("_max_") {
            all.iter().copied().reduce(f64::max)
        } else {
            mean(all.iter().copied())
        };
        rows.push(vec![
            at.clone().unwrap_or_else(|| "all".to_owned()),
            experiment.series[*series].label.clone(),
            name.clone(),
            here.map_or("-".to_owned(), short),
            short(*value),
        ]);
    }
    out += &aligned(&rows, &[true, false, false, true, true]);
    out
}

/// Pearson's coefficient; `None` for fewer than three pairs, or if a variable is constant.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let x = mean(pairs.iter().map(|pair| pair.0))?;
    let y = mean(pairs.iter().map(|pair| pair.1))?;
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|&(a, b)| of(a - x, b - y)).sum()
    };
    let (xx, yy, xy) = (sum(&|a, _| a * a), sum(&|_, b| b * b), sum(&|a, b| a * b));
    (pairs.len() > 2 && xx > 0.0 && yy > 0.0).then(|| xy / libm::sqrt(xx * yy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correlation_is_that_of_pearson() {
        assert_eq!(correlation(&[(0.0, 1.0), (1.0, 3.0)]), None);
        assert_eq!(correlation(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), Some(1.0));
        assert_eq!(correlation(&[(0.0, 5.0), (1.0, 3.0), (2.0, 1.0)]), Some(-1.0));
        let found = correlation(&[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0)]).unwrap();
        assert!((found - 0.5).abs() < 1e-12);
    }
}
