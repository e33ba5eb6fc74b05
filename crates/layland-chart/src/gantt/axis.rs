//! Time axes: ticks at round times, with labels in one unit.

/// The ticks between two times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// The times in nanoseconds since the start of the run, with their labels, ascending.
    pub ticks: Vec<(i64, String)>,
    /// The unit of the labels.
    pub unit: &'static str,
    /// The time from which the labels count, if it is not the start of the run.
    pub base: Option<i64>,
}

const UNITS: [(&str, i128); 4] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

impl Axis {
    /// Returns the ticks from `from` to `to`: at most `most`, and few enough for their labels to
    /// fit next to each other in a line of `columns` characters.
    pub(super) fn new(from: i64, to: i64, columns: usize, most: usize) -> Axis {
        let fits = |axis: &Axis| {
            let widest = axis.ticks.iter().map(|(_, label)| label.len()).max().unwrap_or(0);
            axis.ticks.len() * (widest + 2) <= columns + 2
        };
        // The largest number of ticks whose labels fit is best.
        let candidates = (1..=most.max(1)).rev().map(|count| Axis::with_ticks(from, to, count));
        candidates.into_iter().find(fits).unwrap_or(Axis {
            ticks: Vec::new(),
            unit: "ns",
            base: None,
        })
    }

    fn with_ticks(from: i64, to: i64, count: usize) -> Axis {
        // The difference of two times may exceed 64 bits.
        let (from, to) = (i128::from(from), i128::from(to));
        let step = round_step((to - from).max(1), count as i128);
        let (unit, scale) =
            UNITS.into_iter().find(|&(_, scale)| step * 10 >= scale).unwrap_or(("ns", 1));
        let first = div_ceil(from, step) * step;
        let label = |ns: i128| {
            let sign = if ns < 0 { "-" } else { "" };
            let (whole, part) = (ns.abs() / scale, ns.abs() % scale);
            if step % scale == 0 {
                format!("{sign}{whole}")
            } else {
                format!("{sign}{whole}.{}", part * 10 / scale)
            }
        };
        // Far from the start of the run, labels that count
        // from there would differ only in their last digits.
        let base = (label(to).len() > 8).then_some(first);
        let mut ticks = Vec::new();
        let mut at = first;
        while at <= to {
            let text = match base {
                Some(base) => format!("+{}", label(at - base)),
                None => label(at),
            };
            ticks.extend(i64::try_from(at).ok().map(|ns| (ns, text)));
            at += step;
        }
        Axis { ticks, unit, base: base.and_then(|ns| i64::try_from(ns).ok()) }
    }
}

/// Returns the smallest of 1, 2, 5, 10, 20, 50, .. that covers `span` in `count` steps.
fn round_step(span: i128, count: i128) -> i128 {
    let mut power = 1i128;
    loop {
        for digit in [1, 2, 5] {
            if digit * power * count >= span {
                return digit * power;
            }
        }
        power *= 10;
    }
}

fn div_ceil(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: i64, to: i64, columns: usize) -> (String, &'static str, Option<i64>) {
        let axis = Axis::new(from, to, columns, 10);
        let labels: Vec<String> = axis.ticks.into_iter().map(|(_, label)| label).collect();
        (labels.join(" "), axis.unit, axis.base)
    }

    #[test]
    fn ticks_are_round_and_fit() {
        assert_eq!(labels(0, 20_000_000, 60), ("0 2 4 6 8 10 12 14 16 18 20".into(), "ms", None));
        assert_eq!(labels(0, 20_000_000, 20), ("0 5 10 15 20".into(), "ms", None));
        assert_eq!(labels(0, 1_000, 40), ("0.0 0.2 0.4 0.6 0.8 1.0".into(), "us", None));
        assert_eq!(labels(3, 7, 40), ("3 4 5 6 7".into(), "ns", None));
        assert_eq!(labels(0, 1, 40), ("0 1".into(), "ns", None));
        assert_eq!(
            labels(3_600_000_000_500, 3_600_000_003_500, 30),
            ("+0 +1 +2".into(), "us", Some(3_600_000_001_000))
        );
        assert_eq!(labels(0, i64::MAX, 30).1, "s");
        assert_eq!(labels(0, 5, 0).0, "");
    }
}
