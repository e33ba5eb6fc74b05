//! Decides whether claims hold.
//!
//! A claim that compares at points **holds** if every point of its figures within its range agrees,
//! holds **partly** if at least half of them do, and otherwise **does not hold**. A claim that
//! something rises or falls considers every two points of a figure whose values differ: it holds if
//! at least nine in ten of these pairs agree, and partly if two in three do. Points where a side
//! was not measured are omitted. A claim without any point is **undecided**, and so is every claim
//! of an experiment that is not complete.
//!
//! A point where a claim could not have failed is not evidence for it. Points where both series are
//! zero, or where a claim says "at most" or "at least" and both sides are equal, are **even**: they
//! are reported, but do not count. A claim all of whose points are even is **not shown**.

use crate::curve::{Point, points};
use crate::experiment::{Claim, Comparison, Experiment, Figure, Operand, Other};
use crate::metric::Origin;
use crate::results::Results;

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
    /// The comparison in words, with the names of the series.
    pub compared: String,
    /// The disagreements, in words.
    pub against: Vec<String>,
}

/// Returns true if two values compare as a claim states.
type Agrees = Box<dyn Fn(f64, f64) -> bool>;

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

fn one<'a>(experiment: &'a Experiment, results: &Results, claim: &'a Claim) -> Judged<'a> {
    let mut tally = Tally::default();
    // The required shares of agreeing points; trends have their own.
    let (mut holds_from, mut partly_from) = ((1, 1), (1, 2));
    for figure in claim.figures.iter().map(|&at| &experiment.figures[at]) {
        let of = |operand: &Operand| {
            let figure = operand.figure.map_or(figure, |at| &experiment.figures[at]);
            let metric = operand.metric.as_deref().unwrap_or(&figure.y);
            let mut points = points(experiment, results, figure, operand.series, metric);
            points.retain(|point| claim.range.contains(point.x));
            points
        };
        let left = of(&claim.left);
        let (others, agrees): (&[Other], Agrees) = match &claim.comparison {
            Comparison::Below(others) => (others, Box::new(|a, b| a < b)),
            Comparison::AtMost(others) => (others, Box::new(|a, b| a <= b)),
            Comparison::Above(others) => (others, Box::new(|a, b| a > b)),
            Comparison::AtLeast(others) => (others, Box::new(|a, b| a >= b)),
            Comparison::Equals(others) => (others, Box::new(|a, b| a <= b && b <= a)),
            Comparison::Like(others, factor) => {
                let factor = *factor;
                (others, Box::new(move |a, b| a <= factor * b && b <= factor * a))
            }
            Comparison::Rises | Comparison::Falls => {
                (holds_from, partly_from) = ((9, 10), (2, 3));
                let falls = claim.comparison == Comparison::Falls;
                tally.trend(figure, &left, falls);
                continue;
            }
        };
        let right: Vec<Vec<Option<f64>>> = others
            .iter()
            .map(|other| match other {
                Other::Series(operand) => of(operand).iter().map(|point| point.y).collect(),
                Other::Value(value) => vec![Some(*value); left.len()],
            })
            .collect();
        // A comparison of a figure with a given value is never empty.
        let is_of_series = others.iter().all(|other| matches!(other, Other::Series(_)));
        let may_be_equal =
            matches!(claim.comparison, Comparison::AtMost(_) | Comparison::AtLeast(_));
        let is_even = |value: f64, other: f64| {
            let equal = value <= other && other <= value;
            is_of_series && equal && (may_be_equal || value == 0.0)
        };
        tally.compare(figure, &left, &right, &*agrees, is_even);
    }
    let at_least = |(n, d): (usize, usize)| tally.agree * d >= tally.of * n;
    let judgement = match tally.of {
        _ if !results.is_complete() => Judgement::Undecided,
        0 if tally.even > 0 => Judgement::NotShown,
        0 => Judgement::Undecided,
        _ if at_least(holds_from) => Judgement::Holds,
        _ if at_least(partly_from) => Judgement::Partly,
        _ => Judgement::Fails,
    };
    let Tally { agree, of, even, against } = tally;
    Judged { claim, judgement, agree, of, even, compared: compared(experiment, claim), against }
}

