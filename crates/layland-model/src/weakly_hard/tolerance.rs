//! The misses that a task tolerates, as its set states them.

use super::WeaklyHard;
use crate::Rate;
use std::fmt;
use std::str::FromStr;

/// The misses that a task tolerates. A task without it is hard: all its jobs must be in time.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MissTolerance {
    /// All of these hold.
    pub constraints: Vec<WeaklyHard>,
    /// The greatest probability with which a job may be late.
    pub probability: Option<MissProbability>,
}

/// The greatest probability with which a job may miss its deadline, over all permitted arrivals and all jobs.
///
/// ```
/// use layland_model::{MissProbability, Rate};
/// let of = |text: &str| text.parse::<MissProbability>().unwrap().rate();
/// assert_eq!(of("1e-6 per job"), Rate::new(1, 1_000_000));
/// assert_eq!(of("0.01% per job"), of("1/10000 per job"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissProbability(Rate);

impl MissProbability {
    /// `None` unless the probability is at most 1 and not negative.
    pub fn new(probability: Rate) -> Option<MissProbability> {
        let is_valid = probability >= Rate::ZERO && probability <= Rate::ONE;
        is_valid.then_some(MissProbability(probability))
    }

    /// The probability.
    pub fn rate(&self) -> Rate {
        self.0.clone()
    }
}

/// As files write it: `1/1000000 per job`.
impl fmt::Display for MissProbability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per job", self.0)
    }
}

/// The error for a string that is not a probability of a miss.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a probability of a miss")]
pub struct ParseMissProbabilityError(String);

impl ParseMissProbabilityError {
    /// Advice for the user.
    pub fn help(&self) -> String {
        "write `1e-6 per job`, `1/1000000 per job` or `0.01% per job`: at most 1".to_owned()
    }
}

/// Accepts a decimal number, also with an exponent, a fraction or a percentage, and `per job`.
impl FromStr for MissProbability {
    type Err = ParseMissProbabilityError;

    fn from_str(text: &str) -> Result<MissProbability, ParseMissProbabilityError> {
        let number = |text: &str| -> Option<Rate> {
            let (text, divisor) = match text.strip_suffix('%') {
                Some(percent) => (percent.trim_end(), 100),
                None => (text, 1),
            };
            let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
            let exponent: i32 = exponent.parse().ok()?;
            // Larger powers do not fit, and such a small probability is as good as 0.
            let power = 10i64.checked_pow(exponent.unsigned_abs())?;
            let scale = if exponent < 0 { Rate::new(1, power) } else { Rate::new(power, 1) };
            Some(digits.parse::<Rate>().ok()? * scale * Rate::new(1, divisor))
        };
        let probability = text.trim().strip_suffix("per job").map(str::trim_end).and_then(number);
        let found = probability.and_then(MissProbability::new);
        found.ok_or_else(|| ParseMissProbabilityError(text.trim().to_owned()))
    }
}
