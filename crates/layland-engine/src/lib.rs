//! What all engines share.
//!
//! [`streams`] draw what tasks ask for: when their jobs arrive and how long they execute. Every engine draws from
//! the same streams in the same order, so that the jobs of a run on real threads are those of the simulation with
//! the same seed.

pub mod streams;
