//! The findings of a check, as types and in words.

use layland_model::{CpuId, CpuSet, Duration, JobId, Rate, Service, Time, counted};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// The maximum number of missing jobs counted for one task, because a trace can claim any length.
pub(crate) const MOST_MISSING: u64 = 20_000;

/// A readable job name with the name of the task: `control#3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobName {
    /// The identifier of the job.
    pub id: JobId,
    /// The name of its task.
    pub task: String,
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.task, self.id.number())
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
    /// Two segments that should be one.
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
    /// A number that is missing or used twice.
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
    /// Execution before the jobs that it follows have completed; [`Time::NEVER`], if one does not.
    #[error("{job} runs on CPU {cpu} at {at}, before the jobs that it follows have completed{}", followed(*end))]
    BeforeFollowed { job: JobName, cpu: CpuId, at: Time, end: Time },
    /// Execution after the end.
    #[error("{job} runs on CPU {cpu} until {at}, after its end at {end}")]
    AfterEnd { job: JobName, cpu: CpuId, at: Time, end: Time },
    /// Completion without a CPU.
    #[error("{job} completes at {at}, and runs last on CPU {cpu} until {until}")]
    EndsLater { job: JobName, at: Time, cpu: CpuId, until: Time },
    /// Segments whose supply differs from the recorded execution of the job.
    #[error("{job} got {executed}, but its segments supply {supplied_ns}ns")]
    Executed { job: JobName, executed: Service, supplied_ns: Rate },
    /// A completed job that did not get its demand.
    #[error("{job} completed at {at} with {executed}, but its execution time is {demand}")]
    Demand { job: JobName, at: Time, executed: Service, demand: String },
    /// A job that has not ended, although it has all the execution that it can need, or more.
    #[error("{job} is not complete with {executed}, but its execution time is {demand}")]
    Unfinished { job: JobName, executed: Service, demand: String },
    /// A job that got more than the set allows.
    #[error("{job} executes for {executed}, and the set allows {bound}")]
    Exceeded { job: JobName, executed: Service, bound: Service },
    /// The set: wrong arrival.
    #[error("{job} arrives at {at}, and by the set {}", window(*earliest, *latest))]
    Arrival { job: JobName, at: Time, earliest: Time, latest: Option<Time> },
    /// The set: wrong release.
    #[error("{job} can run from {at} on, and by the set {}", window(*earliest, *latest))]
    Release { job: JobName, at: Time, earliest: Time, latest: Option<Time> },
    /// The set: wrong deadline.
    #[error("{job} has the deadline {deadline}, and by the set it is {said}")]
    Deadline { job: JobName, deadline: Time, said: Time },
    /// The set: surplus job.
    #[error("{job} is there, and the set has {} of its task", counted(*most, "job"))]
    Surplus { job: JobName, most: u64 },
    /// The set: jobs that should have arrived.
    #[error("{job} is missing: by the set it arrives at {at}{}", and_more(*more))]
    Missing { job: JobName, at: Time, more: u64 },
    /// The set: a job of a task that has left.
    #[error("{job} arrives at {at}, and its task leaves at {left}")]
    AfterLeave { job: JobName, at: Time, left: Time },
    /// The set: a job ended because its task left, but the task does not leave.
    #[error("{job} is left behind at {at}, and by the set its task does not leave")]
    LeftUnasked { job: JobName, at: Time },
    /// The set: a CPU goes on- or offline without a request.
    #[error("CPU {cpu} goes {} at {at}, and the set has no such request", if *goes_offline { "offline" } else { "online" })]
    Unasked { cpu: CpuId, at: Time, goes_offline: bool },
    /// The rule: the speed of a CPU changes.
    #[error("CPU {cpu} gets another speed at {at}, and the policy changes none")]
    Speed { cpu: CpuId, at: Time },
    /// The rule: a policy that lets every job complete aborts one.
    #[error("{job} is aborted at {at}, and the policy aborts nothing")]
    Aborted { job: JobName, at: Time },
    /// The set: a job is aborted before its deadline.
    #[error("{job} is aborted at {at}, before its deadline {deadline}")]
    GivenUpEarly { job: JobName, at: Time, deadline: Time },
    /// The set: a late job runs on although its task aborts late jobs.
    #[error("{job} runs on after its deadline {deadline}, at which its task aborts late jobs")]
    RunsOn { job: JobName, deadline: Time },
    /// The rule: a job on a CPU that does not serve its task.
    #[error("{job} runs on CPU {cpu} at {at}, which serves other tasks")]
    OutsideGroup { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a job is late although the policy is optimal.
    #[error("{job} misses its deadline {deadline}")]
    Late { job: JobName, deadline: Time },
    /// The rule: a job begins or stops running within a slot.
    #[error("{job} {does} running on CPU {cpu} at {at}, within a slot")]
    WithinSlot { job: JobName, cpu: CpuId, at: Time, does: &'static str },
    /// The rule: a subtask does not run in its window.
    #[error("{job}: slot {subtask} of it is to lie from {first} to {end}, and {}", given(*.at))]
    OutsideWindow { job: JobName, subtask: u64, at: Option<Time>, first: Time, end: Time },
    /// The rule: a job does not get its share.
    #[error("{job} gets {got} from {from} to {to}, and its share is {share}")]
    OtherShare { job: JobName, from: Time, to: Time, got: Duration, share: Duration },
    /// The rule: a job runs although the allotments let it wait.
    #[error("{job} runs at {at}, where the allotments let it wait")]
    NotAllotted { job: JobName, at: Time },
    /// The rule: a job waits although the allotments let it run.
    #[error("{job} does not run at {at}, where the allotments let it run")]
    AllottedButWaits { job: JobName, at: Time },
    /// The rule: the pieces of a task are invalid.
    #[error("the pieces of `{task}` {what}")]
    WrongPieces { task: String, what: &'static str },
    /// The rule: a job runs on a CPU without one of its pieces, or on one whose piece it has left behind.
    #[error("{job} runs on CPU {cpu} at {at}, where it has no piece left")]
    OutsidePieces { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a piece runs before it is ready.
    #[error("{job} runs on CPU {cpu} at {at}, and its piece there is ready at {ready}")]
    BeforeWindow { job: JobName, cpu: CpuId, at: Time, ready: Time },
    /// The rule: a piece exceeds its budget, or a job goes to the next piece before the budget is used up.
    #[error("{job} gets {got} of its piece on CPU {cpu}, and the budget is {budget}")]
    OtherBudget { job: JobName, cpu: CpuId, got: Duration, budget: Duration },
    /// The rule: a job is aborted that has not used up its pieces.
    #[error("{job} is aborted at {at}, and has not used up its pieces")]
    GivenUpWithin { job: JobName, at: Time },
    /// The rule: a job is aborted that may still meet its deadline.
    #[error("{job} is aborted at {at}, and may still complete by its deadline {deadline}")]
    AbortedFeasible { job: JobName, at: Time, deadline: Time },
    /// The rule: a job is not aborted although it can no longer meet its deadline.
    #[error(
        "{job} is not aborted at {at}, when it can no longer complete by its deadline {deadline}"
    )]
    Infeasible { job: JobName, at: Time, deadline: Time },
    /// The rule: a job is late although no job of its criticality or above exceeded its bound.
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
    /// The rule: a job runs on a slower CPU than its place among the running jobs gives it.
    #[error(
        "{job} runs on CPU {cpu} at {at}, and by its place among the running jobs it gets a faster one"
    )]
    NotFastest { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a job runs on after the end of the region for which a job that comes before it has to wait.
    #[error(
        "{waiting} waits at {at} while {running}, which comes after it and is in no region, runs on CPU {cpu}"
    )]
    Deferred { waiting: JobName, running: JobName, cpu: CpuId, at: Time },
    /// The rule: a job loses its CPU within a region.
    #[error("{job} loses CPU {cpu} at {at}, within a region that has begun")]
    WithinRegion { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a job runs without budget.
    #[error("{job} runs on CPU {cpu} at {at}, and its server has no budget")]
    WithoutBudget { job: JobName, cpu: CpuId, at: Time },
    /// The marks of a job differ from the steps of its task, or come at the wrong time.
    #[error("{job} does at {at} what is not its next step, or not the one that is due")]
    Steps { job: JobName, at: Time },
    /// The rule: a job gets a lock too early.
    #[error("{job} gets `{resource}` at {at}, which another job holds or is to have before it")]
    Granted { job: JobName, resource: String, at: Time },
    /// The rule: a job does not get a lock that is available to it.
    #[error("{job} comes first on CPU {cpu} at {at} and does not get what it has asked for")]
    NotGranted { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a job requests, gets or releases a lock, or suspends itself, while another job
    /// comes before it.
    #[error("{job} does a step at {at} on CPU {cpu}, where it does not come first")]
    NotSelected { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a job holds a CPU while it waits for a lock, is suspended or may not begin.
    #[error("{job} runs on CPU {cpu} at {at}, where it has to wait")]
    RunsWaiting { job: JobName, cpu: CpuId, at: Time },
    /// The rule: a CPU runs a thread outside the set while a job waits.
    #[error("{job} waits at {at} while CPU {cpu} runs `{thread}`, which is not in the set")]
    Occupied { job: JobName, cpu: CpuId, at: Time, thread: String },
    /// The rule: a waiting job could run if others moved to CPUs that they may use as well.
    #[error("{waiting} waits at {at}, but could run on CPU {cpu} if {}", shifts(.moves, .displaced.as_ref()))]
    NotShifted {
        waiting: JobName,
        cpu: CpuId,
        at: Time,
        moves: Vec<Move>,
        displaced: Option<JobName>,
    },
}

/// A possible move of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The job to move.
    pub job: JobName,
    /// The CPU on which it runs.
    pub from: CpuId,
    /// The CPU on which it could run.
    pub to: CpuId,
}

/// Describes the slot that a subtask got.
fn given(at: Option<Time>) -> String {
    at.map_or_else(|| "it gets none".to_owned(), |at| format!("it gets the one at {at}"))
}

/// Describes the window.
fn window(earliest: Time, latest: Option<Time>) -> String {
    match latest {
        Some(latest) if latest == earliest => format!("it is {earliest}"),
        Some(latest) => format!("it is from {earliest} to {latest}"),
        None => format!("it is not before {earliest}"),
    }
}

fn and_more(more: u64) -> String {
    match more {
        0 => String::new(),
        more if more + 1 < MOST_MISSING => format!(", and so are {more} more after it"),
        more => format!(", and so are at least {more} more after it"),
    }
}

/// Describes the moves along an alternating path, and its end: the job that comes last, or an idle CPU.
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

/// A point in the lifetime of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The start of the run.
    Start,
    /// The arrival of the predecessor.
    PredecessorArrival,
    /// The end of the predecessor.
    PredecessorEnd,
    /// The completion of the jobs that the job follows.
    FollowedEnd,
    /// The job's arrival.
    Arrival,
    /// The job's release.
    Release,
    /// The job's end.
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
            Milestone::FollowedEnd => "the completion of what it follows",
            Milestone::Arrival => "its arrival",
            Milestone::Release => "its release",
            Milestone::End => "its end",
            Milestone::Over => "the end of the run",
        })
    }
}

