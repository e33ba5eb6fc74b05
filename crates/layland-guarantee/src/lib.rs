//! Can it be guaranteed? A policy held against every analysis that is about it.
//!
//! Analyses say which algorithms they are about, policies which algorithm they implement; neither knows the
//! other, and here they meet. For one
//! policy ([`assess`]):
//!
//! 1. the policy is built: what it refuses is not guaranteed, and its reason is the reason;
//! 2. the system becomes what the policy makes of it ([`placed`]): tasks on the CPUs or clusters that
//!    it assigned them to;
//! 3. overheads become part of the WCETs ([`layland_analysis::overheads`]);
//! 4. the tests about the policy run, and those about any scheduler: the first that says *no* or *yes*
//!    decides;
//! 5. each task gets its smallest response or tardiness bound;
//! 6. if asked, the [`Margin`]: by how much all WCETs could grow in what the policy makes of the system;
//! 7. if tasks have affinities, the verdict without them, to tell what they cost;
//! 8. where no test decides, a run that misses, or the proof that there is none ([`search`]), with an effort that the
//!    caller states ([`Effort`]).
//!
//! ```
//! use layland_guarantee::{AssessOptions, assess};
//! use layland_analysis::Verdict;
//! use layland_model::{Duration, Service, System, Task};
//! use layland_policy::Registry;
//! let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(4));
//! let system = System::new(1, vec![task("a"), task("b")]);
//! let options = AssessOptions::with_margin();
//! let found = assess(&Registry::standard(), "p-edf", &system, &options).unwrap();
//! assert_eq!((found.verdict, found.decided_by), (Verdict::Yes, Some("QPA")));
//! // The CPU is full: nothing may grow.
//! assert_eq!(found.margin.unwrap().thousandths, 1000);
//! ```

// A new event, action or verdict breaks every match here, until somebody has decided what it means.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod about;
pub mod admission;
mod affinities;
mod assess;
mod assessment;
mod chains;
mod kept;
mod margin;
mod memo;
mod optimal;
mod options;
mod placed;
mod proven;
pub mod search;
mod seen;
mod shown;
mod stated;
mod ticks;
mod verdict;
mod views;

pub use affinities::{Affinities, affinities, has_affinities, without_affinities};
pub use assess::{Assessor, assess};
pub use assessment::{Assessment, Bound, Margin, Said, Stop};
pub use chains::{ChainBound, chain_bounds};
pub use margin::{scaled, verdict_at};
pub use options::{AssessOptions, BoundsBy, Effort, Findings, More, Wanted};
pub use placed::placed;
pub use proven::{Analysed, Proven};
pub use shown::{Shown, unexplained};
pub use stated::Stated;
pub use ticks::on_ticks;
pub use verdict::{in_its_levels, in_level};
