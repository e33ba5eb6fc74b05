//! Estimates the task that one thread implements, and how reliable the estimate is.
//!
//! Long because the parts of an estimate are derived from one list of jobs.

use super::arrivals::{
    Arrivals, Merged, Pattern, after_long_start, ahead, arrivals, few, merged, steady,
};
use super::bursts::bursts;
use super::nominal::{Nominal, nominal};
use super::observation::{Class, Observation, Reserved, SeenJob, Stretch, Thread};
use super::sureness::Sureness;
use layland_model::{CpuSet, Duration, Rate, Service, TIME_LIMIT};

/// Rules by which execution times and periods are derived from a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// The number of jobs of [`EVERY`] that execute at most for the WCET; all by default.
    pub quantile: u32,
    /// The factor by which the WCET is extended.
    pub margin: Rate,
    /// A period is rounded to a round one within this
    /// fraction of it. Jitter within it is not mentioned.
    pub tolerance: Rate,
    /// The rule by which CPUs become affinities.
    pub affinity: Affinity,
    /// Further facts that the estimate takes into account.
    pub more: More,
}

/// Facts that count only if the trace cannot be explained without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More {
    /// Execution of a thread when it is born, before it is steady, and when it dies.
    pub partial: bool,
    /// Unused CPUs are taken to be unavailable.
    pub used: bool,
    /// Threads that held a CPU for any time, however short, while tasks waited.
    pub strangers: bool,
}

/// The number of waits, while another CPU was free, that show that a thread may not use that CPU.
const FEWEST_WAITS: u64 = 3;

/// The scale of quantiles; as a quantile, all jobs.
pub const EVERY: u32 = 100_000;

impl Default for Taking {
    fn default() -> Taking {
        Taking {
            quantile: EVERY,
            margin: Rate::ONE,
            tolerance: Rate::new(1, 100),
            affinity: Affinity::Pinned,
            more: More::default(),
        }
    }
}

/// The rule by which CPUs become affinities. A trace shows
/// where a thread ran, but not where it could have run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Affinities of threads that ran on one CPU only, and waited for
    /// it several times while another CPU had nothing as important to
    /// run. A thread that merely never moved has no affinity.
    #[default]
    Pinned,
    /// The CPUs on which threads ran.
    Seen,
    /// No affinities.
    None,
}

/// A task that was estimated from a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The index of the thread among the threads of the observation.
    pub thread: usize,
    /// The arrivals of its jobs.
    pub arrivals: Arrivals,
    /// The period or the minimum separation of the task.
    pub period: Duration,
    /// The round period that replaced the measured one, if it was rounded.
    pub nominal: Option<Nominal>,
    /// The jitter of the task.
    pub jitter: Duration,
    /// The longest time for which the machine, or less
    /// important work, delayed the start of a ready job.
    pub latency: Duration,
    /// The part of the latency in the WCET; the period is too short by at least as much.
    pub in_wcet: Duration,
    /// The longest time that a started job waited while
    /// its CPU had nothing as important. Part of the WCET.
    pub lost: Duration,
    /// The priority of the task, as the kernel counts.
    pub priority: Option<i32>,
    /// The relative deadline that is reserved, or else the shortest in the trace.
    pub deadline: Option<Duration>,
    /// The reservation under SCHED_DEADLINE, if it is known.
    pub reserved: Option<Reserved>,
    /// The execution times of the jobs.
    pub execution: Execution,
    /// The WCET of the task.
    pub wcet: Service,
    /// The treatment of suspensions.
    pub suspensions: Suspensions,
    /// The number of wake-ups in each of its jobs; 1 if every sleep ends a job.
    pub parts: usize,
    /// The first jobs, which are omitted from the estimate.
    pub start_up: Option<StartUp>,
    /// The affinity of the task.
    pub affinity: Option<CpuSet>,
    /// The reliability of the estimate.
    pub sureness: Sureness,
}

impl Estimate {
    /// Returns the period in the trace, where a reserved one replaced it.
    pub fn seen_period(&self) -> Option<Duration> {
        let seen = match &self.arrivals.pattern {
            Pattern::Periodic { period, .. } | Pattern::Bursts { period, .. } => *period,
            Pattern::Sporadic { separation, .. } => *separation,
        };
        let is_reserved = self.reserved.is_some_and(|of| of.period == self.period);
        (is_reserved && self.nominal.is_none() && seen != self.period).then_some(seen)
    }
}

