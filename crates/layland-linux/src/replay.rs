//! A log told once more, to a fresh copy of its policy: it must decide the same, bit by bit.

use crate::log::{Entry, Log, Record};
use layland_model::{RequestKind, System, Time};
use layland_policy::{Action, Event, Policy};
use std::sync::Arc;

/// What a replay found.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// How many events were told.
    pub events: u64,
    /// How many decisions were compared.
    pub decisions: u64,
    /// The first decision that differs.
    pub divergence: Option<Divergence>,
}

/// A decision that differs from the one in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// Which decision, from 0.
    pub decision: u64,
    /// When.
    pub at: Time,
    /// What the log says.
    pub logged: Vec<Action>,
    /// What was decided now.
    pub decided: Vec<Action>,
}

/// Tells the policy, which must be fresh, what the log says that it was told.
pub fn replay(log: &Log, system: &System, policy: &mut dyn Policy) -> Replayed {
    let mut replayed = Replayed { events: 0, decisions: 0, divergence: None };
    let mut records = log.records.iter().peekable();
    let mut decided = Vec::new();
    while let Some(&Record { at, entry }) = records.next() {
        if let Some(event) = event(entry, system) {
            policy.on_event(at, event);
            replayed.events += 1;
        }
        let Entry::Decide { actions, .. } = entry else { continue };
        let mut logged = Vec::new();
        while (logged.len() as u32) < actions
            && let Some(record) = records.next()
        {
            // What was measured may stand between the actions.
            logged.extend(action(record.entry, log));
        }
        decided.clear();
        policy.decide(at, &mut decided);
        if decided != logged {
            let decision = replayed.decisions;
            let decided = decided.clone();
            replayed.divergence = Some(Divergence { decision, at, logged, decided });
            return replayed;
        }
        replayed.decisions += 1;
    }
    replayed
}

/// The event that an entry tells of, if it does.
fn event(entry: Entry, system: &System) -> Option<Event> {
    let event = match entry {
        Entry::Online { cpu } => Event::CpuOnline { cpu },
        Entry::Offline { cpu } => Event::CpuOffline { cpu },
        Entry::Join { task, request } => {
            let parameters = Arc::new(system.tasks.get(task)?.clone());
            Event::Join { task, parameters, request }
        }
        Entry::Leave { task } => Event::Leave { task },
        Entry::Asks { index, request } => match &system.requests.get(index as usize)?.kind {
            RequestKind::Reconfigure(task, change) => {
                Event::Reconfigure { task: *task, change: change.clone(), request }
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                Event::SetClusterCpus { cluster: *cluster, cpus: cpus.clone(), request }
            }
            RequestKind::Leave(_) | RequestKind::CpuOnline(_) | RequestKind::CpuOffline(_) => {
                return None;
            }
        },
        Entry::Arrival { job, release, deadline } => Event::Arrival { job, release, deadline },
        Entry::Measured { job, executed } => Event::Measured { job, executed },
        Entry::Release { job, release, deadline } => Event::Release { job, release, deadline },
        Entry::Completion { job, cpu, then } => Event::Completion { job, cpu, then },
        Entry::Budget { job, cpu } => Event::BudgetExhausted { job, cpu },
        Entry::Timer { id } => Event::Timer { id },
        Entry::Decide { .. }
        | Entry::Run { .. }
        | Entry::Idle { .. }
        | Entry::SetTimer { .. }
        | Entry::ClearTimer { .. }
        | Entry::Abort { .. }
        | Entry::EndJob { .. }
        | Entry::SetDates { .. }
        | Entry::SetSpeed { .. }
        | Entry::Note(_)
        | Entry::Refuse { .. }
        | Entry::Asked { .. }
        | Entry::On { .. }
        | Entry::Off { .. }
        | Entry::Leaked { .. }
        | Entry::Done { .. }
        | Entry::Dropped { .. }
        | Entry::Granted { .. }
        | Entry::Refused { .. }
        | Entry::TurnedAway { .. }
        | Entry::NeverReady { .. }
        | Entry::Over { .. } => return None,
    };
    Some(event)
}

/// The action that an entry is, if it is one.
fn action(entry: Entry, log: &Log) -> Option<Action> {
    let action = match entry {
        Entry::Run { cpu, job, budget } => Action::Run { cpu, job, budget },
        Entry::Idle { cpu } => Action::Idle { cpu },
        Entry::SetTimer { id, at } => Action::SetTimer { id, at },
        Entry::ClearTimer { id } => Action::ClearTimer { id },
        Entry::Abort { job } => Action::Abort { job },
        Entry::EndJob { job } => Action::EndJob { job },
        Entry::SetDates { job, release, deadline } => Action::SetDates { job, release, deadline },
        Entry::SetSpeed { cpu, speed } => Action::SetSpeed { cpu, speed },
        Entry::Note(note) => Action::Note { note },
        Entry::Refuse { request, reason } => {
            Action::Refuse { request, reason: log.refusals.get(reason as usize)?.clone() }
        }
        Entry::Online { .. }
        | Entry::Offline { .. }
        | Entry::Join { .. }
        | Entry::Leave { .. }
        | Entry::Asks { .. }
        | Entry::Arrival { .. }
        | Entry::Measured { .. }
        | Entry::Release { .. }
        | Entry::Completion { .. }
        | Entry::Budget { .. }
        | Entry::Timer { .. }
        | Entry::Decide { .. }
        | Entry::Asked { .. }
        | Entry::On { .. }
        | Entry::Off { .. }
        | Entry::Leaked { .. }
        | Entry::Done { .. }
        | Entry::Dropped { .. }
        | Entry::Granted { .. }
        | Entry::Refused { .. }
        | Entry::TurnedAway { .. }
        | Entry::NeverReady { .. }
        | Entry::Over { .. } => return None,
    };
    Some(action)
}
