//! The form of certificates. `docs/certificates.md` gives the meaning of each proof.

use crate::schema;
use schemars::JsonSchema;
use serde::Serialize;

/// The file of `layland check --certificate`: one document per set.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "certificate")]
pub struct Certificate<'a> {
    /// The version of Layland.
    pub(super) layland: &'static str,
    /// The version of this format.
    #[schemars(extend("const" = 1))]
    pub(super) certificate: u32,
    /// The file of the task set, `demo:NAME`, or `inline`.
    pub(super) set: &'a str,
    /// The answer for each policy that was requested, or that makes sense for the set.
    pub(super) answers: Vec<OfPolicy<'a>>,
    /// Answers that do not depend on the policy.
    pub(super) any_policy: Vec<OfAnyPolicy<'a>>,
}

/// The answer for a policy.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct OfPolicy<'a> {
    /// The policy, with its options.
    pub policy: &'a str,
    /// The verdict: yes, if every deadline is guaranteed.
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: &'static str,
    /// The test that decided; null if none did.
    pub decided_by: Option<&'static str>,
    /// The system that was analysed in place of the set; null if the policy refuses the set.
    pub analysed: Option<AnalysedSystem<'a>>,
    /// The proof of the answer; null if there is none.
    pub proof: Option<ProofDocument<'a>>,
    /// The reason why there is no proof; null if there is one.
    pub without: Option<String>,
}

/// An answer that does not depend on the policy.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct OfAnyPolicy<'a> {
    /// The test that decided.
    pub test: &'static str,
    /// Its verdict.
    #[schemars(extend("enum" = ["yes", "no"]))]
    pub verdict: &'static str,
    /// The proof of the answer; null if there is none.
    pub proof: Option<ProofDocument<'a>>,
    /// The reason why there is no proof; null if there is one.
    pub without: Option<String>,
}

/// A system that was analysed in place of a set.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct AnalysedSystem<'a> {
    /// The changes to the set, as sentences with semicolons between them; empty if there are none.
    pub how: &'a str,
    /// Every task, in the order of the set.
    pub tasks: Vec<AnalysedTask<'a>>,
}

/// A task of an analysed system.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct AnalysedTask<'a> {
    /// The task.
    pub task: &'a str,
    /// The CPUs on which it runs.
    pub cpus: Vec<usize>,
    /// With overheads; or the budget.
    #[schemars(range(min = 0))]
    pub wcet_ns: i64,
    /// The relative deadline.
    #[schemars(range(min = 0))]
    pub deadline_ns: i64,
}

/// The proof of an answer.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "proof")]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum ProofDocument<'a> {
    /// Conditions of the test.
    Comparisons {
        /// Each condition, computed again by the verifier.
        comparisons: Vec<Compared<'a>>,
    },
    /// Evidence for CPUs that can be looked at by themselves.
    Parts {
        /// The evidence for each.
        parts: Vec<PartDocument<'a>>,
    },
    /// A run in which a job is late.
    Run {
        /// Every job that arrives before the deadline that is missed, in the order of arrivals.
        jobs: Vec<RunJob<'a>>,
        /// The job that is not done by its deadline.
        late: LateJob<'a>,
    },
}

/// A comparison that can be computed again. Rationals are written `a/b`, times in nanoseconds. A
/// member is null if the comparison is about nothing in particular.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "certified")]
pub(super) struct Compared<'a> {
    /// The compared quantity.
    pub what: &'static str,
    /// Its task.
    pub task: Option<&'a str>,
    /// Its CPUs.
    pub cpus: Option<Vec<usize>>,
    /// The length of its interval.
    pub interval_ns: Option<i64>,
    /// The value.
    pub value: Option<String>,
    /// Its bound.
    pub bound: Option<String>,
    /// True if the value is within its bound.
    pub holds: bool,
}

/// The evidence that the tasks of these CPUs meet their deadlines.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "evidence")]
pub(super) struct PartDocument<'a> {
    /// The CPUs.
    pub cpus: Vec<usize>,
    /// Their tasks.
    pub tasks: Vec<&'a str>,
    /// The kind of the items.
    #[schemars(extend("enum" = ["points", "busy periods", "levels", "slacks", "rates"]))]
    pub evidence: &'static str,
    /// The values that the verifier computes again.
    pub items: Vec<Item<'a>>,
}

/// An item of evidence.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    /// A point: the demand in an interval of this length is at most this.
    Point {
        /// The task with whose job the interval ends, if it matters.
        task: Option<&'a str>,
        /// The length of the interval.
        #[schemars(range(min = 0))]
        interval_ns: i64,
        /// An integer of any length.
        demand_ns: String,
    },
    /// Busy periods with one, two, .. jobs of the task; or its response times by level. The highest
    /// priority comes first.
    Lengths {
        /// The task.
        task: &'a str,
        /// The lengths.
        #[schemars(inner(range(min = 0)))]
        lengths_ns: Vec<i64>,
    },
    /// A slack that follows from those before it.
    Slack {
        /// The task.
        task: &'a str,
        /// Its slack.
        #[schemars(range(min = 0))]
        slack_ns: i64,
    },
    /// A rate in units of one over `unit_ns`.
    Rate {
        /// The task.
        task: &'a str,
        /// Its rate.
        #[schemars(range(min = 0))]
        rate: i64,
        /// The unit.
        #[schemars(range(min = 1))]
        unit_ns: i64,
    },
}

/// A job of a run.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct RunJob<'a> {
    /// The task.
    pub task: &'a str,
    /// Its arrival.
    pub arrival_ns: i64,
    /// The time from which it may execute.
    pub ready_ns: i64,
    /// The length of its execution.
    #[schemars(range(min = 0))]
    pub execution_ns: i64,
}

/// A job that is not done by its deadline.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(super) struct LateJob<'a> {
    /// The task.
    pub task: &'a str,
    /// Its arrival.
    pub arrival_ns: i64,
    /// Its absolute deadline.
    pub deadline_ns: i64,
}
