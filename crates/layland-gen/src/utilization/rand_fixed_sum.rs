//! RandFixedSum (Stafford 2006; Emberson, Stafford, Davis 2010): uniform on
//! `{x_1 + .. + x_n = s, 0 <= x_i <= 1}`, by cones over the facets.
//!
//! The implementation follows from the geometry. Let `Q(i, s)` be that set for `i` coordinates. It
//! has the centre `(s/i, .., s/i)` and, for each coordinate, a facet where it is 0, which is
//! `Q(i-1, s)`, and one where it is 1, which is `Q(i-1, s-1)`. The cones from the centre over the
//! facets fill `Q(i, s)`. So a uniform point is `centre + sigma (y - centre)`, where
//!
//! - the facet is chosen in proportion to the volume of its cone: its own volume, times its
//!   distance from the centre, which is in the ratio `s/i` to `1 - s/i`;
//! - `y` is uniform on the facet, which is the same problem with one coordinate less;
//! - `sigma = r^(1/(i-1))` with a uniform `r`, because the section of a cone of dimension `i-1` at
//!   `sigma` has a volume in proportion to `sigma^(i-2)`.
//!
//! The coordinate to which the facet belongs is uniform. It suffices to process the coordinates in
//! order and to shuffle the result.
//!
//! The volume of `Q(i, s)` is, up to a factor `sqrt(i)`, the density `f_i(s)` of a sum of `i`
//! uniform numbers. Its recurrence
//!
//! ```text
//! f_1(s) = 1 for 0 <= s < 1
//! (i - 1) f_i(s) = s f_{i-1}(s) + (i - s) f_{i-1}(s - 1)
//! ```
//!
//! has the two kinds of cones as its terms: the second one's share is the probability `t(i, s)` of
//! a coordinate 1. Only sums `s - j` with a whole `j` occur, so the table has `n^2 / 2`
//! probabilities. It is computed from the logarithms of `f`, because the values fall below the
//! range of floating point. All terms are positive, so there is no cancellation.
//!
//! A point needs one probability of each row. For few coordinates the table is kept. For many it
//! would need gigabytes, so only every `k`-th row of the logarithms is kept, with `k` near
//! `sqrt(n)`. The part of the table that a point can reach within the next `k` rows is computed
//! again. This takes `O(n k)` time for a point and `O(n^2 / k)` memory, and gives the same numbers.

use crate::{GenError, Infeasible, Random};
use layland_model::Rate;

/// Draws uniformly from the vectors of a given sum with the same bounds for all coordinates.
#[derive(Clone, Debug)]
pub struct RandFixedSum {
    tasks: usize,
    min: f64,
    max: f64,
    /// The sum, after the bounds are mapped to 0 and 1.
    sum: f64,
    table: ProbabilityTable,
}

/// The probabilities `t(i, sum - j)`.
#[derive(Clone, Debug)]
enum ProbabilityTable {
    /// The rows from `i = 2` on, each for `j` from 0 to `n - i`.
    Whole(Vec<Vec<f64>>),
    /// The logarithms of `f_i(sum - j)` for `i = 1, 1 + k, 1 + 2 k, ..`.
    Sparse { k: usize, kept: Vec<Vec<f64>> },
}

/// The maximum number of tasks: the time for their table grows with the square of their number.
const MOST_TASKS: usize = 30_000;

/// The maximum number of tasks whose table is kept; it then has 16 MB.
const KEPT_WHOLE: usize = 2_000;

impl RandFixedSum {
    /// Computes the table, in `O(n^2)` time. Memory is
    /// `O(n^2)` up to 2,000 tasks, and `O(n^1.5)` beyond.
    pub fn new(tasks: usize, total: f64, min: f64, max: f64) -> Result<RandFixedSum, GenError> {
        let (least, most) = (tasks as f64 * min, tasks as f64 * max);
        // A total that is a bound times `n` in decimals may be off by a rounding error here.
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
        // A total within the slack may be outside of the bounds.
        let sum = sum.clamp(0.0, tasks as f64);
        let table = if tasks <= KEPT_WHOLE {
            ProbabilityTable::Whole(whole(tasks, sum))
        } else {
            sparse(tasks, sum, tasks.isqrt())
        };
        Ok(RandFixedSum { tasks, min, max, sum, table })
    }