/// The treatment of suspensions: waits within a job for something other than a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspensions {
    /// The jobs have no suspensions.
    None,
    /// Every job has as many. Each becomes a step, as long as the longest at its position.
    Steps(Vec<Stretch>),
    /// They differ, and count as execution: then no analysis promises less than was seen.
    Counted {
        /// The number of jobs with suspensions.
        jobs: usize,
        /// The longest total suspension of a job.
        longest: Duration,
    },
}

/// The first jobs of a program, before its regular work. They are not part of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartUp {
    /// The number of these jobs.
    pub jobs: usize,
    /// The time from the first of their arrivals to that of the first job after them.
    pub length: Duration,
    /// The longest execution time of one of them.
    pub longest: Service,
}

/// The maximum number of suspensions of a job that become steps.
const MOST_SUSPENSIONS: usize = 8;

/// The execution times of the jobs that are in the trace from beginning to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The number of these jobs.
    pub jobs: usize,
    /// The minimum, the quantiles 50 %, 90 %, 99 % and 99.9 %, and the maximum.
    pub quantiles: [Service; 6],
}

/// The reason why a thread does not become a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It has too few jobs for an estimate.
    #[error("{jobs} of its jobs are in the trace, and three are required")]
    FewJobs {
        /// The number of jobs whose beginnings are in the trace and whose switches are complete.
        jobs: usize,
    },
    /// Most jobs are incomplete. Gaps between the remaining jobs are not gaps between arrivals.
    #[error("{torn} of its {} jobs lack switches that are missing in the trace", .torn + .jobs)]
    MostlyTorn {
        /// The number of jobs that lack switches.
        torn: usize,
        /// The number of jobs that do not.
        jobs: usize,
    },
    /// No job is in the trace from beginning to end.
    #[error("none of its jobs is in the trace from beginning to end")]
    NoWholeJob,
    /// All jobs arrive at one time.
    #[error("all of its jobs arrive at one time")]
    AtOnce,
}

/// Estimates the task that a thread of an observation implements.
///
/// # Errors
/// If its jobs are not sufficient for an estimate.
pub fn estimate(seen: &Observation, thread: usize, taking: &Taking) -> Result<Estimate, Unfit> {
    let of = &seen.threads[thread];
    let jobs = of.jobs.len();
    if jobs < 3 {
        return Err(Unfit::FewJobs { jobs });
    }
    let torn = usize::try_from(of.torn).unwrap_or(usize::MAX);
    if torn >= jobs {
        return Err(Unfit::MostlyTorn { torn, jobs });
    }
    if taking.more.partial {
        let all = with_partial(seen, of);
        let arrivals = arrivals(&all).ok_or(Unfit::AtOnce)?;
        let plain = of_jobs(seen, thread, taking, (&[], &all), arrivals)?;
        return in_bursts(seen, taking, (&[], &all), plain);
    }
    let joined = seen.joined(&of.jobs);
    let (mut before, mut arrivals) = steady(&joined).ok_or(Unfit::AtOnce)?;
    // A program that marks its jobs has said that the first one is a job.
    if let Some((more, rest)) = after_long_start(&joined[before..]).filter(|_| !of.is_marked) {
        (before, arrivals) = (before + more, rest);
    }
    let jobs = joined.split_at(before);
    let parts = of_jobs(seen, thread, taking, jobs, arrivals)?;
    let Some(merged) = merged(&joined, &parts.arrivals) else {
        return in_bursts(seen, taking, jobs, parts);
    };
    let Merged { before, each, jobs: all, arrivals } = merged;
    let whole = of_jobs(seen, thread, taking, (&joined[..before], &all), arrivals)?;
    // A thread that sleeps within its jobs looks like a task with an arrival per wake-up, in which
    // each job is as long as the longest part.
    let load = |estimate: &Estimate| Rate::new(estimate.wcet.ns(), estimate.period.ns().max(1));
    let is_lighter = load(&whole) * Rate::new(5, 4) <= load(&parts);
    if is_lighter {
        return Ok(Estimate { parts: each, start_up: None, ..whole });
    }
    in_bursts(seen, taking, jobs, parts)
}

