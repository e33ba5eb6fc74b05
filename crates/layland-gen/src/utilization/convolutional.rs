//! The discrete-lattice variant of ConvolutionalFixedSum (Griffin, Davis 2025): uniform on
//!
//! ```text
//! { u_1 + .. + u_n = U,  a_i <= u_i <= b_i,  every u_i a multiple of 1/K }
//! ```
//!
//! Every task has bounds of its own. Sum and bounds hold exactly; there is no rounding step. As `K`
//! grows the distribution tends to the uniform one on the polytope.
//!
//! Let `m_i = K u_i - ceil(K a_i)`, so that `0 <= m_i <= w_i` and the `m_i` sum to `S`. The number
//! of ways in which the first `i` of them sum to `t` is the convolution
//!
//! ```text
//! W_0(t) = [t = 0],    W_i(t) = sum over m = 0 .. w_i of W_{i-1}(t - m)
//! ```
//!
//! Given that the first `i` sum to `t`, `m_i = m` has the probability `W_{i-1}(t - m) / W_i(t)`.
//! Draw `m_n` at `t = S`, then `m_{n-1}` at `S - m_n`, and so on.
//!
//! Three techniques keep this stable in floating point for any number of tasks:
//!
//! - The counts exceed every range. But the distribution given the sum does not change if `m_i` is
//!   weighted by `theta^m_i`, because every vector then has the weight `theta^S`. For a `theta`
//!   with which the mean of the weighted sum is about `S`, the rows are ordinary probabilities
//!   where they are needed.
//! - `theta` is at most 1: if `S` is above half of the largest sum, `w_i - m_i` is drawn instead.
//! - A window that slides by subtracting the entries that leave it would suffer from cancellation.
//!   Here the window is the end of one block of `w_i + 1` entries and the start of the next, each
//!   summed by additions only (van Herk 1992; Gil, Werman 1993). So the table has a relative error
//!   of at most about `n K 2^-50`, and typically far less.
//!
//! Time and memory of the table are `O(n S)`, and those
//! of a vector `O(S)`: at most `n K U`, and `K U`.

use crate::{GenError, Infeasible, Random};
use layland_model::Rate;

/// The maximum number of entries of a table: 512 MiB.
const MOST_ENTRIES: u64 = 1 << 26;

/// Draws uniformly from the lattice vectors of a given sum with bounds for each coordinate.
#[derive(Clone, Debug)]
pub struct ConvolutionalFixedSum {
    resolution: u32,
    /// The lower bounds `ceil(K a_i)`.
    low: Vec<i64>,
    /// The widths `w_i`.
    widths: Vec<usize>,
    /// True if `w_i - m_i` is drawn.
    mirrored: bool,
    /// The sum of the drawn numbers.
    sum: usize,
    theta: f64,
    /// The probability, up to a factor per row, that
    /// the first `i` sum to `t`; `i` from 0 to `n - 1`.
    rows: Vec<Vec<f64>>,
}

