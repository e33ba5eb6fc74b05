//! Kernels with the patches of `kernel/`, and the programs that show what they do.

use crate::guest::Skipped;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

/// The effort that a test may spend on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spend {
    /// A kernel is used if it is built already.
    Nothing,
    /// A kernel is built where it is missing: about 9 minutes of processors for each.
    Minutes,
}

/// The checks that a kernel makes on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// As distributions build kernels.
    Few,
    /// Locks, objects, lists, stacks and stalls.
    Many,
}

/// The image of a kernel with the patches, which `kernel/build.sh` keeps in `folder`, or in the folder
/// that `LAYLAND_KERNEL_BUILDS` names.
///
/// # Errors
///
/// Returns [`Skipped`] if it is not there, and cannot or may not be built.
///
/// # Panics
///
/// Panics if the patches do not apply or the kernel does not build.
pub fn patched_kernel(folder: &Path, checks: Checks, spend: Spend) -> Result<PathBuf, Skipped> {
    let folder = env::var_os("LAYLAND_KERNEL_BUILDS").map_or_else(|| folder.into(), PathBuf::from);
    let mut build = Command::new("bash");
    build.arg(kernel("build.sh")).stdin(Stdio::null());
    match checks {
        Checks::Few => {}
        Checks::Many => {
            build.arg("--debug");
        }
    }
    match spend {
        Spend::Nothing => {
            build.arg("--cached");
        }
        Spend::Minutes => {}
    }
    let output = build
        .arg(folder)
        .output()
        .map_err(|error| Skipped(format!("skipped: needs bash ({error})")))?;
    let [said, complaint] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    match output.status.code() {
        Some(0) => Ok(said.lines().last().expect("build.sh printed the image").into()),
        Some(77) => Err(Skipped(complaint.lines().last().unwrap_or_default().into())),
        _ => panic!("build.sh failed: {said}{complaint}"),
    }
}

/// The programs for guests in `kernel/guest/`, compiled below `folder`, with their names.
///
/// # Errors
///
/// Returns [`Skipped`] if there is no C compiler.
///
/// # Panics
///
/// Panics if a program does not compile.
pub fn kernel_programs(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, Skipped> {
    /// The names of the programs, with their bytes.
    type Programs = Vec<(String, Vec<u8>)>;
    static COMPILED: OnceLock<Result<Programs, String>> = OnceLock::new();
    COMPILED.get_or_init(|| compile(folder)).clone().map_err(Skipped)
}

fn compile(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut sources: Vec<PathBuf> = fs::read_dir(kernel("guest"))
        .expect("the programs are there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "c"))
        .collect();
    sources.sort();
    let mut programs = Vec::new();
    for source in sources {
        let name = source.file_stem().expect("it has a name").to_string_lossy().into_owned();
        // Another process may compile the same program.
        let program = folder.join(format!("{name}-{}", std::process::id()));
        let status = Command::new("gcc")
            .args(["-static", "-O2", "-Wall", "-Wextra", "-Werror", "-s", "-pthread", "-o"])
            .args([&program, &source])
            .status()
            .map_err(|error| format!("skipped: needs gcc ({error})"))?;
        assert!(status.success(), "{name} does not compile");
        programs.push((name, fs::read(&program).expect("it was compiled")));
        fs::remove_file(program).expect("it was compiled");
    }
    Ok(programs)
}

/// The functions for the shell of guests, as files with their names.
///
/// # Panics
///
/// Panics if a file cannot be read.
#[must_use]
pub fn kernel_functions() -> [(&'static str, String); 2] {
    ["examples.sh", "placement.sh"].map(|name| {
        let path = kernel("guest").join(name);
        (name, fs::read_to_string(path).expect("the functions are there"))
    })
}

fn kernel(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel").join(path)
}
