//! Layland's engines for Linux: the policies that the simulator drives, on real threads.
//!
//! [`run()`] is the `SCHED_FIFO` dispatcher: a manager thread turns timers, processor clocks and
//! reports of jobs into the events of a [`Policy`](layland_policy::Policy), and enacts its actions
//! by priorities, affinities and parking. The manager makes no scheduling decision of its own. Under
//! policies with fixed priorities, threads release and end their jobs themselves ([`Releases`]). A
//! run is recorded in a [`Log`], which can be turned into a [`Trace`](layland_trace::Trace)
//! ([`Outcome::trace`]) and replayed into a fresh policy ([`replay()`]).
//!
//! ```text
//!   manager/    a policy drives threads, whatever carries them     deadline/   threads under SCHED_DEADLINE
//!   fifo/       threads under SCHED_FIFO: what the manager needs of them
//!   exec/       programs that exist, with reservations
//!   ext/        threads under sched_ext (feature `ext`), the same
//!   log/        what happened: records, files, replay, traces      machine/    what works here, taking back
//!   kernel/     system calls, tracefs, marks in the kernel's trace
//! ```
//!
//! [`deadline`] runs threads under the kernel's own `SCHED_DEADLINE`, [`tracefs`] records what the
//! kernel's scheduler does, [`doctor`] tests which features work on a machine, and [`Changes`]
//! reverts what a run changed, however the run ends.
//!
//! Requires Linux and the right to real-time priorities (`CAP_SYS_NICE` or `rtprio`).
#![cfg(target_os = "linux")]
// Every new event, action or record breaks each match here until its author decides what it means.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod deadline;
mod error;
pub mod exec;
#[cfg(feature = "ext")]
pub mod ext;
mod fifo;
mod kernel;
mod log;
mod machine;
mod manager;

pub use error::RunError;
pub use fifo::adjust::{Adjustment, MOST_MOVED, adjustments};
pub use fifo::calibrate::{Calibration, Comparison, calibrate};
pub use fifo::dispatch::Dispatch;
pub use fifo::guard::WatchdogClass;
pub use fifo::hosts::{Hosts, ManagerPlace};
pub use fifo::outcome::Outcome;
pub use fifo::prepare::{stretched, with_overrun};
pub use fifo::raw::{RawMechanism, interruptions, measure};
pub use fifo::releases::Releases;
pub use fifo::run::{FifoOptions, LONGEST, run, supports};
pub use kernel::markers::Markers;
pub use kernel::recorder::Recorder;
pub use kernel::tracefs;
pub use layland_engine::reserves::{self, Margin, with_margin, with_slack};
pub use log::file::{LogError, LogFile};
pub use log::replay::{Divergence, Impossible, Replayed, replay};
pub use log::servers::{ServerCosts, server_costs};
pub use log::{Entry, Log, Program, Record, file, trace};
pub use machine::admitted::{Admitting, Member, Reserved};
pub use machine::changes::{ChangeError, Changes, NotTakenBack};
pub use machine::disturbance::{Disturbance, ForeignProcess};
pub use machine::ext::{Defect, ExtSupport, Obstacle, support as ext_support};
pub use machine::register::{Register, Run, named as cpus_named, own_namespace as pid_namespace};
pub use machine::repair::Repair;
pub use machine::rules::{Broken, Missing, Rules, try_deadline};
pub use machine::throttling::{Throttling, foresee, way_out};
pub use machine::{Machine, doctor};
pub use manager::dispatchers::Locks;
pub use manager::monitor::Timers;
pub use manager::overheads::{Distribution, Figures, Measured};

/// Returns the CPUs of the machine that this process may use, in ascending order.
///
/// # Errors
/// Returns an error if the kernel does not report them.
pub fn usable_cpus() -> std::io::Result<Vec<usize>> {
    kernel::sys::allowed_cpus()
}

/// Returns the time of `CLOCK_MONOTONIC` in nanoseconds.
pub fn now_ns() -> i64 {
    kernel::sys::monotonic_ns()
}
