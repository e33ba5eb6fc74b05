//! The parts that policies other than [`Grouped`](super::Grouped) use, too.

use crate::{Action, Event, Refusal, RequestId, TimerId};
use layland_model::{Change, CpuSet, TaskId, Time};

/// The requests that the next decision refuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Vec<(RequestId, Refusal)>);

impl Refusals {
    pub(crate) fn push(&mut self, request: RequestId, refusal: Refusal) {
        self.0.push((request, refusal));
    }

    /// Adds the refusals to the actions.
    #[inline]
    pub(crate) fn emit(&mut self, actions: &mut Vec<Action>) {
        if self.0.is_empty() {
            return;
        }
        let refusals = self.0.drain(..);
        actions.extend(refusals.map(|(request, reason)| Action::Refuse { request, reason }));
    }
}

/// A timer that is set again only if its time changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm(Time);

impl Alarm {
    /// An alarm that is not set.
    pub(crate) const OFF: Alarm = Alarm(Time::NEVER);

    /// Records that the alarm has expired: the engine no longer has it.
    pub(crate) fn rang(&mut self) {
        *self = Alarm::OFF;
    }

    /// Sets the alarm to this time; [`Time::NEVER`] clears it.
    #[inline]
    pub(crate) fn set(&mut self, at: Time, id: TimerId, actions: &mut Vec<Action>) {
        if self.0 != at {
            self.0 = at;
            actions.push(match at {
                Time::NEVER => Action::ClearTimer { id },
                at => Action::SetTimer { id, at },
            });
        }
    }
}

/// Returns the refusal of a request by a policy that placed its tasks before the start; `None` if
/// there is nothing to refuse. `may_use` returns the CPUs on which the policy runs a task; `None`
/// if it does not know the task.
pub(crate) fn fixed_answer(
    event: &Event,
    reason: impl Fn() -> String,
    may_use: impl Fn(TaskId) -> Option<CpuSet>,
) -> Option<(RequestId, Refusal)> {
    let refused = |reason: String| Refusal::not_permitted(reason);
    match event {
        Event::Join { task, request, .. } => {
            may_use(*task).is_none().then(|| (*request, refused(reason())))
        }
        Event::Reconfigure { task, change, request } => {
            let keeps = match change {
                Change::Affinity(cpus) => may_use(*task).is_some_and(|own| own.is_subset(cpus)),
                Change::Parameters { .. } | Change::Cluster(_) => false,
            };
            (!keeps)
                .then(|| (*request, refused(format!("{}: task {task} cannot change", reason()))))
        }
        Event::SetClusterCpus { request, .. } => Some((*request, refused(reason()))),
        Event::Leave { .. }
        | Event::Arrival { .. }
        | Event::Measured { .. }
        | Event::Release { .. }
        | Event::Completion { .. }
        | Event::Ended { .. }
        | Event::BudgetExhausted { .. }
        | Event::Step { .. }
        | Event::Timer { .. }
        | Event::CpuOnline { .. }
        | Event::CpuOffline { .. } => None,
    }
}
