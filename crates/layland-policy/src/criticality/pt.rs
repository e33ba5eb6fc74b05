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

use super::mechanism::{Choice, Jobs, Mechanism, Pending, places};
use super::order::Order;
use crate::Note;
use layland_model::{Duration, JobId, Time};
pub use layland_offline::criticality::period_transformation::Slices;
use std::collections::BTreeSet;

/// Fixed task priorities over deferrable servers.
///
/// A job is there for most of its period, so that most tasks have one at any time. A decision needs
/// the next slices by time and the jobs with budgets by priority: both are kept in order. They follow
/// from the jobs.
#[derive(Clone, Debug)]
pub struct Transformed {
    place: Vec<usize>,
    slices: Vec<Slices>,
    /// The ends of the slices that are not the last ones of their jobs, with the tasks.
    ends: BTreeSet<(Time, usize)>,
    /// The end of the slice of each task that is in `ends`.
    end: Vec<Option<Time>>,
    /// The places of the tasks whose jobs had budgets left when they were last looked at, with the tasks.
    funded: BTreeSet<(usize, usize)>,
}

impl Transformed {
    /// Returns the mechanism for an order of the tasks, highest priority first, and their slices.
    pub fn new(order: &[usize], slices: Vec<Slices>) -> Transformed {
        Transformed {
            place: places(order),
            end: vec![None; slices.len()],
            slices,
            ends: BTreeSet::new(),
            funded: BTreeSet::new(),
        }
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

    /// Keeps the slice and the budget of the job that a task has now.
    fn keep(&mut self, member: usize, job: &Pending) {
        self.forget(member);
        self.end[member] = self.next(member, job);
        self.ends.extend(self.end[member].map(|end| (end, member)));
        self.funded.insert((self.place[member], member));
    }

    fn forget(&mut self, member: usize) {
        if let Some(end) = self.end[member].take() {
            self.ends.remove(&(end, member));
        }
        self.funded.remove(&(self.place[member], member));
    }
}

impl Mechanism for Transformed {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        let TransformedTask { own, task } = TransformedTask::of(jobs, member);
        if jobs.first(member).is_some_and(|job| job.executed >= own) {
            jobs.abort_first(member);
            self.forget(member);
        } else {
            jobs.note(Note::Throttled { task });
        }
    }

    fn measured(&mut self, member: usize, job: &Pending) {
        if job.executed < job.granted {
            self.funded.insert((self.place[member], member));
        }
    }

    fn ended(&mut self, member: usize, _job: JobId) {
        self.forget(member);
    }

    fn advance(&mut self, jobs: &mut Jobs, now: Time) {
        let is_over = |(end, _): &&(Time, usize)| *end <= now;
        let mut next: Vec<usize> =
            self.ends.iter().take_while(is_over).map(|&(_, member)| member).collect();
        next.sort_unstable();
        for member in next {
            let Slices { length, budget, .. } = self.slices[member];
            let TransformedTask { own, task } = TransformedTask::of(jobs, member);
            if let Some(job) = jobs.first_mut(member) {
                let slice = self.slice(member, job, now);
                job.slice = slice;
                job.granted = (job.executed + budget).min(own);
                self.keep(member, job);
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
            let job = Pending { granted, slice, ..job };
            self.keep(member, &job);
            jobs.admit(member, job);
        }
    }

    fn wake_at(&self, _jobs: &Jobs, _now: Time) -> Time {
        self.ends.first().map_or(Time::NEVER, |&(end, _)| end)
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        while let Some(&(_, member)) = self.funded.first() {
            let granted = jobs.first(member).filter(|job| job.executed < job.granted);
            if let Some(job) = granted {
                return Some(Choice { member, limit: Some(job.granted) });
            }
            // It gets its next budget with its next slice.
            self.funded.pop_first();
        }
        None
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
