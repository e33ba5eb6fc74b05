//! Kernels other than this machine's, each booted in QEMU from an initial file system that holds
//! `busybox` and the static `layland`. What is checked is in `tests/`.
//!
//! - `fetch.sh` gets QEMU and the kernels of `kernels.txt` from Debian's suites.
//! - [`Guest`] builds the file system, boots, and gives back what each command printed.
//! - [`overheads`] measures what SCHED_DEADLINE costs there; the program of that name makes the tables of
//!   `docs/overheads.md`.
//! - [`engines`] runs the same sets through every engine; the program of that name makes the table of
//!   `docs/engines.md`.
//!
//! The emulator counts instructions instead of time (`-icount`): a busy host makes the guest slow,
//! not late, and the same image behaves in the same way twice. Latencies mean nothing there;
//! scheduling decisions do, and so do ratios of how much code a kernel executes.

mod archive;
pub mod engines;
mod guest;
pub mod overheads;
mod program;

pub use archive::Archive;
pub use guest::{Booted, Guest, Kernel, Ran, Skipped};
pub use program::{
    AROUND_THE_REPAIR, FAIR_SERVERS, NO_FAIR_SERVERS, Profile, WITH_DEADLINE, carries_ext,
    past_the_harness, static_layland, static_workload,
};
