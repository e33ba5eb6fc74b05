//! What policies cost on real threads: how long CPUs are busy, how often threads switch, how often the manager
//! runs, and how long it takes to change priorities. All of it is measured on this machine, one run after the other.
//!
//! Source of the method: H.-M. Huang, C. Gill, C. Lu. Implementation and evaluation of mixed-criticality
//! scheduling approaches for sporadic tasks. ACM TECS 13(4s), 2014, Section 5.3. The *overhead* of a policy is how much
//! longer the CPUs are busy than under the baseline, with the same system and the same work.
//! The unit is the source's: the busy period after a common release of all tasks, one per hyperperiod (`busy.rs`).
//!
//! Deviations: (1) The length of a busy period is the time for which the CPUs run its jobs, and its jobs are those
//! that it has under the baseline. A mechanism that waits for its next slice idles with jobs pending; jobs that
//! arrive meanwhile are no overhead. The latency of the first release does not count.
//! (2) Here the baseline has a manager, as every policy does; in the paper it has none. (3) Bounds are 5 % larger
//! than the execution times, so that switches use up no budget.
//!
//! Measured figures are never the same twice. They are kept apart from the results, in `threads.csv`,
//! `threads.txt` and `figures/threads-*`.

mod busy;
#[cfg(target_os = "linux")]
mod measure;

use crate::curve::{Curve, Point};
use crate::draw::Chart;
use crate::experiment::{Experiment, Figure, FigureKind, Statistic, Threads};
use crate::output::Written;
use crate::run::LabError;
use crate::shard::replace;
use crate::table::aligned;
use layland_interchange::columns::{Column, Columns};
use layland_policy::Registry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What was measured on real threads.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRuns {
    /// The machine, in words.
    pub machine: String,
    /// By point and series.
    pub runs: Vec<ThreadRun>,
    /// The time to change priorities, by the number of threads.
    pub moves: Vec<Move>,
    /// Which measurements are missing, and why.
    pub remarks: Vec<String>,
}

/// One system under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRun {
    /// The value of each axis.
    pub values: Vec<String>,
    /// The index of the series.
    pub series: usize,
    /// How many jobs were released, and how many missed their deadline.
    pub jobs: u64,
    /// See `jobs`.
    pub missed: u64,
    /// How long the CPUs were busy in each busy period, in nanoseconds, summed over them; by the
    /// hyperperiod that it begins.
    pub busy_ns: BTreeMap<u64, i64>,
    /// How many switches between threads each busy period of another run had there; none without a
    /// trace of the kernel.
    pub switches: Option<Vec<u64>>,
    /// Invocations of the manager.
    pub invocation: Times,
}

/// A distribution, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// How many there are.
    pub count: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The median.
    pub median_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

/// The time to preempt a thread, to change the priorities of others, and to resume it.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// How many threads change their priority.
    pub threads: usize,
    /// From the last instruction of the preempted thread to the manager.
    pub preemption: Times,
    /// The first change of a priority.
    pub first: Times,
    /// Each further one.
    pub further: Times,
    /// From the manager back to the preempted thread.
    pub back: Times,
}

/// The outcome of a measurement on real threads.
#[derive(Clone, Debug, PartialEq)]
pub enum OnThreads {
    /// It was made.
    Measured(ThreadRuns),
    /// The experiment does not ask for any.
    None,
    /// It was interrupted.
    Interrupted,
    /// This machine does not permit it; the text says what is needed.
    Needs(String),
}

