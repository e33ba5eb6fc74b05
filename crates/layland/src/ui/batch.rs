//! Processes many sets, one after the other. The result of one is printed before the next are read,
//! so that a stream may have any length.

use super::exit::Failure;
use super::input::Set;
use super::threads;
use rayon::prelude::*;

/// The decision to continue or to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    /// The output has no reader left, or the user has interrupted.
    Stop,
}

/// Processes each set on `threads` threads ([`threads::on`]), and reports the results in the order
/// of the sets. Each thread has several sets at a time: enough to balance the load, and few enough
/// to print results soon.
///
/// # Errors
/// Fails if a set cannot be read, or a result cannot be printed. Earlier results are printed.
pub(crate) fn each<T: Send>(
    sets: impl IntoIterator<Item = Result<Set, Failure>, IntoIter: Send>,
    threads: Option<u32>,
    at_a_time: usize,
    work: impl Fn(Set) -> T + Sync,
    mut tell: impl FnMut(Vec<T>) -> Result<Go, Failure> + Send,
) -> Result<(), Failure> {
    let mut sets = sets.into_iter();
    let mut each = || -> Result<(), Failure> {
        loop {
            let (mut some, mut failure) = (Vec::new(), None);
            for set in sets.by_ref().take(at_a_time * rayon::current_num_threads()) {
                match set {
                    Ok(set) => some.push(set),
                    Err(found) => failure = Some(found),
                }
                if failure.is_some() {
                    break;
                }
            }
            if some.is_empty() && failure.is_none() {
                return Ok(());
            }
            let found: Vec<T> = some.into_par_iter().map(&work).collect();
            let go = tell(found)?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            if go == Go::Stop {
                return Ok(());
            }
        }
    };
    // Run within the pool of workers, not beside it: handing over each part would cost as much as a
    // set.
    threads::on(threads, || rayon::scope(|_| each()))?
}
