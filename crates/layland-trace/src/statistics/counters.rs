//! [`Counters`]: integers per task and CPU, updated during a run.
//!
//! Long because each counter is updated, extrapolated and summed here.

use crate::{Halts, Job, JobEnd, JobRecord, Mark, Recorder, Segment, Totals};
use layland_model::{CpuId, CpuMap, Duration, IdVec, Index, JobId, Service, TaskId, TaskMap, Time};

/// The counters of one task, or of all tasks together. The [module](super) defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounters {
    /// Jobs released.
    pub released: u64,
    /// Jobs that executed all of their demand.
    pub completed: u64,
    /// Jobs that were aborted.
    pub aborted: u64,
    /// Jobs dropped because their task left.
    pub left: u64,
    /// Jobs still pending at the end of the run.
    pub pending: u64,
    /// Deadline misses.
    pub missed: u64,
    /// Jobs completed after their deadline.
    pub tardy: u64,
    /// The largest tardiness of a completed job.
    pub max_tardiness: Duration,
    /// The sum of the tardiness of all completed jobs, in nanoseconds.
    pub sum_tardiness_ns: i128,
    /// The time by which the latest of the jobs pending at the end is past its deadline: a lower
    /// bound on a tardiness that the run did not observe.
    pub overdue: Duration,
    /// The smallest response time of a completed job, if there is one.
    pub min_response: Option<Duration>,
    /// The largest response time of a completed job, if there is one.
    pub max_response: Option<Duration>,
    /// The sum of the response times of all completed jobs, in nanoseconds.
    pub sum_response_ns: i128,
    /// Preemptions.
    pub preemptions: u64,
    /// Migrations of the task, between its jobs and within them.
    pub migrations: u64,
    /// Migrations within jobs.
    pub migrations_within_jobs: u64,
    /// Migrations within jobs without a gap.
    pub shifts: u64,
    /// The work that the jobs received, in nanoseconds at unit speed.
    pub executed_ns: i128,
}

impl TaskCounters {
    /// Extrapolates the counters of a longer run: this run has one turn of a cycle more than
    /// `earlier`, and the longer run has `turns` more turns than this one.
    ///
    /// Assumes: (1) the state at the end of `earlier` equals that at the end of this run, (2) both
    /// runs contain an earlier turn.
    #[must_use]
    pub fn after(&self, earlier: &TaskCounters, turns: u64) -> TaskCounters {
        let more = |now: u64, before: u64| now + turns * (now - before);
        let sum = |now: i128, before: i128| now + i128::from(turns) * (now - before);
        TaskCounters {
            released: more(self.released, earlier.released),
            completed: more(self.completed, earlier.completed),
            aborted: more(self.aborted, earlier.aborted),
            left: more(self.left, earlier.left),
            // The state at the end is the same, and no later job is later than those observed.
            pending: self.pending,
            max_tardiness: self.max_tardiness,
            overdue: self.overdue,
            min_response: self.min_response,
            max_response: self.max_response,
            missed: more(self.missed, earlier.missed),
            tardy: more(self.tardy, earlier.tardy),
            sum_tardiness_ns: sum(self.sum_tardiness_ns, earlier.sum_tardiness_ns),
            sum_response_ns: sum(self.sum_response_ns, earlier.sum_response_ns),
            preemptions: more(self.preemptions, earlier.preemptions),
            migrations: more(self.migrations, earlier.migrations),
            migrations_within_jobs: more(
                self.migrations_within_jobs,
                earlier.migrations_within_jobs,
            ),
            shifts: more(self.shifts, earlier.shifts),
            executed_ns: sum(self.executed_ns, earlier.executed_ns),
        }
    }

