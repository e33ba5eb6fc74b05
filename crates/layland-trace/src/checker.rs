//! An independent check of a recorded run: whether its [`Trace`] can be true of its [`System`], and
//! whether it keeps what its policy promises ([`ScheduleRule`]).
//!
//! It works from the trace alone, shares no code with any engine or policy, and holds for every
//! schedule:
//!
//! 1. segments are not empty, lie inside the run, are merged and in order;
//! 2. no CPU holds two jobs at once, and no job two CPUs;
//! 3. a job only uses CPUs that its task may use and that are online;
//! 4. the jobs of a task are numbered without gaps, arrive and end in order;
//! 5. a job executes only after its release and after its predecessor's end, and until its own end;
//! 6. the work that a job is said to have got is what its segments supply: the sum of (length -
//!    overhead) * speed. On a CPU of a speed other than 1 each segment may supply less than one
//!    nanosecond's worth more, for ends of segments are rounded up to whole nanoseconds. Not checked
//!    where the speed changes within a segment that has an overhead;
//! 7. a completed job got the demand that its execution model allows (not checked for hogs, whose
//!    jobs are budgets).
//!
//! For [`ScheduleRule::HighestFirst`] it also holds at every instant, in each group of CPUs, that no
//! online CPU is idle while a job waits, and that no waiting job comes before a running one. A job is
//! ready from its release or its predecessor's end, whichever is later, until its own end. A CPU that
//! spends the time of a segment on overhead counts as running its job.
//!
//! For [`ScheduleRule::Weak`] and [`ScheduleRule::Strong`] it holds at every instant that every CPU
//! which a waiting job may use, or which is reachable from it, is online and runs a job that comes before it. A
//! finding names the CPU, and for a CPU that is only reachable who would have to move where.
//!
//! For [`ScheduleRule::Optimal`] it also holds that every segment is on a CPU of its group, and that no
//! job misses its deadline: if the machine has no overheads, no request comes, and no execution model
//! goes beyond the WCET.
//!
//! For [`ScheduleRule::MixedCriticality`] it also holds that every segment is on a CPU of its group, and
//! that a job on a guaranteed CPU misses its deadline only if a job of its criticality or above executes
//! more than its bound of that level before (`checker/mixed.rs`).
//!
//! Where requests give a task another affinity or cluster, or a cluster other CPUs, the task may use
//! whatever it may use at some time, and a highest-first rule is not checked for groups with such a task.
//! Weak and strong rules follow every such request, unless the trace says that it was refused.
//!
//! The time needed is `O(n log n)` for `n` jobs and segments; for weak and strong rules, times the number
//! of different affinities and CPUs.

