//! Computes how far the number of agreeing points depends on the systems that were drawn.
//!
//! Source of the method: B. Efron, R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993,
//! Chapters 6 and 13 (percentile intervals). The systems of each point are drawn again with
//! replacement, the same for every series, so that series are compared in pairs; every statistic
//! and every comparison is made again. The interval has the central 99 % of 1000 repetitions: a
//! paper has tens of claims, and with 95 % several of them would be wrong.
//!
//! Deviations: (1) Where both series are equal in a repetition, the point may agree or not, so that
//! a difference that rests on four of ten systems decides nothing. (2) With fewer than
//! [`LEAST`] systems at a point there are too few repetitions that differ. The points themselves
//! then decide, by the exact binomial interval of C. J. Clopper and E. S. Pearson (1934) for the
//! probability that a point agrees: it must exclude one half. (3) The number of systems that would
//! decide is computed by drawing more of them than there are.

use super::Judgement;
use crate::curve::Values;
use crate::experiment::Experiment;
use crate::results::Results;
use layland_gen::Random;
use std::collections::BTreeMap;

/// The number of repetitions.
const REPLICATES: usize = 1000;
/// The number of repetitions with more systems.
const FEWER: usize = 200;
/// The number of systems at a point from which they are drawn again.
pub(crate) const LEAST: u64 = 6;
/// The multiples of the systems that are tried.
const TIMES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// The share of the repetitions beyond each end of an interval.
const BEYOND: f64 = 0.005;

/// The method by which an interval is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Systems are drawn again.
    Bootstrap,
    /// The points are counted.
    Binomial,
}

/// The interval of the number of points at which a claim agrees, with 99 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The method.
    pub method: Method,
    /// The judgement that it allows.
    pub judgement: Judgement,
    /// The smallest number of points that agree.
    pub low: usize,
    /// The largest.
    pub high: usize,
    /// The number of systems at the point with the fewest.
    pub sets: u64,
    /// The number of systems at each point that would decide, if the claim is undecided; `None` if
    /// it is decided, or if 64 times as many would not.
    pub decides: Option<u64>,
    /// The share of systems that may be against the claim at a point where none is, if it is about
    /// every system.
    pub rest: Option<f64>,
}

/// The ends of an interval, both included.
type Ends<T> = (T, T);

/// Counts the points that agree, and those that may, and keeps the gap of each.
type Tally<'a> = &'a dyn Fn(&[Option<f64>], &mut [Vec<f64>]) -> Ends<usize>;

/// The points whose agreement is counted.
pub(super) struct Tallies<'a> {
    pub values: &'a [Values],
    /// The number of points that agree, and of all points.
    pub agree: usize,
    pub of: usize,
    /// True if pairs of points are compared, which are not independent.
    pub is_trend: bool,
    /// The counting.
    pub tally: Tally<'a>,
}

/// The systems of the points of a claim.
pub(super) struct Sample {
    /// The seed and the number of rows of each point of a grid.
    cells: BTreeMap<(usize, usize), (u64, usize)>,
    /// The smallest number of rows, and of systems.
    rows: u64,
    sets: u64,
}

/// The systems that are drawn at each point, as indices.
pub(super) type Drawn = BTreeMap<(usize, usize), Vec<usize>>;

impl Sample {
    pub(super) fn of(experiment: &Experiment, results: &Results, values: &[Values]) -> Sample {
        let mut cells = BTreeMap::new();
        let (mut rows, mut sets) = (u64::MAX, u64::MAX);
        for part in values.iter().flat_map(|values| &values.parts) {
            let (grid, at) = part.cell;
            let seed = results.cells(grid).get(at).map_or(0, |cell| cell.seed);
            let count = part.of.len();
            if cells.insert(part.cell, (seed, count)).is_none() && count > 0 {
                let is_pooled = experiment.grids[grid].pooled;
                let block = if is_pooled { experiment.block(grid) } else { 1 };
                rows = rows.min(count as u64);
                sets = sets.min(count as u64 * block);
            }
        }
        Sample { cells, rows, sets }
    }

    /// The statistic of each of the values, of all systems or of those that were drawn.
    pub(super) fn statistics(values: &[Values], drawn: Option<&Drawn>) -> Vec<Option<f64>> {
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let of = |values: &Values| {
            taken.clear();
            for part in &values.parts {
                match drawn.and_then(|drawn| drawn.get(&part.cell)) {
                    Some(rows) => taken.extend(rows.iter().filter_map(|&row| part.of[row])),
                    None => taken.extend(part.of.iter().flatten()),
                }
            }
            values.statistic.of(&taken)
        };
        values.iter().map(of).collect()
    }

    /// Draws `times` as many systems at each point as there are.
    fn draw(&self, replicate: usize, times: usize) -> Drawn {
        let draw = |(&cell, &(seed, count)): (&(usize, usize), &(u64, usize))| {
            (cell, drawn(seed, (cell.0 * 1009 + cell.1, replicate), (count, count * times)))
        };
        self.cells.iter().map(draw).collect()
    }

