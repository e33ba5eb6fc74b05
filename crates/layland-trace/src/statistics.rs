//! What a run amounts to, counted while it goes: [`Counters`], [`Statistics`], [`Summary`].
//!
//! Both recorders work in the hot loop of a simulator: a call updates a few integers in flat arrays
//! indexed by task and allocates nothing once every task and CPU was seen a few hundred times. The
//! memory does not depend on how much time is simulated.
//!
//! The counters mean exactly this:
//!
//! | counter | definition |
//! |---|---|
//! | segment | a maximal interval of positive length in which one job holds one CPU |
//! | preemptions | of a job: its segments minus 1; a move to another CPU without a gap is one, too |
//! | migrations | a task executes on another CPU than where it last executed, even if that was an earlier job |
//! | migrations within jobs | the same between two segments of one job; at most the preemptions |
//! | shifts | of these, those without a gap: a job runs on at once on another CPU |
//! | response time | of a completed job: its completion minus its arrival |
//! | tardiness | of a completed job: `max(0, completion - deadline)` |
//! | tardy | completed after the deadline |
//! | missed | tardy, aborted, or pending at the end with the deadline at or before the end |
//! | overdue | the longest time by which a job pending at the end is past its deadline |
//! | busy | of a CPU: the time in which a job holds it, overheads of that job included |
//!
//! Long because counters, quantiles and their summary are one pass over the events.

use crate::{Job, JobEnd, JobRecord, Labels, Recorder, Segment};
use hdrhistogram::Histogram;
use layland_model::{CpuId, CpuMap, Duration, IdVec, Index, JobId, Service, TaskId, TaskMap, Time};
use serde::Serialize;

/// The counters of one task, or of all tasks together. The [module](self) defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounters {
    /// Jobs released.
    pub released: u64,
    /// Jobs that executed all of their demand.
    pub completed: u64,
    /// Jobs given up by the policy.
    pub aborted: u64,
    /// Jobs dropped because their task left.
    pub left: u64,
    /// Jobs still pending at the end of the run.
    pub pending: u64,
    /// Deadline misses.
    pub missed: u64,
    /// Jobs completed after their deadline.
    pub tardy: u64,
    /// The largest tardiness of a completed job.
    pub max_tardiness: Duration,
    /// The sum of the tardiness of all completed jobs, in nanoseconds.
    pub sum_tardiness_ns: i128,
    /// How far the latest of the jobs pending at the end is past its deadline: a lower bound on a
    /// tardiness that the run did not see.
    pub overdue: Duration,
    /// The smallest response time of a completed job, if there is one.
    pub min_response: Option<Duration>,
    /// The largest response time of a completed job, if there is one.
    pub max_response: Option<Duration>,
    /// The sum of the response times of all completed jobs, in nanoseconds.
    pub sum_response_ns: i128,
    /// Preemptions.
    pub preemptions: u64,
    /// Migrations of the task, between its jobs and within them.
    pub migrations: u64,
    /// Migrations within jobs.
    pub migrations_within_jobs: u64,
    /// Migrations within jobs without a gap.
    pub shifts: u64,
    /// The work that the jobs got, in nanoseconds at unit speed.
    pub executed_ns: i128,
}

impl TaskCounters {
    fn add(&mut self, other: &TaskCounters) {
        self.released += other.released;
        self.completed += other.completed;
        self.aborted += other.aborted;
        self.left += other.left;
        self.pending += other.pending;
        self.missed += other.missed;
        self.tardy += other.tardy;
        self.max_tardiness = self.max_tardiness.max(other.max_tardiness);
        self.sum_tardiness_ns += other.sum_tardiness_ns;
        self.overdue = self.overdue.max(other.overdue);
        self.min_response = match (self.min_response, other.min_response) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.max_response = self.max_response.max(other.max_response);
        self.sum_response_ns += other.sum_response_ns;
        self.preemptions += other.preemptions;
        self.migrations += other.migrations;
        self.migrations_within_jobs += other.migrations_within_jobs;
        self.shifts += other.shifts;
        self.executed_ns += other.executed_ns;
    }
}

