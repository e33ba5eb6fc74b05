//! Partitioned EDF: every task on one CPU, EDF on each.
//!
//! - [`lopez`]: a utilization bound below which first fit always succeeds;
//! - [`existence`]: whether there is a partition at all.

pub mod existence;
pub mod lopez;