use self::affinity::Reach;
use crate::{JobEnd, JobRecord, MarkKind, Segment, Trace};
use layland_model::{
    Behaviour, Change, CpuId, CpuMap, CpuSet, Duration, ExecutionModel, Group, Index, JobId,
    JobOrder, Rate, RequestKind, ScheduleRule, Service, Speed, System, Task, TaskId, TaskMap, Time,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A job with the name of its task, to be read: `control#3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobName {
    /// Which one.
    pub id: JobId,
    /// The name of its task.
    pub task: String,
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.task, self.id.seq)
    }
}

/// A place where a trace contradicts itself, its system or its rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the message of each kind")]
pub enum Violation {
    /// A task that the system does not have.
    #[error("{job} belongs to a task that does not exist")]
    UnknownTask { job: JobName },
    /// A CPU that the system does not have.
    #[error("{job} runs on CPU {cpu} at {at}, which does not exist")]
    UnknownCpu { job: JobName, cpu: CpuId, at: Time },
    /// A segment of a job that was never released.
    #[error("{job} runs on CPU {cpu} at {at}, but is not among the jobs")]
    UnknownJob { job: JobName, cpu: CpuId, at: Time },
    /// A segment without length, or that ends before it starts.
    #[error("{job} runs on CPU {cpu} from {start} to {end}, which is not a positive time")]
    EmptySegment { job: JobName, cpu: CpuId, start: Time, end: Time },
    /// A segment that is not inside the run.
    #[error("{job} runs on CPU {cpu} from {start} to {end}, outside the run from 0ns to {over}")]
    OutsideRun { job: JobName, cpu: CpuId, start: Time, end: Time, over: Time },
    /// An overhead that is negative or longer than its segment.
    #[error("{job} on CPU {cpu} at {at} has an overhead of {overhead} in {length}")]
    Overhead { job: JobName, cpu: CpuId, at: Time, overhead: Duration, length: Duration },
    /// Segments that are not in the order of their ends, then of their CPUs.
    #[error("the segment of {job} on CPU {cpu} that ends at {end} is out of order")]
    SegmentOrder { job: JobName, cpu: CpuId, end: Time },
    /// Two segments that are one.
    #[error("{job} runs on CPU {cpu} before and after {at}, in two segments instead of one")]
    NotMerged { job: JobName, cpu: CpuId, at: Time },
    /// A job on two CPUs at once, or twice on one.
    #[error("{job} runs on CPU {first} and on CPU {second} at {at}")]
    JobInParallel { job: JobName, first: CpuId, second: CpuId, at: Time },
    /// A CPU with two jobs at once.
    #[error("CPU {cpu} runs {first} and {second} at {at}")]
    CpuShared { cpu: CpuId, first: JobName, second: JobName, at: Time },
    /// A job on a CPU that its task may not use.
    #[error("{job} runs on CPU {cpu} at {at}, but may only use {allowed}")]
    Affinity { job: JobName, cpu: CpuId, at: Time, allowed: CpuSet },
    /// A job on a CPU that is offline.
    #[error("{job} runs on CPU {cpu} at {at}, which is offline")]
    Offline { job: JobName, cpu: CpuId, at: Time },
    /// A number that is missing or taken twice.
    #[error("{job} comes where number {expected} of the task is due")]
    SequenceNumber { job: JobName, expected: u64 },
    /// Times of a job, or of it and its predecessor, in the wrong order.
    #[error("{job}: {earlier} at {earlier_at} is after {later} at {later_at}")]
    JobTimes {
        job: JobName,
        earlier: Milestone,
        earlier_at: Time,
        later: Milestone,
        later_at: Time,
    },
    /// Execution before the release.
    #[error("{job} runs on CPU {cpu} at {at}, before its release at {release}")]
    BeforeRelease { job: JobName, cpu: CpuId, at: Time, release: Time },
    /// Execution before the predecessor has ended.
    #[error("{job} runs on CPU {cpu} at {at}, before its predecessor ends at {predecessor_end}")]
    BeforePredecessor { job: JobName, cpu: CpuId, at: Time, predecessor_end: Time },
    /// Execution after the end.
    #[error("{job} runs on CPU {cpu} until {at}, after its end at {end}")]
    AfterEnd { job: JobName, cpu: CpuId, at: Time, end: Time },
    /// Segments that do not supply what the job is said to have got.
    #[error("{job} got {executed}, but its segments supply {supplied_ns}ns")]
    Executed { job: JobName, executed: Service, supplied_ns: Rate },
    /// A completed job that did not get its demand.
    #[error("{job} completed at {at} with {executed}, but its execution time is {demand}")]
    Demand { job: JobName, at: Time, executed: Service, demand: String },
    /// The rule: a job on a CPU that does not serve its task.
    #[error("{job} runs on CPU {cpu} at {at}, which serves other tasks")]
    OutsideGroup { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a job is late although the policy is optimal.
    #[error("{job} misses its deadline {deadline}")]
    Late { job: JobName, deadline: Time },
    /// The rule: a job is late although nothing that matters as much exceeded its bounds.
    #[error(
        "{job} misses its deadline {deadline}, and no job of its criticality or above needed more than \
         its bound of level {level} in the busy period from {since}"
    )]
    Unexcused { job: JobName, deadline: Time, level: u8, since: Time },
    /// The rule: a CPU is idle while a job waits.
    #[error("{job} waits at {at} while CPU {cpu} is idle")]
    IdleWhileWaiting { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a job runs while one that comes before it waits.
    #[error("{waiting} waits at {at} while {running}, which comes after it, runs on CPU {cpu}")]
    Overtaken { waiting: JobName, running: JobName, cpu: CpuId, at: Time },
    /// The rule: a job waits that could run if others moved to CPUs that they may use as well.
    #[error("{waiting} waits at {at}, but could run on CPU {cpu} if {}", shifts(.moves, .displaced.as_ref()))]
    NotShifted {
        waiting: JobName,
        cpu: CpuId,
        at: Time,
        moves: Vec<Move>,
        displaced: Option<JobName>,
    },
}

/// A job that could move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub job: JobName,
    /// Where it runs.
    pub from: CpuId,
    /// Where it could run.
    pub to: CpuId,
}

/// The moves along an alternating path, and what is at its end: a job that comes last, or an idle CPU.
fn shifts(moves: &[Move], displaced: Option<&JobName>) -> String {
    let each = moves
        .iter()
        .map(|Move { job, from, to }| format!("{job} moved from CPU {from} to CPU {to}"));
    let end = displaced.map_or_else(
        || "which is idle".to_owned(),
        |job| format!("which runs {job} that comes after it"),
    );
    format!("{}, {end}", each.collect::<Vec<_>>().join(" and "))
}

/// A point in the life of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The start of the run.
    Start,
    /// The arrival of the predecessor.
    PredecessorArrival,
    /// The end of the predecessor.
    PredecessorEnd,
    /// Its arrival.
    Arrival,
    /// Its release.
    Release,
    /// Its end.
    End,
    /// The end of the run.
    Over,
}

impl fmt::Display for Milestone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Milestone::Start => "the start of the run",
            Milestone::PredecessorArrival => "the arrival of its predecessor",
            Milestone::PredecessorEnd => "the end of its predecessor",
            Milestone::Arrival => "its arrival",
            Milestone::Release => "its release",
            Milestone::End => "its end",
            Milestone::Over => "the end of the run",
        })
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Report {
    /// The first violations, grouped by kind of check.
    pub violations: Vec<Violation>,
    /// How many there are in all.
    pub count: u64,
    limit: usize,
}

impl Report {
    /// Whether there is no violation.
    pub fn is_clean(&self) -> bool {
        self.count == 0
    }

    fn add(&mut self, violation: impl FnOnce() -> Violation) {
        if self.violations.len() < self.limit {
            self.violations.push(violation());
        }
        self.count += 1;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("no violation");
        }
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} violation{plural}", self.count)?;
        for violation in &self.violations {
            write!(f, "\n  {violation}")?;
        }
        let more = self.count - self.violations.len() as u64;
        if more > 0 {
            write!(f, "\n  and {more} more")?;
        }
        Ok(())
    }
}

/// Checks a trace of a valid system against a rule and reports at most `limit` violations in full.
///
/// ```
/// use layland_model::{CpuId, Duration, JobId, ScheduleRule, Service, System, Task, TaskId, Time};
/// use layland_trace::checker::check;
/// use layland_trace::{Job, JobEnd, Recorder, Segment, Trace};
/// let system =
///     System::new(1, vec![Task::implicit("a", Service::from_ns(2), Duration::from_ns(5))]);
/// let (id, at) = (JobId { task: TaskId(0), seq: 0 }, Time::from_ns);
/// let job = Job { id, arrival: at(0), release: at(0), deadline: at(5) };
/// let mut trace = Trace::default();
/// trace.executed(&Segment {
///     job: id,
///     cpu: CpuId(0),
///     start: at(1),
///     end: at(3),
///     overhead: Duration::ZERO,
/// });
/// trace.ended(&job, at(3), JobEnd::Completed, Service::from_ns(2));
/// trace.over(at(4), false);
/// assert!(check(&trace, &system, &ScheduleRule::None, 10).is_clean());
///
/// trace.segments[0].end = at(4);
/// let report = check(&trace, &system, &ScheduleRule::None, 10);
/// assert_eq!(
///     report.to_string(),
///     "2 violations\n  \
///      a#0 runs on CPU 0 until 4ns, after its end at 3ns\n  \
///      a#0 got 2ns, but its segments supply 3ns"
/// );
/// ```
pub fn check(trace: &Trace, system: &System, rule: &ScheduleRule, limit: usize) -> Report {
    check_within(trace, system, rule, limit, Duration::ZERO)
}

/// The same for a run on a real machine, where everything takes time: what lasts no longer than this
/// latency is no violation.
///
/// With a latency above zero: (1) a CPU may be idle, and a job may be overtaken, for at most so long at
/// a time; (2) a job may get up to so much more or less than its demand and than its segments supply,
/// for each of its segments; (3) the numbers of a task's jobs may begin anywhere. Everything else is as
/// strict as ever.
///
/// ```
/// use layland_model::{Duration, ScheduleRule, System};
/// use layland_trace::Trace;
/// use layland_trace::checker::check_within;
/// let system = System::new(1, Vec::new());
/// let latency = Duration::from_us(200);
/// assert!(check_within(&Trace::default(), &system, &ScheduleRule::None, 10, latency).is_clean());
/// ```
pub fn check_within(
    trace: &Trace,
    system: &System,
    rule: &ScheduleRule,
    limit: usize,
    latency: Duration,
) -> Report {
    let mut checker = Checker::new(trace, system, limit);
    checker.latency = latency.max(Duration::ZERO);
    if checker.latency > Duration::ZERO {
        for segment in &trace.segments {
            *checker.segment_counts.entry(segment.job).or_insert(0) += 1;
        }
    }
    checker.check_jobs();
    checker.check_segments();
    checker.check_cpus();
    checker.check_jobs_against_segments();
    match rule {
        ScheduleRule::None => {}
        ScheduleRule::HighestFirst { groups, order } => checker.check_highest_first(groups, order),
        ScheduleRule::Optimal { groups } => checker.check_optimal(groups),
        ScheduleRule::MixedCriticality { groups, guaranteed } => {
            checker.check_mixed_criticality(groups, guaranteed);
        }
        ScheduleRule::Weak { order } => checker.check_affinities(order, Reach::Weak),
        ScheduleRule::Strong { order } => checker.check_affinities(order, Reach::Strong),
    }
    checker.report
}

/// Whether no job of a task can need more than its WCET.
fn stays_within_wcet(task: &Task) -> bool {
    let wcet = task.own_wcet();
    match &task.execution {
        ExecutionModel::Wcet => true,
        ExecutionModel::Level(level) => task.wcet.get(level.level()).is_some_and(|&c| c <= wcet),
        ExecutionModel::Fraction(fraction) => *fraction <= Rate::ONE,
        ExecutionModel::Uniform { max, .. } => *max <= wcet,
        ExecutionModel::Discrete(values) => values.iter().all(|&(work, _)| work <= wcet),
        ExecutionModel::List(values) => values.iter().all(|&work| work <= wcet),
    }
}

/// A segment with a known job and CPU and a positive length inside the run.
#[derive(Clone, Copy)]
struct Sound {
    /// Index of the job in `Trace::jobs`.
    job: usize,
    cpu: CpuId,
    start: Time,
    end: Time,
    overhead: Duration,
}

struct Checker<'a> {
    trace: &'a Trace,
    system: &'a System,
    report: Report,
    /// Indices into `Trace::jobs`, by job identifier.
    by_id: Vec<usize>,
    /// From when on each job can run, in the order of `Trace::jobs`: its release or the end of its
    /// predecessor, whichever is later; and that end.
    ready: Vec<(Time, Option<Time>)>,
    /// In the order of the trace.
    sound: Vec<Sound>,
    /// The times at which each CPU changes between online (at first) and offline.
    switches: CpuMap<Vec<Time>>,
    /// Tasks whose CPUs change.
    is_changing: TaskMap<bool>,
    allowed: TaskMap<CpuSet>,
    /// What lasts no longer is no violation.
    latency: Duration,
    /// By job; only with a latency.
    segment_counts: BTreeMap<JobId, i64>,
}

