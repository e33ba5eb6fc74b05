//! Who ran instead: threads that are not in the set, on a CPU that no job had.

use super::{Checker, Violation};
use layland_model::{CpuId, Duration, Time};
use std::collections::BTreeMap;

impl Checker<'_> {
    /// A job waits at `at`, and until `until` at least, while no job has this CPU: who had it?
    ///
    /// The thread that had it longest is named, if others had the CPU for the larger part of that time.
    pub(super) fn unused(
        &self,
        waiting: usize,
        cpu: CpuId,
        (at, until): (Time, Time),
    ) -> Violation {
        let job = self.name_at(waiting);
        let mut shares: BTreeMap<&str, Duration> = BTreeMap::new();
        // They are in the order of their starts on each CPU, and disjoint.
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
