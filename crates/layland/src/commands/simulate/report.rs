//! `layland sim -o FILE.html`: writes all policies into one report.

use super::comparison::{Comparison, Ran, Simulated};
use super::files::say_what_goes_on;
use crate::ui::exit::Failure;
use crate::ui::{playground, report, terminal};
use layland_config::to_toml;
use layland_model::{Duration, Service, Time};
use layland_report::playground::Start;
use layland_report::{Distribution, Line, Report, Run, Severity, Table};
use layland_trace::{Answer, Job, JobEnd, Labels, Mark, Recorder, Segment, Window};
use std::path::Path;

/// Records the part of a run that begins at some time and has a limited number of segments.
struct Part {
    window: Window,
    from: Time,
    to: Time,
    room: u64,
    /// The time up to which the trace is complete, if the limit of segments was reached.
    full_at: Option<Time>,
}

impl Part {
    fn new(from: Time, to: Time, room: u64) -> Part {
        Part { window: Window::new(from, to), from, to, room, full_at: None }
    }

    fn is_past(&self, at: Time) -> bool {
        self.full_at.is_some_and(|full_at| at > full_at)
    }
}

impl Recorder for Part {
    fn released(&mut self, job: &Job) {
        self.window.released(job);
    }
    fn executed(&mut self, segment: &Segment) {
        if segment.end < self.from || segment.start > self.to {
            return;
        }
        match self.full_at {
            None if self.room == 0 => {
                // Every segment that ended before this one did is complete; of this one, only the
                // part before is.
                let complete = self.window.trace.segments.last().map_or(self.from, |last| last.end);
                self.full_at = Some(complete);
                self.executed(segment);
            }
            None => {
                self.room -= 1;
                self.window.executed(segment);
            }
            // At most one segment per CPU was running when the limit was reached.
            Some(full_at) if segment.start < full_at => {
                self.window.executed(&Segment { end: segment.end.min(full_at), ..*segment });
            }
            Some(_) => {}
        }
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        if !self.is_past(job.arrival) {
            self.window.ended(job, at, end, executed);
        }
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        if !self.is_past(job.arrival) {
            self.window.pending(job, at, executed);
        }
    }
    fn marked(&mut self, mark: &Mark) {
        if !self.is_past(mark.at) {
            self.window.marked(mark);
        }
    }
    fn answered(&mut self, answer: &Answer) {
        if !self.is_past(answer.at) {
            self.window.answered(answer);
        }
    }
    fn over(&mut self, at: Time, interrupted: bool) {
        self.window.over(at, interrupted);
    }
}

