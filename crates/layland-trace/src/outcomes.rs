//! [`Outcomes`]: the words of outcomes by which weakly hard constraints are judged.

use crate::{Job, JobEnd, JobRecord, Recorder, Trace};
use layland_model::{HitOrMiss, Index, JobId, Service, TaskId, TaskMap, Time};

/// The outcomes of a task in the order of its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The outcome of each reported job; `None` for one that was in flight when its task left.
    jobs: Vec<Option<HitOrMiss>>,
    arrivals: Vec<Time>,
    /// Positions in the list, ascending, and the number of jobs before each that a trace lacks. They
    /// are counted and not listed: a number in a file may be any.
    gaps: Vec<(usize, u64)>,
}

impl Word {
    /// The outcomes, without those of jobs whose task left, each with the number of jobs before it that
    /// the trace lacks.
    pub fn outcomes(&self) -> impl Iterator<Item = (u64, HitOrMiss)> {
        let mut gaps = self.gaps.iter().peekable();
        let mut missing = 0;
        self.jobs.iter().enumerate().filter_map(move |(at, outcome)| {
            missing += gaps.next_if(|(position, _)| *position == at).map_or(0, |(_, count)| *count);
            Some((std::mem::take(&mut missing), (*outcome)?))
        })
    }

    /// The outcomes of the jobs that arrived from one time on, and before another.
    pub fn between(&self, from: Time, to: Time) -> impl Iterator<Item = HitOrMiss> {
        let is_between = move |at: Time| from <= at && at < to;
        let jobs = self.jobs.iter().zip(&self.arrivals);
        jobs.filter(move |(_, at)| is_between(**at)).filter_map(|(outcome, _)| *outcome)
    }

    /// Sets the outcome of a job. Jobs may end out of order: one that is skipped ends before the job
    /// that it would have waited for.
    fn set(&mut self, number: usize, arrival: Time, outcome: Option<HitOrMiss>) {
        if number >= self.jobs.len() {
            self.jobs.resize(number + 1, Some(HitOrMiss::Undecided));
            self.arrivals.resize(number + 1, Time::ZERO);
        }
        (self.jobs[number], self.arrivals[number]) = (outcome, arrival);
    }
}

/// Records the outcome of each job of each task: a byte for each, and its arrival.
///
/// ```
/// use layland_model::{Duration, HitOrMiss, JobId, Service, TaskId, Time};
/// use layland_trace::{Job, JobEnd, Outcomes, Recorder};
/// let ms = |ms| Time::ZERO + Duration::from_ms(ms);
/// let mut outcomes = Outcomes::default();
/// for (seq, end) in [(0, 4), (1, 17)] {
///     let id = JobId { task: TaskId(0), seq };
///     let at = ms(10 * seq as i64);
///     let job = Job { id, arrival: at, release: at, deadline: at + Duration::from_ms(5) };
///     outcomes.ended(&job, ms(end), JobEnd::Completed, Service::from_ms(1));
/// }
/// let word: String = outcomes.of(TaskId(0)).outcomes().map(|(_, of)| of.letter()).collect();
/// assert_eq!(word, "HM");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    tasks: TaskMap<Word>,
    none: Word,
}

impl Outcomes {
    /// The outcomes in a trace. Its jobs count from the first that it has.
    pub fn of_trace(trace: &Trace) -> Outcomes {
        let mut records: Vec<&JobRecord> = trace.jobs.iter().collect();
        records.sort_by_key(|record| (record.job.id.task, record.job.id.seq));
        let mut outcomes = Outcomes::default();
        let mut before: Option<JobId> = None;
        for record in records {
            let JobId { task, seq } = record.job.id;
            let position = outcomes.of(task).jobs.len();
            let last = before.filter(|last| last.task == task).map(|last| last.seq);
            // A number that comes twice is that of another job.
            let missing = last.map_or(0, |last| (seq - last).saturating_sub(1));
            let job = Job { id: JobId { task, seq: position as u64 }, ..record.job };
            match record.end {
                Some((at, end)) => outcomes.ended(&job, at, end, record.executed),
                None => outcomes.pending(&job, trace.over, record.executed),
            }
            if missing > 0 {
                outcomes.tasks[task].gaps.push((position, missing));
            }
            before = Some(record.job.id);
        }
        outcomes
    }

    /// The word of a task; empty if no job of it was reported.
    pub fn of(&self, task: TaskId) -> &Word {
        self.tasks.get(task).unwrap_or(&self.none)
    }

    fn set(&mut self, job: &Job, outcome: Option<HitOrMiss>) {
        let JobId { task, seq } = job.id;
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Word::default());
        }
        self.tasks[task].set(seq as usize, job.arrival, outcome);
    }
}

impl Recorder for Outcomes {
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, _executed: Service) {
        let outcome = match end {
            JobEnd::Completed if at <= job.deadline => Some(HitOrMiss::Hit),
            JobEnd::Completed | JobEnd::Aborted => Some(HitOrMiss::Miss),
            JobEnd::Left => None,
        };
        self.set(job, outcome);
    }

    fn pending(&mut self, job: &Job, at: Time, _executed: Service) {
        let is_late = job.deadline <= at;
        self.set(job, Some(if is_late { HitOrMiss::Miss } else { HitOrMiss::Undecided }));
    }
}
