//! Lists fit the terminal: no line of a table or a list is wider than it.

use crate::process::layland;

const LISTS: [&[&str]; 6] = [
    &["policies"],
    &["explain"],
    &["demos"],
    &["lab", "list"],
    &["doctor", "--latency-for", "100ms"],
    &["explain", "GFB"],
];

#[test]
fn lists_fit_a_terminal_of_80_columns() {
    let mut wrapped = 0;
    for words in LISTS.iter().filter(|words| cfg!(target_os = "linux") || words[0] != "doctor") {
        let at = |columns: &str| {
            let output = layland(words).env("COLUMNS", columns).output().expect("it starts");
            String::from_utf8(output.stdout).expect("it is UTF-8")
        };
        let narrow = at("80");
        assert!(narrow.lines().count() > 2, "{words:?}: {narrow}");
        for line in narrow.lines().filter(|line| line.chars().count() > 80) {
            // A single word, such as a path, stays whole.
            assert!(line.split_whitespace().count() == 1, "{words:?}: {line}");
        }
        wrapped += usize::from(narrow.lines().count() > at("200").lines().count());
    }
    assert!(wrapped >= 4, "only {wrapped} lists were wider than 80 columns");
}

/// A program that reads a list finds an entry in one line.
#[test]
fn a_list_in_a_pipe_has_one_line_for_each_entry() {
    let list = layland(&["policies"]).env_remove("COLUMNS").output().expect("it starts");
    let list = String::from_utf8(list.stdout).expect("it is UTF-8");
    assert!(list.lines().count() > 50 && list.lines().all(|line| !line.starts_with(' ')), "{list}");
}
