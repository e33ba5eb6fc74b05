//! Axes: the mapping from values to coordinates, and the ticks.

/// An axis.
#[derive(Clone, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// The coordinates of `low` and `high`.
    ends: (f64, f64),
}

/// A tick and its label; minor ones have no label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// The label.
    pub label: Option<Label>,
}

/// The label of a tick.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A text.
    Plain(String),
    /// Ten to this power.
    Power(i32),
}

impl Scale {
    /// Returns an axis from `low` to `high`, at these coordinates.
    pub fn new((low, high): (f64, f64), log: bool, ends: (f64, f64)) -> Scale {
        Scale { low, high, log, ends }
    }

    fn share(&self, value: f64) -> f64 {
        if self.log {
            let log = |value: f64| libm::log10(value);
            (log(value) - log(self.low)) / (log(self.high) - log(self.low))
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Returns the coordinate of a value.
    pub fn position(&self, value: f64) -> f64 {
        self.ends.0 + self.share(value) * (self.ends.1 - self.ends.0)
    }

    /// The coordinate of the end of the axis.
    pub fn end(&self) -> f64 {
        self.ends.1
    }

    /// Returns true if a value is between the ends.
    pub fn shows(&self, value: f64) -> bool {
        let slack = 1e-9;
        (-slack..=1.0 + slack).contains(&self.share(value))
    }

    /// Returns about `count` ticks at round values; on a logarithmic axis all powers of ten.
    pub fn ticks(&self, count: usize) -> Vec<Tick> {
        if self.log { self.log_ticks() } else { self.linear_ticks(count) }
    }

    fn linear_ticks(&self, count: usize) -> Vec<Tick> {
        let rough = (self.high - self.low) / count.max(1) as f64;
        let exponent = libm::floor(libm::log10(rough)) as i32;
        let power = libm::pow(10.0, f64::from(exponent));
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough * 0.999);
        let step = step.unwrap_or(10.0) * power;
        let decimals = (-libm::floor(libm::log10(step) + 1e-9)).max(0.0) as usize;
        let first = libm::ceil(self.low / step - 1e-9) as i64;
        let last = libm::floor(self.high / step + 1e-9) as i64;
        (first..=last)
            .map(|at| {
                let value = at as f64 * step;
                Tick { value, label: Some(Label::Plain(format!("{value:.decimals$}"))) }
            })
            .collect()
    }

    fn log_ticks(&self) -> Vec<Tick> {
        let first = libm::floor(libm::log10(self.low) + 1e-9) as i32;
        let last = libm::ceil(libm::log10(self.high) - 1e-9) as i32;
        // Over many decades, only some have a label.
        let every = ((last - first) / 6).max(1);
        let mut ticks = Vec::new();
        for exponent in first..=last {
            let power = libm::pow(10.0, f64::from(exponent));
            for digit in 1..10 {
                let value = f64::from(digit) * power;
                let labelled = digit == 1 && (last - exponent) % every == 0;
                let label = labelled.then_some(Label::Power(exponent));
                if self.shows(value) && (digit == 1 || every == 1) {
                    ticks.push(Tick { value, label });
                }
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let labels = |scale: &Scale| -> Vec<String> {
            let ticks = scale.ticks(5).into_iter();
            ticks
                .filter_map(|tick| tick.label)
                .map(|label| match label {
                    Label::Plain(text) => text,
                    Label::Power(exponent) => format!("1e{exponent}"),
                })
                .collect()
        };
        let linear = |low, high| labels(&Scale::new((low, high), false, (0.0, 100.0)));
        assert_eq!(linear(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(linear(4.2, 7.8), ["5", "6", "7"]);
        assert_eq!(linear(6.0, 26.0), ["10", "15", "20", "25"]);
        let log = labels(&Scale::new((1e-4, 1.0), true, (0.0, 100.0)));
        assert_eq!(log, ["1e-4", "1e-3", "1e-2", "1e-1", "1e0"]);
        let log = Scale::new((1e-4, 1.0), true, (100.0, 0.0));
        assert!((log.position(1e-2) - 50.0).abs() < 1e-9);
        assert!(log.shows(1.0) && !log.shows(2.0));
    }
}
