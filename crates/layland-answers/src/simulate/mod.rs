//! What will happen? A run under each policy, side by side ([`SimulateQuestion`]).
//!
//! Each policy is simulated once with streaming statistics, so that memory does not grow with
//! simulated time. The contents of charts and files are simulated again
//! ([`record`](Simulated::record)), which gives the same schedule.

mod ask;
mod chains;
mod document;
mod how_often;
mod question;
mod simulated;

pub use ask::Watch;
pub use chains::{OfChain, measured_chains};
pub use document::Document;
pub use how_often::{ObservedConstraint, OfConstraint, observed_constraints};
pub use question::{SimulateQuestion, usual_end};
pub use simulated::{PolicyRun, Ran, Simulated};
