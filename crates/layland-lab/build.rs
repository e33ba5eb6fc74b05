//! Computes the name of the build. Results depend on the code that measures them, and machines that
//! share a folder may have different builds of one version.
//!
//! In a checkout the name is a hash of the sources of this crate and of all crates that it is built
//! on, and of the versions of the libraries. A published crate uses the commit that it was packed
//! from. Any other build has only its version.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    let name = of_sources(&here).or_else(|| of_commit(&here)).unwrap_or_default();
    println!("cargo::rustc-env=LAYLAND_LAB_BUILD={name}");
}

/// A hash of all sources, if this is a checkout.
fn of_sources(here: &Path) -> Option<String> {
    let crates = here.parent()?;
    let lock = crates.parent()?.join("Cargo.lock");
    let mut bytes = std::fs::read(&lock).ok().filter(|_| crates.join("layland-model").is_dir())?;
    println!("cargo::rerun-if-changed={}", lock.display());
    for name in built_on(crates, "layland-lab") {
        let sources = crates.join(&name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        let mut files = Vec::new();
        collect(&sources, &mut files);
        files.sort();
        for file in files {
            let place = file.strip_prefix(crates).unwrap_or(&file);
            bytes.extend(place.to_string_lossy().replace('\\', "/").bytes());
            bytes.extend(std::fs::read(&file).ok()?);
        }
    }
    Some(format!("{:032x}", XxHash3_128::oneshot(&bytes)))
}

/// The crates of the workspace that a crate is built on, including itself.
fn built_on(crates: &Path, name: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut next = vec![name.to_owned()];
    while let Some(name) = next.pop() {
        let manifest = crates.join(&name).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap_or_default();
        println!("cargo::rerun-if-changed={}", manifest.display());
        if all.insert(name) {
            let words = text.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
            next.extend(words.filter(|word| word.starts_with("layland-")).map(str::to_owned));
        }
    }
    all
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The commit that a published crate was packed from.
fn of_commit(here: &Path) -> Option<String> {
    let told = std::fs::read_to_string(here.join(".cargo_vcs_info.json")).ok()?;
    let hash = told.split('"').find(|word| word.len() == 40)?;
    hash.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| hash.to_owned())
}