#[derive(Default)]
struct Tally {
    agree: usize,
    of: usize,
    even: usize,
    against: Vec<String>,
}

impl Tally {
    fn compare(
        &mut self,
        figure: &Figure,
        left: &[Point],
        right: &[Vec<Option<f64>>],
        agrees: &dyn Fn(f64, f64) -> bool,
        is_even: impl Fn(f64, f64) -> bool,
    ) {
        for (at, point) in left.iter().enumerate() {
            let there = right.iter().filter_map(|values| values.get(at).copied().flatten());
            let there: Vec<f64> = there.collect();
            // Omit points where a side was not measured.
            let Some(value) = point.y.filter(|_| there.len() == right.len()) else { continue };
            if there.iter().all(|&other| is_even(value, other)) {
                self.even += 1;
                continue;
            }
            self.of += 1;
            let other = there.iter().copied().find(|&other| !agrees(value, other));
            match other {
                None => self.agree += 1,
                Some(other) => self.against.push(format!(
                    "{} at {} {}: {} and {}",
                    figure.name,
                    figure.x,
                    short(point.x),
                    short(value),
                    short(other)
                )),
            }
        }
    }

    fn trend(&mut self, figure: &Figure, points: &[Point], falls: bool) {
        let known: Vec<(f64, f64)> =
            points.iter().filter_map(|point| Some((point.x, point.y?))).collect();
        for (at, &(x_1, y_1)) in known.iter().enumerate() {
            for &(x_2, y_2) in &known[at + 1..] {
                let (first, second) = if falls { (y_2, y_1) } else { (y_1, y_2) };
                let (agree, against) = (first < second, first > second);
                self.of += usize::from(agree || against);
                self.even += usize::from(!agree && !against);
                self.agree += usize::from(agree);
                if against {
                    self.against.push(format!(
                        "{} from {} {} to {}: {} to {}",
                        figure.name,
                        figure.x,
                        short(x_1),
                        short(x_2),
                        short(y_1),
                        short(y_2)
                    ));
                }
            }
        }
    }
}

fn compared(experiment: &Experiment, claim: &Claim) -> String {
    let operand = |operand: &Operand| {
        let label = &experiment.series[operand.series].label;
        let there = operand
            .figure
            .map_or(String::new(), |at| format!(" in {}", experiment.figures[at].name));
        match &operand.metric {
            Some(metric) => format!("{metric} of {label}{there}"),
            None => format!("{label}{there}"),
        }
    };
    let others = |others: &[Other]| {
        let each = others.iter().map(|other| match other {
            Other::Series(other) => operand(other),
            Other::Value(value) => short(*value),
        });
        each.collect::<Vec<_>>().join(" and ")
    };
    let left = operand(&claim.left);
    match &claim.comparison {
        Comparison::Below(right) => format!("{left} is below {}", others(right)),
        Comparison::AtMost(right) => format!("{left} is at most {}", others(right)),
        Comparison::Above(right) => format!("{left} is above {}", others(right)),
        Comparison::AtLeast(right) => format!("{left} is at least {}", others(right)),
        Comparison::Equals(right) => format!("{left} is equal to {}", others(right)),
        Comparison::Like(right, factor) => {
            format!("{left} is within a factor of {} of {}", short(*factor), others(right))
        }
        Comparison::Rises => format!("{left} rises"),
        Comparison::Falls => format!("{left} falls"),
    }
}

/// Formats a number with four significant digits, without trailing zeros.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Round first: 9.99999 becomes 10.
    let value: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    let size = value.abs();
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:e}");
        return text;
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (0.012_345_6, "0.01235"),
            (9.999_99, "10"),
            (1234.567, "1235"),
            (0.000_012_3, "1.23e-5"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
