//! Crates: the table in ARCHITECTURE agrees with the manifests about which crate uses which. A
//! published crate has the texts of its licences.

use super::{assert_none, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Returns cargo's metadata for the workspace and its dependencies on this system. Dependencies of
/// other systems may not have been downloaded.
pub(super) fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// Returns the crates of ours that each crate of ours needs to run, without `layland-`.
fn used(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let members: BTreeSet<&str> =
        list(metadata, "workspace_members").filter_map(Value::as_str).collect();
    let short = |name: &str| name.strip_prefix("layland-").unwrap_or(name).to_owned();
    list(metadata, "packages")
        .filter(|package| members.contains(text(package, "id")))
        .map(|package| {
            let needed = list(package, "dependencies")
                .filter(|needed| needed["kind"].is_null() && needed["path"].is_string())
                .map(|needed| short(text(needed, "name")));
            (short(text(package, "name")), needed.collect())
        })
        .collect()
}

/// Returns the rows of the table of crates: a crate, and what it may use. The order is from the
/// lowest layer to the top.
fn table() -> Vec<(String, String)> {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let rows = document.lines().skip_while(|line| !line.starts_with("| crate | what it has"));
    rows.skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let name = cells[0].trim_matches('`');
            (name.strip_prefix("layland-").unwrap_or(name).to_owned(), cells[2].to_owned())
        })
        .collect()
}

#[test]
fn the_table_of_crates_is_what_the_manifests_say() {
    let used = used(&metadata());
    let table = table();
    let mut wrong = Vec::new();
    let mut above = BTreeSet::new();
    for (name, may) in &table {
        let Some(uses) = used.get(name) else {
            wrong.push(format!("{name} is in the table, and is no crate"));
            continue;
        };
        let all: BTreeSet<String> = used.keys().cloned().collect();
        let may_use: BTreeSet<String> = match may.as_str() {
            "all of the above" => above.clone(),
            "all but `layland`" => all.into_iter().filter(|other| other != "layland").collect(),
            nothing if nothing.starts_with("nothing") => BTreeSet::new(),
            list => {
                let names = list.split(',').map(|name| name.split('(').next().unwrap_or(name));
                let exactly: BTreeSet<String> = names.map(|name| name.trim().to_owned()).collect();
                for unused in exactly.difference(uses) {
                    wrong.push(format!("{name} may use {unused}, and does not"));
                }
                exactly
            }
        };
        for other in uses.difference(&may_use) {
            wrong.push(format!("{name} uses {other}, of which the table says nothing"));
        }
        above.insert(name.clone());
    }
    for name in used.keys().filter(|&name| !table.iter().any(|(row, _)| row == name)) {
        wrong.push(format!("{name} is not in the table"));
    }
    assert_none(&wrong, "ARCHITECTURE.md and the manifests");
}

/// `.ci/run` may find no toolchain of that age. Without one, the test can only check that no
/// dependency requires a newer one.
#[test]
fn nothing_needs_a_newer_rust_than_we_promise() {
    let number = |version: &str| -> Vec<u32> {
        version.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).chain([0]).take(2).collect()
    };
    let metadata = metadata();
    let packages = || list(&metadata, "packages");
    let ours = packages().find(|package| text(package, "name") == "layland").expect("it is there");
    let promised = number(text(ours, "rust_version"));
    assert_eq!(promised.len(), 2, "layland has a minimum Rust version");
    let newer: Vec<String> = packages()
        .filter(|package| package["rust_version"].is_string())
        .filter(|package| number(text(package, "rust_version")) > promised)
        .map(|package| {
            let (name, version) = (text(package, "name"), text(package, "version"));
            format!("{name} {version} needs {}", text(package, "rust_version"))
        })
        .collect();
    assert_none(&newer, "newer than our minimum Rust version");
}

/// A crate is published without the folder that contains it, and both licences require their text
/// to be included. Links would suffice only if every tool that copies a tree preserved them.
#[test]
fn a_published_crate_has_its_licences() {
    let metadata = metadata();
    let mut wrong = Vec::new();
    for package in list(&metadata, "packages") {
        // Skip crates of others, and crates that are not published.
        if package["source"].is_string() || package["publish"].is_array() {
            continue;
        }
        let folder = Path::new(text(package, "manifest_path")).parent().expect("it is in a folder");
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let whole = std::fs::read(root().join(name)).expect("it is there");
            if std::fs::read(folder.join(name)).ok() != Some(whole) {
                wrong.push(format!("{}: cp {name} {}", text(package, "name"), folder.display()));
            }
        }
    }
    assert_none(&wrong, "crates without the licences of the root");
}

/// Five crates are promised to users (`docs/versions.md`). The descriptions of all other published
/// crates state that they are internal.
#[test]
fn five_crates_are_promised() {
    let metadata = metadata();
    let members: BTreeSet<&str> =
        list(&metadata, "workspace_members").filter_map(Value::as_str).collect();
    let promised: BTreeSet<&str> = list(&metadata, "packages")
        .filter(|package| members.contains(text(package, "id")) && package["publish"].is_null())
        .filter(|package| !text(package, "description").starts_with("Internal to Layland"))
        .map(|package| text(package, "name"))
        .collect();
    let expected =
        ["layland", "layland-analysis", "layland-answers", "layland-model", "layland-policy"];
    assert_eq!(promised, BTreeSet::from(expected));
}
