//! The description of a policy: its name, its summary, the systems that it refuses, its options,
//! its citations, and its constructor.
//!
//! Long because a policy is described in one place.
//!
//! All data is owned, so that a description can come from another crate or be made at run time.

use crate::{Policy, Refusal};
use layland_model::{Algorithm, Citation, CpuId, Duration, Rate, System, Task, TaskGroup, TaskId};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A string that is either static or made at run time.
pub type Text = Cow<'static, str>;

/// A description of a policy, with its constructor.
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
    /// The short name, by which users select the policy.
    pub name: Text,
    /// The full name.
    pub title: Text,
    /// The behaviour of the policy, in a sentence.
    pub summary: Text,
    /// The systems that it refuses, each with the reason.
    pub refuses: Vec<Text>,
    /// The options.
    pub options: Vec<OptionInfo>,
    /// The tie-breaking rule for equal jobs, in a sentence; empty if the policy does not state one.
    pub ties: Text,
    /// The papers to cite.
    pub citations: Vec<Citation>,
    keeps_regions: bool,
    follows_steps: bool,
    takes_followers: bool,
    takes_groups: bool,
    algorithm: Arc<dyn Fn(&PolicyOptions) -> Algorithm + Send + Sync>,
    build: Arc<Constructor>,
}

type Constructor =
    dyn Fn(&System, &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> + Send + Sync;

impl PolicyInfo {
    /// Returns the description of a policy without known analyses, refusals and options.
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
            takes_groups: false,
            algorithm: Arc::new(|_| Algorithm::Other),
            build: Arc::new(build),
        }
    }

    /// Declares that the policy implements this algorithm, to which the analyses of the algorithm
    /// apply.
    #[must_use]
    pub fn implementing(self, algorithm: Algorithm) -> PolicyInfo {
        self.implementing_by(move |_| algorithm)
    }

    /// Declares that the algorithm that the policy implements depends on its options.
    #[must_use]
    pub fn implementing_by(
        self,
        algorithm: impl Fn(&PolicyOptions) -> Algorithm + Send + Sync + 'static,
    ) -> PolicyInfo {
        PolicyInfo { algorithm: Arc::new(algorithm), ..self }
    }

    /// Declares the systems that the policy refuses.
    #[must_use]
    pub fn refusing<T: Into<Text>>(self, what: impl IntoIterator<Item = T>) -> PolicyInfo {
        PolicyInfo { refuses: what.into_iter().map(Into::into).collect(), ..self }
    }

    /// Declares the options of the policy.
    #[must_use]
    pub fn with_options(self, options: impl IntoIterator<Item = OptionInfo>) -> PolicyInfo {
        PolicyInfo { options: options.into_iter().collect(), ..self }
    }

    /// Declares the tie-breaking rule for equal jobs.
    #[must_use]
    pub fn breaking_ties(self, ties: impl Into<Text>) -> PolicyInfo {
        PolicyInfo { ties: ties.into(), ..self }
    }

    /// Declares the papers that the policy comes from.
    #[must_use]
    pub fn citing(self, citations: impl IntoIterator<Item = Citation>) -> PolicyInfo {
        PolicyInfo { citations: citations.into_iter().collect(), ..self }
    }

    /// Declares that the policy preempts jobs only where their tasks allow it
    /// ([`Preemption`](layland_model::Preemption)). A policy without this declaration rejects tasks
    /// with non-preemptive regions.
    #[must_use]
    pub fn keeping_regions(self) -> PolicyInfo {
        PolicyInfo { keeps_regions: true, ..self }
    }

    /// Declares that the policy supports jobs that lock resources and suspend themselves
    /// ([`Step`](layland_model::Step)). A policy without this declaration rejects tasks with steps.
    #[must_use]
    pub fn following_steps(self) -> PolicyInfo {
        PolicyInfo { follows_steps: true, ..self }
    }

    /// Declares that the policy derives nothing from the times of releases, so that jobs may wait
    /// for jobs of other tasks ([`Graph`](layland_model::Graph)). A policy without this declaration
    /// rejects tasks that follow other tasks.
    #[must_use]
    pub fn taking_followers(self) -> PolicyInfo {
        PolicyInfo { takes_followers: true, ..self }
    }

    /// Declares that the policy knows groups with budgets
    /// ([`TaskGroup`]). A policy without this declaration rejects sets with groups.
    #[must_use]
    pub fn taking_groups(self) -> PolicyInfo {
        PolicyInfo { takes_groups: true, ..self }
    }

    /// Returns the algorithm that the policy implements with these options.
    pub fn algorithm(&self, options: &PolicyOptions) -> Algorithm {
        (self.algorithm)(options)
    }

    /// Builds the policy for a system.
    ///
    /// # Errors
    /// If the policy cannot schedule the system, a task has non-preemptive regions and the policy
    /// does not keep them, a task has steps and the policy does not follow them, a task follows
    /// another one and the policy does not take followers, or there are groups with budgets and the
    /// policy does not take groups.
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
        if !self.takes_groups
            && let Some(group) = system.groups.first()
        {
            return Err(SystemRefusal::of_groups(&self.name, group));
        }
        (self.build)(system, options)
    }
}

