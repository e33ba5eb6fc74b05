//! Claims about the times of all decisions of two series, with their intervals.
//!
//! Systems are drawn again as for other claims, the same for both series: the statistics of their
//! decisions together, and the ratio, are computed again. So an interval says how much a ratio
//! depends on the systems, and not how much on the machine.

use super::{TimedPoint, Timings, of};
use crate::claim::{LEAST, drawn, ends};
use crate::experiment::{Experiment, Statistic, Timing, TimingClaim};
use hdrhistogram::Histogram;

/// The number of repetitions: each has to sort the times of all decisions into their places.
const REPLICATES: usize = 400;

/// A claim about decision times with the evidence.
pub struct JudgedTimes<'a> {
    /// The claim.
    pub claim: &'a TimingClaim,
    /// The judgement in words.
    pub here: &'static str,
    /// Each statistic.
    pub statistics: Vec<JudgedStatistic>,
}

/// A statistic of the decisions of two series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedStatistic {
    /// The statistic.
    pub statistic: Statistic,
    /// Its value for the series that is slower in the source, in microseconds.
    pub slower: f64,
    /// Its value for the other.
    pub faster: f64,
    /// The 99 % interval of their ratio; `None` if there are too few systems.
    pub interval: Option<(f64, f64)>,
}

impl JudgedStatistic {
    /// The ratio of the two.
    pub fn ratio(&self) -> f64 {
        if self.faster > 0.0 { self.slower / self.faster } else { f64::INFINITY }
    }
}

/// The times of the decisions of a series, by point and system.
struct Decisions<'a> {
    points: Vec<&'a TimedPoint>,
}

impl Decisions<'_> {
    /// The times of systems that are drawn again.
    fn drawn(&self, replicate: usize) -> Histogram<u64> {
        let mut all = super::histogram();
        for (place, point) in self.points.iter().enumerate() {
            let count = point.systems.len();
            // Both series have the same points in the same order, and get the same systems.
            for system in drawn(0, (place, replicate), (count, count)) {
                for &(ns, many) in &point.systems[system] {
                    all.record_n(ns, many).expect("the histogram resizes itself");
                }
            }
        }
        all
    }
}

impl Timings {
    fn decisions(&self, series: usize) -> Decisions<'_> {
        Decisions { points: self.points.iter().filter(|point| point.series == series).collect() }
    }

    /// Judges the claims about the times of all decisions.
    pub fn judge<'a>(&self, timing: &'a Timing) -> Vec<JudgedTimes<'a>> {
        timing.claims.iter().map(|claim| self.one(claim)).collect()
    }

    fn one<'a>(&self, claim: &'a TimingClaim) -> JudgedTimes<'a> {
        let pooled = (self.pooled(claim.slower), self.pooled(claim.faster));
        if pooled.0.is_empty() || pooled.1.is_empty() {
            return JudgedTimes { claim, here: "undecided", statistics: Vec::new() };
        }
        let pair = |statistic, (slower, faster): &(Histogram<u64>, Histogram<u64>)| {
            let (slower, faster) = (of(statistic, slower), of(statistic, faster));
            JudgedStatistic { statistic, slower, faster, interval: None }
        };
        let sides = (self.decisions(claim.slower), self.decisions(claim.faster));
        let is_paired = sides.0.points.len() == sides.1.points.len()
            && sides.0.points.iter().zip(&sides.1.points).all(|(slower, faster)| {
                let places = [slower, faster].map(|point| (point.grid, &point.values));
                places[0] == places[1] && slower.systems.len() == faster.systems.len()
            });
        let fewest = sides.0.points.iter().map(|point| point.systems.len()).min().unwrap_or(0);
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); claim.statistics.len()];
        if is_paired && fewest as u64 >= LEAST {
            for replicate in 0..REPLICATES {
                let there = (sides.0.drawn(replicate), sides.1.drawn(replicate));
                for (ratios, &statistic) in ratios.iter_mut().zip(&claim.statistics) {
                    ratios.push(pair(statistic, &there).ratio());
                }
            }
        }
        let statistics: Vec<JudgedStatistic> = claim
            .statistics
            .iter()
            .zip(&mut ratios)
            .map(|(&statistic, ratios)| JudgedStatistic {
                interval: ends(ratios),
                ..pair(statistic, &pooled)
            })
            .collect();
        JudgedTimes { claim, here: here(claim, &statistics), statistics }
    }
}

/// Returns true if a ratio is what the claim says.
fn agrees(claim: &TimingClaim, ratio: f64) -> bool {
    match claim.ratio {
        None => ratio > 1.0,
        Some((there, factor)) => ratio <= factor * there && there <= factor * ratio,
    }
}

fn here(claim: &TimingClaim, statistics: &[JudgedStatistic]) -> &'static str {
    let seen = statistics.iter().map(|one| agrees(claim, one.ratio()));
    let agree = seen.filter(|&agrees| agrees).count();
    // An interval lies on one side of the claim if both ends do: with a ratio, if it is also short.
    let both = |one: &JudgedStatistic| {
        one.interval.map(|(low, high)| {
            let is_beyond =
                |(there, factor): (f64, f64)| high < there / factor || low > there * factor;
            let against = claim.ratio.map_or(high <= 1.0, is_beyond);
            (agrees(claim, low) && agrees(claim, high), against)
        })
    };
    let sides: Vec<Option<(bool, bool)>> = statistics.iter().map(both).collect();
    let certain = sides.iter().filter(|side| side.is_some_and(|(agrees, _)| agrees)).count();
    let against = sides.iter().filter(|side| side.is_some_and(|(_, against)| against)).count();
    match agree {
        0 if against == 0 => "undecided",
        0 => "does not hold",
        all if all == statistics.len() && certain == 0 => "undecided",
        all if all == statistics.len() => "holds",
        _ => "partly",
    }
}

/// Formats the claims.
pub(super) fn text(timings: &Timings, experiment: &Experiment, timing: &Timing) -> String {
    let mut out = String::new();
    for judged in timings.judge(timing) {
        let JudgedTimes { claim, here, statistics } = &judged;
        let label = |series: usize| experiment.series[series].label.as_str();
        out += &format!("\n{}: {here}\n  source: {}\n", claim.text, claim.source);
        for one in statistics {
            let said = |series: usize| {
                let said = timing.reported.iter();
                let mut said =
                    said.filter(|said| said.series == series && said.statistic == one.statistic);
                said.next().map(|said| said.us)
            };
            let there = match (said(claim.slower), said(claim.faster)) {
                (Some(left), Some(right)) if right > 0.0 => {
                    format!(", {:.2} times in the source", left / right)
                }
                _ => String::new(),
            };
            let interval = one
                .interval
                .map_or(String::new(), |(low, high)| format!(" (99 %: {low:.2} to {high:.2})"));
            out += &format!(
                "  {}: {:.2} of {} and {:.2} of {}, {:.2} times{interval}{there}\n",
                one.statistic,
                one.slower,
                label(claim.slower),
                one.faster,
                label(claim.faster),
                one.ratio()
            );
        }
    }
    out
}
