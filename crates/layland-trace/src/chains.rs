//! [`Chained`]: the latencies of the cause-effect chains of a run.
//!
//! A job that completes reads and writes once. Implicit communication: it reads at the start of its
//! first segment (or at its end, if it executes nothing) and writes at its end. Logical execution
//! time: it reads at its release, and writes
//! [`Task::write_after`](layland_model::Task::write_after) later, regardless of when it ends. A job
//! that has not ended by then is *late*: it violates logical execution time. It is counted as late,
//! and treated as if it had written. A job that is aborted neither reads nor writes.
//!
//! A read sees a write at the same instant. Values are maxima over the chains of jobs that begin
//! with a read at or after `from` and end with a write at or before `until`; other chains are
//! omitted. They are exact for the *schedule*, not for the set: another run may have longer ones.
//! The recorder keeps the reads and writes of the tasks of chains, 40 bytes per job.

use crate::{Job, JobEnd, Recorder, Segment};
use layland_model::{
    Chain, Communication, Duration, IdVec, Index, JobId, Latency, Service, System, TaskId, TaskMap,
    Time,
};

/// The observed figures of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainFigures {
    /// The longest latencies.
    pub latency: Latency,
    /// Logical execution time: the number of jobs of its tasks that had not ended when they had to
    /// write.
    pub late: u64,
}

/// The release, the first execution and the end of a job.
#[derive(Clone, Copy, Debug)]
struct Instants {
    release: Time,
    start: Time,
    end: Option<Time>,
}

/// Records the activity of the tasks of chains.
///
/// ```
/// use layland_model::{Chain, Communication, Duration, System, TaskId};
/// use layland_trace::testing::{at, id, segment, task};
/// use layland_trace::{Chained, Job, JobEnd, Recorder};
/// let mut system = System::new(1, vec![task("camera", 1, 5)]);
/// system.chains.push(Chain::new("see", [TaskId(0)], Communication::Implicit));
/// let mut chained = Chained::new(&system);
/// for seq in 0..2 {
///     let (arrival, begin) = (at(5 * seq), 5 * seq + 2);
///     let job = Job { id: id(0, seq as u64), arrival, release: arrival, deadline: at(5 * seq + 5) };
///     chained.executed(&segment(job.id, 0, begin, begin + 1));
///     chained.ended(&job, at(begin + 1), JobEnd::Completed, layland_model::Service::from_ns(1));
/// }
/// chained.over(at(10), false);
/// // An event that job 0 has just missed at 2 is answered by job 1 at 8.
/// assert_eq!(chained.figures(&system)[0].latency.reaction, Some(Duration::from_ns(6)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Chained {
    is_chained: TaskMap<bool>,
    /// The last job that has executed, with the start of its first segment.
    begun: TaskMap<Option<(JobId, Time)>>,
    /// The last job, if it has ended before its first segment was reported: an engine may report
    /// the end first.
    unseen: TaskMap<Option<JobId>>,
    jobs: TaskMap<Vec<Instants>>,
    from: Time,
    until: Option<Time>,
    over: Time,
}

/// The reads and writes of a task in a chain, in the order of its jobs.
struct Accesses {
    reads: Vec<Time>,
    writes: Vec<Time>,
}

impl Accesses {
    /// The first job that reads at `at` or later.
    fn first_reader(&self, at: Time) -> Option<usize> {
        let job = self.reads.partition_point(|&read| read < at);
        (job < self.reads.len()).then_some(job)
    }
    /// The last job that has written at `at` or before.
    fn last_writer(&self, at: Time) -> Option<usize> {
        self.writes.partition_point(|&write| write <= at).checked_sub(1)
    }
}

impl Chained {
    /// Creates a recorder for the chains of this system, over the whole run.
    pub fn new(system: &System) -> Chained {
        let tasks = system.tasks.len();
        let mut is_chained: TaskMap<bool> = IdVec::filled(false, tasks);
        for &task in system.chains.iter().flat_map(|chain| &chain.tasks) {
            is_chained[task] = true;
        }
        Chained {
            is_chained,
            begun: IdVec::filled(None, tasks),
            unseen: IdVec::filled(None, tasks),
            jobs: IdVec::filled(Vec::new(), tasks),
            ..Chained::default()
        }
    }

    /// Restricts the recorder to chains of jobs that begin and end within this interval.
    #[must_use]
    pub fn within(self, from: Time, until: Time) -> Chained {
        Chained { from, until: Some(until), ..self }
    }

    /// The observed figures of each chain of the system, once the run is over.
    pub fn figures(&self, system: &System) -> Vec<ChainFigures> {
        system.chains.iter().map(|chain| self.of(system, chain)).collect()
    }