    /// Draws one vector, in `O(n)`, and beyond 2,000 tasks in `O(n^1.5)`. The sum is accurate to
    /// about `n * 2^-52`; the bounds are kept.
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
        // Rows that were computed again, the first of them, and the `j` at which they begin.
        let (mut again, mut first, mut from) = (Vec::new(), usize::MAX, 0);
        let mut s = self.sum;
        let mut used = 0;
        // The remaining coordinates are `base + scale * y` with `y` uniform on `Q(i, s)`.
        let (mut base, mut scale) = (0.0, 1.0);
        for i in (2..=self.tasks).rev() {
            let sigma = libm::exp(libm::log(random.open_unit()) / (i - 1) as f64);
            base += scale * (1.0 - sigma) * s / i as f64;
            scale *= sigma;
            let t = match &self.table {
                ProbabilityTable::Whole(rows) => rows[i - 2][used],
                ProbabilityTable::Sparse { k, kept } => {
                    if i < first {
                        let at = (i - 2) / k;
                        (first, from) = (2 + at * k, used);
                        again = reachable(self.sum, first - 1, i, used, &kept[at]);
                    }
                    let row: &Vec<f64> = &again[i - first];
                    row[used - from]
                }
            };
            let one = random.unit() < t;
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
        // Rounding may leave the bounds, so the results are limited to them.
        let max = self.max;
        x.iter_mut().for_each(|x| *x = (self.min + (max - self.min) * *x).clamp(self.min, max));
        x
    }

    /// Does what `new` does, for a recipe: the error has exact bounds.
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

/// Returns `ln f_1(sum - j)` for `j = 0 .. n`.
fn first_row(n: usize, sum: f64) -> Vec<f64> {
    let first = |j: usize| {
        let s = sum - j as f64;
        if (0.0..1.0).contains(&s) { 0.0 } else { f64::NEG_INFINITY }
    };
    (0..n).map(first).collect()
}

/// Returns `ln f_i(sum - j)`, up to a constant per row, and `t(i, sum - j)`, for `j` from `from`
/// on, computed from the row `i - 1` from the same `j` on. Both are shorter by one than that row.
fn next_row(i: usize, sum: f64, from: usize, below: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let of = |(at, pair): (usize, &[f64])| {
        let s = sum - (from + at) as f64;
        let zero = log_product(s, pair[0]);
        let one = log_product(i as f64 - s, pair[1]);
        let t = if zero == f64::NEG_INFINITY && one == f64::NEG_INFINITY {
            // Outside of the set, or a corner: all coordinates 0 or all 1.
            if s >= i as f64 { 1.0 } else { 0.0 }
        } else {
            1.0 / (1.0 + libm::exp(zero - one))
        };
        (log_sum(zero, one), t)
    };
    below.windows(2).enumerate().map(of).unzip()
}

/// Returns the rows `i = 2 ..= n` of `t(i, sum - j)`.
fn whole(n: usize, sum: f64) -> Vec<Vec<f64>> {
    let mut below = first_row(n, sum);
    let mut rows = Vec::with_capacity(n.saturating_sub(1));
    for i in 2..=n {
        let (row, ones) = next_row(i, sum, 0, &below);
        rows.push(ones);
        below = row;
    }
    rows
}

/// Returns every `k`-th row of the logarithms.
fn sparse(n: usize, sum: f64, k: usize) -> ProbabilityTable {
    let mut row = first_row(n, sum);
    let mut kept = vec![row.clone()];
    for i in 2..=n {
        row = next_row(i, sum, 0, &row).0;
        if (i - 1) % k == 0 {
            kept.push(row.clone());
        }
    }
    ProbabilityTable::Sparse { k, kept }
}

/// Returns the rows `base + 1 ..= top` of `t(i, sum - j)` from `j = used` on, computed from the
/// logarithms of the row `base`: the part that a point with `used` coordinates of 1 at the row
/// `top` can reach. Each row below it adds at most one.
fn reachable(sum: f64, base: usize, top: usize, used: usize, logarithms: &[f64]) -> Vec<Vec<f64>> {
    let mut below = logarithms[used..=used + top - base].to_vec();
    let mut rows = Vec::with_capacity(top - base);
    for i in base + 1..=top {
        let (row, ones) = next_row(i, sum, used, &below);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Aspect;

    #[test]
    fn a_sparse_table_gives_the_numbers_of_a_whole_one() {
        for (n, sum) in
            [(2, 0.7), (3, 1.5), (17, 0.01), (40, 38.9), (101, 50.25), (60, 60.0), (9, 0.0)]
        {
            let whole = RandFixedSum::new(n, sum, 0.0, 1.0).unwrap();
            for k in [1, 2, 3, n.isqrt(), n] {
                let sparse = RandFixedSum { table: sparse(n, whole.sum, k), ..whole.clone() };
                for seed in 0..20 {
                    let point = |sampler: &RandFixedSum| {
                        let mut random = Random::new(seed, 0, Aspect::Utilizations);
                        sampler
                            .sample(&mut random)
                            .into_iter()
                            .map(f64::to_bits)
                            .collect::<Vec<u64>>()
                    };
                    assert_eq!(
                        point(&whole),
                        point(&sparse),
                        "n {n}, sum {sum}, k {k}, seed {seed}"
                    );
                }
            }
        }
    }
}
