//! The limits that continuous integration enforces on the figures of a run ([`Limit`]).

use crate::simulate::ObservedConstraint;
use crate::values::time_of;
use crate::{CheckQuestion, Set, Unanswered};
use layland_guarantee::Bound;
use layland_model::{Duration, Rate, System, Task, TaskId, WeaklyHard};
use layland_policy::Registry;
use layland_trace::{Outcomes, Summary, TaskSummary};

/// An upper limit on a figure of one task or of all tasks. Exceeding it is a failure.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The limit as the user wrote it.
    text: String,
    /// The task; `None` for all tasks together.
    task: Option<String>,
    figure: Figure,
}

#[derive(Clone, Debug)]
enum Figure {
    /// Fails for more misses than this.
    Misses(u64),
    /// Fails for more than this share of the released jobs.
    MissShare(Rate),
    /// Fails for a longer time than this.
    Time(Quantity, Duration),
    /// Fails for a longer response time than `layland check` guarantees.
    Bound,
    /// Fails if a weakly hard constraint of the set is broken.
    Kept,
    /// Fails if this constraint is broken.
    Window(WeaklyHard),
}

/// The guarantee for each task, in the order of the set.
pub type Bounds = Vec<Option<Guaranteed>>;

/// A bound on response times, counted from the arrival of a job.
#[derive(Clone, Copy, Debug)]
pub struct Guaranteed {
    /// The bound.
    pub within: Duration,
    deadline: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    ResponseMax,
    ResponseP50,
    ResponseP99,
    ResponseP999,
    TardinessMax,
}

const QUANTITIES: [(&str, Quantity); 6] = [
    ("response", Quantity::ResponseMax),
    ("response.p50", Quantity::ResponseP50),
    ("response.p99", Quantity::ResponseP99),
    ("response.p99.9", Quantity::ResponseP999),
    ("response.max", Quantity::ResponseMax),
    ("tardiness", Quantity::TardinessMax),
];

const USAGE: &str = "write misses>N, misses>SHARE%, misses>1 in 10, misses>2 in a row, mk (what the set asks), \
                     tardiness>TIME, response>TIME (also response.p50, .p99, .p99.9), or \
                     response>bound, for one task with its name before it, as in \
                     control:response.p99>3ms";

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let (what, limit) = match text.split_once('>') {
            Some(parts) => parts,
            None if text.trim() == "mk" || text.trim_end().ends_with(":mk") => (text, ""),
            None => return Err(USAGE.to_owned()),
        };
        // The name of a task may contain colons, so that the figure follows the last one.
        let (task, figure) = match what.rsplit_once(':') {
            Some((task, figure)) => (Some(task.trim().to_owned()), figure.trim()),
            None => (None, what.trim()),
        };
        let limit = limit.trim();
        let figure = if (figure, limit) == ("mk", "") {
            Figure::Kept
        } else if figure == "misses" && limit.contains(" in ") {
            Figure::Window(
                format!("at most {}", limit.replacen(" in ", " misses in ", 1)).parse().map_err(
                    |fault: layland_model::ParseWeaklyHardError| {
                        format!("{fault}: {}", fault.help())
                    },
                )?,
            )
        } else if figure == "misses" {
            match limit.strip_suffix('%') {
                Some(percent) => {
                    let percent: Rate = percent.trim().parse().map_err(|_| USAGE)?;
                    Figure::MissShare(percent / Rate::whole(100))
                }
                None => Figure::Misses(limit.parse().map_err(|_| USAGE)?),
            }
        } else if (figure, limit) == ("response", "bound") {
            Figure::Bound
        } else {
            let quantity = QUANTITIES.iter().find(|(name, _)| *name == figure).ok_or(USAGE)?.1;
            Figure::Time(quantity, time_of::<Duration>(limit)?)
        };
        Ok(Limit { text: text.trim().to_owned(), task, figure })
    }
}

