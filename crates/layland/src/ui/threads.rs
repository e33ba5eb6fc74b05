//! `--threads`: how many threads share the work.

use super::exit::Failure;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::error::Error;
use std::io;

/// Does work that spreads itself over threads on this many of them; by default one for each CPU.
///
/// # Errors
/// If they cannot be started.
pub(crate) fn on<T: Send>(
    threads: Option<u32>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(threads) = threads else {
        // A page has no threads. Its pool makes do with the caller's, unless somebody tried before to start others.
        if cfg!(target_family = "wasm") {
            return Ok(work());
        }
        // Whatever uses the common pool first makes it, and panics where the system starts no more threads.
        return match ThreadPoolBuilder::new().build_global() {
            Err(error) if is_refused(&error) => Err(refused("threads", &error)),
            Ok(()) | Err(_) => Ok(work()),
        };
    };
    let pool = ThreadPoolBuilder::new().num_threads(threads as usize).build();
    let pool = pool.map_err(|error| refused(&format!("{threads} threads"), &error))?;
    Ok(pool.install(work))
}

/// Whether the system starts no threads. It is no fault that the common pool was made before.
fn is_refused(error: &ThreadPoolBuildError) -> bool {
    error.source().is_some_and(|source| source.is::<io::Error>())
}

fn refused(what: &str, error: &ThreadPoolBuildError) -> Failure {
    Failure::refused(format!("failed to start {what}: {error}")).help(
        "`ulimit -u` and the pids.max of a control group limit threads; --threads 1 needs one",
    )
}
