//! Jobs that **lock** resources and **suspend** themselves: blocking, response times and demand.
//!
//! | item | subject | kind |
//! |---|---|---|
//! | [`blocking`] | one CPU: plain locks, inheritance, ceilings | |
//! | `LOCK-RTA`, `PIP-RTA`, `PIP-MATCHING`, `PCP-RTA` | one CPU: response times with this blocking, fixed priorities | sufficient |
//! | [`stack`], `SRP` | one CPU: demand and blocking of EDF | sufficient |
//! | [`suspension`], `SUSP-*` | one CPU: self-suspension, fixed priorities | sufficient |
//! | [`suspended_demand`], `SUSP-OBL-EDF` | one CPU: self-suspension, demand of EDF | sufficient |
//! | [`between`], `MPCP`, `FMLP+`, `DPCP`, `MSRP`, `MSRP-HOLISTIC` | several CPUs, partitioned fixed priorities | sufficient |
//! | [`between::demand`], `MSRP-QPA` | several CPUs, demand, spinning and blocking of EDF | sufficient |
//!
//! Each test of fixed priorities exists for given priorities and, with the suffixes `-RM` and
//! `-DM`, for rate-monotonic and deadline-monotonic ones. Base priorities are distinct over the
//! whole system: equal priorities go to the smaller rank, then to the smaller id. The tests for one
//! CPU examine each CPU, and take systems in which each resource is used on one CPU; the tests
//! between CPUs take the whole system.
//!
//! All tests rely on one rule of the policies: **a job requests a lock only when it is selected**,
//! and on one CPU a released lock is free, not handed over. With the shortcut "unlock, then lock at
//! once", a job of lower priority would enter a section again before the job that it has just
//! unblocked, and the classic bounds would be wrong.
//!
//! Not supported: FMLP+ between CPUs under EDF, nested global sections, inheritance together with
//! self-suspension, locks together with self-suspension under EDF.

pub mod between;
pub mod blocking;
pub mod response;
pub mod stack;
pub mod suspended_demand;
pub mod suspension;

mod assignment;
mod citations;
mod schedulability;
mod tasks;

pub use assignment::largest_assignment;
pub use blocking::{ceiling, inheritance, inheritance_assigned, inheritance_nested, plain};
pub use citations::*;
pub(crate) use response::finding as finding_of;
pub use response::{Response, Unbounded, ceiling_responses, plain_responses, responses};
pub use schedulability::*;
pub(crate) use tasks::by_cpu;
pub use tasks::{Held, Locker, ceilings, lockers};

/// The reason why certificates do not cover some of these tests.
const NO_PROOF: &str = "the verifier does not know what locks cost between CPUs";
