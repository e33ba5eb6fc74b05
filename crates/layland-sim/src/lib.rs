//! Layland's simulator: exact, event-driven, generic over the policy and the recorder.
//!
//! It names no policy and reads no clock. Everything random is drawn from streams seeded per task,
//! so that the same system, policy and seed give the same schedule on any machine.

mod explore;
mod grains;
mod options;
mod simulator;

pub use explore::with_random_ranks;
pub use options::{Cycle, Horizon, Options, Outcome, SimError};
pub use simulator::{simulate, simulate_with};
