//! Groups with reservations in the schema.

use super::{Cpus, TimeText};
use schemars::JsonSchema;

/// A group: tasks that share a budget in each period, on each CPU of the group.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct GroupTable {
    /// Its name; no two groups have the same.
    #[schemars(length(min = 1))]
    name: String,
    /// The processor time per period, on each CPU of the group: more than 0 and at most the deadline. "design" for a
    /// budget that is to be found.
    budget: BudgetText,
    /// The period of the budget.
    period: TimeText,
    /// The time from the start of its period by which a budget is served. The period if left out.
    deadline: Option<TimeText>,
    /// The CPUs with a server of the group. All CPUs if left out.
    cpus: Option<Cpus>,
    /// The order of jobs within the group.
    inner: InnerName,
    /// The length of a turn. Needed with `inner = "rr"`, and only there.
    quantum: Option<TimeText>,
    /// The rule for the budget. "cbs" if left out.
    server: Option<ServerName>,
    /// The priority of its servers, where a smaller number is more important. Not with "cbs".
    priority: Option<i64>,
    /// The group that it lies in, which keeps the bandwidth that is left. None if left out.
    parent: Option<String>,
}

/// A time, or "design".
#[derive(JsonSchema)]
#[schemars(transparent)]
struct BudgetText(
    #[schemars(regex(pattern = r"^(design|\s*-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)\s*)$"))] String,
);

/// The order of jobs within a group.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum InnerName {
    /// Fixed priorities; first come, first served among equal ones.
    Fp,
    /// Earliest deadline first.
    Edf,
    /// First come, first served.
    Fifo,
    /// Fixed priorities, in turns among equal ones.
    Rr,
    /// Fixed priorities; a job that has begun is not preempted by others of its group.
    NpFp,
    /// Earliest deadline first; a job that has begun is not preempted by others of its group.
    NpEdf,
}

/// The rule for a budget.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum ServerName {
    /// A constant-bandwidth server, by deadlines.
    Cbs,
    /// By priority: the budget is renewed at each multiple of the period, and kept without work.
    Deferrable,
    /// By priority: the budget is renewed at each multiple of the period, and lost without work.
    Polling,
}
