//! The answer *no*, and what would fit instead.

use super::register::Reservation;
use super::shortfall::{Shortfall, on};
use layland_model::{CpuSet, Service, Time, counted};
use std::fmt;

/// A change that would be granted. Each suggestion is checked with the same tests before it is
/// made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suggestion {
    /// The request with this runtime, the largest in whole microseconds.
    Runtime(Service),
    /// The request on these CPUs.
    Cpus(CpuSet),
    /// The request at this time, when departed tasks no longer count.
    Later(Time),
    /// All tasks under this policy, started anew.
    Policy(String),
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suggestion::Runtime(runtime) => write!(f, "a runtime of {runtime} would fit"),
            Suggestion::Cpus(cpus) => write!(f, "it would fit on {}", on(cpus)),
            Suggestion::Later(at) => write!(f, "it would fit at {at}"),
            Suggestion::Policy(policy) => {
                write!(f, "all would fit under {policy}, if all tasks started again")
            }
        }
    }
}

/// The answer *no*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reasons, the most informative first. Never empty.
    pub shortfalls: Vec<Shortfall>,
    /// Requests that would be granted.
    pub suggestions: Vec<Suggestion>,
    /// Departed tasks that still count.
    pub leaving: Vec<Reservation>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.shortfalls.iter().map(|it| it.to_string()).collect();
        f.write_str(&texts.join("; "))?;
        if !self.leaving.is_empty() {
            let left = counted(self.leaving.len(), "task");
            write!(f, " (with {left} that left and may still be in the way)")?;
        }
        self.suggestions.iter().try_for_each(|it| write!(f, "; {it}"))
    }
}
