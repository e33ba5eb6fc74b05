//! A policy that writes down what it is told and what it decides, so that another copy can be fed
//! the same.

use layland_model::{ScheduleRule, Time};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use std::sync::{Arc, Mutex};

/// One decision: when, after which events, and what was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When.
    pub now: Time,
    /// What the policy was told since the step before.
    pub events: Vec<Event>,
    /// What it decided.
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
    /// Logs what a policy does.
    pub fn new(policy: P) -> Self {
        Self { policy, events: Vec::new(), log: Arc::default() }
    }

    /// A handle to the log.
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

/// Feeds a log to a policy; the first step in which it decides otherwise, and what it decided.
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
