//! The time window of a chart, if the user names none.

use layland_model::{Duration, System, Time};

/// The approximate number of jobs and preemptions that fit into a chart.
pub(crate) const SEGMENTS: i64 = 160;

/// Returns a window of about this length within a run up to `end`. Two thirds of it lie before the
/// first miss; without a miss it begins at 0. It consists of whole periods of the most frequent
/// task, or, if it is shorter, both its ends are round numbers.
pub(crate) fn around(
    span: i64,
    end: Time,
    first_miss: Option<Time>,
    system: &System,
) -> (Time, Time) {
    let span = span.clamp(1, end.ns());
    let period = system.tasks.values().map(|task| task.period.ns()).min();
    let step = period.filter(|period| (1..=span).contains(period)).unwrap_or_else(|| step(span));
    let span = Duration::from_ns(span / step * step);
    let from = first_miss
        .map_or(Time::ZERO, |miss| Time::ZERO.max(miss - Duration::from_ns(span.ns() / 3 * 2)));
    let from = Time::from_ns(from.min(end - span).ns() / step * step);
    (from, from + span)
}

/// Returns the unit of the third digit of a number. Charts begin and end at multiples of it.
fn step(length: i64) -> i64 {
    let mut step = 1;
    while length / step >= 1000 {
        step *= 10;
    }
    step
}