/// What segments change: touched once per segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Execution {
    last_seq: u64,
    /// `NO_CPU` before the first segment.
    last_cpu: CpuId,
    last_end: Time,
    preemptions: u64,
    migrations: u64,
    migrations_within_jobs: u64,
    shifts: u64,
}

const NO_CPU: CpuId = CpuId(u32::MAX);

const NOTHING_EXECUTED: Execution = Execution {
    last_seq: 0,
    last_cpu: NO_CPU,
    last_end: Time::ZERO,
    preemptions: 0,
    migrations: 0,
    migrations_within_jobs: 0,
    shifts: 0,
};

/// What releases and ends of jobs change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    released: u64,
    completed: u64,
    missed: u64,
    tardy: u64,
    sum_response_ns: i128,
    sum_tardiness_ns: i128,
    executed_ns: i128,
    min_response: Duration,
    max_response: Duration,
    max_tardiness: Duration,
    overdue: Duration,
    aborted: u64,
    left: u64,
    pending: u64,
}

const NOTHING_ENDED: Outcome = Outcome {
    released: 0,
    completed: 0,
    missed: 0,
    tardy: 0,
    sum_response_ns: 0,
    sum_tardiness_ns: 0,
    executed_ns: 0,
    min_response: Duration::MAX,
    max_response: Duration::ZERO,
    max_tardiness: Duration::ZERO,
    overdue: Duration::ZERO,
    aborted: 0,
    left: 0,
    pending: 0,
};

/// What segments change per CPU, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Busy {
    busy_ns: i128,
    overhead_ns: i128,
}

/// The entry of an identifier; the array grows when it is seen for the first time.
#[inline]
fn entry<I: Index, T: Copy>(array: &mut IdVec<I, T>, id: I, fresh: T) -> &mut T {
    #[cold]
    #[inline(never)]
    fn grow<I: Index, T: Copy>(array: &mut IdVec<I, T>, id: I, fresh: T) {
        array.resize(id.index() + 1, fresh);
    }
    if id.index() >= array.len() {
        grow(array, id, fresh);
    }
    &mut array[id]
}

/// Counts jobs, misses, preemptions, migrations, response times: integers only.
///
/// ```
/// use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
/// use layland_trace::{Counters, Job, JobEnd, Recorder, Segment};
/// let ms = |ms| Time::ZERO + Duration::from_ms(ms);
/// let id = JobId { task: TaskId(0), seq: 0 };
/// let job = Job { id, arrival: ms(0), release: ms(0), deadline: ms(5) };
/// let on = |cpu, start, end| Segment { job: id, cpu, start, end, overhead: Duration::ZERO };
///
/// let mut counters = Counters::new(1, 2);
/// counters.released(&job);
/// counters.executed(&on(CpuId(0), ms(0), ms(2)));
/// counters.executed(&on(CpuId(1), ms(4), ms(6)));
/// counters.ended(&job, ms(6), JobEnd::Completed, Service::from_ms(4));
/// counters.over(ms(10), false);
///
/// let task = counters.task(TaskId(0));
/// assert_eq!((task.preemptions, task.migrations, task.missed), (1, 1, 1));
/// assert_eq!(task.shifts, 0, "it did not run from 2 to 4 ms");
/// assert_eq!(task.max_tardiness, Duration::from_ms(1));
/// assert_eq!(task.max_response, Some(Duration::from_ms(6)));
/// assert_eq!(counters.busy_ns(CpuId(1)), 2_000_000);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    execution: TaskMap<Execution>,
    outcome: TaskMap<Outcome>,
    cpus: CpuMap<Busy>,
    over: Time,
    interrupted: bool,
}

impl Counters {
    /// With room for this many tasks and CPUs. There may be more; they cost an allocation each
    /// time that the largest number so far is exceeded.
    pub fn new(tasks: usize, cpus: usize) -> Counters {
        Counters {
            execution: TaskMap::filled(NOTHING_EXECUTED, tasks),
            outcome: TaskMap::filled(NOTHING_ENDED, tasks),
            cpus: CpuMap::filled(Busy::default(), cpus),
            over: Time::ZERO,
            interrupted: false,
        }
    }