/// Returns the estimate with a period and a jitter for its bursts, if it has bursts.
fn in_bursts(
    seen: &Observation,
    taking: &Taking,
    jobs: (&[SeenJob], &[SeenJob]),
    plain: Estimate,
) -> Result<Estimate, Unfit> {
    // The server limits what a burst gets.
    if Class::of(plain.priority) == Class::Deadline {
        return Ok(plain);
    }
    let [.., longest] = plain.execution.quantiles;
    match bursts(jobs.1, &plain.arrivals, longest, plain.deadline) {
        Some(arrivals) => of_jobs(seen, plain.thread, taking, jobs, arrivals),
        None => Ok(plain),
    }
}

/// Guesses the task of a thread with few jobs in the trace, or with incomplete ones, taking the
/// arrivals to be no more frequent than those in the trace.
///
/// # Errors
/// If the thread has no jobs.
pub(super) fn guess(seen: &Observation, thread: usize, taking: &Taking) -> Result<Estimate, Unfit> {
    let jobs = with_partial(seen, &seen.threads[thread]);
    if jobs.is_empty() {
        return Err(Unfit::FewJobs { jobs: 0 });
    }
    let arrivals = few(&jobs, seen.length.max(Duration::from_ns(1)));
    of_jobs(seen, thread, taking, (&[], &jobs), arrivals)
}

/// Returns all jobs of a thread, complete or not.
fn with_partial(seen: &Observation, of: &Thread) -> Vec<SeenJob> {
    let partial = of.partial.iter().map(|partial| &partial.job);
    let mut all: Vec<SeenJob> = of.jobs.iter().chain(partial).cloned().collect();
    all.sort_by_key(|job| job.arrival);
    seen.joined(&all).into_owned()
}

fn of_jobs(
    seen: &Observation,
    thread: usize,
    taking: &Taking,
    (early, jobs): (&[SeenJob], &[SeenJob]),
    arrivals: Arrivals,
) -> Result<Estimate, Unfit> {
    let of = &seen.threads[thread];
    let is_measured = seen.dialect.is_some();
    let start_up = early.first().zip(jobs.first()).map(|(first, steady)| StartUp {
        jobs: early.len(),
        length: steady.arrival - first.arrival,
        longest: early.iter().map(|job| job.executed).max().unwrap_or(Service::ZERO),
    });
    let suspensions = suspensions(jobs, taking, is_measured);
    let mut times = executions(jobs, &suspensions);
    times.sort_unstable();
    let execution = Execution::of(&times).ok_or(Unfit::NoWholeJob)?;
    let Fitted { period, nominal, jitter, in_wcet } =
        fitted(&arrivals, jobs, taking, is_measured || !of.is_marked);
    let latency = jobs.iter().map(|job| job.delay).max().unwrap_or(Duration::ZERO);
    // A server has one budget per server period, however often the thread wakes up.
    let reserved = of.reserved.filter(|_| of.class() == Class::Deadline);
    let is_as_long =
        |of: Duration| Rate::new((of - period).ns(), of.ns().max(1)) <= taking.tolerance;
    let (period, nominal, jitter) = match reserved {
        Some(of) if of.period > period && !is_as_long(of.period) => {
            (of.period, None, ahead(jobs, of.period) + latency)
        }
        // The clock is a little fast. The kernel grants no deadline that is beyond the period.
        Some(of) if of.period > period && of.deadline > period => (of.period, None, jitter),
        Some(_) | None => (period, nominal, jitter),
    };
    let longest_cut = if taking.quantile == EVERY { cut(of, jobs) } else { Service::ZERO };
    let wcet = match &suspensions {
        Suspensions::Steps(stretches) => stretches.iter().map(|stretch| stretch.executed).sum(),
        Suspensions::None | Suspensions::Counted { .. } => {
            let longest = times[rank(times.len(), taking.quantile)].max(longest_cut);
            wcet(longest + Service::from_ns(in_wcet.ns()), taking, is_measured)
        }
    };
    let affinity = match taking.affinity {
        // If no real-time thread uses the CPUs that it left
        // unused, all of them may be kept off those CPUs.
        Affinity::Pinned
            if of.cpus.len() == 1
                && of.tied >= FEWEST_WAITS
                && (of.passed.is_empty() || !of.passed.is_disjoint(&seen.used())) =>
        {
            Some(of.cpus.clone())
        }
        Affinity::Seen if of.cpus.len() < seen.cpus => Some(of.cpus.clone()),
        Affinity::Pinned | Affinity::Seen | Affinity::None => None,
    };
    let affinity = affinity.filter(|cpus| !cpus.is_empty() && seen.cpus > 1);
    let is_whole = seen.lost == 0 && seen.unknown_lines == 0;
    let sureness = match (Sureness::of(&arrivals, execution.jobs, is_whole), &suspensions) {
        (Sureness::Sure, Suspensions::Counted { .. }) => Sureness::Likely,
        (Sureness::Likely, Suspensions::Counted { .. }) => Sureness::Guess,
        (sureness, _) => sureness,
    };
    // No thread executes for longer than time passes: the period is that of a burst, or the WCET
    // that of a rare job, however well the arrivals fit.
    let sureness = if wcet.ns() > period.ns() { Sureness::Guess } else { sureness };
    let deadline = reserved.map(|reserved| reserved.deadline.min(period));
    let deadline = deadline.or_else(|| jobs.iter().filter_map(|job| job.deadline).min());
    let lost = jobs.iter().map(|job| job.lost).max().unwrap_or(Duration::ZERO);
    Ok(Estimate {
        thread,
        arrivals,
        period,
        nominal,
        jitter,
        latency,
        in_wcet,
        lost,
        priority: of.priority(),
        deadline,
        reserved,
        execution,
        wcet,
        suspensions,
        parts: 1,
        start_up,
        affinity,
        sureness,
    })
}

