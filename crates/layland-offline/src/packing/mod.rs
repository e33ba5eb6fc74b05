//! Packing tasks onto CPUs.
//!
//! - [`Heuristic`]: the ten bin-packing rules, over anything that can say whether an item fits
//!   ([`Bins`], [`place`]);
//! - [`pack`], [`pack_min`], [`pack_over`]: exact rates into bins of one capacity;
//! - [`partition`]: the tasks of a [`System`](layland_model::System) onto its CPUs;
//! - [`semi_partition`]: tasks that fit onto CPUs, the others to migrate;
//! - [`exists_partition`]: whether *any* partition exists, by exhaustive search.

mod exists;
mod heuristic;
mod loads;
mod minima;
mod pack;
mod partition;
mod semi;

pub use exists::{Existence, exists_partition};
pub use heuristic::{Bins, Heuristic, NoRoom, ParseHeuristicError, place};
pub use minima::Minima;
pub use pack::{Spare, Unplaced, anywhere, pack, pack_min, pack_over};
pub use partition::{UnplacedTask, partition};
pub use semi::semi_partition;