impl fmt::Debug for PolicyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The reason why a policy rejects a system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{answer}")]
pub struct SystemRefusal {
    /// The refusal, with its reason.
    pub answer: Refusal,
    /// The task that caused the refusal; the first one, if there are several.
    pub task: Option<TaskId>,
    /// The reason in a form that does not name this policy, so that all policies with this reason
    /// share it; `None` if the reason itself names no policy.
    pub in_general: Option<String>,
}

impl SystemRefusal {
    /// The refusal of a task with non-preemptive regions.
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

    /// The refusal of a task that follows another one.
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

    /// The refusal of a set with groups.
    pub(crate) fn of_groups(policy: &str, group: &TaskGroup) -> SystemRefusal {
        let reason = |who: &str| {
            format!(
                "{who} knows no groups with budgets, and the set has the group `{}`: use groups, or remove [[group]] and `group`",
                group.name
            )
        };
        SystemRefusal::from(Refusal::not_permitted(reason(policy))).in_general(reason("it"))
    }

    /// The refusal of a task with steps.
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

    /// Adds the reason in a form that does not name the policy.
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
    /// Turns this refusal into that of a system because of a task, which the reason names.
    pub fn about(self, task: TaskId) -> SystemRefusal {
        SystemRefusal { task: Some(task), ..SystemRefusal::from(self) }
    }
}

/// An option of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// The name.
    pub name: Text,
    /// The effect of the option, with its values and the default.
    pub help: Text,
    /// The permitted values.
    pub values: Values,
}

impl OptionInfo {
    /// Returns an option.
    pub fn new(name: impl Into<Text>, help: impl Into<Text>, values: Values) -> OptionInfo {
        OptionInfo { name: name.into(), help: help.into(), values }
    }
}

/// The permitted values of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// On or off.
    Switch,
    /// One of these words.
    OneOf(Vec<Text>),
    /// A whole number, at least 0.
    Number,
    /// A fraction or a decimal above 0.
    Rate,
    /// A positive duration, with its unit.
    Duration,
    /// Numbers of CPUs, separated by pluses: `0+2+1`. Where commas separate nothing else, as in a
    /// file, commas are accepted as well.
    Cpus,
    /// Items in bins.
    Bins,
}

impl Values {
    /// One of these words.
    pub fn one_of<T: Into<Text>>(words: impl IntoIterator<Item = T>) -> Values {
        Values::OneOf(words.into_iter().map(Into::into).collect())
    }

