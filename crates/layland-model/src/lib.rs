//! The data model of Layland as plain values: points, lengths and amounts in time, exact rates,
//! CPUs, tasks, platforms and the [`System`] that a task-set file describes.
//!
//! This crate does not depend on any scheduling policy, file format or floating-point deadline.
//!
//! ```text
//! System
//!   platform   CPUs with speeds, clusters, overheads
//!   levels     the names of the criticality levels
//!   tasks      C, T, D of each task, affinity, criticality, priority, cache sets, ..
//!   resources  what jobs share, one at a time
//!   groups     which tasks share a budget on their CPUs
//!   chains     which tasks hand data on to which
//!   requests   what changes while the system runs
//!
//!      arrival   release           completion      absolute deadline
//!         |---------|-- executes C ----|--------------|-----------> Time
//!         |<-jitter>|                  |              |
//!         |<------ response time ----->|              |
//!         |<--------- relative deadline D ----------->|
//! ```
//!
//! Three integer types, all in nanoseconds, keep points, lengths and work apart: `Time - Time` is a
//! [`Duration`], `Time + Time` does not compile, and execution times are [`Service`], which becomes a
//! [`Duration`] on a CPU of a given speed. [`Rate`] is an exact fraction, so that a utilization of
//! exactly 1 is exactly 1.
//!
//! ```
//! use layland_model::{Duration, Rate, Service, System, Task};
//!
//! let control = Task::implicit("control", Service::from_ms(2), Duration::from_ms(10));
//! let video = Task::implicit("video", Service::from_ms(12), Duration::from_ms(15));
//! let system = System::new(2, vec![control, video]);
//! assert_eq!(system.validate(), []);
//! assert_eq!(system.utilization().exact(), Rate::ONE);
//! assert_eq!(system.hyperperiod(), Some(Duration::from_ms(30)));
//! ```

// Every match is exhaustive: a new event, action or verdict must be handled explicitly everywhere.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod algorithm;
mod cache;
pub mod capacity;
mod chain;
mod citation;
mod cpuset;
mod curve;
mod flattened;
mod foreign;
mod graph;
mod hall;
mod id;
pub mod note;
mod platform;
mod rate;
pub mod rule;
mod server;
pub mod shown;
mod steps;
mod system;
mod task;
mod task_group;
mod time;
mod time_view;
mod validity;
mod weakly_hard;
mod wording;

pub use algorithm::{
    AdaptiveOrder, Algorithm, CutOffOrder, DeadlineChoice, Form, InLevel, Order, Protection,
    SplitOrder, Splitting, TopClass,
};
pub use cache::{CacheSets, CacheUse, ParseCacheSetsError};
pub use chain::{Chain, Communication, Constrained, Latency};
pub use citation::Citation;
pub use cpuset::{CpuSet, ParseCpuSetError};
pub use curve::{ArrivalCurve, CurveArrivals, CurveError};
pub use foreign::{acts_on_a_terminal, csv_cell, csv_text, push_visible, visible};
pub use graph::Graph;
pub use hall::Confined;
pub use id::{CpuId, CpuMap, IdVec, Index, JobId, TaskId, TaskMap};
pub use note::Note;
pub use platform::{Overheads, Platform, Speed};
pub use rate::{Enclosed, Rate, RateSum};
pub use rule::{
    Assigned, Group, JobOrder, LaxityRule, MoveReason, Piece, Placement, Releases, ScheduleRule,
    Slices,
};
pub use server::{Server, ServerKind};
pub use steps::{Protocol, Resource, ResourceId, Section, Step};
pub use system::{Change, Observed, Provenance, Request, RequestKind, System, Tasks};
pub use task::{
    Behaviour, Criticality, ExecutionModel, Levels, OnMiss, Preemption, Separation, Task,
};
pub use task_group::{GroupId, GroupServer, InnerPolicy, ServerRule, TaskGroup};
pub use time::{Duration, ParseTimeError, Service, TIME_LIMIT, Time};
pub use validity::{Field, Invalid, SystemPart};
pub use weakly_hard::{
    HitOrMiss, MissProbability, MissTolerance, Observance, PROFILE, ParseMissProbabilityError,
    ParseWeaklyHardError, Profile, Violation, Watch, WeaklyHard, WeaklyHardJudge, word_forever,
};
pub use wording::{counted, nearest};
