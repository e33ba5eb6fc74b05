//! Messages about skipped tests.

use std::io::Write;

/// Reports that a test could not run, with its requirement. Writes one piece directly to standard
/// error, because the test harness hides the output of tests that pass. `.ci/run` counts these
/// lines.
pub fn skipped(needs: &str) {
    let line = format!("skipped: needs {needs}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
