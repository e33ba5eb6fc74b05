//! The criticality indicator of AMC, PLRS and OCBP (Baruah, Burns and Davis 2011; Huang, Gill, Lu 2014,
//! Sections 2.2 and 2.4).
//!
//! | event | action |
//! |---|---|
//! | release, `z_i < L` | the job is dropped |
//! | a job reaches `C_i(L)`, not complete | `L` becomes the least `l > L` with `l <= z_i` for which `C_i(l)` is more than it has got; every job with `z < L` is aborted |
//! | the same, and it has exceeded its own bound | `raise`: `L` becomes `z_i + 1`, which aborts it with all others below; at the highest level, and with `cut`, it is aborted alone |
//! | no job is pending | `L` becomes 0 |
//!
//! Levels at which the bound is the same are skipped: a task with two bounds goes from 0 to its own level
//! at once. Aborted jobs never compete again.

use super::mechanism::{Choice, Jobs, Pending};
use crate::Note;
use std::cmp::Reverse;

/// What a job that exceeds its own bound does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OwnOverrun {
    /// It raises the indicator above its level, where there is a level above.
    #[default]
    Raise,
    /// It is aborted.
    Cut,
}

/// The priority of a job for which a list has no entry: below all others.
const UNLISTED: i64 = -1;

/// The indicator of a CPU.
#[derive(Clone, Debug)]
pub struct Indicator {
    level: usize,
    levels: usize,
    own_overrun: OwnOverrun,
}

impl Indicator {
    /// At level 0, of so many.
    pub fn new(levels: usize, own_overrun: OwnOverrun) -> Indicator {
        Indicator { level: 0, levels, own_overrun }
    }

    /// Its value.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The first job of a task has got `C(L)` and is not complete.
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

    /// No job is pending.
    pub(super) fn idle(&mut self, jobs: &mut Jobs) {
        if std::mem::take(&mut self.level) > 0 {
            jobs.note_level(0);
        }
    }

    /// Whether a job that arrives is admitted; otherwise it is dropped.
    pub(super) fn admits(&self, jobs: &mut Jobs, member: usize, job: Pending) -> bool {
        let admitted = jobs.members()[member].criticality >= self.level;
        if !admitted {
            jobs.drop_job(job);
        }
        admitted
    }

    /// What a job of a task may get until the indicator has to be looked at.
    pub(super) fn limit(&self, jobs: &Jobs, member: usize) -> i64 {
        jobs.members()[member].bound(self.level)
    }

    /// A job arrives, with the next entry of its task's list if it is admitted.
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

    /// The job of the highest priority, until the indicator has to be looked at.
    pub(super) fn highest(&self, jobs: &Jobs) -> Option<Choice> {
        let priority = |member: usize| jobs.first(member).map(|job| job.priority);
        let member = jobs.pending().max_by_key(|&member| (priority(member), Reverse(member)))?;
        Some(Choice { member, limit: Some(self.limit(jobs, member)) })
    }
}
