//! The trace model, and the boundary through which an engine reports: [`Recorder`].

use crate::Mark;
use layland_model::{CpuId, Duration, Index, JobId, Service, TaskId, Time};
use serde::{Deserialize, Serialize};

/// A job as it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which one.
    pub id: JobId,
    /// When it arrived: deadline and response time count from here.
    pub arrival: Time,
    /// When it became able to run: the arrival plus the release jitter, whether or not an earlier
    /// job of the task was still pending.
    pub release: Time,
    /// Absolute deadline; finishing at the deadline is in time.
    pub deadline: Time,
}

impl Job {
    /// How late it is if it finishes at this time: `max(0, f - d)`.
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
    /// From.
    pub start: Time,
    /// To.
    pub end: Time,
    /// How much of it the CPU spent on overheads and not on the job.
    pub overhead: Duration,
}

/// A thread that is no task held a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The CPU.
    pub cpu: CpuId,
    /// From.
    pub start: Time,
    /// To.
    pub end: Time,
    /// Its name.
    pub thread: String,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// It executed all of its demand.
    Completed,
    /// It was given up: by the policy, or because it, or the job before it, was late
    /// ([`OnMiss`](layland_model::OnMiss)).
    Aborted,
    /// Its task left.
    Left,
}

/// The answer of a kernel to a request that it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Errno {
    /// `EBUSY`: admission control says no.
    Busy,
    /// `EPERM`: this is not permitted.
    NotPermitted,
    /// `EINVAL`: the parameters make no sense.
    Invalid,
}

/// What became of a request to the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When.
    pub at: Time,
    /// The request, in words.
    pub request: String,
    /// The task of the set that asks to enter, if that is the request. Files keep the words only.
    pub entering: Option<TaskId>,
    /// Why it was refused; `None` if it was granted.
    pub refused: Option<String>,
    /// How it was refused.
    pub errno: Option<Errno>,
}

/// What an engine reports while it runs. Every method does nothing by default, so that an engine
/// that is generic over its recorder pays only for what is recorded.
///
/// Calls come in the order of time, except that a segment is reported at its end.
pub trait Recorder {
    /// A job became able to run, or would have, had its predecessor been finished.
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
    /// A job ended; `executed` is the work that it got.
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        let _ = (job, at, end, executed);
    }
    /// The run is over at this time with this job pending.
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        let _ = (job, at, executed);
    }
    /// Something worth showing happened.
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
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecord;
impl Recorder for NoRecord {}

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
}

/// What is known of one job at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// When and how it ended; `None` if it was pending at the end of the run.
    pub end: Option<(Time, JobEnd)>,
    /// The work that it got.
    pub executed: Service,
}

impl JobRecord {
    /// When it completed, if it did.
    pub fn completion(&self) -> Option<Time> {
        match self.end {
            Some((at, JobEnd::Completed)) => Some(at),
            Some((_, JobEnd::Aborted | JobEnd::Left)) | None => None,
        }
    }

    /// Whether it missed its deadline in a run that ended at `over`: it completed late, was
    /// aborted, or was pending with its deadline at or before the end. A job whose task left has
    /// no deadline to miss.
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
    /// Every job that was released, in the order of its end; then those still pending.
    pub jobs: Vec<JobRecord>,
    /// Every segment, in the order of its end (those that end together: by CPU).
    pub segments: Vec<Segment>,
    /// Points worth showing, in the order of time.
    pub marks: Vec<Mark>,
    /// Answers to requests, in the order of time.
    pub answers: Vec<Answer>,
    /// When the run ended.
    pub over: Time,
    /// Whether that was before its horizon.
    pub interrupted: bool,
}

impl Trace {
    /// The number of CPUs that it uses at least.
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
