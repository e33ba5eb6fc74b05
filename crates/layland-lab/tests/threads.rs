//! What is measured on real threads: read, measured where this machine lets us, and written.

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
order = ["rm", "edf"]
accepted_by = ["RTA-RM"]
[[threads.reported]]
series = "edf"
at = "3"
busy_us = 77
switches = 2
"#;

#[test]
fn real_threads_are_measured_beside_the_source() {
    let experiment = read("t", "t.toml", TEXT.as_bytes(), &Registry::standard()).unwrap();
    let interrupt = AtomicBool::new(false);
    let runs = match on_threads(&experiment, &Registry::standard(), &interrupt, &|_, _| ()).unwrap()
    {
        OnThreads::Measured(runs) => runs,
        OnThreads::Needs(what) => {
            // Past the harness, which hides what a passing test prints.
            let line = format!("skipped: needs {what}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
        other @ (OnThreads::None | OnThreads::Interrupted) => panic!("{other:?}"),
    };
    assert_eq!(runs.runs.len(), 4);
    for run in &runs.runs {
        // Some busy periods, of which a machine that is late may lose a few.
        assert!(!run.busy_ns.is_empty(), "{run:?}");
        assert!(run.busy_us().unwrap() > 0.0 && run.invocation.count > 0, "{run:?}");
    }
    assert_eq!(runs.moves.iter().map(|moved| moved.threads).collect::<Vec<_>>(), [1, 2]);
    assert!(runs.moves.iter().all(|moved| moved.first.count > 0 && moved.back.count > 0));
    let text = runs.text(&experiment);
    assert!(text.contains("source: us") && text.contains("overheads rise in the order rm, edf"));

    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("threads");
    let written = write_threads(&experiment, &runs, &folder).unwrap();
    assert_eq!(written.len(), 4);
    let csv = std::fs::read_to_string(folder.join("threads.csv")).unwrap();
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.starts_with("tasks,series,jobs,missed,busy_periods,"));
}

#[test]
fn a_wrong_description_of_runs_is_pointed_at() {
    let wrong = TEXT
        .replace("\"RTA-RM\"", "\"RTA-RN\"")
        .replace("duration = \"350ms\"", "duration = \"350\"")
        .replace("baseline = \"rm\"", "baseline = \"mr\"");
    let report = read("t", "t.toml", wrong.as_bytes(), &Registry::standard()).unwrap_err().plain();
    for part in ["there is no test `RTA-RN`", "there is no series `mr`", "a unit"] {
        assert!(report.contains(part), "{part}: {report}");
    }
}
