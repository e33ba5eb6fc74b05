//! Guarantees: policies side by side, with the bounds of the
//! tasks beside their deadlines and the results of all tests.
//!
//! The values are plain: other crates contain the analyses. Everything is
//! drawn here, as text and as vector graphics within the page, so that readers
//! without scripts, or on paper, see all of it. Durations are rounded to three
//! digits for readability; the decisive values are exact, in the reasons.
//!
//! Long because a bound is a cell, a bar and a sentence here, which agree.

use crate::line::{Line, Severity};
use layland_model::shown::{self, DIGITS, Unit};
use layland_model::{Duration, Rate};
use minijinja::{Value, context};

/// Policies and the results of their analyses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarantees {
    /// The tasks, in the order of the rows.
    pub tasks: Vec<GuaranteedTask>,
    /// The policies, in the order of the columns.
    pub policies: Vec<Guarantee>,
    /// The results of tests that do not depend on a policy.
    pub any_policy: Vec<TestResult>,
    /// True if the user named the policies, and did not ask for any that works.
    pub are_named: bool,
}

/// The parameters of a task that are drawn beside its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuaranteedTask {
    /// Its name.
    pub name: String,
    /// Its worst-case execution time, without overheads.
    pub wcet: Duration,
    /// The least time between two arrivals.
    pub period: Duration,
    /// Its relative deadline.
    pub deadline: Duration,
}

/// The answer of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Every deadline is guaranteed.
    Yes,
    /// Some deadlines are not guaranteed.
    No,
    /// No test has a result.
    Unknown,
    /// The policy rejects the set.
    Refused,
    /// The test does not apply to such a system.
    DoesNotApply,
}

/// The guarantees of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarantee {
    /// The policy.
    pub policy: String,
    /// The verdict.
    pub answer: Answer,
    /// The reasons, as sentences without full stops.
    pub reasons: Vec<String>,
    /// The position in `tests` of the decisive one.
    pub decided_by: Option<usize>,
    /// The growth that all WCETs allow; `None` if it was not computed.
    pub margin: Option<Growth>,
    /// One bound per task; empty if the policy rejects the set.
    pub bounds: Vec<TaskBound>,
    /// The results of the tests, in the order in which they ran.
    pub tests: Vec<TestResult>,
}

/// The factor by which all WCETs can grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The factor, in thousandths, by which all WCETs can be multiplied and still be guaranteed;
    /// the next larger one is not guaranteed.
    pub thousandths: i64,
    /// The task and the CPUs that limit the factor, in words; `None` if that is not known.
    pub stopped_by: Option<String>,
    /// A larger factor that is accepted if the policy assigns
    /// the tasks to CPUs again; `None` if there is none.
    pub decided_anew: Option<i64>,
}

impl Growth {
    /// Returns a growth with only a factor.
    pub fn of(thousandths: i64) -> Growth {
        Growth { thousandths, stopped_by: None, decided_anew: None }
    }
}

/// A bound on the time that a job takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskBound {
    /// No bound is known.
    Unknown,
    /// No job finishes later than this after its arrival.
    Response {
        /// The bound.
        within: Duration,
        /// True if the bound is tight.
        exact: bool,
        /// The analysis.
        by: String,
    },
    /// No job finishes later than this after its deadline.
    Tardiness {
        /// The bound, rounded up; `None` if it is longer than any time.
        within: Option<Duration>,
        /// The analysis.
        by: String,
    },
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// Its short name.
    pub name: String,
    /// The property that it tests.
    pub title: String,
    /// The kind: exact, sufficient or necessary.
    pub kind: String,
    /// Its answer.
    pub answer: Answer,
    /// The reasons for the answer, or why the test does not apply.
    pub reasons: Vec<String>,
    /// The sources to cite, one per line of text.
    pub sources: Vec<String>,
}

impl Answer {
    fn word(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Unknown => "unknown",
            Answer::Refused => "refused",
            Answer::DoesNotApply => "does not apply",
        }
    }
    fn sign(self) -> &'static str {
        match self {
            Answer::Yes => "✓",
            Answer::No | Answer::Refused => "✗",
            Answer::Unknown => "?",
            Answer::DoesNotApply => "–",
        }
    }
    fn class(self) -> &'static str {
        match self {
            Answer::Yes => "good",
            Answer::No | Answer::Refused => "bad",
            Answer::Unknown => "warning",
            Answer::DoesNotApply => "note",
        }
    }
    fn context(self) -> Value {
        context! { word => self.word(), sign => self.sign(), class => self.class() }
    }
}

