//! Threads of others on the CPUs of admitted threads, and the theorem about those of a higher
//! class.
//!
//! Threads of SCHED_DEADLINE precede every thread of SCHED_FIFO, and both precede every thread of
//! sched_ext. A thread that was not admitted is accounted for in one of three ways:
//!
//! - Among admitted threads of SCHED_DEADLINE, it is one more reservation of its root domain.
//! - Above admitted threads of SCHED_FIFO, it is a [`Load`]; [`keeps_priorities`] has the rule.
//! - Above admitted threads of sched_ext, a task of EDF stands in for it, by the theorem below.
//!
//! # The theorem
//!
//! Let a thread of a higher class have the budget `Q` in each period `P`. EDF on one CPU of unit
//! speed keeps the deadlines of its tasks beside this thread if it keeps them beside a stand-in: a
//! task with jobs of `2 Q (D / P + 1)` every `D`, each due after `D`. `D` is the shortest
//! [window](Reservation::window) of the tasks on the CPU. The theorem is about deadlines alone. On
//! one CPU, [`admit`](super) grants a tardiness to servers only where it shows all deadlines.
//!
//! Assumes:
//! 1. The thread takes at most `Q` in each of its periods, which are at least `P` apart and begin
//!    at any time. Within that it uses the CPU whenever it likes.
//! 2. It stays: it was there before the jobs that are pending, and does not end shortly before a
//!    task is admitted in its place.
//! 3. The tasks fulfil the assumptions of [`admit`](super). Tasks that left, but still count, are
//!    among them.
//!
//! Proof. The thread takes at most `Q (t / P + 2)` of any interval of length `t > 0`, which at most
//! `t / P + 2` periods meet. A deadline is missed only at the end of an interval `[x, d)` in which the
//! CPU is busy with the thread and with jobs that arrive in the interval and are due in it. The
//! interval contains the whole window of the late job, so that `t = d - x >= D`. The
//! `k = floor(t / D) >= 1` jobs of the stand-in that are due in it demand
//! `2 k Q (D / P + 1) >= Q ((k + 1) D / P + 2) > Q (t / P + 2)`, which bounds the thread. The same
//! holds for the density rule, where tasks come and go. The density of the stand-in is
//! `2 Q (1 / P + 1 / D)`, and `D` is at most the window of the late job while that window lasts. So
//! over the interval the density sums to at least `2 Q (t / P + 1)`.
//!
//! The bound is **sufficient**. No such bound is known for several CPUs ([`OnSeveralCpus`]).

use super::beside::{
    Kept, LeavesRoom, Leveled, Load, Part, Usage, above, keeps_priorities, leaves_room,
};
use super::regime::Regime;
use super::register::{Admitted, Holding, Reservation};
use super::shortfall::{Shortfall, on};
use layland_model::{CpuId, CpuSet, Duration, Service, visible};
use std::collections::BTreeSet;
use std::fmt;

/// A thread of the machine that was not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outsider {
    /// The number of the thread.
    pub number: i32,
    /// The time at which it was started, in any unit: a number may be used again.
    pub started: u64,
    /// Its name.
    pub name: String,
    /// The CPUs that it may use.
    pub cpus: CpuSet,
}

/// An outsider with a reservation of SCHED_DEADLINE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgeted {
    /// The thread.
    pub thread: Outsider,
    /// Its budget in each period.
    pub runtime: Service,
    /// Its relative deadline.
    pub deadline: Duration,
    /// Its period.
    pub period: Duration,
}

/// An outsider of SCHED_FIFO or SCHED_RR. No reservation bounds its use, which is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The thread.
    pub thread: Outsider,
    /// The name of its class.
    pub class: &'static str,
    /// Its priority.
    pub priority: i32,
    /// The processor time that it used in the whole observation.
    pub used: Duration,
    /// The length of the observation.
    pub within: Duration,
    /// The most time used between two consecutive readings, and the longest interval between two,
    /// if there were several readings.
    pub in_short: Option<(Duration, Duration)>,
}

/// The demand on a machine besides its admitted threads.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// Threads of SCHED_DEADLINE.
    pub budgeted: Vec<Budgeted>,
    /// Threads of SCHED_FIFO and SCHED_RR with a priority that an admitted thread may have, or a
    /// higher one. Empty where admitted threads have budgets.
    pub watched: Vec<Watched>,
    /// The time that the kernel keeps from the admitted threads.
    pub kept: Vec<Kept>,
}

