//! The trace model, and the interface through which an engine reports: [`Recorder`].

use crate::Mark;
use layland_model::{CpuId, Duration, Index, JobId, Service, TaskId, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job as it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its identifier.
    pub id: JobId,
    /// Its arrival: deadline and response time count from here.
    pub arrival: Time,
    /// The instant at which it could run: the arrival plus the release jitter, even if an earlier
    /// job of the task was still pending.
    pub release: Time,
    /// Absolute deadline; finishing at the deadline is in time.
    pub deadline: Time,
}

impl Job {
    /// Its tardiness if it finishes at this time: `max(0, f - d)`.
    pub fn tardiness(&self, finish: Time) -> Duration {
        (finish - self.deadline).max(Duration::ZERO)
    }
}

/// A maximal interval in which one job held one CPU. Never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The job.
    pub job: JobId,
    /// The CPU.
    pub cpu: CpuId,
    /// The start.
    pub start: Time,
    /// The end.
    pub end: Time,
    /// The part of it that the CPU spent on overheads and not on the job.
    pub overhead: Duration,
}

/// An interval in which a thread that is not a task held a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The CPU.
    pub cpu: CpuId,
    /// The start.
    pub start: Time,
    /// The end.
    pub end: Time,
    /// The name of the thread.
    pub thread: String,
}

/// The way in which a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// It executed all of its demand.
    Completed,
    /// It was aborted: by the policy, or because it, or the job before it, was late
    /// ([`OnMiss`](layland_model::OnMiss)).
    #[schemars(description = "It was aborted or skipped.")]
    Aborted,
    /// Its task left.
    Left,
}

/// The answer of a kernel to a request that it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum Errno {
    /// `EBUSY`: admission control rejects the request.
    Busy,
    /// `EPERM`: the operation is not permitted.
    NotPermitted,
    /// `EINVAL`: the parameters are invalid.
    Invalid,
}

/// The answer to a request to the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The time.
    pub at: Time,
    /// The request in words.
    pub request: String,
    /// The task of the set that requests to enter, if the request is one to enter. Files contain
    /// only the words.
    pub entering: Option<TaskId>,
    /// The reason for a refusal; `None` if the request was granted.
    pub refused: Option<String>,
    /// The error number of a refusal.
    pub errno: Option<Errno>,
}

/// Receives the events that an engine reports while it runs. Every method does nothing by default,
/// so that an engine that is generic over its recorder pays only for what is recorded.
///
/// Calls come in the order of time, except that a segment is reported at its end.
pub trait Recorder {
    /// A job became able to run, or would have if its predecessor had ended.
    ///
    /// For a job that arrived while its predecessor was pending, the call comes when the
    /// predecessor ends (or at the end of the run), with the true `release`.
    fn released(&mut self, job: &Job) {
        let _ = job;
    }
    /// A segment ended.
    fn executed(&mut self, segment: &Segment) {
        let _ = segment;
    }
    /// A job ended; `executed` is the work that it received.
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        let _ = (job, at, end, executed);
    }
    /// The run is over at this time with this job pending.
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        let _ = (job, at, executed);
    }
    /// An event happened that a chart shows.
    fn marked(&mut self, mark: &Mark) {
        let _ = mark;
    }
    /// A request was answered.
    fn answered(&mut self, answer: &Answer) {
        let _ = answer;
    }
    /// The run is over; `interrupted` if that was before its horizon.
    fn over(&mut self, at: Time, interrupted: bool) {
        let _ = (at, interrupted);
    }

    /// Returns true if this recorder needs nothing but figures. An engine may then report
    ///
    /// - a job that completes in time with [`in_time`](Self::in_time),
    /// - releases, segments and what else such jobs did with [`totals`](Self::totals) and
    ///   [`busy`](Self::busy), at the end of the run,
    /// - other jobs as always, but in the order of time only for each task.
    fn takes_totals(&self) -> bool {
        false
    }
    /// A job of a task completed at or before its deadline, with this response time.
    #[inline]
    fn in_time(&mut self, task: TaskId, response: Duration) {
        let _ = (task, response);
    }
    /// The figures of a task over the whole run.
    fn totals(&mut self, task: TaskId, totals: &Totals) {
        let _ = (task, totals);
    }
    /// The time for which jobs held a CPU, in nanoseconds, over the whole run.
    fn busy(&mut self, cpu: CpuId, ns: i128) {
        let _ = (cpu, ns);
    }
}

