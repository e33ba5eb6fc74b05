//! Reads and writes the scheduling traces of LITMUS^RT (`st_trace`).
//!
//! A file is a sequence of little-endian records of 24 bytes: a header of 8 bytes (kind, CPU, the
//! low 16 bits of the process id, the job number) and 16 bytes whose meaning depends on the kind.
//! Times are nanoseconds of the machine's clock. A run may be recorded in one file per CPU; the
//! concatenation of these files is one trace.
//!
//! | record | number | as a [`Trace`] |
//! |---|---|---|
//! | name | 1 | the name of the task |
//! | release | 3 | a job, with its deadline; its arrival equals its release |
//! | switch to, switch away | 5, 6 | a segment |
//! | completion | 7 | the job completed; a *forced* completion is an abort |
//! | system release | 11 | ignored: times count from the earliest one |
//! | parameters, assignment, block, resume, action, non-preemptive section | 2, 4, 8, 9, 10, 12, 13 | ignored |
//!
//! Rules of reading: (1) Times count from the earliest time in the file. (2) The jobs
//! of a task count from the smallest number that occurs. (3) If a task continues
//! after a completion without a switch, the execution belongs to its next job if that
//! is released by then, and is dropped otherwise. (4) A job without a release has
//! segments, but is not among the jobs. (5) The run is over at its last event.
//!
//! Rules of writing: Jobs count from 1, as in LITMUS^RT. The process ids are the positions of the
//! tasks, starting at 1. At one instant, completions precede switches away, and those precede
//! switches to. Marks, answers, overheads and the jitter of releases are lost, and a job whose
//! task left appears pending.

use crate::sorter::{SortKey, Sorter};
use layland_model::{CpuId, Duration, Index, JobId, Service, TaskId, Time};
use layland_trace::{Job, JobEnd, JobRecord, Labels, Recorder, Scratch, Segment, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

const RECORD: usize = 24;
const NAME: u8 = 1;
const RELEASE: u8 = 3;
const SWITCH_TO: u8 = 5;
const SWITCH_AWAY: u8 = 6;
const COMPLETION: u8 = 7;
const SYSTEM_RELEASE: u8 = 11;
/// The largest kind; the smallest is 1.
const LAST_KIND: u8 = 13;

/// The reason why bytes are not a scheduling trace, or why a trace cannot be written as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StTraceError {
    /// The last record is truncated.
    #[error(
        "the last of the {records} records at byte {at} has {rest} of 24 bytes: copy the file again, \
         or cut it to {at} bytes"
    )]
    CutOff {
        /// The number of complete records.
        records: usize,
        /// The byte at which it starts.
        at: usize,
        /// The number of its bytes.
        rest: usize,
    },
    /// A record has an unknown kind.
    #[error("record {record} at byte {at} is of kind {kind}: a scheduling trace has 1 to 13")]
    Kind {
        /// The number of the record, from 1.
        record: usize,
        /// The byte at which it starts.
        at: usize,
        /// Its kind.
        kind: u8,
    },
    /// A time is out of range for a trace.
    #[error("record {record} at byte {at} has a time of {ns} ns: at most 2^63 - 1 is possible")]
    Time {
        /// The number of the record, from 1.
        record: usize,
        /// The byte at which it starts.
        at: usize,
        /// The time.
        ns: u64,
    },
    /// A count exceeds the limit of the format.
    #[error("the trace has {count} {what}: the format has room for {most}")]
    TooMany {
        /// The counted things.
        what: &'static str,
        /// Their number.
        count: u64,
        /// The largest number that the format allows.
        most: u64,
    },
    /// Writing failed.
    #[error("failed to write the trace: {reason}")]
    Write {
        /// The message of the system.
        reason: String,
    },
}

impl From<io::Error> for StTraceError {
    fn from(error: io::Error) -> StTraceError {
        StTraceError::Write { reason: error.to_string() }
    }
}

/// A record, with the fields decoded that all kinds share.
#[derive(Clone, Copy)]
struct StRecord {
    kind: u8,
    cpu: u8,
    pid: u16,
    job: u32,
    data: [u8; 16],
}

impl StRecord {
    fn first(&self) -> u64 {
        u64::from_le_bytes(self.data[..8].try_into().expect("8 of 16 bytes"))
    }
    fn second(&self) -> u64 {
        u64::from_le_bytes(self.data[8..].try_into().expect("8 of 16 bytes"))
    }
    fn bytes(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..2].copy_from_slice(&[self.kind, self.cpu]);
        bytes[2..4].copy_from_slice(&self.pid.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.job.to_le_bytes());
        bytes[8..].copy_from_slice(&self.data);
        bytes
    }
    /// The time of the record, for kinds that have one.
    fn time(&self) -> Option<u64> {
        matches!(self.kind, RELEASE | SWITCH_TO | SWITCH_AWAY | COMPLETION | SYSTEM_RELEASE)
            .then(|| self.first())
    }
}

fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut data = [0; 16];
    data[..8].copy_from_slice(&first.to_le_bytes());
    data[8..].copy_from_slice(&second.to_le_bytes());
    data
}

/// Returns true if bytes look like a scheduling trace: whole records, each of a known kind.
///
/// ```
/// use layland_interchange::st_trace::looks_like;
/// assert!(!looks_like(b"{\"version\":1, \"unit\":\"n"));
/// assert!(looks_like(&[11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
/// ```
pub fn looks_like(bytes: &[u8]) -> bool {
    let (records, rest) = bytes.as_chunks::<RECORD>();
    !records.is_empty()
        && rest.is_empty()
        && records.iter().all(|record| (1..=LAST_KIND).contains(&record[0]))
}

/// Reads a trace, or the concatenation of several traces of one run.
///
/// # Errors
/// If the bytes are not a sequence of records; the error has the number and position of the record.
pub fn read(bytes: &[u8]) -> Result<(Trace, Labels), StTraceError> {
    let mut records = decode(bytes)?;
    let origin = records.iter().filter_map(StRecord::time).min().unwrap_or(0);
    // Every time fits into an `i64`, so their differences fit, too.
    let time = |ns: u64| Time::from_ns((ns - origin) as i64);
    // Records without a time describe tasks. `None` sorts first, so that they precede all others.
    records.sort_by_key(|record| record.time());

    let has_job = |record: &&StRecord| matches!(record.kind, RELEASE..=COMPLETION);
    let mut first_job: BTreeMap<u16, u32> = BTreeMap::new();
    let mut names: BTreeMap<u16, String> = BTreeMap::new();
    for record in records.iter().filter(|record| record.kind == NAME) {
        let length = record.data.iter().position(|&byte| byte == 0).unwrap_or(16);
        names.insert(record.pid, String::from_utf8_lossy(&record.data[..length]).into_owned());
    }
    for record in records.iter().filter(has_job) {
        let first = first_job.entry(record.pid).or_insert(record.job);
        *first = record.job.min(*first);
    }
    let pids: BTreeSet<u16> = names.keys().chain(first_job.keys()).copied().collect();
    let pids: Vec<u16> = pids.into_iter().collect();
    let id = |pid: u16, job: u32| JobId {
        task: TaskId::from_index(pids.binary_search(&pid).expect("every process id was collected")),
        seq: u64::from(job - first_job.get(&pid).copied().unwrap_or(0).min(job)),
    };

    let mut jobs: BTreeMap<JobId, JobRecord> = BTreeMap::new();
    for record in records.iter().filter(|record| record.kind == RELEASE) {
        let id = id(record.pid, record.job);
        let release = time(record.first());
        // A deadline before the release might be before
        // the earliest time, and `time` would underflow.
        let deadline = time(record.second().max(record.first()));
        let job = Job { id, arrival: release, release, deadline };
        jobs.insert(id, JobRecord { job, end: None, executed: Service::ZERO });
    }
    let mut running: BTreeMap<u8, (JobId, Time)> = BTreeMap::new();
    let mut trace = Trace::default();
    let mut ended = Vec::new();
    for record in &records {
        let Some(now) = record.time().map(time) else { continue };
        let cpu = CpuId(u32::from(record.cpu));
        match record.kind {
            SWITCH_TO => {
                stop(&mut trace, &mut jobs, running.remove(&record.cpu), cpu, now);
                running.insert(record.cpu, (id(record.pid, record.job), now));
            }
            SWITCH_AWAY => stop(&mut trace, &mut jobs, running.remove(&record.cpu), cpu, now),
            COMPLETION => {
                let id = id(record.pid, record.job);
                let on = running.get(&record.cpu).filter(|(job, _)| *job == id).copied();
                if on.is_some() {
                    stop(&mut trace, &mut jobs, on, cpu, now);
                    running.remove(&record.cpu);
                    let next = JobId { seq: id.seq + 1, ..id };
                    if jobs.get(&next).is_some_and(|next| next.job.release <= now) {
                        running.insert(record.cpu, (next, now));
                    }
                }
                let how = if record.data[8] & 1 == 1 { JobEnd::Aborted } else { JobEnd::Completed };
                if let Some(record) = jobs.get_mut(&id)
                    && record.end.is_none()
                {
                    record.end = Some((now, how));
                    ended.push(id);
                }
            }
            _ => continue,
        }
        trace.over = trace.over.max(now);
    }
    let over = trace.over;
    // A job that runs to the end of the trace has a segment without a switch away.
    for (cpu, on) in std::mem::take(&mut running) {
        stop(&mut trace, &mut jobs, Some(on), CpuId(u32::from(cpu)), over);
    }
    trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
    trace.jobs = ended.into_iter().filter_map(|id| jobs.remove(&id)).collect();
    trace.jobs.extend(jobs.into_values().filter(|record| record.job.release <= over));
    let tasks = pids.iter().map(|pid| match names.get(pid) {
        Some(name) if !name.is_empty() => name.clone(),
        Some(_) | None => format!("pid {pid}"),
    });
    let cpus = trace.cpu_count();
    Ok((trace, Labels { tasks: tasks.collect(), cpus, ..Labels::default() }))
}