impl<'a> Checker<'a> {
    fn new(trace: &'a Trace, system: &'a System, limit: usize) -> Self {
        let mut by_id: Vec<usize> = (0..trace.jobs.len()).collect();
        by_id.sort_by_key(|&index| (trace.jobs[index].job.id, index));
        let mut switches: CpuMap<Vec<Time>> =
            CpuMap::filled(Vec::new(), system.platform.cpu_count());
        for mark in &trace.marks {
            let (cpu, goes_offline) = match mark.kind {
                MarkKind::CpuOnline(cpu) => (cpu, false),
                MarkKind::CpuOffline(cpu) => (cpu, true),
                MarkKind::BudgetExhausted(..)
                | MarkKind::Speed(..)
                | MarkKind::Moved { .. }
                | MarkKind::Throttled(_)
                | MarkKind::Replenished { .. }
                | MarkKind::Indicator(..)
                | MarkKind::Unlisted(_) => continue,
            };
            if let Some(switches) = switches.get_mut(cpu)
                && switches.len().is_multiple_of(2) == goes_offline
            {
                // There and back within one instant is no change.
                match switches.pop_if(|last| *last == mark.at) {
                    Some(_) => {}
                    None => switches.push(mark.at),
                }
            }
        }
        let (allowed, is_changing) = allowed_at_some_time(system);
        Checker {
            trace,
            system,
            report: Report { limit, ..Report::default() },
            by_id,
            ready: vec![(Time::ZERO, None); trace.jobs.len()],
            sound: Vec::with_capacity(trace.segments.len()),
            switches,
            is_changing,
            allowed,
            latency: Duration::ZERO,
            segment_counts: BTreeMap::new(),
        }
    }

