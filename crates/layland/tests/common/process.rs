//! Runs the program as a separate process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the command for the program with these arguments, a width of 100 columns, and an empty
/// standard input.
pub(crate) fn layland(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_layland"));
    command
        .args(args)
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null());
    command
}

/// Runs the program and returns its output.
pub(crate) fn run(args: &[&str]) -> Output {
    layland(args).output().expect("the command starts")
}

/// Creates an empty folder for one test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the folder can be made");
    path
}

/// Returns a path as an argument.
pub(crate) fn name(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}
