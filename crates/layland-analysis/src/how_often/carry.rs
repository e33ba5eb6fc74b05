//! **CARRY** and **CHERNOFF**: upper bounds by counting the jobs that can delay one, where late jobs
//! are aborted or a response time is proven.
//!
//! No relevant job of task `i` is pending `w_i` after its arrival. So at most
//! `n_i(t) = ceil((t + w_i - unit) / T_i)` of its jobs delay the judged one by `r + t`: those that
//! arrive in the open interval `(r - w_i, r + t)` (Chen, Guenzel, von der Brueggen and Chen, RTSS
//! 2022). Under EDF they arrive at `r + D_k - D_i` at the latest.
//!
//! Published analyses that let all jobs arrive with the judged one are **unsound**: a job just
//! before it and another just after it delay it more often. Their convolutions are right, their
//! counts are not.
//!
//! Assumes: (1) to (3) and (5) of RATE; (4) `w_i` is `D_i` where late jobs are aborted, or a proven
//! worst-case response time; (6) of the judged task itself, none is pending a period after its
//! arrival. **Sufficient**.

use super::distribution::Distribution;
use super::periodic::Judged;
use super::rate::Grid;
use super::task::OneCpuOrder;
use super::{Mass, Rounding, Scaled};
use layland_model::Duration;

/// The bounds of CARRY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Work is taken out as soon as it is done: the better bound.
    pub sequential: Mass,
    /// The least `P(C_k + sum > t)` over `t`: the published form.
    pub minimum: Mass,
    /// `n_i` at the deadline for each task of the level, 1 for the judged one.
    pub counts: Vec<i64>,
}

impl Judged<'_> {
    /// `n_i(t)` for a task of the level; 1 for the judged one.
    fn count(&self, i: usize, t: i64, window: i64, unit: i64) -> i64 {
        if i == self.task {
            return 1;
        }
        let task = &self.tasks[i];
        let jobs = |length: i64| num_integer::Integer::div_ceil(&length, &task.period).max(0);
        let n = jobs(t + window - unit);
        match self.order {
            OneCpuOrder::FixedPriority => n,
            OneCpuOrder::EarliestDeadline => {
                n.min(jobs(self.tasks[self.task].deadline - task.deadline + window))
            }
        }
    }

    /// The bounds, if no job of each task of the level is pending this long after its arrival.
    /// `None` if one of the judged task may be pending longer than its period.
    pub fn carry(&self, windows: &[Duration], grid: &Grid) -> Option<Carried> {
        let (tick, unit) = (grid.tick.ns(), grid.arrivals.ns());
        let own = &self.tasks[self.task];
        if windows[self.task].ns() > own.period {
            return None;
        }
        let end = own.deadline - own.jitter;
        let count = |i: usize, t: i64| self.count(i, t, windows[i].ns(), unit);
        let counts: Vec<i64> = self.level().map(|i| count(i, end.max(1))).collect();
        if end <= 0 {
            return Some(Carried { sequential: Mass::ONE, minimum: Mass::ONE, counts });
        }
        // The instants at which counts grow, with their task and the number of new jobs.
        let mut grows: Vec<(i64, usize, i64)> = Vec::new();
        for i in self.level().filter(|&i| i != self.task) {
            let first = count(i, 1);
            if first > 0 {
                grows.push((1, i, first));
            }
            for n in first + 1..=count(i, end) {
                let period = self.tasks[i].period;
                grows.push(((n - 1) * period - windows[i].ns() + unit + 1, i, 1));
            }
        }
        grows.sort_unstable();
        let work: Vec<Distribution> = self
            .tasks
            .iter()
            .map(|task| Distribution::of(&task.amounts(tick, 1), Rounding::Up))
            .collect();
        let largest = end / tick;
        let mut all = work[self.task].clone();
        let mut left = all.clone();
        let mut minimum = Mass::ONE;
        for &(t, i, jobs) in &grows {
            let before = (t - 1) / tick;
            if t > 1 {
                minimum = minimum.min(all.above(before));
            }
            left.take_out(before);
            left.add_copies(&work[i], jobs, largest);
            all.add_copies(&work[i], jobs, largest);
        }
        Some(Carried {
            sequential: left.above(largest).at_most_one(),
            minimum: minimum.min(all.above(largest)).at_most_one(),
            counts,
        })
    }

    /// CHERNOFF: `P(W > t) <= z^-(t + 1) prod (sum p_c z^c)^(n_i)` in whole ticks, for these counts of
    /// the jobs of the level and `z = numerator / denominator`. Every `z >= 1` is sound.
    ///
    /// # Panics
    /// Panics unless `z >= 1`.
    pub fn chernoff(&self, counts: &[i64], t: Duration, z: (u64, u64), grid: &Grid) -> Mass {
        self.chernoff_scaled(counts, t, z, grid).to_mass(Rounding::Up)
    }

    fn chernoff_scaled(&self, counts: &[i64], t: Duration, z: (u64, u64), grid: &Grid) -> Scaled {
        let (numerator, denominator) = z;
        assert!(numerator >= denominator && denominator > 0, "z = {numerator}/{denominator}");
        let up = Rounding::Up;
        // Not below 1 / z.
        let y = Scaled::ratio(denominator, numerator, up);
        let tick = grid.tick.ns();
        let mut product = Scaled::ONE;
        let mut longest_sum = 0;
        for (i, &count) in self.level().zip(counts) {
            let amounts = self.tasks[i].amounts(tick, 1);
            let longest = amounts.last().map_or(0, |last| last.0);
            let mut sum = Scaled::ZERO;
            for (amount, rate) in &amounts {
                let probability = Scaled::of_mass(Mass::of(rate, up), up);
                sum = sum.plus(probability.times(y.power((longest - amount) as u64, up), up), up);
            }
            product = product.times(sum.power(count as u64, up), up);
            longest_sum += longest * count;
        }
        let excess = longest_sum - (t.ns() / tick + 1);
        let power = match u64::try_from(excess) {
            Ok(excess) => Scaled::ratio(numerator, denominator, up).power(excess, up),
            Err(_) => y.power(excess.unsigned_abs(), up),
        };
        product.times(power, up)
    }

    /// CHERNOFF with a good `z`: the best of a few hundred that are spread evenly by their logarithm,
    /// and of closer ones around it.
    pub fn best_chernoff(&self, counts: &[i64], t: Duration, grid: &Grid) -> Mass {
        /// The denominator of `z`.
        const PARTS: u64 = 1 << 32;
        let at = |more: u64| self.chernoff_scaled(counts, t, (PARTS + more, PARTS), grid);
        // The logarithm of the bound is convex in that of `z`.
        let (mut best, mut value) = (0, at(0));
        let mut take = |more: u64| {
            let found = at(more);
            if !value.is_at_most(found) {
                (best, value) = (more, found);
            }
            best
        };
        (0..40).for_each(|power| {
            take(1 << power);
        });
        let around = take(0);
        let mut step = around / 2;
        for _ in 0..12 {
            let center = take(around);
            step /= 2;
            for more in [center.saturating_sub(step), center.saturating_add(step)] {
                take(more);
            }
        }
        value.to_mass(Rounding::Up)
    }
}
