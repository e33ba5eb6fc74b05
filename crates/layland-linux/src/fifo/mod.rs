//! The `SCHED_FIFO` dispatcher: a manager thread drives a policy, and the threads of the tasks do what it decides.
//!
//! ```text
//!   run        threads, manager and guards from beginning to end
//!   outcome    what came out of it, and whether it can be believed
//!   manager    what has happened becomes events; decisions become wishes
//!   enact      wishes become priorities, affinities and parking
//!   worker     the thread of a task: executes its jobs and reports
//!   guard      ends a run that has got out of hand
//! ```
//!
//! `prepare` and `adjust` change a set before a run, `hosts` says which CPU of the machine each CPU is, and
//! `calibrate`, `raw` and `overheads` measure what the dispatcher costs.

pub mod adjust;
pub mod calibrate;
mod enact;
pub mod guard;
pub mod hosts;
mod manager;
pub mod outcome;
pub mod overheads;
pub mod prepare;
pub mod raw;
pub mod run;
mod worker;
