//! What all engines share.
//!
//! An engine turns what happens in its world into the events of a policy, and carries out what the policy
//! decides. Most of that is the same whatever the world is, a simulation or threads of Linux, and stands here:
//!
//! ```text
//!                  rounds, jobs, requests                      Policy
//!                 +-----------------------+      events
//!    Engine  ---->|  Ledger: jobs, what   |----------------->  on_event
//!   (its CPUs,    |  was asked, what is   |      actions
//!   its record) <-|  due next             |<-----------------  decide
//!                 +-----------------------+
//!                             ^
//!                          streams: when jobs arrive, and what they need
//! ```
//!
//! An engine owns a [`Ledger`], implements [`Engine`] (its CPUs, and where it writes down what happens), and has
//! a loop of its own: it waits for what is due next, sets [`Ledger::now`], and calls [`rounds::round`].
//!
//! The simulator is an engine in about 1,000 lines, most of them CPUs, segments and overheads that another engine
//! does not have. What an engine does not provide: when jobs arrive, wait and end; who asked for what and what became
//! of it; the order of a round; which id a program gets ([`programs`]).
//!
//! [`streams`] draw what tasks ask for. Every engine draws from the same streams in the same order, so that the
//! jobs of a run on real threads are those of the simulation with the same seed.

// A new event, action or verdict breaks every match here, until somebody has decided what it means.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod agenda;
mod engine;
pub mod jobs;
mod ledger;
pub mod programs;
pub mod record;
mod requests;
pub mod rounds;
pub mod streams;
mod tell;

pub use agenda::Agenda;
pub use engine::Engine;
pub use ledger::{Asked, ENDLESS, Ledger, Status, TaskRun, reconfigured};
