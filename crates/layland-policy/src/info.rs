//! What a policy says of itself: what it is called, what it is, what it refuses, its options, whom to cite,
//! and how it is built.
//!
//! Everything is owned, so that a description can come from another crate, or be made at run time.

use crate::{Policy, Refusal};
use layland_model::{Algorithm, Citation, CpuId, Duration, Rate, System, Task, TaskId};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A text of ours, or one that was made at run time.
pub type Text = Cow<'static, str>;

/// A policy that can be built.
///
/// ```
/// use layland_model::{Algorithm, Form, Order};
/// use layland_policy::{OptionInfo, PolicyInfo, Registry, Values, ordered};
/// let info = PolicyInfo::new("mine", "my global EDF", "as g-edf, under another name", |system, options| {
///     Ok(Box::new(ordered::global(Order::Deadline, system, options)?))
/// })
/// .implementing(Algorithm::Ordered(Form::Global, Order::Deadline))
/// .refusing(["several clusters, and affinities to some CPUs only"])
/// .with_options([OptionInfo::new("colour", "what it is painted in", Values::one_of(["red", "blue"]))]);
/// let registry = Registry::standard().with(info).unwrap();
/// assert!(registry.parse("mine:colour=red").is_ok());
/// ```
#[derive(Clone)]
pub struct PolicyInfo {
    /// Its name.
    pub name: Text,
    /// Its name in full.
    pub title: Text,
    /// What it does, in a sentence.
    pub summary: Text,
    /// What it refuses, each with the reason.
    pub refuses: Vec<Text>,
    /// Its options.
    pub options: Vec<OptionInfo>,
    /// What decides between equal jobs, in a sentence; empty if it does not say.
    pub ties: Text,
    /// Whom to cite.
    pub citations: Vec<Citation>,
    keeps_regions: bool,
    follows_steps: bool,
    takes_followers: bool,
    algorithm: Arc<dyn Fn(&PolicyOptions) -> Algorithm + Send + Sync>,
    build: Arc<Constructor>,
}

