//! [`Statistics`]: the counters, and the distribution of response times.

use super::counters::Counters;
use super::summary::{Percentiles, Summary};
use crate::{Job, JobEnd, Labels, Mark, Recorder, Segment, Totals};
use hdrhistogram::Histogram;
use layland_model::{CpuId, Duration, Index, Service, TaskId, TaskMap, Time};
use smallvec::SmallVec;

/// [`Counters`], and the distributions of the response times of each task and of all tasks.
///
/// Minimum, mean and maximum are exact; a percentile is at most 0.1 % too large and never too small
/// (a histogram with three significant digits). Beyond 2 µs a histogram takes about 8 kB for every
/// doubling between the smallest and the largest response time. A task gets one with its 257th
/// completed job, and has a list until then, so that a hundred thousand tasks with few jobs each
/// fit into memory.
///
/// ```
/// use layland_model::{Duration, JobId, Service, TaskId, Time};
/// use layland_trace::{Job, JobEnd, Recorder, Statistics};
/// let mut statistics = Statistics::new(1, 1);
/// for seq in 0..100u32 {
///     let arrival = Time::ZERO + Duration::from_ms(1000) * i64::from(seq);
///     let id = JobId { task: TaskId(0), seq: seq.into() };
///     let job = Job { id, arrival, release: arrival, deadline: arrival + Duration::from_ms(1000) };
///     let finish = arrival + Duration::from_ms(i64::from(seq) + 1);
///     statistics.ended(&job, finish, JobEnd::Completed, Service::from_ms(1));
/// }
/// let median = statistics.response_quantile(Some(TaskId(0)), 0.5).unwrap();
/// assert!((50_000_000..=50_050_000).contains(&median.ns()));
/// assert_eq!(statistics.response_quantile(None, 1.0), Some(Duration::from_ms(100)));
/// ```
#[derive(Clone, Debug)]
pub struct Statistics {
    counters: Counters,
    responses: TaskMap<Responses>,
}

/// The response times of a task.
///
/// A completion only appends to a short list. With many tasks, the counts are hundreds of
/// kilobytes, so that counting one value waits for memory; when a whole list is counted at once,
/// the waits overlap. The first values are stored inline, so that the structure is one cache line:
/// in a short run of a million tasks, most have no further values.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Responses {
    /// The values that are not counted yet.
    fresh: SmallVec<[u64; 6]>,
    /// `None` while there are few values. Boxed, because most of a million tasks have few.
    counts: Option<Box<BucketCounts>>,
}

impl Responses {
    /// The number of values up to which there are no counts. A list of this length takes 2 kB.
    const FEW: usize = 256;
    /// The number of values that are counted at once from then on.
    const BATCH: usize = 32;

    fn new() -> Responses {
        Responses { fresh: SmallVec::new(), counts: None }
    }

    #[inline]
    fn record(&mut self, response: u64) {
        self.fresh.push(response);
        // The first batch is one longer than the list of few values may be.
        let batch = if self.counts.is_none() { Responses::FEW + 1 } else { Responses::BATCH };
        if self.fresh.len() >= batch {
            self.count();
        }
    }

    #[inline(never)]
    fn count(&mut self) {
        self.counts.get_or_insert_default().add(&self.fresh);
        self.fresh.clear();
    }

    /// Returns all response times as counts.
    fn counted(&self) -> BucketCounts {
        let mut counts = self.counts.as_deref().cloned().unwrap_or_default();
        if !self.fresh.is_empty() {
            counts.add(&self.fresh);
        }
        counts
    }

    /// Returns the response times of a longer run: [`Statistics::after`].
    fn after(&self, earlier: &Responses, turns: u64) -> Responses {
        let (mut counts, before) = (self.counted(), earlier.counted());
        let lowest = counts.lowest;
        for (at, count) in counts.counts.iter_mut().enumerate() {
            let before =
                (lowest + at).checked_sub(before.lowest).and_then(|at| before.counts.get(at));
            *count += turns * (*count - before.copied().unwrap_or(0));
        }
        let is_empty = counts.counts.is_empty();
        Responses { fresh: SmallVec::new(), counts: (!is_empty).then(|| Box::new(counts)) }
    }

    fn add_to(&self, all: &mut Histogram<u64>) {
        if let Some(counts) = &self.counts {
            counts.add_to(all);
        }
        for &response in &self.fresh {
            all.record(response).expect("the histogram resizes itself");
        }
    }

