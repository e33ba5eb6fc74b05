//! What every format needs to know besides the text: the machine, and how large a task set may be.

use crate::problem::{Problem, Problems};
use layland_model::{CpuSet, Duration, ParseTimeError};

/// Larger task sets are refused.
pub const MAX_TASKS: usize = 1_000_000;

/// What the caller knows and a file may leave out. This crate inspects neither the machine nor the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// How many CPUs this machine has: the meaning of `cpus = "host"`.
    pub cpus: Option<usize>,
    /// How many CPUs a set has whose file does not say, as asked for by the user.
    pub default_cpus: Option<usize>,
    /// What numbers count that have no unit, in the formats that allow them (tables, plain lines).
    pub unit: Option<Unit>,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Every unit, from the smallest on.
    pub const ALL: [Unit; 4] = [Unit::Ns, Unit::Us, Unit::Ms, Unit::S];

    /// As it is written behind a number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// The unit that is written like that.
    ///
    /// ```
    /// use layland_config::Unit;
    /// assert_eq!(Unit::find("ms"), Some(Unit::Ms));
    /// ```
    pub fn find(name: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.name() == name)
    }
}

impl Host {
    /// A time as a text; without a unit it counts what the user says, if the user has said so.
    pub(crate) fn time(&self, text: &str) -> Result<Duration, ParseTimeError> {
        match (text.parse(), self.unit) {
            (Err(ParseTimeError::MissingUnit { .. }), Some(unit)) => {
                format!("{text}{}", unit.name()).parse()
            }
            (read, _) => read,
        }
    }
}

/// The number of CPUs of a format that does not say it, with its warning.
pub(crate) fn default_cpus(
    host: &Host,
    used: Option<usize>,
    what: &str,
    problems: &mut Problems,
) -> Option<usize> {
    let code = "layland::platform::cpus_not_given";
    let warning = |cpus: usize, why: &str| {
        let message =
            format!("{what} does not say how many CPUs there are: taken as {cpus}, {why}");
        Problem::warning(code, message).help("say it with --cpus")
    };
    match (host.default_cpus, used, host.cpus) {
        // A count beyond the limit is reported where it stands; it is no reason to reserve memory.
        (Some(cpus), _, _) => Some(cpus.min(CpuSet::MAX_CPUS + 1)),
        (None, Some(used), _) => {
            problems.push(warning(used, "after the highest CPU that a task names"));
            Some(used)
        }
        (None, None, Some(cpus)) => {
            problems.push(warning(cpus, "as this machine has"));
            Some(cpus)
        }
        (None, None, None) => {
            let message = format!("{what} does not say how many CPUs there are");
            problems.push(Problem::error(code, message).help("say it with --cpus"));
            None
        }
    }
}
