//! Zero-slack scheduling (**ZSS**): rate-monotonic priorities, and a zero-slack instant per task at which
//! the tasks of lower criticality are suspended (de Niz, Lakshmanan and Rajkumar 2009; Huang, Gill, Lu
//! 2014, Sections 2.3 and 5.1).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `Z_i` | `zero_slack` | the instant, relative to the release; none or `Z_i = D_i`: no timer |
//! | critical | from `r + Z_i` on | tasks with `z < z_i` are suspended until the job completes |
//! | late | from `r + D_i` on | the job falls behind all others; not at the highest criticality that occurs |
//!
//! A job that is late is no longer critical. What runs is a function of the jobs and the time:
//!
//! 1. tasks of lower criticality than the highest critical one are suspended;
//! 2. [`Late::Suspend`] (the paper): among the late jobs, take the highest criticality `c`, then the
//!    highest priority: all other tasks with `z <= c` are suspended. [`Late::Demote`]: nothing more;
//! 3. the highest priority among the rest that is not late runs; if there is none, the late job (with
//!    `demote`: higher criticality first, then priority).
//!
//! Jobs of one task run in the order of their releases, so a task is late as long as its first job is.
//! This is the rule that the paper's heap of criticalities computes step by step; the heap as printed
//! pushes twice for a job that becomes critical and then late, and never wakes the second of two late
//! tasks of one criticality. Every job is cut off at `C_i(z_i)`.

use super::mechanism::{Choice, Jobs, Mechanism, Pending, highest, places};
use layland_model::{Duration, Time};

/// What a late job does to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Late {
    /// It suspends the tasks up to its own criticality.
    #[default]
    Suspend,
    /// It only runs when nothing else can.
    Demote,
}

/// Fixed task priorities with zero-slack instants.
#[derive(Clone, Debug)]
pub struct ZeroSlack {
    place: Vec<usize>,
    /// Where they are before the deadline.
    zero_slack: Vec<Option<i64>>,
    late: Late,
}

impl ZeroSlack {
    /// With an order of the tasks, highest priority first, and their zero-slack instants in nanoseconds.
    pub fn new(order: &[usize], zero_slack: &[Option<i64>], late: Late) -> ZeroSlack {
        ZeroSlack { place: places(order), zero_slack: zero_slack.to_vec(), late }
    }

    /// When a job becomes critical, if it does.
    fn critical_at(&self, jobs: &Jobs, member: usize, job: &Pending) -> Option<Time> {
        let deadline = jobs.members()[member].deadline;
        let zero_slack = self.zero_slack[member].filter(|&instant| instant < deadline)?;
        Some(job.deadline - Duration::from_ns(deadline - zero_slack))
    }

    /// When a job becomes late, if it does.
    fn late_at(jobs: &Jobs, member: usize, job: &Pending) -> Option<Time> {
        let highest = jobs.members().iter().map(|member| member.criticality).max();
        (Some(jobs.members()[member].criticality) < highest).then_some(job.deadline)
    }

    fn is_late(jobs: &Jobs, member: usize, job: &Pending, now: Time) -> bool {
        Self::late_at(jobs, member, job).is_some_and(|at| at <= now)
    }
}

impl Mechanism for ZeroSlack {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        jobs.abort_first(member);
    }

    fn wake_at(&self, jobs: &Jobs, now: Time) -> Time {
        let instants = jobs.all().flat_map(|(member, job)| {
            let late = Self::late_at(jobs, member, job);
            [self.critical_at(jobs, member, job), late].into_iter().flatten()
        });
        instants.filter(|&at| at > now).min().unwrap_or(Time::NEVER)
    }

    fn select(&mut self, jobs: &Jobs, now: Time) -> Option<Choice> {
        let criticality = |member: usize| jobs.members()[member].criticality;
        let is_critical = |&(member, job): &(usize, &Pending)| {
            !Self::is_late(jobs, member, job, now)
                && self.critical_at(jobs, member, job).is_some_and(|at| at <= now)
        };
        let critical = jobs.all().filter(is_critical);
        let least = critical.map(|(member, _)| criticality(member)).max().unwrap_or(0);
        let is_late = |member: usize| {
            jobs.first(member).is_some_and(|job| Self::is_late(jobs, member, job, now))
        };
        let place = &self.place;
        // Of the late jobs, the one that is left.
        let late = jobs
            .pending()
            .filter(|&member| criticality(member) >= least && is_late(member))
            .min_by_key(|&member| (std::cmp::Reverse(criticality(member)), place[member]));
        let above = match (self.late, late) {
            (Late::Suspend, Some(late)) => criticality(late) + 1,
            (Late::Suspend, None) | (Late::Demote, _) => least,
        };
        let member = highest(jobs, place, |member| {
            criticality(member) >= above.max(least) && !is_late(member)
        })
        .or(late)?;
        Some(Choice { member, limit: Some(jobs.members()[member].own_bound()) })
    }
}
