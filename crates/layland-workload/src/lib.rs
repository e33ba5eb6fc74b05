//! What tasks ask for: when their jobs arrive and how long they execute, drawn from streams seeded
//! per task. Every engine draws from the same streams in the same order, so that the jobs of a run on
//! real threads are those of the simulation with the same seed.

mod stream;

pub use stream::{Arrival, Stream, generator, uniform};
