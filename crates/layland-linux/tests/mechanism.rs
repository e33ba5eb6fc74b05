//! The compiled mechanism of the engine `ext` matches the sources beside it.

#[path = "common/skipped.rs"]
mod skipped;

use skipped::skipped;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ext/mechanism")
}

#[test]
fn the_object_is_of_these_sources() {
    let checked = Command::new("sha256sum")
        .args(["--check", "--strict", "mechanism.sum"])
        .current_dir(folder())
        .output()
        .expect("sha256sum runs");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "compile it anew (compile.sh):\n{said}");
    assert_eq!(said.lines().filter(|line| line.ends_with(": OK")).count(), 5, "{said}");
}

/// Returns the headers of libbpf in the crate with which the engine is built.
fn headers() -> PathBuf {
    let metadata = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value =
        serde_json::from_slice(&metadata.stdout).expect("cargo tells of its packages");
    let packages = metadata["packages"].as_array().expect("there are packages");
    let found = packages.iter().find(|package| package["name"] == "libbpf-sys");
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.expect("libbpf-sys is a dependency"));
    manifest.parent().expect("it lies in a folder").join("libbpf/src")
}

#[test]
fn the_object_is_what_the_compiler_makes() {
    if Command::new("clang-14").arg("--version").output().is_err() {
        return skipped("clang 14 (clang-14, llvm-14)");
    }
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mechanism.bpf.o");
    let compiled = Command::new("sh")
        .arg(folder().join("compile.sh"))
        .args([headers(), made.clone()])
        .output()
        .expect("a shell runs");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");
    let kept = std::fs::read(folder().join("mechanism.bpf.o")).expect("the object is there");
    // Equal bytes behave in the same way.
    assert!(std::fs::read(made).expect("it was compiled") == kept, "compile it anew (compile.sh)");
}
