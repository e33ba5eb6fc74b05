//! The answer of a test: a verdict, and the numbers that explain it.
//!
//! Long because each reason has its sentence here.

use crate::fixed_point::{Diverged, GaveUp};
use layland_model::shown::{self, DIGITS};
use layland_model::{
    CpuId, CpuSet, Duration, GroupId, Index, Piece, Rate, RateSum, System, TaskId, TaskMap, counted,
};
use std::borrow::Cow;

/// The answers of a test that can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestKind {
    /// *Yes* and *no* are both true.
    Exact,
    /// *Yes* is true; the answer is *unknown* where the test fails.
    Sufficient,
    /// *No* is true; the answer is *unknown* where the test passes.
    Necessary,
}

impl TestKind {
    /// The kind in one word.
    pub const fn name(self) -> &'static str {
        match self {
            TestKind::Exact => "exact",
            TestKind::Sufficient => "sufficient",
            TestKind::Necessary => "necessary",
        }
    }

    /// Returns the verdict of a test of this kind whose condition holds or fails.
    ///
    /// ```
    /// use layland_analysis::{TestKind, Verdict};
    /// assert_eq!(TestKind::Exact.verdict(false), Verdict::No);
    /// assert_eq!(TestKind::Sufficient.verdict(false), Verdict::Unknown);
    /// assert_eq!(TestKind::Necessary.verdict(true), Verdict::Unknown);
    /// ```
    pub const fn verdict(self, holds: bool) -> Verdict {
        match (self, holds) {
            (TestKind::Exact | TestKind::Sufficient, true) => Verdict::Yes,
            (TestKind::Exact | TestKind::Necessary, false) => Verdict::No,
            (TestKind::Sufficient, false) | (TestKind::Necessary, true) => Verdict::Unknown,
        }
    }
}

/// The answer to "is it guaranteed?".
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is guaranteed.
    Yes,
    /// It is not guaranteed: the parameters of the tasks allow a run that breaks it.
    No,
    /// This test cannot decide.
    Unknown,
}

impl Verdict {
    /// The verdict in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Unknown => "unknown",
        }
    }

    /// Combines the verdicts of two parts into the verdict on the whole.
    pub fn both(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::No, _) | (_, Verdict::No) => Verdict::No,
            (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
            (Verdict::Yes, Verdict::Yes) => Verdict::Yes,
        }
    }
}

/// A verdict with its reasons.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The answer.
    pub verdict: Verdict,
    /// The reasons: for a *yes*, every comparison or construction; otherwise those that failed.
    pub reasons: Vec<Reason>,
}

impl Finding {
    /// A verdict for one reason.
    pub fn new(verdict: Verdict, reason: Reason) -> Finding {
        Finding { verdict, reasons: vec![reason] }
    }
}

/// The part of the system that a reason is about; the whole system if it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// A task.
    pub task: Option<TaskId>,
    /// These CPUs.
    pub cpus: Option<CpuSet>,
    /// An interval of this length.
    pub interval: Option<Duration>,
}

impl Scope {
    /// The scope of these CPUs.
    pub fn cpus(cpus: &CpuSet) -> Scope {
        Scope { cpus: Some(cpus.clone()), ..Scope::default() }
    }
    /// The scope of a task on these CPUs.
    pub fn task(task: TaskId, cpus: &CpuSet) -> Scope {
        Scope { task: Some(task), ..Scope::cpus(cpus) }
    }
}

/// A number that was compared.
#[derive(Clone, Debug)]
pub enum Quantity {
    /// A plain number, such as a utilization or a sum of densities.
    Number(Rate),
    /// A plain number that is a sum. It is added up exactly only on demand, which is rare.
    Sum(RateSum),
    /// A time in nanoseconds, possibly fractional.
    Time(Rate),
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        match (self, other) {
            (Quantity::Sum(a), Quantity::Sum(b)) => a == b,
            (Quantity::Time(_), Quantity::Number(_) | Quantity::Sum(_))
            | (Quantity::Number(_) | Quantity::Sum(_), Quantity::Time(_)) => false,
            _ => self.exact() == other.exact(),
        }
    }
}
impl Eq for Quantity {}

impl Quantity {
    /// Returns a time.
    pub fn of_ns(ns: i128) -> Quantity {
        Quantity::Time(Rate::of_wide(ns, 1))
    }

