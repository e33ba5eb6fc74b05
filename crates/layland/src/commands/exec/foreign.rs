//! Finds the foreign load of the machine: threads that were not admitted.
//! `layland_guarantee::admission` decides what it means for admitted threads.

use layland_guarantee::admission::{Budgeted, Foreign, Kept, Outsider, Regime, Watched, lowest};
use layland_linux::Member;
use layland_linux::exec::{Reservation, Rival, Thread, Tid, Used, foreign_deadline, rivals, watch};
use layland_model::{CpuId, CpuSet, Duration, Index, Service};

/// The time for which foreign threads are watched before a thread is admitted beside them.
const WATCHED: Duration = Duration::from_secs(1);

/// The threads that precede the admitted threads of a regime.
pub(crate) struct Look<'a> {
    pub(crate) regime: Regime,
    pub(crate) members: &'a [Member],
    /// The time that the kernel keeps from real-time threads.
    pub(crate) kept: &'a [Kept],
    /// The number of admitted threads, with the newcomers.
    pub(crate) count: usize,
    /// Threads for which a reservation is requested. Their current scheduling class does not count.
    pub(crate) meant: &'a [Tid],
}

impl Look<'_> {
    /// Finds the foreign load. If there are threads whose use no reservation bounds, they are
    /// watched for a second.
    pub(crate) fn now(&self) -> Foreign {
        self.foreign(|rivals| {
            if rivals.is_empty() {
                Vec::new()
            } else {
                watch(rivals, WATCHED).into_iter().map(watched).collect()
            }
        })
    }

    /// Finds the foreign load, where `measure` has the use of threads that no reservation bounds.
    pub(super) fn foreign(&self, measure: impl FnOnce(Vec<Rival>) -> Vec<Watched>) -> Foreign {
        let is_foreign = |thread: &Thread| !self.meant.contains(&thread.tid);
        let budgeted = foreign_deadline(self.members).into_iter();
        let budgeted = budgeted.filter(|(thread, ..)| is_foreign(thread)).map(budgeted_of);
        let watched = if self.regime.has_budgets() {
            Vec::new()
        } else {
            let mut found = rivals(self.members, lowest(self.count));
            found.retain(|rival| is_foreign(&rival.thread));
            measure(found)
        };
        // Threads of sched_ext run after ordinary ones, so no time is kept from them.
        let kept = if self.regime.is_ext() { Vec::new() } else { self.kept.to_vec() };
        Foreign { budgeted: budgeted.collect(), watched, kept }
    }
}

fn outsider(thread: Thread, cpus: &[usize]) -> Outsider {
    let cpus: CpuSet = cpus.iter().map(|&cpu| CpuId::from_index(cpu)).collect();
    Outsider { number: thread.tid.0, started: thread.started, name: thread.name, cpus }
}

fn budgeted_of((thread, has, cpus): (Thread, Reservation, Vec<usize>)) -> Budgeted {
    let Reservation { runtime, deadline, period } = has;
    let runtime = Service::from_ns(runtime.ns());
    Budgeted { thread: outsider(thread, &cpus), runtime, deadline, period }
}

/// Returns a thread with its measured use.
pub(super) fn used_of(rival: Rival, used: Duration, within: Duration) -> Watched {
    let Rival { thread, class, priority, cpus } = rival;
    Watched { thread: outsider(thread, &cpus), class, priority, used, within, in_short: None }
}

fn watched(of: Used) -> Watched {
    let Used { rival, whole, within, most, between } = of;
    Watched { in_short: Some((most, between)), ..used_of(rival, whole, within) }
}