/// The figures of a task that a [`Recorder`] can take at the end of a run: of its jobs that completed
/// in time, and of the segments of all its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Jobs released, except those reported with [`Recorder::released`].
    pub released: u64,
    /// Jobs completed in time.
    pub completed: u64,
    /// The work that those received, in nanoseconds at unit speed.
    pub executed_ns: i128,
    /// The sum of their response times, in nanoseconds.
    pub sum_response_ns: i128,
    /// The smallest and the largest of their response times, if there are any.
    pub responses: Option<(Duration, Duration)>,
    /// Preemptions.
    pub preemptions: u64,
    /// Migrations of the task, between its jobs and within them.
    pub migrations: u64,
    /// Migrations within jobs.
    pub migrations_within_jobs: u64,
    /// Migrations within jobs without a gap.
    pub shifts: u64,
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecord;
impl Recorder for NoRecord {
    fn takes_totals(&self) -> bool {
        true
    }
}

/// Reports to two recorders.
#[derive(Clone, Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<A: Recorder, B: Recorder> Recorder for Both<A, B> {
    #[inline]
    fn released(&mut self, job: &Job) {
        self.0.released(job);
        self.1.released(job);
    }
    #[inline(always)]
    fn executed(&mut self, segment: &Segment) {
        self.0.executed(segment);
        self.1.executed(segment);
    }
    #[inline]
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        self.0.ended(job, at, end, executed);
        self.1.ended(job, at, end, executed);
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.0.pending(job, at, executed);
        self.1.pending(job, at, executed);
    }
    #[inline]
    fn marked(&mut self, mark: &Mark) {
        self.0.marked(mark);
        self.1.marked(mark);
    }
    fn answered(&mut self, answer: &Answer) {
        self.0.answered(answer);
        self.1.answered(answer);
    }
    fn over(&mut self, at: Time, interrupted: bool) {
        self.0.over(at, interrupted);
        self.1.over(at, interrupted);
    }
    fn takes_totals(&self) -> bool {
        self.0.takes_totals() && self.1.takes_totals()
    }
    #[inline]
    fn in_time(&mut self, task: TaskId, response: Duration) {
        self.0.in_time(task, response);
        self.1.in_time(task, response);
    }
    fn totals(&mut self, task: TaskId, totals: &Totals) {
        self.0.totals(task, totals);
        self.1.totals(task, totals);
    }
    fn busy(&mut self, cpu: CpuId, ns: i128) {
        self.0.busy(cpu, ns);
        self.1.busy(cpu, ns);
    }
}

/// The record of one job at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// The time and the kind of its end; `None` if it was pending at the end of the run.
    pub end: Option<(Time, JobEnd)>,
    /// The work that it received.
    pub executed: Service,
}

impl JobRecord {
    /// The time of its completion, if it completed.
    pub fn completion(&self) -> Option<Time> {
        match self.end {
            Some((at, JobEnd::Completed)) => Some(at),
            Some((_, JobEnd::Aborted | JobEnd::Left)) | None => None,
        }
    }

    /// Returns true if it missed its deadline in a run that ended at `over`: it completed late, was
    /// aborted, or was pending with its deadline at or before the end. A job whose task left has no
    /// deadline to miss.
    pub fn missed(&self, over: Time) -> bool {
        match self.end {
            Some((at, JobEnd::Completed)) => at > self.job.deadline,
            Some((_, JobEnd::Aborted)) => true,
            Some((_, JobEnd::Left)) => false,
            None => self.job.deadline <= over,
        }
    }
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Every released job, in the order of their ends; then the jobs that are still pending.
    pub jobs: Vec<JobRecord>,
    /// Every segment, in the order of their ends; segments that end together are ordered by CPU.
    pub segments: Vec<Segment>,
    /// The points in time that a chart shows, in the order of time.
    pub marks: Vec<Mark>,
    /// Answers to requests, in the order of time.
    pub answers: Vec<Answer>,
    /// The end of the run.
    pub over: Time,
    /// True if the run ended before its horizon.
    pub interrupted: bool,
}

impl Trace {
    /// The minimum number of CPUs that the trace needs.
    pub fn cpu_count(&self) -> usize {
        self.segments.iter().map(|segment| segment.cpu.index() + 1).max().unwrap_or(0)
    }
}

impl Recorder for Trace {
    fn executed(&mut self, segment: &Segment) {
        self.segments.push(*segment);
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        self.jobs.push(JobRecord { job: *job, end: Some((at, end)), executed });
    }
    fn pending(&mut self, job: &Job, _at: Time, executed: Service) {
        self.jobs.push(JobRecord { job: *job, end: None, executed });
    }
    fn marked(&mut self, mark: &Mark) {
        self.marks.push(mark.clone());
    }
    fn answered(&mut self, answer: &Answer) {
        self.answers.push(answer.clone());
    }
    fn over(&mut self, at: Time, interrupted: bool) {
        self.over = at;
        self.interrupted = interrupted;
    }
}