    /// Calls a function with the quantiles. There must be at least one response time.
    fn with_quantiles<T>(
        &self,
        largest: Duration,
        work: impl Fn(&dyn Fn(f64) -> Duration) -> T,
    ) -> T {
        if self.counts.is_some() {
            let mut histogram = empty_histogram();
            self.add_to(&mut histogram);
            return work(&|share| quantile(&histogram, share, largest));
        }
        // As in the histogram: round the rank up, and the value up to the end of its bucket.
        let mut sorted = self.fresh.clone();
        sorted.sort_unstable();
        work(&|share: f64| {
            let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
            let value = sorted[rank.clamp(1, sorted.len()) - 1];
            let bucket = BucketCounts::bucket(value);
            let value = if share <= 0.0 {
                BucketCounts::least(bucket)
            } else {
                BucketCounts::least(bucket + 1) - 1
            };
            as_duration(value).min(largest)
        })
    }
}

/// The number of values in each bucket of a histogram with three significant digits.
///
/// The buckets are those of [`empty_histogram`], but only from the lowest to the highest nonempty
/// one: the response times of one task seldom differ by more than a few doublings, and a small
/// array stays in the cache.
#[derive(Clone, Debug, Default)]
struct BucketCounts {
    /// The bucket of the first count.
    lowest: usize,
    counts: Vec<u64>,
}

impl BucketCounts {
    /// Buckets have width one up to 2 to this power; beyond it, every doubling has half as many
    /// buckets.
    const DIGITS: u32 = 11;

    /// The bucket of a value.
    #[inline]
    fn bucket(value: u64) -> usize {
        let doublings = (u64::BITS - value.leading_zeros()).saturating_sub(BucketCounts::DIGITS);
        ((doublings as usize) << (BucketCounts::DIGITS - 1)) + (value >> doublings) as usize
    }

    /// The smallest value of a bucket.
    fn least(bucket: usize) -> u64 {
        let doublings = (bucket >> (BucketCounts::DIGITS - 1)).saturating_sub(1);
        ((bucket - (doublings << (BucketCounts::DIGITS - 1))) as u64) << doublings
    }

    fn add(&mut self, values: &[u64]) {
        let least = values.iter().copied().min().map_or(self.lowest, BucketCounts::bucket);
        let highest = values.iter().copied().max().map_or(0, BucketCounts::bucket);
        if self.counts.is_empty() {
            self.lowest = least;
        }
        if least < self.lowest {
            let more = std::iter::repeat_n(0, self.lowest - least);
            self.counts.splice(0..0, more);
            self.lowest = least;
        }
        if highest >= self.lowest + self.counts.len() {
            self.counts.resize(highest - self.lowest + 1, 0);
        }
        for &value in values {
            self.counts[BucketCounts::bucket(value) - self.lowest] += 1;
        }
    }

    fn add_to(&self, all: &mut Histogram<u64>) {
        for (at, &count) in self.counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let value = BucketCounts::least(self.lowest + at);
            all.record_n(value, count).expect("the histogram resizes itself");
        }
    }
}

fn as_duration(ns: u64) -> Duration {
    Duration::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn empty_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are a valid precision")
}

/// A quantile of a histogram that is not empty and whose largest value is known exactly.
fn quantile(histogram: &Histogram<u64>, share: f64, largest: Duration) -> Duration {
    as_duration(histogram.value_at_quantile(share)).min(largest)
}

impl Default for Statistics {
    fn default() -> Self {
        Statistics::new(0, 0)
    }
}

impl Statistics {
    /// Creates statistics with capacity for this number of tasks and CPUs. There may be more.
    pub fn new(tasks: usize, cpus: usize) -> Statistics {
        Statistics {
            counters: Counters::new(tasks, cpus),
            responses: (0..tasks).map(|_| Responses::new()).collect(),
        }
    }

    /// Extrapolates the figures of a run up to `over`: this run has one turn of a cycle more than
    /// `earlier`, and the longer run has `turns` more turns than this one. Assumes that the state at
    /// the end of `earlier` equals that at the end of this run.
    #[must_use]
    pub fn after(&self, earlier: &Statistics, turns: u64, over: Time) -> Statistics {
        let none = Responses::new();
        let responses = self.responses.iter().map(|(id, responses)| {
            responses.after(earlier.responses.get(id).unwrap_or(&none), turns)
        });
        Statistics {
            counters: self.counters.after(&earlier.counters, turns, over),
            responses: responses.collect(),
        }
    }

    /// The exact counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The smallest response time that is not exceeded by this share of the completed jobs, of a
    /// task or (`None`) of all tasks; at most 0.1 % too large. `None` if no job completed.
    ///
    /// The share is in `[0, 1]`; other values are clamped.
    pub fn response_quantile(&self, task: Option<TaskId>, share: f64) -> Option<Duration> {
        match task {
            Some(task) => {
                let largest = self.counters.task(task).max_response?;
                Some(self.responses.get(task)?.with_quantiles(largest, |at| at(share)))
            }
            None => {
                let largest = self.counters.total().max_response?;
                Some(quantile(&self.all(), share, largest))
            }
        }
    }

