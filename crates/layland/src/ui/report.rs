//! What the reports of simulations, runs and traces have in common.

use super::exit::Failure;
use super::table::{self, figures};
use super::{files, terminal};
use layland_model::System;
use layland_report::{Report, Run, Severity, Table, blame, headline};
use layland_trace::{Labels, TaskSummary, Trace};
use std::path::Path;

/// Puts what matters most before all other lines: the headline, and who is to blame for the first miss of each run.
pub(crate) fn lead(report: &mut Report, labels: &Labels, system: Option<&System>) {
    let mut lines = headline(&report.runs, labels);
    let at = lines.len().min(1);
    if let Some(system) = system {
        let why = report.runs.iter().filter_map(|run| blame(run, labels, system));
        lines.splice(at..at, why.collect::<Vec<_>>());
    }
    report.lines.splice(0..0, lines);
}

/// Why the first job of a trace that missed its deadline did, in a sentence or two; none if none did.
pub(crate) fn why_late(
    name: &str,
    trace: &Trace,
    labels: &Labels,
    system: &System,
) -> Option<String> {
    blame(&Run::new(name, trace.clone()), labels, system).map(|line| line.text)
}

/// A table of figures; `None`: refused.
pub(crate) fn table<'a>(
    title: String,
    first: &str,
    rows: impl IntoIterator<Item = (String, Option<&'a TaskSummary>)>,
) -> Table {
    let headings = [first].into_iter().chain(table::IN_FULL).map(str::to_owned).collect();
    let mut table = Table { title, headings, ..Table::default() };
    for (name, summary) in rows {
        let Some(summary) = summary else {
            let refused = [name, "refused".to_owned()].into_iter();
            let rest = std::iter::repeat_n("-".to_owned(), table::IN_FULL.len() - 1);
            table.rows.push(refused.chain(rest).collect());
            continue;
        };
        if summary.missed > 0 {
            table.marked.push((table.rows.len(), Severity::Bad));
        }
        table.rows.push([name].into_iter().chain(figures(summary)).collect());
    }
    table
}

/// What a reader of the figures should know.
pub(crate) const NOTE: &str =
    "Response times and tardiness are of completed jobs; p50 and p99 are at most 0.1 % too large.";

/// Writes a report, and says so.
pub(crate) fn write(path: &Path, report: &Report, quiet: bool) -> Result<(), Failure> {
    let html = report.html();
    files::write(path, html.as_bytes())?;
    for line in report.lines.iter().filter(|line| line.severity == Severity::Warning) {
        terminal::warn(&format!("{}: {}", path.display(), line.text), None);
    }
    if !quiet {
        let size = match html.len() {
            bytes if bytes < 10_000_000 => format!("{} kB", bytes.div_ceil(1000)),
            bytes => format!("{} MB", bytes.div_ceil(1_000_000)),
        };
        terminal::talk(&format!("wrote {} ({size}, opens offline)", path.display()));
    }
    Ok(())
}