    fn name(&self, id: JobId) -> JobName {
        let known = self.system.tasks.get(id.task).map(|task| task.name.clone());
        JobName { id, task: known.unwrap_or_else(|| format!("task {}", id.task)) }
    }

    fn name_at(&self, index: usize) -> JobName {
        self.name(self.trace.jobs[index].job.id)
    }

    /// Adds a violation; its text is only made if it is kept.
    fn violated(&mut self, violation: impl FnOnce(&Self) -> Violation) {
        let mut report = std::mem::take(&mut self.report);
        report.add(|| violation(self));
        self.report = report;
    }

    fn find(&self, id: JobId) -> Option<usize> {
        let jobs = &self.trace.jobs;
        let at = self.by_id.partition_point(|&index| jobs[index].job.id < id);
        self.by_id.get(at).copied().filter(|&index| jobs[index].job.id == id)
    }

    /// Items 4 and 7, and from when on each job can run.
    fn check_jobs(&mut self) {
        let trace = self.trace;
        let by_id = std::mem::take(&mut self.by_id);
        let mut previous: Option<&JobRecord> = None;
        for &index in &by_id {
            let record = &trace.jobs[index];
            let job = &record.job;
            let predecessor = previous.filter(|previous| previous.job.id.task == job.id.task);
            previous = Some(record);
            let expected = predecessor.map_or(0, |previous| previous.job.id.seq.saturating_add(1));
            let is_first_of_a_part = predecessor.is_none() && self.latency > Duration::ZERO;
            if job.id.seq != expected && !is_first_of_a_part {
                self.violated(|this| Violation::SequenceNumber {
                    job: this.name(job.id),
                    expected,
                });
            }
            let end_of = |record: &JobRecord| record.end.map_or(trace.over, |(at, _)| at);
            let predecessor_end = predecessor.map(end_of);
            self.ready[index] =
                (predecessor_end.map_or(job.release, |end| end.max(job.release)), predecessor_end);
            let end = end_of(record);
            use Milestone::{
                Arrival, End, Over, PredecessorArrival, PredecessorEnd, Release, Start,
            };
            let order = [
                Some((Start, Time::ZERO, Arrival, job.arrival)),
                predecessor.map(|previous| {
                    (PredecessorArrival, previous.job.arrival, Arrival, job.arrival)
                }),
                Some((Arrival, job.arrival, Release, job.release)),
                Some((Release, job.release, End, end)),
                predecessor_end.map(|predecessor_end| (PredecessorEnd, predecessor_end, End, end)),
                Some((End, end, Over, trace.over)),
            ];
            for (earlier, earlier_at, later, later_at) in order.into_iter().flatten() {
                if earlier_at > later_at {
                    self.violated(|this| Violation::JobTimes {
                        job: this.name(job.id),
                        earlier,
                        earlier_at,
                        later,
                        later_at,
                    });
                }
            }
            match self.system.tasks.get(job.id.task) {
                None => {
                    self.violated(|this| Violation::UnknownTask { job: this.name(job.id) });
                }
                Some(task) => self.check_demand(task, record),
            }
        }
        self.by_id = by_id;
    }

    fn check_demand(&mut self, task: &Task, record: &JobRecord) {
        let id = record.job.id;
        let at = match record.end {
            Some((at, JobEnd::Completed)) => at,
            Some((_, JobEnd::Aborted | JobEnd::Left)) | None => return,
        };
        match task.behaviour {
            Behaviour::Hog => return,
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => {}
        }
        let own = std::iter::once(task.own_wcet());
        let requested = self.system.requests.iter().filter_map(|request| match &request.kind {
            RequestKind::Reconfigure(of, Change::Parameters { wcet, .. }) => {
                (*of == id.task).then_some(*wcet)
            }
            RequestKind::Reconfigure(_, Change::Affinity(_) | Change::Cluster(_))
            | RequestKind::Leave(_)
            | RequestKind::SetClusterCpus { .. }
            | RequestKind::CpuOnline(_)
            | RequestKind::CpuOffline(_) => None,
        });
        let wcets: Vec<Service> = own.chain(requested).collect();
        let slack = self.slack_of(id);
        let near = |value: &Service| (record.executed - *value).ns().abs() <= slack;
        let one_of = |values: Vec<Service>| {
            let text = values.iter().map(Service::to_string).collect::<Vec<_>>().join(" or ");
            (values.iter().any(near), text)
        };
        let (is_right, demand) = match &task.execution {
            ExecutionModel::Wcet => one_of(wcets),
            ExecutionModel::Level(level) => {
                let of_level = task.wcet.get(level.level()).copied();
                one_of(of_level.into_iter().chain(wcets.into_iter().skip(1)).collect())
            }
            ExecutionModel::Fraction(fraction) => {
                let scaled = wcets.iter().filter_map(|wcet| {
                    let exact = &Rate::whole(wcet.ns()) * fraction;
                    exact.ceil().map(|ns| Service::from_ns(ns.max(1)))
                });
                one_of(scaled.collect())
            }
            ExecutionModel::Uniform { min, max } => {
                let executed = record.executed.ns();
                let is_within = min.ns() - slack <= executed && executed <= max.ns() + slack;
                (is_within, format!("{min} to {max}"))
            }
            ExecutionModel::Discrete(values) => {
                one_of(values.iter().map(|&(value, _)| value).collect())
            }
            ExecutionModel::List(values) => {
                let position = usize::try_from(id.seq % values.len().max(1) as u64);
                one_of(position.ok().and_then(|at| values.get(at)).copied().into_iter().collect())
            }
        };
        if !is_right {
            let executed = record.executed;
            self.violated(|this| Violation::Demand { job: this.name(id), at, executed, demand });
        }
    }

