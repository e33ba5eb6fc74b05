//! `SCHED_DEADLINE`: admission control ([`admission`]) and tardiness ([`tardiness`]).

pub mod admission;
pub mod tardiness;
