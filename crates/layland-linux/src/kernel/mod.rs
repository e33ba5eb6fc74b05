//! The kernel: system calls, and the kernel's own trace.
//!
//! Every call that needs `unsafe` is in `sys` and `files`, except the fork of the guardian process; the cell of a lock
//! is in `lock`.

pub mod files;
pub mod lock;
pub mod markers;
pub mod recorder;
pub mod sys;
pub mod timer;
pub mod tracefs;
