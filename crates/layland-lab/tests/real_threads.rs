//! Descriptions of experiments on real threads. The command runs them
//! (`layland/tests/lab_on_threads.rs`).

use layland_lab::read;
use layland_policy::Registry;

const TEXT: &str = r#"
lab = 1
title = "busy CPUs"
sets = 1
seed = 7
horizon = "1s"
[generator]
cpus = 1
utilization = "0.4"
periods = "list:20ms,50ms,100ms"
[[series]]
name = "rm"
policy = "p-rm"
[[series]]
name = "rta"
test = "RTA-RM"
[[grid]]
name = "threads"
tasks = [2, 3]
series = ["rm"]
[[grid]]
name = "tests"
tasks = [2, 3]
[engines]
grid = "threads"
duration = "300ms"
margin = "1ms"
[threads]
grid = "threads"
duration = "350ms"
baseline = "rm"
accepted_by = ["RTA-RM"]
[[threads.reported]]
series = "rm"
at = "3"
values = { thread_busy_us = "77", thread_switches = "2" }
[[figure]]
name = "cost"
grid = "threads"
x = "tasks"
y = "thread_release_us"
statistic = "mean"
"#;

/// Returns what is wrong with a description, in which each of these was replaced.
fn wrong(replaced: &[(&str, &str)]) -> String {
    let replace = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
    let text = replaced.iter().fold(TEXT.to_owned(), replace);
    read("t", "t.toml", text.as_bytes(), &Registry::standard()).unwrap_err().plain()
}

#[test]
fn a_wrong_description_of_runs_is_pointed_at() {
    let report = wrong(&[
        ("\"RTA-RM\"]", "\"RTA-RN\"]"),
        ("duration = \"350ms\"", "duration = \"350\""),
        (
            "baseline = \"rm\"",
            "baseline = \"mr\"\ntimers = \"periodical\"\ndispatch = \"each\"\none_lock = \"mr\"",
        ),
        ("thread_busy_us = \"77\"", "thread_busy = \"77\""),
        ("thread_switches = \"2\"", "thread_switches = \"two\""),
    ]);
    for part in [
        "there is no test `RTA-RN`",
        "there is no series `mr`",
        "a unit",
        "`two` is not a number",
        "there is no kind of timers `periodical`",
        "there is no kind of dispatcher `each`",
        "only dispatchers of CPUs have locks",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

/// Both kinds of locks are read.
#[test]
fn dispatchers_and_their_locks_are_read() {
    let read = |more: &str| {
        let text = TEXT.replace("baseline = \"rm\"", &format!("baseline = \"rm\"\n{more}"));
        let read = read("t", "t.toml", text.as_bytes(), &Registry::standard());
        let threads = read.unwrap().threads.unwrap();
        (threads.is_per_cpu, threads.one_lock)
    };
    assert_eq!(read(""), (false, vec![]));
    assert_eq!(read("dispatch = \"manager\""), (false, vec![]));
    assert_eq!(read("dispatch = \"per-cpu\""), (true, vec![]));
    assert_eq!(read("dispatch = \"per-cpu\"\none_lock = \"rm\""), (true, vec![0]));
}

#[test]
fn a_figure_of_real_threads_needs_them() {
    let threads = &TEXT[TEXT.find("[threads]").unwrap()..TEXT.find("[[figure]]").unwrap()];
    let report = wrong(&[(threads, "")]);
    assert!(report.contains("figure `cost` shows what real threads do"), "{report}");
}

#[test]
fn only_policies_run_on_engines() {
    let report = wrong(&[("[engines]\ngrid = \"threads\"", "[engines]\ngrid = \"tests\"")]);
    assert!(report.contains("`rta` is not a policy, and runs on no engine"), "{report}");
}