    /// How many tasks there are.
    pub fn task_count(&self) -> usize {
        self.execution.len().max(self.outcome.len())
    }

    /// How many CPUs there are.
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }

    /// The counters of a task; all zero if it was never seen.
    pub fn task(&self, task: TaskId) -> TaskCounters {
        let execution = self.execution.get(task).unwrap_or(&NOTHING_EXECUTED);
        let outcome = self.outcome.get(task).unwrap_or(&NOTHING_ENDED);
        let any_completed = outcome.completed > 0;
        TaskCounters {
            released: outcome.released,
            completed: outcome.completed,
            aborted: outcome.aborted,
            left: outcome.left,
            pending: outcome.pending,
            missed: outcome.missed,
            tardy: outcome.tardy,
            max_tardiness: outcome.max_tardiness,
            sum_tardiness_ns: outcome.sum_tardiness_ns,
            overdue: outcome.overdue,
            min_response: any_completed.then_some(outcome.min_response),
            max_response: any_completed.then_some(outcome.max_response),
            sum_response_ns: outcome.sum_response_ns,
            preemptions: execution.preemptions,
            migrations: execution.migrations,
            migrations_within_jobs: execution.migrations_within_jobs,
            shifts: execution.shifts,
            executed_ns: outcome.executed_ns,
        }
    }

    /// The counters of all tasks: sums, and the extremes of the extremes.
    pub fn total(&self) -> TaskCounters {
        let mut total = TaskCounters::default();
        for index in 0..self.task_count() {
            total.add(&self.task(TaskId::from_index(index)));
        }
        total
    }

    /// How long jobs held a CPU, overheads included, in nanoseconds.
    pub fn busy_ns(&self, cpu: CpuId) -> i128 {
        self.cpus.get(cpu).map_or(0, |busy| busy.busy_ns)
    }

    /// How much of [`busy_ns`](Self::busy_ns) went to overheads, in nanoseconds.
    pub fn overhead_ns(&self, cpu: CpuId) -> i128 {
        self.cpus.get(cpu).map_or(0, |busy| busy.overhead_ns)
    }

    /// When the run ended.
    pub fn over_at(&self) -> Time {
        self.over
    }

    /// Whether the run ended before its horizon.
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// As numbers to print and to write, without percentiles.
    pub fn summary(&self, labels: &Labels) -> Summary {
        self.summary_with(labels, |_| None)
    }

    fn summary_with(
        &self,
        labels: &Labels,
        percentiles: impl Fn(Option<TaskId>) -> Option<Percentiles>,
    ) -> Summary {
        let task_count = self.task_count().max(labels.tasks.len());
        let cpu_count = self.cpu_count().max(labels.cpus);
        let over_ns = self.over.ns();
        Summary {
            over_ns,
            interrupted: self.interrupted,
            total: TaskSummary::new("all".to_owned(), &self.total(), percentiles(None)),
            tasks: (0..task_count)
                .map(TaskId::from_index)
                .map(|id| TaskSummary::new(labels.task(id), &self.task(id), percentiles(Some(id))))
                .collect(),
            cpus: (0..cpu_count)
                .map(CpuId::from_index)
                .map(|cpu| CpuSummary {
                    cpu: cpu.0,
                    busy_ns: self.busy_ns(cpu),
                    overhead_ns: self.overhead_ns(cpu),
                    busy_ratio: ratio(self.busy_ns(cpu), i128::from(over_ns)).unwrap_or(0.0),
                })
                .collect(),
        }
    }
}

impl Recorder for Counters {
    #[inline]
    fn released(&mut self, job: &Job) {
        entry(&mut self.outcome, job.id.task, NOTHING_ENDED).released += 1;
    }

