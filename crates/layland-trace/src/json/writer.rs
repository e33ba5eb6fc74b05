//! Writes a trace while an engine reports it.

use super::wire::{WireAnswer, WireJob, WireMark, WireSegment};
use super::{begin_list, end_list, separator, write_head};
use crate::scratch::{Scratch, Spool};
use crate::{Answer, Job, JobEnd, JobRecord, Labels, Mark, Recorder, Segment, Summary};
use layland_model::{Service, Time};
use serde::Serialize;
use std::io::{self, Write};

/// Writes the events of an engine as [`write_json`](super::write_json) would write the whole trace,
/// to the byte. Memory is bounded at any length: the lists after the jobs wait in a [`Scratch`].
///
/// The document begins with data that a run has only at its end. Therefore the run must be known:
/// it is simulated again, or replayed.
///
/// ```
/// use layland_model::Time;
/// use layland_trace::json::{JsonWriter, write_json};
/// use layland_trace::{Labels, Recorder, Scratch, Trace};
/// let (labels, over) = (Labels::default(), (Time::from_ns(7), false));
/// let mut writer = JsonWriter::new(Vec::new(), &labels, over, None, &Scratch::memory());
/// writer.over(over.0, over.1);
///
/// let mut whole = Vec::new();
/// let trace = Trace { over: over.0, ..Trace::default() };
/// write_json(&mut whole, &trace, &labels, None).unwrap();
/// assert_eq!(writer.finish().unwrap(), whole);
/// ```
#[derive(Debug)]
pub struct JsonWriter<W> {
    jobs: List<W>,
    segments: List<Spool>,
    marks: List<Spool>,
    answers: List<Spool>,
    written: io::Result<()>,
}

impl<W: Write> JsonWriter<W> {
    /// Begins a document about a run: `over` is its end, and true if that is before its horizon.
    pub fn new(
        mut out: W,
        labels: &Labels,
        over: (Time, bool),
        summary: Option<&Summary>,
        scratch: &Scratch,
    ) -> JsonWriter<W> {
        let head = write_head(&mut out, labels, over, summary);
        let written = head.and_then(|()| begin_list(&mut out, "jobs"));
        JsonWriter {
            jobs: List::new(out),
            segments: List::new(scratch.spool()),
            marks: List::new(scratch.spool()),
            answers: List::new(scratch.spool()),
            written,
        }
    }

    /// Ends the document. Does not flush the underlying writer.
    ///
    /// # Errors
    /// Returns an error if writing failed, now or during the run.
    pub fn finish(self) -> io::Result<W> {
        self.written?;
        let mut out = self.jobs.out;
        end_list(&mut out)?;
        let lists = [("segments", self.segments), ("marks", self.marks), ("answers", self.answers)];
        for (name, list) in lists {
            begin_list(&mut out, name)?;
            io::copy(&mut list.out.read_again()?, &mut out)?;
            end_list(&mut out)?;
        }
        writeln!(out, "}}")?;
        Ok(out)
    }

    /// Does nothing after writing has failed.
    fn write(&mut self, write: impl FnOnce(&mut JsonWriter<W>) -> io::Result<()>) {
        if self.written.is_ok() {
            self.written = write(self);
        }
    }
}

impl<W: Write> Recorder for JsonWriter<W> {
    fn executed(&mut self, segment: &Segment) {
        self.write(|to| to.segments.push(&WireSegment::from(segment)));
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        let record = JobRecord { job: *job, end: Some((at, end)), executed };
        self.write(|to| to.jobs.push(&WireJob::from(&record)));
    }
    fn pending(&mut self, job: &Job, _at: Time, executed: Service) {
        let record = JobRecord { job: *job, end: None, executed };
        self.write(|to| to.jobs.push(&WireJob::from(&record)));
    }
    fn marked(&mut self, mark: &Mark) {
        self.write(|to| to.marks.push(&WireMark::from(mark)));
    }
    fn answered(&mut self, answer: &Answer) {
        self.write(|to| to.answers.push(&WireAnswer::from(answer)));
    }
}

/// The items of a list, one per line.
#[derive(Debug)]
struct List<W> {
    out: W,
    is_empty: bool,
    /// A buffer for one item: a file receives one write per item, not one per word.
    line: Vec<u8>,
}

impl<W: Write> List<W> {
    fn new(out: W) -> List<W> {
        List { out, is_empty: true, line: Vec::new() }
    }

    fn push(&mut self, item: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        self.line.extend_from_slice(separator(std::mem::replace(&mut self.is_empty, false)));
        serde_json::to_writer(&mut self.line, item)?;
        self.out.write_all(&self.line)
    }
}
