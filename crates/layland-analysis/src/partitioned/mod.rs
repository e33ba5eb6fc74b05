//! Partitioned scheduling: every task on one CPU, EDF or fixed priorities on each.
//!
//! - [`lopez`]: a utilization bound up to which first fit always succeeds;
//! - [`existence`]: a partition under EDF, if one exists;
//! - [`priorities`]: a partition under fixed priorities, if one exists.

pub mod existence;
pub mod lopez;
pub mod priorities;
mod timed;
