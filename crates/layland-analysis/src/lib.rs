//! Layland's analyses: can the deadlines be guaranteed, and if not, how late can jobs get?
//!
//! Every test is **exact**, **sufficient** or **necessary** ([`TestKind`]), lists its
//! [`Assumption`]s, and refuses a system that breaks one ([`Refusal`]). An answer is a [`Verdict`]
//! with the [`Reason`]s that explain it: a sufficient test that fails says [`Verdict::Unknown`],
//! never [`Verdict::No`]. Integers and exact rationals decide everything. Nothing in this crate
//! runs a simulation or depends on a scheduler's code; it identifies a policy by its name alone.
//!
//! [`catalogue`] lists every test and bound. A program that checks a system iterates over this
//! list.
//!
//! ```text
//!   System --> assumptions hold? --no--> Refusal: this test says nothing about this system
//!                    | yes
//!                    v
//!                 decide --> Finding: Verdict (yes, no, unknown) with its Reasons
//! ```
//!
//! ```
//! use layland_analysis::{Verdict, global_edf::gfb};
//! use layland_model::{Duration, Service, System, Task};
//!
//! // Dhall's effect: two light tasks can make the heavy one late.
//! let tasks = [(1, 10), (1, 10), (10, 11)]
//!     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
//! let system = System::new(2, tasks.to_vec());
//! let finding = gfb::TEST.run(&system).unwrap();
//! // The utilization of 1.11 exceeds the bound. The test is sufficient only, so that is not a *no*.
//! assert_eq!(finding.verdict, Verdict::Unknown);
//! ```
//!
//! | module | question |
//! |---|---|
//! | [`necessary`] | can any scheduler meet the deadlines? |
//! | [`uniprocessor`] | EDF and fixed priorities, one CPU or several with pinned tasks: exact |
//! | [`global_edf`] | GFB, LOAD, BAK, BCL, BCLI, BAR, response times, FF-DBF; tardiness by Devi-Anderson and by compliant vectors |
//! | [`global_fp`] | global fixed priorities: response times |
//! | [`uniform`] | global scheduling on CPUs of different speeds: densities, load, windows, response times |
//! | [`levels`] | several tasks of one given priority |
//! | [`graph`] | tasks that follow others: on one CPU, on several that they share, and on CPUs of their own |
//! | [`groups`] | groups with reservations: supplies, tests inside and between them, least budgets |
//! | [`how_often`] | proven bounds on the probability of a miss; the most misses in a window |
//! | [`optimal`] | RUN and QPS: exact; their overheads |
//! | [`overheads`] | converts overheads into larger WCETs |
//! | [`partitioned`] | is there a partition? the utilization bound of Lopez et al. |
//! | [`semi_partitioned`] | C=D and EDF-WM: does every task fit, whole or in pieces? |
//! | [`deadline`] | admission control and tardiness of `SCHED_DEADLINE` |
//! | [`mixed`] | mixed criticality on each CPU: cut-offs, AMC, period transformation, zero slack, fixed job priorities |
//! | [`locking`] | locks and self-suspension: response times on one CPU and between CPUs, SRP |
//! | [`crpd`] | cache-related preemption delays: response times and demand on one CPU |
//! | [`chains`] | cause-effect chains: reaction time and data age |
//! | [`affinity`] | processor affinities: feasibility, response times, tardiness, the speed that hierarchical EDF needs |
//!
//! A verdict covers every behaviour that the parameters of the tasks allow: jobs at least a period
//! apart that execute for up to their WCET. Random execution times and separations in a task-set
//! file only affect simulations.

// A new event, action or verdict must break every match here until its meaning is decided.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod affinity;
mod assumption;
pub mod catalogue;
pub mod chains;
pub mod crpd;
pub mod deadline;
mod delay;
mod enclosure;
pub mod fixed_point;
pub mod global_edf;
pub mod global_fp;
pub mod graph;
mod group;
pub mod groups;
pub mod how_often;
pub mod levels;
pub mod locking;
pub mod map;
pub mod mixed;
pub mod necessary;
pub mod optimal;
mod ordered;
pub mod overheads;
pub mod partitioned;
mod proof;
pub mod semi_partitioned;
mod sporadic;
mod test;
pub mod top_first;
pub mod uniform;
pub mod uniprocessor;
pub mod unrelated;
mod verdict;

pub use assumption::{Assumption, EXPLAIN, PAIRS, Refusal, longest_execution, pairs};
pub use enclosure::Enclosure;
pub use group::may_become_ready_together;
pub use layland_model::Citation;
pub use ordered::OrderedTest;
pub use proof::{Certify, Evidence, Part, Point, Proof};
pub use sporadic::Sporadic;
pub use test::{BoundTest, ResponseTest, SchedulabilityTest, Subject};
pub(crate) use test::{BoundedTest, Decide, Respond};
pub use verdict::{
    Comparison, Finding, Quantity, Reason, ResponseBound, Scope, Tardiness, TardinessBound,
    TestKind, Verdict,
};