    fn of(&self, system: &System, chain: &Chain) -> ChainFigures {
        let until = self.until.unwrap_or(self.over).min(self.over);
        let mut late = 0;
        let accesses: Vec<Accesses> = (chain.tasks.iter().enumerate())
            .map(|(at, &task)| {
                let interval = system.tasks[task].write_after();
                let (accesses, missed) = self.accesses(task, chain.communication, interval);
                // Count the late jobs of a task once, even if a chain visits it twice.
                late += if chain.tasks[..at].contains(&task) { 0 } else { missed };
                accesses
            })
            .collect();
        let [first, ..] = &accesses[..] else { return ChainFigures::default() };
        let last = &accesses[accesses.len() - 1];
        let counts = |from: Time, to: Time| from >= self.from && to <= until;
        let raise = |longest: &mut Option<Duration>, from: Time, to: Time| {
            if counts(from, to) {
                *longest = (*longest).max(Some(to - from));
            }
        };
        let answer = |job: usize| {
            let mut written = *first.writes.get(job)?;
            for task in &accesses[1..] {
                written = task.writes[task.first_reader(written)?];
            }
            Some(written)
        };
        let source = |job: usize| {
            let mut read = last.reads[job];
            for task in accesses[..accesses.len() - 1].iter().rev() {
                read = task.reads[task.last_writer(read)?];
            }
            Some(read)
        };
        let mut latency = Latency::default();
        let mut answered = answer(0);
        for (job, &read) in first.reads.iter().enumerate() {
            let next = answer(job + 1);
            answered.into_iter().for_each(|to| raise(&mut latency.reduced_reaction, read, to));
            next.into_iter().for_each(|to| raise(&mut latency.reaction, read, to));
            answered = next;
        }
        for (job, &write) in last.writes.iter().enumerate() {
            let Some(from) = source(job) else { continue };
            raise(&mut latency.reduced_age, from, write);
            let next = last.writes.get(job + 1);
            next.into_iter().for_each(|&to| raise(&mut latency.age, from, to));
        }
        ChainFigures { latency, late }
    }

    /// The reads and writes of the jobs of a task, and the number of late jobs.
    fn accesses(
        &self,
        task: TaskId,
        communication: Communication,
        interval: Duration,
    ) -> (Accesses, u64) {
        let (mut reads, mut writes, mut late) = (Vec::new(), Vec::new(), 0);
        for job in &self.jobs[task] {
            match communication {
                Communication::Implicit => {
                    let Some(end) = job.end else { continue };
                    reads.push(job.start);
                    writes.push(end);
                }
                Communication::Let => {
                    let write = job.release.saturating_add(interval);
                    // A pending job is late only if its write was due within the run.
                    late += u64::from(job.end.map_or(write <= self.over, |end| end > write));
                    reads.push(job.release);
                    writes.push(write);
                }
            }
        }
        (Accesses { reads, writes }, late)
    }
}

impl Recorder for Chained {
    fn executed(&mut self, segment: &Segment) {
        let task = segment.job.task;
        if self.is_chained.get(task) != Some(&true) {
            return;
        }
        let begun = &mut self.begun[task];
        if begun.is_none_or(|(job, _)| job != segment.job) {
            *begun = Some((segment.job, segment.start));
        }
        if self.unseen[task].take_if(|job| *job == segment.job).is_some()
            && let Some(last) = self.jobs[task].last_mut()
        {
            last.start = segment.start;
        }
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, _executed: Service) {
        let task = job.id.task;
        if self.is_chained.get(task) != Some(&true) {
            return;
        }
        let begun = self.begun[task].filter(|&(begun, _)| begun == job.id);
        let start = begun.map_or(at, |(_, start)| start);
        match end {
            JobEnd::Completed => {
                let instants = Instants { release: job.release, start, end: Some(at) };
                self.unseen[task] = begun.is_none().then_some(job.id);
                self.jobs[task].push(instants);
            }
            JobEnd::Aborted | JobEnd::Left => {}
        }
    }
    fn pending(&mut self, job: &Job, at: Time, _executed: Service) {
        let task = job.id.task;
        if self.is_chained.get(task) == Some(&true) {
            self.jobs[task].push(Instants { release: job.release, start: at, end: None });
        }
    }
    fn over(&mut self, at: Time, _interrupted: bool) {
        self.over = at;
        // Pending jobs are reported at the end of the run, in no guaranteed order.
        for task in 0..self.jobs.len() {
            self.jobs[TaskId::from_index(task)].sort_by_key(|job| job.release);
        }
    }
}

#[cfg(test)]
mod tests;
