//! Recorders that keep a part of a run: [`FirstMiss`], the first deadline that was missed, [`Refusals`],
//! the first requests that were refused, and [`Window`], what happened around some time. Their memory
//! does not grow with simulated time.

use crate::{Answer, Job, JobEnd, JobRecord, Mark, Recorder, Segment, Trace};
use layland_model::{Service, Time};

/// Keeps the earliest deadline that was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstMiss(pub Option<Time>);

impl FirstMiss {
    fn consider(&mut self, record: &JobRecord, over: Time) {
        let deadline = record.job.deadline;
        if record.missed(over) && self.0.is_none_or(|first| deadline < first) {
            self.0 = Some(deadline);
        }
    }
}

impl Recorder for FirstMiss {
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        self.consider(&JobRecord { job: *job, end: Some((at, end)), executed }, at);
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.consider(&JobRecord { job: *job, end: None, executed }, at);
    }
}

/// Keeps a trace of what overlaps a window of time.
///
/// ```
/// use layland_model::{CpuId, Duration, JobId, TaskId, Time};
/// use layland_trace::{Recorder, Segment, Window};
/// let at = Time::from_ms;
/// let mut window = Window::new(at(10), at(20));
/// for start in [0, 9, 15, 21] {
///     let job = JobId { task: TaskId(0), seq: start as u64 };
///     let (cpu, overhead) = (CpuId(0), Duration::ZERO);
///     window.executed(&Segment { job, cpu, start: at(start), end: at(start + 3), overhead });
/// }
/// assert_eq!(window.trace.segments.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// What overlaps the window.
    pub trace: Trace,
    from: Time,
    to: Time,
}

impl Window {
    /// An empty trace of the window from one time to another, both included.
    pub fn new(from: Time, to: Time) -> Window {
        Window { trace: Trace::default(), from, to }
    }

    fn overlaps(&self, from: Time, to: Time) -> bool {
        from <= self.to && to >= self.from
    }
}

impl Recorder for Window {
    fn released(&mut self, job: &Job) {
        if self.overlaps(job.arrival, job.release) {
            self.trace.released(job);
        }
    }
    fn executed(&mut self, segment: &Segment) {
        if self.overlaps(segment.start, segment.end) {
            self.trace.executed(segment);
        }
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        if self.overlaps(job.arrival, at.max(job.deadline)) {
            self.trace.ended(job, at, end, executed);
        }
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        if self.overlaps(job.arrival, at.max(job.deadline)) {
            self.trace.pending(job, at, executed);
        }
    }
    fn marked(&mut self, mark: &Mark) {
        if self.overlaps(mark.at, mark.at) {
            self.trace.marked(mark);
        }
    }
    fn answered(&mut self, answer: &Answer) {
        if self.overlaps(answer.at, answer.at) {
            self.trace.answered(answer);
        }
    }
    fn over(&mut self, at: Time, interrupted: bool) {
        self.trace.over(at, interrupted);
    }
}
/// Keeps the first requests that were refused, and counts all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// The first ones, at most [`Refusals::KEPT`].
    pub first: Vec<Answer>,
    /// How many there were.
    pub count: u64,
    /// How many of them were tasks that asked to enter.
    pub entries: u64,
}

impl Refusals {
    /// So many are kept.
    pub const KEPT: usize = 5;
}

impl Recorder for Refusals {
    fn answered(&mut self, answer: &Answer) {
        if answer.refused.is_none() {
            return;
        }
        self.count += 1;
        self.entries += u64::from(answer.request.ends_with(" enters"));
        if self.first.len() < Refusals::KEPT {
            self.first.push(answer.clone());
        }
    }
}
