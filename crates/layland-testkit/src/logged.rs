//! A policy that records its events and decisions, so that a copy can receive the same events.

use layland_model::{ScheduleRule, Time};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use std::sync::{Arc, Mutex};

/// One decision: its time, the events before it, and the actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The time of the decision.
    pub now: Time,
    /// The events since the previous step.
    pub events: Vec<Event>,
    /// The actions of the policy.
    pub actions: Vec<Action>,
}

/// A policy and the log of its steps, which clones share.
#[derive(Clone)]
pub struct Logged<P> {
    policy: P,
    events: Vec<Event>,
    log: Arc<Mutex<Vec<Step>>>,
}

impl<P: Policy> Logged<P> {
    /// Logs the events and decisions of a policy.
    pub fn new(policy: P) -> Self {
        Self { policy, events: Vec::new(), log: Arc::default() }
    }

    /// Returns a handle to the log.
    pub fn log(&self) -> Arc<Mutex<Vec<Step>>> {
        Arc::clone(&self.log)
    }
}

impl<P: Policy + Clone + 'static> Policy for Logged<P> {
    fn on_event(&mut self, now: Time, event: Event) {
        self.events.push(event.clone());
        self.policy.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        let before = actions.len();
        self.policy.decide(now, actions);
        let events = std::mem::take(&mut self.events);
        let step = Step { now, events, actions: actions[before..].to_vec() };
        self.log.lock().expect("no test thread panicked").push(step);
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

/// Feeds a log to a policy. Returns the first step in which it decides differently, and its decision.
pub fn first_divergence<P: Policy>(policy: &mut P, log: &[Step]) -> Option<(usize, Vec<Action>)> {
    let mut actions = Vec::new();
    for (index, step) in log.iter().enumerate() {
        step.events.iter().for_each(|event| policy.on_event(step.now, event.clone()));
        actions.clear();
        policy.decide(step.now, &mut actions);
        if actions != step.actions {
            return Some((index, actions));
        }
    }
    None
}
