//! [`View`]: the part of a trace that is drawn.

use super::scene::missed_at;
use layland_model::{Duration, TaskId, Time};
use layland_trace::{Labels, Trace};
use std::collections::BTreeMap;

/// A window of a trace, for drawing. Times are not negative.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(super) trace: &'a Trace,
    pub(super) labels: &'a Labels,
    pub(super) from: Time,
    pub(super) to: Time,
}

/// The kinds of rows in a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rows {
    /// One row per CPU: the tasks that run there.
    Cpus,
    /// One row per task: releases, deadlines, misses, execution, waiting.
    Tasks,
    /// CPUs on top, tasks below.
    #[default]
    Both,
}

impl Rows {
    pub(super) fn has_cpus(self) -> bool {
        match self {
            Rows::Cpus | Rows::Both => true,
            Rows::Tasks => false,
        }
    }
    pub(super) fn has_tasks(self) -> bool {
        match self {
            Rows::Tasks | Rows::Both => true,
            Rows::Cpus => false,
        }
    }
}

/// The maximum number of segments that [`View::interesting`] shows.
const INTERESTING_SEGMENTS: usize = 240;

impl<'a> View<'a> {
    /// Returns a view of the whole run.
    pub fn new(trace: &'a Trace, labels: &'a Labels) -> View<'a> {
        View { trace, labels, from: Time::ZERO, to: trace.over }
    }

    /// Limits the view to a window from one time to another; at least one nanosecond is shown.
    #[must_use]
    pub fn window(self, from: Time, to: Time) -> View<'a> {
        View { from, to, ..self }
    }

    /// Returns a window for a first look: about three times the longest period, around the first
    /// deadline miss or else from the start, with at most about 240 segments.
    ///
    /// The period of a task is taken to be the least time between two arrivals, or else the time
    /// from an arrival to its deadline.
    pub fn interesting(trace: &'a Trace, labels: &'a Labels) -> View<'a> {
        let over = trace.over.ns().max(1);
        let span = longest_period(trace).map_or(over, |period| period.ns().saturating_mul(3));
        let span = span.clamp(1, over);
        let missed = trace.jobs.iter().filter_map(|record| {
            let missed_at = missed_at(record, trace.over)?;
            Some((missed_at, record.end.map_or(trace.over, |(at, _)| at)))
        });
        let (from, to) = match missed.min() {
            None => (0, span),
            Some((missed_at, _)) => {
                // Two thirds of the window precede the miss, because its causes are there.
                let from = (missed_at.ns() - span / 3 * 2).clamp(0, over - span);
                (from, from + span)
            }
        };
        let view = View { trace, labels, from: Time::from_ns(from), to: Time::from_ns(to) };
        match missed_focus(&view) {
            None => view.with_few_segments(from),
            Some(focus) => view.with_few_segments(focus.ns()),
        }
    }

    /// Returns the start and the end of the window.
    pub fn bounds(&self) -> (Time, Time) {
        (self.from, self.to)
    }

    /// Halves the window around a point until it has few segments.
    fn with_few_segments(self, focus: i64) -> View<'a> {
        let (mut from, mut to) = (self.from.ns(), self.to.ns());
        loop {
            let segments = self.trace.segments.iter();
            let count = segments.filter(|s| s.start.ns() < to && s.end.ns() > from).count();
            // A window of two nanoseconds may not shrink any further, and the loop would not end.
            if count <= INTERESTING_SEGMENTS || to - from <= 2 {
                return self.window(Time::from_ns(from), Time::from_ns(to));
            }
            let kept = (count / INTERESTING_SEGMENTS + 1) as i64;
            from = focus - (focus - from) / kept.max(2);
            to = (focus + (to - focus) / kept.max(2)).max(from + 1);
        }
    }
}

/// Returns the time of the first miss in a window.
fn missed_focus(view: &View) -> Option<Time> {
    let missed = view.trace.jobs.iter().filter_map(|record| missed_at(record, view.trace.over));
    missed.filter(|&at| view.from <= at && at <= view.to).min()
}

fn longest_period(trace: &Trace) -> Option<Duration> {
    let mut by_task: BTreeMap<TaskId, Vec<(Time, Time)>> = BTreeMap::new();
    for record in &trace.jobs {
        let job = &record.job;
        by_task.entry(job.id.task).or_default().push((job.arrival, job.deadline));
    }
    let period = |mut jobs: Vec<(Time, Time)>| {
        jobs.sort_unstable();
        let gaps = jobs.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let relative_deadline = || jobs.first().map(|&(arrival, deadline)| deadline - arrival);
        gaps.filter(|&gap| gap > Duration::ZERO).min().or_else(relative_deadline)
    };
    by_task.into_values().filter_map(period).filter(|&period| period > Duration::ZERO).max()
}
