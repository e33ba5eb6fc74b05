//! Random task sets: seeded, portable, and reproducible from their provenance.
//!
//! A [`Recipe`] contains every parameter. [`Recipe::generate`] returns its `index`-th set, a
//! [`System`](layland_model::System) whose provenance suffices to generate it again
//! ([`Recipe::from_provenance`]).
//!
//! ```text
//!   Recipe, seed, index
//!      |-- stream of utilizations --> u_i --.
//!      |-- stream of periods ------> T_i ---+--> C_i = u_i T_i, rounded --> System, provenance
//!      |-- stream of affinities --> CPUs ---'
//!      `-- ..
//! ```
//!
//! Each aspect has a random stream of its own, so that a set keeps its periods when only the
//! parameters of its utilizations change.
//!
//! ```
//! use layland_gen::{Recipe, Utilizations};
//! use layland_model::Rate;
//!
//! let recipe = Recipe::new(2, Utilizations::UUniFast { tasks: 4, total: Rate::ONE }, 1);
//! let system = recipe.generate(3).unwrap();
//! assert_eq!(system.tasks.len(), 4);
//! assert_eq!(recipe.generate(3).unwrap(), system);
//! ```
//!
//! | what | from |
//! |------|------|
//! | utilizations | [`UUniFast`], [`UUniFastDiscard`], [`RandFixedSum`], [`ConvolutionalFixedSum`], [`Independent`], [`UntilTotal`] |
//! | periods | [`Periods`]: uniform, log-uniform, harmonic, from a list |
//! | deadlines, offsets, arrivals | [`Deadlines`], [`Offsets`], [`Arrivals`], [`Bursts`] |
//! | criticality levels | [`Criticalities`], [`TwoBudgets`] |
//! | affinities | [`Affinities`] |
//! | DAG tasks | [`Graphs`] |
//! | critical sections, self-suspensions | [`Sections`], [`Suspensions`] |
//! | non-preemptive regions, cache blocks | [`Regions`], [`Caches`] |
//!
//! The Dirichlet-rescale algorithm (DRS) is omitted on purpose: its authors withdrew it because its
//! vectors are not uniform. [`ConvolutionalFixedSum`] replaces it.
//!
//! Random numbers are drawn in floating point and rounded to integers
//! by documented rules. Logarithms and exponentials come from `libm`,
//! in software, so that a seed gives the same bytes on every machine.

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod affinity;
mod bursts;
mod caches;
mod criticalities;
mod error;
mod graphs;
mod parameters;
mod random;
mod recipe;
mod regions;
mod rounding;
mod steps;
pub mod text;
mod timing;
mod together;
mod two_budgets;
mod utilization;

pub use affinity::Affinities;
pub use bursts::Bursts;
pub use caches::Caches;
pub use criticalities::Criticalities;
pub use error::{GenError, Infeasible};
pub use graphs::{Graphs, Shape};
pub use random::{Aspect, Random};
pub use recipe::{Generator, Recipe};
pub use regions::Regions;
pub use steps::{Sections, Suspensions};
pub use timing::{Arrivals, Deadlines, Offsets, Periods};
pub use two_budgets::TwoBudgets;
pub use utilization::Utilizations;
pub use utilization::convolutional::ConvolutionalFixedSum;
pub use utilization::independent::{Independent, UntilTotal};
pub use utilization::rand_fixed_sum::RandFixedSum;
pub use utilization::uunifast::{UUniFast, UUniFastDiscard};
