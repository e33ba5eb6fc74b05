//! What was skipped.

use std::io::Write;

/// Says that a test could not run, and what it needs: past the test harness, which keeps the output of
/// a test that passes to itself, and as one piece. `.ci/run` counts these lines.
pub fn skipped(needs: &str) {
    let line = format!("skipped: needs {needs}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