    /// The total of several counters: sums, and the extremes of the extremes.
    pub fn total<'a>(all: impl IntoIterator<Item = &'a TaskCounters>) -> TaskCounters {
        let mut total = TaskCounters::default();
        all.into_iter().for_each(|counters| total.add(counters));
        total
    }

    fn add(&mut self, other: &TaskCounters) {
        self.released += other.released;
        self.completed += other.completed;
        self.aborted += other.aborted;
        self.left += other.left;
        self.pending += other.pending;
        self.missed += other.missed;
        self.tardy += other.tardy;
        self.max_tardiness = self.max_tardiness.max(other.max_tardiness);
        self.sum_tardiness_ns += other.sum_tardiness_ns;
        self.overdue = self.overdue.max(other.overdue);
        self.min_response = match (self.min_response, other.min_response) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.max_response = self.max_response.max(other.max_response);
        self.sum_response_ns += other.sum_response_ns;
        self.preemptions += other.preemptions;
        self.migrations += other.migrations;
        self.migrations_within_jobs += other.migrations_within_jobs;
        self.shifts += other.shifts;
        self.executed_ns += other.executed_ns;
    }
}

// With many tasks, each of these structures competes for the cache. Therefore fields that change
// together share a cache line, and fields that rarely change are elsewhere.

/// The counters that releases and segments change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Execution {
    last_seq: u64,
    /// `NO_CPU` before the first segment.
    last_cpu: CpuId,
    last_end: Time,
    preemptions: u64,
    migrations: u64,
    migrations_within_jobs: u64,
    shifts: u64,
    released: u64,
}

const NO_CPU: CpuId = CpuId(u32::MAX);

const NOTHING_EXECUTED: Execution = Execution {
    last_seq: 0,
    last_cpu: NO_CPU,
    last_end: Time::ZERO,
    preemptions: 0,
    migrations: 0,
    migrations_within_jobs: 0,
    shifts: 0,
    released: 0,
};

/// The counters that the ends of jobs change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct EndCounters {
    completed: u64,
    sum_response_ns: i128,
    executed_ns: i128,
    min_response: Duration,
    max_response: Duration,
    pending: u64,
}

const NOTHING_ENDED: EndCounters = EndCounters {
    completed: 0,
    pending: 0,
    sum_response_ns: 0,
    executed_ns: 0,
    min_response: Duration::MAX,
    max_response: Duration::ZERO,
};

/// The counters that every job of a task changes: two adjacent cache lines in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(128))]
struct Jobs {
    execution: Execution,
    outcome: EndCounters,
}

const NO_JOBS: Jobs = Jobs { execution: NOTHING_EXECUTED, outcome: NOTHING_ENDED };

/// The counters of jobs that are late, or end without completing. Most runs have no such jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trouble {
    missed: u64,
    tardy: u64,
    sum_tardiness_ns: i128,
    max_tardiness: Duration,
    overdue: Duration,
    aborted: u64,
    left: u64,
}

const NO_TROUBLE: Trouble = Trouble {
    missed: 0,
    tardy: 0,
    sum_tardiness_ns: 0,
    max_tardiness: Duration::ZERO,
    overdue: Duration::ZERO,
    aborted: 0,
    left: 0,
};

/// The counters that segments change per CPU, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Busy {
    busy_ns: i128,
    overhead_ns: i128,
}

/// The entry of an identifier. If it is new, the array grows by `fresh` entries. Building such an
/// entry at every segment would take 1 % of a simulation.
#[inline]
fn entry<I: Index, T: Copy>(array: &mut IdVec<I, T>, id: I, fresh: impl FnOnce() -> T) -> &mut T {
    #[cold]
    #[inline(never)]
    fn grow<I: Index, T: Copy>(array: &mut IdVec<I, T>, id: I, fresh: T) -> &mut T {
        array.resize(id.index() + 1, fresh);
        &mut array[id]
    }
    if id.index() >= array.len() { grow(array, id, fresh()) } else { &mut array[id] }
}

