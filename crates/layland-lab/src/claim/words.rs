//! Comparisons and numbers in words.

use crate::experiment::{Claim, Comparison, Experiment, Operand, Other};

/// Formats the comparison of a claim, with the names of the series.
pub(super) fn compared(experiment: &Experiment, claim: &Claim) -> String {
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
        Comparison::Flat(factor) => {
            format!("{left} stays within a factor of {}", short(*factor))
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
