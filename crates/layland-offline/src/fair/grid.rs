//! Rates on a grid, so that every budget of the optimal policies is a whole number of nanoseconds.
//!
//! RUN and QPS give a server of rate `mu` exactly `mu x (d - r)` in its window `[r, d)`. Rounding
//! such budgets one by one loses deadlines, because the budgets of a parent and of its children no
//! longer add up. So the rates are rounded once, upwards, to multiples of `1/Q`, and every window
//! begins and ends at a multiple of `Q` nanoseconds. Then every rate of the tree or hierarchy
//! (sums, differences to 1, paddings) is a multiple of `1/Q`, every budget a whole number, and with
//! them every instant at which anything happens.
//!
//! **Rounding loses no deadline.** The policy schedules tasks of the rounded rates exactly. The
//! rate gives each job at least its WCET in its window, and this window lies between its release
//! and its deadline:
//!
//! - A *regular* task, whose releases and period are multiples of `Q`, has the window
//!   `[release, release + T)`, and the rate `ceil(C Q / T) / Q`.
//! - The window of any other task begins at the first multiple of `Q` that is not before its release, and
//!   ends at the last that is not after its deadline: it is at least `W = (floor(T / Q) - 1) Q` long,
//!   and the rate is `ceil(C Q / W) / Q`.
//!
//! The cost is at most `1/Q` per regular task, and `1/Q + u Q / W` per other task, and jobs start
//! up to `Q` late. `Q` is the candidate for which the sum of the rates is least. The candidates are
//! the greatest common divisor of all periods and known releases (with which the rates of a set
//! whose utilizations are multiples of `1/Q` are not rounded at all), and 10 ns to 1 s in powers of
//! ten.

use layland_model::{Behaviour, Duration, Rate, Service, System, Task, TaskId, TaskMap, Time};
use num_integer::Integer;

/// Returns `ceil(C Q / W)`, the numerator over `q` of the rate that gives a job its `wcet` within a
/// window.
///
/// ```
/// use layland_model::{Duration, Service};
/// use layland_offline::numerator;
/// let (c, t) = (Service::from_ns(3_333_333), Duration::from_ms(10));
/// assert_eq!(numerator(c, t, 1_000_000), 333_334);
/// ```
///
/// # Panics
/// Panics unless the window is longer than zero.
pub fn numerator(wcet: Service, window: Duration, q: i64) -> i64 {
    // A division of 128 bits takes several times as long as one of 64 bits.
    if let Some(product) = wcet.ns().checked_mul(q) {
        return num_integer::div_ceil(product, window.ns());
    }
    let product = i128::from(wcet.ns()) * i128::from(q);
    i64::try_from(num_integer::div_ceil(product, i128::from(window.ns()))).unwrap_or(i64::MAX)
}

/// The rate of one task on the grid, and its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridRate {
    /// The rate in units of `1/Q`.
    pub numerator: i64,
    /// The shortest window of a job.
    pub window: Duration,
}

/// The rates of a system on a grid; see the file header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateGrid {
    /// `Q`; windows begin and end at multiples of it.
    pub unit: Duration,
    /// The rate of each task.
    pub tasks: TaskMap<GridRate>,
}

