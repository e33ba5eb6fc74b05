//! Lines, lengths, and the paths that documents name.

use super::{File, assert_none, files_below, root};
use regex::Regex;
use std::collections::BTreeSet;

/// rustfmt breaks code after 100 columns. Comments and text may be a little wider.
const WIDTH: usize = 120;
/// A longer file must give the reason in its header.
const LINES: usize = 500;
/// The words of such a header before the reason.
const REASON: &str = "Long because";

/// Returns the visible text of a line of a document or of a doc comment.
fn shown(line: &str) -> &str {
    let line = line.trim_start();
    let comment = ["//!", "///", "//", "#"].iter().find_map(|mark| line.strip_prefix(mark));
    comment.unwrap_or(line).trim_start()
}

#[test]
fn lines_have_a_width_that_fits_a_screen() {
    let mut wide = Vec::new();
    for file in files_below(".").iter().filter(|file| file.has_ending("rs")) {
        let mut is_example = false;
        for (at, line) in file.text.lines().enumerate() {
            is_example ^= shown(line).starts_with("```");
            // Rows of tables, quoted text, charts and traces cannot be broken.
            let whole = shown(line).starts_with('|') || line.contains('"') || !line.is_ascii();
            if line.chars().count() > WIDTH && !whole && !is_example && !line.contains("://") {
                wide.push(format!("{}:{}", file.path, at + 1));
            }
        }
    }
    assert_none(&wide, &format!("lines of more than {WIDTH} characters"));
}

#[test]
fn a_long_file_says_why() {
    let (mut long, mut short) = (Vec::new(), Vec::new());
    for file in files_below(".").iter().filter(|file| file.has_ending("rs")) {
        let count = file.text.lines().count();
        let mut header = file.text.lines().take_while(|line| line.starts_with("//!"));
        let has_reason = header.any(|line| line.contains(REASON));
        if count > LINES && !has_reason {
            long.push(format!("{}: {count} lines", file.path));
        }
        if count < LINES - 100 && has_reason {
            short.push(format!("{}: {count} lines", file.path));
        }
    }
    assert_none(&long, &format!("longer than {LINES} lines, and no `{REASON} ..` in the header"));
    assert_none(&short, &format!("`{REASON} ..` in the header of a file that is short"));
}

#[test]
fn nothing_is_left_to_do() {
    let words = ["TO", "FIX", "XX"].iter().zip(["DO", "ME", "X"]);
    let words: Vec<String> = words.map(|(a, b)| format!(r"\b{a}{b}\b")).collect();
    let left = Regex::new(&words.join("|")).expect("a valid expression");
    assert_none(&lines_with(&left), "left to do");
}

#[test]
fn no_path_of_a_machine_is_named() {
    // Rooted paths of the author's machine. Standard paths of a system are fine.
    let homes =
        Regex::new(r#"(^|[\s"'`(=])/(home|Users|root|work|mnt)/\w"#).expect("a valid expression");
    assert_none(&lines_with(&homes), "paths of a machine");
}

/// Returns the lines of all files that match.
fn lines_with(expression: &Regex) -> Vec<String> {
    let mut found = Vec::new();
    // A patch quotes what it changes.
    for file in files_below(".").iter().filter(|file| !file.has_ending("patch")) {
        for (at, line) in file.text.lines().enumerate() {
            if expression.is_match(line) {
                found.push(format!("{}:{}: {}", file.path, at + 1, line.trim()));
            }
        }
    }
    found
}

/// Every path in a document or a comment must exist: from the root, from the folder of the file, or
/// from the crate that contains the file.
#[test]
fn the_paths_that_documents_name_exist() {
    let path = Regex::new(r"`([A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+(\.(rs|md|toml|sh|txt|trycmd)|/)`")
        .expect("a valid expression");
    let files = files_below(".");
    let known: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let names: BTreeSet<&str> =
        known.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
    let mut dangling = Vec::new();
    for file in files.iter().filter(|file| file.has_ending("md") || file.has_ending("rs")) {
        let is_code = file.has_ending("rs");
        for (at, line) in file.text.lines().enumerate() {
            let comment = line.trim_start();
            if is_code && !comment.starts_with("//") {
                continue;
            }
            for found in path.find_iter(line) {
                let named = found.as_str().trim_matches('`');
                let is_there = match named.strip_suffix('/') {
                    Some(folder) => folders_from(file).iter().any(|from| {
                        let path = format!("{from}{folder}/");
                        known.iter().any(|known| known.starts_with(&path))
                    }),
                    None if !named.contains('/') => names.contains(named),
                    None => folders_from(file)
                        .iter()
                        .any(|from| known.contains(format!("{from}{named}").as_str())),
                };
                if !is_there && !is_example(named) {
                    dangling.push(format!("{}:{}: {named}", file.path, at + 1));
                }
            }
        }
    }
    assert_none(&dangling, "paths that lead nowhere");
}

/// Returns true for example names of users' files, and for the output files of a run.
fn is_example(named: &str) -> bool {
    const OF_USERS: &[&str] =
        &["robot.toml", "mine.toml", "set.toml", "x.toml", "run.txt", "sets/"];
    const OF_EXPERIMENTS: &[&str] = &[
        "claims.txt",
        "tables.txt",
        "experiment.toml",
        "measured.txt",
        "measured/",
        "threads.txt",
        "engines.txt",
    ];
    [OF_USERS, OF_EXPERIMENTS].concat().contains(&named)
}

/// Returns the folders from which a path may start: each folder above the file, and `src` of its crate.
fn folders_from(file: &File) -> Vec<String> {
    let mut folders = vec![String::new(), "crates/".to_owned(), "docs/".to_owned()];
    let parts: Vec<&str> = file.path.split('/').collect();
    for count in 1..parts.len() {
        let folder = parts[..count].join("/") + "/";
        folders.push(format!("{folder}src/"));
        folders.push(folder);
    }
    // The documents of the root refer to a crate by its own name.
    if !file.path.contains('/') {
        let crates = std::fs::read_dir(root().join("crates")).expect("the crates are there");
        for entry in crates.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            folders.push(format!("crates/{name}/src/"));
            folders.push(format!("crates/{name}/"));
        }
    }
    folders
}