/// Runs the measurements on real threads that the experiment asks for. After each run `tell` is called with the
/// number of runs that are done and the number of all runs.
///
/// # Errors
/// If a system cannot be drawn.
pub fn on_threads(
    experiment: &Experiment,
    registry: &Registry,
    interrupt: &AtomicBool,
    tell: &dyn Fn(usize, usize),
) -> Result<OnThreads, LabError> {
    let Some(threads) = &experiment.threads else { return Ok(OnThreads::None) };
    #[cfg(target_os = "linux")]
    return measure::measure(experiment, registry, threads, interrupt, tell);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (registry, threads, interrupt, tell);
        Ok(OnThreads::Needs("Linux".to_owned()))
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

impl ThreadRun {
    /// How long the CPUs were busy in a busy period, on average, in microseconds.
    pub fn busy_us(&self) -> Option<f64> {
        mean(self.busy_ns.values().map(|&ns| ns as f64 / 1e3))
    }

    /// The mean number of switches in a busy period.
    pub fn mean_switches(&self) -> Option<f64> {
        mean(self.switches.as_ref()?.iter().map(|&count| count as f64))
    }
}

impl ThreadRuns {
    fn find(&self, values: &[String], series: usize) -> Option<&ThreadRun> {
        self.runs.iter().find(|run| run.values == values && run.series == series)
    }

    /// By how much longer the CPUs were busy than under the baseline, in percent, over the busy periods
    /// that both runs have.
    pub fn overhead(&self, run: &ThreadRun, threads: &Threads) -> Option<f64> {
        let baseline = &self.find(&run.values, threads.baseline)?.busy_ns;
        let pair = |(at, &here): (&u64, &i64)| baseline.get(at).map(|&there| (here, there));
        let pairs = || run.busy_ns.iter().filter_map(pair);
        let here: i64 = pairs().map(|(here, _)| here).sum();
        let there: i64 = pairs().map(|(_, there)| there).sum();
        (there > 0).then(|| (here - there) as f64 / there as f64 * 100.0)
    }

    fn series(&self) -> Vec<usize> {
        let mut series: Vec<usize> = self.runs.iter().map(|run| run.series).collect();
        series.sort_unstable();
        series.dedup();
        series
    }

    fn table(&self, experiment: &Experiment, threads: &Threads) -> Columns {
        let mut columns =
            Columns::new(crate::results::SCHEMA).with("provenance", experiment.provenance());
        let grid = &experiment.grids[threads.grid];
        for (at, (axis, _)) in grid.axes.iter().enumerate() {
            let values = self.runs.iter().map(|run| Some(run.values[at].clone()));
            columns.push(axis, Column::Text(values.collect()));
        }
        let runs = || self.runs.iter();
        let name = |run: &ThreadRun| Some(experiment.series[run.series].name.clone());
        columns.push("series", Column::Text(runs().map(name).collect()));
        let mut whole = |name: &str, of: &dyn Fn(&ThreadRun) -> u64| {
            let values = runs().map(|run| i64::try_from(of(run)).ok());
            columns.push(name, Column::Int(values.collect()));
        };
        whole("jobs", &|run| run.jobs);
        whole("missed", &|run| run.missed);
        whole("busy_periods", &|run| run.busy_ns.len() as u64);
        whole("invocations", &|run| run.invocation.count);
        let mut real = |name: &str, of: &dyn Fn(&ThreadRun) -> Option<f64>| {
            columns.push(name, Column::Real(runs().map(of).collect()));
        };
        real("busy_us", &ThreadRun::busy_us);
        real("overhead_percent", &|run| self.overhead(run, threads));
        real("switches", &ThreadRun::mean_switches);
        real("invocation_mean_us", &|run| Some(run.invocation.mean_ns / 1e3));
        real("invocation_max_us", &|run| Some(run.invocation.max_ns as f64 / 1e3));
        columns
    }

    /// The results as text: each run beside the values of the source, invocations of the manager, changes of
    /// priorities, and whether the findings of the source hold here.
    pub fn text(&self, experiment: &Experiment) -> String {
        let Some(threads) = &experiment.threads else { return String::new() };
        let mut out = format!(
            "measured on real threads, {}; figures differ from run to run and from machine to machine\n\n",
            self.machine
        );
        out += &self.busy_text(experiment, threads);
        out += "\ninvocations of the manager, in microseconds\n";
        let heading = ["series", "count", "mean", "max"].map(str::to_owned).to_vec();
        let mut rows = vec![heading];
        for series in self.series() {
            let all = || self.runs.iter().filter(|run| run.series == series);
            let count: u64 = all().map(|run| run.invocation.count).sum();
            let sum: f64 =
                all().map(|run| run.invocation.mean_ns * run.invocation.count as f64).sum();
            let max = all().map(|run| run.invocation.max_ns).max().unwrap_or(0);
            rows.push(vec![
                experiment.series[series].label.clone(),
                count.to_string(),
                format!("{:.2}", sum / count.max(1) as f64 / 1e3),
                format!("{:.1}", max as f64 / 1e3),
            ]);
        }
        out += &aligned(&rows, &[false, true, true, true]);
        if !self.moves.is_empty() {
            out += &self.moves_text();
        }
        out += &self.claims_text(experiment, threads);
        for remark in &self.remarks {
            out += &format!("\n{remark}\n");
        }
        out
    }

    fn busy_text(&self, experiment: &Experiment, threads: &Threads) -> String {
        let grid = &experiment.grids[threads.grid];
        let axes = grid.axes.iter().map(|(axis, _)| axis.as_str());
        let rest = [
            "series",
            "busy periods",
            "busy us",
            "overhead %",
            "switches",
            "missed",
            "source: us",
            "overhead %",
            "switches",
        ];
        let mut rows: Vec<Vec<String>> = vec![axes.chain(rest).map(str::to_owned).collect()];
        let said = |series: usize, values: &[String]| {
            let at = values.first();
            threads.reported.iter().find(|said| said.series == series && Some(&said.at) == at)
        };
        for run in &self.runs {
            let one = |value: Option<f64>, decimals: usize| {
                value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
            };
            let there = said(run.series, &run.values);
            let base = said(threads.baseline, &run.values);
            let overhead = there
                .zip(base)
                .map(|(there, base)| (there.busy_us as f64 / base.busy_us as f64 - 1.0) * 100.0);
            let mut row = run.values.clone();
            row.extend([
                experiment.series[run.series].label.clone(),
                run.busy_ns.len().to_string(),
                one(run.busy_us(), 1),
                one(self.overhead(run, threads), 3),
                one(run.mean_switches(), 1),
                format!("{} of {}", run.missed, run.jobs),
                there.map_or("-".to_owned(), |said| said.busy_us.to_string()),
                one(overhead, 3),
                there.map_or("-".to_owned(), |said| said.switches.to_string()),
            ]);
            rows.push(row);
        }
        let axes = grid.axes.len();
        let right: Vec<bool> = (0..axes + rest.len()).map(|at| at != axes).collect();
        aligned(&rows, &right)
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

    /// Whether the overheads rise in the order of the source, and with the switches.
    fn claims_text(&self, experiment: &Experiment, threads: &Threads) -> String {
        let mut out = String::new();
        let label = |series: &usize| experiment.series[*series].label.as_str();
        let overhead = |series: usize| {
            let all = self.runs.iter().filter(|run| run.series == series);
            let all: Vec<f64> = all.filter_map(|run| self.overhead(run, threads)).collect();
            mean(all.into_iter())
        };
        if threads.order.len() > 1 {
            let found: Option<Vec<f64>> = threads.order.iter().map(|&at| overhead(at)).collect();
            let names: Vec<&str> = threads.order.iter().map(label).collect();
            let judged = match &found {
                None => "undecided",
                Some(found) if found.is_sorted() => "holds",
                Some(_) => "does not hold",
            };
            out += &format!("\noverheads rise in the order {}: {judged}\n", names.join(", "));
            for (&series, mean) in threads.order.iter().zip(found.into_iter().flatten()) {
                out += &format!("  {}: {mean:.3} % on average\n", label(&series));
            }
        }
        let pairs: Vec<(f64, f64)> = (self.runs.iter())
            .filter_map(|run| Some((run.mean_switches()?, self.overhead(run, threads)?)))
            .collect();
        let found = correlation(&pairs);
        let judged = match found {
            None => "undecided",
            Some(found) if found > 0.7 => "holds",
            Some(_) => "does not hold",
        };
        out += &format!("\noverheads correlate strongly with thread switches: {judged}\n");
        if let Some(found) = found {
            out += &format!("  correlation over all runs: {found:.2}\n");
        }
        out
    }

    /// The overhead of each series along the first axis.
    fn curves(&self, threads: &Threads) -> Vec<Curve> {
        let curve = |series: usize| {
            let runs = self.runs.iter().filter(|run| run.series == series);
            let points = runs.filter_map(|run| {
                let x = run.values.first()?.parse().ok()?;
                let count = run.busy_ns.len() as u64;
                Some(Point { x, y: self.overhead(run, threads), count })
            });
            Curve { series, points: points.collect() }
        };
        self.series().into_iter().map(curve).collect()
    }
}

/// Pearson's coefficient; none for fewer than three pairs, or where nothing varies.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let x = mean(pairs.iter().map(|pair| pair.0))?;
    let y = mean(pairs.iter().map(|pair| pair.1))?;
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|&(a, b)| of(a - x, b - y)).sum()
    };
    let (xx, yy, xy) = (sum(&|a, _| a * a), sum(&|_, b| b * b), sum(&|a, b| a * b));
    (pairs.len() > 2 && xx > 0.0 && yy > 0.0).then(|| xy / libm::sqrt(xx * yy))
}

