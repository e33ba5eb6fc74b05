//! Kinds describe themselves. Code that treats several algorithms or rules alike calls a method of
//! [`Algorithm`](layland_model::Algorithm) or [`ScheduleRule`](layland_model::ScheduleRule). A list
//! of nearly all of them anywhere else would have to be found and extended for each new policy.

use super::{assert_none, files_below};
use regex::Regex;

/// The maximum number of lists: in these, each kind has a separate answer, and the compiler has to
/// ask about a new one.
const MOST: usize = 6;

/// This number of consecutive lines that begin with a variant counts as a list of nearly all variants.
const NEARLY_ALL: usize = 6;

/// Returns the lines in which the lists of a text begin.
fn lists(text: &str, kind: &str) -> Vec<usize> {
    let (mut begins, mut length) = (Vec::new(), 0);
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches("| ");
        length = if line.starts_with(kind) { length + 1 } else { 0 };
        if length == NEARLY_ALL {
            begins.push(at + 2 - NEARLY_ALL);
        }
    }
    begins
}

#[test]
fn kinds_are_classified_where_they_are_defined() {
    let mut found = Vec::new();
    for file in files_below("crates") {
        let is_their_own = ["crates/layland-model/", "crates/layland-checker/"]
            .iter()
            .any(|own| file.path.starts_with(own));
        if is_their_own || !file.has_ending("rs") {
            continue;
        }
        for kind in ["Algorithm::", "ScheduleRule::"] {
            let lists = lists(&file.text, kind).into_iter();
            found.extend(lists.map(|line| format!("{}:{line}", file.path)));
        }
    }
    assert!(!found.is_empty(), "lists are not recognized any more");
    let more = if found.len() > MOST { &found[..] } else { &[] };
    assert_none(more, &format!("more than {MOST} lists of nearly all algorithms or rules"));
}

#[test]
fn lists_are_recognized() {
    let text = |count: usize| "        | Algorithm::Edzl\n".repeat(count);
    assert_eq!(lists(&text(NEARLY_ALL), "Algorithm::"), [1]);
    assert_eq!(lists(&text(NEARLY_ALL - 1), "Algorithm::"), [0; 0]);
    assert_eq!(lists(&format!("{0}x\n{0}", text(4)), "Algorithm::"), [0; 0]);
}

/// Policies read their options into types. Other crates ask for these types: a name that is read in two places has two
/// defaults sooner or later.
#[test]
fn options_are_read_where_policies_are() {
    let read = Regex::new(r#"options\.(text|switch|one_of|number|rate|duration|cpus)\("#)
        .expect("a valid expression");
    let mut found = Vec::new();
    let mut own = 0;
    for file in files_below("crates").iter().filter(|file| file.has_ending("rs")) {
        // An example shows a policy of one's own.
        let folders = ["crates/layland-policy/", "crates/layland/examples/"];
        let has_policies = folders.iter().any(|folder| file.path.starts_with(folder));
        for (at, line) in file.text.lines().enumerate() {
            if !read.is_match(line) {
                continue;
            }
            if has_policies {
                own += 1;
            } else {
                found.push(format!("{}:{}", file.path, at + 1));
            }
        }
    }
    assert!(own > 20, "reading options is not recognized any more");
    assert_none(&found, "options of policies that are read by name outside `layland-policy`");
}

/// A test knows the order of priorities under which it is listed. Code that reads the order from
/// the end of a name fails for a test with another name.
#[test]
fn the_order_of_a_test_is_not_read_from_its_name() {
    let read = Regex::new(r#"(strip_suffix|ends_with)\("-"#).expect("a valid expression");
    let folder = "crates/layland-guarantee/src";
    let mut found = Vec::new();
    let mut lines = 0;
    for file in files_below(folder).iter().filter(|file| file.has_ending("rs")) {
        lines += file.text.lines().count();
        let of_file = file.text.lines().enumerate().filter(|(_, line)| read.is_match(line));
        found.extend(of_file.map(|(at, _)| format!("{}:{}", file.path, at + 1)));
    }
    assert!(lines > 1_000, "the files are not found any more");
    assert!(read.is_match(r#"name.strip_suffix("-DM")"#), "the expression finds nothing any more");
    assert_none(&found, "names of tests that are taken apart");
}