type Constructor =
    dyn Fn(&System, &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> + Send + Sync;

impl PolicyInfo {
    /// A policy of which no analysis is known, which refuses nothing and has no options.
    pub fn new(
        name: impl Into<Text>,
        title: impl Into<Text>,
        summary: impl Into<Text>,
        build: impl Fn(&System, &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal>
        + Send
        + Sync
        + 'static,
    ) -> PolicyInfo {
        PolicyInfo {
            name: name.into(),
            title: title.into(),
            summary: summary.into(),
            refuses: Vec::new(),
            options: Vec::new(),
            ties: Text::default(),
            citations: Vec::new(),
            keeps_regions: false,
            follows_steps: false,
            takes_followers: false,
            algorithm: Arc::new(|_| Algorithm::Other),
            build: Arc::new(build),
        }
    }

    /// It implements this algorithm: the analyses of the algorithm are about it.
    #[must_use]
    pub fn implementing(self, algorithm: Algorithm) -> PolicyInfo {
        self.implementing_by(move |_| algorithm)
    }

    /// Which algorithm it implements depends on its options.
    #[must_use]
    pub fn implementing_by(
        self,
        algorithm: impl Fn(&PolicyOptions) -> Algorithm + Send + Sync + 'static,
    ) -> PolicyInfo {
        PolicyInfo { algorithm: Arc::new(algorithm), ..self }
    }

    /// It refuses these.
    #[must_use]
    pub fn refusing<T: Into<Text>>(self, what: impl IntoIterator<Item = T>) -> PolicyInfo {
        PolicyInfo { refuses: what.into_iter().map(Into::into).collect(), ..self }
    }

    /// It has these options.
    #[must_use]
    pub fn with_options(self, options: impl IntoIterator<Item = OptionInfo>) -> PolicyInfo {
        PolicyInfo { options: options.into_iter().collect(), ..self }
    }

    /// It decides so between equal jobs.
    #[must_use]
    pub fn breaking_ties(self, ties: impl Into<Text>) -> PolicyInfo {
        PolicyInfo { ties: ties.into(), ..self }
    }

    /// It comes from these papers.
    #[must_use]
    pub fn citing(self, citations: impl IntoIterator<Item = Citation>) -> PolicyInfo {
        PolicyInfo { citations: citations.into_iter().collect(), ..self }
    }

    /// It preempts jobs where their tasks let it ([`Preemption`](layland_model::Preemption)). A policy that does not
    /// say so takes no task with non-preemptive regions.
    #[must_use]
    pub fn keeping_regions(self) -> PolicyInfo {
        PolicyInfo { keeps_regions: true, ..self }
    }

    /// It knows what to do when jobs lock resources and suspend themselves ([`Step`](layland_model::Step)). A policy
    /// that does not say so takes no task with steps.
    #[must_use]
    pub fn following_steps(self) -> PolicyInfo {
        PolicyInfo { follows_steps: true, ..self }
    }

    /// It derives nothing from when jobs are released, so that they may wait for jobs of other tasks
    /// ([`Graph`](layland_model::Graph)). A policy that does not say so takes no task that follows another one.
    #[must_use]
    pub fn taking_followers(self) -> PolicyInfo {
        PolicyInfo { takes_followers: true, ..self }
    }

    /// The algorithm that it implements with these options.
    pub fn algorithm(&self, options: &PolicyOptions) -> Algorithm {
        (self.algorithm)(options)
    }

    /// Builds the policy for a system.
    ///
    /// # Errors
    /// If the policy cannot schedule it, a task has non-preemptive regions and the policy does not keep them, or a task
    /// has steps and the policy does not follow them.
    pub fn build(
        &self,
        system: &System,
        options: &PolicyOptions,
    ) -> Result<Box<dyn Policy>, SystemRefusal> {
        let with_regions = |(_, task): &(TaskId, &Task)| !task.preemption.is_anywhere();
        if !self.keeps_regions
            && let Some((id, task)) = system.tasks.iter().find(with_regions)
        {
            return Err(SystemRefusal::of_regions(&self.name, id, task));
        }
        if !self.follows_steps
            && let Some((id, task)) = system.tasks.iter().find(|(_, task)| task.steps.is_some())
        {
            return Err(SystemRefusal::of_steps(&self.name, id, task));
        }
        if !self.takes_followers
            && let Some((id, task)) = system.tasks.iter().find(|(_, task)| !task.follows.is_empty())
        {
            return Err(SystemRefusal::of_followers(&self.name, id, task));
        }
        (self.build)(system, options)
    }
}

impl fmt::Debug for PolicyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a policy does not take a system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{answer}")]
pub struct SystemRefusal {
    /// The answer, with its reason.
    pub answer: Refusal,
    /// The task that the reason is about; the first, if it is about several.
    pub task: Option<TaskId>,
    /// The reason in the words of all policies that have it, if it names this policy.
    pub in_general: Option<String>,
}

impl SystemRefusal {
    /// Why a policy does not take a task with non-preemptive regions.
    pub(crate) fn of_regions(policy: &str, id: TaskId, task: &Task) -> SystemRefusal {
        let reason = |who: &str| {
            format!(
                "task `{}` has non-preemptive regions, and {who} preempts anywhere: use EDF or fixed priorities \
                 (global, clustered or partitioned), or leave out `nonpreemptive` and `segments`",
                task.name
            )
        };
        Refusal::not_permitted(reason(policy)).about(id).in_general(reason("it"))
    }

    /// Why a policy does not take a task that follows another one.
    pub(crate) fn of_followers(policy: &str, id: TaskId, task: &Task) -> SystemRefusal {
        let reason = |who: &str| {
            format!(
                "task `{}` follows another one, and {who} takes jobs that are ready when they arrive: use EDF or fixed \
                 priorities (global, clustered or partitioned), or leave out `follows`",
                task.name
            )
        };
        Refusal::not_permitted(reason(policy)).about(id).in_general(reason("it"))
    }

    /// Why a policy does not take a task with steps.
    pub(crate) fn of_steps(policy: &str, id: TaskId, task: &Task) -> SystemRefusal {
        let reason = |who: &str| {
            format!(
                "task `{}` has `steps`, and {who} knows no locks and no suspensions: use partitioned EDF or fixed \
                 priorities (p-edf, p-rm, p-dm, p-fp)",
                task.name
            )
        };
        Refusal::not_permitted(reason(policy)).about(id).in_general(reason("it"))
    }

    /// The same reason in the words of all policies that have it.
    #[must_use]
    pub fn in_general(self, reason: impl Into<String>) -> SystemRefusal {
        SystemRefusal { in_general: Some(reason.into()), ..self }
    }
}

impl From<Refusal> for SystemRefusal {
    fn from(refusal: Refusal) -> SystemRefusal {
        SystemRefusal { answer: refusal, task: None, in_general: None }
    }
}

impl Refusal {
    /// The refusal of a system because of a task, which the reason names.
    pub fn about(self, task: TaskId) -> SystemRefusal {
        SystemRefusal { task: Some(task), ..SystemRefusal::from(self) }
    }
}

/// An option of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name.
    pub name: Text,
    /// What it does, with its values and the default.
    pub help: Text,
    /// What it can be.
    pub values: Values,
}

impl OptionInfo {
    /// An option.
    pub fn new(name: impl Into<Text>, help: impl Into<Text>, values: Values) -> OptionInfo {
        OptionInfo { name: name.into(), help: help.into(), values }
    }
}

/// What an option can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// On or off.
    Switch,
    /// One of these words.
    OneOf(Vec<Text>),
    /// A whole number from 0 on.
    Number,
    /// A fraction or a decimal above 0.
    Rate,
    /// A length of time above 0, with its unit.
    Duration,
    /// Numbers of CPUs, with a plus between them: `0+2+1`. Where nothing else is separated by commas, as in a file,
    /// commas do as well.
    Cpus,
    /// Items in bins.
    Bins,
}

