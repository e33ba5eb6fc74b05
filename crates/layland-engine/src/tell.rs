//! How a policy is told of an event.

use crate::Engine;
use layland_policy::Event;

/// Tells the policy of an event, now.
// In place, where it is known which event it is: a call for each is 1 % of a simulation.
#[inline(always)]
pub fn tell(engine: &mut impl Engine, event: Event) {
    engine.told(&event);
    engine.ledger_mut().events += 1;
    engine.hear(event);
}
