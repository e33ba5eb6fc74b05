//! Layland's scheduling policies.
//!
//! A policy is a pure state machine: it absorbs [`Event`]s, then decides once per instant, with
//! [`Action`]s. It never reads a clock, draws a random number, prints, spawns, locks or looks into
//! the engine that drives it. The simulator and the Linux engines drive the very same values.
//!
//! [`registry`] has every policy by name.

pub mod adaptive;
pub mod affinity;
pub mod deadline;
pub mod fair;
mod groups;
mod highest_first;
pub mod mixed;
pub mod ordered;
mod policy;
pub mod registry;
mod watched;

pub use highest_first::HighestFirst;
pub use layland_model::Note;
pub use policy::{
    Action, AfterJob, ClonePolicy, Count, Event, Needs, Policy, Refusal, RefusalKind, RequestId,
    Schedules, Speeds, State, TimerId,
};
pub use watched::Watched;
