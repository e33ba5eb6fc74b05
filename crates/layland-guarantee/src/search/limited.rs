//! A policy with a limit of decisions, which bounds the cost of a run.
//!
//! Jobs are counted before a run, and most policies decide a few times for each. One that decides in slots, or whenever
//! laxities change places, decides for one job as often as its times make it.

use layland_model::{ScheduleRule, Time};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// So many decisions for each job of the effort.
const EACH: u64 = 256;

/// How many decisions the runs of a search may still take together.
#[derive(Clone, Debug)]
pub(super) struct Decisions {
    left: Arc<AtomicU64>,
    all: u64,
}

impl Decisions {
    /// For so many jobs.
    pub(super) fn of(effort: u64) -> Decisions {
        let all = effort.saturating_mul(EACH);
        Decisions { left: Arc::new(AtomicU64::new(all)), all }
    }

    /// Whether none is left, and what is said then.
    pub(super) fn ended(&self) -> Option<String> {
        (self.left.load(Ordering::Relaxed) == 0).then(|| {
            format!(
                "the search for a run that misses gave up after {} decisions of the policy: --effort takes it further",
                self.all
            )
        })
    }

    /// The policy, which ends the run by this flag when none is left.
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
