//! The answer as one JSON document. It is serialized directly from the answer: serialization is
//! most of the work for a stream of sets, and a tree of values would double it.
//!
//! Long because each object of the document has a type here.

mod line;

use super::chains;
use super::checked::Checked;
use super::reserved::Reserved;
use crate::assigned::{AssignedTask, assigned};
use crate::structure::levels::CpuNumbers;
use crate::{Exit, schema};
use layland_analysis::{Finding, Verdict};
use layland_engine::reserves::{LEAST_MARGIN, Margin as RunMargin, Reserves};
use layland_guarantee::search::Witness as Run;
use layland_guarantee::{Assessment, Bound, CpuLimit, Limits, Said};
use layland_model::shown::Digits;
use layland_model::{Duration, Service, System, TaskId};
use layland_policy::Text;
use layland_trace::JobRecord;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

impl Checked {
    /// Returns the document that `layland check --json` prints.
    pub fn document(&self) -> Document<'_> {
        Document::of(self)
    }

    /// Returns the document as indented JSON.
    pub fn json(&self) -> String {
        // Serialization cannot fail: all keys are names.
        serde_json::to_string_pretty(&self.document()).unwrap_or_default() + "\n"
    }

    /// Returns the document as one line of JSON, for streams of sets.
    pub fn json_line(&self) -> Vec<u8> {
        line::Line::of(&self.document())
    }
}

/// The answer of `layland check --json`: one document per set.
#[derive(JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The version of Layland.
    layland: &'static str,
    #[schemars(extend("const" = "check"))]
    command: &'static str,
    /// The task set in short.
    set: SetSummary<'a>,
    /// Present with `--reserve`: the margin that a run reserves beyond the need of a job.
    #[schemars(with = "OfRun")]
    #[serde(skip_serializing_if = "Option::is_none")]
    run_margin: Option<OfRun>,
    /// Each policy that was requested, or that makes sense for the set.
    policies: Vec<Policy<'a>>,
    /// The answers that hold for every policy.
    #[schemars(with = "Vec<TestDocument<'static>>")]
    any_policy: Vec<Test<'a>>,
    /// Policies that were not requested and make no sense for the set.
    not_applicable: Vec<NotApplicable>,
    /// The policies that honour the affinities of the set; null if it has none.
    affinities: Option<Affinities<'a>>,
    /// The result of the command.
    exit: Exit,
}

/// A task set in short.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct SetSummary<'a> {
    /// Its file, `demo:NAME`, or `inline`.
    name: &'a str,
    /// The number of tasks.
    tasks: usize,
    /// The number of CPUs.
    cpus: usize,
    /// The sum of WCET over period.
    utilization: f64,
    /// Assumptions about settings that the file leaves out.
    assumed: &'a [String],
    /// Present if it was inferred from a trace: a longer trace may show longer jobs.
    #[schemars(with = "Seen<'static>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Seen<'a>>,
}

/// The trace that a set was inferred from.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Seen<'a> {
    /// The length of the trace; null if the set does not state it.
    length_ns: Option<i64>,
    /// Observations of the trace that the set does not explain: as long as there are any, nothing is
    /// guaranteed.
    unexplained: &'a [String],
}

