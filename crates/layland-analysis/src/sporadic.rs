//! The three integers that most tests read of a task, side by side in memory: what the fast forms of
//! the tests work on, without allocation and without rationals.

#![expect(non_snake_case, reason = "symbols of the papers")]

use layland_model::{Duration, Service, Task};

/// A sporadic task: `C`, `D` and `T`, each at least 1 ns and at most
/// [`TIME_LIMIT`](layland_model::TIME_LIMIT).
///
/// ```
/// use layland_analysis::Sporadic;
/// use layland_model::{Duration, Service, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// assert_eq!(Sporadic::from(&task), Sporadic::implicit(Service::from_ms(1), Duration::from_ms(5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sporadic {
    /// The WCET.
    pub wcet: Service,
    /// The relative deadline.
    pub deadline: Duration,
    /// The least time between two arrivals.
    pub period: Duration,
}

impl Sporadic {
    /// A task whose deadline is its period.
    pub fn implicit(wcet: Service, period: Duration) -> Sporadic {
        Sporadic { wcet, deadline: period, period }
    }

    /// `C`, `D`, `T` in nanoseconds.
    #[inline]
    pub(crate) fn ns(&self) -> [i64; 3] {
        [self.wcet.ns(), self.deadline.ns(), self.period.ns()]
    }

    /// What all its jobs need that are released and due in an interval of length `t`:
    /// `max(0, floor((t - D) / T) + 1) C`, saturating.
    #[inline]
    pub(crate) fn demand(&self, t: i64) -> i64 {
        let [C, D, T] = self.ns();
        if t < D { 0 } else { ((t - D) / T + 1).saturating_mul(C) }
    }
}

impl From<&Task> for Sporadic {
    fn from(task: &Task) -> Sporadic {
        Sporadic { wcet: task.own_wcet(), deadline: task.deadline, period: task.period }
    }
}

/// Binary digits behind the point of the fixed-point numbers of [`fixed`].
pub(crate) const SHIFT: u32 = 62;

/// `floor(numerator 2^62 / denominator)`, for `0 <= numerator < 2^61` and a positive denominator.
#[inline]
pub(crate) fn fixed(numerator: i64, denominator: i64) -> u128 {
    ((numerator as u128) << SHIFT) / denominator as u128
}

/// The utilizations sum to at most this many 2^-62: each is rounded up.
pub(crate) fn load_above(tasks: &[Sporadic]) -> u128 {
    tasks.iter().map(|task| fixed(task.wcet.ns(), task.period.ns()) + 1).sum()
}
