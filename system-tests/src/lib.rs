//! Boots kernels other than that of this machine in QEMU, each from an initial file system that
//! holds `busybox` and the static `layland`. The checks are in `tests/`.
//!
//! - `fetch.sh` downloads QEMU and the kernels of `kernels.txt` from Debian's suites.
//! - [`Guest`] builds the file system, boots, and returns the output of each command.
//! - [`patched_kernel`] builds a kernel with the patches of `kernel/`, or finds it.
//! - [`overheads`] measures the costs of SCHED_DEADLINE there; the program of that name prints the
//!   tables of `docs/overheads.md`.
//! - [`engines`] runs the same sets on every engine; the program of that name prints the table of
//!   `docs/engines.md`.
//!
//! The emulator counts instructions instead of time (`-icount`): a busy host makes the guest slow,
//! not late, and the same image behaves identically in two runs. Latencies are meaningless there,
//! but scheduling decisions are meaningful, and so are ratios of the amounts of code that a kernel
//! executes.

mod archive;
pub mod engines;
mod guest;
pub mod overheads;
mod patched;
mod program;

pub use archive::Archive;
pub use guest::{Booted, CommandRun, Guest, Kernel, Skipped};
pub use patched::{Checks, Spend, kernel_functions, kernel_programs, patched_kernel};
pub use program::{
    AROUND_THE_REPAIR, FAIR_SERVERS, NO_FAIR_SERVERS, Profile, WITH_DEADLINE, carries_ext,
    past_the_harness, static_layland, static_workload,
};