    /// Returns the exact value.
    pub fn exact(&self) -> Cow<'_, Rate> {
        match self {
            Quantity::Number(rate) | Quantity::Time(rate) => Cow::Borrowed(rate),
            Quantity::Sum(sum) => Cow::Owned(sum.exact()),
        }
    }

    /// Writes two numbers or two times that are compared, with digits until they look as they
    /// compare.
    fn pair(&self, other: &Quantity, digits: u32) -> (String, String) {
        if let Some(pair) = self.quick(other, digits) {
            return pair;
        }
        let (value, other) = (self.exact(), other.exact());
        let exact = (&*value, &*other);
        match self {
            Quantity::Number(_) | Quantity::Sum(_) => shown::numbers(exact, digits),
            Quantity::Time(_) => shown::times(exact, digits),
        }
    }

    /// Writes a sum and a whole bound without adding the sum up exactly, if that leaves no doubt.
    fn quick(&self, other: &Quantity, digits: u32) -> Option<(String, String)> {
        let (Quantity::Sum(sum), Quantity::Number(bound), DIGITS) = (self, other, digits) else {
            return None;
        };
        let Some((whole, 1)) = bound.as_i64_pair() else { return None };
        let millionths = sum.millionths()?;
        // A sum of whole thousandths may be exact, and one halfway between two was itself rounded.
        if millionths < 100_000 || millionths % 500 == 0 {
            return None;
        }
        let thousandths = (millionths + 500) / 1000;
        // A number that is not whole must not look like its bound.
        let is_clear = i64::try_from(thousandths).is_ok_and(|ours| ours != whole * 1000);
        is_clear.then(|| {
            let sum = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
            (sum, whole.to_string())
        })
    }
}

/// A quantity that was compared with its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The quantity, as in "the sum of the densities".
    pub what: &'static str,
    /// The part of the system that it belongs to.
    pub scope: Scope,
    /// Its value.
    pub value: Quantity,
    /// The largest permitted value.
    pub bound: Quantity,
    /// True if the condition holds.
    pub holds: bool,
    /// True if the quantity may be larger than `value`: a search stops once it has passed the
    /// bound.
    pub is_at_least: bool,
    /// True if the quantity itself is an upper bound of what it is about, which may be smaller.
    pub is_upper_bound: bool,
}

