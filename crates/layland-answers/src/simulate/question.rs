//! The question, and its usual parts.

use crate::limits::Limit;
use crate::{Set, Unanswered, UsualPolicy, distinct_policies};
use layland_model::{Duration, System, Time};
use layland_policy::Registry;
use layland_sim::{EventLoop, Horizon};

/// The longest simulated time by default.
const USUAL_LIMIT: Duration = Duration::from_secs(10);

/// The question of `layland sim`: what happens to a set under each of these policies?
///
/// The default question is that of the command without options.
#[derive(Clone, Debug)]
pub struct SimulateQuestion {
    /// The policies with their options; if empty, the [usual one](UsualPolicy) for the set.
    pub policies: Vec<String>,
    /// The length of the simulation; by default the one that the set asks for, or else up to
    /// [`usual_end`].
    pub horizon: Option<Horizon>,
    /// Seeds the streams of execution times, jitter and separations.
    pub seed: u64,
    /// Breaks ties of deadlines and orders simultaneous events at random, from this seed.
    pub explore: Option<u64>,
    /// The event loop of the simulator. No answer depends on it.
    pub event_loop: EventLoop,
    /// True if each schedule is checked against the rules of its policy and of every schedule. The
    /// whole trace is in memory then.
    pub check: bool,
    /// True if the answer has the figures of each task, and not only those of all tasks together.
    pub tasks: bool,
    /// The limits on figures. If there are any, they decide in place of missed deadlines.
    pub limits: Vec<Limit>,
}

impl Default for SimulateQuestion {
    fn default() -> SimulateQuestion {
        SimulateQuestion {
            policies: Vec::new(),
            horizon: None,
            seed: 0,
            explore: None,
            event_loop: EventLoop::default(),
            check: false,
            tasks: true,
            limits: Vec::new(),
        }
    }
}

impl SimulateQuestion {
    /// Asks about these policies; about the usual one, if there are none.
    pub fn about(policies: Vec<String>) -> SimulateQuestion {
        SimulateQuestion { policies, ..SimulateQuestion::default() }
    }

    /// Returns the question with its policies in the notation of the output.
    ///
    /// # Errors
    /// If a policy does not exist, or is named twice.
    pub fn resolved(mut self, registry: &Registry) -> Result<SimulateQuestion, Unanswered> {
        self.policies = distinct_policies(registry, &self.policies)?;
        Ok(self)
    }

    /// Returns the policies for a set.
    pub fn policies_for(&self, registry: &Registry, set: &Set) -> Vec<String> {
        match &self.policies[..] {
            [] => vec![UsualPolicy::of(registry, set).spec],
            named => named.to_vec(),
        }
    }

    /// Returns the length of the simulation of a set.
    pub fn horizon_for(&self, set: &Set) -> Horizon {
        let asked = || set.until.map(|until| Time::ZERO + until);
        self.horizon
            .unwrap_or_else(|| Horizon::At(asked().unwrap_or_else(|| usual_end(&set.system))))
    }

    /// Returns the latest end of the simulation of a set, if it is known beforehand.
    pub fn latest_end(&self, set: &Set) -> Option<Time> {
        match self.horizon_for(set) {
            Horizon::At(at) | Horizon::Recurrence { at_most: at } => Some(at),
            Horizon::Hyperperiods(count) => {
                after_hyperperiods(&set.system, count).map(|length| Time::ZERO + length)
            }
        }
    }
}

/// Returns the default end of a simulation: two hyperperiods, and at most ten seconds.
pub fn usual_end(system: &System) -> Time {
    let end = after_hyperperiods(system, 2).filter(|&end| end <= USUAL_LIMIT);
    Time::ZERO + end.unwrap_or(USUAL_LIMIT)
}

/// Returns the end of this many hyperperiods after the last offset, if there is a hyperperiod.
fn after_hyperperiods(system: &System, count: u32) -> Option<Duration> {
    let last_offset = system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
    let length = system.hyperperiod()?.checked_mul(count.into())?;
    last_offset.checked_add(length)
}