impl Comparison<'_> {
    pub(super) fn write_report(&self, path: &Path) -> Result<(), Failure> {
        if self.ran().any(|ran| ran.outcome.interrupted) {
            say_what_goes_on(path);
        }
        let Some(report) = self.report()? else {
            terminal::warn(&format!("interrupted: {} is not written", path.display()), None);
            return Ok(());
        };
        report::write(path, &report, self.args.quiet)
    }

    /// Returns the report as a page; `None` if it was interrupted.
    pub(super) fn page(&self) -> Result<Option<String>, Failure> {
        Ok(self.report()?.map(|report| report.html()))
    }

    /// Returns the time window of a report: all of the requested time, or, if that is too much, a
    /// window around the first miss.
    fn part(&self) -> (Time, Time) {
        let end = self.ran().map(|ran| ran.outcome.end).max().unwrap_or(Time::ZERO);
        if let Some((from, to)) = self.args.window {
            return (from, to.min(end).max(from));
        }
        let Some(miss) = self.ran().filter_map(|ran| ran.first_miss).min() else {
            return (Time::ZERO, end);
        };
        // The time that this many segments take, under the policy with the most segments.
        let lasting = |ran: &Ran| {
            let segments = ran.summary.total.released + ran.summary.total.preemptions;
            let lasting = i128::from(ran.outcome.end.ns()) * i128::from(self.args.segments)
                / i128::from(segments.max(1));
            Duration::from_ns(i64::try_from(lasting).unwrap_or(i64::MAX))
        };
        let lasting = self.ran().map(lasting).min().unwrap_or(Duration::MAX);
        if Time::ZERO.saturating_add(lasting) > miss {
            return (Time::ZERO, end);
        }
        (miss - Duration::from_ns(lasting.ns() / 2), end)
    }

    /// Returns the report; `None` if it was interrupted.
    pub(super) fn report(&self) -> Result<Option<Report>, Failure> {
        let labels = Labels::of(&self.set.system);
        let title = match &self.policies[..] {
            [only] => format!("{} under {}", self.set.name, only.spec),
            _ => format!("{}: {} policies compared", self.set.name, self.policies.len()),
        };
        let mut report = Report::new(title, labels.clone());
        let (from, to) = self.part();
        for policy in &self.policies {
            let Ok(ran) = &policy.result else { continue };
            let mut part = Part::new(from, to, self.args.segments);
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
        report::lead(&mut report, &labels, Some(&self.set.system));
        for policy in &self.policies {
            self.verdicts(policy, &mut report.lines);
        }
        report.tables = tables(&self.policies);
        report.distributions =
            vec![Distribution::responses(&report.runs), Distribution::tardiness(&report.runs)];
        report.provenance = self.provenance(&self.policies);
        report.playground = playground::link(self.set, || Start {
            set: to_toml(&self.set.system),
            policies: self.policies.iter().map(|policy| policy.spec.clone()).collect(),
            until: self.args.until.or(self.set.until).map(|until| until.to_string()),
            seed: Some(self.args.seed).filter(|&seed| seed != 0),
            ..Start::default()
        });
        Ok(Some(report))
    }

    /// Describes the part of a run that is not in the report.
    fn cut(&self, policy: &Simulated, ran: &Ran, (from, to): (Time, Time)) -> Option<Line> {
        let end = ran.outcome.end;
        if from == Time::ZERO && to >= end {
            return None;
        }
        let spec = &policy.spec;
        let mut text = format!(
            "the chart and the distributions of {spec} show {from:#} to {to:#} of {end:#} only"
        );
        let mut severity = Severity::Note;
        if self.args.window.is_none() {
            severity = Severity::Warning;
            text += &format!(
                ", as they have room for {} segments (--segments, --window); the tables are of the \
                 whole run",
                self.args.segments
            );
        }
        if let Some(miss) = ran.first_miss.filter(|&miss| miss < from || miss > to) {
            severity = Severity::Warning;
            text += &format!("; the first miss, at {miss:#}, is not among it");
        }
        Some(Line::new(severity, text + "."))
    }

    /// Adds the remarks that the text output prints below its table.
    fn verdicts(&self, policy: &Simulated, lines: &mut Vec<Line>) {
        let severity = match &policy.result {
            Err(_) => Severity::Warning,
            Ok(ran) if ran.checked.as_ref().is_some_and(|found| !found.is_empty()) => {
                Severity::BrokenRule
            }
            Ok(ran) if !ran.keeps_constraints() => Severity::Bad,
            Ok(ran) if ran.outcome.interrupted => Severity::Warning,
            Ok(_) => Severity::Note,
        };
        lines.extend(self.remarks(policy).into_iter().map(|remark| Line::new(severity, remark)));
    }

    /// Returns the command that makes the same report again.
    pub(super) fn provenance(&self, policies: &[Simulated]) -> String {
        let system = &self.set.system;
        let policies: Vec<&str> = policies.iter().map(|policy| policy.spec.as_str()).collect();
        let explore = self.args.explore.map(|seed| format!(", explored with seed {seed}"));
        format!(
            "layland {}: sim of {} ({} tasks, {} CPUs, utilization {:.3}) under {}, seed {}{}{}",
            env!("CARGO_PKG_VERSION"),
            self.set.name,
            system.tasks.len(),
            system.platform.cpu_count(),
            system.utilization().to_f64(),
            policies.join(", "),
            self.args.seed,
            explore.unwrap_or_default(),
            self.simulated(),
        )
    }
}

/// Returns the figures of the policies, and of the tasks under each.
fn tables(policies: &[Simulated]) -> Vec<Table> {
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