/// The answer about one policy.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "assessment")]
struct Policy<'a> {
    /// The policy with its options.
    policy: &'a str,
    /// The verdict: yes, if every deadline is guaranteed.
    #[schemars(schema_with = "schema::verdict")]
    verdict: &'static str,
    /// The test that decided.
    decided_by: Option<&'static str>,
    /// The verdict for the same set without its affinities, where the policy honours none.
    #[schemars(schema_with = "schema::verdict_or_null")]
    verdict_without_affinities: Option<&'static str>,
    /// The reasons of a verdict that is not yes; or the argument that decided it.
    reasons: &'a [String],
    /// The fullest CPU or the task with the least slack, if every deadline is guaranteed by a
    /// comparison of numbers; null otherwise.
    tightest: Option<&'a str>,
    /// The CPU of each task, if the policy assigns each to one; null otherwise.
    assignment: Option<Vec<AssignedTask<'a>>>,
    /// The reason why the policy refuses the set.
    refused: Option<&'a str>,
    /// Present with `--reserve`: the reservations of a run under the policy, which were analysed; null
    /// if the policy does not take the set as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved: Option<Option<ReservedBy<'a>>>,
    /// The distance of the verdict to its limit.
    margin: Option<Margin>,
    /// Present with `--sensitivity`: the limits of each task and CPU; null if the decisions of the policy
    /// cannot be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitivity: Option<Option<Sensitivity<'a>>>,
    /// A bound for each task.
    #[schemars(with = "Vec<BoundDocument<'static>>")]
    bounds: Vec<OfTask<'a>>,
    /// The effect of overheads on each WCET; null without overheads.
    overheads: Option<Vec<Overheads<'a>>>,
    /// Every test that is about the policy.
    #[schemars(with = "Vec<TestDocument<'static>>")]
    tests: Vec<Test<'a>>,
    /// A job that misses its deadline in a legal run, where no test says no.
    witness: Option<Witness<'a>>,
    /// Present if the set has chains: the guarantee for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chains: Vec<chains::OfChain<'a>>,
    /// Present under mixed criticality, if every test was asked (`--all`): the numbers that papers print,
    /// by CPU. Those of analyses that are not safe decide nothing.
    #[schemars(with = "Vec<CpuNumbers>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<&'a [CpuNumbers]>,
}

/// The margin of a run.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
#[serde(untagged)]
enum OfRun {
    /// A part of the need of a job.
    Fraction {
        /// A fraction of it.
        #[schemars(range(min = 0.0))]
        fraction: f64,
        /// At least this.
        #[schemars(range(min = 0))]
        least_ns: i64,
    },
    /// A time for every job.
    Time {
        /// This much.
        #[schemars(range(min = 0))]
        ns: i64,
    },
}

/// The reservations of a run under a policy.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct ReservedBy<'a> {
    /// The parameters that are larger than the set says; null if none are.
    #[schemars(extend("enum" = ["budgets", "wcets", null]))]
    larger: Option<&'static str>,
    /// The verdict about the set as it is, without the margin.
    #[schemars(schema_with = "schema::verdict")]
    verdict_without: &'static str,
    /// The reservation for each task; empty if nothing is larger.
    tasks: Vec<ReservedFor<'a>>,
}

/// The reservation for a task.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct ReservedFor<'a> {
    /// The task.
    task: &'a str,
    /// Its WCET at each criticality level, from the lowest to its own.
    #[schemars(inner(range(min = 0)))]
    wcet_ns: Vec<i64>,
    /// Its budget; null if that is its WCET.
    budget_ns: Option<i64>,
}

/// The distance of a verdict to its limit.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Margin {
    /// The largest factor on every WCET with which the verdict stays yes, or with which it would
    /// become yes, with what the policy decides before the start for the set as it is: CPUs,
    /// priorities, pieces, servers.
    wcet_factor: f64,
    /// The precision of the factor.
    resolution: f64,
    /// The factor as a speed of the CPUs; null if there is none.
    speed: Option<f64>,
    /// The obstacle to the next larger factor; null if no factor is accepted.
    stopped_by: Option<Stop>,
    /// A larger factor that is accepted where the policy decides anew for the larger WCETs, with tasks
    /// on other CPUs, for example; null if there is none.
    decided_anew: Option<Anew>,
}

/// The obstacle to further growth of the WCETs.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Stop {
    /// The task that is no longer guaranteed, as far as the test names it.
    task: Option<String>,
    /// The CPUs of the obstacle; null if the test does not distinguish CPUs.
    cpus: Option<String>,
    /// The test that accepts the factor, and not the next one.
    test: Option<&'static str>,
    /// Its reason against the next one.
    reason: String,
}