/// Describes when the jobs that another one follows have completed, if they have.
fn followed(end: Time) -> String {
    if end == Time::NEVER { String::new() } else { format!(" at {end}") }
}

/// The maximum number of threads that are named.
const MOST_NAMES: usize = 5;

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Report {
    /// The first violations, grouped by kind of check.
    pub violations: Vec<Violation>,
    /// The total number of violations.
    pub count: u64,
    /// For each thread that is not in the set, by name, the number of violations that it caused.
    pub foreign: BTreeMap<String, u64>,
    pub(super) limit: usize,
}

impl Report {
    /// Returns true if there are no violations.
    pub fn is_clean(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, violation: impl FnOnce() -> Violation) {
        self.count += 1;
        if self.violations.len() < self.limit {
            self.violations.push(violation());
        }
    }

    /// Counts the violation for the thread that caused it, if there is one.
    pub(super) fn blame(&mut self, violation: &Violation) {
        if let Violation::Occupied { thread, .. } = violation {
            *self.foreign.entry(thread.clone()).or_default() += 1;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("no violation");
        }
        f.write_str(&counted(self.count, "violation"))?;
        for violation in &self.violations {
            write!(f, "\n  {violation}")?;
        }
        let more = self.count - self.violations.len() as u64;
        if more > 0 {
            write!(f, "\n  and {more} more")?;
        }
        let foreign: u64 = self.foreign.values().sum();
        if foreign > 0 {
            let mut names: Vec<_> = self.foreign.iter().collect();
            names.sort_by_key(|&(name, count)| (Reverse(count), name));
            let named: Vec<String> =
                names.iter().take(MOST_NAMES).map(|(name, _)| format!("`{name}`")).collect();
            let more = if names.len() > MOST_NAMES { " and others" } else { "" };
            let verb = if foreign == 1 { "has" } else { "have" };
            write!(
                f,
                "\n{foreign} of {} {verb} threads as the cause that are not in the set: {}{more}",
                self.count,
                named.join(", ")
            )?;
        }
        Ok(())
    }
}
