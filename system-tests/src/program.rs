//! The program that guests run, and what they and their tests say.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Turns the kernel's servers for ordinary threads off: they hide the defects by chance. A push considers one CPU
/// alone, that with the latest deadline of all; with servers on, Example 6 under 6.18 showed in 14 of 48 runs,
/// and without in all. It has to be done first: after other runs 6.12 answered EBUSY.
pub const NO_FAIR_SERVERS: &str =
    "for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 0 >$cpu/runtime || exit; done";

/// The kernels on which SCHED_DEADLINE is looked at, by their labels. 7.3 has nothing new there, and every boot takes
/// its time.
pub const WITH_DEADLINE: [&str; 3] = ["6.12", "6.18", "7.2"];

/// Says why a test could not run where the harness does not keep it to itself; `.ci/run` counts these lines.
pub fn past_the_harness(why: &str) {
    let _ = std::io::stderr().write_all(format!("{why}\n").as_bytes());
}

/// How the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// With assertions, as tests are: for what is judged.
    Dev,
    /// As users have it: for what is measured.
    Dist,
}

/// Whether the program that guests run has the engine `ext`: whether it can be built here. One that was named is
/// taken to have it.
#[must_use]
pub fn carries_ext() -> bool {
    let has = |header: &str| Path::new("/usr/include").join(header).exists();
    std::env::var_os("LAYLAND_STATIC").is_some() || has("libelf.h") && has("zlib.h")
}

/// Compiles a program of the folder `programs` as one file that needs no library.
///
/// # Panics
///
/// If it does not compile.
#[must_use]
pub fn static_workload(folder: &Path) -> Vec<u8> {
    let output = folder.join("workload");
    let status = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args([
            "--edition",
            "2024",
            "-O",
            "-C",
            "target-feature=+crt-static",
            "-C",
            "strip=symbols",
        ])
        .arg("-o")
        .arg(&output)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/workload.rs"))
        .status()
        .expect("rustc runs");
    assert!(status.success(), "the workload does not compile");
    std::fs::read(output).expect("it was compiled")
}

/// Builds the program as one file that needs no library, below the folder `target` of cargo, with the engine `ext` if
/// that can be built; or takes the one that `LAYLAND_STATIC` names.
///
/// # Panics
///
/// If it does not build.
#[must_use]
pub fn static_layland(target: &Path, profile: Profile) -> PathBuf {
    if let Some(path) = std::env::var_os("LAYLAND_STATIC") {
        return path.into();
    }
    // Named, so that macros and build scripts are built without the flags below: those of the tests serve.
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let (profile, built) = match profile {
        Profile::Dev => ("dev", "debug"),
        Profile::Dist => ("dist", "dist"),
    };
    let features: &[&str] = if carries_ext() { &["--features", "ext"] } else { &[] };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "-p", "layland", "--target", TARGET, "--profile", profile])
        .args(features)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("CARGO_TARGET_DIR", target)
        // Debug information would make the file system ten times as large.
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the static program does not build");
    target.join(TARGET).join(built).join("layland")
}
