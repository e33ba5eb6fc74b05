//! The common parts of reports on simulations, runs and traces.

use super::figures::{self, IN_FULL};
use layland_model::System;
use layland_report::{Report, Run, Severity, Table, blame, headline};
use layland_trace::{Labels, TaskSummary, Trace};

/// Puts the most important lines first: the headline, and the cause of the first miss of each run.
pub(crate) fn lead(report: &mut Report, labels: &Labels, system: Option<&System>) {
    let mut lines = headline(&report.runs, labels);
    let at = lines.len().min(1);
    if let Some(system) = system {
        let why = report.runs.iter().filter_map(|run| blame(run, labels, system));
        lines.splice(at..at, why.collect::<Vec<_>>());
    }
    report.lines.splice(0..0, lines);
}

/// Explains the first miss of a trace in a sentence or two; `None` if there is none.
pub(crate) fn why_late(
    name: &str,
    trace: &Trace,
    labels: &Labels,
    system: &System,
) -> Option<String> {
    blame(&Run::new(name, trace.clone()), labels, system).map(|line| line.text)
}

/// Returns a table of figures. `None` stands for a rejected set.
pub(crate) fn table<'a>(
    title: String,
    first: &str,
    rows: impl IntoIterator<Item = (String, Option<&'a TaskSummary>)>,
) -> Table {
    let headings = [first].into_iter().chain(IN_FULL).map(str::to_owned).collect();
    let mut table = Table { title, headings, ..Table::default() };
    let rows: Vec<(String, Option<&TaskSummary>)> = rows.into_iter().collect();
    let missed: Vec<bool> =
        rows.iter().map(|(_, summary)| summary.is_some_and(|summary| summary.missed > 0)).collect();
    for ((name, figures), missed) in figures::rows(rows).into_iter().zip(missed) {
        if missed {
            table.marked.push((table.rows.len(), Severity::Bad));
        }
        table.rows.push(match figures {
            Some(figures) => std::iter::once(name).chain(figures).collect(),
            None => {
                let refused = [name, "refused".to_owned()].into_iter();
                let rest = std::iter::repeat_n("-".to_owned(), IN_FULL.len() - 1);
                refused.chain(rest).collect()
            }
        });
    }
    table
}

/// A note for readers of the figures.
pub(crate) const NOTE: &str =
    "Response times and tardiness are of completed jobs; p50 and p99 are at most 0.1 % too large.";
