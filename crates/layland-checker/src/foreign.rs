//! Threads outside the set that ran on a CPU while a job waited for it.

use super::{Checker, Violation};
use layland_model::{CpuId, Duration, Time};
use std::collections::BTreeMap;

impl Checker<'_> {
    /// Returns the violation for a job that waits from `at` to at least `until` while no job holds
    /// this CPU.
    ///
    /// If other threads held the CPU for most of that time, the violation names the one that held
    /// it longest.
    pub(super) fn unused(
        &self,
        waiting: usize,
        cpu: CpuId,
        (at, until): (Time, Time),
    ) -> Violation {
        let job = self.name_at(waiting);
        let mut shares: BTreeMap<&str, Duration> = BTreeMap::new();
        // On each CPU the entries are ordered by start and disjoint.
        let first = self.foreign.partition_point(|run| (run.cpu, run.end) <= (cpu, at));
        for run in &self.foreign[first..] {
            if run.cpu != cpu || run.start >= until {
                break;
            }
            let share = run.end.min(until) - run.start.max(at);
            *shares.entry(run.thread.as_str()).or_default() += share;
        }
        let others = shares.values().fold(Duration::ZERO, |sum, &share| sum + share);
        match shares.into_iter().max_by_key(|&(_, share)| share) {
            Some((thread, _)) if others + others > until - at => {
                Violation::Occupied { job, cpu, at, thread: thread.to_owned() }
            }
            Some(_) | None => Violation::IdleWhileWaiting { job, cpu, at },
        }
    }
}
