//! The figures of a policy or of a task as words, for tables.

use layland_model::Duration;
use layland_model::shown::{Digits, Unit};
use layland_trace::TaskSummary;

/// The headings of [`figures`].
pub(crate) const IN_FULL: [&str; 9] = [
    "jobs",
    "missed",
    "tardiness max",
    "tardiness mean",
    "response p50",
    "response p99",
    "response max",
    "preempt/job",
    "migrate/job",
];

/// A figure.
#[derive(Clone, Copy)]
enum Figure {
    Count(u64),
    Time(Duration),
    Ratio(f64),
    /// There is none.
    Missing,
}

/// Formats the figures of one task or of all tasks, each time in its own unit.
pub(crate) fn figures(total: &TaskSummary, digits: Digits) -> [String; 9] {
    of(total).map(|figure| text(figure, None, digits))
}

/// Does what [`rows_with`] does, with the usual number of digits.
pub(crate) fn rows<'a>(
    of_rows: impl IntoIterator<Item = (String, Option<&'a TaskSummary>)>,
) -> Vec<(String, Option<[String; 9]>)> {
    rows_with(of_rows, Digits::default())
}

/// Formats the rows of a table of figures. The times of a column have one unit. `None` stands for a
/// rejected set.
pub(crate) fn rows_with<'a>(
    of_rows: impl IntoIterator<Item = (String, Option<&'a TaskSummary>)>,
    digits: Digits,
) -> Vec<(String, Option<[String; 9]>)> {
    let rows: Vec<(String, Option<[Figure; 9]>)> =
        of_rows.into_iter().map(|(name, total)| (name, total.map(of))).collect();
    let unit = |column: usize| {
        let times = rows.iter().filter_map(|(_, row)| match row.as_ref()?[column] {
            Figure::Time(time) => Some(time),
            Figure::Count(_) | Figure::Ratio(_) | Figure::Missing => None,
        });
        Unit::of(times)
    };
    let units: [Unit; 9] = std::array::from_fn(unit);
    let cells = |row: [Figure; 9]| {
        std::array::from_fn(|column| text(row[column], Some(units[column]), digits))
    };
    rows.into_iter().map(|(name, row)| (name, row.map(cells))).collect()
}

fn of(total: &TaskSummary) -> [Figure; 9] {
    let time = |ns: i64| Figure::Time(Duration::from_ns(ns));
    let some = |ns: Option<i64>| ns.map_or(Figure::Missing, time);
    let ratio = |ratio: Option<f64>| ratio.map_or(Figure::Missing, Figure::Ratio);
    let response = total.response.as_ref();
    // Without known deadlines, jobs are neither late nor in time.
    let due = |figure: Figure| if total.has_deadlines { figure } else { Figure::Missing };
    [
        Figure::Count(total.released),
        due(Figure::Count(total.missed)),
        due(time(total.max_tardiness_ns)),
        due(total.mean_tardiness_ns.map_or(Figure::Missing, |ns| Figure::Time(nearest(ns)))),
        some(response.map(|response| response.p50_ns)),
        some(response.map(|response| response.p99_ns)),
        some(total.max_response_ns),
        ratio(total.preemptions_per_job),
        ratio(total.migrations_per_job),
    ]
}

fn text(figure: Figure, unit: Option<Unit>, Digits(digits): Digits) -> String {
    match (figure, unit) {
        (Figure::Count(count), _) => count.to_string(),
        (Figure::Time(time), unit) => unit.unwrap_or_else(|| Unit::of([time])).show(time, digits),
        (Figure::Ratio(ratio), _) => format!("{ratio:.*}", digits as usize),
        (Figure::Missing, _) => "-".to_owned(),
    }
}

/// Returns a time that was computed as a floating-point number, to the nanosecond.
pub(crate) fn nearest(ns: f64) -> Duration {
    Duration::from_ns(ns.round() as i64)
}