    #[inline]
    fn executed(&mut self, segment: &Segment) {
        let JobId { task, seq } = segment.job;
        let cpu = segment.cpu;
        let execution = entry(&mut self.execution, task, NOTHING_EXECUTED);
        let ran_before = execution.last_cpu != NO_CPU;
        let same_job = ran_before & (execution.last_seq == seq);
        let moved = ran_before & (execution.last_cpu != cpu);
        execution.preemptions += u64::from(same_job);
        execution.migrations += u64::from(moved);
        execution.migrations_within_jobs += u64::from(same_job & moved);
        let at_once = execution.last_end == segment.start;
        execution.shifts += u64::from(same_job & moved & at_once);
        execution.last_seq = seq;
        execution.last_cpu = cpu;
        execution.last_end = segment.end;
        let busy = entry(&mut self.cpus, cpu, Busy::default());
        busy.busy_ns += i128::from(segment.end.ns()) - i128::from(segment.start.ns());
        busy.overhead_ns += i128::from(segment.overhead.ns());
    }

    #[inline]
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        let outcome = entry(&mut self.outcome, job.id.task, NOTHING_ENDED);
        let record = JobRecord { job: *job, end: Some((at, end)), executed };
        outcome.missed += u64::from(record.missed(at));
        outcome.executed_ns += i128::from(executed.ns());
        match end {
            JobEnd::Completed => {
                let (response, tardiness) = (at - job.arrival, job.tardiness(at));
                outcome.completed += 1;
                outcome.tardy += u64::from(tardiness > Duration::ZERO);
                outcome.sum_response_ns += i128::from(response.ns());
                outcome.sum_tardiness_ns += i128::from(tardiness.ns());
                outcome.min_response = outcome.min_response.min(response);
                outcome.max_response = outcome.max_response.max(response);
                outcome.max_tardiness = outcome.max_tardiness.max(tardiness);
            }
            JobEnd::Aborted => outcome.aborted += 1,
            JobEnd::Left => outcome.left += 1,
        }
    }

    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        let outcome = entry(&mut self.outcome, job.id.task, NOTHING_ENDED);
        let record = JobRecord { job: *job, end: None, executed };
        outcome.missed += u64::from(record.missed(at));
        outcome.pending += 1;
        outcome.overdue = outcome.overdue.max(job.tardiness(at));
        outcome.executed_ns += i128::from(executed.ns());
    }

    fn over(&mut self, at: Time, interrupted: bool) {
        self.over = at;
        self.interrupted = interrupted;
    }
}

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

/// A run in numbers: exact integers (times in nanoseconds), and ratios as floats for display only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// When the run ended.
    pub over_ns: i64,
    /// Whether that was before its horizon.
    pub interrupted: bool,
    /// All tasks together.
    pub total: TaskSummary,
    /// Each task, in the order of the task set.
    pub tasks: Vec<TaskSummary>,
    /// Each CPU, ascending.
    pub cpus: Vec<CpuSummary>,
}

/// A CPU in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuSummary {
    /// Which one.
    pub cpu: u32,
    /// How long jobs held it, overheads included.
    pub busy_ns: i128,
    /// How much of that went to overheads.
    pub overhead_ns: i128,
    /// Busy time over the length of the run.
    pub busy_ratio: f64,
}

/// Percentiles of response times, at most 0.1 % too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50_ns: i64,
    /// 95 %.
    pub p95_ns: i64,
    /// 99 %.
    pub p99_ns: i64,
    /// 99.9 %.
    pub p99_9_ns: i64,
}

