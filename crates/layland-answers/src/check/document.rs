//! The answer as one JSON document. It is serialized directly from the answer: serialization is
//! most of the work for a stream of sets, and a tree of values would double it.

mod line;

use super::chains;
use super::checked::Checked;
use super::reserved::Reserved;
use crate::Exit;
use layland_analysis::{Finding, Verdict};
use layland_engine::reserves::{LEAST_MARGIN, Margin as RunMargin, Reserves};
use layland_guarantee::search::Witness as Run;
use layland_guarantee::{Assessment, Bound, Said};
use layland_model::{Duration, Service, System, TaskId};
use layland_policy::Text;
use layland_trace::JobRecord;
use serde::ser::SerializeMap;
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

/// The answer, as `layland check --json` prints it.
#[derive(Serialize)]
pub struct Document<'a> {
    layland: &'static str,
    command: &'static str,
    set: SetSummary<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_margin: Option<OfRun>,
    policies: Vec<Policy<'a>>,
    any_policy: Vec<Test<'a>>,
    not_applicable: Vec<NotApplicable>,
    affinities: Option<Affinities<'a>>,
    exit: Exit,
}

#[derive(Serialize)]
struct SetSummary<'a> {
    name: &'a str,
    tasks: usize,
    cpus: usize,
    utilization: f64,
    assumed: &'a [String],
    /// Present if the set was inferred from a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Seen<'a>>,
}

/// The trace that a set was inferred from.
#[derive(Serialize)]
struct Seen<'a> {
    length_ns: Option<i64>,
    unexplained: &'a [String],
}

#[derive(Serialize)]
struct Policy<'a> {
    policy: &'a str,
    verdict: &'static str,
    decided_by: Option<&'static str>,
    verdict_without_affinities: Option<&'static str>,
    reasons: &'a [String],
    refused: Option<&'a str>,
    /// Present with `--margin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved: Option<Option<ReservedBy<'a>>>,
    margin: Option<Margin>,
    bounds: Vec<OfTask<'a>>,
    overheads: Option<Vec<Overheads<'a>>>,
    tests: Vec<Test<'a>>,
    witness: Option<Witness<'a>>,
    /// Present if the set has chains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chains: Vec<chains::OfChain<'a>>,
}

/// The margin of a run.
#[derive(Serialize)]
#[serde(untagged)]
enum OfRun {
    Fraction { fraction: f64, least_ns: i64 },
    Time { ns: i64 },
}

/// The reservation of a run under a policy.
#[derive(Serialize)]
struct ReservedBy<'a> {
    larger: Option<&'static str>,
    verdict_without: &'static str,
    tasks: Vec<ReservedFor<'a>>,
}

#[derive(Serialize)]
struct ReservedFor<'a> {
    task: &'a str,
    wcet_ns: Vec<i64>,
    budget_ns: Option<i64>,
}

#[derive(Serialize)]
struct Margin {
    wcet_factor: f64,
    resolution: f64,
    speed: Option<f64>,
    stopped_by: Option<Stop>,
    decided_anew: Option<Anew>,
}

/// The obstacle to further growth of the WCETs.
#[derive(Serialize)]
struct Stop {
    task: Option<String>,
    cpus: Option<String>,
    test: Option<&'static str>,
    reason: String,
}

/// The larger factor that is possible if the policy decides anew.
#[derive(Serialize)]
struct Anew {
    wcet_factor: f64,
}

#[derive(Serialize)]
struct Overheads<'a> {
    task: &'a str,
    wcet_ns: i64,
    inflated_ns: i64,
    terms: Vec<Term<'a>>,
    divided_by: String,
}

#[derive(Serialize)]
struct Term<'a> {
    name: &'a str,
    ns: i64,
}

#[derive(Serialize)]
struct Level<'a> {
    level: &'a str,
    ns: i64,
}

#[derive(Serialize)]
struct Witness<'a> {
    task: &'a str,
    job: u64,
    arrival_ns: i64,
    deadline_ns: i64,
    end_ns: Option<i64>,
    over_ns: i64,
    found_by: &'static str,
    seed: Option<u64>,
}