/// A reason for a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A quantity and its bound.
    Compared(Box<Comparison>),
    /// A partition that works.
    Partition(TaskMap<CpuId>),
    /// The largest utilizations sum to more than the speeds of as many CPUs, the fastest ones; or the
    /// largest demands in an interval to more than these CPUs do in it.
    Largest {
        /// The number of tasks.
        count: usize,
        /// The length of the interval.
        interval: Option<Duration>,
        /// The CPUs.
        cpus: CpuSet,
        /// The sum of the utilizations or demands.
        value: Quantity,
        /// The sum of the speeds, or the work of the CPUs.
        bound: Quantity,
    },
    /// Tasks fit onto CPUs, some of them in pieces.
    Split(TaskMap<Vec<Piece>>),
    /// No partition was found, or there is none; the obstacle, in words.
    NotPartitioned(String),
    /// A working assignment of priorities, the highest first.
    PriorityOrder(Vec<TaskId>),
    /// None of these tasks can have the lowest priority among them.
    NoneCanBeLowest(Vec<TaskId>),
    /// A quantity of a task has no bound.
    NoBound(TaskId, Diverged),
    /// The test, among several tried, that accepts.
    AcceptedBy(&'static str),
    /// Tasks that do not catch up once they are late, because of what it costs to throttle them.
    StaysLate(Vec<TaskId>),
    /// Jobs of this task may be late, as far as the test can decide.
    MayBeLate(TaskId),
    /// These CPUs cannot take this task's load there in addition to their own.
    DoesNotFit(TaskId, CpuSet),
    /// A condition without numbers holds, in words.
    Holds(&'static str),
    /// The number of jobs in a busy period, and whether each can be given a priority.
    JobPattern {
        /// The number of jobs.
        jobs: u64,
        /// True if each has a priority; none if there are more than the analysis handles.
        placed: Option<bool>,
    },
    /// A reason about a group and its servers.
    OfGroup(GroupId, Box<Reason>),
    /// The computation gave up.
    GaveUp(GaveUp),
    /// The test fails in a pattern of releases that the parameters of sporadic tasks allow, but
    /// that the offsets or the given releases of this system may exclude.
    PatternMayNotOccur,
}

impl Reason {
    /// Returns a comparison.
    pub fn compared(
        what: &'static str,
        scope: Scope,
        value: Quantity,
        bound: Quantity,
        holds: bool,
    ) -> Reason {
        let (is_at_least, is_upper_bound) = (false, false);
        Reason::Compared(Box::new(Comparison {
            what,
            scope,
            value,
            bound,
            holds,
            is_at_least,
            is_upper_bound,
        }))
    }

    /// Marks the reason: the quantity is an upper bound, which may be larger than the value.
    #[must_use]
    pub fn of_bound_at_least(self) -> Reason {
        let mut reason = self.at_least();
        if let Reason::Compared(comparison) = &mut reason {
            comparison.is_upper_bound = true;
        }
        reason
    }

    /// Returns this reason as one about a group.
    #[must_use]
    pub fn of_group(self, group: GroupId) -> Reason {
        Reason::OfGroup(group, Box::new(self))
    }

    /// Marks the reason: the quantity may be larger than the value.
    #[must_use]
    pub fn at_least(mut self) -> Reason {
        if let Reason::Compared(comparison) = &mut self {
            comparison.is_at_least = true;
        }
        self
    }

    /// Describes the reason as a sentence without a full stop, with the names of the system's
    /// tasks.
    pub fn describe(&self, system: &System) -> String {
        self.describe_with(system, DIGITS)
    }

    /// As [`describe`](Self::describe), with this many digits of rounded numbers.
    pub fn describe_with(&self, system: &System, digits: u32) -> String {
        let name = |task: &TaskId| format!("`{}`", system.tasks[*task].name);
        let names = |tasks: &[TaskId]| tasks.iter().map(name).collect::<Vec<String>>().join(", ");
        match self {
            Reason::Compared(comparison) => {
                let Comparison { what, scope, value, bound, holds, is_at_least, is_upper_bound } =
                    &**comparison;
                let mut text = String::with_capacity(128);
                if *is_upper_bound {
                    text += "the bound on ";
                }
                text += what;
                if let Some(task) = &scope.task {
                    text += " of `";
                    text += &system.tasks[*task].name;
                    text += "`";
                }
                if let Some(cpus) = &scope.cpus
                    && *cpus != system.platform.all_cpus()
                {
                    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
                    text += &format!(" on {word} {cpus}");
                }
                if let Some(interval) = &scope.interval {
                    text += &format!(" in {interval:#}");
                }
                text += if *is_at_least { " is at least " } else { " is " };
                let (value, bound) = value.pair(bound, digits);
                text += &value;
                text += if *holds { ", within " } else { ", not within " };
                text += &bound;
                text
            }
            Reason::Largest { count, interval, cpus, value, bound } => {
                let (value, bound) = value.pair(bound, digits);
                match (interval, count) {
                    (None, 1) => format!(
                        "the largest utilization is {value}, not within {bound}, the highest speed"
                    ),
                    (None, count) => format!(
                        "the {count} largest utilizations sum to {value}, not within {bound}, the sum of the {count} \
                         highest speeds"
                    ),
                    (Some(interval), count) => {
                        let what = if *count == 1 {
                            "the largest demand".to_owned()
                        } else {
                            format!("the sum of the {count} largest demands")
                        };
                        let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
                        format!(
                            "{what} in {interval:#} is {value}, not within {bound}, the work of {word} {cpus}"
                        )
                    }
                }
            }
            Reason::Partition(cpu_of) => {
                let each: Vec<String> =
                    cpu_of.iter().map(|(task, cpu)| format!("{} on {cpu}", name(&task))).collect();
                format!("a partition is {}", each.join(", "))
            }
            Reason::Split(pieces) => {
                let is_split = |(_, pieces): &(TaskId, &Vec<Piece>)| pieces.len() > 1;
                let part = |piece: &Piece| format!("{:#} on CPU {}", piece.budget, piece.cpu);
                let each: Vec<String> = pieces
                    .iter()
                    .filter(is_split)
                    .map(|(task, pieces)| {
                        let parts: Vec<String> = pieces.iter().map(part).collect();
                        format!("{} is split: {}", name(&task), parts.join(", "))
                    })
                    .collect();
                if each.is_empty() {
                    "every task fits on a CPU, and none is split".to_owned()
                } else {
                    each.join("; ")
                }
            }
            Reason::NotPartitioned(why) => why.clone(),
            Reason::PriorityOrder(order) => {
                format!("priorities that work, highest first: {}", names(order))
            }
            Reason::NoneCanBeLowest(tasks) => {
                format!("none of {} can have the lowest priority among them", names(tasks))
            }
            Reason::NoBound(task, diverged) => {
                format!("the response time of {} has no bound: {diverged}", name(task))
            }
            Reason::AcceptedBy(test) => format!("{test} accepts"),
            Reason::StaysLate(tasks) => {
                format!(
                    "(3) once late, {} would not catch up: migrating tasks have to leave more of their periods \
                     than a forced throttle costs",
                    names(tasks)
                )
            }
            Reason::MayBeLate(task) => {
                format!("no bound could be found for the tardiness of {}", name(task))
            }
            Reason::DoesNotFit(task, cpus) => {
                format!("the demand of {} on CPU {cpus} does not fit beside the others", name(task))
            }
            Reason::Holds(what) => (*what).to_owned(),
            Reason::JobPattern { jobs, placed } => {
                let what = match placed {
                    Some(true) => "each has a priority",
                    Some(false) => "none of those that are left can have the lowest priority",
                    None => "priorities were not found within the steps that the analysis may take",
                };
                format!("a busy period has {}: {what}", counted(*jobs, "job"))
            }
            Reason::OfGroup(group, reason) => {
                let group = system.groups.get(group.index()).map_or("", |group| &group.name);
                format!("group `{group}`: {}", reason.describe_with(system, digits))
            }
            Reason::GaveUp(why) => why.to_string(),
            Reason::PatternMayNotOccur => "it fails if the worst releases coincide, which these \
                 offsets or release times may exclude"
                .to_owned(),
        }
    }
}

impl Reason {
    /// The task and the CPUs that the reason is about, as far as it names them.
    pub fn place(&self) -> (Option<TaskId>, Option<&CpuSet>) {
        match self {
            Reason::Compared(comparison) => (comparison.scope.task, comparison.scope.cpus.as_ref()),
            Reason::DoesNotFit(task, cpus) => (Some(*task), Some(cpus)),
            Reason::Largest { cpus, .. } => (None, Some(cpus)),
            Reason::NoBound(task, _) | Reason::MayBeLate(task) => (Some(*task), None),
            Reason::NoneCanBeLowest(tasks) => (tasks.last().copied(), None),
            Reason::StaysLate(tasks) => (tasks.first().copied(), None),
            Reason::OfGroup(_, reason) => reason.place(),
            Reason::Partition(_)
            | Reason::Split(_)
            | Reason::NotPartitioned(_)
            | Reason::PriorityOrder(_)
            | Reason::AcceptedBy(_)
            | Reason::Holds(_)
            | Reason::JobPattern { .. }
            | Reason::GaveUp(_)
            | Reason::PatternMayNotOccur => (None, None),
        }
    }
}

/// A bound on the tardiness of a task's jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TardinessBound {
    /// The task.
    pub task: TaskId,
    /// No job finishes later than this after its deadline; in nanoseconds, exact.
    pub tardiness: Rate,
}

impl TardinessBound {
    /// Returns the bound rounded up to a whole nanosecond, or `None` if it is beyond 292 years.
    pub fn rounded_up(&self) -> Option<Duration> {
        self.tardiness.ceil().map(Duration::from_ns)
    }
}

/// The answer of a tardiness analysis.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tardiness {
    /// A bound for each task.
    Bounded(TaskMap<TardinessBound>),
    /// This analysis gives no bound, for these reasons.
    Unknown(Vec<Reason>),
}

/// A bound on the response times of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct ResponseBound {
    /// The task.
    pub task: TaskId,
    /// No job finishes later than this after its arrival.
    pub response: Duration,
    /// Mixed criticality: the bound in runs of each level from the lowest to the task's own, if the
    /// analysis distinguishes them.
    pub per_level: Vec<Duration>,
}

impl ResponseBound {
    /// Returns one bound for every run.
    pub fn new(task: TaskId, response: Duration) -> ResponseBound {
        ResponseBound { task, response, per_level: Vec::new() }
    }
}
