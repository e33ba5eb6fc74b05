//! Tasks: when their jobs arrive, how long they run, and where they may run.

use crate::{
    ArrivalCurve, CacheUse, CpuSet, CurveArrivals, Duration, GroupId, MissProbability,
    MissTolerance, Rate, RateSum, Service, Step, TaskId, Time, WeaklyHard,
};
use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;
use std::fmt;
use std::sync::Arc;

/// A criticality level: 0 is the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Criticality(pub u8);

impl Criticality {
    /// Returns true if this criticality is higher than `other`.
    pub fn is_higher_than(self, other: Criticality) -> bool {
        self.0 > other.0
    }
    /// Converts to an index into [`Task::wcet`].
    pub fn level(self) -> usize {
        usize::from(self.0)
    }
}

/// The names of the criticality levels, low to high. Never empty; one unnamed level by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels(Vec<String>);

impl Levels {
    /// Levels with these names, low to high; the default if there are no names.
    pub fn new(names: Vec<String>) -> Levels {
        if names.is_empty() { Levels::default() } else { Levels(names) }
    }
    /// The number of levels.
    pub fn count(&self) -> usize {
        self.0.len()
    }
    /// The names, low to high.
    pub fn names(&self) -> &[String] {
        &self.0
    }
    /// The level with this name.
    pub fn find(&self, name: &str) -> Option<Criticality> {
        self.0.iter().position(|level| level == name).map(|level| Criticality(level as u8))
    }
    /// Returns true if there is more than one level.
    pub fn is_mixed(&self) -> bool {
        self.0.len() > 1
    }
}
impl Default for Levels {
    fn default() -> Self {
        Levels(vec!["all".to_owned()])
    }
}

/// The arrivals of the jobs of a task, and the action of its thread when a job ends.
///
/// The last three variants describe a *thread*; they matter to the policies that schedule threads
/// by reservations (the SCHED_DEADLINE family). The policies that schedule jobs treat a `Hog` and a
/// `Yield` as periodic.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Behaviour {
    /// A job every period, from the offset on. A late job does not delay later arrivals.
    #[default]
    Periodic,
    /// Jobs at least a period apart; the additional separation is drawn.
    Sporadic(Separation),
    /// Jobs at these times, ascending; the offset is not used.
    Explicit(Vec<Time>),
    /// Jobs by an arrival curve, from the offset on. The period is their mean distance in the long
    /// run: [`ArrivalCurve::separation`](crate::ArrivalCurve::separation).
    Curve(Arc<CurveArrivals>),
    /// Never blocks: runs for as long as it gets the processor.
    Hog,
    /// Periodic, but drops the rest of its budget at the end of each job (`sched_yield`).
    Yield,
    /// Runs a job, sleeps for the gap, and repeats: the next release is the completion plus the gap.
    SelfSuspending {
        /// The length of the sleep.
        gap: Duration,
    },
}

/// The time that is added to the minimum separation of a sporadic task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Separation {
    /// Uniform on `[0, max]`.
    Uniform {
        /// The maximum additional time.
        max: Duration,
    },
    /// Exponential with this mean, truncated at `max`.
    Exponential {
        /// The mean before truncation.
        mean: Duration,
        /// The maximum additional time.
        max: Duration,
    },
}

/// The actual execution times of the jobs of a task. Each task draws from its own seeded stream.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ExecutionModel {
    /// The WCET of the task's own criticality level.
    #[default]
    Wcet,
    /// The WCET of another level: an overrun if that level is higher, early completion if it is
    /// lower.
    Level(Criticality),
    /// A fixed fraction of the WCET (above 1: an overrun), rounded up, at least 1 ns.
    Fraction(Rate),
    /// Uniform on `[min, max]`, in whole nanoseconds.
    Uniform {
        /// The minimum.
        min: Service,
        /// The maximum.
        max: Service,
    },
    /// One of these values, with probability proportional to its weight.
    Discrete(Vec<(Service, u64)>),
    /// These values in order, repeated from the first.
    List(Vec<Service>),
}

