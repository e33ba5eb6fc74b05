//! The text of problems as shown to users.

use crate::common::{csv, rt_app, toml};
use layland_config::parse_inline;

/// A task-set file with these lines after a valid head.
fn set(lines: &str) -> String {
    format!("layland = 1\n\n[platform]\ncpus = 2\n\n{lines}")
}

fn messages(text: &str) -> String {
    toml(text).unwrap_err().graphical(90, false, true)
}

#[test]
fn units() {
    insta::assert_snapshot!(messages(&set(
        "[[task]]\nname = \"control\"\nperiod = 5\nwcet = \"1msec\"\ndeadline = 4.5\noffset = \"1.5ns\"\n"
    )));
}

#[test]
fn keys() {
    insta::assert_snapshot!(messages(&set(
        "[[task]]\nname = \"control\"\nperiods = \"5ms\"\nwect = \"1ms\"\ncommand = [\"./run\"]\n\
         [defaults]\ndeadline = \"1ms\"\nRelease = \"hog\"\n"
    )));
}

#[test]
fn values() {
    insta::assert_snapshot!(messages(&set(
        "[[task]]\nname = 7\nperiod = \"5ms\"\nwcet = { LO = \"1ms\" }\naffinity = \"0-x\"\n\
         release = \"sporadic\"\nexec = { model = \"uniform\", min = \"1ms\" }\n\n\
         [[request]]\nat = \"1ms\"\ntask = \"controll\"\nleave = true\ncpu = 1\n"
    )));
}

#[test]
fn validity() {
    insta::assert_snapshot!(messages(&set(
        "[[task]]\nname = \"a\"\nperiod = \"5ms\"\ndeadline = \"0s\"\nwcet = \"1ms\"\n\n\
         [[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\naffinity = [0, 3]\nbudget = \"6ms\"\n\n\
         [[request]]\nat = \"1ms\"\ncpu = 2\nonline = false\n"
    )));
}

#[test]
fn grammar() {
    insta::assert_snapshot!(messages(&set(
        "[[task]]\nname = \"a\"\nperiodd = \"5ms\"\nwcet = 1ms\nwcet = \"1ms\"\n\n[[task]\nname = \"b\"\n"
    )));
}

#[test]
fn version_and_platform() {
    insta::assert_snapshot!(format!(
        "{}{}",
        messages("layland = 2\nfuture = true\n"),
        messages("[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n")
    ));
}

#[test]
fn plain_list() {
    let report = toml(&set("[[task]]\nname = \"a\"\nperiod = 5\nwcet = \"1ms\"\nrnak = 2\n"));
    let report = report.unwrap_err();
    insta::assert_snapshot!(format!("{report}\n{}", report.plain()));
}

#[test]
fn rt_app_warnings() {
    let loaded = rt_app(include_str!("data/phases.json")).unwrap();
    insta::assert_snapshot!(loaded.warnings.graphical(90, false, true));
}

#[test]
fn tables() {
    let text = "# cpus = 2\nname;period_ms;wcet;colour\na;5;1ms;red\nb;5ms;1;red\n;;;\nc;5;;\n";
    insta::assert_snapshot!(csv(text).unwrap_err().graphical(90, false, true));
}

#[test]
fn inline() {
    insta::assert_snapshot!(
        parse_inline("control=1/5ms@x").unwrap_err().graphical(90, false, true)
    );
}

#[test]
fn many_problems_are_cut() {
    let lines: String = (0..80)
        .map(|i| format!("[[task]]\nname = \"t{i}\"\nperiod = {i}\nwcet = \"1us\"\n"))
        .collect();
    let report = toml(&set(&lines)).unwrap_err();
    assert_eq!((report.problems.len(), report.unlisted), (50, 30));
    assert!(report.plain().ends_with("and 30 more\n"));
}

/// Line numbers do not depend on the line endings.
#[test]
fn lines_may_end_as_on_windows() {
    let text = "layland = 1\r\n[platform]\r\ncpus = 2\r\n[[task]]\r\nname = \"a\"\r\nperiod = \"5msec\"\r\nwcet = \"1ms\"\r\n";
    let shown = messages(text);
    let numbers: Vec<&str> = shown.lines().filter_map(|line| line.split(" │ ").next()).collect();
    let numbers: Vec<&str> =
        numbers.into_iter().map(str::trim).filter(|n| n.parse::<u32>().is_ok()).collect();
    assert_eq!(numbers, ["5", "6", "7"], "{shown}");
    let report = toml(&text.replace('\n', "")).unwrap_err();
    let messages: Vec<&str> = report.problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(messages, ["the lines of the text end with a return alone (CR)"]);
}