/// Counts jobs, misses, preemptions, migrations, response times: integers only.
///
/// ```
/// use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
/// use layland_trace::{Counters, Job, JobEnd, Recorder, Segment};
/// let ms = |ms| Time::ZERO + Duration::from_ms(ms);
/// let id = JobId { task: TaskId(0), seq: 0 };
/// let job = Job { id, arrival: ms(0), release: ms(0), deadline: ms(5) };
/// let on = |cpu, start, end| Segment { job: id, cpu, start, end, overhead: Duration::ZERO };
///
/// let mut counters = Counters::new(1, 2);
/// counters.released(&job);
/// counters.executed(&on(CpuId(0), ms(0), ms(2)));
/// counters.executed(&on(CpuId(1), ms(4), ms(6)));
/// counters.ended(&job, ms(6), JobEnd::Completed, Service::from_ms(4));
/// counters.over(ms(10), false);
///
/// let task = counters.task(TaskId(0));
/// assert_eq!((task.preemptions, task.migrations, task.missed), (1, 1, 1));
/// assert_eq!(task.shifts, 0, "it did not run from 2 to 4 ms");
/// assert_eq!(task.max_tardiness, Duration::from_ms(1));
/// assert_eq!(task.max_response, Some(Duration::from_ms(6)));
/// assert_eq!(counters.busy_ns(CpuId(1)), 2_000_000);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    jobs: TaskMap<Jobs>,
    /// Entries up to the last task that has had trouble.
    trouble: TaskMap<Trouble>,
    cpus: CpuMap<Busy>,
    /// The recent halts of jobs with steps; empty if there are no steps.
    halts: Halts,
    over: Time,
    interrupted: bool,
}

impl Counters {
    /// Creates counters with capacity for this number of tasks and CPUs. There may be more: each
    /// time that the largest number is exceeded, an allocation happens.
    pub fn new(tasks: usize, cpus: usize) -> Counters {
        Counters {
            jobs: TaskMap::filled(NO_JOBS, tasks),
            trouble: TaskMap::filled(NO_TROUBLE, 0),
            cpus: CpuMap::filled(Busy::default(), cpus),
            halts: Halts::default(),
            over: Time::ZERO,
            interrupted: false,
        }
    }

    /// The number of tasks.
    pub fn task_count(&self) -> usize {
        self.jobs.len().max(self.trouble.len())
    }