/// The larger factor that is possible if the policy decides anew.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Anew {
    /// The factor.
    wcet_factor: f64,
}

/// The limits of tasks and CPUs. One number changes, and all others stay.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Sensitivity<'a> {
    /// The decisions that the policy made for the set as it is stay: CPUs, priorities, pieces.
    #[schemars(extend("const" = true))]
    pinned: bool,
    /// `exact` if beyond a limit some deadline is missed, where jobs may come at any distance; `first
    /// refused` if a test refuses the next value and does not know.
    #[schemars(extend("enum" = ["exact", "first refused"]))]
    boundary: &'static str,
    /// The limits of the tasks.
    tasks: Vec<OfOne<'a>>,
    /// The limits of the CPUs, where the policy assigns each task to one.
    cpus: Vec<OfCpu>,
}

/// The limits of a task. Null where no value is accepted.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct OfOne<'a> {
    /// The task.
    task: &'a str,
    /// The largest WCET, in time on its CPU.
    wcet_ns: Option<i64>,
    /// The largest WCET, in work.
    wcet_work_ns: Option<i64>,
    /// The least deadline.
    deadline_ns: Option<i64>,
    /// The least period; a deadline that would be longer goes along.
    period_ns: Option<i64>,
    /// The largest release jitter.
    jitter_ns: Option<i64>,
}

/// The limit of a CPU.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct OfCpu {
    /// The CPU.
    cpu: u32,
    /// The factor by which the WCETs of its tasks could be multiplied; null if none is accepted.
    wcet_factor: Option<f64>,
    /// The least speed for the WCETs as they are, a fraction; null if there is none.
    least_speed: Option<String>,
}

/// The effect of overheads on a WCET.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Overheads<'a> {
    /// The task.
    task: &'a str,
    /// Its WCET.
    #[schemars(range(min = 0))]
    wcet_ns: i64,
    /// The WCET with overheads.
    #[schemars(range(min = 0))]
    inflated_ns: i64,
    /// The terms that they add.
    terms: Vec<Term<'a>>,
    /// The share of the CPU that periodic overheads leave, a fraction.
    divided_by: String,
}

/// A term that overheads add to a WCET.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Term<'a> {
    /// The overhead.
    name: &'a str,
    /// Its amount.
    ns: i64,
}

/// A job that misses its deadline.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Witness<'a> {
    /// The task.
    task: &'a str,
    /// The number of its job, from 0.
    job: u64,
    /// Its arrival.
    arrival_ns: i64,
    /// Its absolute deadline.
    deadline_ns: i64,
    /// Its end; null if it is pending when the run is over.
    end_ns: Option<i64>,
    /// The end of the run.
    over_ns: i64,
    /// The densest run, one that is drawn, the search of all states, or a search of first arrivals.
    #[schemars(extend("enum" = ["densest", "drawn", "states", "phases"]))]
    found_by: &'static str,
    /// The seed from which the run was drawn; null if it was not drawn.
    seed: Option<u64>,
}

/// A policy that is left out.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct NotApplicable {
    /// Its name.
    policy: String,
    /// The reason why it makes no sense for the set.
    reason: String,
}

/// The policies that honour the affinities of a set, and the others.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Affinities<'a> {
    /// Policies that do.
    #[schemars(with = "Vec<String>")]
    kept_by: &'a [Text],
    /// Policies that do not.
    refused_by: Vec<RefusedBy<'a>>,
}

/// Policies that do not honour affinities for the same reason.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct RefusedBy<'a> {
    /// The reason.
    reason: &'a str,
    /// Their names.
    #[schemars(with = "Vec<String>")]
    policies: &'a [Text],
}

/// The bound of a task. It is serialized as a [`BoundDocument`].
struct OfTask<'a> {
    system: &'a System,
    task: TaskId,
    bound: &'a Bound,
}