/// Ends the segment of the job that ran on a CPU.
fn stop(
    trace: &mut Trace,
    jobs: &mut BTreeMap<JobId, JobRecord>,
    on: Option<(JobId, Time)>,
    cpu: CpuId,
    now: Time,
) {
    let Some((job, start)) = on.filter(|&(_, start)| start < now) else { return };
    trace.segments.push(Segment { job, cpu, start, end: now, overhead: Duration::ZERO });
    if let Some(record) = jobs.get_mut(&job) {
        record.executed += (now - start).at_unit_speed();
    }
}

fn decode(bytes: &[u8]) -> Result<Vec<StRecord>, StTraceError> {
    let (chunks, rest) = bytes.as_chunks::<RECORD>();
    let mut records = Vec::with_capacity(chunks.len());
    for (index, chunk) in chunks.iter().enumerate() {
        let (record, at) = (index + 1, index * RECORD);
        let [kind, cpu, pid_low, pid_high, a, b, c, d, data @ ..] = *chunk;
        if !(1..=LAST_KIND).contains(&kind) {
            return Err(StTraceError::Kind { record, at, kind });
        }
        let (pid, job) =
            (u16::from_le_bytes([pid_low, pid_high]), u32::from_le_bytes([a, b, c, d]));
        let found = StRecord { kind, cpu, pid, job, data };
        let second = (kind == RELEASE).then(|| found.second());
        let beyond = found.time().into_iter().chain(second).find(|&ns| ns > i64::MAX as u64);
        if let Some(ns) = beyond {
            return Err(StTraceError::Time { record, at, ns });
        }
        records.push(found);
    }
    if rest.is_empty() {
        Ok(records)
    } else {
        let at = chunks.len() * RECORD;
        Err(StTraceError::CutOff { records: chunks.len() + 1, at, rest: rest.len() })
    }
}

