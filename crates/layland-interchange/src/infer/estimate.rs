//! What one thread is as a task, and how sure that is.

use super::arrivals::{Arrivals, Merged, Pattern, ahead, arrivals, few, merged, steady};
use super::bursts::bursts;
use super::nominal::{Nominal, nominal};
use super::observation::{Class, Observation, Reserved, SeenJob, Stretch, Thread};
use super::sureness::Sureness;
use layland_model::{CpuSet, Duration, Rate, Service, TIME_LIMIT};

/// How execution times and periods are taken from what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// Of a hundred thousand jobs so many execute no longer than the WCET; all by default.
    pub quantile: u32,
    /// The WCET is this times as long.
    pub margin: Rate,
    /// Within this part of itself a period is rounded to what was probably meant, and jitter is not worth a word.
    pub tolerance: Rate,
    /// Which CPUs become affinities.
    pub affinity: Affinity,
    /// What else counts.
    pub more: More,
}

/// What counts only where the trace is not explained without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More {
    /// What threads do when they are born, before they are steady, and when they die.
    pub partial: bool,
    /// That other CPUs than those that were used cannot be used.
    pub used: bool,
    /// Threads that had a CPU for the shortest time while tasks waited.
    pub strangers: bool,
}

/// A thread that waited for its CPU so many times, while it could have had another one, may not use that.
const FEWEST_WAITS: u64 = 3;

/// All jobs.
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

/// Which CPUs become affinities: a trace tells where a thread ran, and not where it might have run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Those of threads that were seen on one CPU alone, and waited for it several times while another one had nothing
    /// as important to do. A thread that has just never moved has none.
    #[default]
    Pinned,
    /// Those on which threads were seen.
    Seen,
    /// None.
    None,
}

/// A thread as a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Its place among the threads of the observation.
    pub thread: usize,
    /// How its jobs arrive.
    pub arrivals: Arrivals,
    /// The period or the least separation that is taken.
    pub period: Duration,
    /// What that was rounded to, if it was.
    pub nominal: Option<Nominal>,
    /// The jitter that is taken.
    pub jitter: Duration,
    /// How long the machine, or something less important, kept ready jobs from beginning, at most.
    pub latency: Duration,
    /// How much of that is in the WCET, as the period is too short by at least as much.
    pub in_wcet: Duration,
    /// How long jobs that had begun waited while nothing as important had the CPU, at most: this is in the WCET.
    pub lost: Duration,
    /// The priority that is taken, as the kernel counts.
    pub priority: Option<i32>,
    /// The relative deadline that is reserved, or the least that the trace tells.
    pub deadline: Option<Duration>,
    /// What is reserved under SCHED_DEADLINE, where that is known.
    pub reserved: Option<Reserved>,
    /// How long jobs executed.
    pub execution: Execution,
    /// The WCET that is taken.
    pub wcet: Service,
    /// What becomes of suspensions.
    pub suspensions: Suspensions,
    /// How often it wakes up within each of its jobs; 1 if its sleeps end its jobs.
    pub parts: usize,
    /// What is left out at its beginning.
    pub start_up: Option<StartUp>,
    /// The CPUs that are taken.
    pub affinity: Option<CpuSet>,
    /// How sure it is.
    pub sureness: Sureness,
}

/// What the suspensions of jobs become: in the middle of their work threads waited for something that is no CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspensions {
    /// There are none.
    None,
    /// Every job has as many: each is a step, as long as the longest of its place.
    Steps(Vec<Stretch>),
    /// They differ from job to job, and count as execution: no analysis can then promise less than what was seen.
    Counted {
        /// So many jobs have any.
        jobs: usize,
        /// What one job was suspended for, at most.
        longest: Duration,
    },
}

/// What a program did before it began with what it is for. It is not part of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartUp {
    /// So many jobs.
    pub jobs: usize,
    /// From the first of their arrivals to that of the first job after them.
    pub length: Duration,
    /// How long one of them executed, at most.
    pub longest: Service,
}

/// So many suspensions of a job become steps at most.
const MOST_SUSPENSIONS: usize = 8;

/// How long the jobs that were seen from beginning to end executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// How many there are.
    pub jobs: usize,
    /// Least, 50 %, 90 %, 99 %, 99.9 %, most.
    pub quantiles: [Service; 6],
}

/// Why a thread is no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It cannot be known from so few.
    #[error("{jobs} of its jobs are in the trace, and three are needed")]
    FewJobs {
        /// So many are there with their beginnings, and lack no switch.
        jobs: usize,
    },
    /// Gaps between the jobs that are left are no gaps between its arrivals.
    #[error("{torn} of its {} jobs lack switches that are missing in the trace", .torn + .jobs)]
    MostlyTorn {
        /// So many lack switches.
        torn: usize,
        /// So many do not.
        jobs: usize,
    },
    /// No job was seen from its beginning to its end.
    #[error("none of its jobs is in the trace from beginning to end")]
    NoWholeJob,
    /// Arrivals at one time.
    #[error("all of its jobs arrive at one time")]
    AtOnce,
}

