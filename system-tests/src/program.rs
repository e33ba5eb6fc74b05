//! The program that guests run, and what they and their tests say.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Turns the kernel's servers for ordinary threads off: they hide the defects by chance. A push considers one CPU
/// alone, that with the latest deadline of all; with servers on, Example 6 under 6.18 showed in 14 of 48 runs,
/// and without in all. It has to be done first: after other runs 6.12 answered EBUSY.
pub const NO_FAIR_SERVERS: &str =
    "for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 0 >$cpu/runtime || exit; done";

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
    Release,
}

/// Builds the program as one file that needs no library, without the experiment runner; or takes the one that
/// `LAYLAND_STATIC` names.
///
/// # Panics
///
/// If it does not build.
#[must_use]
pub fn static_layland(folder: &Path, profile: Profile) -> PathBuf {
    if let Some(path) = std::env::var_os("LAYLAND_STATIC") {
        return path.into();
    }
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let target = folder.join("target");
    let (options, built): (&[&str], _) = match profile {
        Profile::Dev => (&[], "debug"),
        Profile::Release => (&["--release"], "release"),
    };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "-p", "layland", "--no-default-features", "--target", TARGET])
        .args(options)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("CARGO_TARGET_DIR", &target)
        // Debug information would make the file system ten times as large.
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the static program does not build");
    target.join(TARGET).join(built).join("layland")
}
