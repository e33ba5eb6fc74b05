//! Reads an experiment with real threads, measures it if this machine permits it, and writes the
//! results.

use layland_lab::{OnThreads, on_threads, read, write_threads};
use layland_policy::Registry;
use std::io::Write;
use std::sync::atomic::AtomicBool;

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
name = "edf"
policy = "p-edf"
[[grid]]
name = "threads"
tasks = [2, 3]
[threads]
grid = "threads"
duration = "350ms"
baseline = "rm"
moved = 2
accepted_by = ["RTA-RM"]
[[threads.reported]]
series = "edf"
at = "3"
values = { thread_busy_us = "77", thread_switches = "2" }
[[figure]]
name = "cost"
grid = "threads"
x = "tasks"
y = "thread_release_us"
statistic = "mean"
[[claim]]
name = "costs"
text = "A release costs time"
figures = ["cost"]
left = "edf"
is = "above"
right = 0
"#;

#[test]
fn real_threads_are_measured_beside_the_source() {
    let experiment = read("t", "t.toml", TEXT.as_bytes(), &Registry::standard()).unwrap();
    let interrupt = AtomicBool::new(false);
    let runs = match on_threads(&experiment, &Registry::standard(), &interrupt, &|_, _| ()).unwrap()
    {
        OnThreads::Measured(runs) => runs,
        OnThreads::Needs(what) => {
            // Write to stderr directly: the harness captures the output of passing tests.
            let line = format!("skipped: needs {what}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
        other @ (OnThreads::None | OnThreads::Interrupted) => panic!("{other:?}"),
    };
    assert_eq!(runs.runs.len(), 4);
    for run in &runs.runs {
        // There are some busy periods; a slow machine may lose a few.
        assert!(!run.busy_ns.is_empty(), "{run:?}");
        assert!(run.busy_us().unwrap() > 0.0 && run.costs.invocation.count > 0, "{run:?}");
    }
    assert_eq!(runs.moves.iter().map(|moved| moved.threads).collect::<Vec<_>>(), [1, 2]);
    assert!(runs.moves.iter().all(|moved| moved.first.count > 0 && moved.back.count > 0));
    let text = runs.text(&experiment);
    assert!(text.contains("beside the source") && text.contains("claims: 1 holds"), "{text}");
    assert!(text.contains("decision, release") && text.contains("completion latency"), "{text}");

    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("threads");
    let written = write_threads(&experiment, &runs, &folder).unwrap();
    assert_eq!(written.len(), 5);
    assert!(written.iter().any(|file| file.ends_with("threads/cost.svg")), "{written:?}");
    let csv = std::fs::read_to_string(folder.join("threads.csv")).unwrap();
    assert_eq!(csv.lines().count(), 5);
    assert!(
        csv.starts_with("tasks,series,set,jobs,missed,busy_periods,invocations,thread_release_us,")
    );
}

#[test]
fn a_wrong_description_of_runs_is_pointed_at() {
    let wrong = TEXT
        .replace("\"RTA-RM\"", "\"RTA-RN\"")
        .replace("duration = \"350ms\"", "duration = \"350\"")
        .replace("baseline = \"rm\"", "baseline = \"mr\"")
        .replace("thread_busy_us = \"77\"", "thread_busy = \"77\"")
        .replace("thread_switches = \"2\"", "thread_switches = \"two\"");
    let report = read("t", "t.toml", wrong.as_bytes(), &Registry::standard()).unwrap_err().plain();
    for part in
        ["there is no test `RTA-RN`", "there is no series `mr`", "a unit", "`two` is not a number"]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn a_figure_of_real_threads_needs_them() {
    let start = TEXT.find("[threads]").unwrap();
    let end = TEXT.find("[[figure]]").unwrap();
    let without = format!("{}{}", &TEXT[..start], &TEXT[end..]);
    let report =
        read("t", "t.toml", without.as_bytes(), &Registry::standard()).unwrap_err().plain();
    assert!(report.contains("figure `cost` shows what real threads do"), "{report}");
}
