//! Utilizations from a given range: "light", "medium" and "heavy" tasks.
//!
//! [`Independent`] draws a given number of them and does not control the total. [`UntilTotal`]
//! draws until the remainder to a given total falls into the range; the remainder is the last
//! utilization. The random sets of Compagnin, Mezzetti, Vardanega (2015) are drawn in this way,
//! with utilizations on a grid of 1/1000 from [0.5, 0.9] (heavy) or [0.1, 0.5] (medium). If a
//! remainder is below the range, the whole vector is drawn again.

use crate::{GenError, Random};
use layland_model::Rate;

/// Independent uniform draws from `[min, max)`.
#[derive(Clone, Debug)]
pub struct Independent {
    tasks: usize,
    min: f64,
    max: f64,
}

impl Independent {
    /// Returns a sampler of `tasks` utilizations.
    pub fn new(tasks: usize, min: f64, max: f64) -> Independent {
        Independent { tasks, min, max }
    }

    /// Draws one vector.
    ///
    /// ```
    /// use layland_gen::{Aspect, Independent, Random};
    /// let mut random = Random::new(7, 0, Aspect::Utilizations);
    /// let utilizations = Independent::new(4, 0.1, 0.5).sample(&mut random);
    /// assert!(utilizations.len() == 4 && utilizations.iter().all(|u| (0.1..0.5).contains(u)));
    /// ```
    pub fn sample(&self, random: &mut Random) -> Vec<f64> {
        (0..self.tasks).map(|_| self.min + (self.max - self.min) * random.unit()).collect()
    }
}

/// Uniform draws from a range until the remainder is in the range, too.
#[derive(Clone, Debug)]
pub struct UntilTotal {
    resolution: u32,
    total: i64,
    min: i64,
    max: i64,
    tries: u32,
}

impl UntilTotal {
    /// Returns a sampler of multiples of `1/resolution` from `[min, max]` that sum to `total`,
    /// which must be such a multiple. The bounds are rounded inwards.
    pub fn new(
        total: &Rate,
        min: &Rate,
        max: &Rate,
        resolution: u32,
        tries: u32,
    ) -> Result<UntilTotal, GenError> {
        let steps = |rate: &Rate| rate * &Rate::whole(i64::from(resolution));
        let exact = steps(total).floor().filter(|&n| n >= 0 && Rate::whole(n) == steps(total));
        let total = exact.ok_or_else(|| GenError::OffGrid { total: total.clone(), resolution })?;
        let (Some(low), Some(high)) = (steps(min).ceil(), steps(max).floor()) else {
            return Err(GenError::parameter("max", max, "it is too large"));
        };
        if low < 1 || low > high {
            let help = "`min` must be above 0, and a multiple of the resolution up to `max`";
            return Err(GenError::parameter("min", min, help));
        }
        // The number of tasks `k` must satisfy `k * low <= total <= k * high`.
        let fewest = num_integer::Integer::div_ceil(&total, &high);
        if fewest * low > total || total == 0 {
            let help = "no number of tasks in the range has this total: choose another";
            return Err(GenError::parameter("total", Rate::new(total, resolution.into()), help));
        }
        Ok(UntilTotal { resolution, total, min: low, max: high, tries })
    }

    /// Draws one vector with a random number of utilizations. The sum is exact.
    ///
    /// ```
    /// use layland_gen::{Aspect, Random, UntilTotal};
    /// use layland_model::Rate;
    /// let mut random = Random::new(7, 0, Aspect::Utilizations);
    /// let heavy = [Rate::new(1, 2), Rate::new(9, 10)];
    /// let sampler = UntilTotal::new(&Rate::whole(16), &heavy[0], &heavy[1], 1000, 100).unwrap();
    /// let utilizations = sampler.sample(&mut random).unwrap();
    /// assert_eq!(utilizations.iter().cloned().sum::<Rate>(), Rate::whole(16));
    /// ```
    pub fn sample(&self, random: &mut Random) -> Result<Vec<Rate>, GenError> {
        for _ in 0..self.tries {
            let (mut steps, mut left) = (Vec::new(), self.total);
            while left > self.max {
                let step = random.between(self.min, self.max);
                steps.push(step);
                left -= step;
            }
            if left >= self.min {
                steps.push(left);
                let resolution = i64::from(self.resolution);
                return Ok(steps.into_iter().map(|step| Rate::new(step, resolution)).collect());
            }
        }
        Err(GenError::Exhausted {
            tries: self.tries,
            wanted: "left a remainder in the range of the utilizations",
            help: "widen the range, or raise `tries`",
        })
    }
}
