//! The foreign load of the CPUs on which threads are admitted: threads of others, and the time that
//! the kernel keeps for ordinary threads. The rules are those of `layland_guarantee::admission`.

use super::args::Policy;
use super::foreign::Foreign;
use layland_guarantee::admission::{
    Holding, Kept, LeavesRoom, Leveled, Load, Shortfall, Usage, keeps_priorities, leaves_room,
};
use layland_linux::Member;
use layland_linux::exec::{Rival, Used, foreign_deadline, rivals, watch};
use layland_model::{CpuId, CpuSet, Duration, Index, Service};
use std::collections::BTreeSet;

/// The highest priority of SCHED_FIFO that any thread gets.
pub(crate) const HIGHEST: i32 = 90;

/// The time for which foreign threads are watched before a thread is admitted beside them.
const WATCHED: Duration = Duration::from_secs(1);

/// A foreign thread of SCHED_FIFO or SCHED_RR, and its measured use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) rival: Rival,
    pub(crate) used: Duration,
    pub(crate) within: Duration,
    /// The most time used between two consecutive looks, and the longest interval between two, if
    /// there were several looks.
    pub(crate) in_short: Option<(Duration, Duration)>,
}

/// Foreign threads, and the time that the kernel keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strangers {
    pub(crate) deadline: Vec<Foreign>,
    pub(crate) rivals: Vec<Watched>,
    pub(crate) kept: Vec<Kept>,
}

impl Strangers {
    /// Finds the threads that precede the threads of a policy, of which there are `count` with the
    /// newcomer. If there are threads whose use no reservation bounds, they are watched for a
    /// second.
    pub(crate) fn look(
        policy: Policy,
        members: &[Member],
        kept: &[Kept],
        count: usize,
    ) -> Strangers {
        let deadline = foreign_deadline(members);
        let kept = kept.to_vec();
        if policy.has_budgets() {
            return Strangers { deadline, rivals: Vec::new(), kept };
        }
        let found = rivals(members, lowest(count));
        let rivals = if found.is_empty() { Vec::new() } else { watch(found, WATCHED) };
        let watched = |of: Used| {
            let Used { rival, whole: used, within, most, between } = of;
            Watched { rival, used, within, in_short: Some((most, between)) }
        };
        Strangers { deadline, rivals: rivals.into_iter().map(watched).collect(), kept }
    }

    /// Returns the load that precedes the threads of SCHED_FIFO on a CPU. A kernel reservation can
    /// use, in a window, the budgets of the periods in it and two more: one late in its period, one
    /// early.
    fn loads(&self, cpu: CpuId) -> Vec<Load> {
        let has = |cpus: &[usize]| cpus.contains(&cpu.index());
        let deadline = self.deadline.iter().filter(|(_, _, cpus)| has(cpus));
        let deadline = deadline.map(|(thread, reservation, _)| Load {
            name: format!("{} ({}, SCHED_DEADLINE)", thread.name, thread.tid.0),
            usage: Usage {
                runtime: Service::from_ns(reservation.runtime.ns()),
                period: reservation.period,
                extra: Service::from_ns(reservation.runtime.ns().saturating_mul(2)),
            },
            in_short: None,
            is_throttled: false,
        });
        // Each rival is assumed to use its measured time at once and at the worst instant: that of
        // the whole watch, and that between two looks.
        let rivals =
            self.rivals.iter().filter(|it| has(&it.rival.cpus) && it.used > Duration::ZERO);
        let rivals = rivals.map(|watched| Load {
            name: watched.to_string(),
            usage: twice(watched.used, watched.within),
            in_short: watched.in_short.map(|(most, between)| twice(most, between)),
            is_throttled: true,
        });
        deadline.chain(rivals).collect()
    }

    /// Checks that the reservations keep their guarantees on these CPUs beside the foreign load. If
    /// the policy has budgets, `held` includes the foreign threads of SCHED_DEADLINE.
    ///
    /// # Errors
    /// Returns the shortfall.
    pub(crate) fn keep(
        &self,
        policy: Policy,
        held: &[Holding],
        cpus: &CpuSet,
    ) -> Result<LeavesRoom, Box<Shortfall>> {
        let here: Vec<&Holding> =
            held.iter().filter(|holding| !holding.cpus.is_disjoint(cpus)).collect();
        let key = |holding: &Holding| {
            let task = &holding.task;
            match policy {
                Policy::PDm => Some((task.deadline.ns(), holding.id)),
                Policy::PRm => Some((task.period.ns(), holding.id)),
                Policy::PFp => Some((task.priority.unwrap_or(0), 0)),
                Policy::Dl | Policy::PEdf | Policy::DlSp | Policy::Apedf | Policy::A2pedf => None,
            }
        };
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

    /// Returns the names of the foreign threads that a promise on these CPUs accounts for.
    pub(crate) fn names(&self, cpus: &CpuSet) -> Vec<String> {
        let loads = cpus.iter().flat_map(|cpu| self.loads(cpu));
        let names: BTreeSet<String> = loads.map(|load| load.name).collect();
        names.into_iter().collect()
    }

    /// Returns true if `known` does not account for something: another thread, a higher use, or
    /// another limit.
    pub(crate) fn has_more_than(&self, known: &Strangers) -> bool {
        // The measured use of a thread differs from one time to the next.
        let tolerance = |used: Duration| Duration::from_ns(used.ns() / 8) + Duration::from_us(200);
        let is_counted = |now: &Watched| {
            let same = |of: &&Watched| of.rival == now.rival;
            known.rivals.iter().find(same).map_or(now.used <= tolerance(Duration::ZERO), |of| {
                now.used <= of.used + tolerance(of.used)
            })
        };
        self.kept != known.kept
            || self.deadline.iter().any(|of| !known.deadline.contains(of))
            || !self.rivals.iter().all(is_counted)
    }
}

/// Bounds a load of `used` in any window of length `period`: an arbitrary window overlaps two of
/// the measured ones.
fn twice(used: Duration, period: Duration) -> Usage {
    let runtime = Service::from_ns(used.ns());
    Usage { runtime, period, extra: runtime }
}

/// Returns the lowest SCHED_FIFO priority that one of `count` threads may have.
pub(crate) fn lowest(count: usize) -> i32 {
    (HIGHEST - i32::try_from(count).unwrap_or(HIGHEST) + 1).max(1)
}

impl std::fmt::Display for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Watched { rival: Rival { thread, class, priority, .. }, used, within, .. } = self;
        let rounded = |time: &Duration| Duration::from_us(time.ns() / 1000);
        let (used, within) = (rounded(used), Duration::from_ms(within.ns() / 1_000_000));
        let name = layland_model::visible(&thread.name);
        write!(f, "{name} ({}, {class} {priority}, used {used:#} in {within:#})", thread.tid.0)
    }
}
