//! Threads under sched_ext: policies decide in user space, and a mechanism in the kernel, which knows none, does what
//! they have decided.
//!
//! ```text
//!   mechanism/     the mechanism: BPF, its own header of the kernel, the compiled object
//!   mechanism.rs   loads it, attaches it, takes it out      shared.rs    the records that both sides see
//!   threads.rs     a carrier for the manager                tables.rs    what CPUs may do by themselves
//!   news.rs        what the mechanism has told              work.rs      whose threads they are, what their jobs are
//!   posts.rs       threads of a load                        load.rs      these, in a process of their own
//!   programs.rs    threads of other programs                run.rs       a run from beginning to end
//!   carry.rs       the same for threads that come and go
//! ```
//!
//! The manager is that of `SCHED_FIFO`: jobs, events, rounds, budgets, the log and its replay are the same. What the
//! kernel adds are CPUs that act before the manager has been woken, by a table of what clones of the policy have
//! answered; what it decides afterwards counts.
//!
//! Three nets lie below the manager. When it has not answered for 20 ms, the mechanism gives CPUs by earliest deadline;
//! after a second it ends with an error, and the kernel makes every thread an ordinary one; and the kernel's own
//! watchdog does that to a mechanism that runs nobody for 30 s. Each is told, and the run is not to be trusted then.
//!
//! Needs Linux 7.2, root, and a kernel whose type information is in order: `layland doctor` says so.

mod carry;
mod load;
mod mechanism;
mod news;
mod posts;
mod programs;
mod run;
mod shared;
mod tables;
mod threads;
mod work;

pub use carry::{Carried, CarryOptions, Carrying, EnterError, Ticket};
pub use run::{ExtOptions, run};

/// How long the manager may take to answer before the caretaker acts, and before everything ends.
const LATE_NS: u64 = 20_000_000;
/// See [`LATE_NS`].
const DEAD_NS: u64 = 1_000_000_000;

/// What the engine `ext` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ExtFigures {
    /// Times that a CPU acted by the table, as the policy decided then.
    pub right: u64,
    /// Times that it did not.
    pub wrong: u64,
    /// Of the times that it did, those in which the budget was another one than decided, and was corrected.
    pub adjusted: u64,
    /// Decisions that had to be carried out by a call into the kernel.
    pub commits: u64,
    /// Times that a CPU gave itself to the job after one that completed.
    pub followed: u64,
    /// Times that a thread took a CPU when it woke.
    pub woken: u64,
    /// Orders about a job that had ended meanwhile; they did nothing.
    pub stale: u64,
    /// Times that a thread came back to the mechanism because it could not run at once: most often, because a thread of
    /// a higher class had its CPU.
    pub bounced: u64,
    /// Decisions of the caretaker, because the manager was late.
    pub by_caretaker: u64,
    /// Records that did not reach the manager, because it did not read them in time.
    pub lost: u64,
}
