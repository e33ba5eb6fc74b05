//! The answer of `layland sim` as text: charts, a table of the policies, and remarks.

use super::chains;
use super::comparison::{Comparison, Ran, Simulated};
use crate::ui::chart::Chart;
use crate::ui::exit::Failure;
use crate::ui::table::{self, figures};
use crate::ui::{chart, report, terminal};
use layland_chart::gantt::{Colours, View};
use layland_model::{Time, counted};
use layland_sim::Horizon;
use layland_trace::{Errno, Labels};

impl Comparison<'_> {
    /// Returns the answer for the terminal.
    pub(super) fn as_text(&self) -> Result<String, Failure> {
        let system = &self.set.system;
        let (tasks, cpus) = (system.tasks.len(), system.platform.cpu_count());
        let head = format!(
            "{}: {} on {}, utilization {:.3}{}",
            self.set.name,
            counted(tasks, "task"),
            counted(cpus, "CPU"),
            system.utilization().to_f64(),
            self.simulated(),
        );
        let mut text = terminal::wrap(&head, "") + "\n";
        let window = self.window();
        let labels = Labels::of(system);
        let style = table::Style { ascii: self.args.ascii, colours: terminal::colours() };
        for policy in &self.policies {
            let Ok(ran) = &policy.result else { continue };
            if let Some(rows) = self.args.chart.unwrap_or(Chart::Tasks).rows() {
                match self.text_trace(ran, window)? {
                    Some(trace) => {
                        chart::tell_if_idle(self.args.window, &trace, &policy.spec);
                        let colours = if style.colours { Colours::Ansi } else { Colours::Never };
                        let options = self.text_options(rows, colours);
                        let view = View::new(&trace, &labels).window(window.0, window.1);
                        text += &format!("\n{}  {}", policy.spec, view.text(&options));
                    }
                    None => text += &format!("\n{}  INTERRUPTED: no chart\n", policy.spec),
                }
                text.extend(
                    self.elsewhere(ran, window).map(|line| terminal::wrap(&line, "") + "\n"),
                );
            }
            if self.args.tasks {
                let rows: Vec<table::Row> = (ran.summary.tasks.iter())
                    .map(|task| (task.name.clone(), Some(figures(task))))
                    .collect();
                text += &format!("\n{}\n{}\n", policy.spec, table::tasks(&rows, style));
            }
        }
        let rows: Vec<table::Row> = self
            .policies
            .iter()
            .map(|policy| {
                let ran = policy.result.as_ref().ok();
                (policy.spec.clone(), ran.map(|ran| figures(&ran.summary.total)))
            })
            .collect();
        text += &format!("\n{}\n", table::policies(&rows, style));
        for policy in &self.policies {
            if let Some(why) = self.why_late(policy)? {
                text += &(terminal::wrap(&why, "") + "\n");
            }
        }
        for remark in self.policies.iter().flat_map(|policy| self.remarks(policy)) {
            text += &terminal::wrap(&remark, "");
            text.push('\n');
        }
        Ok(text)
    }

    /// Describes how long was simulated, if that is the same for all policies.
    pub(super) fn simulated(&self) -> String {
        let mut ends = self.ran().map(|ran| ran.outcome.end);
        match ends.next() {
            Some(end) if ends.all(|other| other == end) => format!(", simulated up to {end:#}"),
            Some(_) | None => String::new(),
        }
    }

    /// Describes the first miss of a policy, if a chart of this window does not show it.
    pub(super) fn elsewhere(&self, ran: &Ran, (from, to): (Time, Time)) -> Option<String> {
        let miss = ran.first_miss.filter(|&miss| miss < from || miss > to)?;
        Some(format!("its first miss, due at {miss:#}, is outside this window"))
    }

    /// Explains the first miss under a policy.
    fn why_late(&self, policy: &Simulated) -> Result<Option<String>, Failure> {
        let Ok(ran) = &policy.result else { return Ok(None) };
        // After an interrupt, the user does not want to wait until the miss is found again.
        let Some(miss) = ran.first_miss.filter(|_| !self.cut) else { return Ok(None) };
        let system = &self.set.system;
        // Start at the earliest possible arrival of the job. The chart's window extends far enough
        // to show the job's end, or that it is late.
        let longest = system.tasks.values().map(|task| task.deadline.max(task.period)).max();
        let from = Time::ZERO.max(miss - longest.unwrap_or_default());
        let to = miss.saturating_add(longest.unwrap_or_default());
        let Some(trace) = self.chart_trace(ran, (from, to))? else { return Ok(None) };
        Ok(report::why_late(&policy.spec, &trace, &Labels::of(system), system))
    }

    /// Returns remarks on what the table does not show.
    pub(super) fn remarks(&self, policy: &Simulated) -> Vec<String> {
        let spec = &policy.spec;
        let ran = match &policy.result {
            Ok(ran) => ran,
            Err(reason) => return vec![format!("{spec} refused: {reason}")],
        };
        let mut remarks = chains::remarks(&self.set.system, spec, &ran.chains);
        let end = ran.outcome.end;
        if ran.outcome.interrupted {
            remarks.push(format!("{spec}: INTERRUPTED at {end:#}: the figures are partial"));
        }
        for answer in &ran.refusals.first {
            let how = match answer.errno {
                Some(Errno::Busy) => "EBUSY",
                Some(Errno::NotPermitted) => "EPERM",
                Some(Errno::Invalid) | None => "EINVAL",
            };
            let (at, request) = (answer.at, &answer.request);
            let reason = answer.refused.as_deref().unwrap_or_default();
            remarks.push(format!("{spec}: at {at:#} refused ({how}): {request}: {reason}"));
        }
        let more = ran.refusals.count - ran.refusals.first.len() as u64;
        if more > 0 {
            remarks.push(format!("{spec}: refused requests that are not shown: {more}"));
        }
        match (self.horizon, ran.outcome.cycle) {
            (_, Some(cycle)) => remarks.push(format!(
                "{spec}: the state at {:#} recurs every {:#}: the schedule is known for ever",
                cycle.from, cycle.length
            )),
            (Horizon::Recurrence { .. }, None) => {
                remarks.push(format!("{spec}: the state did not recur up to {end:#}"));
            }
            (Horizon::At(_) | Horizon::Hyperperiods(_), None) => {}
        }
        match &ran.checked {
            Some(found) if found.is_empty() => {
                remarks.push(format!("{spec}: checked, every rule holds"));
            }
            Some(found) => {
                remarks.push(format!("{spec}: BROKEN RULES, a bug of layland:"));
                remarks.extend(found.iter().cloned());
            }
            None if self.args.check => remarks.push(format!("{spec}: INTERRUPTED: not checked")),
            None => {}
        }
        remarks
    }
}