/// The treatment of a job that misses its deadline, and of the jobs behind it.
///
/// A job that completes at its deadline is in time. An aborted or skipped job counts as a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnMiss {
    /// The job continues, and the next one waits for it.
    #[default]
    Continue,
    /// The job is aborted at its deadline (also known as *kill*; `abort_on_miss` of SimSo).
    Abort,
    /// The job continues, and jobs that arrive meanwhile are skipped (*skip-next*): no job ever
    /// waits for another one of its task.
    Skip,
}

impl OnMiss {
    /// All variants, in the order of the type.
    pub const ALL: [OnMiss; 3] = [OnMiss::Continue, OnMiss::Abort, OnMiss::Skip];

    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            OnMiss::Continue => "continue",
            OnMiss::Abort => "abort",
            OnMiss::Skip => "skip",
        }
    }

    /// The variant with this name.
    ///
    /// ```
    /// use layland_model::OnMiss;
    /// assert_eq!(OnMiss::find("abort"), Some(OnMiss::Abort));
    /// ```
    pub fn find(name: &str) -> Option<OnMiss> {
        OnMiss::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// The points at which a job of a task may lose its CPU to a job that comes before it in the order
/// of its policy.
///
/// A *region* is a part of a job that no other job interrupts. Its position counts in the time for
/// which the job has held CPUs. A region also ends if its CPU goes offline, or if its task moves or
/// leaves.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Preemption {
    /// Anywhere.
    #[default]
    Anywhere,
    /// Nowhere: a job that has begun to execute keeps its CPU until it ends.
    Never,
    /// A *floating* region: once another job that comes before it waits, the job keeps its CPU for
    /// this long.
    Delayed(Duration),
    /// Only between its segments. Their lengths sum to the WCET; a job that executes longer is in
    /// the last one.
    Between(Box<[Service]>),
}

impl Preemption {
    /// Returns true if a job may lose its CPU at any time.
    pub fn is_anywhere(&self) -> bool {
        *self == Preemption::Anywhere
    }
}

/// A recurrent task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The name, unique in the set.
    pub name: SmolStr,
    /// The period, or the minimum time between two arrivals; with an arrival curve, the mean
    /// distance of arrivals in the long run, rounded down.
    pub period: Duration,
    /// Relative deadline: shorter than the period (constrained), equal (implicit) or longer.
    pub deadline: Duration,
    /// Worst-case execution time per criticality level, low to high; at least one.
    pub wcet: SmallVec<[Service; 2]>,
    /// The criticality of the task.
    pub criticality: Criticality,
    /// Reserved processor time per period; the WCET by default.
    pub budget: Option<Service>,
    /// Arrival of the first job.
    pub offset: Duration,
    /// A job becomes ready at most this long after its arrival (uniform); its deadline still counts
    /// from the arrival.
    pub jitter: Duration,
    /// The CPUs that the task may use; by default all of its cluster.
    pub affinity: Option<CpuSet>,
    /// Index of its cluster in [`Platform::clusters`](crate::Platform::clusters).
    pub cluster: usize,
    /// Breaks ties: the smaller rank goes first, then the smaller [`TaskId`](crate::TaskId).
    pub rank: i64,
    /// Fixed priority, where a smaller number is more important; only for policies that use given
    /// priorities.
    pub priority: Option<i64>,
    /// The arrivals of its jobs.
    pub behaviour: Behaviour,
    /// The execution times of its jobs.
    pub execution: ExecutionModel,
    /// The number of jobs; unlimited by default.
    pub jobs: Option<u64>,
    /// The treatment of a job that is late.
    pub on_miss: OnMiss,
    /// The misses that it tolerates; none if it is left out. Analyses and judges of runs consider it,
    /// and policies only if they say so.
    pub tolerance: Option<Arc<MissTolerance>>,
    /// True if its server may reclaim processor time that others have reserved and do not use
    /// (`SCHED_FLAG_RECLAIM`); only policies with reclaiming servers consider it.
    pub reclaim: bool,
    /// The points at which its jobs may be preempted.
    pub preemption: Preemption,
    /// The steps of each job, if it does more than execute: see [`Step`].
    pub steps: Option<Arc<[Step]>>,
    /// The tasks that it follows: each of its jobs is ready once the jobs of the same number of
    /// these tasks have completed. See [`Graph`](crate::Graph).
    pub follows: Box<[TaskId]>,
    /// The time from its release to the write of a job in chains with logical execution time; the
    /// period by default.
    pub let_interval: Option<Duration>,
    /// The cache sets that its jobs use, if the set states them. See
    /// [`Overheads::block_reload_time`].
    ///
    /// [`Overheads::block_reload_time`]: crate::Overheads::block_reload_time
    pub cache: Option<Arc<CacheUse>>,
    /// The maximum time for which jobs of lower priority (of later relative deadline under EDF)
    /// delay its jobs, once in a busy period. Only analyses that support it use this number;
    /// engines do not execute anything for it.
    pub blocking_time: Duration,
    /// The group whose budget its jobs use.
    pub group: Option<GroupId>,
    /// The threads of a program that the task describes, for commands that run programs: `main`, or
    /// a pattern for thread names.
    pub thread: Option<Box<str>>,
}

