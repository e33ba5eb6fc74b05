//! Sets that are too large for comparisons of all pairs of tasks: the output names what is left
//! out, and how to request it.

use crate::process;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Writes a set of `count` small tasks on one CPU to a file of this test.
fn set_of(count: usize, test: &str) -> PathBuf {
    let mut text = "layland = 1\n\n[platform]\ncpus = 1\n".to_owned();
    for at in 0..count {
        write!(
            text,
            "\n[[task]]\nname = \"t{at}\"\nwcet = \"1us\"\nperiod = \"{}ms\"\n",
            100 + at % 7
        )
        .expect("it is memory");
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("large-{test}.toml"));
    std::fs::write(&path, text).expect("the folder can be written");
    path
}

/// Returns the standard output and exit code of `layland check` for the set in this file.
fn check(set: &Path, options: &[&str]) -> (String, Option<i32>) {
    let args = [&["check", process::name(set)], options].concat();
    let output =
        process::layland(&args).env("COLUMNS", "1000").output().expect("the command starts");
    (String::from_utf8(output.stdout).expect("the output is UTF-8"), output.status.code())
}

#[test]
fn a_line_tells_what_a_large_set_leaves_out_and_how_to_ask_for_it() {
    // 4,097 is the smallest number of tasks on one CPU with more pairs than tests compare.
    let set = set_of(4_097, "line");
    let (said, code) = check(&set, &[]);
    assert_eq!(code, Some(0), "{said}");
    let line = said.lines().find(|line| line.starts_with("left out")).expect("there is the line");
    assert!(line.contains("16785409 pairs of tasks share CPUs"), "{line}");
    assert!(line.contains("smc") && line.contains("plrs") && line.contains("factors"), "{line}");
    assert!(line.ends_with("--policy NAME asks for one"), "{line}");
    // A requested policy is not left out. Its verdict is unknown because its test compares pairs as
    // well.
    let (asked, code) = check(&set, &["--policy", "smc", "--no-margin", "--json"]);
    assert_eq!(code, Some(4), "{asked}");
    let asked: Value = serde_json::from_str(&asked).expect("it is JSON");
    assert_eq!(asked["policies"][0]["policy"], "smc");
    assert_eq!(asked["not_applicable"].as_array().map(Vec::len), Some(0));
}

#[test]
fn programs_are_told_what_is_left_out_as_well() {
    let (said, _) = check(&set_of(4_097, "json"), &["--json"]);
    let said: Value = serde_json::from_str(&said).expect("it is JSON");
    let left_out = said["not_applicable"].as_array().expect("it is a list");
    let of = |policy: &str| left_out.iter().find(|one| one["policy"] == policy);
    let why = of("smc").expect("it is left out")["reason"].as_str().expect("it is a text");
    assert!(why.starts_with("16785409 pairs of tasks share CPUs"), "{why}");
    assert!(of("p-edf").is_none());
}

#[test]
fn of_an_ordinary_set_nothing_is_left_out() {
    let (said, code) = check(&set_of(20, "ordinary"), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("left out") && said.contains("WCETs x"), "{said}");
}
