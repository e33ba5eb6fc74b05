//! Experiments on real threads, measured by the command where this machine permits it.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Two runs at once would ask for the same CPUs.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs an experiment with real threads. Returns the printed text, and the folder of the results.
fn measured(name: &str, experiment: &str) -> (String, PathBuf) {
    let _alone = ALONE.lock();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("t.toml"), experiment).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_layland"))
        .args(["lab", "run", "t.toml", "--real-threads", "--quiet", "--output", "out"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), folder.join("out"))
}

/// Reads a table: each row by the names of its columns.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

const THREADS: &str = r#"
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
fn policies_are_measured_beside_the_source() {
    let (text, folder) = measured("threads", THREADS);
    if let Some((_, needs)) = text.split_once("real threads, skipped: needs ") {
        common::skipped(needs.trim());
        return;
    }
    let rows = rows(&folder.join("threads.csv"));
    assert_eq!(rows.len(), 4, "{text}");
    for row in &rows {
        // There are some busy periods; a slow machine may lose a few.
        for column in ["busy_periods", "thread_busy_us", "invocations", "thread_release_us"] {
            assert!(row[column].parse::<f64>().unwrap() > 0.0, "{column}: {row:?}");
        }
    }
    for part in [
        "beside the source",
        "claims: 1 undecided",
        // One set does not show what others would.
        "about 6 sets a point would decide",
        "decision, release",
        "completion latency",
        "changes of priorities",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(folder.join("threads.txt").exists() && folder.join("threads/cost.svg").exists());
}

const ENGINES: &str = r#"
lab = 1
title = "side by side"
sets = 1
seed = 7
horizon = "1s"
[generator]
tasks = 3
utilization = "0.5"
periods = "list:40ms,50ms,100ms"
[[series]]
name = "edf"
policy = "p-edf"
[[series]]
name = "run"
policy = "run"
[[grid]]
name = "engines"
cpus = [1]
[engines]
grid = "engines"
duration = "300ms"
margin = "1ms"
"#;

/// The engines after the simulator, by their names in tables.
const REAL: [&str; 5] = [
    "SCHED_FIFO",
    "SCHED_DEADLINE",
    "sched_ext (no look-ahead)",
    "sched_ext",
    "in the kernel alone",
];

#[test]
fn the_same_systems_run_on_every_engine() {
    let (text, folder) = measured("engines", ENGINES);
    let rows = rows(&folder.join("engines.csv"));
    for series in ["edf", "run"] {
        let of = |engine: &str| {
            rows.iter().find(|row| row["series"] == series && row["engine"] == engine)
        };
        let jobs = |row: &BTreeMap<String, String>| row["jobs"].parse::<u64>().unwrap();
        let simulated = of("simulator").expect("a simulation needs nothing");
        assert_eq!((simulated["missed"].as_str(), simulated["alike"].as_str()), ("0", "1"));
        for engine in REAL {
            let Some(row) = of(engine) else {
                // The engine does not run here, or not for this policy, and the output states the
                // reason.
                let is_told = |line: &str| {
                    let of_engine = line.strip_prefix(&format!("{engine} under "));
                    of_engine.is_some_and(|rest| rest.contains(series))
                };
                let is_for_others = engine == "in the kernel alone" && series == "run";
                assert!(is_for_others || text.lines().any(is_told), "{engine}: {text}");
                continue;
            };
            // A slow machine makes jobs late, but the jobs are the same.
            assert!(jobs(row).abs_diff(jobs(simulated)) <= 3, "{engine}: {text}");
            // The kernel may throttle a thread of SCHED_DEADLINE early in a run, and we do not
            // control that.
            let is_ours = engine != "SCHED_DEADLINE";
            assert!(!is_ours || row["alike"].parse::<f64>().unwrap() > 0.2, "{engine}: {text}");
        }
    }
    assert!(folder.join("engines.txt").exists());
    for line in text.lines().filter(|line| line.contains(": skipped: ")) {
        // Write to stderr directly: the harness captures the output of passing tests.
        std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}
