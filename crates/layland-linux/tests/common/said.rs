//! That nobody else runs, and what was skipped.

use std::io::Write;
use std::sync::{Mutex, MutexGuard};

static CPUS: Mutex<()> = Mutex::new(());

/// Nobody else runs until this is dropped.
pub fn alone() -> MutexGuard<'static, ()> {
    CPUS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Says that a test could not run, and what it needs: past the test harness, which keeps the output of
/// a test that passes to itself, and as one piece. `.ci/run` counts these lines.
pub fn skipped(needs: &str) {
    let line = format!("skipped: needs {needs}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
