//! Weakly hard constraints: how many of any consecutive jobs of a task may miss their deadlines.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `(m, k)` | [`WeaklyHard`] | at least `m` of any `k` consecutive jobs are in time (Hamdaoui and Ramanathan 1995) |
//! | `mu` | [`HitOrMiss`] | the outcomes of the jobs of a task, in the order of their numbers (Bernat, Burns and Llamosi 2001) |
//! | `(m, k) <= (m', k')` | [`WeaklyHard::implies`] | every word that satisfies the first satisfies the second |
//! | `dmm(k)` | [`Watch::most_misses`] | the most misses in a window of `k` jobs |
//!
//! The literature writes `(m, k)` in both senses, with hits and with misses first. Here `m` always
//! counts hits, and the notation of files has no pair.
//!
//! Deviation: a window that begins before the first job, or ends after the last, counts as if the
//! jobs outside were in time. So a *no* is a violation that no continuation can mend.

mod history;
mod outcomes;
mod tolerance;

pub use tolerance::{MissProbability, MissTolerance, ParseMissProbabilityError};

pub use outcomes::{
    HitOrMiss, Observance, PROFILE, Profile, Violation, Watch, WeaklyHardJudge, word_forever,
};

use std::fmt;
use std::str::FromStr;

/// At least `hits` of any `window` consecutive jobs are in time.
///
/// ```
/// use layland_model::WeaklyHard;
/// let constraint: WeaklyHard = "at most 1 miss in 10".parse().unwrap();
/// assert_eq!(constraint, "9 of 10".parse().unwrap());
/// assert_eq!((constraint.hits(), constraint.window()), (9, 10));
/// let in_a_row: WeaklyHard = "at most 2 misses in a row".parse().unwrap();
/// assert_eq!(Some(in_a_row), WeaklyHard::new(1, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WeaklyHard {
    hits: u32,
    window: u32,
}

impl WeaklyHard {
    /// The longest window that is accepted, in jobs.
    pub const LONGEST: u32 = 65_536;

    /// At least `hits` of any `window` consecutive jobs are in time. `None` unless
    /// `hits <= window` and `1 <= window <= LONGEST`.
    pub fn new(hits: u32, window: u32) -> Option<WeaklyHard> {
        let is_valid = (1..=WeaklyHard::LONGEST).contains(&window) && hits <= window;
        is_valid.then_some(WeaklyHard { hits, window })
    }

    /// `m`.
    pub fn hits(self) -> u32 {
        self.hits
    }

    /// `k`, in jobs.
    pub fn window(self) -> u32 {
        self.window
    }

    /// `k - m`: the number of misses that any window may have.
    pub fn misses(self) -> u32 {
        self.window - self.hits
    }

    /// The constraint with the shortest window that means the same: `(0, k)` is `(0, 1)`, and
    /// `(k, k)` is `(1, 1)`. Two constraints allow the same words if and only if these are equal.
    #[must_use]
    pub fn normal(self) -> WeaklyHard {
        if self.hits == 0 {
            WeaklyHard { hits: 0, window: 1 }
        } else if self.hits == self.window {
            WeaklyHard { hits: 1, window: 1 }
        } else {
            self
        }
    }

    /// Returns true if every infinite word of outcomes that satisfies this constraint satisfies the
    /// other one: **exact** (Bernat, Burns and Llamosi 2001),
    /// `m' <= max(floor(k' / k) m, k' + ceil(k' / k) (m - k))`.
    ///
    /// ```
    /// use layland_model::WeaklyHard;
    /// let of = |hits, window| WeaklyHard::new(hits, window).unwrap();
    /// assert!(of(1, 2).implies(of(2, 5)) && !of(2, 5).implies(of(1, 2)));
    /// ```
    pub fn implies(self, other: WeaklyHard) -> bool {
        let [m, k] = [self.hits, self.window].map(i64::from);
        let [other_m, other_k] = [other.hits, other.window].map(i64::from);
        let whole = other_k / k * m;
        let covered = other_k + num_integer::Integer::div_ceil(&other_k, &k) * (m - k);
        other_m <= whole.max(covered)
    }

    /// The constraints of a list that no other one implies, in their order. Of equal ones, the
    /// first stays.
    pub fn strongest(constraints: &[WeaklyHard]) -> Vec<WeaklyHard> {
        let is_implied = |at: usize| {
            let own = constraints[at];
            let by = |(other, of): (usize, &WeaklyHard)| {
                let is_first = other < at || !own.implies(*of);
                other != at && of.implies(own) && is_first
            };
            constraints.iter().enumerate().any(by)
        };
        (0..constraints.len()).filter(|&at| !is_implied(at)).map(|at| constraints[at]).collect()
    }
}

/// As files write it: `9 of 10`.
impl fmt::Display for WeaklyHard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.hits, self.window)
    }
}

/// The reason why a string is not a weakly hard constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseWeaklyHardError {
    /// Two numbers that papers read in two ways.
    #[error("`{text}` can be read in two ways: {first} hits, or {first} misses, in {second} jobs")]
    Ambiguous {
        /// The string.
        text: String,
        /// Its first number.
        first: u32,
        /// Its second number.
        second: u32,
    },
    /// The window has no job, or too many.
    #[error("a window of {0} jobs is out of range")]
    Window(u64),
    /// There are more hits or misses than jobs in the window.
    #[error("a window of {window} jobs cannot have {count} {what}")]
    TooMany {
        /// The number of hits or misses.
        count: u64,
        /// `hits` or `misses`.
        what: &'static str,
        /// The number of jobs in the window.
        window: u64,
    },
    /// None of the forms.
    #[error("`{0}` is not a weakly hard constraint")]
    Unknown(String),
}