impl Task {
    /// A periodic task with one criticality level and its deadline at the end of the period.
    ///
    /// ```
    /// use layland_model::{Duration, Rate, Service, Task};
    /// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
    /// assert_eq!(task.utilization(), Rate::new(1, 5));
    /// ```
    pub fn implicit(name: impl Into<SmolStr>, wcet: Service, period: Duration) -> Task {
        Task {
            name: name.into(),
            period,
            deadline: period,
            wcet: smallvec![wcet],
            criticality: Criticality::default(),
            budget: None,
            offset: Duration::ZERO,
            jitter: Duration::ZERO,
            affinity: None,
            cluster: 0,
            rank: 0,
            priority: None,
            behaviour: Behaviour::Periodic,
            execution: ExecutionModel::Wcet,
            jobs: None,
            on_miss: OnMiss::Continue,
            tolerance: None,
            reclaim: false,
            preemption: Preemption::Anywhere,
            steps: None,
            follows: [].into(),
            let_interval: None,
            cache: None,
            blocking_time: Duration::ZERO,
            group: None,
            thread: None,
        }
    }

    /// The weakly hard constraints that it has to keep.
    pub fn constraints(&self) -> impl Iterator<Item = WeaklyHard> {
        self.tolerance.iter().flat_map(|tolerance| &tolerance.constraints).copied()
    }

    /// Returns true if it has a weakly hard constraint, which judges its late jobs in a run. A run does
    /// not decide a probability: without a constraint, each late job counts.
    pub fn has_constraints(&self) -> bool {
        self.constraints().next().is_some()
    }

    /// The greatest probability with which a job may be late, if the set states one.
    pub fn miss_probability(&self) -> Option<&MissProbability> {
        self.tolerance.as_ref()?.probability.as_ref()
    }

    /// The WCET at the task's own criticality level.
    pub fn own_wcet(&self) -> Service {
        self.wcet[self.criticality.level().min(self.wcet.len() - 1)]
    }

    /// The reserved processor time per period: the budget, or else the WCET.
    pub fn reservation(&self) -> Service {
        self.budget.unwrap_or_else(|| self.own_wcet())
    }

    /// The time from its release to the write of a job under logical execution time: see
    /// [`Communication::Let`](crate::Communication::Let).
    pub fn write_after(&self) -> Duration {
        self.let_interval.unwrap_or(self.period)
    }

