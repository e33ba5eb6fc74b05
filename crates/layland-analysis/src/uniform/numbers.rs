//! The numbers of tests for uniform CPUs, as integers.
//!
//! Work counts in *grains*: the largest unit of which every CPU does a whole number per nanosecond.

#![expect(non_snake_case, reason = "symbols of the papers")]

use layland_model::{CpuId, CpuSet, Rate, Speed, System, Task};
use num_integer::Integer;
use std::cmp::Reverse;

/// The limit on products of these numbers.
const WIDEST: i128 = i128::MAX >> 6;

/// CPUs of different speeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// The grains that each CPU does in a nanosecond, the fastest first.
    speeds: Vec<i128>,
    /// The grains of a nanosecond of work.
    unit: i128,
}

impl Uniform {
    /// Returns none if the numbers become too large.
    pub fn new(speeds: impl IntoIterator<Item = Speed>) -> Option<Uniform> {
        let given: Vec<Speed> = speeds.into_iter().collect();
        let unit = given.iter().try_fold(1i128, |unit, speed| {
            let own = i128::from(speed.denominator());
            (unit / unit.gcd(&own)).checked_mul(own).filter(|&unit| unit <= 1 << 40)
        })?;
        let grains = |speed: &Speed| {
            i128::from(speed.numerator()) * (unit / i128::from(speed.denominator()))
        };
        let mut speeds: Vec<i128> = given.iter().map(grains).collect();
        speeds.sort_unstable_by(|a, b| b.cmp(a));
        (!speeds.is_empty()).then_some(Uniform { speeds, unit })
    }

    /// The number of CPUs.
    pub fn cpus(&self) -> usize {
        self.speeds.len()
    }

    /// The `k` fastest CPUs, for `1 <= k <= m`.
    #[must_use]
    pub fn fastest(&self, k: usize) -> Uniform {
        Uniform { speeds: self.speeds[..k].to_vec(), unit: self.unit }
    }

    /// `s_1`, in grains per nanosecond.
    pub(super) fn first(&self) -> i128 {
        self.speeds[0]
    }

    /// `S`, in grains per nanosecond.
    pub(super) fn total(&self) -> i128 {
        self.speeds.iter().sum()
    }

    /// `S_k` for `k` from 0 on.
    pub(super) fn sums(&self) -> impl Iterator<Item = i128> + '_ {
        let sums = self.speeds.iter().scan(0, |sum, speed| {
            *sum += speed;
            Some(*sum)
        });
        std::iter::once(0).chain(sums)
    }

    /// `lambda = max over i of (s_{i+1} + .. + s_m) / s_i`, as a fraction.
    pub(super) fn lambda(&self) -> (i128, i128) {
        let (mut rest, mut largest) = (self.total(), (0, 1));
        for &speed in &self.speeds {
            rest -= speed;
            if rest * largest.1 > largest.0 * speed {
                largest = (rest, speed);
            }
        }
        largest
    }

    /// Lambda, as a rate.
    pub fn lambda_rate(&self) -> Rate {
        let (n, d) = self.lambda();
        Rate::of_wide(n, d)
    }

    /// An amount of grains, in nanoseconds of work.
    pub fn in_work(&self, grains: i128) -> Rate {
        Rate::of_wide(grains, self.unit)
    }

    /// Returns the tasks in these units; none if the products of their numbers become too large.
    pub fn tasks<'a>(&self, tasks: impl IntoIterator<Item = &'a Task>) -> Option<Vec<Tau>> {
        let (lambda, den) = self.lambda();
        let tasks: Option<Vec<Tau>> = tasks
            .into_iter()
            .map(|task| {
                let C = i128::from(task.own_wcet().ns()).checked_mul(self.unit)?;
                let [D, T] = [task.deadline, task.period].map(|length| i128::from(length.ns()));
                Some(Tau { C, plus: C.checked_add(self.first() - 1)?, D, T })
            })
            .collect();
        let tasks = tasks?;
        let sum: i128 = tasks.iter().try_fold(0i128, |sum, tau| sum.checked_add(tau.plus))?;
        let longest = tasks.iter().map(|tau| tau.D.max(tau.T)).max().unwrap_or(1);
        // The left and right sides of the conditions.
        let work = sum.checked_mul(lambda + den)?.checked_mul(4)?;
        let supply = self.total().checked_mul(longest)?.checked_mul(4)?.checked_mul(den)?;
        (work <= WIDEST && supply.checked_mul(self.first())? <= WIDEST).then_some(tasks)
    }
}

/// A task: work in grains, lengths in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tau {
    /// `C`.
    pub(super) C: i128,
    /// `C+`: the work that a job may take from its CPU, which it has to the end of the nanosecond in
    /// which it ends.
    pub(super) plus: i128,
    /// `D`.
    pub(super) D: i128,
    /// `T`.
    pub(super) T: i128,
}

impl Tau {
    /// `C+`, in grains.
    pub fn with_waste(&self) -> i128 {
        self.plus
    }

    /// The number of jobs with arrival and deadline in an interval of this length.
    pub(super) fn jobs_due(&self, t: i128) -> i128 {
        if t < self.D { 0 } else { (t - self.D) / self.T + 1 }
    }

    /// `dbf(t)` with `C+`.
    pub(super) fn demand(&self, t: i128) -> i128 {
        self.jobs_due(t) * self.plus
    }
}

/// Returns the sum of the `count` largest of these numbers.
pub(super) fn largest(mut numbers: Vec<i128>, count: usize) -> i128 {
    if count == 0 {
        return 0;
    }
    if count < numbers.len() {
        numbers.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
        numbers.truncate(count);
    }
    numbers.into_iter().sum()
}

/// The CPUs of a group, the fastest first.
pub(super) fn fastest_first(system: &System, cpus: &CpuSet) -> Vec<CpuId> {
    let mut all: Vec<CpuId> = cpus.iter().collect();
    all.sort_by_key(|&cpu| (Reverse(system.platform.speeds[cpu].rate()), cpu));
    all
}