impl Values {
    /// One of these words.
    pub fn one_of<T: Into<Text>>(words: impl IntoIterator<Item = T>) -> Values {
        Values::OneOf(words.into_iter().map(Into::into).collect())
    }

    /// Whether a text is such a value.
    pub fn accepts(&self, text: &str) -> bool {
        match self {
            Values::Switch => matches!(text, "on" | "off" | "true" | "false"),
            Values::OneOf(words) => words.iter().any(|word| word == text),
            Values::Number => text.parse::<usize>().is_ok(),
            Values::Rate => text.parse().is_ok_and(|rate: Rate| rate > Rate::ZERO),
            Values::Duration => duration(text).is_some(),
            Values::Cpus => cpus(text).is_some(),
            Values::Bins => layland_offline::parse_rounds(text).is_ok(),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Switch => f.write_str("on or off"),
            Values::OneOf(words) => match words.as_slice() {
                [rest @ .., last] if !rest.is_empty() => {
                    write!(f, "{} or {last}", rest.join(", "))
                }
                words => f.write_str(&words.concat()),
            },
            Values::Number => f.write_str("a whole number"),
            Values::Rate => f.write_str("a number above 0, such as 19/20 or 0.95"),
            Values::Duration => f.write_str("a length of time above 0, such as 1ms or 500us"),
            Values::Cpus => f.write_str("CPUs, such as 0+2+1"),
            Values::Bins => f.write_str("bins of numbers, such as 0+1/2"),
        }
    }
}

/// A length of time above 0.
fn duration(text: &str) -> Option<Duration> {
    text.trim().parse().ok().filter(|&length| length > Duration::ZERO)
}

