//! Records the part of a run that a page shows.

use layland_model::{Service, Time};
use layland_trace::{Answer, Job, JobEnd, Mark, Recorder, Segment, Window};

/// Records the part of a run that begins at some time and has a limited number of segments.
pub(super) struct Part {
    pub window: Window,
    from: Time,
    to: Time,
    room: u64,
    /// The time up to which the trace is complete, if the limit of segments was reached.
    pub full_at: Option<Time>,
}

impl Part {
    pub(super) fn new(from: Time, to: Time, room: u64) -> Part {
        Part { window: Window::new(from, to), from, to, room, full_at: None }
    }

    fn is_past(&self, at: Time) -> bool {
        self.full_at.is_some_and(|full_at| at > full_at)
    }
}

impl Recorder for Part {
    fn released(&mut self, job: &Job) {
        self.window.released(job);
    }
    fn executed(&mut self, segment: &Segment) {
        if segment.end < self.from || segment.start > self.to {
            return;
        }
        match self.full_at {
            None if self.room == 0 => {
                // Every segment that ended before this one did is complete; of this one, only the
                // part before is.
                let complete = self.window.trace.segments.last().map_or(self.from, |last| last.end);
                self.full_at = Some(complete);
                self.executed(segment);
            }
            None => {
                self.room -= 1;
                self.window.executed(segment);
            }
            // At most one segment per CPU was running when the limit was reached.
            Some(full_at) if segment.start < full_at => {
                self.window.executed(&Segment { end: segment.end.min(full_at), ..*segment });
            }
            Some(_) => {}
        }
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        if !self.is_past(job.arrival) {
            self.window.ended(job, at, end, executed);
        }
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        if !self.is_past(job.arrival) {
            self.window.pending(job, at, executed);
        }
    }
    fn marked(&mut self, mark: &Mark) {
        if !self.is_past(mark.at) {
            self.window.marked(mark);
        }
    }
    fn answered(&mut self, answer: &Answer) {
        if !self.is_past(answer.at) {
            self.window.answered(answer);
        }
    }
    fn over(&mut self, at: Time, interrupted: bool) {
        self.window.over(at, interrupted);
    }
}
