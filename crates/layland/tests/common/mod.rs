//! Helpers of the tests of the command.

use std::io::Write;

/// Reports that a test could not run, and what it needs. The line is written around the test
/// harness, which hides the output of passing tests, and in one write. `.ci/run` counts these
/// lines.
pub(crate) fn skipped(needs: &str) {
    let line = format!("skipped: needs {needs}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
