//! [`Statistics`]: the counters, and the distribution of response times.

use super::counters::Counters;
use super::summary::{Percentiles, Summary};
use crate::{Job, JobEnd, Labels, Recorder, Segment};
use hdrhistogram::Histogram;
use layland_model::{Duration, Index, Service, TaskId, TaskMap, Time};

/// [`Counters`], and the distribution of the response times of each task and of all.
///
/// Minimum, mean and maximum are exact; a percentile is at most 0.1 % too large and never too
/// small (a histogram with three significant digits). A histogram takes about 16 kB, plus 8 kB for
/// every doubling of the largest response time beyond 2 µs; a task gets one with its 257th completed
/// job, and until then a list, so that a hundred thousand tasks with few jobs each fit into memory.
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

/// The response times of a task. Both kinds give the same percentiles.
#[derive(Clone, Debug)]
enum Responses {
    Few(Vec<u64>),
    Many(Box<Histogram<u64>>),
}

impl Responses {
    /// A list of so many takes 2 kB.
    const FEW: usize = 256;

    #[inline]
    fn record(&mut self, response: u64) {
        match self {
            Responses::Few(list) if list.len() < Responses::FEW => list.push(response),
            Responses::Few(_) => self.record_many(response),
            Responses::Many(histogram) => {
                histogram.record(response).expect("the histogram resizes itself");
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn record_many(&mut self, response: u64) {
        let mut histogram = empty_histogram();
        self.add_to(&mut histogram);
        histogram.record(response).expect("the histogram resizes itself");
        *self = Responses::Many(Box::new(histogram));
    }

    fn add_to(&self, all: &mut Histogram<u64>) {
        match self {
            Responses::Few(list) => {
                for &response in list {
                    all.record(response).expect("the histogram resizes itself");
                }
            }
            Responses::Many(histogram) => {
                all.add(&**histogram).expect("the histogram resizes itself");
            }
        }
    }

    /// Calls a function with the quantiles. There is at least one response time.
    fn with_quantiles<T>(
        &self,
        largest: Duration,
        work: impl Fn(&dyn Fn(f64) -> Duration) -> T,
    ) -> T {
        match self {
            Responses::Few(list) => {
                // As the histogram has it: the rank is rounded up, the value to its bucket's end.
                let mut sorted = list.clone();
                sorted.sort_unstable();
                let buckets = empty_histogram();
                work(&|share: f64| {
                    let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
                    let value = sorted[rank.clamp(1, sorted.len()) - 1];
                    let value = if share <= 0.0 {
                        buckets.lowest_equivalent(value)
                    } else {
                        buckets.highest_equivalent(value)
                    };
                    as_duration(value).min(largest)
                })
            }
            Responses::Many(histogram) => work(&|share| quantile(histogram, share, largest)),
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
    /// With room for this many tasks and CPUs. There may be more.
    pub fn new(tasks: usize, cpus: usize) -> Statistics {
        Statistics {
            counters: Counters::new(tasks, cpus),
            responses: (0..tasks).map(|_| Responses::Few(Vec::new())).collect(),
        }
    }

    /// The exact counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The smallest response time that is not exceeded by this share of the completed jobs, of a
    /// task or (`None`) of all; at most 0.1 % too large. `None` if no job completed.
    ///
    /// The share is in `[0, 1]`; values outside are taken as the nearest of the two.
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

    /// The distribution over all tasks. Added up when it is asked for: recording each response
    /// time twice would double the cost of a completion.
    fn all(&self) -> Histogram<u64> {
        let mut all = empty_histogram();
        self.responses.values().for_each(|responses| responses.add_to(&mut all));
        all
    }

    /// As numbers to print and to write.
    pub fn summary(&self, labels: &Labels) -> Summary {
        let percentiles = |quantile: &dyn Fn(f64) -> Duration| {
            let ns = |share| quantile(share).ns();
            Percentiles { p50_ns: ns(0.5), p95_ns: ns(0.95), p99_ns: ns(0.99), p99_9_ns: ns(0.999) }
        };
        self.counters.summary_with(labels, |task| match task {
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

    #[cold]
    #[inline(never)]
    fn grow(&mut self, task: TaskId) {
        while self.responses.len() <= task.index() {
            self.responses.push(Responses::Few(Vec::new()));
        }
    }
}

impl Recorder for Statistics {
    #[inline]
    fn released(&mut self, job: &Job) {
        self.counters.released(job);
    }

    #[inline]
    fn executed(&mut self, segment: &Segment) {
        self.counters.executed(segment);
    }

    #[inline]
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        self.counters.ended(job, at, end, executed);
        match end {
            JobEnd::Completed => {
                let task = job.id.task;
                if task.index() >= self.responses.len() {
                    self.grow(task);
                }
                let response = u64::try_from((at - job.arrival).ns()).unwrap_or(0);
                self.responses[task].record(response);
            }
            JobEnd::Aborted | JobEnd::Left => {}
        }
    }

    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.counters.pending(job, at, executed);
    }

    fn over(&mut self, at: Time, interrupted: bool) {
        self.counters.over(at, interrupted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_responses_have_the_same_quantiles() {
        let mut few = Responses::Few(Vec::new());
        let mut histogram = empty_histogram();
        let mut value = 1u64;
        for _ in 0..Responses::FEW {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let response = value >> (20 + value % 40);
            few.record(response);
            histogram.record(response).unwrap();
            let largest = as_duration(histogram.max());
            for share in [0.0, 0.001, 0.25, 0.5, 0.95, 0.99, 0.999, 1.0] {
                let expected = quantile(&histogram, share, largest);
                assert_eq!(few.with_quantiles(largest, |at| at(share)), expected);
            }
        }
        assert!(matches!(few, Responses::Few(_)));
        few.record(7);
        histogram.record(7).unwrap();
        let Responses::Many(many) = few else { panic!("one more is many") };
        assert_eq!(*many, histogram);
    }
}