/// The task that a thread of an observation is.
///
/// # Errors
/// If its jobs do not tell.
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
        let all = with_partial(of);
        let arrivals = arrivals(&all).ok_or(Unfit::AtOnce)?;
        let plain = of_jobs(seen, thread, taking, (&[], &all), arrivals)?;
        return in_bursts(seen, taking, (&[], &all), plain);
    }
    let (before, arrivals) = steady(&of.jobs).ok_or(Unfit::AtOnce)?;
    let jobs = of.jobs.split_at(before);
    let parts = of_jobs(seen, thread, taking, jobs, arrivals)?;
    let Some(merged) = merged(&of.jobs, &parts.arrivals) else {
        return in_bursts(seen, taking, jobs, parts);
    };
    let Merged { before, each, jobs: all, arrivals } = merged;
    let whole = of_jobs(seen, thread, taking, (&of.jobs[..before], &all), arrivals)?;
    // What sleeps in its middle looks like jobs that come as often as it wakes up, each as long as the longest part.
    let load = |estimate: &Estimate| Rate::new(estimate.wcet.ns(), estimate.period.ns().max(1));
    let is_lighter = load(&whole) * Rate::new(5, 4) <= load(&parts);
    if is_lighter {
        return Ok(Estimate { parts: each, start_up: None, ..whole });
    }
    in_bursts(seen, taking, jobs, parts)
}

/// An estimate with a period and a jitter for its bursts, if it has any.
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

/// The task that a thread is of which few jobs are in the trace, or which are not whole: they come no more often than
/// they did. It is no more than a guess.
///
/// # Errors
/// If it has none.
pub(super) fn guess(seen: &Observation, thread: usize, taking: &Taking) -> Result<Estimate, Unfit> {
    let jobs = with_partial(&seen.threads[thread]);
    if jobs.is_empty() {
        return Err(Unfit::FewJobs { jobs: 0 });
    }
    let arrivals = few(&jobs, seen.length.max(Duration::from_ns(1)));
    of_jobs(seen, thread, taking, (&[], &jobs), arrivals)
}

/// All jobs of a thread, whole or not.
fn with_partial(of: &Thread) -> Vec<SeenJob> {
    let partial = of.partial.iter().map(|partial| &partial.job);
    let mut all: Vec<SeenJob> = of.jobs.iter().chain(partial).cloned().collect();
    all.sort_by_key(|job| job.arrival);
    all
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
    // A server has its budget once in its own period, however often the thread wakes up.
    let reserved = of.reserved.filter(|_| of.class() == Class::Deadline);
    let is_as_long =
        |of: Duration| Rate::new((of - period).ns(), of.ns().max(1)) <= taking.tolerance;
    let (period, nominal, jitter) = match reserved.map(|reserved| reserved.period) {
        Some(longer) if longer > period && !is_as_long(longer) => {
            (longer, None, ahead(jobs, longer) + latency)
        }
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
        // Whoever let a CPU pass that no such thread uses may just be one of those that may not use it.
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
    let deadline = reserved.map(|reserved| reserved.deadline);
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

/// What of the arrivals and of the latency becomes which part of a task.
struct Fitted {
    period: Duration,
    nominal: Option<Nominal>,
    jitter: Duration,
    in_wcet: Duration,
}

/// A period and a jitter that allow every run of arrivals that was seen, and the latency.
///
/// A little jitter is better told by a period that is as much shorter: most tests take no jitter. A job that begins
/// late takes as much longer then.
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
    // Over many periods a rounded one that is a little too long gets as far from the arrivals as periods are long.
    let (period, nominal, jitter) = match within(of_rounded - of_raw) || of_rounded <= of_raw {
        true => (taken, nominal, of_rounded.max(jitter)),
        false => (raw, None, of_raw),
    };
    Fitted { period, nominal, jitter, in_wcet: Duration::ZERO }
}

/// At most four digits, and no longer.
pub(super) fn rounded_down(length: Duration) -> Duration {
    let ns = length.ns().max(1);
    let unit = 10i64.pow(ns.ilog10().saturating_sub(3));
    Duration::from_ns(ns / unit * unit)
}

/// How long a job executed of which the trace shows a part alone, at most. What began before the trace was longer, and
/// what goes on after it will be: neither is less than what was seen.
fn cut(of: &Thread, jobs: &[SeenJob]) -> Service {
    let pending = jobs.iter().filter(|job| job.end.is_none());
    let before = of.partial.iter().filter(|partial| partial.is_cut).map(|partial| &partial.job);
    let executed = |job: &SeenJob| job.executed + Service::from_ns(job.lost.ns());
    pending.chain(before).map(executed).max().unwrap_or(Service::ZERO)
}

/// What the suspensions of jobs become that were seen to their ends.
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

/// How long each job executed that was seen to its end. What runs without a sleep is one job, however long it is.
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

/// The WCET that is taken of a time: of a kernel trace in whole microseconds, rounded up.
fn wcet(seen: Service, taking: &Taking, is_measured: bool) -> Service {
    let with_margin = (&Rate::whole(seen.ns()) * &taking.margin).ceil().unwrap_or(i64::MAX);
    let unit = if is_measured { 1_000 } else { 1 };
    Service::from_ns(rounded_up(with_margin, unit).max(unit).min(TIME_LIMIT))
}

/// The least multiple of a unit that is no smaller.
fn rounded_up(length: i64, unit: i64) -> i64 {
    let units = length.div_euclid(unit) + i64::from(length.rem_euclid(unit) > 0);
    units.saturating_mul(unit)
}

/// Where the quantile is among so many sorted values: `part` of [`EVERY`] are no larger.
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
