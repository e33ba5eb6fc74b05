//! Decides whether claims hold.
//!
//! A claim that compares at points **holds** if every point of its figures within its range agrees,
//! holds **partly** if at least half of them do, and otherwise **does not hold**. A claim that
//! something rises or falls considers every two points of a figure whose values differ: it holds if
//! at least nine in ten of these pairs agree, and partly if two in three do. A claim may ask for
//! another share of the points ("often"), and then holds partly from half of that on. Points where a side
//! was not measured are omitted. A claim without any point is **undecided**, and so is every claim
//! of an experiment that is not complete.
//!
//! A point where a claim could not have failed is not evidence for it. Points where both series are
//! zero, or where a claim says "at most" or "at least" and both sides are equal, are **even**: they
//! are reported, but do not count. A claim all of whose points are even is **not shown**.
//!
//! Points rest on samples, so that other systems could have given another judgement. The number of
//! points that agree has an interval of 99 % confidence (`resample.rs`), and a judgement needs one
//! that excludes its opposite: *holds* a lower end that is not *does not hold*, *does not hold* an
//! upper end that is not *holds*, and *partly* an interval that does not have both. Otherwise the
//! claim is **undecided** at this number of systems, and the number that would decide is computed.

mod resample;
mod words;

use crate::curve::{Values, gathered};
use crate::experiment::{Claim, Comparison, Experiment, Figure, Operand, Other};
use crate::metric::Origin;
use crate::results::Results;
use layland_model::counted;
use resample::{Sample, Tallies};
use words::compared;

pub(crate) use resample::{LEAST, drawn, ends};
pub use resample::{Method, Sampled};
pub(crate) use words::short;

/// The judgement of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It holds here.
    Holds,
    /// It holds at some points, and not at others.
    Partly,
    /// It does not hold here.
    Fails,
    /// It could not have failed anywhere.
    NotShown,
    /// There is too little data to decide.
    Undecided,
}

impl Judgement {
    /// The judgement in words.
    pub const fn name(self) -> &'static str {
        match self {
            Judgement::Holds => "holds",
            Judgement::Partly => "partly",
            Judgement::Fails => "does not hold",
            Judgement::NotShown => "not shown",
            Judgement::Undecided => "undecided",
        }
    }
}

/// A claim with the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The judgement.
    pub judgement: Judgement,
    /// The number of points, or pairs of points, that agree.
    pub agree: usize,
    /// The number of points or pairs at which the claim could have failed.
    pub of: usize,
    /// The number of further points at which it could not fail, because both sides are equal.
    pub even: usize,
    /// The interval of the number of points that agree; `None` if there is no point.
    pub sampled: Option<Sampled>,
    /// The comparison in words, with the names of the series.
    pub compared: String,
    /// The disagreements, in words.
    pub against: Vec<String>,
    /// Each point or pair that counts.
    pub points: Vec<JudgedPoint>,
}

impl Judged<'_> {
    /// The judgement in words, with the number of systems if there are too few.
    pub fn here(&self) -> String {
        match (self.judgement, &self.sampled) {
            (Judgement::Undecided, Some(sampled)) => {
                format!("undecided at {}", counted(sampled.sets, "set"))
            }
            (judgement, _) => judgement.name().to_owned(),
        }
    }
}

/// A point, or a pair of points, at which a claim could have failed.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedPoint {
    /// The place and both values, in words.
    pub what: String,
    /// True if it agrees.
    pub agrees: bool,
    /// The amount by which it agrees; negative if it does not.
    pub gap: f64,
    /// The interval of this amount; `None` if there are too few systems for one.
    pub interval: Option<(f64, f64)>,
}

impl JudgedPoint {
    /// Returns true if other systems could have given the opposite.
    pub fn is_open(&self) -> bool {
        self.interval
            .is_none_or(|(low, high)| low <= 0.0 && high >= 0.0 && (low < high || !self.agrees))
    }
}

/// Judges every claim of an experiment, except those about measured values.
pub fn judge<'a>(experiment: &'a Experiment, results: &Results) -> Vec<Judged<'a>> {
    judge_of(experiment, results, Origin::Computed)
}