    /// How many nanoseconds a job may be off: the latency for each of its segments.
    fn slack_of(&self, id: JobId) -> i64 {
        let count = self.segment_counts.get(&id).copied().unwrap_or(1);
        self.latency.ns().saturating_mul(count)
    }

    /// Items 1, 3 and 5.
    fn check_segments(&mut self) {
        let trace = self.trace;
        for pair in trace.segments.windows(2) {
            if (pair[0].end, pair[0].cpu) > (pair[1].end, pair[1].cpu) {
                let Segment { job, cpu, end, .. } = pair[1];
                self.violated(|this| Violation::SegmentOrder { job: this.name(job), cpu, end });
            }
        }
        for &Segment { job: id, cpu, start, end, overhead } in &trace.segments {
            if end <= start {
                self.violated(|this| Violation::EmptySegment {
                    job: this.name(id),
                    cpu,
                    start,
                    end,
                });
                continue;
            }
            if start < Time::ZERO || end > trace.over {
                let over = trace.over;
                self.violated(|this| {
                    let job = this.name(id);
                    Violation::OutsideRun { job, cpu, start, end, over }
                });
                continue;
            }
            let length = end - start;
            if overhead < Duration::ZERO || overhead > length {
                self.violated(|this| {
                    let job = this.name(id);
                    Violation::Overhead { job, cpu, at: start, overhead, length }
                });
            }
            let Some(job) = self.find(id) else {
                self.violated(|this| Violation::UnknownJob { job: this.name(id), cpu, at: start });
                continue;
            };
            let Some(switches) = self.switches.get(cpu) else {
                self.violated(|this| Violation::UnknownCpu { job: this.name(id), cpu, at: start });
                continue;
            };
            // Offline from every switch with an even index to the next one.
            let before = switches.partition_point(|&at| at <= start);
            let offline_at = if before.is_multiple_of(2) {
                switches.get(before).copied().filter(|&at| at < end)
            } else {
                Some(start)
            };
            if let Some(at) = offline_at {
                self.violated(|this| Violation::Offline { job: this.name(id), cpu, at });
            }
            if self.allowed.get(id.task).is_some_and(|allowed| !allowed.contains(cpu)) {
                self.violated(|this| Violation::Affinity {
                    job: this.name(id),
                    cpu,
                    at: start,
                    allowed: this.allowed[id.task].clone(),
                });
            }
            self.check_life(job, cpu, start, end);
            self.sound.push(Sound { job, cpu, start, end, overhead });
        }
    }

    fn check_life(&mut self, index: usize, cpu: CpuId, start: Time, end: Time) {
        let record = &self.trace.jobs[index];
        let release = record.job.release;
        if start < release {
            self.violated(|this| Violation::BeforeRelease {
                job: this.name_at(index),
                cpu,
                at: start,
                release,
            });
        }
        if let (_, Some(predecessor_end)) = self.ready[index]
            && start < predecessor_end
        {
            self.violated(|this| Violation::BeforePredecessor {
                job: this.name_at(index),
                cpu,
                at: start,
                predecessor_end,
            });
        }
        if let Some((job_end, _)) = record.end
            && end > job_end
        {
            self.violated(|this| Violation::AfterEnd {
                job: this.name_at(index),
                cpu,
                at: end,
                end: job_end,
            });
        }
    }

    /// Item 2 for CPUs.
    fn check_cpus(&mut self) {
        let mut by_cpu = self.sound.clone();
        by_cpu.sort_by_key(|segment| (segment.cpu, segment.start, segment.end));
        let mut latest: Option<Sound> = None;
        for segment in by_cpu {
            let same_cpu = latest.filter(|latest| latest.cpu == segment.cpu);
            if let Some(other) = same_cpu
                && other.end > segment.start
                && other.job != segment.job
            {
                self.violated(|this| Violation::CpuShared {
                    cpu: segment.cpu,
                    first: this.name_at(other.job),
                    second: this.name_at(segment.job),
                    at: segment.start,
                });
            }
            // Whichever ends later is what the next one may overlap.
            latest = Some(match same_cpu {
                Some(other) if other.end > segment.end => other,
                Some(_) | None => segment,
            });
        }
    }

