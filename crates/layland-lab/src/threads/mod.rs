//! The cost of policies on real threads, as tables and figures: how long CPUs are busy, how often
//! threads switch, how often the manager runs, and how long it takes to change priorities. The
//! command measures it, one run after the other (`layland/src/commands/lab/real/threads.rs`).
//!
//! Source of the method: H.-M. Huang, C. Gill, C. Lu. Implementation and evaluation of
//! mixed-criticality scheduling approaches for sporadic tasks. ACM TECS 13(4s), 2014, Section 5.3.
//! The *overhead* of a policy is the time for which the CPUs are busy in excess of the baseline,
//! with the same system and the same work. The unit is that of the source: the busy period after a
//! common release of all tasks, one per hyperperiod (`busy.rs` there).
//!
//! Deviations: (1) The length of a busy period is the time for which the CPUs run its jobs, and its
//! jobs are those that it has under the baseline. A mechanism that waits for its next slice idles
//! with jobs pending; jobs that arrive meanwhile are not overhead. The latency of the first release
//! does not count. (2) Under fixed priorities the threads notify the policy of their releases and
//! ends themselves, and no manager runs, as in the paper; but that takes some time, here also under
//! the baseline. (3) Bounds are 5 % larger than the execution times, so that switches do not use up
//! budgets.
//!
//! The cost of the dispatcher is split as in the sources of experiments: decisions (the policy's
//! own time) with and without a release, and their halves, the update and the selection; enactment,
//! switches and migrations, and the latencies until the manager runs after a release or an end.
//!
//! With `dispatch = "per-cpu"` every CPU has a dispatcher, and CPUs that share their tasks a lock, in
//! place of one manager (`crates/layland-linux/src/manager/dispatchers.rs`); the series in `one_lock`
//! have one for all CPUs.
//!
//! Measured figures are never the same twice. They are kept apart from the results, in
//! `threads.csv`, `threads.txt` and the figures in `threads/`.

mod text;

use crate::experiment::{Experiment, Figure, Threads};
use crate::measure::Row;
use crate::metric::{MEASURED, METRICS, Origin, THREADED, metric};
use crate::output::{Written, draw};
use crate::results::{CellRows, GridRows, Results};
use crate::run::LabError;
use crate::shard::replace;
use layland_interchange::columns::{Column, Columns};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The measurements on real threads.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRuns {
    /// The machine, in words.
    pub machine: String,
    /// The nominal frequency of a CPU in MHz, if the kernel reports it.
    pub mhz: Option<f64>,
    /// The runs by point and series.
    pub runs: Vec<ThreadRun>,
    /// The time to change priorities, by the number of threads.
    pub moves: Vec<Move>,
    /// The missing measurements, with the reasons.
    pub remarks: Vec<String>,
}

/// One system under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRun {
    /// The value of each axis.
    pub values: Vec<String>,
    /// The number of the system among those of its point.
    pub set: u64,
    /// The index of the series.
    pub series: usize,
    /// The utilization of the system.
    pub utilization: f64,
    /// The length of the run, in nanoseconds.
    pub length_ns: i64,
    /// The number of released jobs.
    pub jobs: u64,
    /// The number of jobs that missed their deadline.
    pub missed: u64,
    /// The total time for which the CPUs were busy in each busy period, in nanoseconds; by the
    /// hyperperiod in which it begins.
    pub busy_ns: BTreeMap<u64, i64>,
    /// The number of switches between threads in each busy period of another run; `None` without a
    /// trace of the kernel.
    pub switches: Option<Vec<u64>>,
    /// The costs of the dispatcher.
    pub costs: Costs,
}

/// The costs of the dispatcher in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Decisions at which a job is released: the policy's own time.
    pub release: Times,
    /// The other decisions.
    pub schedule: Times,
    /// The first half of decisions at which a job is released: the update of the policy's state.
    pub release_update: Times,
    /// The first half of the other decisions.
    pub other_update: Times,
    /// The second half of all decisions: the selection of jobs.
    pub selection: Times,
    /// From the wake-up of the dispatcher of a CPU until it has the lock of its group.
    pub lock: Times,
    /// Demoting, migrating and promoting threads after a decision.
    pub enact: Times,
    /// Invocations of the manager, from its wake-up to its next sleep.
    pub invocation: Times,
    /// Releases and ends of jobs on the threads of the tasks, where these do that themselves.
    pub step: Times,
    /// From a release to the manager's reading of the clock.
    pub latency: Times,
    /// From the end of a job to the manager's reading of the clock.
    pub completion: Times,
    /// From a decision to the first instruction of a thread that stays on its CPU.
    pub switch: Times,
    /// From a decision to the first instruction of a thread that comes from another CPU.
    pub migration: Times,
}

