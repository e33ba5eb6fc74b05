//! Recorders that keep a part of a run: [`FirstMiss`], the first deadline that was missed,
//! [`Refusals`], the first requests that were refused, and [`Window`], the events around some time.
//! Their memory does not grow with simulated time.

use crate::{Answer, Job, JobEnd, JobRecord, Mark, MarkKind, Recorder, Segment, Trace};
use layland_model::{CpuId, Service, Time};

/// Keeps the earliest deadline that was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstMiss(pub Option<Time>);

impl FirstMiss {
    #[cold]
    fn consider(&mut self, record: &JobRecord, over: Time) {
        let deadline = record.job.deadline;
        if record.missed(over) && self.0.is_none_or(|first| deadline < first) {
            self.0 = Some(deadline);
        }
    }
}

impl Recorder for FirstMiss {
    #[inline]
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        // Fast path for nearly every job.
        if end == JobEnd::Completed && at <= job.deadline {
            return;
        }
        self.consider(&JobRecord { job: *job, end: Some((at, end)), executed }, at);
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.consider(&JobRecord { job: *job, end: None, executed }, at);
    }
    fn takes_totals(&self) -> bool {
        true
    }
}

/// Keeps the part of a trace that overlaps a window of time. The state of a CPU when the window
/// begins (offline, or its criticality level) follows from the last mark before it, which is kept
/// too.
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
    /// The part of the trace that overlaps the window.
    pub trace: Trace,
    from: Time,
    to: Time,
}

impl Window {
    /// An empty trace of the window from one time to another, both included.
    pub fn new(from: Time, to: Time) -> Window {
        Window { trace: Trace::default(), from, to }
    }

    /// Keeps a mark before the window, and drops the marks that it makes obsolete.
    fn keep_state(&mut self, mark: &Mark) {
        let Some(state) = state(&mark.kind) else { return };
        self.trace.marks.retain(|before| self::state(&before.kind) != Some(state));
        self.trace.marked(mark);
    }

    fn overlaps(&self, from: Time, to: Time) -> bool {
        from <= self.to && to >= self.from
    }
}

/// The CPU whose state a mark sets, and the name of that state.
fn state(kind: &MarkKind) -> Option<(CpuId, &'static str)> {
    let description = kind.describe();
    Some((description.cpu()?, description.kind.state?))
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
        } else if mark.at < self.from {
            self.keep_state(mark);
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
/// Keeps the first requests that were refused, and counts all refusals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// The first ones, at most [`Refusals::KEPT`].
    pub first: Vec<Answer>,
    /// The number of refusals.
    pub count: u64,
    /// The number of refusals of tasks of the set that requested to enter.
    pub entries: u64,
}

impl Refusals {
    /// The number of refusals that are kept.
    pub const KEPT: usize = 5;
}

impl Recorder for Refusals {
    fn takes_totals(&self) -> bool {
        true
    }

    fn answered(&mut self, answer: &Answer) {
        if answer.refused.is_none() {
            return;
        }
        self.count += 1;
        self.entries += u64::from(answer.entering.is_some());
        if self.first.len() < Refusals::KEPT {
            self.first.push(answer.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Criticality, Note};

    #[test]
    fn the_state_of_a_cpu_before_a_window_is_known_in_it() {
        let mut window = Window::new(Time::from_ms(10), Time::from_ms(20));
        let level =
            |level| MarkKind::Note(Note::Indicator { cpu: CpuId(0), level: Criticality(level) });
        let marks = [
            (1, MarkKind::CpuOffline(CpuId(1))),
            (2, MarkKind::CpuOnline(CpuId(1))),
            (3, level(2)),
            (4, MarkKind::CpuOffline(CpuId(1))),
            (5, level(1)),
            (12, level(0)),
            (21, level(1)),
        ];
        for (ms, kind) in &marks {
            window.marked(&Mark { at: Time::from_ms(*ms), kind: kind.clone() });
        }
        let kept = window.trace.marks.iter().map(|mark| mark.at);
        assert!(kept.eq([4, 5, 12].map(Time::from_ms)), "{:?}", window.trace.marks);
    }
}
