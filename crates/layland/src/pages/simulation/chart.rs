//! The charts of a simulation.

use super::View;
use crate::pages::window;
use layland_answers::Unanswered;
use layland_answers::simulate::{PolicyRun, Ran};
use layland_chart::gantt::{self, SvgOptions};
use layland_model::{Duration, Time};
use layland_policy::Schedules;
use layland_trace::{Labels, Trace, Window};

/// The contents of a chart.
pub(crate) struct Chart {
    pub trace: Trace,
    pub title: String,
    window: (Time, Time),
}

impl Chart {
    /// Returns the view that is drawn.
    pub(crate) fn view<'a>(&'a self, labels: &'a Labels) -> gantt::View<'a> {
        gantt::View::new(&self.trace, labels).window(self.window.0, self.window.1)
    }
}

impl View<'_> {
    /// Returns the SVG chart of each policy that accepts the set, with the policy.
    pub(crate) fn charts(&self) -> Result<Vec<(String, String)>, Unanswered> {
        let labels = Labels::of(&self.simulated.set.system);
        let mut charts = Vec::new();
        for policy in &self.simulated.policies {
            let Ok(ran) = &policy.result else { continue };
            let Some(chart) = self.chart(policy, ran)? else { continue };
            let options = SvgOptions { title: Some(chart.title.clone()), ..SvgOptions::default() };
            charts.push((policy.spec.clone(), chart.view(&labels).svg(&options)));
        }
        Ok(charts)
    }

    /// Returns the chart of a policy for a file; `None` if it was interrupted.
    pub(crate) fn chart(&self, policy: &PolicyRun, ran: &Ran) -> Result<Option<Chart>, Unanswered> {
        let window = self.window();
        let Some(trace) = self.chart_trace(ran, window)? else { return Ok(None) };
        let title = self.title(policy);
        let title = match self.elsewhere(ran, window) {
            Some(elsewhere) => format!("{title} ({elsewhere})"),
            None => title,
        };
        Ok(Some(Chart { trace, title, window }))
    }

    /// Returns the time window of the charts, which is the same for every policy.
    pub(crate) fn window(&self) -> (Time, Time) {
        if let Some(window) = self.shown.window {
            return window;
        }
        let end = self
            .simulated
            .ran()
            .map(|ran| ran.outcome.end)
            .max()
            .unwrap_or(Time::from_ms(1))
            .max(Time::from_ns(1));
        let longest = self
            .simulated
            .set
            .system
            .tasks
            .values()
            .map(|task| task.period.max(task.deadline))
            .max();
        let span = longest.and_then(|longest| longest.checked_mul(3)).unwrap_or(end.since_start());
        let per_segment = self
            .simulated
            .ran()
            .map(|ran| {
                let segments = ran.summary.total.released + ran.summary.total.preemptions;
                i128::from(ran.outcome.end.ns()) / i128::from(segments.max(1))
            })
            .min()
            .unwrap_or_default();
        let few = i64::try_from(per_segment * i128::from(window::SEGMENTS)).unwrap_or(i64::MAX);
        // After an interrupt, the user does not want to wait until the first miss is found again.
        let first_misses: Vec<Time> = self
            .simulated
            .ran()
            .filter(|_| !self.simulated.interrupted)
            .filter_map(|ran| ran.first_miss)
            .collect();
        let system = Some(&self.simulated.set.system);
        window::around_all(span.ns().min(few), end, &first_misses, system)
    }

    /// Returns the trace of a chart window; `None` if the simulation was interrupted.
    pub(crate) fn chart_trace(
        &self,
        ran: &Ran,
        (from, to): (Time, Time),
    ) -> Result<Option<Trace>, Unanswered> {
        let mut window = Window::new(from, to);
        // Simulate one period more, so that the ends of the jobs in the window are known.
        let longest = self
            .simulated
            .set
            .system
            .tasks
            .values()
            .map(|task| task.period.max(task.deadline))
            .max();
        let until = to.saturating_add(longest.unwrap_or_default()).min(ran.outcome.end);
        let interrupted = self.record(ran, until, &mut window)?;
        Ok((!interrupted).then_some(window.trace))
    }

    /// Returns the trace of a chart in the terminal, which covers only events up to the end of the
    /// window: for many tasks, the window is some microseconds long, and the periods after it are
    /// seconds.
    ///
    /// Later events would change the chart in three cases. A task that leaves has not missed the
    /// deadline of its job; a job that has arrived is released after its deadline; the dates of a
    /// job are set again.
    pub(crate) fn text_trace(
        &self,
        ran: &Ran,
        (from, to): (Time, Time),
    ) -> Result<Option<Trace>, Unanswered> {
        let system = &self.simulated.set.system;
        let is_later_told = !system.requests.is_empty()
            || system.tasks.values().any(|task| task.jitter > Duration::ZERO)
            || ran.schedules() != Schedules::ReadyJobs;
        if is_later_told {
            return self.chart_trace(ran, (from, to));
        }
        let mut window = Window::new(from, to);
        // Include the events at the end of the window.
        let until = to.saturating_add(Duration::from_ns(1)).min(ran.outcome.end);
        let interrupted = self.record(ran, until, &mut window)?;
        Ok((!interrupted).then_some(window.trace))
    }
}