impl Guarantees {
    /// Returns the first lines of a page: the policies that guarantee every deadline, those with
    /// the largest margin first, those that do not, and those without a result. A line names a few
    /// policies and counts the others; the table below has all of them. If the user named none, a
    /// policy that works is the answer, and one that does not is a note.
    pub fn headline(&self) -> Vec<Line> {
        let of = |answer: Answer| -> Vec<&str> {
            let mut found: Vec<&Guarantee> =
                self.policies.iter().filter(|policy| policy.answer == answer).collect();
            let room =
                |policy: &&Guarantee| policy.margin.as_ref().map(|margin| margin.thousandths);
            // `None` is less than any margin, so policies without a margin come last.
            found.sort_by_key(|policy| std::cmp::Reverse(room(policy)));
            found.into_iter().map(|policy| policy.policy.as_str()).collect()
        };
        let (yes, no, unknown) = (of(Answer::Yes), of(Answer::No), of(Answer::Unknown));
        let refused = of(Answer::Refused);
        let bad = if self.are_named || yes.is_empty() { Severity::Bad } else { Severity::Note };
        let mut lines = Vec::new();
        let mut say = |severity, names: &[&str], what: &str| {
            if !names.is_empty() {
                lines.push(Line::new(severity, format!("{what}{}.", several(names))));
            }
        };
        say(Severity::Good, &yes, "Every deadline is guaranteed under ");
        say(bad, &no, "Not every deadline can be kept under ");
        say(bad, &refused, "The set is refused by ");
        say(Severity::Note, &unknown, "No test decides under ");
        lines
    }

    pub(crate) fn context(&self) -> Value {
        let mut sources = Sources::default();
        let policies: Vec<Value> =
            self.policies.iter().map(|policy| policy.context(&mut sources)).collect();
        let deadlines = Unit::of(self.tasks.iter().map(|task| task.deadline));
        let periods = Unit::of(self.tasks.iter().map(|task| task.period));
        let wcets = Unit::of(self.tasks.iter().map(|task| task.wcet));
        let units = self.bounded().map(|policy| Unit::of(policy.bounds.iter().filter_map(length)));
        let units: Vec<Unit> = units.collect();
        let rows: Vec<Value> = (self.tasks.iter().enumerate())
            .map(|(index, task)| {
                let scale = self.scale(index);
                let cells = self.bounded().zip(&units).map(|(policy, unit)| {
                    cell((&policy.bounds[index], *unit), policy.answer, task, scale)
                });
                let responses = self.bounded().filter_map(|policy| match policy.bounds[index] {
                    TaskBound::Response { within, .. } => Some(within),
                    TaskBound::Tardiness { .. } | TaskBound::Unknown => None,
                });
                let responses: Vec<Duration> = responses.collect();
                context! {
                    name => task.name.clone(),
                    deadline => deadlines.show_limit(task.deadline, &responses, DIGITS),
                    period => periods.show(task.period, DIGITS),
                    wcet => wcets.show(task.wcet, DIGITS),
                    cells => cells.collect::<Vec<_>>(),
                }
            })
            .collect();
        let any_policy: Vec<Value> =
            self.any_policy.iter().map(|test| test.context(&mut sources)).collect();
        context! {
            policies,
            bounded => self.bounded().map(|policy| policy.policy.clone()).collect::<Vec<_>>(),
            rows,
            any_policy,
            sources => sources.list,
        }
    }

    /// Returns the policies under which some task has a bound.
    fn bounded(&self) -> impl Iterator<Item = &Guarantee> {
        self.policies.iter().filter(|policy| {
            policy.bounds.len() == self.tasks.len()
                && policy.bounds.iter().any(|bound| *bound != TaskBound::Unknown)
        })
    }

    /// Returns the length of the axis of a task: up to its deadline and its largest bound, but not
    /// far beyond the deadline, which would become too small to see.
    fn scale(&self, index: usize) -> f64 {
        let deadline = self.tasks[index].deadline.ns() as f64;
        let ends = self.bounded().filter_map(|policy| end(&policy.bounds[index], deadline));
        ends.fold(deadline, f64::max).min(MOST * deadline) * 1.06
    }
}

/// The number of policies that a sentence names.
const NAMED: usize = 5;

/// Lists the first of some policies, and the number of the others.
fn several(names: &[&str]) -> String {
    match names {
        [few @ .., last] if !few.is_empty() && names.len() <= NAMED + 1 => {
            format!("{} and {last}", few.join(", "))
        }
        _ if names.len() <= NAMED => names.join(", "),
        _ => format!("{} and {} more policies", names[..NAMED].join(", "), names.len() - NAMED),
    }
}

