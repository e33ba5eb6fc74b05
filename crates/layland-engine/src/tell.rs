//! How a policy is told of an event.

use crate::Engine;
use layland_policy::Event;

/// Tells the policy of an event, now.
#[inline]
pub fn tell(engine: &mut impl Engine, event: Event) {
    engine.told(&event);
    engine.ledger_mut().events += 1;
    engine.hear(event);
}
