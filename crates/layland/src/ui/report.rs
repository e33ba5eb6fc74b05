//! What the reports of simulations, runs and traces have in common.

use super::exit::Failure;
use super::table::{self, figures};
use super::terminal;
use layland_model::System;
use layland_report::{Report, Severity, Table, blame, headline};
use layland_trace::{Labels, TaskSummary};
use std::path::Path;

/// Puts what matters most before all other lines: the headline, and who is to blame for the first miss.
pub(crate) fn lead(report: &mut Report, labels: &Labels, system: Option<&System>) {
    let mut lines = headline(&report.runs, labels);
    let first = report.runs.iter().filter_map(|run| {
        let missed = run.trace.jobs.iter().filter(|job| job.missed(run.trace.over));
        missed.map(|job| job.job.deadline).min().map(|deadline| (deadline, run))
    });
    let first = first.min_by_key(|&(deadline, _)| deadline);
    let at = lines.len().min(1);
    if let Some(system) = system
        && let Some(line) = first.and_then(|(_, run)| blame(run, labels, system))
    {
        lines.insert(at, line);
    }
    report.lines.splice(0..0, lines);
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
    terminal::write_file(path, html.as_bytes())?;
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
