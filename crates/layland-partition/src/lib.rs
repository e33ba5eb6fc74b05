//! The offline phase: packing tasks onto CPUs, and RUN and QPS items into servers.
//!
//! - [`Heuristic`]: the ten bin-packing rules, over anything that can say whether an item fits
//!   ([`Bins`], [`place`]);
//! - [`pack`], [`pack_min`], [`pack_over`]: exact rates into bins of one capacity;
//! - [`partition`]: the tasks of a [`System`](layland_model::System) onto its CPUs;
//! - [`exists_partition`]: whether *any* partition exists, by exhaustive search.
//!
//! Every comparison is exact. Nothing in here knows a scheduling policy.

mod exists;
mod heuristic;
mod loads;
mod pack;
mod partition;

pub use exists::{Existence, exists_partition};
pub use heuristic::{Bins, Heuristic, NoRoom, ParseHeuristicError, place};
pub use pack::{Spare, Unplaced, anywhere, pack, pack_min, pack_over};
pub use partition::{UnplacedTask, partition};