/// The result of a limit.
#[derive(Clone)]
pub struct Held {
    /// The limit as the user wrote it.
    pub limit: String,
    /// The figure, if the limit is exceeded.
    pub found: Option<String>,
}

impl Limit {
    /// Returns the task that the limit names, if it does not exist.
    fn unknown_task(&self, names: &[&str]) -> Option<&str> {
        self.task.as_deref().filter(|task| !names.contains(task))
    }

    /// Returns true if the limit applies to the task.
    fn is_about(&self, name: &str) -> bool {
        self.task.as_ref().is_none_or(|task| task == name)
    }

    /// Returns true if the limit is about the order of misses, and not only about figures.
    pub fn needs_outcomes(&self) -> bool {
        matches!(self.figure, Figure::Kept | Figure::Window(_))
    }

    /// Compares the limit with a run. The bounds are those of [`bounds`]; outcomes are needed only
    /// by limits that [say so](Self::needs_outcomes).
    pub fn judge(
        &self,
        summary: &Summary,
        bounds: &Bounds,
        (system, outcomes): (&System, &Outcomes),
    ) -> Held {
        let of_task = |name: &str| summary.tasks.iter().find(|task| task.name == name);
        let of = self.task.as_deref().map_or(Some(&summary.total), of_task);
        let found = match self.figure {
            Figure::Bound => self.beyond(summary, bounds),
            Figure::Kept => self.broken(system, outcomes, |task| task.constraints().collect()),
            Figure::Window(constraint) => self.broken(system, outcomes, |_| vec![constraint]),
            Figure::Misses(_) | Figure::MissShare(_) | Figure::Time(..) => {
                of.and_then(|of| self.exceeded(of))
            }
        };
        Held { limit: self.text.clone(), found }
    }

    /// Returns the first violation of the constraints of a task that the limit is about.
    fn broken(
        &self,
        system: &System,
        outcomes: &Outcomes,
        constraints: impl Fn(&Task) -> Vec<WeaklyHard>,
    ) -> Option<String> {
        let mut tasks = system.tasks.iter().filter(|(_, task)| self.is_about(&task.name));
        tasks.find_map(|(id, task)| {
            let observed = constraints(task)
                .into_iter()
                .map(|of| ObservedConstraint::in_run(id, of, outcomes));
            let found = observed.filter_map(|of| of.violation_in_words()).next()?;
            Some(format!("{}: {found}", task.name))
        })
    }

    /// Returns the first task with a job that exceeded its guaranteed response time.
    fn beyond(&self, summary: &Summary, bounds: &Bounds) -> Option<String> {
        let mut all = summary.tasks.iter().zip(bounds);
        all.find_map(|(task, bound)| {
            let Guaranteed { within, deadline } = bound.filter(|_| self.is_about(&task.name))?;
            // A pending, overdue job has taken at least this long.
            let overdue = (task.overdue_ns > 0).then(|| deadline.ns() + task.overdue_ns);
            let took = Duration::from_ns(task.max_response_ns.max(overdue)?);
            (took > within).then(|| format!("{} took {took:#}, not {within:#}", task.name))
        })
    }

    fn exceeded(&self, of: &TaskSummary) -> Option<String> {
        match &self.figure {
            Figure::Misses(most) => (of.missed > *most).then(|| format!("{} missed", of.missed)),
            Figure::MissShare(most) => {
                let (missed, released) = (whole(of.missed), whole(of.released));
                (missed > most * &released)
                    .then(|| format!("{} of {} missed", of.missed, of.released))
            }
            Figure::Time(quantity, most) => {
                let found = Duration::from_ns(quantity.of(of)?);
                (found > *most).then(|| format!("{found:#}"))
            }
            Figure::Bound | Figure::Kept | Figure::Window(_) => None,
        }
    }
}

fn whole(count: u64) -> Rate {
    Rate::whole(i64::try_from(count).unwrap_or(i64::MAX))
}