/// The reason why no deadline is promised: no bound is known on what a thread takes of several
/// CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "thread {} (`{}`) has SCHED_DEADLINE, and may run on {} before every thread of sched_ext",
    .0.number, .0.name, on(&.0.cpus)
)]
pub struct OnSeveralCpus(
    /// The thread, with those of its CPUs that admitted threads may use.
    pub Outsider,
);

/// Returns the runtime of the task that stands for a thread with `runtime` in each `period`, where
/// `shortest` is the shortest window of the tasks on its CPU: see the module's documentation. At
/// most `shortest`, which leaves no time to others.
fn stand_in(runtime: Service, period: Duration, shortest: Duration) -> Service {
    let (q, p) = (i128::from(runtime.ns()), i128::from(period.ns().max(1)));
    let most = (2 * q * (i128::from(shortest.ns()) + p) + p - 1) / p;
    Service::from_ns(i64::try_from(most).unwrap_or(i64::MAX).min(shortest.ns()))
}

impl Foreign {
    /// Adds the threads of SCHED_DEADLINE to the tasks that are analysed with a newcomer, if
    /// admitted threads have budgets.
    ///
    /// # Errors
    /// If a thread may use several CPUs before admitted threads that may do so, too.
    pub(super) fn take_part(
        &self,
        admitted: &mut Admitted,
        regime: Regime,
        newcomer: &Reservation,
    ) -> Result<(), OnSeveralCpus> {
        if !regime.has_budgets() {
            return Ok(());
        }
        let mut shares: Vec<(Reservation, CpuSet)> = Vec::new();
        for one in &self.budgeted {
            let Outsider { number, name, cpus, .. } = &one.thread;
            let name = format!("{name} ({number}, not admitted by layland)");
            let clusters = &admitted.platform.clusters;
            let met = clusters.iter().filter(|cluster| !cluster.is_disjoint(cpus));
            if !regime.is_ext() {
                // The thread runs in one root domain, which contains the CPUs that it may use.
                let place = met.fold(CpuSet::new(), |all, cluster| all.union(cluster));
                let mut task = Reservation::implicit(&name, one.runtime, one.period);
                task.deadline = one.deadline;
                shares.extend((!place.is_empty()).then_some((task, place)));
                continue;
            }
            for cluster in met {
                if cluster.len() > 1 {
                    let all = clusters.iter().fold(CpuSet::new(), |all, other| all.union(other));
                    let thread = Outsider { cpus: cpus.intersection(&all), ..one.thread.clone() };
                    return Err(OnSeveralCpus(thread));
                }
                let here = admitted.holdings.iter().filter(|holding| holding.cpus == *cluster);
                let windows = here.map(|holding| holding.task.window()).chain([newcomer.window()]);
                let shortest = windows.min().unwrap_or(one.period).max(Duration::from_ns(1));
                let runtime = stand_in(one.runtime, one.period, shortest);
                let name = format!("{name} on CPU {cluster}");
                shares.push((Reservation::implicit(name, runtime, shortest), cluster.clone()));
            }
        }
        for (at, (task, cpus)) in shares.into_iter().enumerate() {
            // Ids from the top never collide with those of admitted tasks, which count up.
            let id = u64::MAX - at as u64;
            admitted.holdings.push(Holding { id, task, cpus, left: None });
        }
        Ok(())
    }

    /// Returns the load that precedes the threads of SCHED_FIFO on a CPU.
    fn loads(&self, cpu: CpuId) -> Vec<Load> {
        // In a window, a thread of SCHED_DEADLINE can use the budgets of the periods in it and two
        // more: one late in its period, one early.
        let budgeted = self.budgeted.iter().filter(|one| one.thread.cpus.contains(cpu));
        let budgeted = budgeted.map(|one| Load {
            name: format!("{} ({}, SCHED_DEADLINE)", one.thread.name, one.thread.number),
            usage: Usage {
                runtime: one.runtime,
                period: one.period,
                extra: Service::from_ns(one.runtime.ns().saturating_mul(2)),
            },
            in_short: None,
            is_throttled: false,
        });
        // Each watched thread is assumed to use its measured time at once and at the worst instant:
        // that of the whole observation, and that between two readings.
        let is_used = |one: &&Watched| one.thread.cpus.contains(cpu) && one.used > Duration::ZERO;
        let watched = self.watched.iter().filter(is_used).map(|one| Load {
            name: one.to_string(),
            usage: twice(one.used, one.within),
            in_short: one.in_short.map(|(most, between)| twice(most, between)),
            is_throttled: true,
        });
        budgeted.chain(watched).collect()
    }