    /// The distribution over all tasks. Computed on request: recording each response time twice
    /// would double the cost of a completion.
    fn all(&self) -> Histogram<u64> {
        let mut all = empty_histogram();
        self.responses.values().for_each(|responses| responses.add_to(&mut all));
        all
    }

    /// The numbers for printing and writing.
    pub fn summary(&self, labels: &Labels) -> Summary {
        self.summary_of(labels, self.counters.tasks_of(labels))
    }

    /// The [summary](Self::summary) of a run on `cpus` CPUs without its tasks: with many tasks,
    /// theirs take hundreds of megabytes.
    pub fn totals(&self, cpus: usize) -> Summary {
        self.summary_of(&Labels { cpus, ..Labels::default() }, 0)
    }

    fn summary_of(&self, labels: &Labels, tasks: usize) -> Summary {
        let percentiles = |quantile: &dyn Fn(f64) -> Duration| {
            let ns = |share| quantile(share).ns();
            Percentiles { p50_ns: ns(0.5), p95_ns: ns(0.95), p99_ns: ns(0.99), p99_9_ns: ns(0.999) }
        };
        self.counters.summary_with(labels, tasks, |task| match task {
            Some(task) => {
                let largest = self.counters.task(task).max_response?;
                Some(self.responses.get(task)?.with_quantiles(largest, percentiles))
            }
            None => {
                let (all, largest) = (self.all(), self.counters.total().max_response?);
                Some(percentiles(&|share| quantile(&all, share, largest)))
            }
        })
    }

    #[inline]
    fn record(&mut self, task: TaskId, response: Duration) {
        if task.index() >= self.responses.len() {
            self.grow(task);
        }
        self.responses[task].record(u64::try_from(response.ns()).unwrap_or(0));
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, task: TaskId) {
        while self.responses.len() <= task.index() {
            self.responses.push(Responses::new());
        }
    }
}

impl Recorder for Statistics {
    #[inline]
    fn released(&mut self, job: &Job) {
        self.counters.released(job);
    }

    // Inlined for the same reason as in the counters.
    #[inline(always)]
    fn executed(&mut self, segment: &Segment) {
        self.counters.executed(segment);
    }

    #[inline]
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        self.counters.ended(job, at, end, executed);
        match end {
            JobEnd::Completed => self.record(job.id.task, at - job.arrival),
            JobEnd::Aborted | JobEnd::Left => {}
        }
    }

    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.counters.pending(job, at, executed);
    }

    fn marked(&mut self, mark: &Mark) {
        self.counters.marked(mark);
    }

    fn over(&mut self, at: Time, interrupted: bool) {
        self.counters.over(at, interrupted);
    }

    fn takes_totals(&self) -> bool {
        true
    }

    #[inline]
    fn in_time(&mut self, task: TaskId, response: Duration) {
        self.record(task, response);
    }

    fn totals(&mut self, task: TaskId, totals: &Totals) {
        self.counters.totals(task, totals);
    }

    fn busy(&mut self, cpu: CpuId, ns: i128) {
        self.counters.busy(cpu, ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of all magnitudes, from a generator with this seed.
    fn values(start: u64) -> impl Iterator<Item = u64> {
        let step = |value: &u64| {
            Some(
                value
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407),
            )
        };
        std::iter::successors(Some(start), step).map(|value| value >> (1 + (value >> 7) % 62))
    }

    #[test]
    fn few_and_many_responses_have_the_quantiles_of_the_histogram() {
        let mut responses = Responses::new();
        let mut histogram = empty_histogram();
        for (index, response) in values(1).take(1000).enumerate() {
            responses.record(response);
            histogram.record(response).unwrap();
            assert_eq!(responses.counts.is_none(), index < Responses::FEW);
            let largest = as_duration(histogram.max());
            for share in [0.0, 0.001, 0.25, 0.5, 0.95, 0.99, 0.999, 1.0] {
                let expected = quantile(&histogram, share, largest);
                assert_eq!(responses.with_quantiles(largest, |at| at(share)), expected);
            }
        }
    }

    #[test]
    fn buckets_are_those_of_the_histogram() {
        let histogram = empty_histogram();
        let edges = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in edges.chain(values(7).take(10_000)).chain([u64::MAX]) {
            let bucket = BucketCounts::bucket(value);
            assert_eq!(BucketCounts::least(bucket), histogram.lowest_equivalent(value));
            // A response time is at most half as large.
            if value <= u64::MAX / 2 {
                let highest = BucketCounts::least(bucket + 1) - 1;
                assert_eq!(highest, histogram.highest_equivalent(value));
            }
        }
    }
}