/// Judges the claims about values of one origin.
pub fn judge_of<'a>(
    experiment: &'a Experiment,
    results: &Results,
    origin: Origin,
) -> Vec<Judged<'a>> {
    let claims = experiment.claims.iter();
    claims
        .filter(|claim| claim.origin(experiment) == origin)
        .map(|claim| one(experiment, results, claim))
        .collect()
}

/// A side of a comparison at a point.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// The statistic of these values, as an index.
    Of(usize),
    /// A number of the source.
    Fixed(f64),
}

/// A comparison at one point, or of two points of one curve.
#[derive(Clone, Debug)]
struct Check {
    /// The index of the figure.
    figure: usize,
    /// The point, or the two.
    at: (f64, Option<f64>),
    left: usize,
    right: Vec<Side>,
    /// True if both sides are equal as drawn.
    is_equal: bool,
}

/// The rule by which sides compare.
struct Rule<'a>(&'a Comparison, Option<f64>);

impl Rule<'_> {
    /// The amount by which two values agree. It is negative if they do not; if it is zero,
    /// [`equal_agrees`](Self::equal_agrees) decides.
    fn gap(&self, left: f64, right: f64) -> f64 {
        match self.0 {
            Comparison::Below(_) | Comparison::AtMost(_) | Comparison::Rises => right - left,
            Comparison::Above(_) | Comparison::AtLeast(_) | Comparison::Falls => left - right,
            Comparison::Equals(_) => -(left - right).abs(),
            Comparison::Like(_, factor) | Comparison::Flat(factor) => {
                (factor * right - left).min(factor * left - right)
            }
        }
    }

    /// Returns true if a gap of zero agrees.
    fn equal_agrees(&self) -> bool {
        match self.0 {
            Comparison::Below(_) | Comparison::Above(_) => false,
            // A pair of equal values is even.
            Comparison::Rises | Comparison::Falls => false,
            Comparison::AtMost(_) | Comparison::AtLeast(_) => true,
            Comparison::Equals(_) | Comparison::Like(..) | Comparison::Flat(_) => true,
        }
    }

    fn agrees(&self, gap: f64) -> bool {
        gap > 0.0 || (gap == 0.0 && self.equal_agrees())
    }

    /// Returns true if a point where both sides are equal says nothing.
    fn is_even(&self, left: f64, right: f64, is_of_series: bool) -> bool {
        let equal = left <= right && right <= left;
        let counts = match self.0 {
            Comparison::Rises | Comparison::Falls => false,
            // A comparison with a given value is never empty.
            Comparison::AtMost(_) | Comparison::AtLeast(_) => !is_of_series,
            Comparison::Below(_) | Comparison::Above(_) => !is_of_series || left != 0.0,
            Comparison::Equals(_) | Comparison::Like(..) => !is_of_series || left != 0.0,
            Comparison::Flat(_) => left != 0.0,
        };
        equal && !counts
    }

    /// The shares of agreeing points from which a claim holds, and holds partly.
    fn shares(&self) -> [f64; 2] {
        match (self.1, self.0) {
            (Some(share), _) => [share, share / 2.0],
            (None, Comparison::Rises | Comparison::Falls) => [0.9, 2.0 / 3.0],
            (None, _) => [1.0, 0.5],
        }
    }

    /// The judgement if this many points of so many agree.
    fn judgement(&self, agree: usize, of: usize) -> Judgement {
        // 0.9 times 10 must not exceed 9.
        const ROUNDING: f64 = 1e-9;
        let [holds, partly] = self.shares();
        let at_least = |share: f64| agree as f64 + ROUNDING >= of as f64 * share;
        if at_least(holds) {
            Judgement::Holds
        } else if at_least(partly) {
            Judgement::Partly
        } else {
            Judgement::Fails
        }
    }

    /// The judgement of an interval.
    fn judgement_of(&self, agree: usize, (low, high): (usize, usize), of: usize) -> Judgement {
        let [here, least, most] = [agree, low, high].map(|agree| self.judgement(agree, of));
        let is_open = match here {
            Judgement::Holds => least == Judgement::Fails,
            Judgement::Fails => most == Judgement::Holds,
            _ => least == Judgement::Fails && most == Judgement::Holds,
        };
        if is_open { Judgement::Undecided } else { here }
    }
}