/// Numbers of CPUs, separated by pluses or commas.
fn cpus(text: &str) -> Option<Vec<CpuId>> {
    text.split(['+', ',']).map(|cpu| cpu.trim().parse().ok().map(CpuId)).collect()
}

/// The options that a policy was given, by name, and what it is built for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyOptions {
    given: Vec<(String, String)>,
    purpose: Purpose,
}

/// What a policy is built for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Purpose {
    /// To decide.
    #[default]
    Decisions,
    /// To be asked for its rule.
    Rule,
}

impl PolicyOptions {
    /// Gives an option a value. The first value that an option is given counts.
    pub fn give(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.given.push((name.into(), value.into()));
    }

    /// The same for a policy that is asked for its [rule](Policy::rule) and never runs: what only decisions need may be
    /// left out of it.
    #[must_use]
    pub fn for_its_rule(&self) -> PolicyOptions {
        PolicyOptions { given: self.given.clone(), purpose: Purpose::Rule }
    }

    /// These options with another value for one of them.
    #[must_use]
    pub fn with(&self, name: impl Into<String>, value: impl Into<String>) -> PolicyOptions {
        let name = name.into();
        let mut given = self.without(&[&name]).given;
        given.push((name, value.into()));
        PolicyOptions { given, purpose: self.purpose }
    }

    /// These options without some of them.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> PolicyOptions {
        let stays = |(name, _): &&(String, String)| !names.contains(&name.as_str());
        let given = self.given.iter().filter(stays).cloned().collect();
        PolicyOptions { given, purpose: self.purpose }
    }

    /// Whether the policy is asked for its rule and never runs.
    pub fn is_for_its_rule(&self) -> bool {
        self.purpose == Purpose::Rule
    }

    /// The value of an option as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option that is on or off.
    ///
    /// # Errors
    /// If it is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.text(name) {
            None => Ok(default),
            Some("on" | "true") => Ok(true),
            Some("off" | "false") => Ok(false),
            Some(other) => Err(Refusal::invalid(format!("{name}=`{other}` is neither on nor off"))),
        }
    }

    /// The value of an option that is one of these words; none if it is not given.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn one_of<T: Copy>(&self, name: &str, values: &[(&str, T)]) -> Result<Option<T>, Refusal> {
        let find = |text: &str| {
            let found = values.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
            found.ok_or_else(|| {
                let known = Values::one_of(values.iter().map(|(word, _)| (*word).to_owned()));
                Refusal::invalid(format!("{name}=`{text}` is not {known}"))
            })
        };
        self.text(name).map(find).transpose()
    }

    /// The value of an option as a list of CPUs.
    ///
    /// # Errors
    /// If it is not a list of CPUs.
    pub fn cpus(&self, name: &str) -> Result<Option<Vec<CpuId>>, Refusal> {
        let parse = |text: &str| {
            cpus(text)
                .ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {}", Values::Cpus)))
        };
        self.text(name).map(parse).transpose()
    }

    /// The value of an option as a length of time.
    ///
    /// # Errors
    /// If it is no length of time above 0.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, Refusal> {
        let parse = |text: &str| {
            let what = Values::Duration;
            duration(text).ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {what}")))
        };
        self.text(name).map(parse).transpose()
    }

    /// The value of an option as a number above 0.
    ///
    /// # Errors
    /// If it is no such number.
    pub fn rate(&self, name: &str) -> Result<Option<Rate>, Refusal> {
        let parse = |text: &str| {
            let what = Values::Rate;
            let rate = text.parse().ok().filter(|rate: &Rate| *rate > Rate::ZERO);
            rate.ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {what}")))
        };
        self.text(name).map(parse).transpose()
    }

    /// The value of an option as a number.
    ///
    /// # Errors
    /// If it is not a number.
    pub fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Refusal::invalid(format!("{name}=`{text}` is not a number")))
        };
        self.text(name).map(parse).transpose()
    }
}