    /// The interval of the points that agree, and that of each gap.
    pub(super) fn judge(
        &self,
        tallies: &Tallies<'_>,
        judgement: &dyn Fn((usize, usize)) -> Judgement,
    ) -> (Option<Sampled>, Vec<Option<(f64, f64)>>) {
        let &Tallies { agree, of, .. } = tallies;
        if self.rows < LEAST {
            let sampled = self.by_points(tallies, judgement((agree, agree)));
            return (Some(sampled), vec![None; of]);
        }
        let ((low, high), intervals) = self.repeat(tallies, REPLICATES, 1);
        let here = judgement((low, high));
        let decides = (here == Judgement::Undecided)
            .then(|| {
                TIMES.into_iter().find(|&times| {
                    judgement(self.repeat(tallies, FEWER, times).0) != Judgement::Undecided
                })
            })
            .flatten();
        let sampled = Sampled {
            method: Method::Bootstrap,
            judgement: here,
            low,
            high,
            sets: self.sets,
            decides: decides.map(|times| self.sets * times as u64),
            rest: None,
        };
        (Some(sampled), intervals)
    }

    /// Draws systems again this many times, `times` as many as there are. Returns the interval of
    /// the points that agree, and that of each gap.
    fn repeat(
        &self,
        tallies: &Tallies<'_>,
        replicates: usize,
        times: usize,
    ) -> (Ends<usize>, Vec<Option<Ends<f64>>>) {
        let mut gaps = vec![Vec::with_capacity(replicates); tallies.of];
        let (mut certain, mut possible) = (Vec::new(), Vec::new());
        for replicate in 0..replicates {
            let drawn = self.draw(replicate, times);
            let seen = Sample::statistics(tallies.values, Some(&drawn));
            let (least, most) = (tallies.tally)(&seen, &mut gaps);
            certain.push(least as f64);
            possible.push(most as f64);
        }
        let low = ends(&mut certain).map_or(0, |(low, _)| low as usize);
        let high = ends(&mut possible).map_or(tallies.of, |(_, high)| high as usize);
        ((low, high), gaps.iter_mut().map(|gaps| ends(gaps)).collect())
    }

    /// The interval of the probability that a point agrees.
    fn by_points(&self, tallies: &Tallies<'_>, here: Judgement) -> Sampled {
        let &Tallies { agree, of, is_trend, .. } = tallies;
        let (low, high) = if is_trend { (0.0, 1.0) } else { clopper_pearson(agree, of) };
        let is_open = match here {
            Judgement::Holds | Judgement::Partly => low <= 0.5,
            _ => high >= 0.5,
        };
        Sampled {
            method: Method::Binomial,
            judgement: if is_open { Judgement::Undecided } else { here },
            low: libm::floor(low * of as f64) as usize,
            high: libm::ceil(high * of as f64) as usize,
            sets: self.sets,
            decides: is_open.then_some(LEAST.max(self.sets + 1)),
            rest: None,
        }
    }
}

/// Draws `many` of `count` rows with replacement. The same numbers give the same rows.
pub(crate) fn drawn(
    seed: u64,
    (place, replicate): (usize, usize),
    (count, many): (usize, usize),
) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    let mut random = Random::of_task(!seed, (place as u64) << 24 | replicate as u64);
    (0..many).map(|_| random.below(count as u64) as usize).collect()
}

/// The ends of the central 99 % of some values, which are sorted; `None` if there are none.
pub(crate) fn ends(values: &mut [f64]) -> Option<(f64, f64)> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let beyond = (BEYOND * count as f64) as usize;
    let first = beyond.saturating_sub(1);
    Some((values[first], values[count - 1 - first]))
}

/// The interval of a probability of which `agree` of `of` draws were seen.
fn clopper_pearson(agree: usize, of: usize) -> (f64, f64) {
    // The probability of at least so many.
    let at_least =
        |many: usize, p: f64| -> f64 { (many..=of).map(|count| binomial(count, of, p)).sum() };
    let solve = |is_below: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if is_below(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    };
    let low = if agree == 0 { 0.0 } else { solve(&|p| at_least(agree, p) < BEYOND) };
    let high = if agree == of { 1.0 } else { solve(&|p| 1.0 - at_least(agree + 1, p) > BEYOND) };
    (low, high)
}

/// The probability of `count` among `of`.
fn binomial(count: usize, of: usize, p: f64) -> f64 {
    let choices = (1..=count).fold(1.0, |all, at| all * (of - count + at) as f64 / at as f64);
    let power = |base: f64, exponent: usize| libm::pow(base, exponent as f64);
    choices * power(p, count) * power(1.0 - p, of - count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_intervals_are_those_of_tables() {
        // scipy.stats.binomtest(k, n).proportion_ci(0.99, "exact"), version 1.17.
        for (agree, of, low, high) in [
            (0, 8, 0.0, 0.484_330_7),
            (8, 8, 0.515_669_3, 1.0),
            (3, 10, 0.037_007_2, 0.735_114_0),
            (5, 10, 0.128_310_6, 0.871_689_4),
        ] {
            let (from, to) = clopper_pearson(agree, of);
            assert!((from - low).abs() < 1e-6 && (to - high).abs() < 1e-6, "{agree}: {from} {to}");
        }
    }

    #[test]
    fn an_interval_leaves_out_half_a_percent_at_each_end() {
        let mut values: Vec<f64> = (0..1000).rev().map(f64::from).collect();
        assert_eq!(ends(&mut values), Some((4.0, 995.0)));
        assert_eq!(ends(&mut [7.0]), Some((7.0, 7.0)));
        assert_eq!(ends(&mut []), None);
    }

    #[test]
    fn systems_are_drawn_with_replacement_and_again_the_same() {
        let draw = |replicate| drawn(7, (1, replicate), (10, 1000));
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
        let mut seen = draw(0);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
        assert!(drawn(7, (1, 0), (0, 5)).is_empty());
    }
}
