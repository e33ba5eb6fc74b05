//! All policies in one page.

use super::View;
use super::part::Part;
use crate::pages::assigned::{AssignedTable, OfPolicy};
use crate::pages::{playground, report};
use layland_answers::Unanswered;
use layland_answers::simulate::{PolicyRun, Ran};
use layland_config::to_toml;
use layland_model::{Duration, Time};
use layland_report::playground::Start;
use layland_report::{Distribution, Line, Report, Run, Severity, Table};
use layland_sim::Horizon;
use layland_trace::Labels;

impl View<'_> {
    /// Returns the time window of a report: all of the requested time, or, if that is too much, a
    /// window around the first miss.
    fn part(&self) -> (Time, Time) {
        let end = self.simulated.ran().map(|ran| ran.outcome.end).max().unwrap_or(Time::ZERO);
        if let Some((from, to)) = self.shown.window {
            return (from, to.min(end).max(from));
        }
        let Some(miss) = self.simulated.ran().filter_map(|ran| ran.first_miss).min() else {
            return (Time::ZERO, end);
        };
        // The time that this many segments take, under the policy with the most segments.
        let lasting = |ran: &Ran| {
            let segments = ran.summary.total.released + ran.summary.total.preemptions;
            let lasting = i128::from(ran.outcome.end.ns()) * i128::from(self.shown.segments)
                / i128::from(segments.max(1));
            Duration::from_ns(i64::try_from(lasting).unwrap_or(i64::MAX))
        };
        let lasting = self.simulated.ran().map(lasting).min().unwrap_or(Duration::MAX);
        if Time::ZERO.saturating_add(lasting) > miss {
            return (Time::ZERO, end);
        }
        (miss - Duration::from_ns(lasting.ns() / 2), end)
    }

    /// Returns the report of all policies; `None` if it was interrupted.
    pub(crate) fn report(&self) -> Result<Option<Report>, Unanswered> {
        let labels = Labels::of(&self.simulated.set.system);
        let title = match &self.simulated.policies[..] {
            [only] => format!("{} under {}", self.simulated.set.name, only.spec),
            _ => format!(
                "{}: {} policies compared",
                self.simulated.set.name,
                self.simulated.policies.len()
            ),
        };
        let mut report = Report::new(title, labels.clone());
        let (from, to) = self.part();
        for policy in &self.simulated.policies {
            let Ok(ran) = &policy.result else { continue };
            let mut part = Part::new(from, to, self.shown.segments);
            if self.record(ran, ran.outcome.end, &mut part)? {
                return Ok(None);
            }
            let shown = (from, part.full_at.unwrap_or(to.min(ran.outcome.end)));
            report.lines.extend(self.cut(policy, ran, shown));
            report.runs.push(Run {
                shown: Some(shown),
                summary: Some(ran.summary.clone()),
                ..Run::new(policy.spec.clone(), part.window.trace)
            });
        }
        report::lead(&mut report, &labels, Some(&self.simulated.set.system));
        for policy in &self.simulated.policies {
            self.verdicts(policy, &mut report.lines);
        }
        report.tables = tables(&self.simulated.policies);
        report.tables.extend(self.assignment());
        report.distributions = Distribution::of_runs(&report.runs, &labels);
        report.provenance = self.provenance(&self.simulated.policies);
        let until = match self.simulated.question.horizon {
            Some(Horizon::At(until)) => Some(until - Time::ZERO),
            _ => self.simulated.set.until,
        };
        report.playground = playground::link(&self.simulated.set, || Start {
            set: to_toml(&self.simulated.set.system),
            policies: self.simulated.policies.iter().map(|policy| policy.spec.clone()).collect(),
            until: until.map(|until| until.to_string()),
            seed: Some(self.simulated.question.seed).filter(|&seed| seed != 0),
            ..Start::default()
        });
        Ok(Some(report))
    }

    /// Describes the part of a run that is not in the report.
    fn cut(&self, policy: &PolicyRun, ran: &Ran, (from, to): (Time, Time)) -> Option<Line> {
        let end = ran.outcome.end;
        if from == Time::ZERO && to >= end {
            return None;
        }
        let spec = &policy.spec;
        let mut text = format!(
            "the chart and the distributions of {spec} show {from:#} to {to:#} of {end:#} only"
        );
        let mut severity = Severity::Note;
        if self.shown.window.is_none() {
            severity = Severity::Warning;
            text += &format!(
                ", as they have room for {} segments (--segments, --window); the tables are of the \
                 whole run",
                self.shown.segments
            );
        }
        if let Some(miss) = ran.first_miss.filter(|&miss| miss < from || miss > to) {
            severity = Severity::Warning;
            text += &format!("; the first miss, at {miss:#}, is not among it");
        }
        Some(Line::new(severity, text + "."))
    }

    /// Adds the remarks that the text output prints below its table.
    fn verdicts(&self, policy: &PolicyRun, lines: &mut Vec<Line>) {
        let severity = match &policy.result {
            Err(_) => Severity::Warning,
            Ok(ran) if ran.broken_rules.as_ref().is_some_and(|found| !found.is_empty()) => {
                Severity::BrokenRule
            }
            Ok(ran) if !ran.keeps_constraints() => Severity::Bad,
            Ok(ran) if ran.outcome.interrupted => Severity::Warning,
            Ok(_) => Severity::Note,
        };
        lines.extend(self.remarks(policy).into_iter().map(|remark| Line::new(severity, remark)));
    }

    /// Returns the policies that assign each task to a CPU, with their assignments.
    pub(crate) fn assignments(&self) -> Vec<OfPolicy<'_>> {
        let policies = self.simulated.policies.iter();
        let of = policies.filter_map(|policy| {
            let ran = policy.result.as_ref().ok()?;
            Some((policy.spec.as_str(), ran.assignment()?))
        });
        of.collect()
    }

    /// Returns the table of these.
    fn assignment(&self) -> Option<Table> {
        AssignedTable::of(&self.assignments(), &self.simulated.set.system)
            .map(AssignedTable::on_page)
    }

    /// Returns the command that makes the same report again.
    pub(crate) fn provenance(&self, policies: &[PolicyRun]) -> String {
        let system = &self.simulated.set.system;
        let policies: Vec<&str> = policies.iter().map(|policy| policy.spec.as_str()).collect();
        let explore =
            self.simulated.question.explore.map(|seed| format!(", explored with seed {seed}"));
        format!(
            "layland {}: sim of {} ({} tasks, {} CPUs, utilization {:.3}) under {}, seed {}{}{}",
            env!("CARGO_PKG_VERSION"),
            self.simulated.set.name,
            system.tasks.len(),
            system.platform.cpu_count(),
            system.utilization().to_f64(),
            policies.join(", "),
            self.simulated.question.seed,
            explore.unwrap_or_default(),
            self.simulated_up_to(),
        )
    }
}

/// Returns the figures of the policies, and of the tasks under each.
fn tables(policies: &[PolicyRun]) -> Vec<Table> {
    let rows = policies.iter().map(|policy| {
        let ran = policy.result.as_ref().ok();
        (policy.spec.clone(), ran.map(|ran| &ran.summary.total))
    });
    let mut compared = report::table("Policies".to_owned(), "policy", rows);
    compared.notes.push(report::NOTE.to_owned());
    let mut tables = vec![compared];
    for policy in policies {
        let Ok(ran) = &policy.result else { continue };
        let rows = ran.summary.tasks.iter().map(|task| (task.name.clone(), Some(task)));
        tables.push(report::table(format!("Tasks under {}", policy.spec), "task", rows));
    }
    tables
}
