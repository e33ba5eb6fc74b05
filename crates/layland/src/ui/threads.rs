//! `--threads`: how many threads share the work.

use super::exit::Failure;

/// Does work that spreads itself over threads on this many of them; by default one for each CPU.
///
/// # Errors
/// If they cannot be started.
pub(crate) fn on<T: Send>(
    threads: Option<u32>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(threads) = threads else { return Ok(work()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build();
    let pool = pool
        .map_err(|error| Failure::refused(format!("failed to start {threads} threads: {error}")))?;
    Ok(pool.install(work))
}