/// The comparisons of a claim, with the values from which they are made.
struct Checks<'a> {
    rule: Rule<'a>,
    values: Vec<Values>,
    all: Vec<Check>,
    /// True if a side is a series other than the left one, and not a number.
    is_of_series: bool,
}

impl<'a> Checks<'a> {
    fn of(experiment: &Experiment, results: &Results, claim: &'a Claim) -> Checks<'a> {
        let others = claim.comparison.others();
        let is_of_series = others.iter().all(|other| matches!(other, Other::Series(_)));
        let rule = Rule(&claim.comparison, claim.share);
        let mut checks = Checks { rule, values: Vec::new(), all: Vec::new(), is_of_series };
        for &at in &claim.figures {
            let figure = &experiment.figures[at];
            let of = |operand: &Operand| -> Vec<Values> {
                let figure = operand.figure.map_or(figure, |at| &experiment.figures[at]);
                let metric = operand.metric.as_deref().unwrap_or(&figure.y);
                let mut values = gathered(experiment, results, figure, operand.series, metric);
                values.retain(|values| claim.range.contains(values.x));
                values
            };
            let left = checks.add(of(&claim.left));
            match &claim.comparison {
                Comparison::Rises | Comparison::Falls | Comparison::Flat(_) => {
                    for (first, &(value_1, x_1)) in left.iter().enumerate() {
                        for &(value_2, x_2) in &left[first + 1..] {
                            let right = vec![Side::Of(value_2)];
                            let at_both = (x_1, Some(x_2));
                            checks.all.push(Check {
                                figure: at,
                                at: at_both,
                                left: value_1,
                                right,
                                is_equal: false,
                            });
                        }
                    }
                }
                _ => {
                    let rights: Vec<Vec<Side>> = others
                        .iter()
                        .map(|other| match other {
                            Other::Series(operand) => {
                                let there = checks.add(of(operand)).into_iter();
                                there.map(|(value, _)| Side::Of(value)).collect()
                            }
                            Other::Value(value) => vec![Side::Fixed(*value); left.len()],
                        })
                        .collect();
                    for (place, &(left, x)) in left.iter().enumerate() {
                        let right: Option<Vec<Side>> =
                            rights.iter().map(|sides| sides.get(place).copied()).collect();
                        let Some(right) = right else { continue };
                        let at_x = (x, None);
                        let is_equal = false;
                        checks.all.push(Check { figure: at, at: at_x, left, right, is_equal });
                    }
                }
            }
        }
        checks
    }

    /// Adds values, and returns the index and the horizontal position of each.
    fn add(&mut self, values: Vec<Values>) -> Vec<(usize, f64)> {
        let first = self.values.len();
        let places = (first..).zip(&values).map(|(at, values)| (at, values.x)).collect();
        self.values.extend(values);
        places
    }

    /// Both values of a check that differ most from what it says, and the gap; `None` if a side was
    /// not measured.
    fn worst(&self, check: &Check, of: &[Option<f64>]) -> Option<(f64, f64, f64)> {
        let left = of[check.left]?;
        let mut worst: Option<(f64, f64, f64)> = None;
        for side in &check.right {
            let right = match *side {
                Side::Of(at) => of[at]?,
                Side::Fixed(value) => value,
            };
            let gap = self.rule.gap(left, right);
            if worst.is_none_or(|(.., least)| gap < least) {
                worst = Some((left, right, gap));
            }
        }
        worst
    }

    /// Returns true if the claim could not fail at this check.
    fn is_even(&self, check: &Check, of: &[Option<f64>]) -> bool {
        let Some(left) = of[check.left] else { return false };
        check.right.iter().all(|side| {
            let right = match *side {
                Side::Of(at) => of[at],
                Side::Fixed(value) => Some(value),
            };
            right.is_some_and(|right| self.rule.is_even(left, right, self.is_of_series))
        })
    }

    /// Counts the checks that agree in a draw of systems: those that do for certain, and those that
    /// may. Where sides that differ as drawn are equal, neither is proved: the systems that differ
    /// were left out.
    fn count(&self, of: &[Option<f64>], gaps: &mut [Vec<f64>]) -> (usize, usize) {
        let (mut certain, mut possible) = (0, 0);
        for (check, gaps) in self.all.iter().zip(gaps) {
            let Some((.., gap)) = self.worst(check, of) else {
                possible += 1;
                continue;
            };
            gaps.push(gap);
            let equal_agrees = self.rule.equal_agrees();
            let equal_is_evidence = equal_agrees && (check.is_equal || !self.is_of_series);
            certain += usize::from(gap > 0.0 || (gap == 0.0 && equal_is_evidence));
            let equal_is_open = equal_agrees || !check.is_equal;
            possible += usize::from(gap > 0.0 || (gap == 0.0 && equal_is_open));
        }
        (certain, possible)
    }

    fn place(&self, experiment: &Experiment, check: &Check, (left, right): (f64, f64)) -> String {
        let figure: &Figure = &experiment.figures[check.figure];
        let (name, x) = (&figure.name, &figure.x);
        let (first, left, right) = (short(check.at.0), short(left), short(right));
        match check.at.1 {
            None => format!("{name} at {x} {first}: {left} and {right}"),
            Some(second) => {
                format!("{name} from {x} {first} to {}: {left} to {right}", short(second))
            }
        }
    }
}

fn one<'a>(experiment: &'a Experiment, results: &Results, claim: &'a Claim) -> Judged<'a> {
    let mut checks = Checks::of(experiment, results, claim);
    let sample = Sample::of(experiment, results, &checks.values);
    let seen = Sample::statistics(&checks.values, None);
    let mut even = 0;
    let mut all = std::mem::take(&mut checks.all);
    all.retain_mut(|check| {
        // Omit points where a side was not measured.
        let Some((.., gap)) = checks.worst(check, &seen) else { return false };
        check.is_equal = gap == 0.0;
        let is_even = checks.is_even(check, &seen);
        even += usize::from(is_even);
        !is_even
    });
    checks.all = all;
    let of = checks.all.len();
    let found: Vec<(f64, f64, f64)> =
        checks.all.iter().filter_map(|check| checks.worst(check, &seen)).collect();
    let agrees: Vec<bool> = found.iter().map(|&(.., gap)| checks.rule.agrees(gap)).collect();
    let agree = agrees.iter().filter(|&&agrees| agrees).count();
    let (mut sampled, intervals) = if of == 0 || !results.is_complete() {
        (None, vec![None; of])
    } else {
        let tally = |of: &[Option<f64>], gaps: &mut [Vec<f64>]| checks.count(of, gaps);
        let judgement = |ends| checks.rule.judgement_of(agree, ends, of);
        let is_trend = checks.all.iter().any(|check| check.at.1.is_some());
        let tallies = Tallies { values: &checks.values, agree, of, is_trend, tally: &tally };
        sample.judge(&tallies, &judgement)
    };
    // A claim about every system that none is against: how many may be.
    let is_of_all = !checks.is_of_series && found.iter().all(|&(.., gap)| gap == 0.0);
    if let Some(sampled) = sampled.as_mut().filter(|_| is_of_all && agree == of) {
        sampled.rest = Some(1.0 - libm::pow(0.01, 1.0 / sampled.sets as f64));
    }
    let judgement = match (&sampled, of) {
        _ if !results.is_complete() => Judgement::Undecided,
        (_, 0) if even > 0 => Judgement::NotShown,
        (None, _) => Judgement::Undecided,
        (Some(sampled), _) => sampled.judgement,
    };
    let points: Vec<JudgedPoint> = checks
        .all
        .iter()
        .zip(found.iter().zip(agrees.iter().zip(intervals)))
        .map(|(check, (&(left, right, gap), (&agrees, interval)))| JudgedPoint {
            what: checks.place(experiment, check, (left, right)),
            agrees,
            gap,
            interval,
        })
        .collect();
    let against = points.iter().filter(|point| !point.agrees).map(|point| point.what.clone());
    Judged {
        claim,
        judgement,
        agree,
        of,
        even,
        sampled,
        compared: compared(experiment, claim),
        against: against.collect(),
        points,
    }
}
