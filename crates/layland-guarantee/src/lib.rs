//! Checks what a policy guarantees, with every analysis that is about it.
//!
//! Analyses state which algorithms they are about, and policies state which algorithm they
//! implement. Neither depends on the other; this crate connects them. For one policy ([`assess`]):
//!
//! 1. the policy is built: a refusal means no guarantee, and its reason becomes the reason;
//! 2. the system becomes the one that the policy runs ([`placed`]): tasks on the CPUs or clusters
//!    that it assigned them to;
//! 3. overheads become part of the WCETs ([`layland_analysis::overheads`]);
//! 4. the tests about the policy run, and those about any scheduler: the first *no* or *yes*
//!    decides;
//! 5. each task gets its smallest response or tardiness bound;
//! 6. on request, the [`Margin`] is computed: the factor by which all WCETs of that system could
//!    grow;
//! 7. on request, the [`Sensitivity`]: the limits of each task and CPU;
//! 8. if tasks have affinities, the verdict without them shows what they cost;
//! 9. where no test decides, a search looks for a run that misses, or for the proof that there is
//!    none ([`search`]), with an effort that the caller states ([`Effort`]).
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

// A new event, action or verdict must break every match here, until its meaning is decided.
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
mod sensitivity;
mod shown;
mod stated;
mod ticks;
mod tightest;
mod timed;
mod verdict;
mod views;

pub use affinities::{Affinities, affinities, has_affinities, without_affinities};
pub use assess::{Assessor, assess};
pub use assessment::{Assessment, Bound, CpuLimit, Limits, Margin, Said, Sensitivity, Stop};
pub use chains::{ChainBound, chain_bounds};
pub use margin::{scaled, verdict_at};
pub use options::{AssessOptions, BoundsBy, Effort, Findings, More, Wanted};
pub use placed::placed;
pub use proven::{Analysed, Proven};
pub use shown::{Shown, unexplained};
pub use stated::Stated;
pub use ticks::on_ticks;
pub use timed::in_time;
pub use verdict::{in_its_levels, in_level};
