//! Cache sets in task-set files and lines: their meaning,
//! the positions of faults, and the formats that lose them.

use crate::common::toml;
use layland_config::{
    Format, Host, RtAppPolicy, read, to_csv, to_line, to_rt_app, to_schedcat, to_simso, to_toml,
};
use layland_model::*;

const HEAD: &str = "layland = 1\n[platform]\ncpus = 1\n";
const RELOAD: &str = "overhead = { block_reload_time = \"8us\" }\n";
const TASK: &str = "[[task]]\nname = \"filter\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n";

#[test]
fn cache_sets_are_read_and_written() {
    let text = format!("{HEAD}{RELOAD}{TASK}ucb = [3, \"7-9\"]\necb = \"0-9,64\"\n");
    let system = toml(&text).unwrap_or_else(|report| panic!("{}", report.plain())).system;
    assert_eq!(system.platform.overheads.block_reload_time, Duration::from_us(8));
    let cache = system.tasks[TaskId(0)].cache.clone().unwrap();
    assert_eq!((cache.ucb.to_string(), cache.ecb.to_string()), ("3,7-9".into(), "0-9,64".into()));
    assert!(system.has_reloads());
    assert_eq!(toml(&to_toml(&system)).unwrap().system, system);
    let line = read("set.jsonl", to_line(&system).as_bytes(), Format::Lines, &Host::default());
    assert_eq!(line.unwrap().system, system);
}

#[test]
fn who_counts_no_reloads_says_so() {
    let reload = "overhead = { block_reload_time = \"0s\" }\n";
    for sets in ["ecb = 7\n", "ucb = \"\"\necb = \"0-3\"\n", "ucb = 1\necb = [0, 1]\n"] {
        let system = toml(&format!("{HEAD}{reload}{TASK}{sets}")).unwrap().system;
        assert!(!system.has_reloads());
        assert_eq!(toml(&to_toml(&system)).unwrap().system, system);
    }
}

/// Returns the text at the first fault, its message and its help.
fn fault(text: &str) -> (String, String, String) {
    let report = toml(text).expect_err("it has a fault");
    let problem = &report.problems[0];
    let place = problem.span.clone().map_or(String::new(), |span| text[span].to_owned());
    (place, problem.message.clone(), problem.help.clone().unwrap_or_default())
}

#[test]
fn faults_are_told_at_their_place() {
    let told = |sets: &str, place: &str, message: &str| {
        let (at, what, help) = fault(&format!("{HEAD}{RELOAD}{TASK}{sets}\n"));
        assert_eq!((at.as_str(), what.as_str()), (place, message), "{sets}");
        assert!(!help.is_empty());
    };
    let outside = "`filter` has a useful block in cache set 5, and evicts nothing there";
    told("ucb = \"0-5\"\necb = \"0-4\"", "\"0-5\"", outside);
    let not = "`1..4` is not a cache set or a range of cache sets";
    told("ucb = 1\necb = \"1..4\"", "\"1..4\"", not);
    told("ucb = 1\necb = [2, \"4-1\"]", "\"4-1\"", "the range 4-1 is backwards");
    let alone = "`ucb` needs `ecb`, the sets that a job may load something into";
    told("ucb = \"0-5\"", "\"0-5\"", alone);
    let (at, ..) = fault(&format!("{HEAD}{RELOAD}{TASK}ecb = [3, 65536]\n"));
    assert_eq!(at, "65536");
    let (at, ..) = fault(&format!("{HEAD}{RELOAD}{TASK}ecb = true\n"));
    assert_eq!(at, "true");
    let (at, what, _) = fault(&format!("{HEAD}{TASK}ucb = 1\necb = 1\n"));
    assert_eq!(at, "1");
    assert_eq!(what, "`ucb` is given, and not how long a cache block takes to reload");
    let steps = "ucb = 1\necb = 1\nsteps = [\"run 1ms\"]";
    told(steps, "1", "`filter` has cache blocks, and jobs with steps");
}

#[test]
fn what_other_formats_lose_is_told() {
    let text = format!("{HEAD}{RELOAD}{TASK}ucb = 3\necb = \"0-9\"\n");
    let system = toml(&text).unwrap().system;
    for (format, lost) in [
        ("csv", to_csv(&system).1),
        ("simso", to_simso(&system).1),
        ("schedcat", to_schedcat(&system).1),
        ("rt-app", to_rt_app(&system, RtAppPolicy::Deadline).1),
    ] {
        let told = |what: &str| lost.iter().any(|problem| problem.message.contains(what));
        assert!(told("cache sets of `filter`"), "{format}: {lost:?}");
        assert!(told("overheads") || told("block reload time"), "{format}: {lost:?}");
    }
}
