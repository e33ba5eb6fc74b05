//! Tests of tasks whose jobs are mandatory or optional by a pattern: every mandatory job is in
//! time, so `(m, k)` is kept.
//!
//! | pattern | job `j`, from 0, is mandatory iff | most mandatory jobs among `n` |
//! |---|---|---|
//! | [`Red`](MandatoryPattern::Red) | `j mod k < m` | `floor(n / k) m + min(m, n mod k)` |
//! | [`Even`](MandatoryPattern::Even) | `j = floor(ceil(j m / k) k / m)` | `ceil(n m / k)` |
//!
//! Red patterns are those of Koren and Shasha (1995), deeply red; skip-over with blue jobs has no
//! more mandatory jobs in any window. Even ones are those of Ramanathan (1999); they never need more
//! than red ones.
//!
//! Assumes: (1) one CPU, preemptive; (2) mandatory jobs run before optional ones, by priority or by
//! deadline; (3) optional jobs end at their deadlines, so that none delays the mandatory one behind
//! it; (4) `D <= T`, sporadic arrivals, no locks, no overheads. **Sufficient**, and necessary for
//! periodic tasks that arrive together and begin their patterns together, since the demand is then
//! attained.

use crate::fixed_point::{self, Diverged, GaveUp};
use layland_model::{Duration, Rate, Service, TIME_LIMIT, WeaklyHard};

/// The rule by which jobs are mandatory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MandatoryPattern {
    /// The first `m` of each `k` jobs.
    Red,
    /// `m` of each `k` jobs, spread evenly.
    Even,
}

/// A task with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternTask {
    /// The execution time of a job.
    pub wcet: Service,
    /// The minimum time between two arrivals.
    pub period: Duration,
    /// The relative deadline, at most the period.
    pub deadline: Duration,
    /// The constraint.
    pub constraint: WeaklyHard,
}

impl MandatoryPattern {
    /// Returns true if the job with this number, counted from 0, is mandatory.
    ///
    /// ```
    /// use layland_analysis::how_often::MandatoryPattern::{Even, Red};
    /// use layland_model::WeaklyHard;
    /// let of = WeaklyHard::new(3, 5).unwrap();
    /// let pattern = |rule: layland_analysis::how_often::MandatoryPattern| {
    ///     (0..5).map(|j| u8::from(rule.is_mandatory(of, j))).collect::<Vec<u8>>()
    /// };
    /// assert_eq!((pattern(Red), pattern(Even)), (vec![1, 1, 1, 0, 0], vec![1, 1, 0, 1, 0]));
    /// ```
    pub fn is_mandatory(self, of: WeaklyHard, job: u64) -> bool {
        let [m, k] = [of.hits(), of.window()].map(u128::from);
        let j = u128::from(job);
        match self {
            MandatoryPattern::Red => j % k < m,
            MandatoryPattern::Even => m > 0 && j == (j * m).div_ceil(k) * k / m,
        }
    }

    /// `q(n)`: the most mandatory jobs among this many consecutive ones.
    pub fn most(self, of: WeaklyHard, jobs: i64) -> i64 {
        let [m, k] = [of.hits(), of.window()].map(i64::from);
        match self {
            MandatoryPattern::Red => (jobs / k) * m + (jobs % k).min(m),
            MandatoryPattern::Even => {
                let most = num_integer::Integer::div_ceil(
                    &(i128::from(jobs) * i128::from(m)),
                    &i128::from(k),
                );
                i64::try_from(most).unwrap_or(i64::MAX)
            }
        }
    }

    /// The load of mandatory jobs in the long run.
    fn load(self, tasks: &[&PatternTask]) -> Rate {
        let of = |task: &&PatternTask| {
            let share = Rate::new(task.constraint.hits().into(), task.constraint.window().into());
            &share * &Rate::new(task.wcet.ns(), task.period.ns())
        };
        tasks.iter().map(of).sum()
    }