    /// The number of CPUs.
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }

    /// The counters of a task; all zero if it was never seen.
    pub fn task(&self, task: TaskId) -> TaskCounters {
        let Jobs { execution, outcome } = self.jobs.get(task).unwrap_or(&NO_JOBS);
        let trouble = self.trouble.get(task).unwrap_or(&NO_TROUBLE);
        let any_completed = outcome.completed > 0;
        TaskCounters {
            released: execution.released,
            completed: outcome.completed,
            aborted: trouble.aborted,
            left: trouble.left,
            pending: outcome.pending,
            missed: trouble.missed,
            tardy: trouble.tardy,
            max_tardiness: trouble.max_tardiness,
            sum_tardiness_ns: trouble.sum_tardiness_ns,
            overdue: trouble.overdue,
            min_response: any_completed.then_some(outcome.min_response),
            max_response: any_completed.then_some(outcome.max_response),
            sum_response_ns: outcome.sum_response_ns,
            preemptions: execution.preemptions,
            migrations: execution.migrations,
            migrations_within_jobs: execution.migrations_within_jobs,
            shifts: execution.shifts,
            executed_ns: outcome.executed_ns,
        }
    }

    /// Extrapolates the counters of a run up to `over`, as [`TaskCounters::after`] does for a task.
    #[must_use]
    pub fn after(&self, earlier: &Counters, turns: u64, over: Time) -> Counters {
        let mut longer = Counters { over, ..self.clone() };
        let more = |now: &mut u64, before: u64| *now += turns * (*now - before);
        let sum = |now: &mut i128, before: i128| *now += i128::from(turns) * (*now - before);
        for (id, Jobs { execution, outcome }) in longer.jobs.ids().zip(longer.jobs.values_mut()) {
            let before = earlier.jobs.get(id).unwrap_or(&NO_JOBS);
            let counts = before.execution;
            more(&mut execution.preemptions, counts.preemptions);
            more(&mut execution.migrations, counts.migrations);
            more(&mut execution.migrations_within_jobs, counts.migrations_within_jobs);
            more(&mut execution.shifts, counts.shifts);
            more(&mut execution.released, counts.released);
            more(&mut outcome.completed, before.outcome.completed);
            sum(&mut outcome.sum_response_ns, before.outcome.sum_response_ns);
            sum(&mut outcome.executed_ns, before.outcome.executed_ns);
        }
        for (id, trouble) in longer.trouble.ids().zip(longer.trouble.values_mut()) {
            let before = earlier.trouble.get(id).unwrap_or(&NO_TROUBLE);
            more(&mut trouble.missed, before.missed);
            more(&mut trouble.tardy, before.tardy);
            sum(&mut trouble.sum_tardiness_ns, before.sum_tardiness_ns);
            more(&mut trouble.aborted, before.aborted);
            more(&mut trouble.left, before.left);
        }
        for (id, busy) in longer.cpus.ids().zip(longer.cpus.values_mut()) {
            let before = earlier.cpus.get(id).copied().unwrap_or_default();
            sum(&mut busy.busy_ns, before.busy_ns);
            sum(&mut busy.overhead_ns, before.overhead_ns);
        }
        longer
    }

    /// The counters of all tasks: sums, and the extremes of the extremes.
    pub fn total(&self) -> TaskCounters {
        let mut total = TaskCounters::default();
        for index in 0..self.task_count() {
            total.add(&self.task(TaskId::from_index(index)));
        }
        total
    }

    /// The time for which jobs held a CPU, overheads included, in nanoseconds.
    pub fn busy_ns(&self, cpu: CpuId) -> i128 {
        self.cpus.get(cpu).map_or(0, |busy| busy.busy_ns)
    }

    /// The part of [`busy_ns`](Self::busy_ns) that was overhead, in nanoseconds.
    pub fn overhead_ns(&self, cpu: CpuId) -> i128 {
        self.cpus.get(cpu).map_or(0, |busy| busy.overhead_ns)
    }

    /// The end of the run.
    pub fn over_at(&self) -> Time {
        self.over
    }

    /// Returns true if the run ended before its horizon.
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }
}

impl Counters {
    /// Counts a job that has ended late, or without completing.
    #[inline(never)]
    fn ended_in_trouble(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        let trouble = entry(&mut self.trouble, job.id.task, || NO_TROUBLE);
        let record = JobRecord { job: *job, end: Some((at, end)), executed };
        trouble.missed += u64::from(record.missed(at));
        match end {
            JobEnd::Completed => {
                let tardiness = job.tardiness(at);
                trouble.tardy += u64::from(tardiness > Duration::ZERO);
                trouble.sum_tardiness_ns += i128::from(tardiness.ns());
                trouble.max_tardiness = trouble.max_tardiness.max(tardiness);
            }
            JobEnd::Aborted => trouble.aborted += 1,
            JobEnd::Left => trouble.left += 1,
        }
    }

