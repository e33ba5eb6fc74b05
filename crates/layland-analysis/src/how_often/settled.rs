//! The backlog in the long run, from above: a start that is certified in one-way arithmetic, and
//! steps that keep it an upper bound.
//!
//! Let the work of one step minus the time served be `X`, independent in each step. If a `y > 1` has
//! `E[y^X] <= 1`, then `P(sup S >= w) <= y^-w` for the sums `S = X_1 + .. + X_j`, since `y^S` is a
//! supermartingale (Ville's inequality; the exponent of Lundberg and Kingman). Here `q = 1 / y`, so
//! that all powers are at most 1. Any `q` that passes the check is sound; the search only looks for
//! a small one.

use super::distribution::Distribution;
use super::task::RandomTask;
use super::{Mass, Precision, Rounding, Scaled};
use layland_model::Rate;

/// The decay of the tail of `sup S`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decay {
    /// No step has more work than time: `sup S` is 0.
    Never,
    /// `P(sup S >= w) <= q^w`.
    Rate(Scaled),
}

/// Random work of a step: amounts with probabilities, and the number of independent copies.
pub(super) type Work = (Vec<(i64, Rate)>, u64);

/// The decay for this work per step and this amount served, if the search finds one: none if the
/// mean of the work is at least the amount served.
pub(super) fn decay(work: &[Work], served: i64) -> Option<Decay> {
    let longest = |(amounts, copies): &Work| -> i64 {
        amounts.last().map_or(0, |(amount, _)| *amount) * *copies as i64
    };
    let excess = work.iter().map(longest).sum::<i64>() - served;
    let Ok(excess) = u64::try_from(excess) else { return Some(Decay::Never) };
    if excess == 0 {
        return Some(Decay::Never);
    }
    let at = |digits: u64| Scaled::of(digits.into(), -64, Rounding::Down);
    // 1 - 2^-j from the left: the first one that passes, and between it and the one before.
    let passing = (1..=40)
        .find(|j| is_supermartingale(work, excess, at(0u64.wrapping_sub(1 << (64 - j)))))?;
    let mut high = 0u64.wrapping_sub(1 << (64 - passing));
    let mut low = if passing == 1 { 0 } else { 0u64.wrapping_sub(1 << (65 - passing)) };
    for _ in 0..24 {
        let middle = low + (high - low) / 2;
        if middle > low && is_supermartingale(work, excess, at(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(Decay::Rate(at(high)))
}

/// `E[y^X] <= 1`, times `q^excess`: `prod (sum p q^(longest - c))^copies <= q^excess`, where the
/// left side is rounded up and the right side down.
pub(super) fn is_supermartingale(work: &[Work], excess: u64, q: Scaled) -> bool {
    let mut left = Scaled::ONE;
    for (amounts, copies) in work {
        let longest = amounts.last().map_or(0, |(amount, _)| *amount);
        let mut sum = Scaled::ZERO;
        for (amount, rate) in amounts {
            let probability = Scaled::of_mass(Mass::of(rate, Rounding::Up), Rounding::Up);
            let power = q.power((longest - amount) as u64, Rounding::Up);
            sum = sum.plus(probability.times(power, Rounding::Up), Rounding::Up);
        }
        left = left.times(sum.power(*copies, Rounding::Up), Rounding::Up);
    }
    left.is_at_most(q.power(excess, Rounding::Down))
}

/// `shift + sup S`, from above.
pub(super) fn start(decay: Decay, shift: i64, precision: &Precision) -> Distribution {
    let Decay::Rate(q) = decay else { return Distribution::point(shift, Rounding::Up) };
    let (mut power, mut tail) = (Scaled::ONE, Mass::ONE);
    let mut masses = Vec::new();
    while tail > precision.negligible && masses.len() < precision.cells {
        power = power.times(q, Rounding::Up);
        let next = power.to_mass(Rounding::Up);
        masses.push(tail.0 - next.0);
        tail = next;
    }
    Distribution::from_masses(shift, masses, tail.0, Rounding::Up)
}

/// Applies a monotone step until it changes little, or often enough. If the start is an upper bound
/// in the long run, so is the result; from an empty start, each result is a lower bound.
pub(super) fn settle(
    backlog: &mut Distribution,
    precision: &Precision,
    mut step: impl FnMut(&mut Distribution),
) {
    for _ in 0..precision.rounds {
        let before = backlog.clone();
        step(backlog);
        if backlog.distance(&before) <= precision.negligible {
            break;
        }
    }
}

/// The greatest common divisor of all times of the tasks, and of more times.
pub(super) fn common_tick(tasks: &[RandomTask], more: impl IntoIterator<Item = i64>) -> i64 {
    let of_task = |task: &RandomTask| {
        let times = task.amounts(1, 1).into_iter().map(|(time, _)| time);
        times.chain([task.period, task.deadline, task.jitter]).collect::<Vec<i64>>()
    };
    tasks.iter().flat_map(of_task).chain(more).fold(0, num_integer::gcd).max(1)
}
