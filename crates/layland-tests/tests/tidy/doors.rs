//! Doors: only the command parses a command line. Python, the playground and programs in Rust build
//! the questions as types, so that a misspelt or forgotten option does not compile. JSON that the
//! command prints is a type, too.

use super::manifests::{list, metadata, text};
use super::{File, assert_none, files_below};
use regex::Regex;

/// The places that parse arguments: the command line as a whole, and a test that compares its
/// question with that of a program.
const PARSERS: [&str; 3] = [
    "crates/layland/src/cli.rs",
    "crates/layland/src/command.rs",
    "crates/layland/src/commands/check/args.rs",
];

/// The rules have to write what they look for.
const RULES: &str = "crates/layland-tests/tests/tidy/";

#[test]
fn only_the_command_parses_arguments() {
    let parses =
        Regex::new(r"clap::.*\bParser\b|parse_from\(|get_matches").expect("a valid expression");
    let mut found = Vec::new();
    let mut own = 0;
    let is_code = |file: &&File| file.has_ending("rs") && !file.path.starts_with(RULES);
    for file in files_below("crates").iter().filter(is_code) {
        let lines = file.text.lines().enumerate().filter(|(_, line)| parses.is_match(line));
        let lines: Vec<String> = lines.map(|(at, _)| format!("{}:{}", file.path, at + 1)).collect();
        if PARSERS.contains(&&*file.path) { own += lines.len() } else { found.extend(lines) }
    }
    assert!(own > 2, "parsing arguments is not recognized any more");
    assert_none(&found, "arguments that are parsed outside the command");
}

/// A page has no command line and no terminal: it is built with the questions, answers and pages
/// alone.
#[test]
fn the_playground_is_built_without_the_command() {
    let metadata = metadata();
    let package =
        |name: &str| list(&metadata, "packages").find(|found| text(found, "name") == name);
    let play = package("layland-play").expect("it is there");
    let roof = list(play, "dependencies").find(|needed| text(needed, "name") == "layland");
    let roof = roof.expect("the playground needs it");
    assert_eq!(roof["uses_default_features"], false);
    assert_eq!(roof["features"], serde_json::json!(["answers"]));
    let features = &package("layland").expect("it is there")["features"];
    let needed: Vec<&str> =
        list(features, "answers").filter_map(serde_json::Value::as_str).collect();
    assert!(!needed.is_empty(), "the feature `answers` is not found any more");
    let others = needed.iter().filter(|needed| !needed.starts_with("dep:layland-"));
    let others: Vec<String> = others.map(|other| (*other).to_owned()).collect();
    assert_none(&others, "dependencies of the feature `answers` that are not of Layland");
}

/// Each document that the command prints is a type with a schema. A value that is built on the spot
/// has none, and `layland schema` would need a description of it that is written by hand.
#[test]
fn the_command_prints_types() {
    const OF_TESTS: &str = "crates/layland/src/commands/check/doors.rs";
    let built = Regex::new(r"\bjson!\s*[({\[]").expect("a valid expression");
    let is_built = |text: &str| built.is_match(text);
    let mut found = Vec::new();
    for file in files_below("crates/layland/src").iter().filter(|file| file.has_ending("rs")) {
        if file.path == OF_TESTS {
            assert!(is_built(&file.text), "values that are built are not recognized any more");
            continue;
        }
        let code = file.text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = code.lines().enumerate().filter(|(_, line)| is_built(line));
        found.extend(lines.map(|(at, _)| format!("{}:{}", file.path, at + 1)));
    }
    assert_none(&found, "JSON that is built on the spot");
}
