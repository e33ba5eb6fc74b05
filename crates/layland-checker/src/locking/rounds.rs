//! The check that a job which acts at an instant **was selected** there.
//!
//! An instant has rounds. In each round, every CPU selects a job. Then, in the order of the CPUs,
//! each selected job that has nothing to execute does one thing: it requests a lock, or it releases
//! the locks that it no longer needs, suspends itself or ends. Then the policy grants all possible
//! locks, and the next round begins. Two kinds of steps come before all rounds: the steps of a job
//! at the very end of its execution, and its steps at the end of a suspension after which it needs
//! no processor time. A job that reaches a lock there requests it in a round.
//!
//! The marks of a trace are in the order in which all this happened, but a trace does not show the
//! rounds. A job therefore counts as selected if the rule has it first **in one of the states since
//! its CPU last selected**: since the last mark of a job on the same CPU, the last grant or the
//! last end of a suspension, whichever is the latest. The steps of other CPUs in the same round
//! come in between, and may be known or not. A lock for which a job retries goes to a job that
//! comes first at that very moment.
//!
//! Ends and releases have no marks. A job that ends at the instant may be gone. A job that becomes
//! ready at it may not be known yet, because the policy may be notified of the releases of one
//! instant one after the other. Each such job is skipped if it comes before the one that acts.

use super::{Live, LockingFacts};
use crate::Checker;
use layland_model::{CpuId, JobId, Protocol, ResourceId, Time};
use layland_trace::{LockMark, MarkKind};

/// The events of an instant so far.
pub(super) struct Rounds {
    now: Time,
    /// Jobs that have done nothing since they executed up to the instant, or since they resumed at
    /// it and need no more CPU.
    ran: Vec<usize>,
    /// The job whose action continues: it has released a lock, and nothing else has happened.
    acting: Option<usize>,
    /// The states since the last grant, each with the CPU of the job whose mark made it, unless the
    /// mark was a grant.
    states: Vec<(Option<CpuId>, Vec<Live>)>,
}

/// The action of a job that a mark records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Asks,
    GivesBack,
    Suspends,
    /// The job gets a lock or becomes ready again: it is passive.
    Gets(Option<ResourceId>),
}

impl Rounds {
    /// Starts an instant at which nothing has happened. The jobs in `ran` held CPUs up to it.
    pub(super) fn new(now: Time, ran: Vec<usize>) -> Rounds {
        Rounds { now, ran, acting: None, states: Vec::new() }
    }

    /// Processes the next mark. `all` is the state before it, and `needs_no_cpu` is true if its job
    /// needs no CPU from then on. Returns the job and its CPU if the job was not selected.
    pub(super) fn next(
        &mut self,
        checker: &Checker<'_>,
        shared: &LockingFacts<'_>,
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
        // The state after the mark is filled in when the next mark comes.
        match act {
            Act::Gets(_) => self.states.clear(),
            Act::Asks | Act::GivesBack | Act::Suspends => {
                self.states.push((Some(cpu), Vec::new()));
            }
        }
        (!is_selected).then_some((job, cpu))
    }

    /// Returns true if a job comes first on a CPU in one of the states since the last action of
    /// that CPU.
    fn is_selected(
        &self,
        checker: &Checker<'_>,
        shared: &LockingFacts<'_>,
        job: usize,
        cpu: CpuId,
    ) -> bool {
        let since = self.states.iter().rposition(|(made_by, _)| *made_by == Some(cpu)).unwrap_or(0);
        let mut states = self.states[since..].iter().rev();
        states.any(|(_, all)| self.comes_first(checker, shared, all, job, cpu))
    }

    /// Returns true if the job comes first, except for jobs that may be gone or may not be known
    /// yet.
    fn comes_first(
        &self,
        checker: &Checker<'_>,
        shared: &LockingFacts<'_>,
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

impl LockingFacts<'_> {
    /// Returns true if a blocked job retries when it is selected, and false if it is handed the
    /// resource.
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
