//! Decisions made before the first release.
//!
//! - [`packing`] assigns tasks to CPUs, by ten bin-packing heuristics or by exhaustive search;
//! - [`fair`] groups tasks into the servers of RUN and QPS, rounds rates so that every budget is
//!   whole, and converts times to slots;
//! - [`criticality`] computes priority orders, zero-slack instants, slices and job lists for several
//!   criticality levels;
//! - [`graph`] bounds the response time of DAG tasks on CPUs of their own, and computes how many
//!   they need;
//! - [`points`] computes the priority points of jobs under G-FL;
//! - [`splitting`] splits tasks that fit on no CPU into pieces, by C=D and EDF-WM;
//! - [`top`] selects the tasks that come first under EDF-US, fpEDF, EDF^(k) and RM-US.
//!
//! ```text
//!                    +--> an analysis: a partition exists, so this is schedulable
//!   System --> here -+
//!                    +--> a policy: schedule these tasks on these CPUs
//! ```
//!
//! A result can be a verdict for an analysis and a parameter for a policy, so this crate depends on
//! neither. Every comparison is exact.
//!
//! ```
//! use layland_model::{CpuId, Duration, Service, System, Task, TaskId};
//! use layland_offline::{Heuristic, partition};
//!
//! let tasks = [(2, 3), (1, 2), (1, 2), (1, 3)]
//!     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
//! // 2/3 + 1/3 and 1/2 + 1/2: two full CPUs.
//! let cpu_of = partition(&System::new(2, tasks.to_vec()), Heuristic::Ff).unwrap();
//! assert_eq!(cpu_of[TaskId(3)], CpuId(0));
//! ```

// A new event, action or verdict must break every match here until its meaning is decided.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod criticality;
pub mod fair;
pub mod graph;
pub mod packing;
pub mod points;
pub mod splitting;
pub mod top;

pub use fair::{
    Client, Clients, ExecutionSet, Fill, GridRate, Hierarchy, Infeasible, Master, NoSlots,
    QuasiRule, RateGrid, Reduction, ReductionRules, Rounds, Server, Slots, Subsystem, Weight,
    numerator, parse_rounds, quasi_partition, reduce,
};
pub use packing::{
    Bins, Existence, Heuristic, Minima, NoRoom, ParseHeuristicError, Spare, Unplaced, UnplacedTask,
    anywhere, exists_partition, pack, pack_min, pack_over, partition, place, semi_partition,
};
pub use splitting::{NoSplit, split};
