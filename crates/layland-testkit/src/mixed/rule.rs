//! Zero slack as a rule about all jobs at an instant, evaluated from scratch at every decision: the
//! slow twin of the heap of [`ZeroSlack`](layland_policy::criticality::zss::ZeroSlack).
//!
//! 1. Tasks of lower criticality than the highest critical job are suspended.
//! 2. [`Late::Suspend`]: among the late jobs of the other tasks, take the highest criticality `c`,
//!    then the highest priority. All other tasks with `z <= c` are suspended. [`Late::Demote`]: no
//!    further suspension.
//! 3. The remaining job of the highest priority that is not late runs. If there is none, the late
//!    job runs (with `demote`: higher criticality first, then priority).

use layland_model::{Duration, Time};
use layland_policy::criticality::mechanism::{Choice, Jobs, Mechanism, Pending};
use layland_policy::criticality::zss::Late;
use std::cmp::Reverse;

/// The rule.
#[derive(Clone, Debug)]
pub struct ZeroSlackRule {
    /// The tasks, highest priority first.
    pub order: Vec<usize>,
    /// The zero-slack instants, in nanoseconds.
    pub zero_slack: Vec<Option<i64>>,
    /// The treatment of late jobs.
    pub late: Late,
}

impl ZeroSlackRule {
    fn critical_at(&self, jobs: &Jobs, member: usize, job: &Pending) -> Time {
        let deadline = jobs.members()[member].deadline;
        match self.zero_slack[member] {
            Some(instant) if instant < deadline => {
                job.deadline - Duration::from_ns(deadline) + Duration::from_ns(instant)
            }
            _ => Time::NEVER,
        }
    }

    fn late_at(jobs: &Jobs, member: usize, job: &Pending) -> Time {
        let own = jobs.members()[member].criticality;
        let above = jobs.members().iter().any(|other| other.criticality > own);
        if above { job.deadline } else { Time::NEVER }
    }
}

impl Mechanism for ZeroSlackRule {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        jobs.abort_first(member);
    }

    fn wake_at(&self, jobs: &Jobs, now: Time) -> Time {
        let all = jobs.all().flat_map(|(member, job)| {
            [self.critical_at(jobs, member, job), Self::late_at(jobs, member, job)]
        });
        all.filter(|&at| at > now).min().unwrap_or(Time::NEVER)
    }

    fn select(&mut self, jobs: &Jobs, now: Time) -> Option<Choice> {
        let z = |member: usize| jobs.members()[member].criticality;
        let is_late = |member: usize, job: &Pending| Self::late_at(jobs, member, job) <= now;
        let critical = jobs.all().filter(|&(member, job)| {
            !is_late(member, job) && self.critical_at(jobs, member, job) <= now
        });
        let least = critical.map(|(member, _)| z(member)).max().unwrap_or(0);
        let by_priority = self.order.iter().copied().filter(|&member| z(member) >= least);
        let (late, other): (Vec<usize>, Vec<usize>) = by_priority
            .filter(|&member| jobs.first(member).is_some())
            .partition(|&member| jobs.first(member).is_some_and(|job| is_late(member, job)));
        // The first late task of the highest criticality.
        let late = late.into_iter().min_by_key(|&member| Reverse(z(member)));
        let is_suspended = |member: usize| match (self.late, late) {
            (Late::Suspend, Some(late)) => z(member) <= z(late),
            (Late::Suspend, None) | (Late::Demote, _) => false,
        };
        let member = other.into_iter().find(|&member| !is_suspended(member)).or(late)?;
        Some(Choice { member, limit: Some(jobs.members()[member].own_bound()) })
    }
}