/// The maximum number of tasks whose bounds are described in words.
const TOLD: usize = 100;

/// The maximum length of an axis, in deadlines.
const MOST: f64 = 3.0;

/// Returns the bound on the completion, from the arrival; `None` if it is unknown.
fn end(bound: &TaskBound, deadline: f64) -> Option<f64> {
    match bound {
        TaskBound::Unknown => None,
        TaskBound::Response { within, .. } => Some(within.ns() as f64),
        TaskBound::Tardiness { within: Some(within), .. } => Some(deadline + within.ns() as f64),
        TaskBound::Tardiness { within: None, .. } => Some(f64::INFINITY),
    }
}

/// Returns a bound that is written as a time.
fn length(bound: &TaskBound) -> Option<Duration> {
    match bound {
        TaskBound::Unknown => None,
        TaskBound::Response { within, .. } => Some(*within),
        TaskBound::Tardiness { within, .. } => *within,
    }
}

/// Describes a bound in words, and returns the positions of its parts on an axis of length 100.
fn cell(
    (bound, unit): (&TaskBound, Unit),
    answer: Answer,
    task: &GuaranteedTask,
    scale: f64,
) -> Value {
    let deadline = task.deadline.ns() as f64;
    // If no test decides, a job may still meet its deadline.
    let late = if answer == Answer::Unknown { "open" } else { "late" };
    let (text, class, by) = match bound {
        TaskBound::Unknown => ("no bound".to_owned(), "none", None),
        TaskBound::Response { within, exact, by } => {
            let class = if *within <= task.deadline { "kept" } else { late };
            let sign = if *exact { "" } else { "≤ " };
            let within = unit.show_beside(*within, task.deadline, DIGITS);
            (format!("{sign}{within}"), class, Some(by))
        }
        TaskBound::Tardiness { within, by } => {
            let (text, class) = match within {
                Some(Duration::ZERO) => ("not late".to_owned(), "kept"),
                Some(within) => (format!("≤ {} late", unit.show(*within, DIGITS)), late),
                None if answer == Answer::Unknown => ("no usable bound".to_owned(), "none"),
                None => ("late without a usable bound".to_owned(), late),
            };
            (text, class, Some(by))
        }
    };
    let place = |ns: f64| ((ns / scale) * 1e5).round().min(1e5) / 1e3;
    let (from, due) = (place(task.wcet.ns() as f64), place(deadline));
    let bar = end(bound, deadline).map(|ns| {
        let to = place(ns);
        context! {
            work => from.min(to),
            within => to.min(due),
            late => if to > due { to - due } else { 0.0 },
            class => late,
            cut => ns > scale,
        }
    });
    context! { text, class, by => by.cloned(), due, bar }
}

impl Guarantee {
    fn context(&self, sources: &mut Sources) -> Value {
        let decided = self.decided_by.and_then(|index| self.tests.get(index));
        let rest = self.reasons.len().saturating_sub(3);
        context! {
            name => self.policy.clone(),
            answer => self.answer.context(),
            by => decided.map(|test| test.context(sources)),
            reasons => self.reasons.iter().take(3).cloned().collect::<Vec<_>>(),
            more => self.reasons.iter().skip(3).cloned().collect::<Vec<_>>(),
            rest,
            margin => self.margin.as_ref().map(|margin| LimitDistance(margin).context()),
            tests => self.tests.iter().map(|test| test.context(sources)).collect::<Vec<_>>(),
        }
    }

