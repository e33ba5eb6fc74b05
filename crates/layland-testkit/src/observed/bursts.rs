//! Models of jobs that arrive in bursts.

use layland_gen::Random;

/// A model of bursts. All have the same mean gap in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstModel {
    /// Two jobs with a short gap, and then a long one.
    Pairs,
    /// Ten jobs with short gaps in every period.
    Batches,
    /// A clock that has phases with a job on each tick, and phases without any.
    OnOff,
    /// Gaps that are independent of each other: nearly a Poisson process.
    Memoryless,
}

/// In parts of the mean gap: in each of them the memoryless model has a job with this chance.
const TICK: i64 = 64;

impl BurstModel {
    /// Every model.
    pub const ALL: [BurstModel; 4] =
        [BurstModel::Pairs, BurstModel::Batches, BurstModel::OnOff, BurstModel::Memoryless];

    /// Draws this number of gaps in nanoseconds, for a mean of at least a microsecond.
    pub fn gaps(self, count: usize, mean: i64, seed: u64) -> Vec<i64> {
        let mut random = Random::of_task(seed, 0xb0257);
        let mut below = |bound: i64| random.below(bound.max(1) as u64) as i64;
        let short = mean / 100 * (1 + below(20));
        let mut gaps = Vec::new();
        while gaps.len() < count {
            match self {
                BurstModel::Pairs => {
                    let first = short + below(short / 4);
                    gaps.extend([first, 2 * mean - first + below(mean / 5) - mean / 10]);
                }
                BurstModel::Batches => {
                    let each: Vec<i64> = (0..9).map(|_| 1 + below(short)).collect();
                    let rest = 10 * mean - each.iter().sum::<i64>();
                    gaps.extend(each);
                    gaps.push(rest + below(mean) - mean / 2);
                }
                BurstModel::OnOff => {
                    let on = 1 + below(20);
                    gaps.extend((0..on).map(|_| mean / 10));
                    // The two phases have the mean together.
                    gaps.push((on + 1) * mean - on * (mean / 10) + below(mean) - mean / 2);
                }
                BurstModel::Memoryless => {
                    let tick = mean / TICK;
                    let mut gap = 1 + below(tick);
                    while below(TICK) > 0 {
                        gap += tick;
                    }
                    gaps.push(gap);
                }
            }
        }
        gaps.truncate(count);
        gaps
    }
}
