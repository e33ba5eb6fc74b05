//! Distributions of durations.

use crate::run::Run;
use layland_model::Duration;
use layland_trace::JobRecord;
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
}

impl Distribution {
    /// Returns the response times of the completed jobs of each run.
    pub fn responses(runs: &[Run]) -> Distribution {
        Self::of_completed(runs, "Response time", |record, response| {
            let _ = record;
            response
        })
    }

    /// Returns the tardiness of the completed jobs of each run.
    pub fn tardiness(runs: &[Run]) -> Distribution {
        Self::of_completed(runs, "Tardiness", |record, response| {
            let finish = record.job.arrival + response;
            record.job.tardiness(finish)
        })
    }

    fn of_completed(
        runs: &[Run],
        title: &str,
        of: impl Fn(&JobRecord, Duration) -> Duration,
    ) -> Distribution {
        let series = |run: &Run| {
            let completed = run.trace.jobs.iter().filter_map(|record| {
                let response = record.completion()? - record.job.arrival;
                Some(of(record, response))
            });
            Series::new(run.name.clone(), completed)
        };
        Distribution { title: title.to_owned(), series: runs.iter().map(series).collect() }
    }
}