/// A bound for the jobs of a task.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "bound")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum BoundDocument<'a> {
    /// No test gives one.
    Unknown {
        /// The task.
        task: &'a str,
    },
    /// A bound on response times.
    Response {
        /// The bound.
        #[schemars(range(min = 0))]
        ns: i64,
        /// The test.
        by: &'static str,
        /// `exact` if some job reaches it in a legal run of the policy, with its own rule of ties;
        /// `sufficient` if it is only a bound.
        #[schemars(extend("enum" = ["exact", "sufficient"]))]
        worth: &'static str,
        /// The task.
        task: &'a str,
        /// Present if the bound is so large that it says nothing.
        #[schemars(extend("const" = true))]
        #[serde(skip_serializing_if = "is_false")]
        useless: bool,
        /// For mixed criticality: the bounds at each level.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        per_level: Vec<Level<'a>>,
    },
    /// A bound on tardiness.
    Tardiness {
        /// The bound, rounded up; null if it has more than 63 bits.
        #[schemars(range(min = 0))]
        ns: Option<i64>,
        /// The bound as a fraction.
        exact_ns: String,
        /// The test.
        by: &'static str,
        /// The task.
        task: &'a str,
        /// Present if the bound is so large that it says nothing.
        #[schemars(extend("const" = true))]
        #[serde(skip_serializing_if = "is_false")]
        useless: bool,
    },
}

/// The bound of a task at a criticality level.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Level<'a> {
    /// The criticality level.
    level: &'a str,
    /// The bound at that level.
    #[schemars(range(min = 0))]
    ns: i64,
}

/// The answer of a test. It is serialized as a [`TestDocument`].
struct Test<'a> {
    system: &'a System,
    said: &'a Said,
    digits: Digits,
}

/// The answer of one test.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "finding")]
struct TestDocument<'a> {
    /// The name of the test, as `layland explain` knows it.
    test: &'static str,
    /// The meaning of its answers.
    #[schemars(extend("enum" = ["exact", "sufficient", "necessary"]))]
    kind: &'static str,
    /// The keys of its sources.
    cite: Vec<&'static str>,
    /// The verdict; null if the test does not apply.
    #[schemars(schema_with = "schema::verdict_or_null")]
    verdict: Option<&'static str>,
    /// The reasons, as far as the test gives them. Present if it applies.
    #[schemars(with = "Vec<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<&'a [String]>,
    /// The assumption of the test that the set does not satisfy.
    #[schemars(with = "DoesNotApply<'static>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    does_not_apply: Option<DoesNotApply<'a>>,
}