/// Returns as much of a name as fits: 15 bytes, as in the
/// kernel, where a zero follows. Does not cut a character.
pub fn short_name(name: &str) -> &str {
    let end = (0..=name.len().min(15)).rev().find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

/// Returns a trace as one file of records.
///
/// # Errors
/// If there are more than 65 535 tasks, 256 CPUs or 2^32 - 2 jobs of a task.
pub fn write(trace: &Trace, labels: &Labels) -> Result<Vec<u8>, StTraceError> {
    let labels = labels.completed(trace);
    let mut writer = StTraceWriter::new(Vec::new(), &labels, &Scratch::memory())?;
    trace.replay(&mut writer);
    writer.finish()
}

/// Writes the run that an engine reports, with the same bytes as
/// [`write()`] for the whole trace. Memory is bounded at any length: a
/// record that is known later than it happens waits in a [`Scratch`].
pub struct StTraceWriter<W> {
    out: W,
    sorter: Sorter,
    /// The jobs that have run and are not over: the time that each ran, and its last CPU.
    running: BTreeMap<JobId, (u64, CpuId)>,
    /// The jobs that are over, each with its end: an engine may report their last segments later.
    over: Vec<(Job, Option<JobEnd>, Time)>,
    /// The largest number of jobs of a task, and the number of CPUs.
    jobs: u64,
    cpus: u64,
    written: io::Result<()>,
}

impl<W: Write> StTraceWriter<W> {
    /// Begins a file. Every task has a label.
    ///
    /// # Errors
    /// If there are more than 65 535 tasks, or writing fails.
    pub fn new(
        mut out: W,
        labels: &Labels,
        scratch: &Scratch,
    ) -> Result<StTraceWriter<W>, StTraceError> {
        at_most("tasks", labels.tasks.len() as u64, u64::from(u16::MAX))?;
        let no_job = |pid| StRecord { kind: NAME, cpu: 0, pid, job: 0, data: [0; 16] };
        out.write_all(&StRecord { kind: SYSTEM_RELEASE, ..no_job(0) }.bytes())?;
        for (task, name) in labels.tasks.iter() {
            let mut named = no_job(task.0 as u16 + 1);
            let kept = short_name(name).as_bytes();
            named.data[..kept.len()].copy_from_slice(kept);
            out.write_all(&named.bytes())?;
        }
        let sorter = Sorter::new(scratch.clone());
        let (running, over) = (BTreeMap::new(), Vec::new());
        Ok(StTraceWriter { out, sorter, running, over, jobs: 0, cpus: 0, written: Ok(()) })
    }

    /// Ends the file. Does not flush the writer.
    ///
    /// # Errors
    /// If there were more than 256 CPUs or 2^32 - 2 jobs of a task, or writing failed.
    pub fn finish(mut self) -> Result<W, StTraceError> {
        at_most("CPUs", self.cpus, 256)?;
        at_most("jobs of a task", self.jobs, u64::from(u32::MAX) - 1)?;
        self.written?;
        self.sorter.finish(&mut self.out)?;
        Ok(self.out)
    }

    /// Adds a record; at one instant, records of lower rank come first.
    fn push(&mut self, at: Time, rank: u8, (kind, cpu, job): (u8, CpuId, JobId), data: [u8; 16]) {
        // The casts may truncate: `finish` rejects values that do not fit.
        let (pid, number) = (job.task.0 as u16 + 1, (job.seq as u32).wrapping_add(1));
        let record = StRecord { kind, cpu: cpu.0 as u8, pid, job: number, data };
        let key = SortKey::new(at, rank, (u64::from(record.cpu) << 16 | u64::from(pid), number, 0));
        // Write nothing more once writing has failed.
        if self.written.is_ok() {
            self.written = self.sorter.push(key, &record.bytes());
        }
    }

    /// Writes the jobs that were over before this time: everything about them is known.
    fn settle(&mut self, at: Time) {
        if self.over.first().is_some_and(|&(_, _, over)| over < at) {
            for (job, end, at) in std::mem::take(&mut self.over) {
                self.job(&job, end, at);
            }
        }
    }

    /// Writes a job that was over at this time, whether or not it ended.
    fn job(&mut self, job: &Job, end: Option<JobEnd>, at: Time) {
        self.jobs = self.jobs.max(job.id.seq + 1);
        let (executed, cpu) = self.running.remove(&job.id).unwrap_or((0, CpuId(0)));
        let data = pair(ns(job.release), ns(job.deadline));
        self.push(job.release, 0, (RELEASE, cpu, job.id), data);
        let forced = match end {
            Some(JobEnd::Completed) => 0,
            Some(JobEnd::Aborted) => 1,
            Some(JobEnd::Left) | None => return,
        };
        self.push(at, 1, (COMPLETION, cpu, job.id), pair(ns(at), executed << 1 | forced));
    }
}

impl<W: Write> Recorder for StTraceWriter<W> {
    fn executed(&mut self, segment: &Segment) {
        let &Segment { job, cpu, start, end, .. } = segment;
        self.settle(end);
        self.cpus = self.cpus.max(u64::from(cpu.0) + 1);
        let so_far = self.running.get(&job).map_or(0, |&(so_far, _)| so_far);
        let to = pair(ns(start), so_far.min(u64::from(u32::MAX)));
        self.push(start, 3, (SWITCH_TO, cpu, job), to);
        let so_far = so_far + (ns(end) - ns(start));
        self.push(end, 2, (SWITCH_AWAY, cpu, job), pair(ns(end), so_far));
        self.running.insert(job, (so_far, cpu));
    }

    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, _executed: Service) {
        self.settle(at);
        self.over.push((*job, Some(end), at));
    }

    fn pending(&mut self, job: &Job, at: Time, _executed: Service) {
        self.settle(at);
        self.over.push((*job, None, at));
    }

    fn over(&mut self, _at: Time, _interrupted: bool) {
        self.settle(Time::NEVER);
    }
}

fn at_most(what: &'static str, count: u64, most: u64) -> Result<(), StTraceError> {
    if count <= most { Ok(()) } else { Err(StTraceError::TooMany { what, count, most }) }
}

fn ns(at: Time) -> u64 {
    u64::try_from(at.ns()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
