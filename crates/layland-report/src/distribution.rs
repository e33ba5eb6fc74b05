//! Distributions: how often which length of time occurred.

use crate::run::Run;
use layland_model::Duration;
use layland_trace::JobRecord;
use serde::Serialize;
use std::collections::BTreeMap;

/// A chart of one or more samples of lengths of time: as shares of the sample that do not exceed a
/// length, or as a histogram.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// What was measured.
    pub title: String,
    /// The samples, one line in the chart each.
    pub series: Vec<Series>,
}

/// A sample: lengths of time, and how often each occurred.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// What it is a sample of.
    pub name: String,
    /// In rising order, each length in nanoseconds once.
    steps: Vec<(i64, u64)>,
}

/// More steps than this are not seen in a chart.
const STEPS: usize = 500;

impl Series {
    /// A sample. Of more than 500 different values, neighbours are put together and stand at the
    /// largest of them, so that no share is drawn too high.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = Duration>) -> Series {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        for value in values {
            *counts.entry(value.ns()).or_default() += 1;
        }
        let each = counts.len().div_ceil(STEPS).max(1);
        let exact: Vec<(i64, u64)> = counts.into_iter().collect();
        let joined = exact.chunks(each).map(|chunk| {
            let count = chunk.iter().map(|&(_, count)| count).sum();
            (chunk.last().map_or(0, |&(value, _)| value), count)
        });
        Series { name: name.into(), steps: joined.collect() }
    }

    /// How many values there are.
    pub fn len(&self) -> u64 {
        self.steps.iter().map(|&(_, count)| count).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Distribution {
    /// The response times of the completed jobs of each run.
    pub fn responses(runs: &[Run]) -> Distribution {
        Self::of_completed(runs, "Response time", |record, response| {
            let _ = record;
            response
        })
    }

    /// The tardiness of the completed jobs of each run.
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