impl Costs {
    /// All costs, each with its part of the names of metrics and its name in tables.
    fn all(&self) -> [(&'static str, &'static str, &Times); 13] {
        [
            ("release", "decision, release", &self.release),
            ("schedule", "decision, other", &self.schedule),
            ("release_update", "update, release", &self.release_update),
            ("other_update", "update, other", &self.other_update),
            ("selection", "selection", &self.selection),
            ("lock", "wait for the lock", &self.lock),
            ("enact", "enactment", &self.enact),
            ("invocation", "invocation", &self.invocation),
            ("step", "release or end", &self.step),
            ("latency", "release latency", &self.latency),
            ("completion", "completion latency", &self.completion),
            ("switch", "switch", &self.switch),
            ("migration", "migration", &self.migration),
        ]
    }
}

/// A distribution, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// The number of values.
    pub count: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The median.
    pub median_ns: u64,
    /// The 99.9th percentile.
    pub q999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

/// The time to preempt a thread, to change the priorities of others, and to resume it.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// The number of threads that change their priority.
    pub threads: usize,
    /// From the last instruction of the preempted thread to the manager.
    pub preemption: Times,
    /// The first change of priority.
    pub first: Times,
    /// Each further change.
    pub further: Times,
    /// From the manager back to the preempted thread.
    pub back: Times,
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

impl ThreadRun {
    /// The mean time for which the CPUs were busy in a busy period, in microseconds.
    pub fn busy_us(&self) -> Option<f64> {
        mean(self.busy_ns.values().map(|&ns| ns as f64 / 1e3))
    }

    /// The mean number of switches in a busy period.
    pub fn mean_switches(&self) -> Option<f64> {
        mean(self.switches.as_ref()?.iter().map(|&count| count as f64))
    }
}

impl ThreadRuns {
    fn baseline(&self, run: &ThreadRun, threads: &Threads) -> Option<&ThreadRun> {
        let is_same = |other: &&ThreadRun| other.values == run.values && other.set == run.set;
        self.runs.iter().filter(is_same).find(|other| other.series == threads.baseline)
    }

    /// The time for which the CPUs were busy in excess of the baseline, in percent, over the busy
    /// periods that both runs have.
    pub fn overhead(&self, run: &ThreadRun, threads: &Threads) -> Option<f64> {
        let baseline = &self.baseline(run, threads)?.busy_ns;
        let pair = |(at, &here): (&u64, &i64)| baseline.get(at).map(|&there| (here, there));
        let pairs = || run.busy_ns.iter().filter_map(pair);
        let here: i64 = pairs().map(|(here, _)| here).sum();
        let there: i64 = pairs().map(|(_, there)| there).sum();
        (there > 0).then(|| (here - there) as f64 / there as f64 * 100.0)
    }

    /// The metrics of a run.
    fn row(&self, run: &ThreadRun, threads: &Threads) -> Row {
        let values = vec![None; METRICS.len() + MEASURED.len() + THREADED.len()];
        let mut row = Row { set: run.set, series: run.series, values, ..Row::default() };
        row.put("utilization", run.utilization);
        let us = |ns: f64| ns / 1e3;
        let seconds = run.length_ns as f64 / 1e9;
        for (name, _, times) in run.costs.all().into_iter().filter(|(.., times)| times.count > 0) {
            row.put(&format!("thread_{name}_us"), us(times.mean_ns));
            row.put(&format!("thread_{name}_median_us"), us(times.median_ns as f64));
            row.put(&format!("thread_{name}_max_us"), us(times.max_ns as f64));
        }
        for (name, times) in [
            ("release", run.costs.release),
            ("schedule", run.costs.schedule),
            ("release_update", run.costs.release_update),
            ("other_update", run.costs.other_update),
            ("selection", run.costs.selection),
            ("lock", run.costs.lock),
        ] {
            row.put(&format!("thread_{name}_us_per_s"), us(times.sum_ns()) / seconds);
        }
        let own = &run.costs.invocation;
        if own.count > 0 {
            row.put("thread_invocation_q999_us", us(own.q999_ns as f64));
        }
        if let Some(mhz) = self.mhz.filter(|_| own.count > 0) {
            row.put("thread_invocation_cycles", us(own.mean_ns) * mhz);
            row.put("thread_invocation_max_cycles", us(own.max_ns as f64) * mhz);
        }
        if run.jobs > 0 {
            let all = own.sum_ns() + run.costs.step.sum_ns();
            row.put("thread_overhead_us_per_job", us(all) / run.jobs as f64);
            row.put("thread_invocations_per_job", own.count as f64 / run.jobs as f64);
            row.put("thread_miss_ratio", run.missed as f64 / run.jobs as f64);
        }
        for (name, value) in [
            ("thread_busy_us", run.busy_us()),
            ("thread_overhead_percent", self.overhead(run, threads)),
            ("thread_switches", run.mean_switches()),
        ] {
            if let Some(value) = value {
                row.put(name, value);
            }
        }
        row
    }

