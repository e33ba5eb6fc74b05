//! Mixed criticality on one processor: the mathematics of the offline stage.
//!
//! H.-M. Huang, C. Gill, C. Lu, *Implementation and Evaluation of Mixed-Criticality Scheduling
//! Approaches for Sporadic Tasks*, ACM TECS 13(4s), article 126, 2014.
//!
//! Each analysis takes a [`MixedSet`] and returns more than yes or no: it also returns the data for
//! the run-time mechanism (priority orders, zero-slack instants, slices, lists of job priorities)
//! and the bounds that it found. Analyses and policies both use this module, so it depends on
//! neither.
//!
//! | module | approach | functions |
//! |---|---|---|
//! | [`fixed`] | rate monotonic, criticality monotonic, SMC (Eq. 2) | [`rms`](fixed::rms), [`cms`](fixed::cms), [`ftp_smc`](fixed::ftp_smc) |
//! | [`amc_rt`] | AMC, response times per level | [`amc_rt`](amc_rt::amc_rt) |
//! | [`amc_max`] | AMC, every instant of the mode change, two levels | [`amc_max`](amc_max::amc_max) |
//! | [`amc_ia`] | AMC, improved analysis (Section 3.1) | [`paper`](amc_ia::paper), [`safe`](amc_ia::safe) |
//! | [`period_transformation`] | period transformation (Eq. 3) | [`paper`](period_transformation::paper), [`safe`](period_transformation::safe) |
//! | [`zero_slack`] | zero-slack scheduling (Section 2.3) | [`paper`](zero_slack::paper), [`safe`](zero_slack::safe) |
//! | [`virtual_deadlines`] | EDF with virtual deadlines (Baruah et al. 2012; Ekberg, Yi 2012) | [`exact`](virtual_deadlines::exact), [`whole`](virtual_deadlines::whole), [`tuned`](virtual_deadlines::tuned) |
//! | [`fjp`] | fixed job priorities (Section 3.2) | [`ija_paper`](fjp::ija_paper), [`ija_floor`](fjp::ija_floor), [`load_based`](fjp::load_based), [`safe`](fjp::safe) |
//!
//! **The guarantee.** A run *belongs to level* `l` if every job of every task of level `l` or above
//! executes for at most `C(l)`; the others may do anything. An analysis is *sound* if each job of a
//! task of level `l` or above meets its deadline in every run that belongs to `l`. The functions
//! named `paper` follow the paper literally and are not sound; they serve to reproduce its figures.
//!
//! [`growing`] asks the analyses of fixed priorities for one more task at a time.
//!
//! An analysis that gives up reports this: [`Assignment::GaveUp`], or [`fjp::Jobs`] with
//! [`Answer::GaveUp`]. This is never a *no*.

pub mod amc_ia;
pub mod amc_max;
pub mod amc_rt;
mod audsley;
pub mod fixed;
pub mod fjp;
pub mod growing;
mod lengths;
mod order;
pub mod period_transformation;
mod set;
mod steps;
pub mod virtual_deadlines;
pub mod zero_slack;

pub use audsley::{Assigned, Assignment};
pub use fixed::Responses;
pub use order::{criticality_monotonic, rate_monotonic};
pub use set::{MixedError, MixedSet, MixedTask, TaskFault};
pub use steps::NoBound;

/// The answer of an analysis for a set.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The analysis accepts the set.
    Schedulable,
    /// The analysis does not accept the set. This proves nothing if the analysis is only
    /// sufficient.
    NotSchedulable,
    /// The analysis reached its limit of steps, or times exceeded 64 bits.
    GaveUp,
}

impl Answer {
    /// Returns the answer for a set that is schedulable or not.
    pub fn of(schedulable: bool) -> Answer {
        if schedulable { Answer::Schedulable } else { Answer::NotSchedulable }
    }
    /// Returns true if the analysis accepts the set.
    pub fn is_yes(self) -> bool {
        self == Answer::Schedulable
    }
}
