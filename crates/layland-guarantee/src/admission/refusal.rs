//! Why somebody is not admitted, and what would fit.

use super::register::Reservation;
use layland_model::{CpuSet, Duration, Rate, Service, Time, counted};
use std::fmt;

/// A reason why not everybody would keep its guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortfall {
    /// The policy can put the task nowhere: no set of CPUs that it uses is among those that are allowed.
    NoCpus {
        /// The CPUs that the task may use.
        allowed: CpuSet,
    },
    /// The densities of what is in use are too high.
    Density {
        /// On these CPUs.
        cpus: CpuSet,
        /// All of them together.
        sum: Rate,
        /// What they may be together.
        limit: Rate,
    },
    /// Densities say nothing of tasks with different CPUs, or deadlines of a nanosecond.
    Mixed {
        /// These CPUs.
        cpus: CpuSet,
    },
    /// Densities were too high at some time since the CPUs were last quiet, so that work may be left over.
    Exceeded {
        /// These CPUs.
        cpus: CpuSet,
    },
    /// A thread that needs more than its runtime may go on with a rest of its budget, which only densities cover.
    MayResume {
        /// These CPUs.
        cpus: CpuSet,
    },
    /// Densities say nothing of this policy, or of these CPUs.
    NoDensityRule,
    /// No test says that all deadlines are met.
    Test {
        /// The policy.
        policy: String,
        /// The test that says that they are not, if one does.
        test: Option<&'static str>,
        /// What the tests say, in sentences without full stops.
        reasons: Vec<String>,
    },
    /// A task may be later than it is promised.
    Bound {
        /// The task.
        task: String,
        /// How late it may be, in nanoseconds, if that is known.
        tardiness: Option<Rate>,
        /// How late it may be by what it is promised.
        allowed: Duration,
    },
    /// The kernel stops real-time threads that use so much.
    Throttled {
        /// On these CPUs.
        cpus: CpuSet,
        /// Whose limit it is.
        of: String,
        /// Threads that nobody has admitted, and that use some of it.
        with: Vec<String>,
        /// What they may use in a window.
        demand: Duration,
        /// What they may have in it.
        limit: Duration,
        /// The length of the window.
        window: Duration,
    },
    /// Ordinary threads get too little, so that the kernel's fair server acts.
    FairServer {
        /// On these CPUs.
        cpus: CpuSet,
        /// What real-time threads may use in a window.
        demand: Duration,
        /// What they may use in it, so that it does not act.
        limit: Duration,
        /// The length of the window.
        window: Duration,
        /// What the server takes when it acts.
        server: Duration,
        /// In each period of this length.
        every: Duration,
    },
    /// A task may be late beside work that nobody has admitted.
    Beside {
        /// The task.
        task: String,
        /// How long a job may take by what it is promised.
        allowed: Duration,
        /// That work.
        beside: Vec<String>,
    },
    /// The policy refuses.
    Policy {
        /// The reason.
        reason: String,
    },
    /// A change cannot be made while the task is admitted: it has to leave, and enter anew.
    Anew {
        /// The reason.
        reason: String,
    },
}

impl Shortfall {
    /// The bandwidth that is missing, where that is the number that decides.
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

fn on(cpus: &CpuSet) -> String {
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
                "the densities on {} would be {:.4} together and may be {:.4}: {:.4} is missing",
                on(cpus),
                sum.to_f64(),
                limit.to_f64(),
                (sum - limit).to_f64()
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
                write!(f, "{reason}: the task has to leave and to enter anew")
            }
        }
    }
}

/// Something that would be granted. Each is tried with the same tests before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suggestion {
    /// The same with this runtime, the largest in whole microseconds.
    Runtime(Service),
    /// The same on these CPUs.
    Cpus(CpuSet),
    /// The same at this time, when what has left is no longer in the way.
    Later(Time),
    /// Everybody under this policy, started anew.
    Policy(String),
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suggestion::Runtime(runtime) => write!(f, "a runtime of {runtime} would fit"),
            Suggestion::Cpus(cpus) => write!(f, "it would fit on {}", on(cpus)),
            Suggestion::Later(at) => write!(f, "it would fit at {at}"),
            Suggestion::Policy(policy) => {
                write!(f, "all would fit under {policy}, if everybody started anew")
            }
        }
    }
}

/// The answer *no*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is missing, the most telling first. Never empty.
    pub shortfalls: Vec<Shortfall>,
    /// What would fit.
    pub suggestions: Vec<Suggestion>,
    /// Who has left and is still in the way.
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
