//! Tests that the examples of the crate work.

mod common;

use std::path::Path;
use std::process::{Command, Output};

/// Runs an example with these arguments. `cargo test` builds the examples before it runs a test.
fn run(name: &str, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_BIN_EXE_layland")).with_file_name("examples");
    Command::new(folder.join(name)).args(arguments).output().expect("the example is built")
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).expect("it is text")
}

/// Returns the output of an example.
fn example(name: &str) -> String {
    let output = run(name, &[]);
    assert!(output.status.success(), "{output:?}");
    text(output)
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

/// With preemption the tests for global EDF are about the policy. Without it a run with a miss is
/// the proof that there is no guarantee.
#[test]
fn a_policy_of_ones_own_is_checked_and_simulated() {
    let text = example("own_policy");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "own-edf: guaranteed: yes (by QPA)",
            "own-edf: 0 missed, 7 preemptions",
            "own-edf:preempt=off: guaranteed: no (by WITNESS)",
            "own-edf:preempt=off: 4 missed, 0 preemptions",
        ]
    );
}

/// Two claims about preemption and random sets, which are enough to decide both.
const EXPERIMENT: &str = r#"
lab = 1
title = "what a policy of one's own loses without preemption"
sets = 100
seed = 1
horizon = "200ms"
[generator]
cpus = 2
tasks = 6
periods = "list:10ms,20ms,40ms"
[[series]]
name = "preemptive"
policy = "own-edf"
[[series]]
name = "non-preemptive"
policy = "own-edf:preempt=off"
[[series]]
name = "guaranteed"
guarantee = "own-edf"
[[grid]]
name = "load"
utilization = ["1.4", "1.6", "1.8"]
[[figure]]
name = "accepted"
grid = "load"
x = "utilization"
y = "accepted"
statistic = "mean"
[[claim]]
name = "preemption-helps"
text = "Preemption never hurts"
figures = ["accepted"]
left = "non-preemptive"
is = "at most"
right = "preemptive"
[[claim]]
name = "guarantees-hold"
text = "What is guaranteed misses no deadline"
figures = ["accepted"]
left = "guaranteed"
is = "at most"
right = "preemptive"
"#;

#[test]
fn every_command_has_the_policy_of_ones_own() {
    let set = ["-t", "long=6ms/20ms", "-t", "short=1ms/3ms", "--cpus", "1", "-p"];
    for (command, policy, code) in [
        ("sim", "own-edf", 0),
        ("sim", "own-edf:preempt=off", 1),
        ("check", "own-edf", 0),
        ("check", "own-edf:preempt=off", 1),
    ] {
        let output = run("own_policy", &[&[command], &set[..], &[policy]].concat());
        assert_eq!(output.status.code(), Some(code), "{command} {policy}: {output:?}");
    }
    assert!(text(run("own_policy", &["explain", "GFB"])).contains("own-edf"));
    assert!(text(run("own_policy", &["policies", "own-edf"])).contains("preempt=.."));

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-policy");
    std::fs::create_dir_all(&folder).expect("a folder");
    let [file, out] = ["experiment.toml", "lab"].map(|name| folder.join(name));
    std::fs::write(&file, EXPERIMENT).expect("it can be written");
    let [file, out] = [&file, &out].map(|path| path.to_str().expect("UTF-8"));
    let output = run("own_policy", &["lab", "run", file, "--output", out, "--fresh", "--quiet"]);
    assert!(text(output).contains("claims: 2 holds"));
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
