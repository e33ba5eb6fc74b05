//! The charts of `layland sim`. All policies are drawn over the same time window.

use super::comparison::{Comparison, Ran};
use crate::ui::chart;
use crate::ui::exit::Failure;
use layland_chart::gantt::{Colours, Rows, TextOptions};
use layland_model::{Duration, Time};
use layland_policy::Schedules;
use layland_trace::{Trace, Window};

impl Comparison<'_> {
    /// Returns the time window of the charts, which is the same for every policy.
    pub(super) fn window(&self) -> (Time, Time) {
        if let Some(window) = self.args.window {
            return window;
        }
        let end = self
            .ran()
            .map(|ran| ran.outcome.end)
            .max()
            .unwrap_or(Time::from_ms(1))
            .max(Time::from_ns(1));
        let longest =
            self.set.system.tasks.values().map(|task| task.period.max(task.deadline)).max();
        let span = longest.and_then(|longest| longest.checked_mul(3)).unwrap_or(end.since_start());
        let per_segment = self
            .ran()
            .map(|ran| {
                let segments = ran.summary.total.released + ran.summary.total.preemptions;
                i128::from(ran.outcome.end.ns()) / i128::from(segments.max(1))
            })
            .min()
            .unwrap_or_default();
        let few = i64::try_from(per_segment * i128::from(chart::SEGMENTS)).unwrap_or(i64::MAX);
        // After an interrupt, the user does not want to wait until the first miss is found again.
        let first_miss = self.ran().filter_map(|ran| ran.first_miss).min().filter(|_| !self.cut);
        chart::window(span.ns().min(few), end, first_miss)
    }

    /// Returns the trace of a chart window; `None` if the simulation was interrupted.
    pub(super) fn chart_trace(
        &self,
        ran: &Ran,
        (from, to): (Time, Time),
    ) -> Result<Option<Trace>, Failure> {
        let mut window = Window::new(from, to);
        // Simulate one period more, so that the ends of the jobs in the window are known.
        let longest =
            self.set.system.tasks.values().map(|task| task.period.max(task.deadline)).max();
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
    pub(super) fn text_trace(
        &self,
        ran: &Ran,
        (from, to): (Time, Time),
    ) -> Result<Option<Trace>, Failure> {
        let system = &self.set.system;
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

    /// Returns the options for drawing a chart with characters.
    pub(super) fn text_options(&self, rows: Rows, colours: Colours) -> TextOptions {
        chart::text_options(rows, chart::charset(self.args.ascii), colours)
    }
}
