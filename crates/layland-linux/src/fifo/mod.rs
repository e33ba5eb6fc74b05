//! The `SCHED_FIFO` dispatcher: a manager thread drives a policy, and the threads of the tasks do what it decides.
//!
//! ```text
//!   run        threads, manager and guards from beginning to end
//!   outcome    what came out of it, and whether it can be believed
//!   threads    what the manager wants becomes priorities, affinities and parking
//!   worker     the thread of a task: executes its jobs and reports
//!   guard      ends a run that has got out of hand
//! ```
//!
//! `prepare` and `adjust` change a set before a run, `hosts` says which CPU of the machine each CPU is, and
//! `calibrate` and `raw` measure what the dispatcher costs.

pub mod adjust;
pub mod calibrate;
pub mod guard;
pub mod hosts;
pub mod outcome;
pub mod prepare;
pub mod raw;
pub mod run;
mod threads;
pub(crate) mod worker;
