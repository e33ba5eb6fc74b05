//! Distributions of durations.

use crate::run::Run;
use layland_model::{Duration, TaskId};
use layland_trace::{JobRecord, Labels};
use serde::Serialize;
use std::collections::BTreeMap;

/// A chart of one or more samples of durations: as the share of
/// the sample that does not exceed a duration, or as a histogram.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The measured quantity.
    pub title: String,
    /// The samples, with one line each in the chart.
    pub series: Vec<Series>,
}

/// A sample: durations, and the number of times that each occurred.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// The name of the sample.
    pub name: String,
    /// In ascending order, each duration in nanoseconds once.
    steps: Vec<(i64, u64)>,
}

/// The maximum number of steps; a chart does not show more.
const STEPS: usize = 500;

impl Series {
    /// Returns a sample. If it has more than 500 different values, neighbours are merged at the
    /// largest of them, so that no share is drawn too high.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = Duration>) -> Series {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        for value in values {
            *counts.entry(value.ns()).or_default() += 1;
        }
        // At least 1, because chunks of an empty list need a length, too.
        let each = counts.len().div_ceil(STEPS).max(1);
        let exact: Vec<(i64, u64)> = counts.into_iter().collect();
        let joined = exact.chunks(each).map(|chunk| {
            let count = chunk.iter().map(|&(_, count)| count).sum();
            (chunk.last().map_or(0, |&(value, _)| value), count)
        });
        Series { name: name.into(), steps: joined.collect() }
    }

    /// The number of values.
    pub fn len(&self) -> u64 {
        self.steps.iter().map(|&(_, count)| count).sum()
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    fn has_more_than_0(&self) -> bool {
        self.steps.last().is_some_and(|&(value, _)| value > 0)
    }
}

/// The maximum number of tasks with a chart of their own.
const TASKS: usize = 12;

impl Distribution {
    /// Returns the charts of runs: the response times of each task, which differ by orders of
    /// magnitude between tasks, and tardiness if a job was late. If there are many tasks, the first
    /// chart is of all of them, and those follow whose longest response is largest in relation to
    /// the deadline.
    pub fn of_runs(runs: &[Run], labels: &Labels) -> Vec<Distribution> {
        let mut charts = Vec::new();
        let mut tasks: Vec<TaskId> = labels.tasks.iter().map(|(id, _)| id).collect();
        if tasks.len() > TASKS {
            let title = "Response time of all tasks".to_owned();
            charts.push(Self::of_completed(runs, title, |_| true, response));
            let tightness = tightness(runs);
            let of = |task: &TaskId| tightness.get(task).copied().unwrap_or_default();
            tasks.sort_by_key(|task| std::cmp::Reverse(of(task)));
            tasks.truncate(TASKS);
            tasks.sort_unstable();
        }
        for task in tasks {
            let title = format!("Response time of {}", labels.tasks[task]);
            let chart =
                Self::of_completed(runs, title, |record| record.job.id.task == task, response);
            charts.extend(Some(chart).filter(|chart| !chart.is_empty()));
        }
        let tardiness = |record: &JobRecord| Some(record.job.tardiness(record.completion()?));
        let title = "Tardiness of all tasks".to_owned();
        let chart = Self::of_completed(runs, title, |_| true, tardiness);
        charts.extend(Some(chart).filter(|chart| chart.series.iter().any(Series::has_more_than_0)));
        charts
    }

    fn of_completed(
        runs: &[Run],
        title: String,
        is_shown: impl Fn(&JobRecord) -> bool,
        of: impl Fn(&JobRecord) -> Option<Duration>,
    ) -> Distribution {
        let series = |run: &Run| {
            let shown = run.trace.jobs.iter().filter(|record| is_shown(record));
            Series::new(run.name.clone(), shown.filter_map(&of))
        };
        Distribution { title, series: runs.iter().map(series).collect() }
    }

    /// Returns true if there are no values.
    fn is_empty(&self) -> bool {
        self.series.iter().all(Series::is_empty)
    }
}

fn response(record: &JobRecord) -> Option<Duration> {
    Some(record.completion()? - record.job.arrival)
}

/// Returns the longest response of each task in thousandths of the time to its deadline.
fn tightness(runs: &[Run]) -> BTreeMap<TaskId, i128> {
    let mut found = BTreeMap::new();
    for record in runs.iter().flat_map(|run| &run.trace.jobs) {
        let Some(response) = response(record) else { continue };
        let within = (record.job.deadline - record.job.arrival).ns().max(1);
        let share = i128::from(response.ns()) * 1000 / i128::from(within);
        let longest = found.entry(record.job.id.task).or_insert(share);
        *longest = share.max(*longest);
    }
    found
}