impl RateGrid {
    /// Returns the grid on which the rates of a system have the least sum, or `None` if some rate
    /// is above 1 on each grid.
    ///
    /// ```
    /// use layland_model::{Duration, Rate, Service, System, Task};
    /// use layland_offline::RateGrid;
    /// let task = |name, c, t| Task::implicit(name, Service::from_ns(c), Duration::from_ms(t));
    /// let system = System::new(1, vec![task("a", 1_000_000, 4), task("b", 333_333, 6)]);
    /// let grid = RateGrid::of(&system).unwrap();
    /// assert_eq!(grid.unit, Duration::from_ms(2));
    /// // 1/4 is on the grid; of the other one, each of three units gets a third, rounded up.
    /// let numerators: Vec<i64> = grid.tasks.values().map(|rate| rate.numerator).collect();
    /// assert_eq!(numerators, [500_000, 111_111]);
    /// ```
    pub fn of(system: &System) -> Option<RateGrid> {
        let common = system.tasks.values().fold(0, |common: i64, task| {
            known_releases(task).fold(common.gcd(&task.period.ns()), |g, at| g.gcd(&at))
        });
        let units = std::iter::once(common.max(1)).chain((1..=9).map(|digits| 10i64.pow(digits)));
        // For most units only the sum is needed.
        let sums = units.filter_map(|unit| {
            let numerators = system
                .tasks
                .values()
                .map(|task| Some(i128::from(RateGrid::rate_of(task, unit)?.numerator)));
            Some((unit, numerators.sum::<Option<i128>>()?))
        });
        // A numerator is at most the unit, there are fewer than 2^32 tasks, and one of two units is
        // at most a second, so the products are below 2^126.
        let is_less = |(unit, sum): (i64, i128), (other, than): (i64, i128)| {
            sum * i128::from(other) < than * i128::from(unit)
        };
        let (unit, _) =
            sums.reduce(|best, other| if is_less(other, best) { other } else { best })?;
        let tasks: Option<Vec<GridRate>> =
            system.tasks.values().map(|task| RateGrid::rate_of(task, unit)).collect();
        Some(RateGrid { unit: Duration::from_ns(unit), tasks: tasks?.into() })
    }

    /// Returns the rate of a task on the grid of this unit, or `None` if it is above 1.
    fn rate_of(task: &Task, unit: i64) -> Option<GridRate> {
        let period = task.period.ns();
        let regular = releases_are_known(task)
            && task.jitter == Duration::ZERO
            && period % unit == 0
            && known_releases(task).all(|at| at % unit == 0);
        let window = if regular { period } else { (period / unit - 1) * unit };
        let window = Duration::from_ns(window);
        let fits = window > Duration::ZERO && task.own_wcet().ns() <= window.ns();
        let numerator = || numerator(task.own_wcet(), window, unit);
        fits.then(|| GridRate { numerator: numerator(), window })
    }

    /// Returns the rate of a task, which is at least its utilization.
    pub fn rate(&self, task: TaskId) -> Rate {
        Rate::new(self.tasks[task].numerator, self.unit.ns())
    }

    /// Returns the sum of the rates.
    pub fn total(&self) -> Rate {
        let sum: i128 = self.tasks.values().map(|rate| i128::from(rate.numerator)).sum();
        let whole = sum / i128::from(self.unit.ns());
        let rest = sum % i128::from(self.unit.ns());
        Rate::whole(whole as i64) + Rate::new(rest as i64, self.unit.ns())
    }

    /// Returns true if no rate is above the utilization of its task.
    pub fn is_exact(&self, system: &System) -> bool {
        system.tasks.iter().all(|(id, task)| self.rate(id) == task.utilization())
    }

    /// Returns a rate in units of `1/Q`.
    ///
    /// # Panics
    /// Panics unless the rate is a multiple of `1/Q`, as all sums and differences of rates on the
    /// grid are.
    pub fn units(&self, rate: &Rate) -> i64 {
        let (numerator, denominator) = rate.as_i64_pair().expect("rates on a grid are small");
        assert!(self.unit.ns() % denominator == 0, "{rate} is off the grid");
        self.unit.ns() / denominator * numerator
    }

    /// Returns the first multiple of `Q` that is not before `at`.
    pub fn up(&self, at: i64) -> i64 {
        let q = self.unit.ns();
        num_integer::div_ceil(at, q) * q
    }

    /// Returns the last multiple of `Q` that is not after `at`.
    pub fn down(&self, at: i64) -> i64 {
        let q = self.unit.ns();
        num_integer::div_floor(at, q) * q
    }
}

