//! A lock for tests that need the machine alone.

use std::sync::{Mutex, MutexGuard};

static CPUS: Mutex<()> = Mutex::new(());

/// Waits until no other such test runs, and keeps others waiting until the guard is dropped.
pub fn alone() -> MutexGuard<'static, ()> {
    CPUS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
