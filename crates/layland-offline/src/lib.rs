//! What is decided before the first release.
//!
//! - [`packing`]: tasks onto CPUs, by ten bin-packing heuristics or by exhaustive search;
//! - [`fair`]: tasks into the servers of RUN and QPS, and rates whose budgets are whole;
//! - [`criticality`]: priority orders, zero-slack instants, slices and job lists for several
//!   criticality levels.
//!
//! An offline stage is a verdict to an analysis and a parameter to a policy, so it knows neither.
//! Every comparison is exact.

pub mod criticality;
pub mod fair;
pub mod packing;

pub use fair::{
    Client, Clients, ExecutionSet, Fill, GridRate, Hierarchy, Infeasible, Master, QuasiRule,
    RateGrid, Reduction, ReductionRules, Rounds, Server, Subsystem, numerator, quasi_partition,
    reduce,
};
pub use packing::{
    Bins, Existence, Heuristic, NoRoom, ParseHeuristicError, Spare, Unplaced, UnplacedTask,
    anywhere, exists_partition, pack, pack_min, pack_over, partition, place, semi_partition,
};
