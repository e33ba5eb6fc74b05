//! The charts of `layland sim`: all policies over the same part of time.

use super::comparison::{Comparison, Ran};
use crate::ui::chart;
use crate::ui::exit::Failure;
use layland_chart::gantt::{Colours, Rows, TextOptions};
use layland_model::{Duration, Time};
use layland_policy::Schedules;
use layland_trace::{Trace, Window};

impl Comparison<'_> {
    /// The part of time that charts show: the same for every policy.
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
        // After an interrupt nobody wants to wait until the first miss is found again.
        let first_miss = self.ran().filter_map(|ran| ran.first_miss).min().filter(|_| !self.cut);
        chart::window(span.ns().min(few), end, first_miss)
    }

    /// What a chart of a window shows; nothing if drawing it was interrupted.
    pub(super) fn chart_trace(
        &self,
        ran: &Ran,
        (from, to): (Time, Time),
    ) -> Result<Option<Trace>, Failure> {
        let mut window = Window::new(from, to);
        // One period more, so that the ends of the jobs in the window are known.
        let longest =
            self.set.system.tasks.values().map(|task| task.period.max(task.deadline)).max();
        let until = to.saturating_add(longest.unwrap_or_default()).min(ran.outcome.end);
        let interrupted = self.record(ran, until, &mut window)?;
        Ok((!interrupted).then_some(window.trace))
    }

    /// The same for a chart in the terminal, which is about what happens up to the end of the window: a run of many
    /// tasks has a window of some microseconds, and periods of seconds after it.
    ///
    /// What comes later changes it in three cases. A task that leaves has not missed the deadline of its job; a job
    /// that has arrived is released after its deadline; the dates of a job are set again.
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
        // What happens just at the end is shown, too.
        let until = to.saturating_add(Duration::from_ns(1)).min(ran.outcome.end);
        let interrupted = self.record(ran, until, &mut window)?;
        Ok((!interrupted).then_some(window.trace))
    }

    /// How a chart is drawn with characters.
    pub(super) fn text_options(&self, rows: Rows, colours: Colours) -> TextOptions {
        chart::text_options(rows, chart::charset(self.args.ascii), colours)
    }
}
