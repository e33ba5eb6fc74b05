//! [`Summary`]: the numbers of a run, for printing and writing.

use super::counters::{Counters, TaskCounters};
use crate::Labels;
use layland_model::{CpuId, Duration, Index, TaskId};
use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// A run in numbers: exact integers (times in nanoseconds), and ratios as floats for display only.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "summary")]
#[must_use]
pub struct Summary {
    /// The end of the run.
    pub over_ns: i64,
    /// True if the run ended before its horizon.
    pub interrupted: bool,
    /// All tasks together.
    pub total: TaskSummary,
    /// Each task, in the order of the task set; empty if only the
    /// [totals](crate::Statistics::totals) were requested.
    #[schemars(description = "Each task, in the order of the set.")]
    pub tasks: Vec<TaskSummary>,
    /// Each CPU, ascending.
    pub cpus: Vec<CpuSummary>,
}

/// A CPU in numbers.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "cpu_summary")]
pub struct CpuSummary {
    /// Its number.
    pub cpu: u32,
    /// The time for which jobs held it, overheads included.
    #[schemars(range(min = 0))]
    pub busy_ns: i128,
    /// The part of that time that was overhead.
    #[schemars(range(min = 0))]
    pub overhead_ns: i128,
    /// Busy time over the length of the run.
    pub busy_ratio: f64,
}

/// Percentiles of response times, at most 0.1 % too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "percentiles")]
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
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(rename = "task_summary")]
#[schemars(description = "A task in numbers. A mean over no job is null.")]
pub struct TaskSummary {
    /// Its name; `all` for all tasks together.
    pub name: String,
    /// Jobs released.
    pub released: u64,
    /// Jobs that executed all of their demand.
    pub completed: u64,
    /// Jobs that were aborted.
    pub aborted: u64,
    /// Jobs dropped because their task left.
    pub left: u64,
    /// Jobs still pending at the end of the run.
    pub pending: u64,
    /// Deadline misses; null in JSON if no deadline is known.
    #[schemars(with = "Option<u64>", range(min = 0))]
    pub missed: u64,
    /// Jobs completed after their deadline; null in JSON if no deadline is known.
    #[schemars(with = "Option<u64>", range(min = 0))]
    pub tardy: u64,
    /// The largest tardiness of a completed job.
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub max_tardiness_ns: i64,
    /// The sum of the tardiness of the completed jobs.
    #[schemars(with = "Option<i128>", range(min = 0))]
    pub sum_tardiness_ns: i128,
    /// The time by which the latest pending job is past its deadline.
    #[schemars(with = "Option<i64>", range(min = 0))]
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
    /// The work that the jobs received, at unit speed.
    #[schemars(range(min = 0))]
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
    /// True if its jobs have deadlines. Only a record without any information about deadlines has
    /// none; the counts of deadlines are then meaningless and written as null.
    #[schemars(skip)]
    pub has_deadlines: bool,
}

impl Serialize for TaskSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let due = |count: u64| self.has_deadlines.then_some(count);
        let late = |ns: i64| self.has_deadlines.then_some(ns);
        let mut out = serializer.serialize_struct("TaskSummary", 24)?;
        out.serialize_field("name", &self.name)?;
        out.serialize_field("released", &self.released)?;
        out.serialize_field("completed", &self.completed)?;
        out.serialize_field("aborted", &self.aborted)?;
        out.serialize_field("left", &self.left)?;
        out.serialize_field("pending", &self.pending)?;
        out.serialize_field("missed", &due(self.missed))?;
        out.serialize_field("tardy", &due(self.tardy))?;
        out.serialize_field("max_tardiness_ns", &late(self.max_tardiness_ns))?;
        let sum = self.has_deadlines.then_some(self.sum_tardiness_ns);
        out.serialize_field("sum_tardiness_ns", &sum)?;
        out.serialize_field("overdue_ns", &late(self.overdue_ns))?;
        out.serialize_field("min_response_ns", &self.min_response_ns)?;
        out.serialize_field("max_response_ns", &self.max_response_ns)?;
        out.serialize_field("sum_response_ns", &self.sum_response_ns)?;
        out.serialize_field("response", &self.response)?;
        out.serialize_field("preemptions", &self.preemptions)?;
        out.serialize_field("migrations", &self.migrations)?;
        out.serialize_field("migrations_within_jobs", &self.migrations_within_jobs)?;
        out.serialize_field("executed_ns", &self.executed_ns)?;
        let ratio = self.miss_ratio.filter(|_| self.has_deadlines);
        out.serialize_field("miss_ratio", &ratio)?;
        let mean = self.mean_tardiness_ns.filter(|_| self.has_deadlines);
        out.serialize_field("mean_tardiness_ns", &mean)?;
        out.serialize_field("mean_response_ns", &self.mean_response_ns)?;
        out.serialize_field("preemptions_per_job", &self.preemptions_per_job)?;
        out.serialize_field("migrations_per_job", &self.migrations_per_job)?;
        out.end()
    }
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
            has_deadlines: true,
        }
    }
}

impl Counters {
    /// The numbers for printing and writing, without percentiles.
    pub fn summary(&self, labels: &Labels) -> Summary {
        self.summary_with(labels, self.tasks_of(labels), |_| None)
    }

    /// The number of tasks in a summary.
    pub(super) fn tasks_of(&self, labels: &Labels) -> usize {
        self.task_count().max(labels.tasks.len())
    }

    pub(super) fn summary_with(
        &self,
        labels: &Labels,
        task_count: usize,
        percentiles: impl Fn(Option<TaskId>) -> Option<Percentiles>,
    ) -> Summary {
        let cpu_count = self.cpu_count().max(labels.cpus);
        let over_ns = self.over_at().ns();
        Summary {
            over_ns,
            interrupted: self.interrupted(),
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

/// The ratio of two numbers, for display.
fn ratio(part: i128, whole: i128) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}
