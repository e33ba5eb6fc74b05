//! `--reserve` of `check` and `run`: the analysis applies to what a run reserves.

#[cfg(target_os = "linux")]
mod common;

use layland_engine::reserves::{Margin, Reserves};
use layland_model::{Duration, Service, System, Task};
use layland_policy::Registry;
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};

fn layland(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_layland"));
    command
        .args(args)
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Returns the answer of `check` about a policy.
#[track_caller]
fn found(set: &[&str], spec: &str, more: &[&str]) -> Value {
    let args = [&["check"][..], set, &["-p", spec, "--no-margin", "--json"], more].concat();
    document(&layland(&args))["policies"][0].take()
}

/// The set uses nine tenths of one CPU.
const FULL: [&str; 6] = ["-t", "a=9ms/20ms", "-t", "b=18ms/40ms", "--cpus", "1"];
/// Returns the same set as a system.
fn full() -> System {
    let task = |name, wcet, period| {
        Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
    };
    System::new(1, vec![task("a", 9, 20), task("b", 18, 40)])
}

#[test]
fn a_guarantee_without_the_margin_is_none_with_it() {
    for spec in ["run", "qps", "dl-sp", "amc", "smc", "zss"] {
        let without = found(&FULL, spec, &[]);
        assert_eq!(without["verdict"], "yes", "{spec}");
        assert_eq!(without.get("reserved"), None, "{spec}");
        let small = found(&FULL, spec, &["--reserve", "500us"]);
        assert_eq!(small["verdict"], "yes", "{spec}");
        let with = found(&FULL, spec, &["--reserve", "5ms"]);
        assert_eq!(with["verdict"], "no", "{spec}");
        assert_eq!(with["reserved"]["verdict_without"], "yes", "{spec}");
    }
    let args = [&["check"][..], &FULL, &["-p", "run,p-edf", "--reserve", "5ms"]].concat();
    let output = layland(&args);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("guaranteed without the margin, and not with it: run\n"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn bounds_are_those_of_what_is_reserved() {
    let of = |margin: &[&str]| found(&FULL, "amc", margin)["bounds"][1]["ns"].take();
    assert_eq!(of(&[]), 36_000_000);
    // Two jobs of a and one of b, each a millisecond longer.
    assert_eq!(of(&["--reserve", "1ms"]), 39_000_000);
}

#[test]
fn what_is_analysed_is_what_a_run_reserves_under_every_policy() {
    let (system, registry) = (full(), Registry::standard());
    let cases = [
        ("5ms", Margin::Time(Duration::from_ms(5))),
        ("0.02", Margin::Fraction("0.02".parse().expect("a number"))),
        ("0", Margin::Fraction("0".parse().expect("a number"))),
    ];
    let mut larger = 0;
    for info in &registry {
        let Ok(policy) = registry.build(&info.name, &system) else { continue };
        for (text, margin) in &cases {
            let found = found(&FULL, &info.name, &["--reserve", text]);
            let reserves = Reserves::of(&*policy);
            let reserved = reserves.larger(&system, margin);
            let expected: Vec<Value> = match reserves {
                Reserves::AsSaid => Vec::new(),
                Reserves::Budgets | Reserves::Wcets => (reserved.tasks.values())
                    .map(|task| {
                        json!({
                            "task": task.name,
                            "wcet_ns": task.wcet.iter().map(|wcet| wcet.ns()).collect::<Vec<_>>(),
                            "budget_ns": task.budget.map(Service::ns),
                        })
                    })
                    .collect(),
            };
            assert_eq!(found["reserved"]["tasks"], json!(expected), "{} {text}", info.name);
            larger += usize::from(!expected.is_empty());
            // If a policy rejects what a run reserves, `check` also reports the rejection.
            let is_refused = registry.build(&info.name, &reserved).is_err();
            assert_eq!(!found["refused"].is_null(), is_refused, "{} {text}", info.name);
        }
    }
    assert!(larger >= 3 * 12, "{larger}");
}

#[test]
fn many_sets_are_analysed_with_their_margins() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("margins");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let files: Vec<String> = (["9ms", "1ms"].into_iter().enumerate())
        .map(|(at, wcet)| {
            let file = folder.join(format!("{at}.toml"));
            let name = file.to_str().expect("the path is UTF-8").to_owned();
            let task = format!("a={wcet}/10ms");
            let output = layland(&["convert", "-t", &task, "--cpus", "1", "-o", &name]);
            assert!(output.status.success(), "{output:?}");
            name
        })
        .collect();
    let args = ["check", &files[0], &files[1], "-p", "run", "--reserve", "2ms"];
    let text = String::from_utf8_lossy(&layland(&args).stdout).into_owned();
    assert!(text.contains("run: 2 guaranteed"), "one that has no room takes what there is: {text}");
    assert!(text.contains("analysed is what a run reserves with a margin of 2ms: "), "{text}");
    let one = layland(&["check", &files[0], "-p", "run", "--reserve", "2ms"]);
    let text = String::from_utf8_lossy(&one.stdout);
    assert!(text.contains("no room for the whole margin before the deadline: a\n"), "{text}");
    let lines = layland(&[&args[..], &["--json"]].concat());
    let lines: Vec<Value> = serde_json::Deserializer::from_slice(&lines.stdout)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("lines of JSON");
    let wcets: Vec<&Value> = (lines.iter())
        .map(|line| &line["policies"][0]["reserved"]["tasks"][0]["wcet_ns"][0])
        .collect();
    assert_eq!(wcets, [10_000_000, 3_000_000]);
}

#[test]
fn a_margin_is_read_or_explained() {
    for (text, what) in [("-3", "not negative"), ("-1ms", "not negative"), ("5 apples", "unit")] {
        let margin = format!("--reserve={text}");
        let output = layland(&[&["check"][..], &FULL, &[&margin]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(what), "{told}");
    }
}

/// Returns the set of a run from its log.
#[cfg(target_os = "linux")]
fn logged(spec: &str, margin: &str) -> Option<System> {
    let file = format!("{}/margin-{}.log", env!("CARGO_TARGET_TMPDIR"), spec.replace(':', "-"));
    let run = ["-p", spec, "--reserve", margin, "--until", "45ms", "--log", &file, "--json", "-q"];
    let output = layland(&[&["run"][..], &FULL, &run].concat());
    if output.status.code() == Some(5) {
        common::skipped("CAP_SYS_NICE");
        return None;
    }
    let content =
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let set = layland_linux::LogFile::read(&content).expect("a log").set;
    let host = layland_config::Host { cpus: None, default_cpus: None, ..Default::default() };
    let read = layland_config::read(&file, set.as_bytes(), layland_config::Format::Toml, &host);
    Some(read.expect("a set").system)
}

#[cfg(target_os = "linux")]
#[test]
fn the_log_of_a_run_has_what_check_analyses() {
    let (system, registry) = (full(), Registry::standard());
    for info in &registry {
        if registry.build(&info.name, &system).is_err() {
            continue;
        }
        let found = found(&FULL, &info.name, &["--reserve", "500us"]);
        assert!(found["refused"].is_null(), "{}: {found}", info.name);
        let Some(run) = logged(&info.name, "500us") else { return };
        let tasks = found["reserved"]["tasks"].as_array().expect("tasks are a list");
        let said = run.tasks.values().map(|task| {
            let budget = task.budget.map(Service::ns);
            let wcet: Vec<i64> = task.wcet.iter().map(|wcet| wcet.ns()).collect();
            json!({ "task": task.name, "wcet_ns": wcet, "budget_ns": budget })
        });
        if tasks.is_empty() {
            assert_eq!(run.tasks, system.tasks, "{}", info.name)
        } else {
            assert_eq!(*tasks, said.collect::<Vec<_>>(), "{}", info.name)
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_says_that_its_margin_costs_the_guarantee() {
    let run = |spec: &str, margin: &str| {
        let run = ["run", "-p", spec, "--reserve", margin, "--until", "45ms", "--json"];
        layland(&[&run[..], &FULL].concat())
    };
    // RUN rejects sets that it cannot guarantee. The message states that it accepts the set without
    // the margin.
    let refused = run("run", "5ms");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("takes the set without the margin of 5ms"), "{told}");
    // The set needs a whole CPU, under a policy that accepts it nevertheless.
    let whole = ["-t", "a=9ms/20ms", "-t", "b=11ms/20ms", "--cpus", "1", "--reserve", "5ms"];
    let dl = [&["run", "-p", "dl", "--until", "45ms"][..], &whole].concat();
    let told = String::from_utf8_lossy(&layland(&dl).stderr).into_owned();
    assert!(told.contains("guaranteed without the margin of 5ms"), "{told}");
    assert!(told.contains("check --policy dl --reserve 5ms says why"), "{told}");
    // A bound for the set as it is would not apply to the run.
    let limited = layland(&[&dl[..], &["--fail-on", "b:response>bound"]].concat());
    let told = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(limited.status.code(), Some(2), "{told}");
    assert!(told.contains("check --policy dl --reserve 5ms --bounds shows"), "{told}");
}