impl ConvolutionalFixedSum {
    /// Computes the table for these bounds and a total that is a multiple of `1/resolution`. The
    /// bounds are rounded inwards to such multiples.
    pub fn new(
        total: &Rate,
        bounds: &[(Rate, Rate)],
        resolution: u32,
    ) -> Result<ConvolutionalFixedSum, GenError> {
        let infeasible = || {
            GenError::from(Box::new(Infeasible {
                tasks: bounds.len(),
                least: bounds.iter().map(|(min, _)| min.clone()).sum(),
                most: bounds.iter().map(|(_, max)| max.clone()).sum(),
                total: total.clone(),
            }))
        };
        if resolution == 0 {
            let help = "it is the number of steps per unit of utilization, 1 at least";
            return Err(GenError::parameter("resolution", resolution, help));
        }
        let steps = |rate: &Rate| rate * &Rate::whole(i64::from(resolution));
        let off_grid = || GenError::OffGrid { total: total.clone(), resolution };
        let total_steps = steps(total).floor().filter(|&n| Rate::whole(n) == steps(total));
        let total_steps = total_steps.ok_or_else(off_grid)?;

        let mut low = Vec::new();
        let mut widths = Vec::new();
        for (min, max) in bounds {
            let (min, max) = (steps(min).ceil(), steps(max).floor());
            let (Some(min), Some(max)) = (min, max) else { return Err(infeasible()) };
            if min > max || min < 0 {
                return Err(infeasible());
            }
            low.push(min);
            widths.push((max - min) as usize);
        }
        let (sum, room) = (total_steps - low.iter().sum::<i64>(), widths.iter().sum::<usize>());
        let sum = usize::try_from(sum).ok().filter(|&sum| sum <= room).ok_or_else(infeasible)?;
        if bounds.is_empty() {
            return Err(infeasible());
        }
        let mirrored = sum > room / 2;
        // The smaller sum also makes the table smaller.
        let sum = if mirrored { room - sum } else { sum };

        let lengths = widths.iter().scan(0, |reach, w| {
            let length = sum.min(*reach) as u64 + 1;
            *reach += w;
            Some(length)
        });
        let entries: u64 = lengths.sum();
        if entries > MOST_ENTRIES {
            let tasks = bounds.len();
            return Err(GenError::TooFine { tasks, resolution, entries, most: MOST_ENTRIES });
        }

        let theta = tilt(&widths, sum);
        let mut rows = vec![vec![1.0]];
        let mut reach = 0;
        for &w in &widths[..widths.len() - 1] {
            reach += w;
            let last = rows.last().map_or(&[][..], Vec::as_slice);
            rows.push(slide(last, w, theta, sum.min(reach) + 1));
        }
        Ok(ConvolutionalFixedSum { resolution, low, widths, mirrored, sum, theta, rows })
    }

    /// Draws one vector of multiples of `1/resolution`. Sum and bounds are exact.
    ///
    /// ```
    /// use layland_gen::{Aspect, ConvolutionalFixedSum, Random};
    /// use layland_model::Rate;
    /// let mut random = Random::new(7, 0, Aspect::Utilizations);
    /// let bounds = [(Rate::ZERO, Rate::new(1, 10)), (Rate::new(1, 5), Rate::ONE)];
    /// let sampler = ConvolutionalFixedSum::new(&Rate::new(9, 10), &bounds, 1000).unwrap();
    /// let utilizations = sampler.sample(&mut random);
    /// assert_eq!(utilizations.iter().cloned().sum::<Rate>(), Rate::new(9, 10));
    /// assert!(utilizations[0] <= Rate::new(1, 10) && utilizations[1] >= Rate::new(8, 10));
    /// ```
    pub fn sample(&self, random: &mut Random) -> Vec<Rate> {
        let steps = self.sample_steps(random);
        steps.into_iter().map(|m| Rate::new(m, i64::from(self.resolution))).collect()
    }

    /// Draws one vector, in units of `1/resolution`.
    pub fn sample_steps(&self, random: &mut Random) -> Vec<i64> {
        let mut t = self.sum;
        let mut steps = vec![0; self.widths.len()];
        for i in (0..self.widths.len()).rev() {
            let m = self.draw(i, t, random);
            t -= m;
            let m = if self.mirrored { self.widths[i] - m } else { m };
            steps[i] = self.low[i] + m as i64;
        }
        debug_assert_eq!(t, 0, "the draws sum to what they must");
        steps
    }

    /// Draws `m_i`, given that the first `i` numbers sum to `t`.
    fn draw(&self, i: usize, t: usize, random: &mut Random) -> usize {
        let row = &self.rows[i];
        // `t - m` must be within the row, and at least zero.
        let first = (t + 1).saturating_sub(row.len());
        let last = self.widths[i].min(t);
        if first == last {
            return first;
        }
        let weights = || {
            let mut power = 1.0;
            (first..=last).map(move |m| {
                let weight = power * row[t - m];
                power *= self.theta;
                weight
            })
        };
        let total = match self.rows.get(i + 1) {
            // The window sum that made the next row, except for the common power of theta.
            Some(next) if first == 0 => next[t] * normaliser(self.widths[i], self.theta),
            _ => weights().sum(),
        };
        let target = random.unit() * total;
        let mut sum = 0.0;
        // Rounding may leave the sum at or below the target.
        // The last value of positive weight is then drawn.
        let mut possible = first;
        for (m, weight) in (first..).zip(weights()) {
            sum += weight;
            if weight > 0.0 {
                possible = m;
                if sum > target {
                    break;
                }
            }
        }
        possible
    }
}

