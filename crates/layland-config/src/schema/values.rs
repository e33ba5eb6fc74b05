//! The values of a task-set file in the schema.
#![expect(dead_code, reason = "these structures are turned into a schema and never made")]

use schemars::JsonSchema;
use std::collections::BTreeMap;

/// A time: a number and a unit (ns, us, ms, s), as in "5ms", "1.5us" or "10/3s".
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct TimeText(
    #[schemars(regex(pattern = r"^\s*-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)\s*$"))] String,
);

/// A time, or several that are equal, as in "1ms x 300".
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct RepeatedTimeText(
    #[schemars(regex(pattern = r"^\s*-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)\s*( x [0-9]+\s*)?$"))]
    String,
);

/// An exact number: a decimal ("0.75") or a fraction ("3/4"), in quotes.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct RateText(#[schemars(regex(pattern = r"^\s*-?[0-9_./ ]+\s*$"))] String);

/// A step of a job: "run" or "suspend" with a time, "lock" or "unlock" with the name of a resource.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct StepText(
    #[schemars(regex(
        pattern = r"^\s*((run|suspend)\s+-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)|(lock|unlock)\s+\S+)\s*$"
    ))]
    String,
);

/// CPUs: "0-3", "0,2", "l3:0", "!7" (all of the cluster but 7), "all", or a list of CPUs and such
/// strings.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Cpus {
    /// A string.
    Text(String),
    /// A list.
    List(Vec<CpuOrText>),
}

/// A CPU, or a string that names some.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum CpuOrText {
    /// A CPU.
    Cpu(#[schemars(range(max = 4095))] u32),
    /// A string.
    Text(String),
}

/// The treatment of a late job and the jobs behind it.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(crate) enum OnMissName {
    /// It runs on, and the next one waits for it.
    Continue,
    /// It is aborted at its deadline.
    Abort,
    /// It runs on, and jobs that could start meanwhile are skipped.
    Skip,
}

/// One weakly hard constraint, or several that all hold.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Constraints {
    /// One.
    One(ConstraintText),
    /// Several.
    All(#[schemars(length(min = 1))] Vec<ConstraintText>),
}

/// A number of jobs in time among any consecutive ones: "9 of 10", "at most 1 miss in 10", "at most 2 misses in a row".
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct ConstraintText(
    #[schemars(regex(
        pattern = r"^\s*([0-9]+\s+of\s+[0-9]+|at\s+most\s+[0-9]+\s+miss(es)?\s+in\s+(a\s+row|[0-9]+))\s*$"
    ))]
    String,
);

/// A probability per job: "1e-6 per job", "1/1000000 per job", "0.0001% per job".
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct MissText(
    #[schemars(regex(pattern = r"^\s*[0-9_./]+([eE]-?[0-9]+)?\s*%?\s*per job\s*$"))] String,
);

/// The parts of jobs that are not preempted.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Nonpreemptive {
    /// Jobs are never preempted once they have begun (true), or are anywhere (false).
    Whole(bool),
    /// The longest time for which a job goes on when one of higher priority arrives.
    Region(TimeText),
}

/// A longest execution time.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Wcet {
    /// One time for all criticality levels.
    Time(TimeText),
    /// By the name of the level. All levels up to the task's own are named; those above have its
    /// own time if they are left out.
    ByLevel(BTreeMap<String, TimeText>),
}

/// The arrivals of jobs.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Release {
    /// Without parameters.
    Named(ReleaseName),
    /// With parameters.
    Table(ReleaseTable),
}

/// The arrivals of jobs.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(crate) enum ReleaseName {
    /// A job every period.
    Periodic,
    /// Jobs that arrive at least a period apart. In a run they come every period.
    Sporadic,
    /// The thread never blocks.
    Hog,
    /// A job every period; the thread gives up the rest of its budget after each.
    Yield,
}

/// The arrivals of jobs.
#[derive(JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ReleaseTable {
    /// A job every period.
    Periodic,
    /// The thread never blocks.
    Hog,
    /// A job every period; the thread gives up the rest of its budget after each.
    Yield,
    /// Jobs that arrive at least a period apart.
    Sporadic {
        /// The time that is added to the period: at most this much, evenly distributed, or a distribution. Nothing if
        /// left out.
        extra: Option<Extra>,
    },
    /// Jobs by an arrival curve: each as soon as it permits. The period is their mean distance in the long run, rounded
    /// down to a nanosecond.
    Curve {
        /// The least times from one arrival to the next, to the one after, and so on. Distances that
        /// follow from shorter ones may be left out, and the curve continues with their sums: bursts repeat.
        #[schemars(length(min = 1, max = 512))]
        delta_min: Vec<TimeText>,
        /// The time that is added to the least distance: at most this much, evenly distributed, or a distribution.
        /// Nothing if left out.
        extra: Option<Extra>,
    },
    /// Jobs at given times.
    Explicit {
        /// The times, from the earliest to the latest.
        at: Vec<TimeText>,
    },
    /// The next job arrives some time after the end of the one before.
    SelfSuspending {
        /// The time from the end of a job to the next arrival.
        gap: TimeText,
    },
}

/// The time that is added to the period of a sporadic task.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Extra {
    /// Evenly distributed from 0 to this time.
    Max(TimeText),
    /// From a distribution.
    Table(ExtraTable),
}

/// A distribution of times.
#[derive(JsonSchema)]
#[schemars(tag = "dist", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ExtraTable {
    /// Evenly from 0 to `max`.
    Uniform {
        /// The most.
        max: TimeText,
    },
    /// Exponential, cut off at `max`.
    Exponential {
        /// The mean before the cut.
        mean: TimeText,
        /// The most.
        max: TimeText,
    },
}

/// The actual execution times of jobs.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Exec {
    /// Without parameters.
    Named(ExecName),
    /// With parameters.
    Table(ExecTable),
}

/// The actual execution times of jobs.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(crate) enum ExecName {
    /// As long as the WCET at the task's own level.
    Wcet,
}

/// The actual execution times of jobs.
#[derive(JsonSchema)]
#[schemars(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ExecTable {
    /// As long as the WCET at the task's own level.
    Wcet,
    /// As long as the WCET at another level.
    Level {
        /// Its name.
        level: String,
    },
    /// A fraction of the WCET; above 1 is an overrun.
    Fraction {
        /// The fraction.
        of: RateText,
    },
    /// Evenly distributed.
    Uniform {
        /// The least.
        min: TimeText,
        /// The most.
        max: TimeText,
    },
    /// One of some times.
    Discrete {
        /// The times.
        values: Vec<TimeText>,
        /// The relative probability of each.
        weights: Vec<u64>,
    },
    /// These times in order, again and again.
    List {
        /// The times; "1ms x 300" stands for 300 of them.
        values: Vec<RepeatedTimeText>,
    },
}

/// The rule that decides between jobs of tasks with the same priority.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum Tie {
    /// The smaller rank goes first, and preempts.
    Rank,
    /// The job that became ready first goes first, and no other job of its priority preempts it.
    Fifo,
    /// The order is not known: guarantees hold in every order.
    Any,
}
