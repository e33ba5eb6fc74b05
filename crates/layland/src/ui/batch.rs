//! Many sets, one after the other: what is found of one is told before the next are read, so that a stream may be as
//! long as it likes.

use super::exit::Failure;
use super::input::Set;
use super::threads;
use rayon::prelude::*;

/// Whether anybody wants to know more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    /// Nobody reads, or the user has interrupted.
    Stop,
}

/// Does some work on each set, on so many threads ([`threads::on`]), and tells what came of it in the order of the
/// sets. Each thread has so many sets at a time: enough to share them out, and few enough to see them soon.
///
/// # Errors
/// If a set cannot be read, or what came of one cannot be told. What came before it is told.
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
    // Among the threads that share the work, and not beside them: handing each part over costs as much as a set.
    threads::on(threads, || rayon::scope(|_| each()))?
}