/// The parts of a task into which arrivals and latency translate.
struct Fitted {
    period: Duration,
    nominal: Option<Nominal>,
    jitter: Duration,
    in_wcet: Duration,
}

/// Returns a period and a jitter that allow every run of arrivals that was seen, and the latency.
///
/// A small jitter is better expressed by a period that is shorter by as much, because most tests
/// support no jitter. The latency of a job then extends its WCET.
fn fitted(arrivals: &Arrivals, jobs: &[SeenJob], taking: &Taking, is_measured: bool) -> Fitted {
    let latency = jobs.iter().map(|job| job.delay).max().unwrap_or(Duration::ZERO);
    let [least, ..] = arrivals.gaps;
    let (raw, nominal, jitter) = match &arrivals.pattern {
        Pattern::Periodic { period, jitter, .. } => {
            (*period, nominal(*period, &taking.tolerance), *jitter)
        }
        Pattern::Sporadic { separation: length, jitter, .. }
        | Pattern::Bursts { period: length, jitter, .. } => (*length, None, *jitter + latency),
    };
    let taken = nominal.map_or(raw, |nominal| nominal.length);
    let nominal = nominal.filter(|nominal| nominal.length != raw);
    let within = |length: Duration| {
        Rate::new(length.ns(), taken.ns().max(1)) <= taking.tolerance && is_measured
    };
    let shorter = (taken - least).max(Duration::ZERO) + latency;
    if shorter == Duration::ZERO || (within(shorter) && shorter < taken) {
        let period = match shorter {
            Duration::ZERO => taken,
            shorter => rounded_down(taken - shorter),
        };
        let in_wcet = latency;
        return Fitted { period, nominal, jitter: Duration::ZERO, in_wcet };
    }
    let of_rounded = ahead(jobs, taken) + latency;
    let of_raw = (ahead(jobs, raw) + latency).max(jitter);
    // A rounded period that is slightly too long drifts
    // from the arrivals, over many periods by a whole one.
    let (period, nominal, jitter) = if within(of_rounded - of_raw) || of_rounded <= of_raw {
        (taken, nominal, of_rounded.max(jitter))
    } else {
        (raw, None, of_raw)
    };
    Fitted { period, nominal, jitter, in_wcet: Duration::ZERO }
}

/// At most four digits, and no longer.
pub(super) fn rounded_down(length: Duration) -> Duration {
    let ns = length.ns().max(1);
    let unit = 10i64.pow(ns.ilog10().saturating_sub(3));
    Duration::from_ns(ns / unit * unit)
}

/// Returns the longest execution time of a job that is only partly in the trace. Such a job began
/// before the trace or continues after it, so it executes at least this long.
fn cut(of: &Thread, jobs: &[SeenJob]) -> Service {
    let pending = jobs.iter().filter(|job| job.end.is_none());
    let before = of.partial.iter().filter(|partial| partial.is_cut).map(|partial| &partial.job);
    let executed = |job: &SeenJob| job.executed + Service::from_ns(job.lost.ns());
    pending.chain(before).map(executed).max().unwrap_or(Service::ZERO)
}