    /// Counts a segment. If `by_itself` is true and the job has an earlier segment, that one ended
    /// by a step of the job.
    #[inline(always)]
    fn count(&mut self, segment: &Segment, by_itself: bool) {
        let JobId { task, seq } = segment.job;
        let cpu = segment.cpu;
        let execution = &mut entry(&mut self.jobs, task, || NO_JOBS).execution;
        let ran_before = execution.last_cpu != NO_CPU;
        let same_job = ran_before & (execution.last_seq == seq);
        let moved = ran_before & (execution.last_cpu != cpu);
        // `&` and not `&&`: the counts need no branches in the hot loop.
        execution.preemptions += u64::from(same_job & !by_itself);
        execution.migrations += u64::from(moved);
        execution.migrations_within_jobs += u64::from(same_job & moved);
        let at_once = execution.last_end == segment.start;
        execution.shifts += u64::from(same_job & moved & at_once);
        execution.last_seq = seq;
        execution.last_cpu = cpu;
        execution.last_end = segment.end;
        let busy = entry(&mut self.cpus, cpu, Busy::default);
        busy.busy_ns += i128::from((segment.end - segment.start).ns());
        busy.overhead_ns += i128::from(segment.overhead.ns());
    }

    #[cold]
    #[inline(never)]
    fn count_among_halts(&mut self, segment: Segment) {
        let before = self.jobs.get(segment.job.task).unwrap_or(&NO_JOBS).execution;
        let moves = before.last_cpu != segment.cpu;
        let by_itself = !self.halts.is_preempted(segment.job, before.last_end, moves);
        // The halts before the end of this segment are not needed any more.
        self.halts.forget(segment.job.task, segment.end);
        self.count(&segment, by_itself);
    }
}

impl Recorder for Counters {
    #[inline]
    fn released(&mut self, job: &Job) {
        entry(&mut self.jobs, job.id.task, || NO_JOBS).execution.released += 1;
    }

    // Every simulation counts segments: a function call for each, with the segment in memory, takes
    // 4 % of the run time.
    #[inline(always)]
    fn executed(&mut self, segment: &Segment) {
        if self.halts.is_empty() {
            self.count(segment, false);
        } else {
            self.count_among_halts(*segment);
        }
    }

    #[inline]
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        let outcome = &mut entry(&mut self.jobs, job.id.task, || NO_JOBS).outcome;
        outcome.executed_ns += i128::from(executed.ns());
        if end == JobEnd::Completed {
            let response = at - job.arrival;
            outcome.completed += 1;
            outcome.sum_response_ns += i128::from(response.ns());
            outcome.min_response = outcome.min_response.min(response);
            outcome.max_response = outcome.max_response.max(response);
            if at <= job.deadline {
                return;
            }
        }
        self.ended_in_trouble(job, at, end, executed);
    }

    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        let outcome = &mut entry(&mut self.jobs, job.id.task, || NO_JOBS).outcome;
        outcome.executed_ns += i128::from(executed.ns());
        outcome.pending += 1;
        let record = JobRecord { job: *job, end: None, executed };
        if record.missed(at) {
            let trouble = entry(&mut self.trouble, job.id.task, || NO_TROUBLE);
            trouble.missed += 1;
            trouble.overdue = trouble.overdue.max(job.tardiness(at));
        }
    }

    fn marked(&mut self, mark: &Mark) {
        self.halts.mark(mark);
    }

    fn over(&mut self, at: Time, interrupted: bool) {
        self.over = at;
        self.interrupted = interrupted;
    }

    fn takes_totals(&self) -> bool {
        true
    }

    fn totals(&mut self, task: TaskId, totals: &Totals) {
        let Jobs { execution, outcome } = entry(&mut self.jobs, task, || NO_JOBS);
        execution.released += totals.released;
        execution.preemptions += totals.preemptions;
        execution.migrations += totals.migrations;
        execution.migrations_within_jobs += totals.migrations_within_jobs;
        execution.shifts += totals.shifts;
        outcome.completed += totals.completed;
        outcome.executed_ns += totals.executed_ns;
        outcome.sum_response_ns += totals.sum_response_ns;
        if let Some((min, max)) = totals.responses {
            outcome.min_response = outcome.min_response.min(min);
            outcome.max_response = outcome.max_response.max(max);
        }
    }

    fn busy(&mut self, cpu: CpuId, ns: i128) {
        entry(&mut self.cpus, cpu, Busy::default).busy_ns += ns;
    }
}
