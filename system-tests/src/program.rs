//! The program that guests run, and the messages of guests and their tests.

use serde_json::Value;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Turns the kernel's servers for ordinary threads off: they hide the defects by chance. A push
/// considers only one CPU, the one with the latest deadline of all; with servers on, Example 6
/// under 6.18 appeared in 14 of 48 runs, and without them in all. This must be done first: after
/// other runs, 6.12 answered EBUSY.
pub const NO_FAIR_SERVERS: &str =
    "for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 0 >$cpu/runtime || exit; done";

/// Turns the servers on again, with the kernel's default.
pub const FAIR_SERVERS: &str = "for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 50000000 >$cpu/runtime || exit; done";

/// The kernels on which SCHED_DEADLINE is tested, by their labels. 7.3 does not change it, and
/// every boot takes time.
pub const WITH_DEADLINE: [&str; 3] = ["6.12", "6.18", "7.2"];

/// The last of these with the defect of Example 7 and the first without: 6.12 has the defects of
/// 6.18.
pub const AROUND_THE_REPAIR: [&str; 2] = ["6.18", "7.2"];

/// Prints the reason why a test could not run past the output capture of the harness; `.ci/run`
/// counts these lines.
pub fn past_the_harness(why: &str) {
    let _ = std::io::stderr().write_all(format!("{why}\n").as_bytes());
}

/// The profile with which the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// With assertions, like tests: for judging behaviour.
    Dev,
    /// As users have it: for measurements.
    Dist,
}

/// Returns true if the program that guests run has the engine `ext`, which depends on the headers
/// of this machine. A program that the user names is assumed to have it.
#[must_use]
pub fn carries_ext() -> bool {
    let has = |header: &str| Path::new("/usr/include").join(header).exists();
    std::env::var_os("LAYLAND_STATIC").is_some() || has("libelf.h") && has("zlib.h")
}

/// Compiles a program of the folder `programs` as a single file that needs no libraries.
///
/// # Panics
///
/// Panics if it does not compile.
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

/// Builds the program as a single file that needs no libraries, below cargo's folder `target`, with
/// the engine `ext` if possible; or returns the one that `LAYLAND_STATIC` names.
///
/// # Panics
///
/// Panics if it does not build.
#[must_use]
pub fn static_layland(target: &Path, profile: Profile) -> PathBuf {
    if let Some(path) = std::env::var_os("LAYLAND_STATIC") {
        return path.into();
    }
    match profile {
        Profile::Dev => linked_anew(target),
        Profile::Dist => built_anew(target),
    }
}

/// Links the program of the tests again: linking decides whether a program needs libraries, so
/// everything that the tests have compiled is reused.
fn linked_anew(target: &Path) -> PathBuf {
    let features: &[&str] = if carries_ext() { &["--features", "layland/ext"] } else { &[] };
    // Build it like a test of the workspace, because that determines the features of its crates.
    let output = cargo(target)
        .args(["test", "--quiet", "--workspace", "--bin", "layland", "--no-run"])
        .args(["--message-format", "json-render-diagnostics"])
        .args(features)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "the program does not build");
    let mut libraries = Vec::new();
    let mut folders = Vec::new();
    for line in output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).expect("cargo writes JSON");
        let texts = |value: &Value| -> Vec<String> {
            let texts = value.as_array().into_iter().flatten();
            texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        match message["reason"].as_str() {
            Some("compiler-artifact") if message["profile"]["test"] == false => {
                let name = message["target"]["name"].as_str().unwrap_or_default();
                if ["layland", "layland_policy"].contains(&name) {
                    let files = texts(&message["filenames"]);
                    let library = files.into_iter().find(|file| file.ends_with(".rlib"));
                    libraries.extend(library.map(|library| format!("{name}={library}")));
                }
            }
            Some("build-script-executed") => folders.extend(texts(&message["linked_paths"])),
            _ => {}
        }
    }
    let folder = target.join("static");
    std::fs::create_dir_all(&folder).expect("there is room below the target folder");
    let [output, unfinished] = ["layland", "unfinished"].map(|name| folder.join(name));
    let mut dependencies = OsString::from("dependency=");
    dependencies.push(target.join("debug/deps"));
    let status = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-name", "layland", "-C", "debug-assertions=on"])
        // Debug information would make the file system ten times as large.
        .args(["-C", "target-feature=+crt-static", "-C", "strip=symbols"])
        .arg("-L")
        .arg(dependencies)
        .args(folders.iter().flat_map(|folder| ["-L", folder]))
        .args(libraries.iter().flat_map(|library| ["--extern", library]))
        .arg("-o")
        .arg(&unfinished)
        .arg(workspace().join("crates/layland/src/main.rs"))
        .status()
        .expect("rustc runs");
    assert!(status.success(), "the static program cannot be linked");
    // Rename atomically: a process that waits for the file finds all of it, or nothing.
    std::fs::rename(&unfinished, &output).expect("both are in one folder");
    output
}

/// Builds the program as it is released, except for its paths.
fn built_anew(target: &Path) -> PathBuf {
    // The target is given explicitly, so that macros and build scripts are built without the flags
    // below.
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let features: &[&str] = if carries_ext() { &["--features", "ext"] } else { &[] };
    let status = cargo(target)
        .args(["build", "--quiet", "-p", "layland", "--target", TARGET, "--profile", "dist"])
        .args(features)
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the static program does not build");
    target.join(TARGET).join("dist/layland")
}

fn cargo(target: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace()).env("CARGO_TARGET_DIR", target);
    cargo
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
