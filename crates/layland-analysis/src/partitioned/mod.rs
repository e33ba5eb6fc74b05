//! Partitioned scheduling: every task on one CPU, EDF or fixed priorities on each.
//!
//! - [`lopez`]: a utilization bound below which first fit always succeeds;
//! - [`existence`]: a partition under EDF, if there is one at all;
//! - [`priorities`]: the same question under fixed priorities.

pub mod existence;
pub mod lopez;
pub mod priorities;