/// Writes what was measured on real threads: `threads.csv`, `threads.txt`, and the overheads as
/// `figures/threads-overhead.svg` and `.pdf`.
///
/// # Errors
/// If a file cannot be written.
pub fn write_threads(
    experiment: &Experiment,
    runs: &ThreadRuns,
    folder: &Path,
) -> Result<Written, LabError> {
    let Some(threads) = &experiment.threads else { return Ok(Vec::new()) };
    let mut written = Vec::new();
    let mut put = |name: &str, bytes: &[u8]| {
        written.push(PathBuf::from(name));
        replace(&folder.join(name), bytes)
    };
    let drawn = folder.join("figures");
    std::fs::create_dir_all(&drawn).map_err(|error| LabError::Write { path: drawn, error })?;
    put("threads.csv", runs.table(experiment, threads).csv().as_bytes())?;
    let head = format!("{}\n{}\n", experiment.title, experiment.provenance());
    put("threads.txt", (head + &runs.text(experiment)).as_bytes())?;
    let grid = &experiment.grids[threads.grid];
    if let Some((axis, _)) = grid.axes.first() {
        let figure = Figure {
            name: "threads-overhead".to_owned(),
            title: String::new(),
            kind: FigureKind::Lines,
            grid: threads.grid,
            x: axis.clone(),
            y: "overhead".to_owned(),
            bars: Vec::new(),
            statistic: Statistic::Mean,
            series: runs.series(),
            only: Vec::new(),
            labels: (format!("Number of {axis}"), "Overhead (%)".to_owned()),
            x_bounds: None,
            y_bounds: None,
            log_y: false,
        };
        let curves = runs.curves(threads);
        let picture = Chart::new(experiment, &figure, &curves).picture();
        let about = format!("{}. {}", experiment.provenance(), figure.name);
        put("figures/threads-overhead.svg", picture.svg(&about).as_bytes())?;
        put("figures/threads-overhead.pdf", &picture.pdf(&about))?;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_periods_are_compared_in_pairs() {
        let run = |series, busy: &[(u64, i64)]| ThreadRun {
            values: vec!["4".to_owned()],
            series,
            jobs: 0,
            missed: 0,
            busy_ns: busy.iter().copied().collect(),
            switches: None,
            invocation: Times::default(),
        };
        // One that only one of them has is not compared, however long it is.
        let runs = vec![
            run(0, &[(0, 1000), (1, 3000), (3, 900_000)]),
            run(1, &[(0, 1100), (1, 3300), (2, 500_000)]),
            run(2, &[(7, 1)]),
        ];
        let (machine, remarks) = (String::new(), Vec::new());
        let all = ThreadRuns { machine, runs, moves: Vec::new(), remarks };
        let threads = Threads {
            grid: 0,
            duration: layland_model::Duration::from_secs(1),
            baseline: 0,
            accepted_by: Vec::new(),
            level: None,
            moved: 0,
            order: Vec::new(),
            reported: Vec::new(),
        };
        let overhead = |at: usize| all.overhead(&all.runs[at], &threads);
        assert_eq!([overhead(0), overhead(1), overhead(2)], [Some(0.0), Some(10.0), None]);
    }

    #[test]
    fn a_correlation_is_that_of_pearson() {
        assert_eq!(correlation(&[(0.0, 1.0), (1.0, 3.0)]), None);
        assert_eq!(correlation(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), Some(1.0));
        assert_eq!(correlation(&[(0.0, 5.0), (1.0, 3.0), (2.0, 1.0)]), Some(-1.0));
        let found = correlation(&[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0)]).unwrap();
        assert!((found - 0.5).abs() < 1e-12);
    }
}
