//! What one thread is as a task, and how sure that is.

use super::arrivals::{Arrivals, Pattern, steady};
use super::nominal::{Nominal, nominal};
use super::observation::{Observation, SeenJob, Stretch};
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
    /// The least relative deadline that the trace tells.
    pub deadline: Option<Duration>,
    /// How long jobs executed.
    pub execution: Execution,
    /// The WCET that is taken.
    pub wcet: Service,
    /// What becomes of suspensions.
    pub suspensions: Suspensions,
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

/// How far an estimate can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// Few jobs, or gaps that fit no period.
    Guess,
    /// Ten jobs or more, of which most gaps fit.
    Likely,
    /// A hundred jobs or more, of which nearly all gaps fit, or nothing is claimed but the least gap.
    Sure,
}

impl Sureness {
    /// Fewer jobs than this are no more than a guess.
    pub const FEWEST: usize = 10;
    /// So many jobs are much.
    pub const MANY: usize = 100;

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Sureness::Guess => "a guess",
            Sureness::Likely => "likely",
            Sureness::Sure => "sure",
        }
    }

    fn of(arrivals: &Arrivals, jobs: usize, is_whole: bool) -> Sureness {
        let count = jobs.min(arrivals.count);
        let (period, jitter) = match &arrivals.pattern {
            Pattern::Periodic { period, jitter, .. } => (*period, *jitter),
            // What is claimed is a bound, of which no number of jobs makes sure.
            Pattern::Sporadic { .. } if count >= Sureness::MANY && is_whole => {
                return Sureness::Likely;
            }
            Pattern::Sporadic { .. } => return Sureness::Guess,
        };
        let is_narrow = jitter.ns() <= period.ns() / 2;
        match (count, arrivals.fitting) {
            (..Sureness::FEWEST, _) | (_, ..500) if !(count >= Sureness::MANY && is_narrow) => {
                Sureness::Guess
            }
            (Sureness::MANY.., 950..) if is_whole => Sureness::Sure,
            _ => Sureness::Likely,
        }
    }
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
    let (before, arrivals) = steady(&of.jobs).ok_or(Unfit::AtOnce)?;
    let (early, jobs) = of.jobs.split_at(before);
    let start_up = early.first().zip(jobs.first()).map(|(first, steady)| StartUp {
        jobs: early.len(),
        length: steady.arrival - first.arrival,
        longest: early.iter().map(|job| job.executed).max().unwrap_or(Service::ZERO),
    });
    let suspensions = suspensions(jobs, &arrivals, taking, seen.dialect.is_some());
    let mut times = executions(jobs, &arrivals, &suspensions);
    times.sort_unstable();
    let execution = Execution::of(&times).ok_or(Unfit::NoWholeJob)?;
    let (period, nominal, jitter) = match &arrivals.pattern {
        Pattern::Periodic { period, jitter, .. } => {
            let nominal = nominal(*period, &taking.tolerance);
            let taken = nominal.map_or(*period, |nominal| nominal.length);
            // Two times can be apart by their resolution and be the same.
            let noise = if of.is_marked { Duration::ZERO } else { seen.resolution * 2 };
            let is_worth_a_word =
                *jitter > noise && Rate::new(jitter.ns(), taken.ns().max(1)) > taking.tolerance;
            let nominal = nominal.filter(|nominal| nominal.length != *period);
            (taken, nominal, if is_worth_a_word { *jitter } else { Duration::ZERO })
        }
        Pattern::Sporadic { separation, jitter, .. } => (*separation, None, *jitter),
    };
    let wcet = match &suspensions {
        Suspensions::Steps(stretches) => stretches.iter().map(|stretch| stretch.executed).sum(),
        Suspensions::None | Suspensions::Counted { .. } => {
            wcet(&times, taking, seen.dialect.is_some())
        }
    };
    let affinity = match taking.affinity {
        Affinity::Pinned if of.cpus.len() == 1 && of.tied >= FEWEST_WAITS => Some(of.cpus.clone()),
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
    let deadline = jobs.iter().filter_map(|job| job.deadline).min();
    Ok(Estimate {
        thread,
        arrivals,
        period,
        nominal,
        jitter,
        deadline,
        execution,
        wcet,
        suspensions,
        start_up,
        affinity,
        sureness,
    })
}

/// What the suspensions of jobs become that were seen to their ends.
fn suspensions(
    jobs: &[SeenJob],
    arrivals: &Arrivals,
    taking: &Taking,
    is_measured: bool,
) -> Suspensions {
    let whole = || jobs.iter().filter(|job| job.end.is_some());
    let suspended = whole().filter(|job| !job.stretches.is_empty()).count();
    let most = whole().map(|job| job.stretches.len()).max().unwrap_or(0);
    if suspended == 0 {
        return Suspensions::None;
    }
    let runs_on = match &arrivals.pattern {
        Pattern::Periodic { run_on, .. } => !run_on.is_empty(),
        Pattern::Sporadic { .. } => false,
    };
    let is_regular = most <= MOST_SUSPENSIONS + 1 && whole().all(|job| job.stretches.len() == most);
    if !is_regular || runs_on {
        let length = |job: &SeenJob| {
            let lengths = job.stretches.iter().map(|stretch| stretch.suspended);
            lengths.fold(Duration::ZERO, |sum, length| sum + length)
        };
        let longest = whole().map(length).max().unwrap_or(Duration::ZERO);
        return Suspensions::Counted { jobs: suspended, longest };
    }
    let steps = (0..most).map(|place| {
        let mut executed: Vec<Service> = whole().map(|job| job.stretches[place].executed).collect();
        executed.sort_unstable();
        let suspended = whole().map(|job| job.stretches[place].suspended).max();
        let suspended = suspended.unwrap_or(Duration::ZERO).ns();
        let unit = if is_measured { 1_000 } else { 1 };
        Stretch {
            executed: wcet(&executed, taking, is_measured),
            suspended: Duration::from_ns(rounded_up(suspended, unit)),
        }
    });
    Suspensions::Steps(steps.collect())
}

/// How long each job executed that was seen to its end. What ran on into the next periods counts as so many jobs of
/// equal length: none can have been shorter than all of them.
fn executions(jobs: &[SeenJob], arrivals: &Arrivals, suspensions: &Suspensions) -> Vec<Service> {
    let taken = |job: &SeenJob| match suspensions {
        Suspensions::Counted { .. } if !job.stretches.is_empty() => {
            let stretches = job.stretches.iter();
            stretches.map(|stretch| stretch.executed.ns() + stretch.suspended.ns()).sum()
        }
        Suspensions::None | Suspensions::Steps(_) | Suspensions::Counted { .. } => {
            job.executed.ns()
        }
    };
    let run_on = match &arrivals.pattern {
        Pattern::Periodic { run_on, .. } => run_on.as_slice(),
        Pattern::Sporadic { .. } => &[],
    };
    let mut run_on = run_on.iter().peekable();
    let mut times = Vec::with_capacity(jobs.len());
    for (number, job) in jobs.iter().enumerate() {
        let more = run_on.next_if(|&&(of, _)| of == number).map_or(0, |&(_, more)| more);
        if job.end.is_some() {
            let parts = i64::try_from(more).unwrap_or(0).saturating_add(1);
            times.push(Service::from_ns(rounded_up(taken(job), parts) / parts));
        }
    }
    times
}

/// The WCET that is taken of sorted times: of a kernel trace in whole microseconds, rounded up.
fn wcet(times: &[Service], taking: &Taking, is_measured: bool) -> Service {
    let seen = times[rank(times.len(), taking.quantile)];
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
