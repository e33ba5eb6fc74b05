//! The options of a simulation, and its outcome apart from the recording.

use layland_model::{Behaviour, Duration, ExecutionModel, System, TIME_LIMIT, Time};
use std::sync::atomic::AtomicBool;

/// The length of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Horizon {
    /// Up to this time; events at the horizon still happen.
    At(Time),
    /// This many hyperperiods after the last offset.
    Hyperperiods(u32),
    /// Until the state recurs at a multiple of the hyperperiod, so that the rest of the schedule is
    /// known; at most up to this time.
    Recurrence {
        /// The time at which the search for a recurrence ends.
        at_most: Time,
    },
}

/// The event loop of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EventLoop {
    /// The fastest one that fits the set, the policy and the recorder. The result is the same.
    #[default]
    Fitting,
    /// The one for every policy.
    General,
}

/// The options of a simulation.
#[derive(Clone, Copy)]
pub struct SimOptions<'a> {
    /// The length.
    pub horizon: Horizon,
    /// Seeds the streams of execution times, jitter and separations.
    pub seed: u64,
    /// Delivers simultaneous events to the policy in a random order and in random batches, drawn
    /// from this seed: a search for orders that the default does not show. If a job ends and the
    /// next one of its thread has already arrived, both come in one batch, because that is one
    /// action of the thread. If decisions cost time ([`Overheads`](layland_model::Overheads)), or
    /// jobs have [steps](layland_model::Step), the events of an instant come in one batch: bounds
    /// for locks rely on a decision that takes all of them into account.
    pub explore: Option<u64>,
    /// The event loop. No result depends on it.
    pub event_loop: EventLoop,
    /// Ends the run early, with the recording so far, when it becomes true.
    pub interrupt: Option<&'a AtomicBool>,
    /// Receives the time reached, every few thousand instants.
    pub progress: Option<&'a (dyn Fn(Time) + Sync)>,
}

impl SimOptions<'_> {
    /// Returns the options of a plain run up to a time.
    pub fn until(at: Time) -> SimOptions<'static> {
        SimOptions {
            horizon: Horizon::At(at),
            seed: 0,
            explore: None,
            event_loop: EventLoop::Fitting,
            interrupt: None,
            progress: None,
        }
    }
}

/// A recurrence: the state of the system at one time recurs at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The first time at which the recurring state was seen.
    pub from: Time,
    /// The time until it recurs.
    pub length: Duration,
}

/// The outcome of a simulation of a policy of type `P`, apart from the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<P> {
    /// The policy after the simulation; its counters can be read. If the event loop needs no
    /// decisions of it, it is as before.
    pub policy: P,
    /// The time at which the simulation ended.
    pub end: Time,
    /// True if the simulation ended before the horizon, because it was interrupted.
    pub interrupted: bool,
    /// The cycle, if the horizon was [`Horizon::Recurrence`] and one was found.
    pub cycle: Option<Cycle>,
    /// The number of events that the policy received.
    pub events: u64,
    /// The number of decisions that it made.
    pub decisions: u64,
}

impl Outcome<()> {
    /// Returns the outcome with a policy.
    pub(crate) fn with_policy<P>(self, policy: P) -> Outcome<P> {
        let Outcome { policy: (), end, interrupted, cycle, events, decisions } = self;
        Outcome { policy, end, interrupted, cycle, events, decisions }
    }
}

impl<P> Outcome<P> {
    /// Returns the outcome without the policy, whose memory is freed.
    pub fn without_policy(self) -> Outcome<()> {
        let Outcome { policy: _, end, interrupted, cycle, events, decisions } = self;
        Outcome { policy: (), end, interrupted, cycle, events, decisions }
    }
}

/// The reason why a simulation cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// The periods have no common multiple within the time limit.
    #[error("the hyperperiod of the periods is too long: simulate up to a time instead")]
    NoHyperperiod,
    /// A random quantity never recurs.
    #[error("the state never recurs: task `{task}` draws {what} at random")]
    NeverRecurs {
        /// The task.
        task: String,
        /// The random quantity.
        what: &'static str,
    },
    /// The behaviour of programs never recurs.
    #[error("the state never recurs: programs come and go")]
    ProgramsNeverRecur,
    /// The horizon is negative or beyond the time limit.
    #[error("the horizon {at} is out of range: up to about 36 years can be simulated")]
    OutOfRange {
        /// The horizon.
        at: Time,
    },
}

impl Horizon {
    /// Returns the last instant to simulate.
    pub(crate) fn end(self, system: &System) -> Result<Time, SimError> {
        let end = match self {
            Horizon::At(at) => at,
            Horizon::Hyperperiods(count) => {
                let hyperperiod = system.hyperperiod().ok_or(SimError::NoHyperperiod)?;
                let length =
                    hyperperiod.checked_mul(count.into()).ok_or(SimError::NoHyperperiod)?;
                last_offset(system).saturating_add(length)
            }
            Horizon::Recurrence { at_most } => {
                system.hyperperiod().ok_or(SimError::NoHyperperiod)?;
                never_drawn(system)?;
                at_most
            }
        };
        if (0..=TIME_LIMIT).contains(&end.ns()) {
            Ok(end)
        } else {
            Err(SimError::OutOfRange { at: end })
        }
    }
}

pub(crate) fn last_offset(system: &System) -> Time {
    let latest = system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
    Time::ZERO + latest
}

fn never_drawn(system: &System) -> Result<(), SimError> {
    for task in system.tasks.values() {
        let what = if task.jitter > Duration::ZERO {
            "its release jitter"
        } else if matches!(task.behaviour, Behaviour::Sporadic(_)) {
            "its separations"
        } else if matches!(task.behaviour, Behaviour::Curve(_)) {
            "its arrivals by a curve"
        } else if matches!(
            task.execution,
            ExecutionModel::Uniform { .. } | ExecutionModel::Discrete(_)
        ) {
            "its execution times"
        } else {
            continue;
        };
        return Err(SimError::NeverRecurs { task: task.name.to_string(), what });
    }
    Ok(())
}