    /// Item 2 for jobs, the rest of item 1, and item 6.
    fn check_jobs_against_segments(&mut self) {
        let mut by_job = self.sound.clone();
        by_job.sort_by_key(|segment| (segment.job, segment.start, segment.end));
        // When the speed of each CPU changes, if it does.
        let mut speeds: CpuMap<Vec<(Time, Speed)>> = self
            .system
            .platform
            .speeds
            .values()
            .map(|&speed| vec![(Time::from_ns(i64::MIN), speed)])
            .collect();
        for mark in &self.trace.marks {
            if let MarkKind::Speed(cpu, speed) = mark.kind
                && let Some(speeds) = speeds.get_mut(cpu)
            {
                speeds.push((mark.at, speed));
            }
        }
        let every = speeds.values().flatten().map(|(_, speed)| speed);
        let common = every.fold(1i128, |common, speed| {
            let denominator = i128::from(speed.denominator());
            common / gcd(common, denominator) * denominator
        });
        let mut rest = by_job.as_slice();
        for index in 0..self.trace.jobs.len() {
            let count = rest.iter().take_while(|segment| segment.job == index).count();
            let (segments, others) = rest.split_at(count);
            rest = others;
            let mut latest: Option<Sound> = None;
            // In units of 1 / `common` nanoseconds of work.
            let (mut supplied, mut slack, mut is_vague) = (0i128, 0i128, false);
            for &segment in segments {
                if let Some(other) = latest {
                    if other.end > segment.start {
                        self.violated(|this| Violation::JobInParallel {
                            job: this.name_at(index),
                            first: other.cpu,
                            second: segment.cpu,
                            at: segment.start,
                        });
                    } else if other.end == segment.start && other.cpu == segment.cpu {
                        self.violated(|this| Violation::NotMerged {
                            job: this.name_at(index),
                            cpu: segment.cpu,
                            at: segment.start,
                        });
                    }
                }
                let speeds = &speeds[segment.cpu];
                let per_ns = |speed: Speed| {
                    i128::from(speed.numerator()) * (common / i128::from(speed.denominator()))
                };
                let first = speeds.partition_point(|&(at, _)| at <= segment.start) - 1;
                for (at, &(from, speed)) in speeds.iter().enumerate().skip(first) {
                    if from >= segment.end {
                        break;
                    }
                    let until = speeds.get(at + 1).map_or(segment.end, |&(next, _)| next);
                    let (from, until) = (from.max(segment.start), until.min(segment.end));
                    // Which part of a segment was spent on overheads is not recorded.
                    is_vague |= until < segment.end && segment.overhead > Duration::ZERO;
                    let overhead = if at == first { segment.overhead.ns() } else { 0 };
                    let length = (until - from).ns();
                    supplied += (i128::from(length) - i128::from(overhead)) * per_ns(speed);
                    slack += if speed == Speed::UNIT { 0 } else { per_ns(speed).max(common) };
                }
                latest = Some(match latest {
                    Some(other) if other.end > segment.end => other,
                    Some(_) | None => segment,
                });
            }
            let executed = self.trace.jobs[index].executed;
            let surplus = supplied - i128::from(executed.ns()) * common;
            let latency = i128::from(self.latency.ns()) * segments.len().max(1) as i128 * common;
            let is_near = latency > 0 && surplus.abs() <= latency;
            if !is_vague && surplus != 0 && !is_near && !(0..slack).contains(&surplus) {
                self.violated(|this| Violation::Executed {
                    job: this.name_at(index),
                    executed,
                    supplied_ns: rate(supplied, common),
                });
            }
        }
    }

    // --- ScheduleRule::Optimal ----------------------------------------------------------------

    fn check_optimal(&mut self, groups: &[Group]) {
        self.check_served(groups);
        let is_ideal = self.system.platform.overheads.is_zero() && self.system.requests.is_empty();
        if !is_ideal || !self.system.tasks.values().all(stays_within_wcet) {
            return;
        }
        for (index, record) in self.trace.jobs.iter().enumerate() {
            if record.missed(self.trace.over) {
                let deadline = record.job.deadline;
                self.violated(|this| Violation::Late { job: this.name_at(index), deadline });
            }
        }
    }

    /// Whether every segment is on a CPU that serves its task.
    fn check_served(&mut self, groups: &[Group]) {
        let serves = |cpu: CpuId, task: TaskId| {
            groups.iter().any(|group| group.cpus.contains(cpu) && group.tasks.contains(&task))
        };
        for segment in std::mem::take(&mut self.sound) {
            if !serves(segment.cpu, self.trace.jobs[segment.job].job.id.task) {
                self.violated(|this| Violation::OutsideGroup {
                    job: this.name_at(segment.job),
                    cpu: segment.cpu,
                    at: segment.start,
                });
            }
        }
    }