    /// Returns true if a string is a permitted value.
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

/// Parses a positive duration.
fn duration(text: &str) -> Option<Duration> {
    text.trim().parse().ok().filter(|&length| length > Duration::ZERO)
}

/// Parses numbers of CPUs, separated by pluses or commas.
fn cpus(text: &str) -> Option<Vec<CpuId>> {
    text.split(['+', ',']).map(|cpu| cpu.trim().parse().ok().map(CpuId)).collect()
}

/// The options given to a policy, by name, and the purpose for which it is built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyOptions {
    given: Vec<(String, String)>,
    purpose: Purpose,
}

/// The purpose for which a policy is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Purpose {
    /// To make decisions.
    #[default]
    Decisions,
    /// To answer queries about its rule.
    Rule,
}

impl PolicyOptions {
    /// Gives an option a value. The first value given for an option takes effect.
    pub fn give(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.given.push((name.into(), value.into()));
    }

    /// Returns these options for a policy that only answers queries about its [rule](Policy::rule)
    /// and never runs. Its constructor may omit everything that only decisions need.
    #[must_use]
    pub fn for_its_rule(&self) -> PolicyOptions {
        PolicyOptions { given: self.given.clone(), purpose: Purpose::Rule }
    }

    /// Returns these options with another value for one of them.
    #[must_use]
    pub fn with(&self, name: impl Into<String>, value: impl Into<String>) -> PolicyOptions {
        let name = name.into();
        let mut given = self.without(&[&name]).given;
        given.push((name, value.into()));
        PolicyOptions { given, purpose: self.purpose }
    }

    /// Returns these options without some of them.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> PolicyOptions {
        let stays = |(name, _): &&(String, String)| !names.contains(&name.as_str());
        let given = self.given.iter().filter(stays).cloned().collect();
        PolicyOptions { given, purpose: self.purpose }
    }

    /// Returns the names of the options.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.given.iter().map(|(name, _)| name.as_str())
    }

    /// Returns true if the policy only answers queries about its rule and never runs.
    pub fn is_for_its_rule(&self) -> bool {
        self.purpose == Purpose::Rule
    }

    /// Returns the value of an option as a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of an option that is on or off.
    ///
    /// # Errors
    /// If the value is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.text(name) {
            None => Ok(default),
            Some("on" | "true") => Ok(true),
            Some("off" | "false") => Ok(false),
            Some(other) => Err(Refusal::invalid(format!("{name}=`{other}` is neither on nor off"))),
        }
    }

    /// Returns the value of an option that is one of these words; `None` if the option is not
    /// given.
    ///
    /// # Errors
    /// If the value is none of them.
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

    /// Returns the value of an option as a list of CPUs.
    ///
    /// # Errors
    /// If the value is not a list of CPUs.
    pub fn cpus(&self, name: &str) -> Result<Option<Vec<CpuId>>, Refusal> {
        let parse = |text: &str| {
            cpus(text)
                .ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {}", Values::Cpus)))
        };
        self.text(name).map(parse).transpose()
    }

    /// Returns the value of an option as a duration.
    ///
    /// # Errors
    /// If the value is not a positive duration.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, Refusal> {
        let parse = |text: &str| {
            let what = Values::Duration;
            duration(text).ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {what}")))
        };
        self.text(name).map(parse).transpose()
    }

    /// Returns the value of an option as a positive number.
    ///
    /// # Errors
    /// If the value is not a positive number.
    pub fn rate(&self, name: &str) -> Result<Option<Rate>, Refusal> {
        let parse = |text: &str| {
            let what = Values::Rate;
            let rate = text.parse().ok().filter(|rate: &Rate| *rate > Rate::ZERO);
            rate.ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {what}")))
        };
        self.text(name).map(parse).transpose()
    }

    /// Returns the value of an option as an integer.
    ///
    /// # Errors
    /// If the value is not an integer.
    pub fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Refusal::invalid(format!("{name}=`{text}` is not a number")))
        };
        self.text(name).map(parse).transpose()
    }
}
