//! The arguments of the executed command line, for the provenance in files. They may differ from
//! those of the process.

use std::ffi::OsString;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// Stores the arguments.
pub(crate) fn keep(arguments: &[OsString]) {
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    // A process keeps its first command line and ignores later ones.
    let _ = ARGUMENTS.set(arguments.iter().map(text).collect());
}

/// Returns the arguments. The first is the name of the program.
pub(crate) fn arguments() -> &'static [String] {
    ARGUMENTS.get().map_or(&[], Vec::as_slice)
}
