//! What else may have the CPUs on which threads are admitted: threads of others, and what the kernel keeps for ordinary
//! threads. The rules are those of `layland_guarantee::admission`.

use super::args::Policy;
use super::foreign::Foreign;
use layland_guarantee::admission::{
    Holding, Kept, LeavesRoom, Leveled, Load, Shortfall, Usage, keeps_priorities, leaves_room,
};
use layland_linux::Member;
use layland_linux::exec::{Rival, Used, foreign_deadline, rivals, watch};
use layland_model::{CpuId, CpuSet, Duration, Index, Service};
use std::collections::BTreeSet;

/// The highest priority of SCHED_FIFO that is given to anybody.
pub(crate) const HIGHEST: i32 = 90;

/// For how long threads of others are watched before anybody is admitted beside them.
const WATCHED: Duration = Duration::from_secs(1);

/// A thread of SCHED_FIFO or SCHED_RR that nobody has admitted, and what it was seen to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) rival: Rival,
    pub(crate) used: Duration,
    pub(crate) within: Duration,
    /// The most from one look to the next, and the longest time between two, where it was looked at several times.
    pub(crate) in_short: Option<(Duration, Duration)>,
}

/// Threads that nobody has admitted, and what the kernel keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strangers {
    pub(crate) deadline: Vec<Foreign>,
    pub(crate) rivals: Vec<Watched>,
    pub(crate) kept: Vec<Kept>,
}

impl Strangers {
    /// Those that come before the threads of a policy, of which there are so many with the newcomer. Threads whose use
    /// no reservation bounds are watched for a second, if there are any.
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

    /// What takes time from the threads of SCHED_FIFO on a CPU. Of a reservation of the kernel, a window has at most
    /// what its periods have, and two budgets more: one late in its period, one early.
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
        // All that was seen at once, at the worst time: of the whole watch, and from one look to the next.
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

    /// Whether those who are held keep their guarantees beside all this, as far as these CPUs are concerned. Those of
    /// SCHED_DEADLINE that nobody has admitted are among the held, where the policy has budgets.
    ///
    /// # Errors
    /// What is missing.
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

    /// The threads of others that a promise on these CPUs counts.
    pub(crate) fn names(&self, cpus: &CpuSet) -> Vec<String> {
        let loads = cpus.iter().flat_map(|cpu| self.loads(cpu));
        let names: BTreeSet<String> = loads.map(|load| load.name).collect();
        names.into_iter().collect()
    }

    /// Whether there is something that the other does not count: another thread, one that uses more, another limit.
    pub(crate) fn has_more_than(&self, known: &Strangers) -> bool {
        // What a thread uses is never the same twice.
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

/// So much in every window of a length that was seen: wherever that begins, it meets two of those.
fn twice(used: Duration, period: Duration) -> Usage {
    let runtime = Service::from_ns(used.ns());
    Usage { runtime, period, extra: runtime }
}

/// The lowest priority of SCHED_FIFO that one of so many threads may have.
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