/// Determines the treatment of suspensions, from jobs that are in the trace to their end.
fn suspensions(jobs: &[SeenJob], taking: &Taking, is_measured: bool) -> Suspensions {
    let whole = || jobs.iter().filter(|job| job.end.is_some());
    let suspended = whole().filter(|job| !job.stretches.is_empty()).count();
    let most = whole().map(|job| job.stretches.len()).max().unwrap_or(0);
    if suspended == 0 {
        return Suspensions::None;
    }
    let is_regular = most <= MOST_SUSPENSIONS + 1 && whole().all(|job| job.stretches.len() == most);
    if !is_regular {
        let length = |job: &SeenJob| {
            let lengths = job.stretches.iter().map(|stretch| stretch.suspended);
            lengths.fold(Duration::ZERO, |sum, length| sum + length)
        };
        let longest = whole().map(length).max().unwrap_or(Duration::ZERO);
        return Suspensions::Counted { jobs: suspended, longest };
    }
    let latency = jobs.iter().map(|job| job.delay).max().unwrap_or(Duration::ZERO);
    let steps = (0..most).map(|place| {
        let mut executed: Vec<Service> = whole().map(|job| job.stretches[place].executed).collect();
        executed.sort_unstable();
        let suspended = whole().map(|job| job.stretches[place].suspended).max();
        let suspended = suspended.unwrap_or(Duration::ZERO).ns();
        let unit = if is_measured { 1_000 } else { 1 };
        let begin = if place == 0 { Service::from_ns(latency.ns()) } else { Service::ZERO };
        let seen = executed[rank(executed.len(), taking.quantile)];
        Stretch {
            executed: wcet(seen + begin, taking, is_measured),
            suspended: Duration::from_ns(rounded_up(suspended, unit)),
        }
    });
    Suspensions::Steps(steps.collect())
}

/// Returns the execution time of each job that is in the trace to its end. Execution without a
/// sleep is one job, however long it is.
fn executions(jobs: &[SeenJob], suspensions: &Suspensions) -> Vec<Service> {
    let taken = |job: &SeenJob| match suspensions {
        Suspensions::Counted { .. } if !job.stretches.is_empty() => {
            let stretches = job.stretches.iter();
            stretches.map(|stretch| stretch.executed.ns() + stretch.suspended.ns()).sum()
        }
        Suspensions::None | Suspensions::Steps(_) | Suspensions::Counted { .. } => {
            job.executed.ns().saturating_add(job.lost.ns())
        }
    };
    let whole = jobs.iter().filter(|job| job.end.is_some());
    whole.map(|job| Service::from_ns(taken(job))).collect()
}

/// Returns the WCET for an observed time: for a kernel trace in whole microseconds, rounded up.
fn wcet(seen: Service, taking: &Taking, is_measured: bool) -> Service {
    let with_margin = (&Rate::whole(seen.ns()) * &taking.margin).ceil().unwrap_or(i64::MAX);
    let unit = if is_measured { 1_000 } else { 1 };
    Service::from_ns(rounded_up(with_margin, unit).max(unit).min(TIME_LIMIT))
}

/// Returns the least multiple of `unit` that is at least `length`.
fn rounded_up(length: i64, unit: i64) -> i64 {
    let units = length.div_euclid(unit) + i64::from(length.rem_euclid(unit) > 0);
    units.saturating_mul(unit)
}

/// Returns the index of the quantile in `count` sorted values: `part` of [`EVERY`] are no larger.
fn rank(count: usize, part: u32) -> usize {
    let below = (count as u64 * u64::from(part)).div_ceil(u64::from(EVERY));
    (below.max(1) - 1).min(count as u64 - 1) as usize
}

impl Execution {
    fn of(times: &[Service]) -> Option<Execution> {
        let (&least, &most) = (times.first()?, times.last()?);
        let at = |part| times[rank(times.len(), part)];
        let [p50, p90, p99, p999] = [50_000, 90_000, 99_000, 99_900].map(at);
        Some(Execution { jobs: times.len(), quantiles: [least, p50, p90, p99, p999, most] })
    }
}