    fn work(self, task: &PatternTask, jobs: i64) -> i64 {
        self.most(task.constraint, jobs).saturating_mul(task.wcet.ns())
    }

    /// The longest response time of a mandatory job under fixed priorities; the tasks before it in
    /// the list come first. 0 if no job of the task is mandatory.
    ///
    /// `R = C + sum q_i(ceil(R / T_i)) C_i`.
    ///
    /// # Errors
    /// [`Diverged::Beyond`] if it is longer than the deadline.
    pub fn response_time(self, tasks: &[PatternTask], k: usize) -> Result<Duration, Diverged> {
        let own = &tasks[k];
        if own.constraint.hits() == 0 {
            return Ok(Duration::ZERO);
        }
        fixed_point::least(own.wcet.at_unit_speed(), own.deadline, |R| {
            let interference = |task: &PatternTask| self.work(task, R.div_ceil(task.period));
            let sum = tasks[..k].iter().map(interference).fold(0i64, i64::saturating_add);
            Duration::from_ns(own.wcet.ns().saturating_add(sum))
        })
    }

    /// Returns true if every mandatory job is in time under EDF: for each length `L`,
    /// `sum q_i(max(0, floor((L - D_i) / T_i) + 1)) C_i <= L`. Only lengths at which the demand grows
    /// are looked at.
    ///
    /// # Errors
    /// Gives up if there are too many lengths.
    pub fn keeps_deadlines(self, tasks: &[PatternTask]) -> Result<bool, GaveUp> {
        let tasks: Vec<&PatternTask> =
            tasks.iter().filter(|task| task.constraint.hits() > 0).collect();
        let Some(shortest) = tasks.iter().map(|task| task.deadline).min() else { return Ok(true) };
        let sum = |of: &dyn Fn(&PatternTask) -> i64| {
            tasks.iter().map(|task| of(task)).fold(0i64, i64::saturating_add)
        };
        let limit = match self.load(&tasks).cmp(&Rate::ONE) {
            // In the long run, the demand of some length exceeds it.
            std::cmp::Ordering::Greater => return Ok(false),
            // No length beyond the longest busy period of mandatory jobs can be the first to fail.
            std::cmp::Ordering::Less => {
                let first = Duration::from_ns(sum(&|task| task.wcet.ns()));
                fixed_point::least_of_all(first, |w| {
                    Duration::from_ns(sum(&|task| self.work(task, w.div_ceil(task.period))))
                })?
            }
            // The busy period may have no end. From the longest deadline on, the demand grows by
            // the length in each common multiple of the windows.
            std::cmp::Ordering::Equal => {
                let lcm = tasks.iter().try_fold(1i64, |lcm, task| {
                    let window = i64::from(task.constraint.window());
                    let length = task.period.ns().checked_mul(window)?;
                    lcm.checked_mul(length / num_integer::gcd(lcm, length))
                });
                let longest = tasks.iter().map(|task| task.deadline.ns()).max().unwrap_or(0);
                let limit = lcm.and_then(|lcm| lcm.checked_add(longest));
                Duration::from_ns(
                    limit.filter(|limit| *limit <= TIME_LIMIT).ok_or(GaveUp::Endless)?,
                )
            }
        };
        let demand = |L: Duration| {
            let jobs = |task: &PatternTask| (L - task.deadline).div_floor(task.period) + 1;
            Duration::from_ns(sum(&|task| self.work(task, jobs(task).max(0))))
        };
        let mut L = shortest;
        for steps in 0.. {
            if demand(L) > L {
                return Ok(false);
            }
            let next = |task: &&PatternTask| {
                let jobs = ((L - task.deadline).div_floor(task.period) + 1).max(0);
                Duration::from_ns(task.deadline.ns() + jobs * task.period.ns())
            };
            L = tasks.iter().map(next).min().unwrap_or(limit);
            if L > limit {
                return Ok(true);
            }
            if steps >= fixed_point::MAX_STEPS {
                return Err(GaveUp::OutOfSteps { reached: L, steps });
            }
        }
        Ok(true)
    }
}
