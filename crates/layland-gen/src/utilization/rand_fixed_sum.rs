//! RandFixedSum (Stafford 2006; Emberson, Stafford, Davis 2010): uniform on
//! `{x_1 + .. + x_n = s, 0 <= x_i <= 1}`, by cones over the facets.
//!
//! Written from the geometry, which is this. Let `Q(i, s)` be that set for `i` coordinates. It has
//! the centre `(s/i, .., s/i)` and, for each coordinate, a facet where it is 0, which is
//! `Q(i-1, s)`, and one where it is 1, which is `Q(i-1, s-1)`. The cones from the centre over the
//! facets fill `Q(i, s)`. So a uniform point is `centre + sigma (y - centre)`, where
//!
//! - the facet is chosen in proportion to the volume of its cone: its own volume, times its
//!   distance from the centre, which is in the ratio `s/i` to `1 - s/i`;
//! - `y` is uniform on the facet: the same problem with one coordinate less;
//! - `sigma = r^(1/(i-1))` with a uniform `r`, as the section of a cone of dimension `i-1` at
//!   `sigma` has a volume in proportion to `sigma^(i-2)`.
//!
//! Which coordinate the facet belongs to is uniform; it is enough to take them in order and to put
//! the result into a random order.
//!
//! The volume of `Q(i, s)` is, up to a factor `sqrt(i)`, the density `f_i(s)` of a sum of `i`
//! uniform numbers, and its recurrence
//!
//! ```text
//! f_1(s) = 1 for 0 <= s < 1
//! (i - 1) f_i(s) = s f_{i-1}(s) + (i - s) f_{i-1}(s - 1)
//! ```
//!
//! has the two kinds of cones as its terms: the second one's share is the probability `t(i, s)` of
//! a coordinate 1. Only sums `s - j` with a whole `j` occur, which makes a table of `n^2 / 2`
//! probabilities. It is computed once, from the logarithms of `f` (they fall below the range of
//! floating point), and all terms are positive, so nothing cancels.

use crate::{GenError, Infeasible, Random};
use layland_model::Rate;

/// Uniform on the vectors of a given sum with one pair of bounds for all coordinates.
#[derive(Clone, Debug)]
pub struct RandFixedSum {
    tasks: usize,
    min: f64,
    max: f64,
    /// The sum, once the bounds are moved to 0 and 1.
    sum: f64,
    /// `t(i, sum - j)` for `i` from 2 on, in rows of `j` from 0 to `n - i`.
    ones: Vec<Vec<f64>>,
}

/// The most tasks: their table has half the square of that many numbers, 3.6 GB.
const MOST_TASKS: usize = 30_000;

impl RandFixedSum {
    /// Computes the table: `O(n^2)` time and memory.
    pub fn new(tasks: usize, total: f64, min: f64, max: f64) -> Result<RandFixedSum, GenError> {
        let (least, most) = (tasks as f64 * min, tasks as f64 * max);
        // A total that is a bound times n in decimals may be off by a rounding here.
        let slack = 1e-12 * tasks as f64;
        if tasks == 0 || !(min <= max && least - slack <= total && total <= most + slack) {
            let rate = |x: f64| crate::rounding::to_rate(x.clamp(0.0, 8191.0));
            let (least, most, total) = (rate(least), rate(most), rate(total));
            return Err(Box::new(Infeasible { tasks, least, most, total }).into());
        }
        if tasks > MOST_TASKS {
            return Err(GenError::TooMany { tasks, most: MOST_TASKS });
        }
        let width = max - min;
        let sum = if width > 0.0 { (total - least) / width } else { 0.0 };
        let sum = sum.clamp(0.0, tasks as f64);
        let ones = one_probabilities(tasks, sum);
        Ok(RandFixedSum { tasks, min, max, sum, ones })
    }

    /// One vector, in `O(n)`. The sum is right to about `n * 2^-52`; the bounds are kept.
    ///
    /// ```
    /// use layland_gen::{Aspect, Random, RandFixedSum};
    /// let mut random = Random::new(7, 0, Aspect::Utilizations);
    /// let sampler = RandFixedSum::new(16, 7.6, 0.0, 1.0).unwrap();
    /// let utilizations = sampler.sample(&mut random);
    /// assert!((utilizations.iter().sum::<f64>() - 7.6).abs() < 1e-12);
    /// assert!(utilizations.iter().all(|u| (0.0..=1.0).contains(u)));
    /// ```
    pub fn sample(&self, random: &mut Random) -> Vec<f64> {
        let mut x = Vec::with_capacity(self.tasks);
        let mut s = self.sum;
        let mut used = 0;
        // The coordinates that are left are `base + scale * y` with `y` uniform on `Q(i, s)`.
        let (mut base, mut scale) = (0.0, 1.0);
        for i in (2..=self.tasks).rev() {
            let sigma = libm::exp(libm::log(random.open_unit()) / (i - 1) as f64);
            base += scale * (1.0 - sigma) * s / i as f64;
            scale *= sigma;
            let one = random.unit() < self.ones[i - 2][used];
            if one {
                x.push(base + scale);
                s -= 1.0;
                used += 1;
            } else {
                x.push(base);
            }
        }
        x.push(base + scale * s);
        random.shuffle(&mut x);
        let max = self.max;
        x.iter_mut().for_each(|x| *x = (self.min + (max - self.min) * *x).clamp(self.min, max));
        x
    }

    /// For a recipe: the same with exact bounds in the error.
    pub(crate) fn exact(
        tasks: usize,
        total: &Rate,
        min: &Rate,
        max: &Rate,
    ) -> Result<RandFixedSum, GenError> {
        super::check_total(tasks, total, min, max)?;
        RandFixedSum::new(tasks, total.to_f64(), min.to_f64(), max.to_f64())
    }
}

/// The rows `i = 2 ..= n` of `t(i, sum - j)`.
fn one_probabilities(n: usize, sum: f64) -> Vec<Vec<f64>> {
    // ln f_i(sum - j) up to a constant per row, for j = 0 ..= n - i.
    let first = |j: usize| {
        let s = sum - j as f64;
        if (0.0..1.0).contains(&s) { 0.0 } else { f64::NEG_INFINITY }
    };
    let mut below: Vec<f64> = (0..n).map(first).collect();
    let mut rows = Vec::with_capacity(n.saturating_sub(1));
    for i in 2..=n {
        let (mut row, mut ones) = (Vec::new(), Vec::new());
        for j in 0..=n - i {
            let s = sum - j as f64;
            let zero = log_product(s, below[j]);
            let one = log_product(i as f64 - s, below[j + 1]);
            row.push(log_sum(zero, one));
            ones.push(if zero == f64::NEG_INFINITY && one == f64::NEG_INFINITY {
                // Outside, or a corner: all coordinates 0 or all 1.
                if s >= i as f64 { 1.0 } else { 0.0 }
            } else {
                1.0 / (1.0 + libm::exp(zero - one))
            });
        }
        rows.push(ones);
        below = row;
    }
    rows
}

fn log_product(x: f64, log_y: f64) -> f64 {
    if x > 0.0 { libm::log(x) + log_y } else { f64::NEG_INFINITY }
}

fn log_sum(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + libm::log1p(libm::exp(low - high)) }
}
