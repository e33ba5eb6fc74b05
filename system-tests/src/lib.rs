//! Kernels other than this machine's, each booted in QEMU from an initial file system that holds
//! `busybox` and the static `layland`. What is checked is in `tests/kernels.rs`.
//!
//! - `fetch.sh` gets QEMU and the kernels of `kernels.txt` from Debian's suites.
//! - [`Guest`] builds the file system, boots, and gives back what each command printed.
//!
//! The emulator counts instructions instead of time (`-icount`): a busy host makes the guest slow,
//! not late, and the same image behaves in the same way twice. Latencies mean nothing there;
//! scheduling decisions do.

mod archive;
mod guest;

pub use archive::Archive;
pub use guest::{Booted, Guest, Kernel, Ran, Skipped};
