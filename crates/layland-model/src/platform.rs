//! The machine: CPUs with their speeds, clusters, named topology, overheads.

use crate::{CpuId, CpuMap, CpuSet, Duration, Rate, Service};
use std::collections::BTreeMap;
use std::fmt;

/// The amount of work that a CPU does per unit of time: an exact positive fraction, 1 by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Speed {
    numerator: i64,
    denominator: i64,
}

impl Speed {
    /// One unit of work per unit of time.
    pub const UNIT: Speed = Speed { numerator: 1, denominator: 1 };
    /// The maximum numerator and denominator of a speed in lowest terms.
    pub const LIMIT: i64 = 1_000_000;

    /// Creates a speed. Returns `None` unless it is positive and within [`Speed::LIMIT`] in lowest
    /// terms.
    pub fn new(rate: &Rate) -> Option<Speed> {
        let (numerator, denominator) = rate.as_i64_pair()?;
        let in_range = |x| (1..=Self::LIMIT).contains(&x);
        (in_range(numerator) && in_range(denominator)).then_some(Speed { numerator, denominator })
    }

    /// The numerator, in lowest terms.
    pub const fn numerator(self) -> i64 {
        self.numerator
    }
    /// The denominator, in lowest terms.
    pub const fn denominator(self) -> i64 {
        self.denominator
    }
    /// Converts to a rate.
    pub fn rate(self) -> Rate {
        Rate::new(self.numerator, self.denominator)
    }
    /// The time that this CPU needs for some work, rounded up to a whole nanosecond.
    ///
    /// ```
    /// use layland_model::{Duration, Rate, Service, Speed};
    /// let half = Speed::new(&Rate::new(1, 2)).unwrap();
    /// assert_eq!(half.time_for(Service::from_ms(3)), Duration::from_ms(6));
    /// ```
    pub fn time_for(self, work: Service) -> Duration {
        if self == Self::UNIT {
            return work.at_unit_speed();
        }
        let scaled = i128::from(work.ns()) * i128::from(self.denominator);
        let ns = num_integer::Integer::div_ceil(&scaled, &i128::from(self.numerator));
        Duration::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self::UNIT
    }
}
impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rate().fmt(f)
    }
}

/// The time that a real machine spends besides executing jobs. All times are zero by default: an
/// ideal machine.
///
/// Layland's simulator charges them as processor time during which no job makes progress:
///
/// | overhead | paid | by |
/// |---|---|---|
/// | `release` | when a job becomes ready | the lowest CPU of the task's cluster, which serves the timers |
/// | `scheduling` | when a decision makes a CPU run another job, or none | that CPU, before the switch |
/// | `context_switch` | when a CPU starts a job other than the one it ran last | that CPU |
/// | `migration` | when a job resumes on another CPU than where it last ran | the new CPU |
/// | `interrupt` | when another CPU makes a CPU switch | that CPU |
/// | `tick` | every `tick_period` | every CPU |
/// | `block_reload_time` | for each useful cache block that others evicted, when a job resumes | that CPU |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// The time to serve the release of one job.
    pub release: Duration,
    /// The time of one scheduling decision.
    pub scheduling: Duration,
    /// The time to switch to another job.
    pub context_switch: Duration,
    /// The loss of cache contents when a job migrates that has already run.
    pub migration: Duration,
    /// Latency of an inter-processor interrupt.
    pub interrupt: Duration,
    /// The time of one timer tick.
    pub tick: Duration,
    /// The period of the timer; required if `tick` is not zero.
    pub tick_period: Duration,
    /// The time to reload one cache block that a job had in the cache of its CPU and another job
    /// has evicted: the *block reload time* (BRT). It applies to tasks that state which sets they
    /// [use](crate::Task::cache).
    pub block_reload_time: Duration,
}

impl Overheads {
    /// Returns true if the machine is ideal.
    pub fn is_zero(&self) -> bool {
        *self == Overheads { tick_period: self.tick_period, ..Overheads::default() }
    }

    /// These overheads without reloads of cache blocks.
    ///
    /// ```
    /// use layland_model::{Duration, Overheads};
    /// let brt = Overheads { block_reload_time: Duration::from_us(8), ..Overheads::default() };
    /// assert!(!brt.is_zero() && brt.without_reloads().is_zero());
    /// ```
    #[must_use]
    pub fn without_reloads(&self) -> Overheads {
        Overheads { block_reload_time: Duration::ZERO, ..self.clone() }
    }
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The speed of each CPU; its length is the number of CPUs.
    pub speeds: CpuMap<Speed>,
    /// Disjoint sets of CPUs (cpusets, root domains). By default one cluster with every CPU.
    pub clusters: Vec<CpuSet>,
    /// Named sets of CPUs, for use in affinities: `l3` may be two sets, `l3:0` and `l3:1`.
    pub topology: BTreeMap<String, Vec<CpuSet>>,
    /// The time that the machine spends besides executing jobs.
    pub overheads: Overheads,
}

impl Platform {
    /// A platform of `cpus` unit-speed CPUs in one cluster.
    pub fn identical(cpus: usize) -> Platform {
        Platform {
            speeds: CpuMap::filled(Speed::UNIT, cpus),
            clusters: vec![CpuSet::first(cpus)],
            topology: BTreeMap::new(),
            overheads: Overheads::default(),
        }
    }

    /// The number of CPUs.
    pub fn cpu_count(&self) -> usize {
        self.speeds.len()
    }

    /// Every CPU, ascending.
    pub fn cpus(&self) -> impl DoubleEndedIterator<Item = CpuId> + ExactSizeIterator + use<> {
        self.speeds.ids()
    }

    /// The set of every CPU.
    pub fn all_cpus(&self) -> CpuSet {
        CpuSet::first(self.cpu_count())
    }

    /// The index of the cluster of a CPU, if it belongs to one.
    pub fn cluster_of(&self, cpu: CpuId) -> Option<usize> {
        self.clusters.iter().position(|cluster| cluster.contains(cpu))
    }

    /// The highest speed of a CPU; unit speed if there is no CPU.
    pub fn fastest(&self) -> Speed {
        let all = self.speeds.values().copied();
        all.max_by(|a, b| a.rate().cmp(&b.rate())).unwrap_or_default()
    }

    /// Returns true if every CPU has unit speed.
    pub fn is_unit_speed(&self) -> bool {
        self.speeds.values().all(|&speed| speed == Speed::UNIT)
    }
}
