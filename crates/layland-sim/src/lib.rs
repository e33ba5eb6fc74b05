//! Layland's simulator: exact, event-driven, generic over the policy and the recorder.
//!
//! ```text
//!   Horizon                  +------------------+   events    +--------+
//!   System  ---------------->|  simulate        |------------>| Policy |
//!   Programs (come and go) ->|  clock, CPUs,    |<------------|        |
//!                            |  overheads       |   actions   +--------+
//!                            +------------------+
//!                                     | jobs, segments, marks, answers
//!                                     v
//!                                 Recorder: a trace, counters, statistics
//! ```
//!
//! [`simulate`] runs the tasks of a set, and [`simulate_with`] also programs that come and go. The
//! code that all engines share is in `layland-engine`. The simulator names no policy and reads no
//! clock. All random values come from streams seeded per task, so that the same system, policy and
//! seed give the same schedule on any machine.

// A new event, action or verdict breaks every match here, until its meaning has been decided.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod explore;
mod figures;
mod grains;
mod options;
mod recurrent;
mod simulator;

pub use explore::{Explored, explored, with_random_ranks};
pub use figures::{Figures, simulate_figures};
pub use options::{Cycle, EventLoop, Horizon, Outcome, SimError, SimOptions};
pub use simulator::{simulate, simulate_with};