/// Returns true if all releases of a task are known before the start.
pub(super) fn releases_are_known(task: &Task) -> bool {
    match task.behaviour {
        Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield | Behaviour::Explicit(_) => true,
        Behaviour::Sporadic(_) | Behaviour::Curve(_) | Behaviour::SelfSuspending { .. } => false,
    }
}

/// Returns the known releases, except those that follow by whole periods.
pub(super) fn known_releases(task: &Task) -> impl Iterator<Item = i64> + '_ {
    let (times, offset): (&[Time], Option<Duration>) = match &task.behaviour {
        Behaviour::Explicit(times) => (times, None),
        Behaviour::Periodic
        | Behaviour::Sporadic(_)
        | Behaviour::Curve(_)
        | Behaviour::Hog
        | Behaviour::Yield
        | Behaviour::SelfSuspending { .. } => (&[], Some(task.offset)),
    };
    times.iter().map(|at| at.ns()).chain(offset.map(|offset| offset.ns()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the grid with the least total, by building every candidate.
    fn of_all(system: &System) -> Option<RateGrid> {
        let times = |task: &Task| [task.period.ns(), known_releases(task).next().unwrap()];
        let common = system.tasks.values().flat_map(times).fold(0, |all: i64, at| all.gcd(&at));
        let units = std::iter::once(common.max(1)).chain((1..=9).map(|digits| 10i64.pow(digits)));
        let grid = |unit: i64| {
            let rates = system.tasks.values().map(|task| RateGrid::rate_of(task, unit));
            let tasks: Vec<GridRate> = rates.collect::<Option<_>>()?;
            Some(RateGrid { unit: Duration::from_ns(unit), tasks: tasks.into() })
        };
        let grids = units.filter_map(grid);
        grids.reduce(|best, other| if other.total() < best.total() { other } else { best })
    }

    #[test]
    fn long_periods_have_a_grid() {
        let task = |name: &str, wcet: i64, period: i64| {
            Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period))
        };
        let long = 1 << 61;
        let tasks: Vec<Task> = (0..40).map(|at| task(&at.to_string(), long / 2, long)).collect();
        let system = System::new(40, tasks);
        assert_eq!(RateGrid::of(&system), of_all(&system));
        assert_eq!(RateGrid::of(&system).unwrap().total(), Rate::whole(20));
    }

    proptest! {
        /// For any releases, the window of a job gives it its WCET before its deadline.
        #[test]
        fn every_window_is_long_enough(
            tasks in prop::collection::vec((1i64..1000, 1i64..100_000, 0i64..100_000), 1..6),
            sporadic in any::<bool>(),
            at in 0i64..1_000_000,
        ) {
            let tasks = tasks.iter().enumerate().map(|(index, &(share, period, offset))| {
                let wcet = Service::from_ns((period * share / 1000).max(1));
                let mut task = Task::implicit(index.to_string(), wcet, Duration::from_ns(period));
                task.offset = Duration::from_ns(offset);
                if sporadic {
                    task.behaviour =
                        Behaviour::Sporadic(layland_model::Separation::Uniform { max: Duration::from_ns(7) });
                }
                task
            });
            let system = System::new(2, tasks.collect());
            prop_assert_eq!(RateGrid::of(&system), of_all(&system));
            let Some(grid) = RateGrid::of(&system) else { return Ok(()) };
            for (id, task) in system.tasks.iter() {
                let release = if sporadic { at } else { task.offset.ns() + at % 50 * task.period.ns() };
                let deadline = release + task.period.ns();
                let (from, to) = (grid.up(release), grid.down(deadline));
                prop_assert!(release <= from && from < to && to <= deadline);
                let GridRate { numerator, window } = grid.tasks[id];
                prop_assert!(to - from >= window.ns());
                prop_assert!(numerator <= grid.unit.ns());
                prop_assert!(numerator * ((to - from) / grid.unit.ns()) >= task.own_wcet().ns());
                prop_assert!(grid.rate(id) >= task.utilization());
                prop_assert_eq!(grid.units(&grid.rate(id)), numerator);
            }
        }
    }
}
