//! The criticality indicator of AMC, PLRS and OCBP (Baruah, Burns and Davis 2011; Huang, Gill, Lu 2014,
//! Sections 2.2 and 2.4).
//!
//! | event | action |
//! |---|---|
//! | release, `z_i < L` | the job is dropped |
//! | a job reaches `C_i(L)`, not complete | `L` becomes the least `l > L` with `l <= z_i` for which `C_i(l)` exceeds its execution so far; every job with `z < L` is aborted |
//! | as above, and the job has exceeded its own bound | `raise`: `L` becomes `z_i + 1`, which aborts the job and all others below; at the highest level, and with `cut`, it is aborted alone |
//! | no job is pending | `L` becomes 0 |
//!
//! Levels with the same bound are skipped: a task with two bounds goes from 0 to its own level at
//! once. Aborted jobs never compete again.

use super::mechanism::{Choice, Jobs, Pending};
use crate::Note;
use std::cmp::Reverse;

/// The reaction to a job that exceeds its own bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OwnOverrun {
    /// The job raises the indicator above its level, if there is a level above.
    #[default]
    Raise,
    /// The job is aborted.
    Cut,
}

/// The priority of a job without an entry in its list: below all others.
const UNLISTED: i64 = -1;

/// The indicator of a CPU.
#[derive(Clone, Debug)]
pub struct Indicator {
    level: usize,
    levels: usize,
    own_overrun: OwnOverrun,
}

impl Indicator {
    /// Returns an indicator at level 0, of this number of levels.
    pub fn new(levels: usize, own_overrun: OwnOverrun) -> Indicator {
        Indicator { level: 0, levels, own_overrun }
    }

    /// Returns the current level.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Handles the first job of a task that has executed for `C(L)` and is not complete.
    pub(super) fn overrun(&mut self, jobs: &mut Jobs, member: usize) {
        let Some(job) = jobs.first(member) else { return };
        let (task, executed) = (&jobs.members()[member], job.executed);
        let own = task.criticality;
        let next = (self.level + 1..=own).find(|&level| task.bound(level) > executed);
        match next {
            Some(level) => self.raise(jobs, level),
            None if self.own_overrun == OwnOverrun::Raise && own + 1 < self.levels => {
                self.raise(jobs, own + 1);
            }
            None => jobs.abort_first(member),
        }
    }

    fn raise(&mut self, jobs: &mut Jobs, level: usize) {
        self.level = level;
        jobs.note_level(level);
        for member in 0..jobs.members().len() {
            if jobs.members()[member].criticality < level {
                jobs.abort_all(member);
            }
        }
    }

    /// Handles the end of a busy period: no job is pending.
    pub(super) fn idle(&mut self, jobs: &mut Jobs) {
        if std::mem::take(&mut self.level) > 0 {
            jobs.note_level(0);
        }
    }

    /// Admits a job that arrives and returns true, or drops it.
    pub(super) fn admits(&self, jobs: &mut Jobs, member: usize, job: Pending) -> bool {
        let admitted = jobs.members()[member].criticality >= self.level;
        if !admitted {
            jobs.drop_job(job);
        }
        admitted
    }

    /// Returns the execution of a job of a task after which the indicator must be checked.
    pub(super) fn limit(&self, jobs: &Jobs, member: usize) -> i64 {
        jobs.members()[member].bound(self.level)
    }

    /// Handles a job that arrives. If it is admitted, it gets the next entry of its task's list.
    pub(super) fn arrive(
        &self,
        jobs: &mut Jobs,
        member: usize,
        job: Pending,
        take: impl FnOnce() -> Option<i64>,
    ) {
        if self.admits(jobs, member, job) {
            let priority = take().unwrap_or_else(|| {
                let task = jobs.members()[member].task;
                jobs.note(Note::Unlisted { task });
                UNLISTED
            });
            jobs.admit(member, Pending { priority, ..job });
        }
    }

    /// Returns the job of the highest priority, with the execution after which the indicator must
    /// be checked.
    pub(super) fn highest(&self, jobs: &Jobs) -> Option<Choice> {
        let priority = |member: usize| jobs.first(member).map(|job| job.priority);
        let member = jobs.pending().max_by_key(|&member| (priority(member), Reverse(member)))?;
        Some(Choice { member, limit: Some(self.limit(jobs, member)) })
    }
}