/// A task in numbers: [`TaskCounters`] and what is derived from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskSummary {
    /// Its name; `all` for all tasks together.
    pub name: String,
    /// Jobs released.
    pub released: u64,
    /// Jobs that executed all of their demand.
    pub completed: u64,
    /// Jobs given up by the policy.
    pub aborted: u64,
    /// Jobs dropped because their task left.
    pub left: u64,
    /// Jobs still pending at the end of the run.
    pub pending: u64,
    /// Deadline misses.
    pub missed: u64,
    /// Jobs completed after their deadline.
    pub tardy: u64,
    /// The largest tardiness of a completed job.
    pub max_tardiness_ns: i64,
    /// The sum of the tardiness of the completed jobs.
    pub sum_tardiness_ns: i128,
    /// How far the latest pending job is past its deadline.
    pub overdue_ns: i64,
    /// The smallest response time, if a job completed.
    pub min_response_ns: Option<i64>,
    /// The largest response time, if a job completed.
    pub max_response_ns: Option<i64>,
    /// The sum of the response times of the completed jobs.
    pub sum_response_ns: i128,
    /// Percentiles of the response time, if they were recorded and a job completed.
    pub response: Option<Percentiles>,
    /// Preemptions.
    pub preemptions: u64,
    /// Migrations of the task, between its jobs and within them.
    pub migrations: u64,
    /// Migrations within jobs.
    pub migrations_within_jobs: u64,
    /// The work that the jobs got, at unit speed.
    pub executed_ns: i128,
    /// Misses per released job.
    pub miss_ratio: Option<f64>,
    /// Mean tardiness of the completed jobs.
    pub mean_tardiness_ns: Option<f64>,
    /// Mean response time of the completed jobs.
    pub mean_response_ns: Option<f64>,
    /// Preemptions per released job.
    pub preemptions_per_job: Option<f64>,
    /// Migrations per released job.
    pub migrations_per_job: Option<f64>,
}

impl TaskSummary {
    fn new(name: String, task: &TaskCounters, response: Option<Percentiles>) -> TaskSummary {
        let (released, completed) = (i128::from(task.released), i128::from(task.completed));
        TaskSummary {
            name,
            released: task.released,
            completed: task.completed,
            aborted: task.aborted,
            left: task.left,
            pending: task.pending,
            missed: task.missed,
            tardy: task.tardy,
            max_tardiness_ns: task.max_tardiness.ns(),
            sum_tardiness_ns: task.sum_tardiness_ns,
            overdue_ns: task.overdue.ns(),
            min_response_ns: task.min_response.map(Duration::ns),
            max_response_ns: task.max_response.map(Duration::ns),
            sum_response_ns: task.sum_response_ns,
            response,
            preemptions: task.preemptions,
            migrations: task.migrations,
            migrations_within_jobs: task.migrations_within_jobs,
            executed_ns: task.executed_ns,
            miss_ratio: ratio(task.missed.into(), released),
            mean_tardiness_ns: ratio(task.sum_tardiness_ns, completed),
            mean_response_ns: ratio(task.sum_response_ns, completed),
            preemptions_per_job: ratio(task.preemptions.into(), released),
            migrations_per_job: ratio(task.migrations.into(), released),
        }
    }
}

