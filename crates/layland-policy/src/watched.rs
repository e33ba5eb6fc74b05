//! A policy that can still be looked at when the simulation that was given it is over.

use crate::{Action, Count, Event, Needs, Policy, State};
use layland_model::{ScheduleRule, Time};
use std::sync::{Arc, Mutex, MutexGuard};

/// A policy that is shared with whoever made it. A clone is the same policy.
#[derive(Clone, Debug)]
pub struct Watched<P>(Arc<Mutex<P>>);

impl<P> Watched<P> {
    /// The policy to simulate, and the policy to look at.
    pub fn new(policy: P) -> (Watched<P>, Arc<Mutex<P>>) {
        let shared = Arc::new(Mutex::new(policy));
        (Watched(shared.clone()), shared)
    }

    fn inner(&self) -> MutexGuard<'_, P> {
        self.0.lock().expect("no call has panicked")
    }
}

impl<P: Policy + Clone + 'static> Policy for Watched<P> {
    fn on_event(&mut self, now: Time, event: Event) {
        self.inner().on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.inner().decide(now, actions);
    }
    fn save(&self, now: Time, state: &mut State) {
        self.inner().save(now, state);
    }
    fn needs(&self) -> Needs {
        self.inner().needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.inner().rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.inner().counts()
    }
}