    /// The results for figures and claims.
    fn results(&self, threads: &Threads) -> Results {
        let mut cells: Vec<CellRows> = Vec::new();
        for run in &self.runs {
            let row = self.row(run, threads);
            match cells.iter_mut().find(|cell| cell.values == run.values) {
                Some(cell) => cell.rows.push(row),
                None => {
                    cells.push(CellRows { values: run.values.clone(), seed: 0, rows: vec![row] });
                }
            }
        }
        Results { grids: vec![GridRows { grid: threads.grid, cells }], ..Results::default() }
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
        whole("set", &|run| run.set);
        whole("jobs", &|run| run.jobs);
        whole("missed", &|run| run.missed);
        whole("busy_periods", &|run| run.busy_ns.len() as u64);
        whole("invocations", &|run| run.costs.invocation.count);
        let rows: Vec<Row> = runs().map(|run| self.row(run, threads)).collect();
        for one in THREADED {
            let at = metric(one.name).expect("it is a metric");
            let values = rows.iter().map(|row| row.values[at]);
            columns.push(one.name, Column::Real(values.collect()));
        }
        columns
    }
}

impl Times {
    /// The median in microseconds; `None` if there are no values.
    pub fn median_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.median_ns as f64 / 1e3)
    }

    fn sum_ns(&self) -> f64 {
        self.mean_ns * self.count as f64
    }
}

/// Writes the measurements on real threads: `threads.csv`, `threads.txt`, and the figures that show
/// them (`threads/NAME.svg`, `.pdf` and `.csv`).
///
/// # Errors
/// Returns an error if a file cannot be written.
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
    std::fs::create_dir_all(folder)
        .map_err(|error| LabError::Write { path: folder.to_owned(), error })?;
    put("threads.csv", runs.table(experiment, threads).csv().as_bytes())?;
    let head = format!("{}\n{}\n", experiment.title, experiment.provenance());
    put("threads.txt", (head + &runs.text(experiment)).as_bytes())?;
    let results = runs.results(threads);
    let chosen = |_, figure: &Figure| figure.origin() == Origin::Threads;
    draw(experiment, &results, "threads", chosen, folder, &mut written)?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timers::ManagerTimers;

    #[test]
    fn busy_periods_are_compared_in_pairs() {
        let run = |series, busy: &[(u64, i64)]| ThreadRun {
            values: vec!["4".to_owned()],
            set: 0,
            series,
            utilization: 1.0,
            length_ns: 1_000_000_000,
            jobs: 0,
            missed: 0,
            busy_ns: busy.iter().copied().collect(),
            switches: None,
            costs: Costs::default(),
        };
        // A busy period that only one run has is not compared, however long it is.
        let runs = vec![
            run(0, &[(0, 1000), (1, 3000), (3, 900_000)]),
            run(1, &[(0, 1100), (1, 3300), (2, 500_000)]),
            run(2, &[(7, 1)]),
        ];
        let (machine, remarks) = (String::new(), Vec::new());
        let all = ThreadRuns { machine, mhz: None, runs, moves: Vec::new(), remarks };
        let threads = Threads {
            grid: 0,
            sets: 1,
            duration: layland_model::Duration::from_secs(1),
            baseline: 0,
            accepted_by: Vec::new(),
            level: None,
            timers: ManagerTimers::default(),
            is_per_cpu: false,
            one_lock: Vec::new(),
            moved: 0,
            reported: Vec::new(),
        };
        let overhead = |at: usize| all.overhead(&all.runs[at], &threads);
        assert_eq!([overhead(0), overhead(1), overhead(2)], [Some(0.0), Some(10.0), None]);
    }
}
