//! The aborts of [`JobOrder::Feasible`](layland_model::JobOrder::Feasible): a job is aborted at the
//! first instant at which it is infeasible, and at no other. The order of the jobs that run is checked
//! as for any order (`highest_first.rs`).
//!
//! A job that waits needs its WCET on the fastest CPU, less the time for which it has held CPUs, and
//! at least one nanosecond. A job that runs is credited with every nanosecond, so it is infeasible at
//! its deadline at the earliest.
//!
//! On a real machine a job may be aborted late, by the latency of each of its segments. The tasks
//! whose WCETs change are not checked, because the trace does not show from when on the change
//! counts.

use super::{Checker, Violation};
use layland_model::{Duration, Group, OnMiss, Time};
use layland_trace::JobEnd;

const TICK: Duration = Duration::from_ns(1);

impl Checker<'_> {
    pub(super) fn check_feasible(&mut self, groups: &[Group]) {
        let mut held: Vec<Vec<(Time, Time)>> = vec![Vec::new(); self.trace.jobs.len()];
        for segment in &self.sound {
            held[segment.job].push((segment.start, segment.end));
        }
        for (index, mut held) in held.into_iter().enumerate() {
            let record = &self.trace.jobs[index];
            let (id, deadline) = (record.job.id, record.job.deadline);
            let is_served = groups.iter().any(|group| group.tasks.contains(&id.task));
            if !is_served || self.gets_another_wcet(id.task) {
                continue;
            }
            held.sort_unstable();
            let first = self.infeasible_at(index, &held);
            let slack = Duration::from_ns(self.slack_of(id)) + self.latency;
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            // A job that is skipped is never ready.
            let is_skipped =
                self.is_given_up_by(record, OnMiss::Skip) && self.ready[index].0 >= end;
            match record.end {
                _ if is_skipped => {}
                Some((at, JobEnd::Aborted)) if at + slack < first => {
                    self.violated(|this| Violation::AbortedFeasible {
                        job: this.name_at(index),
                        at,
                        deadline,
                    });
                }
                Some((_, JobEnd::Completed | JobEnd::Aborted | JobEnd::Left)) | None => {
                    if end > first.saturating_add(slack) {
                        self.violated(|this| Violation::Infeasible {
                            job: this.name_at(index),
                            at: first,
                            deadline,
                        });
                    }
                }
            }
        }
    }

    /// Returns the first instant at which a job is infeasible, if it does not end before.
    fn infeasible_at(&self, index: usize, held: &[(Time, Time)]) -> Time {
        let job = &self.trace.jobs[index].job;
        let Some(task) = self.system.tasks.get(job.id.task) else { return Time::NEVER };
        let mut need = self.system.platform.fastest().time_for(task.own_wcet());
        let (mut since, _) = self.ready[index];
        for &(start, stop) in held {
            let first = (job.deadline - need.max(TICK) + TICK).max(since);
            if first <= start {
                return first;
            }
            if job.deadline <= stop {
                return job.deadline.max(since);
            }
            need -= stop - start;
            since = stop;
        }
        (job.deadline - need.max(TICK) + TICK).max(since)
    }
}
