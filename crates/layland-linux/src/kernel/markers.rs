//! Marks in the kernel's trace: where jobs begin and end, and what was decided.
//!
//! A context switch alone does not tell where a job ends. Each mark
//! ([`Marker`]) is written with one call into a file that was opened before the run (`trace_marker` of a
//! tracefs instance, whose clock is `mono`):
//!
//! | mark | written by | when |
//! |---|---|---|
//! | begin, end | the run | with time 0 and with the end of the run |
//! | release | the engine | it knows of the release; the mark has the true arrival and the deadline |
//! | start, complete | the thread of the job | at its first and after its last instruction |
//! | abort | the engine | a job is given up |
//! | overrun | the engine | a budget is used up |
//! | decision | the manager | a decision gives a CPU another job, or none |
//!
//! A mark is cut off at 160 bytes, and one that cannot be written is dropped. Nothing is allocated, but
//! by `begin`.

use layland_interchange::kernel::Marker;
use layland_model::{CpuId, JobId, TaskMap, Time};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};

/// Where the marks go.
#[derive(Debug)]
pub struct Markers {
    file: File,
    names: TaskMap<String>,
    epoch_ns: AtomicI64,
}

impl Markers {
    /// Marks of these tasks into this file, which is open for writing.
    pub fn new(file: File, names: TaskMap<String>) -> Markers {
        Markers { file, names, epoch_ns: AtomicI64::new(0) }
    }

    fn write(&self, marker: &Marker<'_>) {
        let mut bytes = [0u8; 160];
        let room = bytes.len();
        let mut left = &mut bytes[..];
        // Fails where the mark is too long; what fits is written.
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

    /// The run begins at this time of the monotonic clock, on these CPUs of the machine.
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