    /// The maximum time, in whole nanoseconds, for which a job that has begun to execute keeps the
    /// CPU from a job that comes before it: the longest region, less the nanosecond in which it
    /// begins. A floating region begins when the other job arrives, and counts in full.
    /// [`blocking_time`](Self::blocking_time) is the opposite: the time for which others delay this
    /// task.
    ///
    /// ```
    /// use layland_model::{Duration, Preemption, Service, Task};
    /// let mut task = Task::implicit("frame", Service::from_ns(10), Duration::from_ns(50));
    /// assert_eq!(task.blocking(), Duration::ZERO);
    /// task.preemption = Preemption::Never;
    /// assert_eq!(task.blocking(), Duration::from_ns(9));
    /// task.preemption = Preemption::Delayed(Duration::from_ns(4));
    /// assert_eq!(task.blocking(), Duration::from_ns(4));
    /// task.preemption = Preemption::Between([6, 4].map(Service::from_ns).into());
    /// assert_eq!((task.blocking(), task.last_region()), (Duration::from_ns(5), Duration::from_ns(4)));
    /// ```
    pub fn blocking(&self) -> Duration {
        let one = Duration::from_ns(1);
        let whole = self.own_wcet().at_unit_speed() - one;
        match &self.preemption {
            Preemption::Anywhere => Duration::ZERO,
            Preemption::Never => whole,
            Preemption::Delayed(longest) => whole.min(*longest),
            Preemption::Between(segments) => {
                let longest = segments.iter().max().copied().unwrap_or_default();
                (longest.at_unit_speed() - one).max(Duration::ZERO)
            }
        }
    }

    /// The length of the part at the end of a job, when it executes its WCET, that is never
    /// interrupted: at least the last nanosecond.
    pub fn last_region(&self) -> Duration {
        let whole = self.own_wcet().at_unit_speed();
        match &self.preemption {
            Preemption::Anywhere | Preemption::Delayed(_) => Duration::from_ns(1),
            Preemption::Never => whole,
            Preemption::Between(segments) => {
                segments.last().map_or(whole, |last| last.at_unit_speed())
            }
        }
    }

    /// The arrival curve and its extra separation, if jobs arrive by a curve.
    pub fn curve_arrivals(&self) -> Option<&CurveArrivals> {
        match &self.behaviour {
            Behaviour::Curve(arrivals) => Some(arrivals),
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => None,
        }
    }

    /// The curve by which its jobs arrive, if it states more than the distance of two consecutive
    /// arrivals.
    pub fn bursts(&self) -> Option<&ArrivalCurve> {
        let arrivals = self.curve_arrivals()?;
        Some(&arrivals.curve).filter(|curve| !curve.is_sporadic())
    }

    /// WCET over period, `C / T`; with an arrival curve, the execution per time in the long run.
    pub fn utilization(&self) -> Rate {
        match self.bursts() {
            None => Rate::new(self.own_wcet().ns(), self.period.ns()),
            Some(curve) => {
                let (jobs, length) = curve.cycle();
                Rate::of_wide(
                    i128::from(self.own_wcet().ns()) * i128::from(jobs),
                    length.ns().into(),
                )
            }
        }
    }

    /// Adds the [utilization](Self::utilization) of a task of a valid system to a sum, faster than
    /// with a rate.
    pub fn add_utilization(&self, sum: &mut RateSum) {
        match self.bursts() {
            None => add_fraction(sum, self.own_wcet().ns(), self.period.ns()),
            Some(_) => sum.add(&self.utilization()),
        }
    }

    /// Adds the [density](Self::density) of a task of a valid system to a sum, faster than with a
    /// rate.
    pub fn add_density(&self, sum: &mut RateSum) {
        add_fraction(sum, self.own_wcet().ns(), self.deadline.min(self.period).ns());
    }

    /// WCET over the smaller of deadline and period.
    pub fn density(&self) -> Rate {
        Rate::new(self.own_wcet().ns(), self.deadline.min(self.period).ns())
    }
}

fn add_fraction(sum: &mut RateSum, numerator: i64, denominator: i64) {
    match (u128::try_from(numerator), u128::try_from(denominator)) {
        (Ok(numerator), Ok(denominator)) => sum.add_fraction(numerator, denominator),
        // In an invalid system, a time may be negative.
        _ => sum.add(&Rate::new(numerator, denominator)),
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}/{}", self.name, self.own_wcet(), self.period)?;
        if self.deadline != self.period {
            write!(f, "/{}", self.deadline)?;
        }
        Ok(())
    }
}
