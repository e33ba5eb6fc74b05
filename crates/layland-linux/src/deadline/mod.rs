//! The kernel's SCHED_DEADLINE as an engine: real threads, scheduled by Linux itself.
//!
//! Only what the kernel can express runs here: earliest deadline first in disjoint groups of CPUs,
//! that is, global, clustered and partitioned EDF ([`Plan`]). Each group is a root domain of its
//! own (a cpuset partition, unless it is the whole machine). Each task is a thread with a
//! reservation of its WCET plus a margin. The threads enter SCHED_DEADLINE before their first
//! release, never change their parameters or affinity afterwards (unless requests say so), and
//! sleep until absolute times of their own release clock.
//!
//! Alternatively, the engine uses the kernel as it is ([`Plan::of_kernel`]): threads with any
//! affinities, hogs, and requests that are carried out by system calls, in one root domain.
//! Admission control is off during the run and is switched on again however the run ends. This mode
//! shows the defects that Tang, Anderson and Abeni (2021) describe.
//!
//! Notes on its results:
//!
//! 1. In groups of several CPUs, the kernel promises bounded tardiness, not met deadlines.
//! 2. Without precise budgets (`HRTICK_DL`), the tick enforces budgets: a job may overrun by up to
//!    one tick, and its next pause is longer in return.
//! 3. The threads themselves observe the segments: each job reads the clocks continuously, and a
//!    pause longer than 50 us between two readings ends a segment. A shorter pause counts as
//!    execution.
//! 4. A deadline longer than the period is reserved as the period, because the kernel accepts no
//!    longer one.

mod plan;
mod run;
mod thread;

pub(crate) use crate::machine::cpuset::Cpusets;
pub use crate::machine::cpuset::{CpusetError, is_v1};
pub use plan::{Domain, Facts, Plan, Refusal, Reservation};
pub use run::{DeadlineOptions, Ran, RunError, run};
