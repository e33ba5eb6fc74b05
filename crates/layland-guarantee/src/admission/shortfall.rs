//! The reasons why a task might not keep its guarantee.

use layland_model::{CpuSet, Duration, Rate};
use std::fmt;

/// A reason why some task might not keep its guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortfall {
    /// The policy cannot place the task: none of its sets of CPUs is among the allowed CPUs.
    NoCpus {
        /// The CPUs that the task may use.
        allowed: CpuSet,
    },
    /// The densities of the reservations in use are too high.
    Density {
        /// The CPUs.
        cpus: CpuSet,
        /// The sum of the densities.
        sum: Rate,
        /// The limit on the sum.
        limit: Rate,
    },
    /// The density rule does not apply: tasks have different CPUs, or windows of a nanosecond.
    Mixed {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// Densities were too high at some time since the CPUs were last quiet, so that work may be
    /// pending.
    Exceeded {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// A thread that overruns may continue with a remaining budget, which only the density rule
    /// covers.
    MayResume {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// The density rule does not apply to this policy or platform.
    NoDensityRule,
    /// No test shows that all deadlines are met.
    Test {
        /// The policy.
        policy: String,
        /// The test that refutes it, if one does.
        test: Option<&'static str>,
        /// The reasons of the tests, in sentences without full stops.
        reasons: Vec<String>,
    },
    /// A task may be later than its guarantee allows.
    Bound {
        /// The task.
        task: String,
        /// The bound on its tardiness, in nanoseconds, if one is known.
        tardiness: Option<Rate>,
        /// The tardiness that its guarantee allows.
        allowed: Duration,
    },
    /// The kernel stops real-time threads that use this much time.
    Throttled {
        /// The CPUs.
        cpus: CpuSet,
        /// The origin of the limit: a file of the kernel.
        of: String,
        /// Threads that were not admitted and that use some of the time.
        with: Vec<String>,
        /// The time that real-time threads may use in a window.
        demand: Duration,
        /// The time that the kernel allows them in the window.
        limit: Duration,
        /// The length of the window.
        window: Duration,
    },
    /// Ordinary threads get too little time, so that the kernel's fair server acts.
    FairServer {
        /// The CPUs.
        cpus: CpuSet,
        /// The time that real-time threads may use in a window.
        demand: Duration,
        /// The most that they may use in the window without making the server act.
        limit: Duration,
        /// The length of the window.
        window: Duration,
        /// The time that the server takes when it acts.
        server: Duration,
        /// The period of the server.
        every: Duration,
    },
    /// A task may be late because of work that was not admitted.
    Beside {
        /// The task.
        task: String,
        /// The response time that its guarantee allows.
        allowed: Duration,
        /// The names of that work.
        beside: Vec<String>,
    },
    /// The policy rejects the set.
    Policy {
        /// The reason.
        reason: String,
    },
    /// The change is impossible while the task is admitted: the task has to leave and enter anew.
    Anew {
        /// The reason.
        reason: String,
    },
}

impl Shortfall {
    /// Returns the missing bandwidth, where bandwidth decides.
    pub fn missing(&self) -> Option<Rate> {
        match self {
            Shortfall::Density { sum, limit, .. } => Some(sum - limit),
            Shortfall::NoCpus { .. }
            | Shortfall::Mixed { .. }
            | Shortfall::Exceeded { .. }
            | Shortfall::MayResume { .. }
            | Shortfall::NoDensityRule
            | Shortfall::Test { .. }
            | Shortfall::Bound { .. }
            | Shortfall::Throttled { .. }
            | Shortfall::FairServer { .. }
            | Shortfall::Beside { .. }
            | Shortfall::Policy { .. }
            | Shortfall::Anew { .. } => None,
        }
    }
}

/// Returns CPUs with their noun.
/// Formats a positive number with at most four decimals.
fn short(number: &Rate) -> String {
    let text = format!("{:.4}", number.to_f64());
    match text.trim_end_matches('0').trim_end_matches('.') {
        "0" => "less than 0.0001".to_owned(),
        text => text.to_owned(),
    }
}

pub(super) fn on(cpus: &CpuSet) -> String {
    format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" })
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shortfall::NoCpus { allowed } => {
                write!(f, "the policy has no place for a task on {}", on(allowed))
            }
            Shortfall::Density { cpus, sum, limit } => write!(
                f,
                "the densities on {} would add up to {}, but at most {} is allowed ({} too much)",
                on(cpus),
                short(sum),
                short(limit),
                short(&(sum - limit))
            ),
            Shortfall::Mixed { cpus } => {
                write!(f, "the tasks on {} do not all use the same CPUs", on(cpus))
            }
            Shortfall::Exceeded { cpus } => write!(
                f,
                "the densities on {} were too high since the CPUs were last quiet",
                on(cpus)
            ),
            Shortfall::MayResume { cpus } => write!(
                f,
                "other tests do not hold on {} if a task may need more than its runtime",
                on(cpus)
            ),
            Shortfall::NoDensityRule => f.write_str("densities say nothing of this policy"),
            Shortfall::Test { policy, test, reasons } => {
                match test {
                    Some(test) => write!(f, "{test} says no under {policy}")?,
                    None => write!(f, "no test guarantees the deadlines under {policy}")?,
                }
                reasons.first().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Shortfall::Bound { task, tardiness: None, allowed } => {
                write!(f, "no bound says that `{task}` is at most {allowed} late")
            }
            Shortfall::Bound { task, tardiness: Some(tardiness), allowed } => {
                let late = Duration::from_ns(tardiness.ceil().unwrap_or(i64::MAX));
                write!(f, "`{task}` may be {late} late, and is promised {allowed}")
            }
            Shortfall::Throttled { cpus, of, with, demand, limit, window } => {
                f.write_str("real-time threads")?;
                if !with.is_empty() {
                    write!(f, ", with {},", with.join(" and "))?;
                }
                write!(
                    f,
                    " may use {demand:#} of {window:#} on {}, and the kernel stops them after {limit:#} ({of}): {:#} too \
                     much",
                    on(cpus),
                    *demand - *limit
                )
            }
            Shortfall::FairServer { cpus, demand, limit, window, server, every } => write!(
                f,
                "real-time threads may use {demand:#} of {window:#} on {}; above {limit:#} ordinary threads that wait \
                 get {server:#} of every {every:#} (the kernel's fair server): {:#} too much",
                on(cpus),
                *demand - *limit
            ),
            Shortfall::Beside { task, allowed, beside } => {
                let beside = beside.join(" and ");
                write!(f, "`{task}` may take longer than {allowed:#} beside {beside}")
            }
            Shortfall::Policy { reason } => write!(f, "the policy refuses: {reason}"),
            Shortfall::Anew { reason } => {
                write!(f, "{reason}: the task has to leave and to enter again")
            }
        }
    }
}
