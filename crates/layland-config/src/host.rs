//! What every format needs to know besides the text: the machine, and how large a task set may be.

use crate::problem::{Problem, Problems};
use layland_model::CpuSet;

/// Larger task sets are refused.
pub const MAX_TASKS: usize = 1_000_000;

/// The caller's knowledge of the machine. This crate does not inspect it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// How many CPUs this machine has: the meaning of `cpus = "host"`.
    pub cpus: Option<usize>,
    /// How many CPUs a set has whose file does not say, as asked for by the user.
    pub default_cpus: Option<usize>,
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
