//! The offline stages of the optimal policies.
//!
//! - [`reduce`]: the reduction tree of RUN;
//! - [`quasi_partition`]: the processor hierarchy of QPS;
//! - [`RateGrid`]: rates for which every budget of RUN and QPS is a whole number of nanoseconds;
//! - [`Slots`]: the weights of tasks under Pfair, and the windows of their subtasks.

mod grid;
mod quasi;
mod reduction;
mod windows;

pub use grid::{GridRate, RateGrid, numerator};
pub use quasi::{
    Client, ExecutionSet, Hierarchy, Master, QuasiRule, Rounds, parse_rounds, quasi_partition,
};
pub use reduction::{
    Clients, Fill, Infeasible, Reduction, ReductionRules, Server, Subsystem, reduce,
};
pub use windows::{NoSlots, Slots, Weight};
