//! Random task sets: seeded, portable, and made again from their provenance.
//!
//! A [`Recipe`] holds every parameter; [`Recipe::generate`] makes its `index`-th set, a
//! [`System`](layland_model::System) whose provenance is enough to make it again
//! ([`Recipe::from_provenance`]).
//!
//! | what | from |
//! |------|------|
//! | utilizations | [`UUniFast`], [`UUniFastDiscard`], [`RandFixedSum`], [`ConvolutionalFixedSum`], [`Independent`], [`UntilTotal`] |
//! | periods | [`Periods`]: uniform, log-uniform, harmonic, from a list |
//! | deadlines, offsets, arrivals | [`Deadlines`], [`Offsets`], [`Arrivals`] |
//! | criticality levels | [`Criticalities`], [`TwoBudgets`] |
//! | affinities | [`Affinities`] |
//!
//! The Dirichlet-rescale algorithm (DRS) is left out on purpose: its authors withdrew it because
//! its vectors are not uniform. [`ConvolutionalFixedSum`] takes its place.
//!
//! Floating point draws; what it draws is rounded to integers by a stated rule. Logarithms and
//! exponentials are those of `libm`, in software, so a seed gives the same bytes on every machine.

mod affinity;
mod error;
mod parameters;
mod random;
mod recipe;
mod rounding;
pub mod text;
mod timing;
mod two_budgets;
mod utilization;

pub use affinity::Affinities;
pub use error::{GenError, Infeasible};
pub use random::{Aspect, Random};
pub use recipe::{Criticalities, Generator, Recipe};
pub use timing::{Arrivals, Deadlines, Offsets, Periods};
pub use two_budgets::TwoBudgets;
pub use utilization::Utilizations;
pub use utilization::convolutional::ConvolutionalFixedSum;
pub use utilization::independent::{Independent, UntilTotal};
pub use utilization::rand_fixed_sum::RandFixedSum;
pub use utilization::uunifast::{UUniFast, UUniFastDiscard};
