//! Reads an experiment with engines, runs the same systems on every engine that this machine
//! supports, and writes the results.

use layland_lab::{Engine, EngineRuns, Experiment, OnThreads, on_engines, read, write_engines};
use layland_policy::Registry;
use std::io::Write;
use std::sync::atomic::AtomicBool;

const TEXT: &str = r#"
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
[[series]]
name = "rta"
test = "RTA-RM"
[[grid]]
name = "engines"
cpus = [1]
series = ["edf", "run"]
[[grid]]
name = "tests"
cpus = [1]
[engines]
grid = "engines"
duration = "300ms"
margin = "1ms"
"#;

fn experiment(text: &str) -> Experiment {
    read("t", "t.toml", text.as_bytes(), &Registry::standard()).unwrap()
}

fn runs(experiment: &Experiment) -> EngineRuns {
    let interrupt = AtomicBool::new(false);
    match on_engines(experiment, &Registry::standard(), &interrupt, &|_, _| ()).unwrap() {
        OnThreads::Measured(runs) => runs,
        other @ (OnThreads::None | OnThreads::Interrupted | OnThreads::Needs(_)) => {
            panic!("{other:?}")
        }
    }
}

#[test]
fn the_same_systems_run_on_every_engine() {
    let experiment = experiment(TEXT);
    let runs = runs(&experiment);
    let text = runs.text(&experiment);
    for series in [0, 1] {
        let of = |engine| {
            let is_it =
                |run: &&layland_lab::EngineRun| (run.series, run.engine) == (series, engine);
            runs.runs.iter().find(is_it).map(|run| &run.did)
        };
        let simulated = of(Engine::Simulator).expect("a simulation needs nothing");
        assert_eq!((simulated.missed, simulated.alike), (0, Some(1.0)), "{text}");
        for engine in &Engine::ALL[1..] {
            let Some(did) = of(*engine) else {
                // The engine does not run here, or not for this policy, and the output states the
                // reason.
                let label = &experiment.series[series].label;
                let is_told = |line: &str| {
                    line.starts_with(&format!("{engine} under")) && line.contains(label.as_str())
                };
                let is_for_others = *engine == Engine::InKernel && series == 1;
                assert!(is_for_others || text.lines().any(is_told), "{engine}: {text}");
                for line in text.lines().filter(|line| is_told(line)) {
                    // Write to stderr directly: the harness captures the output of passing tests.
                    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
                }
                continue;
            };
            // A slow machine makes jobs late, but the jobs are the same.
            assert!(did.jobs.abs_diff(simulated.jobs) <= 3, "{engine}: {text}");
            // The kernel may throttle a thread of SCHED_DEADLINE early in a run, and we do not
            // control that.
            let is_ours = *engine != Engine::Deadline;
            assert!(!is_ours || did.alike.is_some_and(|alike| alike > 0.2), "{engine}: {text}");
        }
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("engines");
    let written = write_engines(&experiment, &runs, &folder).unwrap();
    assert_eq!(written.len(), 2);
    let table = std::fs::read_to_string(folder.join("engines.csv")).unwrap();
    assert_eq!(table.lines().count(), runs.runs.len() + 1);
    assert!(table.starts_with("cpus,series,engine,set,jobs,missed,"), "{table}");
}

#[test]
fn only_policies_run_on_engines() {
    let text = TEXT.replace("grid = \"engines\"", "grid = \"tests\"");
    let report = read("t", "t.toml", text.as_bytes(), &Registry::standard()).unwrap_err();
    assert!(report.plain().contains("`rta` is not a policy, and runs on no engine"), "{report:?}");
}

#[test]
fn an_experiment_need_not_run_on_engines() {
    let text = TEXT.split("[engines]").next().unwrap();
    let interrupt = AtomicBool::new(false);
    let found = on_engines(&experiment(text), &Registry::standard(), &interrupt, &|_, _| ());
    assert!(matches!(found, Ok(OnThreads::None)));
}
