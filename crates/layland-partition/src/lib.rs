//! The offline phase: packing tasks onto CPUs, and RUN and QPS items into servers.
//!
//! - [`Heuristic`]: the ten bin-packing rules, over anything that can say whether an item fits
//!   ([`Bins`], [`place`]);
//! - [`pack`], [`pack_min`], [`pack_over`]: exact rates into bins of one capacity;
//! - [`partition`]: the tasks of a [`System`](layland_model::System) onto its CPUs;
//! - [`semi_partition`]: tasks that fit onto CPUs, the others to migrate;
//! - [`reduce`]: the reduction tree of RUN; [`quasi_partition`]: the processor hierarchy of QPS;
//! - [`RateGrid`]: rates for which every budget of RUN and QPS is a whole number of nanoseconds;
//! - [`exists_partition`]: whether *any* partition exists, by exhaustive search.
//!
//! Every comparison is exact. Nothing in here knows a scheduling policy.

mod exists;
mod grid;
mod heuristic;
mod loads;
mod pack;
mod partition;
mod quasi;
mod reduction;
mod semi;

pub use exists::{Existence, exists_partition};
pub use grid::{GridRate, RateGrid, numerator};
pub use heuristic::{Bins, Heuristic, NoRoom, ParseHeuristicError, place};
pub use pack::{Spare, Unplaced, anywhere, pack, pack_min, pack_over};
pub use partition::{UnplacedTask, partition};
pub use quasi::{Client, ExecutionSet, Hierarchy, Master, QuasiRule, Rounds, quasi_partition};
pub use reduction::{
    Clients, Fill, Infeasible, Reduction, ReductionRules, Server, Subsystem, reduce,
};
pub use semi::semi_partition;
