//! The notification of a policy of an event.

use crate::Engine;
use layland_policy::Event;

/// Passes an event to the policy, now.
// Inlined where the kind of event is known: a call for each event costs 1 % of a simulation.
#[inline(always)]
pub fn tell(engine: &mut impl Engine, event: Event) {
    engine.told(&event);
    engine.ledger_mut().events += 1;
    engine.hear(event);
}
