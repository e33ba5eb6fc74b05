//! The kernel: system calls, and its own trace.
//!
//! Every call that needs `unsafe` is in `sys`, but for those of the guardian process.

pub mod markers;
pub mod recorder;
pub mod sys;
pub mod tracefs;
