//! The three integers that most tests read of a task, side by side in memory. The fast forms of the
//! tests work on them without allocation and without rationals.

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
    /// The minimum time between two arrivals.
    pub period: Duration,
}

impl Sporadic {
    /// Returns a task whose deadline is its period.
    pub fn implicit(wcet: Service, period: Duration) -> Sporadic {
        Sporadic { wcet, deadline: period, period }
    }

    /// `C`, `D`, `T` in nanoseconds.
    #[inline]
    pub(crate) fn ns(&self) -> [i64; 3] {
        [self.wcet.ns(), self.deadline.ns(), self.period.ns()]
    }

    /// The work of all jobs that are released and due in an interval of length `t`:
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

/// A positive divisor that is used often: it divides by a multiplication, which takes a fraction of
/// the time of a division.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: i64,
    /// `floor((2^64 - 1) / by)`.
    inverse: u64,
}

impl Divisor {
    pub(crate) fn new(by: i64) -> Divisor {
        Divisor { by, inverse: u64::MAX / by as u64 }
    }

    /// The divisor.
    #[inline]
    pub(crate) fn number(self) -> i64 {
        self.by
    }

    /// Quotient and remainder of `n >= 0`. With `by * inverse = 2^64 - 1 - e` and `0 <= e < by`, the
    /// product `n * inverse` is `2^64 n / by` less `n (1 + e) / by`, which is at most `n < 2^63`: the
    /// quotient is right or one too small.
    #[inline]
    pub(crate) fn div_rem(self, n: i64) -> (i64, i64) {
        debug_assert!(n >= 0, "{n} is divided");
        let quotient = ((n as u128 * u128::from(self.inverse)) >> 64) as i64;
        let rest = n - quotient * self.by;
        if rest >= self.by { (quotient + 1, rest - self.by) } else { (quotient, rest) }
    }
}

/// Binary digits after the point of the fixed-point numbers of [`fixed`].
pub(crate) const SHIFT: u32 = 62;

/// `floor(numerator 2^62 / denominator)`, for `0 <= numerator < 2^61` and a positive denominator.
#[inline]
pub(crate) fn fixed(numerator: i64, denominator: i64) -> u128 {
    ((numerator as u128) << SHIFT) / denominator as u128
}

/// An upper bound on the sum of the utilizations, in units of 2^-62: each one is rounded up.
pub(crate) fn load_above(tasks: &[Sporadic]) -> u128 {
    tasks.iter().map(|task| fixed(task.wcet.ns(), task.period.ns()) + 1).sum()
}

/// A task with the largest density, or nearly. A test that fails usually fails there.
pub(crate) fn densest(tasks: &[Sporadic]) -> Option<usize> {
    // Enough digits to distinguish most tasks, and few enough for products of 64 bits.
    let density = |task: &Sporadic| {
        let [C, D, _] = task.ns();
        let digits = 1 << C.leading_zeros().saturating_sub(1).min(20);
        (C * digits) / (D / ((1 << 20) / digits)).max(1)
    };
    (0..tasks.len()).max_by_key(|&k| density(&tasks[k]))
}

/// Pseudo-random numbers below a bound, for tests; the sequence is always the same.
#[cfg(test)]
pub(crate) fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// The given number of tasks with constrained deadlines, each with a WCET of at most `load` tenths
/// of its period, for tests.
#[cfg(test)]
pub(crate) fn random_tasks(
    draw: &mut impl FnMut(u64) -> u64,
    count: u64,
    load: i64,
) -> Vec<Sporadic> {
    let task = |_| {
        let period = 20 + draw(400) as i64;
        let wcet = 1 + draw((period * load / 10).clamp(1, period) as u64) as i64;
        let deadline = period - draw((period - wcet + 1) as u64) as i64 / 3;
        let [deadline, period] = [deadline, period].map(Duration::from_ns);
        Sporadic { wcet: Service::from_ns(wcet), deadline, period }
    };
    (0..count).map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn a_divisor_divides() {
        let ends = |middle: i64| (-2..=2).filter_map(move |by| middle.checked_add(by));
        let numbers = || {
            let powers = (0..63).flat_map(|power| ends(1i64 << power));
            powers.chain(ends(i64::MAX)).filter(|&n| n >= 0)
        };
        for by in numbers().filter(|&by| by > 0) {
            let divisor = Divisor::new(by);
            let multiples = numbers().filter_map(|n| n.checked_mul(by)).flat_map(ends);
            for n in numbers().chain(multiples).filter(|&n| n >= 0) {
                assert_eq!(divisor.div_rem(n), (n / by, n % by), "{n} by {by}");
            }
        }
    }
}
