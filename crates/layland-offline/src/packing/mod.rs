//! Packing tasks onto CPUs.
//!
//! - [`Heuristic`]: the ten bin-packing rules, for any bins that can decide whether an item fits
//!   ([`Bins`], [`place`]);
//! - [`pack`], [`pack_min`], [`pack_over`]: exact rates into bins of one capacity;
//! - [`partition`]: the tasks of a [`System`](layland_model::System) onto its CPUs;
//! - [`semi_partition`]: fixes the tasks that fit onto CPUs, and lets the others migrate;
//! - [`exists_partition`]: searches exhaustively for *any* partition;
//! - [`assign`]: the first partition that a test of the CPUs accepts, which is `fit=auto`;
//! - [`OneCpu`]: the test of the tasks of a CPU, by the order of the policy.

mod auto;
mod exists;
mod heuristic;
mod loads;
mod minima;
mod one_cpu;
mod pack;
mod partition;
mod response;
mod semi;

pub use auto::{
    Assignment, CpuTest, FoundBy, ORDER, SEARCH_TASKS, SEARCH_TESTS, Together, Unfill, assign,
    balanced, first_accepted, place_by, sharing, stands_for,
};
pub use exists::{Existence, exists_partition};
pub use heuristic::{Bins, Heuristic, NoRoom, ParseHeuristicError, place};
pub use minima::Minima;
pub use one_cpu::{CpuRules, OneCpu};
pub use pack::{Spare, Unplaced, anywhere, pack, pack_min, pack_over};
pub use partition::{UnplacedTask, pack_clusters, partition};
pub use semi::semi_partition;
