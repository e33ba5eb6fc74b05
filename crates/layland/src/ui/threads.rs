//! `--threads`: how many threads share the work.

use super::exit::Failure;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::error::Error;
use std::io::{self, ErrorKind};

/// Does work that spreads itself over threads on this many of them; by default one for each CPU.
///
/// # Errors
/// If they cannot be started.
pub(crate) fn on<T: Send>(
    threads: Option<u32>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(threads) = threads else {
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

/// Whether the system starts no threads. It is no fault that the common pool was made before, and where there are no
/// threads at all, work does without.
fn is_refused(error: &ThreadPoolBuildError) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() != ErrorKind::Unsupported)
}

fn refused(what: &str, error: &ThreadPoolBuildError) -> Failure {
    Failure::refused(format!("failed to start {what}: {error}")).help(
        "`ulimit -u` and the pids.max of a control group limit threads; --threads 1 needs one",
    )
}
