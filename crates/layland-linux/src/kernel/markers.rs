//! Marks in the kernel's trace: the starts and ends of jobs, and the decisions.
//!
//! A context switch alone does not show the end of a job. Each mark ([`Marker`]) is written with
//! one call into a file that was opened before the run (`trace_marker` of a tracefs instance, whose
//! clock is `mono`):
//!
//! | mark | written by | at |
//! |---|---|---|
//! | begin, end | the run | time 0, and the end of the run |
//! | release | the engine | the time it learns of the release; the mark has the true arrival and the deadline |
//! | start, complete | the thread of the job | its first instruction, and after its last one |
//! | abort | the engine | the abort of a job |
//! | overrun | the engine | the exhaustion of a budget |
//! | decision | the manager | a decision that gives a CPU another job, or none |
//!
//! A mark is cut off at 160 bytes, and a mark that cannot be written is dropped. Only `begin`
//! allocates.

use layland_interchange::kernel::Marker;
use layland_model::{CpuId, JobId, TaskMap, Time};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};

/// The destination of the marks.
#[derive(Debug)]
pub struct Markers {
    file: File,
    names: TaskMap<String>,
    epoch_ns: AtomicI64,
}

impl Markers {
    /// Returns markers of these tasks that write to this file, which is open for writing.
    pub fn new(file: File, names: TaskMap<String>) -> Markers {
        Markers { file, names, epoch_ns: AtomicI64::new(0) }
    }

    fn write(&self, marker: &Marker<'_>) {
        let mut bytes = [0u8; 160];
        let room = bytes.len();
        let mut left = &mut bytes[..];
        // The write fails if the mark is too long, but keeps the part that fits.
        let _ = writeln!(left, "{marker}");
        let length = room - left.len();
        let _ = (&self.file).write(&bytes[..length]);
    }

    fn name(&self, job: JobId) -> &str {
        &self.names[job.task]
    }

    fn absolute(&self, at: Time) -> i64 {
        self.epoch_ns.load(Ordering::Relaxed).saturating_add(at.ns())
    }

    /// Marks the beginning of the run: the monotonic time of time 0, and the CPUs of the machine.
    pub(crate) fn begin(&self, epoch_ns: i64, hosts: &[usize]) {
        self.epoch_ns.store(epoch_ns, Ordering::Relaxed);
        let cpus = hosts.iter().map(|&host| host as u32).collect();
        self.write(&Marker::Begin { t: epoch_ns, cpus });
    }
    pub(crate) fn end(&self, at: Time) {
        self.write(&Marker::End { t: self.absolute(at) });
    }
    pub(crate) fn release(&self, job: JobId, arrival: Time, deadline: Time) {
        let (t, deadline) = (self.absolute(arrival), Some(self.absolute(deadline)));
        self.write(&Marker::Release { task: self.name(job), job: job.seq, t, deadline });
    }
    pub(crate) fn start(&self, job: JobId) {
        self.write(&Marker::Start { task: self.name(job), job: job.seq });
    }
    pub(crate) fn complete(&self, job: JobId) {
        self.write(&Marker::Complete { task: self.name(job), job: job.seq });
    }
    pub(crate) fn abort(&self, job: JobId) {
        self.write(&Marker::Abort { task: self.name(job), job: job.seq });
    }
    pub(crate) fn overrun(&self, job: JobId) {
        self.write(&Marker::Overrun { task: self.name(job), job: job.seq });
    }
    pub(crate) fn decision(&self, cpu: CpuId, job: Option<JobId>) {
        let run = job.map(|job| (self.name(job), job.seq));
        self.write(&Marker::Decision { cpu: cpu.0, run });
    }
}