impl Quantity {
    /// Returns the figure in nanoseconds, if it exists.
    fn of(self, summary: &TaskSummary) -> Option<i64> {
        let response = summary.response.as_ref();
        match self {
            Quantity::ResponseMax => summary.max_response_ns,
            Quantity::ResponseP50 => response.map(|response| response.p50_ns),
            Quantity::ResponseP99 => response.map(|response| response.p99_ns),
            Quantity::ResponseP999 => response.map(|response| response.p99_9_ns),
            // A pending job can be late as well.
            Quantity::TardinessMax => Some(summary.max_tardiness_ns.max(summary.overdue_ns)),
        }
    }
}

/// Checks that every limit names an existing task.
///
/// # Errors
/// If a limit names another task.
pub fn known(limits: &[Limit], system: &System) -> Result<(), Unanswered> {
    let names: Vec<&str> = system.tasks.values().map(|task| task.name.as_str()).collect();
    match limits.iter().find_map(|limit| limit.unknown_task(&names)) {
        None => Ok(()),
        Some(task) => Err(Unanswered::usage(format!("--fail-on: there is no task `{task}`"))
            .help(format!("there are {}", names.join(", ")))),
    }
}

/// Returns the guarantees of `layland check` for the tasks under a policy, as far as a limit needs
/// them; empty if the policy rejects the set. `how` contains the arguments of `layland check` for
/// this system.
///
/// # Errors
/// If a task that a limit names has no bound: such a limit could never fail.
pub fn bounds(
    limits: &[Limit],
    registry: &Registry,
    spec: &str,
    system: &System,
    how: &str,
) -> Result<Bounds, Unanswered> {
    let Some(first) = limits.iter().find(|limit| matches!(limit.figure, Figure::Bound)) else {
        return Ok(Bounds::new());
    };
    let mut question = CheckQuestion::about(vec![spec.to_owned()]).with_factor(false);
    question.any_policy = false;
    let checked = question.ask(registry, Set::in_memory("", system.clone()))?;
    let guaranteed = |(id, bound): (TaskId, &Bound)| {
        let deadline = system.tasks[id].deadline;
        let within = match bound {
            Bound::Response { within, .. } => *within,
            Bound::Tardiness { within, .. } => {
                deadline.checked_add(Duration::from_ns(within.ceil()?))?
            }
            Bound::Unknown => return None,
        };
        Some(Guaranteed { within, deadline })
    };
    let bounds = checked.policies.iter().flat_map(|assessed| assessed.bounds.iter());
    let bounds: Bounds = bounds.map(guaranteed).collect();
    let on_bounds = || limits.iter().filter(|limit| matches!(limit.figure, Figure::Bound));
    let is_about = |name: &str| on_bounds().any(|limit| limit.is_about(name));
    let mut tasks = system.tasks.values().zip(&bounds);
    match tasks.find(|(task, bound)| bound.is_none() && is_about(&task.name)) {
        None => Ok(bounds),
        Some((task, _)) => Err(Unanswered::usage(format!(
            "--fail-on {}: no response time of `{}` is guaranteed under {spec}",
            first.text, task.name
        ))
        .help(format!("layland check --policy {spec}{how} --bounds shows what is"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_or_explained() {
        for text in [
            "misses>0",
            "misses > 0.1%",
            "tardiness>1ms",
            "response.p99.9>3ms",
            "control:response.p99 > 2.5ms",
            "a:b:misses>2",
            "control:response > bound",
            "mk",
            "control:mk",
            "misses>1 in 10",
            "control: misses > 2 in a row",
        ] {
            assert!(text.parse::<Limit>().is_ok(), "{text}");
        }
        for text in [
            "misses",
            "misses<1",
            "tardiness>bound",
            "misses>x",
            "mk>1",
            "misses>11 in 10",
            "misses>1 in x",
            "misses>1x%",
            "latency>1ms",
            "response>3",
            "",
        ] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