    /// The rule, group by group: a sweep over the instants at which something changes.
    fn check_highest_first(&mut self, groups: &[Group], order: &JobOrder) {
        let cpu_count = self.system.platform.cpu_count();
        let mut group_of_task: TaskMap<Option<usize>> =
            TaskMap::filled(None, self.system.tasks.len());
        let mut group_of_cpu: CpuMap<Option<usize>> = CpuMap::filled(None, cpu_count);
        for (index, group) in groups.iter().enumerate() {
            let is_changing = |&task: &TaskId| self.is_changing.get(task) == Some(&true);
            if group.tasks.iter().any(is_changing) {
                continue;
            }
            for &task in &group.tasks {
                group_of_task.get_mut(task).into_iter().for_each(|of| *of = Some(index));
            }
            for cpu in group.cpus.iter() {
                group_of_cpu.get_mut(cpu).into_iter().for_each(|of| *of = Some(index));
            }
        }
        let mut edges: Vec<Vec<(Time, Edge)>> = vec![Vec::new(); groups.len()];
        for (index, record) in self.trace.jobs.iter().enumerate() {
            let Some(&Some(group)) = group_of_task.get(record.job.id.task) else { continue };
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            let (from, _) = self.ready[index];
            if from < end {
                edges[group].push((from, Edge::Ready(index)));
                edges[group].push((end, Edge::Done(index)));
            }
        }
        for segment in std::mem::take(&mut self.sound) {
            let task = self.trace.jobs[segment.job].job.id.task;
            let group = group_of_task.get(task).copied().flatten();
            if group_of_cpu[segment.cpu] != group {
                if group.is_some() {
                    self.violated(|this| Violation::OutsideGroup {
                        job: this.name_at(segment.job),
                        cpu: segment.cpu,
                        at: segment.start,
                    });
                }
                // The CPU is busy all the same.
                if let Some(of_cpu) = group_of_cpu[segment.cpu] {
                    edges[of_cpu].push((segment.start, Edge::Busy(segment.cpu)));
                    edges[of_cpu].push((segment.end, Edge::Free(segment.cpu)));
                }
            }
            if let Some(group) = group {
                edges[group].push((segment.start, Edge::Start(segment.job, segment.cpu)));
                edges[group].push((segment.end, Edge::Stop(segment.job, segment.cpu)));
            }
        }
        for (cpu, switches) in self.switches.iter() {
            let Some(group) = group_of_cpu[cpu] else { continue };
            edges[group].extend(switches.iter().enumerate().map(|(index, &at)| {
                (at, if index.is_multiple_of(2) { Edge::Offline(cpu) } else { Edge::Online(cpu) })
            }));
        }
        let keys: Vec<Key> = self.keys(order);
        for (group, mut edges) in groups.iter().zip(edges) {
            // Stable: edges of one instant are all applied before the state is looked at.
            edges.sort_by_key(|&(at, _)| at);
            self.sweep(&group.cpus, &edges, &keys);
        }
    }

    fn keys(&self, order: &JobOrder) -> Vec<Key> {
        let key = |(index, record): (usize, &JobRecord)| {
            let task = record.job.id.task;
            let first = match order {
                JobOrder::Deadline => record.job.deadline.ns(),
                JobOrder::Fixed(priorities) => priorities.get(task).copied().unwrap_or(i64::MAX),
            };
            let rank = self.system.tasks.get(task).map_or(i64::MAX, |task| task.rank);
            (first, rank, task, index)
        };
        self.trace.jobs.iter().enumerate().map(key).collect()
    }

    fn sweep(&mut self, cpus: &CpuSet, edges: &[(Time, Edge)], keys: &[Key]) {
        let cpu_count = self.system.platform.cpu_count();
        let mut state = Sweep {
            is_ready: BTreeSet::new(),
            on: BTreeSet::new(),
            waiting: BTreeSet::new(),
            running: BTreeSet::new(),
            holders: CpuMap::filled(0, cpu_count),
            free: cpus.iter().filter(|cpu| cpu.index() < cpu_count).collect(),
            offline: CpuSet::new(),
        };
        let mut idle_since = Since::default();
        let mut overtaken_since = Since::default();
        let mut edges = edges.iter().peekable();
        while let Some(&(now, edge)) = edges.next() {
            state.apply(edge, cpus, keys);
            while let Some(&(_, edge)) = edges.next_if(|&&(at, _)| at == now) {
                state.apply(edge, cpus, keys);
            }
            if now >= self.trace.over {
                break;
            }
            let until = edges.peek().map_or(self.trace.over, |&&(at, _)| at.min(self.trace.over));
            let Some(&first_waiting) = state.waiting.first() else {
                (idle_since, overtaken_since) = (Since::default(), Since::default());
                continue;
            };
            let waiting = first_waiting.3;
            let idle = state.free.iter().copied().find(|&cpu| !state.offline.contains(cpu));
            let idle = idle.map(|cpu| (waiting, cpu));
            // The same finding is not reported again for as long as it lasts.
            if let Some(((waiting, cpu), at)) = idle_since.lasts(idle, now, until, self.latency) {
                self.violated(|this| Violation::IdleWhileWaiting {
                    job: this.name_at(waiting),
                    cpu,
                    at,
                });
            }
            let last_running = state.running.last().filter(|&&last| first_waiting < last);
            let overtaken = last_running.map(|last| (waiting, last.3));
            if let Some(((waiting, running), at)) =
                overtaken_since.lasts(overtaken, now, until, self.latency)
            {
                let cpu = state.cpu_of(running);
                self.violated(|this| Violation::Overtaken {
                    waiting: this.name_at(waiting),
                    running: this.name_at(running),
                    cpu,
                    at,
                });
            }
        }
    }
}

/// Since when something has been wrong for one job, and whether that was reported.
struct Since<T> {
    what: Option<(usize, T)>,
    at: Time,
    is_reported: bool,
}

impl<T> Default for Since<T> {
    fn default() -> Self {
        Since { what: None, at: Time::ZERO, is_reported: false }
    }
}

impl<T: Copy + PartialEq> Since<T> {
    /// What to report, and since when it has been so, if this has been and will be wrong for longer
    /// than the latency. The job that waits tells one finding from the next; without a latency, the
    /// other one does too.
    fn lasts(
        &mut self,
        what: Option<(usize, T)>,
        now: Time,
        until: Time,
        latency: Duration,
    ) -> Option<((usize, T), Time)> {
        let is_same = match (self.what, what) {
            (Some(old), Some(new)) if latency > Duration::ZERO => old.0 == new.0,
            (old, new) => old == new,
        };
        if !is_same {
            *self = Since { what, at: now, is_reported: false };
        }
        self.what = what;
        let what = what?;
        let is_long = latency == Duration::ZERO || until - self.at > latency;
        if self.is_reported || !is_long {
            return None;
        }
        self.is_reported = true;
        Some((what, self.at))
    }
}

/// Deadline or fixed priority, rank, task, and the index of the job.
type Key = (i64, i64, TaskId, usize);

