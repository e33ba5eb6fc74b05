//! The figures of a policy or of a task as words, for tables.

use layland_model::Duration;
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

/// Formats the figures of a task or of all tasks.
pub(crate) fn figures(total: &TaskSummary) -> [String; 9] {
    let some = |ns: Option<i64>| ns.map_or("-".to_owned(), |ns| time(ns as f64));
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    let response = total.response.as_ref();
    // Without known deadlines, jobs are neither late nor in time.
    let due = |text: String| if total.has_deadlines { text } else { "-".to_owned() };
    [
        total.released.to_string(),
        due(total.missed.to_string()),
        due(time(total.max_tardiness_ns as f64)),
        due(total.mean_tardiness_ns.map_or("-".to_owned(), time)),
        some(response.map(|response| response.p50_ns)),
        some(response.map(|response| response.p99_ns)),
        some(total.max_response_ns),
        ratio(total.preemptions_per_job),
        ratio(total.migrations_per_job),
    ]
}

/// Formats a time. Floating-point values are rounded to a nanosecond first.
pub(crate) fn time(ns: f64) -> String {
    format!("{:#}", Duration::from_ns(ns.round() as i64))
}
