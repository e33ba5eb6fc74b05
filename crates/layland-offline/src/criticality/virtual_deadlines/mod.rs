//! EDF with virtual deadlines (**EDF-VD**), on one processor: whether tasks are schedulable, and with which virtual
//! deadlines.
//!
//! S. Baruah et al., *The preemptive uniprocessor scheduling of mixed-criticality implicit-deadline sporadic task
//! systems*, ECRTS 2012; P. Ekberg, W. Yi, *Bounding and shaping the demand of generalized mixed-criticality sporadic
//! task systems*, Real-Time Systems 50, 2014. The formulas are from what the literature says of them, and were checked
//! by an exact reference and adversarial simulation.
//!
//! There are two modes. In the low one each job of a *high* task has a virtual deadline, earlier than its own, so that
//! it leaves room for the work that it may turn out to need. When a high job needs more than its low bound, the high
//! mode begins: deadlines are the real ones, and *low* jobs are dropped, until no job is pending.
//!
//! | function | virtual deadlines | test | deadlines of tasks |
//! |---|---|---|---|
//! | [`exact`] | `x T`, fractions | utilizations | `D = T` |
//! | [`whole`] | `floor(x T)`, whole nanoseconds | densities, or the demand | `D = T` |
//! | [`tuned`] | found by a search, whole units | the demand (Ekberg and Yi) | `D <= T` |
//!
//! None of them contains another.
//!
//! **Many levels.** A *cut* `k` makes two modes of them: tasks of level `k` or below are low, with their own bounds;
//! those above are high, with `C(k)` in the low mode and their own bound in the high one. The lowest cut that the test
//! accepts is taken. A run that belongs to a level up to `k` never leaves the low mode, and in one above `k` only high
//! jobs are covered, so that the guarantee for two modes is that of [`criticality`](super).
//!
//! **Budgets are enforced**: a low job is aborted at its own bound, and so is a high one.

mod demand;
mod factor;
mod tuning;
mod whole;

pub use factor::{Factors, exact, factors};
pub use tuning::{Grid, tuned, tuned_on};
pub use whole::whole;

use super::{Answer, MixedSet};
use demand::{Demand, Modal};
use layland_model::{Criticality, Duration, Rate, TaskMap};

/// How many steps [`whole`] and [`tuned`] take by default before they give up. A step looks at one task at one length.
pub const STEPS: u64 = 20_000_000;

/// What a test finds.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VirtualDeadlines {
    /// All tasks fit with their own bounds: EDF without modes, which never drops a job.
    Plain,
    /// Two modes.
    Modes(Modes),
    /// The test does not accept the set. That proves nothing.
    Rejected,
    /// The test took too many steps.
    GaveUp,
}

/// Two modes, and the deadlines in the low one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Tasks up to this level are low.
    pub cut: Criticality,
    /// `V`: the relative deadline of each task in the low mode, in nanoseconds; of a low task its own.
    pub deadline: TaskMap<Rate>,
}

impl VirtualDeadlines {
    /// Whether it is accepted.
    pub fn answer(&self) -> Answer {
        match self {
            VirtualDeadlines::Plain | VirtualDeadlines::Modes(_) => Answer::Schedulable,
            VirtualDeadlines::Rejected => Answer::NotSchedulable,
            VirtualDeadlines::GaveUp => Answer::GaveUp,
        }
    }
}

/// The cuts of a set. With one level there is one, with no high task.
fn cuts(set: &MixedSet) -> impl Iterator<Item = Criticality> + use<> {
    let lowest_of_highest = (set.levels() - 1).max(1);
    (0..lowest_of_highest as u8).map(Criticality)
}

/// The first cut with virtual deadlines; gives up if one was given up and none works.
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

/// Whole virtual deadlines as those of [`Modes`].
fn of_ns(deadlines: impl IntoIterator<Item = i64>) -> TaskMap<Rate> {
    deadlines.into_iter().map(Rate::whole).collect::<Vec<Rate>>().into()
}

/// Whether all tasks fit at once with their own bounds and deadlines equal to periods: `sum C_i(z_i) / T_i <= 1`.
fn fits_plainly(set: &MixedSet) -> bool {
    let own = (0..set.len()).map(|i| Rate::new(set.own(i), set.period[i]));
    own.sum::<Rate>() <= Rate::ONE
}

/// Up to which length the demand of both modes has to be looked at, for a cut; none if a mode needs more than the CPU,
/// or if it is beyond all that is followed. Only for tests.
pub fn longest_length(set: &MixedSet, cut: Criticality) -> Option<Duration> {
    let tasks: Vec<Modal> = Modal::of(set, cut).collect();
    Demand::new(&tasks)?.longest().map(Duration::from_ns)
}
