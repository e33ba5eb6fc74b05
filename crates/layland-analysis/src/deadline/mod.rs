//! `SCHED_DEADLINE`: who is admitted ([`admission`]), and how late it can get ([`tardiness`]).

pub mod admission;
pub mod tardiness;
