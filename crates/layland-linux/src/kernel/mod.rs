//! The kernel: system calls, and its own trace.
//!
//! Every call that needs `unsafe` is in `sys` and `files`, but for the fork of the guardian process.

pub mod files;
pub mod markers;
pub mod recorder;
pub mod sys;
pub mod tracefs;
