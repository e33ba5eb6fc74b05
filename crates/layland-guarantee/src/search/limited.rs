//! A policy with a limit on decisions, which bounds the cost of a run.
//!
//! The number of jobs is limited before a run, and most policies decide a few times for each. But a
//! policy that decides in slots, or whenever laxities change places, makes a number of decisions
//! that depends on the lengths in the set.

use layland_model::{ScheduleRule, Time};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of decisions for each job of the effort.
const EACH: u64 = 256;

/// The number of decisions that the runs of a search may still make together.
#[derive(Clone, Debug)]
pub(super) struct Decisions {
    left: Arc<AtomicU64>,
    all: u64,
}

impl Decisions {
    /// Creates the limit for this many jobs.
    pub(super) fn of(effort: u64) -> Decisions {
        let all = effort.saturating_mul(EACH);
        Decisions { left: Arc::new(AtomicU64::new(all)), all }
    }

    /// Returns the message if no decision is left.
    pub(super) fn ended(&self) -> Option<String> {
        (self.left.load(Ordering::Relaxed) == 0).then(|| {
            format!(
                "the search for a run that misses stopped after {} decisions of the policy: a larger --effort continues it",
                self.all
            )
        })
    }

    /// Wraps the policy, which sets this flag to end the run when no decision is left.
    pub(super) fn limit(&self, policy: Box<dyn Policy>, over: &Arc<AtomicBool>) -> Box<dyn Policy> {
        Box::new(Limited { policy, left: Arc::clone(&self.left), over: Arc::clone(over) })
    }
}

#[derive(Clone)]
struct Limited {
    policy: Box<dyn Policy>,
    left: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Policy for Limited {
    fn on_event(&mut self, now: Time, event: Event) {
        self.policy.on_event(now, event);
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        match self.left.load(Ordering::Relaxed).checked_sub(1) {
            Some(left) => self.left.store(left, Ordering::Relaxed),
            None => self.over.store(true, Ordering::Relaxed),
        }
        self.policy.decide(now, actions);
    }

    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }

    fn needs(&self) -> Needs {
        self.policy.needs()
    }

    fn rule(&self) -> ScheduleRule {
        self.policy.rule()
    }

    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
}
