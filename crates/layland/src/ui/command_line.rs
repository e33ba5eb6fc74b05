//! The arguments that are answered, for what is written into files. They need not be those of the process.

use std::ffi::OsString;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// From now on these are the arguments.
pub(crate) fn keep(arguments: &[OsString]) {
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    // The first command line of a process counts; it has one.
    let _ = ARGUMENTS.set(arguments.iter().map(text).collect());
}

/// The arguments, the name of the program first.
pub(crate) fn arguments() -> &'static [String] {
    ARGUMENTS.get().map_or(&[], Vec::as_slice)
}
