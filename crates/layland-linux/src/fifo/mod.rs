//! The `SCHED_FIFO` dispatcher: a manager thread drives a policy, and the threads of the tasks
//! carry out its decisions.
//!
//! ```text
//!   run        threads, manager and guards from beginning to end
//!   outcome    what came out of it, and whether it can be believed
//!   threads    what the manager wants becomes priorities, affinities and parking
//!   worker     the thread of a task: executes its jobs and reports, or releases and ends them itself
//!   releases   which of the two
//!   dispatch   a dispatcher on every CPU, in place of one manager
//!   guard      ends a run that has got out of hand
//! ```
//!
//! `prepare` changes a set before a run, `hosts` maps the CPUs of the platform to those of the
//! machine, and `adjust`, `calibrate` and `raw` measure the costs of the dispatcher.

pub mod adjust;
pub mod calibrate;
pub mod dispatch;
pub mod guard;
pub mod hosts;
pub(crate) mod logs;
pub mod outcome;
pub mod prepare;
pub mod raw;
pub mod releases;
pub mod run;
mod threads;
pub(crate) mod worker;
