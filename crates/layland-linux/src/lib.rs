//! Layland's engines for Linux: the policies that the simulator drives, on real threads.
//!
//! [`run()`] is the `SCHED_FIFO` dispatcher: a manager thread turns timers, processor clocks and reports
//! of jobs into the events of a [`Policy`](layland_policy::Policy), and enacts its actions by
//! priorities, affinities and parking. It decides nothing. What happened is a [`Log`], from which a
//! [`Trace`](layland_trace::Trace) is made ([`Outcome::trace`]) and which can be replayed into a fresh
//! policy ([`replay()`]).
//!
//! [`deadline_engine`] is the kernel's own `SCHED_DEADLINE`, [`tracefs`] records what the kernel's
//! scheduler does, [`doctor`] tries what works on a machine, and [`undo`] takes back what a run changed,
//! however it ends. All calls that need `unsafe` are in `sys.rs`, but for those of the guardian.
//!
//! Needs Linux, and the right to real-time priorities (`CAP_SYS_NICE` or `rtprio`).
#![cfg(target_os = "linux")]

mod adjust;
mod calibrate;
pub mod deadline_engine;
pub mod doctor;
mod enact;
mod error;
mod guard;
mod hosts;
mod log;
mod machine;
mod manager;
mod markers;
mod overheads;
mod prepare;
mod raw;
mod recorder;
mod replay;
mod run;
mod sys;
pub mod text;
pub mod trace;
pub mod tracefs;
pub mod undo;
mod worker;

pub use adjust::{Adjustment, MOST_MOVED, adjustments};
pub use calibrate::{Calibration, Comparison, calibrate};
pub use error::RunError;
pub use guard::WatchdogClass;
pub use hosts::{Hosts, ManagerPlace};
pub use log::{Entry, Log, Record};
pub use machine::Machine;
pub use markers::Markers;
pub use overheads::{Distribution, Figures, Measured};
pub use prepare::{
    LEAST_MARGIN, margin_of, stretched, with_margin, with_margin_of, with_overrun, with_slack,
};
pub use raw::{RawMechanism, interruptions, measure};
pub use recorder::Recorder;
pub use replay::{Divergence, Replayed, replay};
pub use run::{LONGEST, Options, Outcome, run, supports};

pub use undo::Guardian;

/// The CPUs of the machine that this process may use, ascending.
///
/// # Errors
/// If the kernel does not say.
pub fn usable_cpus() -> std::io::Result<Vec<usize>> {
    sys::allowed_cpus()
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub fn now_ns() -> i64 {
    sys::monotonic_ns()
}
