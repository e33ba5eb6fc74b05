//! Tests that the examples of the crate work.

mod common;

use std::path::Path;
use std::process::Command;

/// Returns the output of an example. `cargo test` builds the examples before it runs a test.
fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_layland")).with_file_name("examples");
    let output = Command::new(folder.join(name)).output().expect("the example is built");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn a_set_is_checked_simulated_and_drawn() {
    let text = example("simulate_and_check");
    for line in [
        "g-edf: guaranteed: no (by WITNESS)",
        "g-edf: 2 of 35 jobs missed their deadlines",
        "p-edf:fit=ffd: guaranteed: yes (by QPA)",
        "p-edf:fit=ffd: 0 of 35 jobs missed their deadlines",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_policy_of_ones_own_misses_what_preemption_meets() {
    let text = example("own_policy");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines, ["g-edf: 0 missed, 7 preemptions", "np-edf: 4 missed, 0 preemptions"]);
}

#[test]
fn an_analysis_of_ones_own_is_judged() {
    let text = example("own_analysis");
    assert_eq!(text.lines().count(), 6, "{text}");
}

#[test]
fn threads_run() {
    let text = example("run_on_threads");
    if text.starts_with("skipped: ") {
        common::skipped("CAP_SYS_NICE");
        return;
    }
    assert!(text.contains("decisions were repeated from the log"), "{text}");
}