/// Returns the sum of `theta^m` for `m = 0 ..= w`.
fn normaliser(w: usize, theta: f64) -> f64 {
    let lambda = -libm::log(theta);
    let count = (w + 1) as f64;
    if lambda <= 0.0 { count } else { libm::expm1(-lambda * count) / libm::expm1(-lambda) }
}

/// Returns a `theta` in `(0, 1]` with which the mean of the weighted sum is about `sum`. Any other
/// would be correct as well, but may exceed the range.
fn tilt(widths: &[usize], sum: usize) -> f64 {
    // The mean of m = 0 ..= w with the weights exp(-lambda m).
    let mean = |w: usize, lambda: f64| {
        let (w, count) = (w as f64, (w + 1) as f64);
        if lambda * count < 1e-4 {
            w / 2.0 - lambda * (count * count - 1.0) / 12.0
        } else {
            1.0 / libm::expm1(lambda) - count / libm::expm1(lambda * count)
        }
    };
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let total: f64 = widths.iter().map(|&w| mean(w, middle)).sum();
        if total > sum as f64 {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::exp(-low)
}

/// Computes `out(t) = sum over m = 0 ..= w of theta^m row(t - m) / normaliser`,
/// for `t` below `length`.
fn slide(row: &[f64], w: usize, theta: f64, length: usize) -> Vec<f64> {
    let block = w + 1;
    let scale = 1.0 / normaliser(w, theta);
    let at = |t: usize| row.get(t).copied().unwrap_or(0.0);
    let mut out = Vec::with_capacity(length);
    // `tail[k]` has entries `k..` of the block before,
    // each weighted by theta to the distance to its end.
    let mut tail = vec![0.0; block + 1];
    for start in (0..length).step_by(block) {
        let (mut head, mut power) = (0.0, 1.0);
        for k in 0..block.min(length - start) {
            head = at(start + k) + theta * head;
            power *= theta;
            out.push((head + power * tail[k + 1]) * scale);
        }
        let (mut sum, mut power) = (0.0, 1.0);
        for k in (0..block).rev() {
            sum += power * at(start + k);
            power *= theta;
            tail[k] = sum;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_slides_as_a_plain_sum() {
        let row: Vec<f64> = (0..40).map(|t| 1.0 / (1.0 + f64::from(t * t % 17))).collect();
        for w in [0, 1, 2, 6, 39, 50] {
            for theta in [1.0, 0.9, 0.1] {
                let length = 40 + w;
                let powers: Vec<f64> =
                    (0..=w).scan(1.0, |p, _| Some(std::mem::replace(p, *p * theta))).collect();
                let total: f64 = powers.iter().sum();
                for (t, &got) in slide(&row, w, theta, length).iter().enumerate() {
                    let terms = (0..=w.min(t)).map(|m| powers[m] * row.get(t - m).unwrap_or(&0.0));
                    let plain = terms.sum::<f64>() / total;
                    assert!((got - plain).abs() <= 1e-14 * plain, "{w} {theta} {t}: {got} {plain}");
                }
            }
        }
    }

    #[test]
    fn the_tilt_moves_the_mean_to_the_sum() {
        assert!((tilt(&[10, 10], 10) - 1.0).abs() < 1e-9);
        // Two numbers from 0 to 1 with the mean sum 1/2: theta / (1 + theta) = 1/4.
        assert!((tilt(&[1, 1, 1, 1], 1) - 1.0 / 3.0).abs() < 1e-9);
        assert!(tilt(&[1, 1], 0) > 0.0);
    }
}
