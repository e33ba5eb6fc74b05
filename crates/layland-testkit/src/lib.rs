//! Layland's test kit: what the tests of every crate share, and nobody else uses.
//!
//! - [`twin`]: the obvious version of each clever algorithm, to run beside it on random inputs;
//! - [`logged`]: a policy that writes down what it does, to feed it to a copy;
//! - [`ticks`]: a simulator that moves one time unit at a time;
//! - [`strategies`]: random task sets for property tests;
//! - [`vectors`]: the runner of test vectors in the documented schemas.

pub mod logged;
pub mod strategies;
pub mod ticks;
pub mod twin;
pub mod vectors;