/// An assumption that the system violates, so that the test does not apply.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct DoesNotApply<'a> {
    /// A word for it.
    assumption: &'static str,
    /// In a sentence.
    reason: &'a str,
    /// Advice on how to fix it.
    help: &'static str,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl<'a> Document<'a> {
    /// Wraps an answer.
    pub(super) fn of(checked: &'a Checked) -> Document<'a> {
        let system = &checked.set.system;
        let not_applicable = checked.not_assessed();
        let digits = checked.digits;
        let any_policy = checked.any_policy.iter().map(|said| Test { system, said, digits });
        Document {
            layland: env!("CARGO_PKG_VERSION"),
            command: "check",
            set: SetSummary {
                name: &checked.set.name,
                tasks: system.tasks.len(),
                cpus: system.platform.cpu_count(),
                utilization: system.utilization().to_f64(),
                assumed: &checked.set.assumed,
                seen: system.observed.as_ref().map(|observed| Seen {
                    length_ns: observed.length.map(Duration::ns),
                    unexplained: &observed.unexplained,
                }),
            },
            run_margin: checked.reserved.as_ref().map(|reserved| match &reserved.margin {
                RunMargin::Fraction(fraction) => {
                    OfRun::Fraction { fraction: fraction.to_f64(), least_ns: LEAST_MARGIN.ns() }
                }
                RunMargin::Time(time) => OfRun::Time { ns: time.ns() },
            }),
            policies: (checked.policies.iter())
                .map(|policy| Policy {
                    reserved: (checked.reserved.as_ref())
                        .map(|reserved| ReservedBy::of(reserved, &policy.spec)),
                    chains: chains::of(checked, &policy.spec),
                    witness: policy.witness.as_deref().map(|run| witness(run, system)),
                    numbers: checked.numbers.get(&policy.spec).map(Vec::as_slice),
                    sensitivity: checked
                        .has_limits
                        .then(|| sensitivity(policy, checked.system(&policy.spec))),
                    ..Policy::of(policy, checked.system(&policy.spec), digits)
                })
                .collect(),
            any_policy: any_policy.collect(),
            not_applicable: not_applicable
                .map(|(policy, reason)| NotApplicable { policy, reason })
                .collect(),
            affinities: checked.affinities.as_ref().map(|found| Affinities {
                kept_by: &found.kept_by,
                refused_by: (found.refused_by.iter())
                    .map(|(reason, policies)| RefusedBy { reason, policies })
                    .collect(),
            }),
            exit: checked.exit,
        }
    }
}

impl<'a> Policy<'a> {
    fn of(policy: &'a Assessment, system: &'a System, digits: Digits) -> Policy<'a> {
        let bounds = policy.bounds.iter();
        Policy {
            policy: &policy.spec,
            verdict: policy.verdict.name(),
            decided_by: policy.decided_by,
            verdict_without_affinities: policy.without_affinities.map(Verdict::name),
            reasons: &policy.reasons,
            tightest: policy.tightest.as_deref(),
            assignment: assigned(policy.assignment.as_ref(), system),
            refused: policy.refused.as_ref().map(|refusal| refusal.answer.reason.as_str()),
            margin: policy.margin.as_ref().map(|margin| Margin {
                wcet_factor: margin.factor().to_f64(),
                resolution: 0.001,
                speed: margin.speed().map(|speed| speed.to_f64()),
                stopped_by: margin.stopped_by.as_ref().map(|stop| Stop {
                    task: stop.task.map(|task| system.tasks[task].name.to_string()),
                    cpus: stop.cpus.as_ref().map(ToString::to_string),
                    test: stop.test,
                    reason: stop.reason.clone(),
                }),
                decided_anew: (margin.factor_anew())
                    .map(|factor| Anew { wcet_factor: factor.to_f64() }),
            }),
            sensitivity: None,
            bounds: bounds.map(|(task, bound)| OfTask { system, task, bound }).collect(),
            overheads: policy.inflation.as_ref().map(|tasks| {
                let of = |(id, task): (TaskId, &'a layland_analysis::overheads::Inflation)| {
                    let terms = task.terms.iter();
                    Overheads {
                        task: &system.tasks[id].name,
                        wcet_ns: system.tasks[id].own_wcet().ns(),
                        inflated_ns: task.wcet.ns(),
                        terms: terms.map(|(name, length)| Term { name, ns: length.ns() }).collect(),
                        divided_by: task.left.to_string(),
                    }
                };
                tasks.iter().map(of).collect()
            }),
            tests: policy.said.iter().map(|said| Test { system, said, digits }).collect(),
            reserved: None,
            witness: None,
            chains: Vec::new(),
            numbers: None,
        }
    }
}

