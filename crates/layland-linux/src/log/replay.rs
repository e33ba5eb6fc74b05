//! The replay of a log to a fresh copy of its policy, whose decisions must be identical.

use crate::log::contract::Contract;
use crate::log::{Entry, Log, Record};
use layland_model::{Index, RequestKind, System, Time};
use layland_policy::{Action, Event, Policy};
use std::sync::Arc;

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Replayed {
    /// The number of events that the policy received.
    pub events: u64,
    /// The number of decisions that were compared.
    pub decisions: u64,
    /// The first decision that differs.
    pub divergence: Option<Divergence>,
}

/// A decision that differs from the one in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The number of the decision, from 0.
    pub decision: u64,
    /// The time of the decision.
    pub at: Time,
    /// The actions in the log.
    pub logged: Vec<Action>,
    /// The actions of the replay.
    pub decided: Vec<Action>,
}

/// An error: a log that an engine cannot have written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {record}: {message}")]
pub struct Impossible {
    /// The position of the record in the log, from 0.
    pub record: usize,
    /// The message about the record.
    pub message: String,
}

/// Sends the events of the log to the policy, which must be fresh, and compares its decisions.
///
/// # Errors
/// Returns an error if an engine cannot have sent an event: it concerns a task or a CPU that does
/// not exist, or a job that is not ready. The policy does not receive this event.
pub fn replay(log: &Log, system: &System, policy: &mut dyn Policy) -> Result<Replayed, Impossible> {
    let mut replayed = Replayed { events: 0, decisions: 0, divergence: None };
    let mut contract = Contract::new(system, policy.needs());
    let mut records = log.records.iter().enumerate();
    let mut decided = Vec::new();
    while let Some((record, &Record { at, entry })) = records.next() {
        let wrong = |message| Impossible { record, message };
        if let Entry::Join { task, .. } = entry
            && task.index() >= system.tasks.len()
        {
            return Err(wrong(format!("the set has no task {task}")));
        }
        if let Entry::Enter { program, .. } = entry
            && log.programs.get(program as usize).is_none_or(|program| program.task().is_err())
        {
            return Err(wrong(format!("program {program} cannot be read")));
        }
        if let Entry::Asks { index, .. } = entry
            && index as usize >= system.requests.len()
        {
            return Err(wrong(format!("the set has no request {index}")));
        }
        if let Some(Told::Event(event)) = told(entry, system, log) {
            let index = if let Entry::Asks { index, .. } = entry { Some(index) } else { None };
            if let (Entry::Enter { .. }, Event::Join { task, parameters, .. }) = (entry, &event) {
                contract.expects(*task, parameters).map_err(wrong)?;
            }
            contract.tells(at, &event, index).map_err(wrong)?;
            policy.on_event(at, event);
            replayed.events += 1;
        }
        let Entry::Decide { actions, .. } = entry else { continue };
        contract.decides(at).map_err(wrong)?;
        let mut logged = Vec::new();
        while (logged.len() as u32) < actions
            && let Some((record, next)) = records.next()
        {
            // Measurements may stand between the actions.
            match told(next.entry, system, log) {
                Some(Told::Action(action)) => logged.push(action),
                Some(Told::Event(_)) => {
                    let message = format!("an event, where {actions} actions were announced");
                    return Err(Impossible { record, message });
                }
                None => {}
            }
        }
        decided.clear();
        policy.decide(at, &mut decided);
        if decided != logged {
            let decision = replayed.decisions;
            let decided = decided.clone();
            replayed.divergence = Some(Divergence { decision, at, logged, decided });
            return Ok(replayed);
        }
        decided.iter().for_each(|action| contract.decided(action));
        replayed.decisions += 1;
    }
    Ok(replayed)
}

/// The meaning of an entry for the policy.
enum Told {
    /// An event that the policy received.
    Event(Event),
    /// An action that the policy decided.
    Action(Action),
}

/// Returns the meaning of an entry for the policy, if it has one.
fn told(entry: Entry, system: &System, log: &Log) -> Option<Told> {
    let told = match entry {
        Entry::Online { cpu } => Told::Event(Event::CpuOnline { cpu }),
        Entry::Offline { cpu } => Told::Event(Event::CpuOffline { cpu }),
        Entry::Join { task, request } => {
            let parameters = Arc::new(system.tasks.get(task)?.clone());
            Told::Event(Event::Join { task, parameters, request })
        }
        Entry::Enter { task, request, program } => {
            let parameters = Arc::new(log.programs.get(program as usize)?.task().ok()?);
            Told::Event(Event::Join { task, parameters, request })
        }
        Entry::Leave { task } => Told::Event(Event::Leave { task }),
        Entry::Asks { index, request } => match &system.requests.get(index as usize)?.kind {
            RequestKind::Reconfigure(task, change) => {
                Told::Event(Event::Reconfigure { task: *task, change: change.clone(), request })
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                let (cluster, cpus) = (*cluster, cpus.clone());
                Told::Event(Event::SetClusterCpus { cluster, cpus, request })
            }
            RequestKind::Leave(_) | RequestKind::CpuOnline(_) | RequestKind::CpuOffline(_) => {
                return None;
            }
        },
        Entry::Arrival { job, release, deadline } => {
            Told::Event(Event::Arrival { job, release, deadline })
        }
        Entry::Measured { job, executed } => Told::Event(Event::Measured { job, executed }),
        Entry::Release { job, release, deadline } => {
            Told::Event(Event::Release { job, release, deadline })
        }
        Entry::Completion { job, cpu, then } => Told::Event(Event::Completion { job, cpu, then }),
        Entry::Ended { job } => Told::Event(Event::Ended { job }),
        Entry::Budget { job, cpu } => Told::Event(Event::BudgetExhausted { job, cpu }),
        Entry::Timer { id } => Told::Event(Event::Timer { id }),
        Entry::Run { cpu, job, budget } => Told::Action(Action::Run { cpu, job, budget }),
        Entry::Idle { cpu } => Told::Action(Action::Idle { cpu }),
        Entry::SetTimer { id, at } => Told::Action(Action::SetTimer { id, at }),
        Entry::ClearTimer { id } => Told::Action(Action::ClearTimer { id }),
        Entry::Abort { job } => Told::Action(Action::Abort { job }),
        Entry::EndJob { job, used_up } => Told::Action(Action::EndJob { job, used_up }),
        Entry::SetDates { job, release, deadline } => {
            Told::Action(Action::SetDates { job, release, deadline })
        }
        Entry::SetSpeed { cpu, speed } => Told::Action(Action::SetSpeed { cpu, speed }),
        Entry::Note(note) => Told::Action(Action::Note { note }),
        Entry::Refuse { request, reason } => {
            let reason = log.refusals.get(reason as usize)?.clone();
            Told::Action(Action::Refuse { request, reason })
        }
        Entry::Decide { .. }
        | Entry::Asked { .. }
        | Entry::On { .. }
        | Entry::Off { .. }
        | Entry::Leaked { .. }
        | Entry::Done { .. }
        | Entry::Dropped { .. }
        | Entry::Granted { .. }
        | Entry::Refused { .. }
        | Entry::TurnedAway { .. }
        | Entry::Skipped { .. }
        | Entry::NeverReady { .. }
        | Entry::Over { .. } => return None,
    };
    Some(told)
}