/// For display.
fn ratio(part: i128, whole: i128) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use crate::testing::{at, id, segment};

    fn job(task: u32, seq: u64, arrival: i64, deadline: i64) -> Job {
        Job {
            id: id(task, seq),
            arrival: at(arrival),
            release: at(arrival),
            deadline: at(deadline),
        }
    }
    fn record(job: Job, end: Option<(i64, JobEnd)>, executed: i64) -> JobRecord {
        let end = end.map(|(ns, how)| (at(ns), how));
        JobRecord { job, end, executed: Service::from_ns(executed) }
    }

    /// Two tasks on two CPUs with every way to end.
    fn example() -> Trace {
        Trace {
            jobs: vec![
                record(job(0, 0, 0, 10), Some((7, JobEnd::Completed)), 5),
                record(job(1, 0, 0, 8), Some((9, JobEnd::Completed)), 6),
                record(job(1, 1, 8, 16), Some((12, JobEnd::Aborted)), 2),
                record(job(0, 1, 10, 20), Some((20, JobEnd::Completed)), 5),
                record(job(0, 2, 20, 30), Some((22, JobEnd::Left)), 0),
                record(job(1, 2, 16, 24), None, 0),
                record(job(1, 3, 24, 32), None, 0),
            ],
            segments: vec![
                segment(id(0, 0), 0, 0, 3),
                segment(id(1, 0), 1, 0, 3),
                segment(id(0, 0), 1, 3, 5),
                segment(id(1, 0), 0, 6, 9),
                segment(id(1, 1), 0, 9, 11),
                segment(id(0, 1), 0, 15, 20),
            ],
            over: at(30),
            ..Trace::default()
        }
    }

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

    #[test]
    fn every_counter_has_its_defined_value() {
        let mut counters = Counters::default();
        example().replay(&mut counters);
        let first = counters.task(TaskId(0));
        assert_eq!((first.released, first.completed, first.left), (3, 2, 1));
        assert_eq!((first.missed, first.tardy, first.aborted, first.pending), (0, 0, 0, 0));
        // The move at 3 has no gap: a preemption and a migration. The next job starts elsewhere:
        // a migration, but not within a job.
        assert_eq!((first.preemptions, first.migrations, first.migrations_within_jobs), (1, 2, 1));
        assert_eq!(first.min_response, Some(Duration::from_ns(7)));
        assert_eq!(first.max_response, Some(Duration::from_ns(10)));
        assert_eq!((first.sum_response_ns, first.executed_ns), (17, 10));

        let second = counters.task(TaskId(1));
        assert_eq!((second.released, second.completed, second.aborted), (4, 1, 1));
        // Tardy, aborted, and pending at 30 with the deadline at 24; the one due at 32 is not.
        assert_eq!((second.missed, second.tardy, second.pending), (3, 1, 2));
        assert_eq!(second.max_tardiness, Duration::from_ns(1));
        assert_eq!(second.overdue, Duration::from_ns(6));
        assert_eq!((second.preemptions, second.migrations), (1, 1));

        let total = counters.total();
        assert_eq!((total.released, total.missed, total.migrations), (7, 3, 3));
        assert_eq!(total.max_response, Some(Duration::from_ns(10)));
        assert_eq!((counters.busy_ns(CpuId(0)), counters.busy_ns(CpuId(1))), (13, 5));
        assert_eq!(counters.over_at(), at(30));
        assert_eq!(counters.task(TaskId(9)), TaskCounters::default());
    }

    #[test]
    fn a_replayed_trace_is_the_same_trace() {
        let mut copy = Trace::default();
        example().replay(&mut copy);
        assert_eq!(copy, example());
    }

    #[test]
    fn a_known_size_counts_the_same() {
        let (mut known, mut unknown) = (Counters::new(2, 2), Counters::default());
        example().replay(&mut known);
        example().replay(&mut unknown);
        assert_eq!(known, unknown);
        let mut statistics = Statistics::default();
        example().replay(&mut statistics);
        assert_eq!(statistics.counters(), &known);
    }

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut statistics = Statistics::default();
        let mut responses: Vec<i64> = (0..5000u64).map(|k| (k * k * 7919) as i64 + 1).collect();
        for (seq, &response) in responses.iter().enumerate() {
            let job = job(0, seq as u64, 0, i64::MAX);
            statistics.ended(&job, at(response), JobEnd::Completed, Service::ZERO);
        }
        responses.sort_unstable();
        for share in [0.001, 0.5, 0.95, 0.99, 0.999, 1.0] {
            let exact = responses[(share * 5000.0) as usize - 1];
            let got = statistics.response_quantile(Some(TaskId(0)), share).unwrap().ns();
            assert!(exact <= got && got <= exact + exact / 1000 + 1, "{share}: {exact} {got}");
        }
        let summary = statistics.summary(&Labels::default());
        assert_eq!(summary.tasks[0].max_response_ns, responses.last().copied());
        assert!(summary.total.response.is_some());
        assert_eq!(statistics.response_quantile(Some(TaskId(1)), 0.5), None);
    }

    #[test]
    fn a_summary_has_a_row_for_silent_tasks_and_cpus() {
        let labels = Labels {
            tasks: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()].into(),
            cpus: 4,
            levels: Vec::new(),
        };
        let mut counters = Counters::default();
        example().replay(&mut counters);
        let summary = counters.summary(&labels);
        assert_eq!((summary.tasks.len(), summary.cpus.len()), (3, 4));
        assert_eq!((summary.tasks[2].name.as_str(), summary.tasks[2].miss_ratio), ("c", None));
        assert_eq!(summary.tasks[1].miss_ratio, Some(0.75));
    }
}