#[derive(Serialize)]
struct NotApplicable {
    policy: String,
    reason: String,
}

#[derive(Serialize)]
struct Affinities<'a> {
    kept_by: &'a [Text],
    refused_by: Vec<RefusedBy<'a>>,
}

#[derive(Serialize)]
struct RefusedBy<'a> {
    reason: &'a str,
    policies: &'a [Text],
}

/// The bound of a task.
struct OfTask<'a> {
    system: &'a System,
    task: TaskId,
    bound: &'a Bound,
}

/// The answer of a test.
struct Test<'a> {
    system: &'a System,
    said: &'a Said,
}

/// An assumption that the system violates, so that the test does not apply.
#[derive(Serialize)]
struct DoesNotApply<'a> {
    assumption: &'static str,
    reason: &'a str,
    help: &'static str,
}

impl<'a> Document<'a> {
    /// Wraps an answer.
    pub(super) fn of(checked: &'a Checked) -> Document<'a> {
        let system = &checked.set.system;
        let not_applicable = checked.not_assessed();
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
                    ..Policy::of(policy, checked.system(&policy.spec))
                })
                .collect(),
            any_policy: checked.any_policy.iter().map(|said| Test { system, said }).collect(),
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
    fn of(policy: &'a Assessment, system: &'a System) -> Policy<'a> {
        let bounds = policy.bounds.iter();
        Policy {
            policy: &policy.spec,
            verdict: policy.verdict.name(),
            decided_by: policy.decided_by,
            verdict_without_affinities: policy.without_affinities.map(Verdict::name),
            reasons: &policy.reasons,
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
            tests: policy.said.iter().map(|said| Test { system, said }).collect(),
            reserved: None,
            witness: None,
            chains: Vec::new(),
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
        let mut map = serializer.serialize_map(None)?;
        match bound {
            Bound::Unknown => map.serialize_entry("kind", "unknown")?,
            Bound::Response { within, by, kind, .. } => {
                map.serialize_entry("kind", "response")?;
                map.serialize_entry("ns", &within.ns())?;
                map.serialize_entry("by", by)?;
                map.serialize_entry("worth", kind.name())?;
            }
            Bound::Tardiness { within, by } => {
                map.serialize_entry("kind", "tardiness")?;
                map.serialize_entry("ns", &within.ceil())?;
                map.serialize_entry("exact_ns", &within.to_string())?;
                map.serialize_entry("by", by)?;
            }
        }
        map.serialize_entry("task", &system.tasks[task].name)?;
        if bound.is_useless(&system.tasks[task]) {
            map.serialize_entry("useless", &true)?;
        }
        if let Bound::Response { per_level, .. } = bound
            && !per_level.is_empty()
        {
            let levels = by_level(per_level, system);
            let levels: Vec<Level<'_>> =
                levels.map(|(level, length)| Level { level, ns: length.ns() }).collect();
            map.serialize_entry("per_level", &levels)?;
        }
        map.end()
    }
}

impl Serialize for Test<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Test { system, said: Said { test, finding } } = *self;
        let keys: Vec<&str> = test.citations.iter().map(|citation| citation.key).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("test", test.name)?;
        map.serialize_entry("kind", test.kind.name())?;
        map.serialize_entry("cite", &keys)?;
        match &***finding {
            Ok(Finding { verdict, .. }) => {
                map.serialize_entry("verdict", verdict.name())?;
                map.serialize_entry("reasons", finding.sentences(system))?;
            }
            Err(refusal) => {
                map.serialize_entry("verdict", &None::<&str>)?;
                let why = DoesNotApply {
                    assumption: refusal.assumption.code(),
                    reason: &refusal.message,
                    help: refusal.help,
                };
                map.serialize_entry("does_not_apply", &why)?;
            }
        }
        map.end()
    }
}

/// Pairs the bounds of a task with the names of the levels.
pub fn by_level<'a>(
    per_level: &'a [Duration],
    system: &'a System,
) -> impl Iterator<Item = (&'a str, Duration)> {
    system.levels.names().iter().map(String::as_str).zip(per_level.iter().copied())
}