    /// Returns the loads above the admitted threads of SCHED_FIFO on these CPUs, with the fair
    /// server where it may act; none if the regime has budgets.
    pub(super) fn above(
        &self,
        regime: Regime,
        held: &[Holding],
        cpus: &CpuSet,
    ) -> Vec<(CpuId, Load)> {
        if regime.has_budgets() {
            return Vec::new();
        }
        let on_cpu = |cpu: CpuId| {
            let here = held.iter().filter(|holding| holding.cpus.contains(cpu));
            let tasks: Vec<Part> = here.map(|holding| Part::of_task(&holding.task)).collect();
            let (all, _) = above(&CpuSet::single(cpu), &tasks, &self.loads(cpu), &self.kept);
            all.into_iter().map(move |load| (cpu, load))
        };
        cpus.iter().flat_map(on_cpu).collect()
    }

    /// Checks that the reservations keep their guarantees on these CPUs beside the foreign load. If
    /// the regime has budgets, `held` includes the threads of SCHED_DEADLINE.
    ///
    /// # Errors
    /// The shortfall.
    pub(super) fn keep(
        &self,
        regime: Regime,
        held: &[Holding],
        cpus: &CpuSet,
    ) -> Result<LeavesRoom, Box<Shortfall>> {
        let here: Vec<&Holding> =
            held.iter().filter(|holding| !holding.cpus.is_disjoint(cpus)).collect();
        let key = |holding: &Holding| regime.key(&holding.task, holding.id);
        let keys: BTreeSet<_> = here.iter().filter_map(|holding| key(holding)).collect();
        if keys.is_empty() {
            return leaves_room(cpus, here.iter().map(|holding| &holding.task), &self.kept);
        }
        let leveled: Vec<Leveled<'_>> = (here.iter())
            .filter_map(|holding| {
                let own = key(holding)?;
                let level = keys.iter().position(|other| *other == own)?;
                Some(Leveled { task: &holding.task, level })
            })
            .collect();
        for cpu in cpus.iter() {
            keeps_priorities(&CpuSet::single(cpu), &leveled, &self.loads(cpu), &self.kept)?;
        }
        Ok(LeavesRoom::Always)
    }

    /// Returns the names of the threads that a promise on these CPUs accounts for.
    pub(super) fn names(&self, cpus: &CpuSet) -> Vec<String> {
        let loads = cpus.iter().flat_map(|cpu| self.loads(cpu));
        let names: BTreeSet<String> = loads.map(|load| load.name).collect();
        names.into_iter().collect()
    }

    /// Returns true if `known` does not account for something: another thread, a higher use, or
    /// another limit.
    pub fn has_more_than(&self, known: &Foreign) -> bool {
        // The measured use of a thread differs from one time to the next.
        let tolerance = |used: Duration| Duration::from_ns(used.ns() / 8) + Duration::from_us(200);
        let identity = |of: &Watched| (of.thread.clone(), of.class, of.priority);
        let is_counted = |now: &Watched| {
            let same = |of: &&Watched| identity(of) == identity(now);
            known.watched.iter().find(same).map_or(now.used <= tolerance(Duration::ZERO), |of| {
                now.used <= of.used + tolerance(of.used)
            })
        };
        self.kept != known.kept
            || self.budgeted.iter().any(|of| !known.budgeted.contains(of))
            || !self.watched.iter().all(is_counted)
    }
}

/// Bounds a load of `used` in any window of length `period`: an arbitrary window overlaps two of
/// the measured ones.
fn twice(used: Duration, period: Duration) -> Usage {
    let runtime = Service::from_ns(used.ns());
    Usage { runtime, period, extra: runtime }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Watched { thread, class, priority, used, within, .. } = self;
        let rounded = |time: &Duration| Duration::from_us(time.ns() / 1000);
        let (used, within) = (rounded(used), Duration::from_ms(within.ns() / 1_000_000));
        let name = visible(&thread.name);
        write!(f, "{name} ({}, {class} {priority}, used {used:#} in {within:#})", thread.number)
    }
}
