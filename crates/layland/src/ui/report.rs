//! Writes reports on simulations, runs and traces into files.

use super::exit::Failure;
use super::{files, terminal};
use layland_report::{Report, Severity};
use std::path::Path;

/// Writes a report and reports that.
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
