//! How a policy is told of an event.

use crate::Engine;
use layland_policy::{Event, Policy};

/// Tells the policy of an event, now.
#[inline]
pub fn tell(engine: &mut impl Engine, event: Event) {
    engine.told(&event);
    let ledger = engine.ledger_mut();
    ledger.events += 1;
    ledger.policy.on_event(ledger.now, event);
}
