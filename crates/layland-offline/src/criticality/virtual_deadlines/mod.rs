//! EDF with virtual deadlines (**EDF-VD**), on one processor: tests of schedulability, and the
//! virtual deadlines with which tasks are schedulable.
//!
//! S. Baruah et al., *The preemptive uniprocessor scheduling of mixed-criticality implicit-deadline
//! sporadic task systems*, ECRTS 2012; P. Ekberg, W. Yi, *Bounding and shaping the demand of
//! generalized mixed-criticality sporadic task systems*, Real-Time Systems 50, 2014. The formulas
//! come from descriptions in the literature, and were checked by an exact reference and adversarial
//! simulation.
//!
//! There are two modes. In the low mode, each job of a *high* task has a virtual deadline, earlier
//! than its own, to leave room for the additional work that it may need. When a high job exceeds
//! its low bound, the high mode begins: until no job is pending, deadlines are the real ones, and
//! *low* jobs are dropped.
//!
//! | function | virtual deadlines | test | deadlines of tasks |
//! |---|---|---|---|
//! | [`exact`] | `x T`, fractions | utilizations | `D = T` |
//! | [`whole`] | `floor(x T)`, whole nanoseconds | densities, or the demand | `D = T` |
//! | [`tuned`] | found by a search, whole units | the demand (Ekberg and Yi) | `D <= T` |
//!
//! No function dominates another.
//!
//! **Many levels.** A *cut* `k` reduces them to two modes: tasks of level `k` or below are low,
//! with their own bounds; tasks above are high, with `C(k)` in the low mode and their own bound in
//! the high mode. The lowest cut that the test accepts is taken. A run that belongs to a level up
//! to `k` never leaves the low mode, and a run of a level above `k` covers only high jobs. So the
//! guarantee for two modes is that of [`criticality`](super).
//!
//! **Budgets are enforced**: every job, low or high, is aborted at its own bound.

mod demand;
mod factor;
mod tuning;
mod whole;

pub use factor::{Factors, exact, factors};
pub use tuning::{Grid, tuned, tuned_on};
pub use whole::whole;

use super::{Answer, MixedSet};
use demand::{Modal, ModeDemand};
use layland_model::{Criticality, Duration, Rate, TaskMap};

/// The default for the number of steps that [`whole`] and [`tuned`] take before they give up. A
/// step examines one task at one length.
pub const STEPS: u64 = 20_000_000;

/// The result of a test.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VirtualDeadlines {
    /// All tasks fit with their own bounds: EDF without modes, which never drops a job.
    Plain,
    /// Two modes.
    Modes(Modes),
    /// The test does not accept the set, which proves nothing.
    Rejected,
    /// The test took too many steps.
    GaveUp,
}

/// Two modes, and the deadlines in the low mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Tasks up to this level are low.
    pub cut: Criticality,
    /// `V`: the relative deadline of each task in the low mode, in nanoseconds; for a low task, its
    /// own deadline.
    pub deadline: TaskMap<Rate>,
}

impl VirtualDeadlines {
    /// Returns the answer for the set.
    pub fn answer(&self) -> Answer {
        match self {
            VirtualDeadlines::Plain | VirtualDeadlines::Modes(_) => Answer::Schedulable,
            VirtualDeadlines::Rejected => Answer::NotSchedulable,
            VirtualDeadlines::GaveUp => Answer::GaveUp,
        }
    }
}

/// Returns the cuts of a set. With one level there is one cut, without high tasks.
fn cuts(set: &MixedSet) -> impl Iterator<Item = Criticality> + use<> {
    let lowest_of_highest = (set.levels() - 1).max(1);
    (0..lowest_of_highest as u8).map(Criticality)
}

/// Returns the first cut with virtual deadlines. Gives up if no cut works and one search gave up.
fn first_cut(
    set: &MixedSet,
    mut find: impl FnMut(Criticality) -> Result<TaskMap<Rate>, Answer>,
) -> VirtualDeadlines {
    let mut gave_up = false;
    for cut in cuts(set) {
        match find(cut) {
            Ok(deadline) => return VirtualDeadlines::Modes(Modes { cut, deadline }),
            Err(answer) => gave_up |= answer == Answer::GaveUp,
        }
    }
    if gave_up { VirtualDeadlines::GaveUp } else { VirtualDeadlines::Rejected }
}

/// Converts whole virtual deadlines to those of [`Modes`].
fn of_ns(deadlines: impl IntoIterator<Item = i64>) -> TaskMap<Rate> {
    deadlines.into_iter().map(Rate::whole).collect::<Vec<Rate>>().into()
}

/// Returns true if all tasks fit together with their own bounds and deadlines equal to periods:
/// `sum C_i(z_i) / T_i <= 1`.
fn fits_plainly(set: &MixedSet) -> bool {
    let own = (0..set.len()).map(|i| Rate::new(set.own(i), set.period[i]));
    own.sum::<Rate>() <= Rate::ONE
}

/// Returns the length up to which the demand of both modes must be examined for a cut, or `None` if
/// a mode needs more than the CPU or the length is out of range. Only for tests.
pub fn longest_length(set: &MixedSet, cut: Criticality) -> Option<Duration> {
    let tasks: Vec<Modal> = Modal::of(set, cut).collect();
    ModeDemand::new(&tasks)?.longest().map(Duration::from_ns)
}
