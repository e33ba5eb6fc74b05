//! Whether a job that does something at an instant **was selected** there.
//!
//! An instant has rounds. In each, every CPU selects a job, and then, in the order of the CPUs, each selected job that
//! has nothing to execute does one thing: it asks for a lock, or it gives back what it does not need any more, suspends
//! itself or ends. Then the policy grants what it can, and the next round begins. Only what a job does at the very end
//! of a stretch of execution comes before all rounds, and what it does at the end of a suspension after which it needs
//! no processor time. A job that comes to a lock there asks in a round.
//!
//! A trace has marks in the order in which all this happened, but not the rounds. So a job was selected if the rule has
//! it first **in one of the states since its CPU selected**: since the last mark of a job on the same CPU, the last
//! grant or the last end of a suspension, whichever is the latest. What other CPUs do in the same round comes in
//! between, and may be known or not. A lock for which a job tries again goes to a job that comes first right then.
//!
//! Ends and releases have no marks. A job that ends at the instant may be gone, and one that becomes ready at it may
//! not be there yet, since releases of one instant may be told one after the other: each such job is passed over when
//! it comes before the one that does something.

use super::{Live, Shared};
use crate::Checker;
use layland_model::{CpuId, JobId, Protocol, ResourceId, Time};
use layland_trace::{LockMark, MarkKind};

/// What has happened at an instant.
pub(super) struct Rounds {
    now: Time,
    /// Jobs that executed up to the instant, or resumed at it and need no CPU any more, and have done nothing since.
    ran: Vec<usize>,
    /// Who goes on with what it does: it has given something back, and nothing else has happened.
    acting: Option<usize>,
    /// The states since the last grant, with the CPU of the job whose mark made the state, if that was no grant.
    states: Vec<(Option<CpuId>, Vec<Live>)>,
}

/// What a mark says that a job does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Asks,
    GivesBack,
    Suspends,
    /// It gets something or is ready again: that is done to it.
    Gets(Option<ResourceId>),
}

impl Rounds {
    /// An instant at which nothing has happened; up to it these jobs were on CPUs.
    pub(super) fn new(now: Time, ran: Vec<usize>) -> Rounds {
        Rounds { now, ran, acting: None, states: Vec::new() }
    }

    /// The next mark, with the state before it, and whether its job needs no CPU from then on. The job and its CPU, if
    /// the job was not selected.
    pub(super) fn next(
        &mut self,
        checker: &Checker<'_>,
        shared: &Shared<'_>,
        all: &[Live],
        (kind, needs_no_cpu): (&MarkKind, bool),
    ) -> Option<(usize, CpuId)> {
        let (id, act) = act(kind)?;
        let live = all.iter().find(|live| checker.trace.jobs[live.job].job.id == id)?;
        let (job, cpu) = (live.job, shared.cpu_of(live)?);
        match self.states.last_mut() {
            Some((_, state)) => *state = all.to_vec(),
            None => self.states.push((None, all.to_vec())),
        }
        let is_selected = match act {
            Act::Asks => self.is_selected(checker, shared, job, cpu),
            Act::GivesBack | Act::Suspends => {
                self.acting == Some(job)
                    || self.ran.contains(&job)
                    || self.is_selected(checker, shared, job, cpu)
            }
            Act::Gets(Some(resource)) if shared.is_tried_for(resource) => {
                let asked = live.asked.map(|(_, mark)| checker.trace.marks[mark].at);
                asked == Some(self.now) || self.comes_first(checker, shared, all, job, cpu)
            }
            Act::Gets(_) => true,
        };
        self.acting = (act == Act::GivesBack).then_some(job);
        self.ran.retain(|&other| other != job);
        if act == Act::Gets(None) && needs_no_cpu {
            self.ran.push(job);
        }
        // The state that the mark makes is filled in when the next one comes.
        match act {
            Act::Gets(_) => self.states.clear(),
            Act::Asks | Act::GivesBack | Act::Suspends => {
                self.states.push((Some(cpu), Vec::new()));
            }
        }
        (!is_selected).then_some((job, cpu))
    }

    /// Whether a job comes first on a CPU in one of the states since that CPU last did something.
    fn is_selected(
        &self,
        checker: &Checker<'_>,
        shared: &Shared<'_>,
        job: usize,
        cpu: CpuId,
    ) -> bool {
        let since = self.states.iter().rposition(|(made_by, _)| *made_by == Some(cpu)).unwrap_or(0);
        let mut states = self.states[since..].iter().rev();
        states.any(|(_, all)| self.comes_first(checker, shared, all, job, cpu))
    }

    /// Whether a job comes first, or only jobs that may be gone or not yet there come before it.
    fn comes_first(
        &self,
        checker: &Checker<'_>,
        shared: &Shared<'_>,
        all: &[Live],
        job: usize,
        cpu: CpuId,
    ) -> bool {
        let ends =
            |other: usize| checker.trace.jobs[other].end.is_some_and(|(at, _)| at == self.now);
        let comes = |other: usize| checker.ready[other].0 == self.now;
        if shared.expected(cpu, all).is_some_and(|first| shared.may_stand_for(first, job, all)) {
            return true;
        }
        [false, true].into_iter().any(|without| {
            let mut rest = all.to_vec();
            rest.retain(|live| !(without && live.job != job && ends(live.job)));
            while let Some(first) = shared.expected(cpu, &rest).map(|first| first.job) {
                if first == job {
                    return true;
                }
                if !ends(first) && !comes(first) {
                    return false;
                }
                rest.retain(|live| live.job != first);
            }
            false
        })
    }
}

impl Shared<'_> {
    /// Whether a job that does not get a resource at once asks for it again when it is selected; others are handed it.
    fn is_tried_for(&self, resource: ResourceId) -> bool {
        match self.protocol {
            Protocol::Mpcp | Protocol::FmlpPlus | Protocol::Msrp => !self.is_global(resource),
            Protocol::Plain
            | Protocol::Inheritance
            | Protocol::Ceiling
            | Protocol::ImmediateCeiling
            | Protocol::Stack
            | Protocol::Dpcp => true,
        }
    }
}

fn act(kind: &MarkKind) -> Option<(JobId, Act)> {
    match *kind {
        MarkKind::Lock(id, _, LockMark::Requested) => Some((id, Act::Asks)),
        MarkKind::Lock(id, resource, LockMark::Granted) => Some((id, Act::Gets(Some(resource)))),
        MarkKind::Lock(id, _, LockMark::Unlocked) => Some((id, Act::GivesBack)),
        MarkKind::Suspended(id) => Some((id, Act::Suspends)),
        MarkKind::Resumed(id) => Some((id, Act::Gets(None))),
        MarkKind::BudgetExhausted(..)
        | MarkKind::CpuOnline(_)
        | MarkKind::CpuOffline(_)
        | MarkKind::Speed(..)
        | MarkKind::Note(_) => None,
    }
}
