//! `--workers`: the number of threads that share the work.

use super::exit::Failure;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::error::Error;
use std::io;

/// Does parallel work on this many threads; by default on one per CPU.
///
/// # Errors
/// Fails if the threads cannot be started.
pub(crate) fn on<T: Send>(
    threads: Option<u32>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(threads) = threads else {
        // Create the common pool here: its first use would create it, and panic if the system
        // cannot start more threads.
        return match ThreadPoolBuilder::new().build_global() {
            Err(error) if is_refused(&error) => Err(refused("threads", &error)),
            Ok(()) | Err(_) => Ok(work()),
        };
    };
    let pool = ThreadPoolBuilder::new().num_threads(threads as usize).build();
    let pool = pool.map_err(|error| refused(&format!("{threads} threads"), &error))?;
    Ok(pool.install(work))
}

/// Returns true if the system cannot start threads. An existing common pool is not an error.
fn is_refused(error: &ThreadPoolBuildError) -> bool {
    error.source().is_some_and(|source| source.is::<io::Error>())
}

fn refused(what: &str, error: &ThreadPoolBuildError) -> Failure {
    Failure::refused(format!("failed to start {what}: {error}")).help(
        "`ulimit -u` and the pids.max of a control group limit threads; --workers 1 needs one",
    )
}
