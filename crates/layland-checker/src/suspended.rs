//! The intervals in which jobs suspend themselves, and thus are not ready, in a trace of the world.

use super::Checker;
use layland_model::Time;
use layland_trace::MarkKind;
use std::collections::BTreeMap;

impl Checker<'_> {
    /// Returns the suspensions of each job by the marks of the trace.
    pub(super) fn suspensions(&self) -> BTreeMap<usize, Vec<(Time, Time)>> {
        let mut suspended: BTreeMap<usize, Vec<(Time, Time)>> = BTreeMap::new();
        for mark in &self.trace.marks {
            match mark.kind {
                MarkKind::Suspended(id) => {
                    if let Some(job) = self.find(id) {
                        suspended.entry(job).or_default().push((mark.at, self.trace.over));
                    }
                }
                MarkKind::Resumed(id) => {
                    let job = self.find(id);
                    let stretches = job.and_then(|job| suspended.get_mut(&job));
                    if let Some((_, to)) = stretches.and_then(|stretches| stretches.last_mut()) {
                        *to = mark.at.min(*to);
                    }
                }
                MarkKind::BudgetExhausted(..)
                | MarkKind::CpuOnline(_)
                | MarkKind::CpuOffline(_)
                | MarkKind::Speed(..)
                | MarkKind::Lock(..)
                | MarkKind::Note(_) => {}
            }
        }
        suspended
    }

    /// Returns the intervals within `[from, end)` in which a job was ready, that is, not suspended.
    pub(super) fn ready_within(&self, job: usize, from: Time, end: Time) -> Vec<(Time, Time)> {
        let mut ready = Vec::new();
        let mut since = from;
        for &(leaves, comes) in self.suspended.get(&job).into_iter().flatten() {
            if leaves > since {
                ready.push((since, leaves.min(end)));
            }
            since = since.max(comes);
        }
        ready.push((since, end));
        ready.retain(|(from, to)| from < to);
        ready
    }
}
