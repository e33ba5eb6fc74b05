//! Period transformation (**PT**): a deferrable server per task that gives each job its budget in slices
//! (Sha, Lehoczky and Rajkumar 1986; Huang, Gill, Lu 2014, Sections 2.1 and 5.2).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `n_i` | `slices` | the number of slices of a period |
//! | `T_i / n_i` | `length` | the length of a slice, rounded down |
//! | `C_i(z_i) / n_i` | `budget` | the budget of a slice, rounded up |
//!
//! Servers are anchored at the releases: the budget of a job is full at its release and `k` slices
//! later, `k = 1..n-1`. The unused budget of a slice is lost. A job without budget waits for its
//! next slice. A job is aborted when it has executed for `C_i(z_i)` in total, or when the next job
//! of its task arrives before it completes. A budget is used only while its job runs.

use super::mechanism::{Choice, Jobs, Mechanism, Pending, highest, places};
use super::order::Order;
use crate::Note;
use layland_model::{Duration, Time};
pub use layland_offline::criticality::period_transformation::Slices;

/// Fixed task priorities over deferrable servers.
#[derive(Clone, Debug)]
pub struct Transformed {
    place: Vec<usize>,
    slices: Vec<Slices>,
}

impl Transformed {
    /// Returns the mechanism for an order of the tasks, highest priority first, and their slices.
    pub fn new(order: &[usize], slices: Vec<Slices>) -> Transformed {
        Transformed { place: places(order), slices }
    }

    /// Returns the index of the slice that a job is in now.
    fn slice(&self, member: usize, job: &Pending, now: Time) -> i64 {
        let Slices { count, length, .. } = self.slices[member];
        ((now - job.release).ns() / length).clamp(0, count - 1)
    }

    /// Returns the end of the slice of a job; `None` for the last one.
    fn next(&self, member: usize, job: &Pending) -> Option<Time> {
        let Slices { count, length, .. } = self.slices[member];
        (job.slice + 1 < count)
            .then(|| job.release.saturating_add(Duration::from_ns((job.slice + 1) * length)))
    }
}

impl Mechanism for Transformed {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        let TransformedTask { own, task } = TransformedTask::of(jobs, member);
        if jobs.first(member).is_some_and(|job| job.executed >= own) {
            jobs.abort_first(member);
        } else {
            jobs.note(Note::Throttled { task });
        }
    }

    fn advance(&mut self, jobs: &mut Jobs, now: Time) {
        let is_next = |member: &usize| {
            let first = jobs.first(*member);
            first.is_some_and(|job| self.slice(*member, job, now) > job.slice)
        };
        let next: Vec<usize> = jobs.pending().filter(is_next).collect();
        for member in next {
            let Slices { length, budget, .. } = self.slices[member];
            let TransformedTask { own, task } = TransformedTask::of(jobs, member);
            if let Some(job) = jobs.first_mut(member) {
                let slice = self.slice(member, job, now);
                job.slice = slice;
                job.granted = (job.executed + budget).min(own);
                let deadline = job.release.saturating_add(Duration::from_ns((slice + 1) * length));
                jobs.note(Note::Replenished { task, deadline });
            }
        }
    }

    fn arrive(&mut self, jobs: &mut Jobs, now: Time, arrivals: &[(usize, Pending)]) {
        for &(member, job) in arrivals {
            jobs.abort_all(member);
            let granted = self.slices[member].budget.min(jobs.members()[member].own_bound());
            // A job that is received late has lost the budgets of the slices before.
            let slice = self.slice(member, &job, now);
            jobs.admit(member, Pending { granted, slice, ..job });
        }
    }

    fn wake_at(&self, jobs: &Jobs, _now: Time) -> Time {
        let next = jobs.all().filter_map(|(member, job)| self.next(member, job));
        next.min().unwrap_or(Time::NEVER)
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        let has_budget =
            |member: usize| jobs.first(member).is_some_and(|job| job.executed < job.granted);
        let member = highest(jobs, &self.place, has_budget)?;
        Some(Choice { member, limit: jobs.first(member).map(|job| job.granted) })
    }

    /// A job that has not run has lost nothing but the budgets of the slices before, whenever it is
    /// received.
    fn order(&self) -> Option<Order<'_>> {
        Some(Order { place: &self.place, replaces: true, yields: false })
    }

    fn instants(&self, _jobs: &Jobs, member: usize) -> Vec<i64> {
        let Slices { count, length, .. } = self.slices[member];
        (1..count).map(|slice| slice * length).collect()
    }
}

/// The parameters of a task that are needed while its jobs change.
struct TransformedTask {
    own: i64,
    task: layland_model::TaskId,
}

impl TransformedTask {
    fn of(jobs: &Jobs, member: usize) -> TransformedTask {
        let member = &jobs.members()[member];
        TransformedTask { own: member.own_bound(), task: member.task }
    }
}