impl<'a> ReservedBy<'a> {
    fn of(reserved: &'a Reserved, spec: &str) -> Option<ReservedBy<'a>> {
        let of = reserved.by.get(spec)?;
        let larger = match of.reserves {
            Reserves::AsSaid => None,
            Reserves::Budgets => Some("budgets"),
            Reserves::Wcets => Some("wcets"),
        };
        let tasks = reserved.system(of.reserves).into_iter().flat_map(|system| {
            system.tasks.values().map(|task| ReservedFor {
                task: &task.name,
                wcet_ns: task.wcet.iter().map(|wcet| wcet.ns()).collect(),
                budget_ns: task.budget.map(Service::ns),
            })
        });
        let verdict_without = of.without.name();
        Some(ReservedBy { larger, verdict_without, tasks: tasks.collect() })
    }
}

fn sensitivity<'a>(policy: &Assessment, system: &'a System) -> Option<Sensitivity<'a>> {
    let found = policy.sensitivity.as_ref()?;
    let of_task = |(id, limits): (TaskId, &Limits)| OfOne {
        task: &system.tasks[id].name,
        wcet_ns: limits.wcet.map(Duration::ns),
        wcet_work_ns: limits.work.map(Service::ns),
        deadline_ns: limits.deadline.map(Duration::ns),
        period_ns: limits.period.map(Duration::ns),
        jitter_ns: limits.jitter.map(Duration::ns),
    };
    let of_cpu = |limit: &CpuLimit| OfCpu {
        cpu: limit.cpu.0,
        wcet_factor: (limit.thousandths > 0).then(|| limit.factor().to_f64()),
        least_speed: limit.least_speed().map(|speed| speed.to_string()),
    };
    Some(Sensitivity {
        pinned: true,
        boundary: if found.is_exact { "exact" } else { "first refused" },
        tasks: found.tasks.iter().map(of_task).collect(),
        cpus: found.cpus.iter().map(of_cpu).collect(),
    })
}

fn witness<'a>(Run { record, origin, over, .. }: &'a Run, system: &'a System) -> Witness<'a> {
    let JobRecord { job, end, .. } = record;
    Witness {
        task: &system.tasks[job.id.task].name,
        job: job.id.seq,
        arrival_ns: job.arrival.ns(),
        deadline_ns: job.deadline.ns(),
        end_ns: end.map(|(at, _)| at.ns()),
        over_ns: over.ns(),
        found_by: origin.name(),
        seed: origin.seed(),
    }
}

impl Serialize for OfTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let OfTask { system, task, bound } = *self;
        let useless = bound.is_useless(&system.tasks[task]);
        let task = &system.tasks[task].name;
        let document = match bound {
            Bound::Unknown => BoundDocument::Unknown { task },
            Bound::Response { within, by, kind, per_level } => {
                let levels = by_level(per_level, system);
                let per_level = levels.map(|(level, length)| Level { level, ns: length.ns() });
                let (ns, worth, per_level) = (within.ns(), kind.name(), per_level.collect());
                BoundDocument::Response { ns, by, worth, task, useless, per_level }
            }
            Bound::Tardiness { within, by } => {
                let (ns, exact_ns) = (within.ceil(), within.to_string());
                BoundDocument::Tardiness { ns, exact_ns, by, task, useless }
            }
        };
        document.serialize(serializer)
    }
}

impl Serialize for Test<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Test { system, said: Said { test, finding }, digits } = *self;
        let found = (***finding).as_ref();
        let document = TestDocument {
            test: test.name,
            kind: test.kind.name(),
            cite: test.citations.iter().map(|citation| citation.key).collect(),
            verdict: found.ok().map(|Finding { verdict, .. }| verdict.name()),
            reasons: found.ok().map(|_| finding.sentences(system, digits)),
            does_not_apply: found.err().map(|refusal| DoesNotApply {
                assumption: refusal.assumption.code(),
                reason: &refusal.message,
                help: refusal.help,
            }),
        };
        document.serialize(serializer)
    }
}

/// Pairs the bounds of a task with the names of the levels.
pub fn by_level<'a>(
    per_level: &'a [Duration],
    system: &'a System,
) -> impl Iterator<Item = (&'a str, Duration)> {
    system.levels.names().iter().map(String::as_str).zip(per_level.iter().copied())
}