/// What changes at an instant. Jobs are indices into `Trace::jobs`.
#[derive(Clone, Copy)]
enum Edge {
    Ready(usize),
    Done(usize),
    Start(usize, CpuId),
    Stop(usize, CpuId),
    /// A job of another group starts.
    Busy(CpuId),
    /// A job of another group stops.
    Free(CpuId),
    Online(CpuId),
    Offline(CpuId),
}

/// What holds between two instants, even in a trace that has more than one job on a CPU.
struct Sweep {
    is_ready: BTreeSet<usize>,
    /// Which job is on which CPU.
    on: BTreeSet<(usize, CpuId)>,
    /// Ready and on no CPU.
    waiting: BTreeSet<Key>,
    /// On a CPU.
    running: BTreeSet<Key>,
    /// How many jobs are on each CPU.
    holders: CpuMap<i64>,
    /// The CPUs of the group that no job is on.
    free: BTreeSet<CpuId>,
    offline: CpuSet,
}

impl Sweep {
    fn apply(&mut self, edge: Edge, cpus: &CpuSet, keys: &[Key]) {
        match edge {
            Edge::Ready(job) => {
                self.is_ready.insert(job);
                self.place(keys[job]);
            }
            Edge::Done(job) => {
                self.is_ready.remove(&job);
                self.place(keys[job]);
            }
            Edge::Start(job, cpu) => {
                self.on.insert((job, cpu));
                self.place(keys[job]);
                self.hold(cpu, 1, cpus);
            }
            Edge::Stop(job, cpu) => {
                self.on.remove(&(job, cpu));
                self.place(keys[job]);
                self.hold(cpu, -1, cpus);
            }
            Edge::Busy(cpu) => self.hold(cpu, 1, cpus),
            Edge::Free(cpu) => self.hold(cpu, -1, cpus),
            Edge::Online(cpu) => {
                self.offline.remove(cpu);
            }
            Edge::Offline(cpu) => {
                self.offline.insert(cpu);
            }
        }
    }

    fn place(&mut self, key: Key) {
        let job = key.3;
        let is_running = self.on.range((job, CpuId(0))..=(job, CpuId(u32::MAX))).next().is_some();
        let is_waiting = self.is_ready.contains(&job) && !is_running;
        for (set, belongs) in [(&mut self.running, is_running), (&mut self.waiting, is_waiting)] {
            if belongs {
                set.insert(key);
            } else {
                set.remove(&key);
            }
        }
    }

    fn hold(&mut self, cpu: CpuId, change: i64, cpus: &CpuSet) {
        self.holders[cpu] += change;
        // Between the edges of one instant a count may be off by one in either direction.
        if self.holders[cpu] > 0 {
            self.free.remove(&cpu);
        } else if cpus.contains(cpu) {
            self.free.insert(cpu);
        }
    }

    fn cpu_of(&self, job: usize) -> CpuId {
        let mut on = self.on.range((job, CpuId(0))..=(job, CpuId(u32::MAX)));
        on.next().map_or(CpuId(0), |&(_, cpu)| cpu)
    }
}

/// The CPUs that each task may use at some time, and whether they change.
fn allowed_at_some_time(system: &System) -> (TaskMap<CpuSet>, TaskMap<bool>) {
    let mut allowed: TaskMap<CpuSet> =
        system.tasks.ids().map(|task| system.allowed_cpus(task)).collect();
    let mut is_changing = TaskMap::filled(false, system.tasks.len());
    // Which clusters each task is in at some time, and which CPUs each cluster has.
    let mut clusters: TaskMap<Vec<usize>> =
        system.tasks.values().map(|task| vec![task.cluster]).collect();
    let mut cluster_cpus = system.platform.clusters.clone();
    let mut is_cluster_changing = vec![false; cluster_cpus.len()];
    for request in &system.requests {
        match &request.kind {
            RequestKind::Reconfigure(task, change) => {
                let task = *task;
                if task.index() >= allowed.len() {
                    continue;
                }
                match change {
                    Change::Affinity(cpus) => {
                        allowed[task] = allowed[task].union(cpus);
                        is_changing[task] = true;
                    }
                    Change::Cluster(cluster) => {
                        clusters[task].push(*cluster);
                        is_changing[task] = true;
                    }
                    Change::Parameters { .. } => {}
                }
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                if let Some(of_cluster) = cluster_cpus.get_mut(*cluster) {
                    *of_cluster = of_cluster.union(cpus);
                    is_cluster_changing[*cluster] = true;
                }
            }
            RequestKind::Leave(_) | RequestKind::CpuOnline(_) | RequestKind::CpuOffline(_) => {}
        }
    }
    for task in system.tasks.ids() {
        let moved = clusters[task].len() > 1;
        let resized = clusters[task].iter().any(|&c| is_cluster_changing.get(c) == Some(&true));
        is_changing[task] |= resized;
        if moved || resized {
            for cpus in clusters[task].iter().filter_map(|&cluster| cluster_cpus.get(cluster)) {
                allowed[task] = allowed[task].union(cpus);
            }
        }
    }
    (allowed, is_changing)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `numerator / denominator`; the nearest whole number where that does not fit.
fn rate(numerator: i128, denominator: i128) -> Rate {
    let divisor = gcd(numerator.abs(), denominator).max(1);
    let pair = (i64::try_from(numerator / divisor), i64::try_from(denominator / divisor));
    match pair {
        (Ok(numerator), Ok(denominator)) => Rate::new(numerator, denominator),
        _ => Rate::whole(i64::try_from(numerator / denominator).unwrap_or(i64::MAX)),
    }
}

mod affinity;
mod mixed;

#[cfg(test)]
mod tests;
