//! The folder `kernel/` has another licence than the rest, and no part of it gets into a crate.

use super::{assert_none, files_below};
use regex::Regex;

const FOLDER: &str = "kernel/";
const MARK: &str = concat!("SPDX-License-Identifier: ", "GPL-2.0-only");

#[test]
fn each_file_about_the_kernel_names_its_licence_and_no_other_file_has_it() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files_below(".") {
        let is_there = file.path.starts_with(FOLDER);
        // The licence itself, and lists of names alone.
        let is_bare = file.path == "kernel/LICENSE" || file.path.ends_with("/series");
        count += usize::from(is_there);
        if is_there != file.text.contains(MARK) && !is_bare {
            wrong.push(file.path);
        }
    }
    assert!(count > 15, "only {count} files in {FOLDER}");
    assert_none(&wrong, "the licence of the kernel is missing, or is where it must not be");
}

#[test]
fn no_crate_includes_a_file_about_the_kernel() {
    let include = Regex::new(r#"include\w*!\("([^"]+)"\)"#).expect("a valid expression");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in files_below(".") {
        let packs = file.has_ending("toml") || file.path.starts_with("packaging/");
        if packs && file.text.contains(FOLDER) {
            wrong.push(file.path.clone());
        }
        for found in include.captures_iter(&file.text).filter(|_| file.has_ending("rs")) {
            count += 1;
            if from_root(&file.path, &found[1]).starts_with(FOLDER) {
                wrong.push(format!("{}: {}", file.path, &found[1]));
            }
        }
    }
    assert!(count > 10, "only {count} included files: they are not recognized any more");
    assert_none(&wrong, "files about the kernel that are packed");
}

/// Returns the path that a file names beside itself.
fn from_root(file: &str, named: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in named.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[test]
fn included_files_are_found() {
    assert_eq!(from_root("system-tests/src/a.rs", "../../kernel/LICENSE"), "kernel/LICENSE");
    assert_eq!(from_root("crates/a/src/b/c.rs", "../../d.txt"), "crates/a/d.txt");
}