impl ParseWeaklyHardError {
    /// Advice for the user.
    pub fn help(&self) -> String {
        match self {
            ParseWeaklyHardError::Ambiguous { first, second, .. } => format!(
                "write `{first} of {second}` if {first} jobs must be in time, or `at most {first} misses in {second}`"
            ),
            ParseWeaklyHardError::Window(_) => {
                format!("a window has 1 to {} jobs", WeaklyHard::LONGEST)
            }
            ParseWeaklyHardError::TooMany { .. } | ParseWeaklyHardError::Unknown(_) => {
                "write `9 of 10`, `at most 1 miss in 10` or `at most 2 misses in a row`".to_owned()
            }
        }
    }
}

/// Accepts `9 of 10`, `at most 1 miss in 10` and `at most 2 misses in a row`, and nothing else.
impl FromStr for WeaklyHard {
    type Err = ParseWeaklyHardError;

    fn from_str(text: &str) -> Result<WeaklyHard, ParseWeaklyHardError> {
        use ParseWeaklyHardError::{Ambiguous, TooMany, Unknown, Window};
        let unknown = || Unknown(text.trim().to_owned());
        let number = |word: &str| -> Option<u64> {
            let is_plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| word.parse().ok())?
        };
        let within = |window: u64| match u32::try_from(window) {
            Ok(k) if (1..=WeaklyHard::LONGEST).contains(&k) => Ok(k),
            Ok(_) | Err(_) => Err(Window(window)),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [hits, "of", window] => {
                let (Some(hits), Some(window)) = (number(hits), number(window)) else {
                    return Err(unknown());
                };
                let k = within(window)?;
                let m = u32::try_from(hits).ok().and_then(|m| WeaklyHard::new(m, k));
                m.ok_or(TooMany { count: hits, what: "hits", window })
            }
            ["at", "most", count, "miss" | "misses", "in", "a", "row"] => {
                let misses = number(count).ok_or_else(unknown)?;
                let k = within(misses.saturating_add(1))?;
                WeaklyHard::new(1, k).ok_or_else(unknown)
            }
            ["at", "most", count, "miss" | "misses", "in", window] => {
                let (Some(misses), Some(window)) = (number(count), number(window)) else {
                    return Err(unknown());
                };
                let k = within(window)?;
                let m = u32::try_from(misses).ok().and_then(|misses| k.checked_sub(misses));
                let m = m.ok_or(TooMany { count: misses, what: "misses", window })?;
                WeaklyHard::new(m, k).ok_or_else(unknown)
            }
            _ => {
                let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
                let pair = inner.split_once(['/', ',']).and_then(|(first, second)| {
                    let of = |side: &str| u32::try_from(number(side.trim())?).ok();
                    Some((of(first)?, of(second)?))
                });
                Err(pair.map_or_else(unknown, |(first, second)| Ambiguous {
                    text: text.trim().to_owned(),
                    first,
                    second,
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hits: u32, window: u32) -> WeaklyHard {
        WeaklyHard::new(hits, window).expect("a constraint")
    }

    #[test]
    fn a_pair_is_refused_with_both_readings() {
        for text in ["(9,10)", "9/10", "9, 10", " ( 9 , 10 ) "] {
            let error = text.parse::<WeaklyHard>().unwrap_err();
            let ParseWeaklyHardError::Ambiguous { first: 9, second: 10, .. } = &error else {
                panic!("{text}: {error:?}");
            };
            assert!(error.to_string().contains("9 hits, or 9 misses, in 10 jobs"), "{error}");
            assert!(error.help().contains("`9 of 10`"), "{}", error.help());
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        for (text, said) in [
            ("11 of 10", "a window of 10 jobs cannot have 11 hits"),
            ("at most 11 misses in 10", "a window of 10 jobs cannot have 11 misses"),
            ("9 of 0", "a window of 0 jobs is out of range"),
            ("1 of 65537", "a window of 65537 jobs is out of range"),
            (
                "99999999999999999999 of 3",
                "`99999999999999999999 of 3` is not a weakly hard constraint",
            ),
            ("9 of", "`9 of` is not a weakly hard constraint"),
            ("at most 1 in 10", "`at most 1 in 10` is not a weakly hard constraint"),
            ("-1 of 3", "`-1 of 3` is not a weakly hard constraint"),
            ("", "`` is not a weakly hard constraint"),
        ] {
            assert_eq!(text.parse::<WeaklyHard>().unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_constraint_is_read_as_it_is_written() {
        for constraint in [of(0, 1), of(9, 10), of(5, 5), of(65_536, 65_536)] {
            assert_eq!(constraint.to_string().parse(), Ok(constraint));
        }
    }

    #[test]
    fn the_strongest_stay() {
        let list = [of(9, 10), of(1, 3), of(18, 20), of(9, 10), of(2, 4)];
        assert_eq!(WeaklyHard::strongest(&list), [of(9, 10)]);
        assert_eq!(WeaklyHard::strongest(&[of(3, 3), of(1, 1)]), [of(3, 3)]);
    }
}
