//! The information that every format needs besides
//! the text: the machine, and the limit of the size.

use crate::problem::{Problem, Problems};
use layland_model::{CpuSet, Duration, ParseTimeError};
use std::sync::Arc;

/// The maximum number of tasks; larger task sets are rejected.
pub const MAX_TASKS: usize = 1_000_000;

/// Information from the caller that a file may omit.
/// This crate inspects neither the machine nor the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The number of CPUs of this machine: the meaning of `cpus = "host"`.
    pub cpus: Option<usize>,
    /// The number of CPUs of a set whose file lacks it, as set by the user.
    pub default_cpus: Option<usize>,
    /// The unit of numbers without one, in the formats that allow them (tables, plain lines).
    pub unit: Option<Unit>,
    /// The columns of a table that has no line of titles.
    pub columns: Option<Columns>,
}

/// The titles of the columns of a table, in their order: `O,C,D,T`. A column of `-` does not count.
///
/// ```
/// use layland_config::{Columns, Format, Host, Unit, read};
/// let columns: Columns = "O,C,D,T".parse().unwrap();
/// let host = Host { unit: Some(Unit::Ms), default_cpus: Some(1), columns: Some(columns), ..Host::default() };
/// let loaded = read("set.csv", b"0,3,8,9\n1,2,12,12\n", Format::Csv, &host).unwrap();
/// assert_eq!(loaded.system.tasks.as_slice()[1].offset.to_string(), "1ms");
/// assert!("O,C,X".parse::<Columns>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(pub(crate) Arc<[String]>);

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
    /// All units, in ascending order.
    pub const ALL: [Unit; 4] = [Unit::Ns, Unit::Us, Unit::Ms, Unit::S];

    /// Returns the suffix that denotes the unit.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// Returns the unit with this suffix.
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
    /// Parses a time; one without a unit is in the unit that the user set, if any.
    pub(crate) fn time(&self, text: &str) -> Result<Duration, ParseTimeError> {
        match (text.parse(), self.unit) {
            (Err(ParseTimeError::MissingUnit { .. }), Some(unit)) => {
                format!("{text}{}", unit.name()).parse()
            }
            (read, _) => read,
        }
    }
}

/// Returns the number of CPUs for a format that lacks it, and adds a warning.
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
        // Numbers beyond the limit are reported elsewhere.
        // Limit them, so that they do not allocate memory.
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