    /// Describes the policy in a sentence or two.
    pub(crate) fn words(&self, tasks: &[GuaranteedTask]) -> Vec<String> {
        let by = self.decided_by.and_then(|index| self.tests.get(index));
        let by = by.map_or(String::new(), |test| format!(" ({}, {})", test.name, test.kind));
        let mut words = vec![format!(
            "Under {}: {}{by}{}{}.",
            self.policy,
            match self.answer {
                Answer::Yes => "every deadline is guaranteed",
                Answer::No => "not every deadline can be kept",
                Answer::Unknown => "no test decides",
                Answer::Refused => "the set is refused",
                Answer::DoesNotApply => "nothing applies",
            },
            self.reasons.first().map_or(String::new(), |reason| format!(": {reason}")),
            self.margin.as_ref().map(LimitDistance).map_or(String::new(), |margin| {
                let more = margin.more().map_or(String::new(), |more| format!(" ({more})"));
                format!("; {}{more}", margin.text())
            }),
        )];
        for (task, bound) in tasks.iter().zip(&self.bounds).take(TOLD) {
            words.extend(match bound {
                TaskBound::Unknown => None,
                TaskBound::Response { within, exact, by } => {
                    let both = (&Rate::whole(within.ns()), &Rate::whole(task.deadline.ns()));
                    let (within, deadline) = shown::times(both, DIGITS);
                    let most = if *exact { "up to" } else { "at most" };
                    Some(format!(
                        "A job of {} takes {most} {within} of the {deadline} that it has ({by}).",
                        task.name
                    ))
                }
                TaskBound::Tardiness { within: Some(Duration::ZERO), by } => {
                    Some(format!("No job of {} is late ({by}).", task.name))
                }
                TaskBound::Tardiness { within: Some(within), by } => Some(format!(
                    "A job of {} is at most {within:#} later than its deadline, {:#} ({by}).",
                    task.name, task.deadline
                )),
                TaskBound::Tardiness { within: None, .. } => None,
            });
        }
        words
    }
}

/// The distance to the limit.
struct LimitDistance<'a>(&'a Growth);

impl LimitDistance<'_> {
    /// Describes what limits the growth, and the growth that would be possible otherwise.
    fn more(&self) -> Option<String> {
        let Growth { stopped_by, decided_anew, .. } = self.0;
        let stopped = stopped_by.as_ref().map(|what| format!("stopped by {what}"));
        let anew = decided_anew.map(|factor| {
            format!("× {} if the policy could move tasks to other CPUs", share(factor))
        });
        let parts: Vec<String> = stopped.into_iter().chain(anew).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn text(&self) -> String {
        match self.0.thousandths {
            ..=0 => "no test accepts it at any factor".to_owned(),
            1000 => "at the limit: no WCET may grow".to_owned(),
            factor @ 1001.. => format!(
                "all WCETs may grow by {}, or the CPUs could run at {} of their speed",
                percent(factor - 1000),
                share((1_000_000 + factor - 1) / factor)
            ),
            factor => format!(
                "guaranteed with all WCETs {} shorter, or CPUs {} as fast",
                percent(1000 - factor),
                share((1_000_000 + factor - 1) / factor)
            ),
        }
    }

    fn context(&self) -> Value {
        // The axis runs from 0 to twice the required amount, with the limit in the middle.
        let thousandths = self.0.thousandths;
        let at = (thousandths.clamp(0, 2000) as f64) / 20.0;
        let kept = thousandths >= 1000;
        context! {
            factor => share(thousandths),
            text => self.text(),
            more => self.more(),
            known => thousandths > 0,
            from => at.min(50.0),
            length => (at - 50.0).abs(),
            class => if kept { "kept" } else { "late" },
            cut => thousandths > 2000,
        }
    }
}

/// Formats thousandths as percent, exactly.
fn percent(thousandths: i64) -> String {
    match thousandths % 10 {
        0 => format!("{} %", thousandths / 10),
        rest => format!("{}.{rest} %", thousandths / 10),
    }
}

/// Formats thousandths as a factor, exactly.
fn share(thousandths: i64) -> String {
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

impl TestResult {
    fn context(&self, sources: &mut Sources) -> Value {
        context! {
            name => self.name.clone(),
            title => self.title.clone(),
            kind => self.kind.clone(),
            answer => self.answer.context(),
            reasons => self.reasons.clone(),
            sources => self.sources.iter().map(|text| sources.number(text)).collect::<Vec<_>>(),
        }
    }
}

/// The distinct sources of a page, numbered in the order of their first use.
#[derive(Default)]
struct Sources {
    list: Vec<String>,
}

impl Sources {
    fn number(&mut self, text: &str) -> usize {
        match self.list.iter().position(|known| known == text) {
            Some(index) => index + 1,
            None => {
                self.list.push(text.to_owned());
                self.list.len()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_told_exactly() {
        let text = |thousandths| LimitDistance(&Growth::of(thousandths)).text();
        assert_eq!(
            text(1250),
            "all WCETs may grow by 25 %, or the CPUs could run at 0.800 of their speed"
        );
        assert_eq!(
            text(1003),
            "all WCETs may grow by 0.3 %, or the CPUs could run at 0.998 of their speed"
        );
        assert_eq!(text(1000), "at the limit: no WCET may grow");
        assert_eq!(text(750), "guaranteed with all WCETs 25 % shorter, or CPUs 1.334 as fast");
        assert_eq!(text(0), "no test accepts it at any factor");
    }
}
