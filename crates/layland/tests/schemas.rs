//! Every JSON document that the program writes conforms to its schema, according to a third-party
//! validator.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/process.rs"]
mod process;

use jsonschema::Validator;
use process::{folder, name, run};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

fn schema(of: &str) -> Validator {
    let output = run(&["schema", of]);
    assert!(output.status.success(), "{output:?}");
    let schema: Value = serde_json::from_slice(&output.stdout).expect("a schema is JSON");
    jsonschema::meta::validate(&schema).expect("a schema is one by its meta-schema");
    jsonschema::validator_for(&schema).expect("its references lead somewhere")
}

#[track_caller]
fn holds(schema: &Validator, document: &Value, of: &[&str]) {
    let errors = schema.iter_errors(document).take(5);
    let told: Vec<String> =
        errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(told.is_empty(), "{of:?}: {told:#?}");
}

/// Returns the documents that the program prints with these arguments.
#[track_caller]
fn printed(args: &[&str]) -> Vec<Value> {
    let output = run(args);
    let documents: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_slice(&output.stdout).into_iter().collect();
    let documents = documents.unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"));
    assert!(!documents.is_empty(), "{args:?}: {output:?}");
    documents
}

/// Validates the output against a schema, and returns the last document.
#[track_caller]
fn is(of: &str, args: &[&str]) -> Value {
    let schema = schema(of);
    let mut last = Value::Null;
    for document in printed(args) {
        holds(&schema, &document, args);
        last = document;
    }
    last
}

/// Locks the machine for one test: a CPU has one run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn demos() -> Vec<String> {
    let all = printed(&["demos", "--json"]).remove(0);
    let all = all["demos"].as_array().expect("there are demos").clone();
    all.iter().map(|demo| demo["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn executors() {
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/ros2.in/robot.toml");
    let robot = is("ros2", &["ros2", book, "--until", "1s", "--json"]);
    assert_eq!(robot["callbacks"].as_array().map(Vec::len), Some(4));
    let (chain, callbacks) = (&robot["chains"][0], &robot["callbacks"]);
    for seen in callbacks.as_array().into_iter().flatten().chain([chain]) {
        assert!(seen["seen_ns"].as_i64() <= seen["bound_ns"].as_i64(), "{seen}");
        assert!(seen["seen_ns"].as_i64() > Some(0), "{seen}");
    }
}

#[test]
fn verdicts() {
    let schema = schema("check");
    for demo in demos() {
        let args = ["check", &demo, "--all", "--json"];
        printed(&args).iter().for_each(|document| holds(&schema, document, &args));
    }
    let overheads = ["check", "-t", "a=1ms/10ms", "-p", "rms,p-edf,dl", "--json"];
    is("check", &overheads);
    for margin in ["5ms", "0.05"] {
        let margin = [&overheads[..], &["--reserve", margin]].concat();
        assert_eq!(is("check", &margin)["policies"].as_array().map(Vec::len), Some(3));
    }
    let folder = folder("schema-check");
    let sets = folder.join("sets");
    let made = ["gen", "-n", "5", "-u", "1.9", "--cpus", "2", "--sets", "3", "-o", name(&sets)];
    let output = run(&made);
    assert!(output.status.success(), "{output:?}");
    let mut files: Vec<_> = std::fs::read_dir(&sets)
        .expect("sets are written to a folder")
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.sort();
    let files: Vec<&str> = files.iter().map(|path| name(path)).collect();
    assert_eq!(files.len(), 3);
    is("check", &[&["check", "-p", "g-edf,p-edf", "--json"][..], &files].concat());
}

#[test]
fn designs() {
    let set = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/analyses/groups.in/robot.toml");
    for what in [
        "group=control",
        "group=vision,periods=2ms+5ms,cpus=1..2",
        "group=vision,periods=1ms..20ms/1ms",
    ] {
        let found = is("check-design", &["check", set, "--design", what, "--json"]);
        assert!(found["choice"]["budget_ns"].as_i64() > Some(0), "{found}");
    }
}

#[test]
fn chains() {
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/chains.in/limits.toml");
    for (command, answers) in [("check", "policies"), ("sim", "results")] {
        let answer = is(command, &[command, book, "--policy", "p-rm", "--json"]);
        let chains = answer[answers][0]["chains"].as_array().expect("a list");
        assert_eq!(chains.len(), 3);
        let constraint = |chain: &Value, key: &str| usize::from(chain[key].is_object());
        let of = |chain: &Value| constraint(chain, "max_reaction") + constraint(chain, "max_age");
        assert_eq!(chains.iter().map(of).sum::<usize>(), 4);
    }
}

#[test]
fn certificates() {
    let schema = schema("certificate");
    let mut kinds = BTreeSet::new();
    let mut hold = |args: &[&str]| {
        for document in printed(args) {
            holds(&schema, &document, args);
            let answers = document["answers"].as_array().expect("answers are a list");
            kinds.extend(answers.iter().map(|answer| answer["proof"]["kind"].to_string()));
        }
    };
    for demo in demos() {
        hold(&["check", &demo, "--certificate", "-"]);
    }
    hold(&["check", "-t", "a=1ms/10ms", "-p", "rms,p-edf,dl,run,p-rm", "--certificate", "-"]);
    // All kinds of proofs occur, including none.
    assert_eq!(kinds.len(), 4, "{kinds:?}");
}

#[test]
fn simulations_and_traces() {
    let (sim, trace) = (schema("sim"), schema("trace"));
    let folder = folder("schema-sim");
    let file = folder.join("x.json");
    let mut kinds = BTreeSet::new();
    for demo in demos() {
        let args = ["sim", &demo, "--until", "300ms", "--json", "--chart", "none"];
        printed(&args).iter().for_each(|document| holds(&sim, document, &args));
        for policy in ["dl", "dl-sp", "apedf", "amc", "g-edf", "p-fp:locks=pip"] {
            let args = [
                "sim",
                &demo,
                "-p",
                policy,
                "--until",
                "300ms",
                "-o",
                name(&file),
                "--chart",
                "none",
            ];
            if !run(&args).status.success() && !file.exists() {
                continue;
            }
            let document: Value = serde_json::from_slice(&std::fs::read(&file).expect("written"))
                .expect("a trace is JSON");
            holds(&trace, &document, &args);
            let marks = document["marks"].as_array().expect("marks are a list");
            kinds
                .extend(marks.iter().map(|mark| mark["kind"].as_str().expect("a kind").to_owned()));
            std::fs::remove_file(&file).expect("it was written");
        }
    }
    assert!(kinds.len() >= 9 && kinds.contains("granted"), "{kinds:?}");
    let explored = [
        "sim",
        "demo:robot",
        "-p",
        "p-edf",
        "--explore",
        "3",
        "--until",
        "100ms",
        "--json",
        "--check",
    ];
    is("sim", &explored);
    is("sim", &["sim", "demo:three-tasks", "--cycle", "-p", "g-edf", "--json"]);
}

#[test]
fn task_sets_of_traces() {
    let folder = folder("schema-infer");
    let trace = folder.join("x.json");
    let tasks = ["-t", "a=1ms/5ms", "-t", "b=2ms/20ms", "--cpus", "2", "-p", "g-edf"];
    let files = ["--until", "1s", "-o", name(&trace), "--chart", "none"];
    assert!(run(&[&["sim"][..], &tasks, &files].concat()).status.success());
    let document = is("trace-infer", &["trace", "infer", name(&trace), "--json"]);
    assert_eq!(document["tasks"][1]["period_ns"], 20_000_000);
    let kernel = "../layland-interchange/tests/kernel/tracefs.txt";
    let document = is("trace-infer", &["trace", "infer", kernel, "--json"]);
    assert_eq!(document["tasks"][0]["class"], "fifo or rr");
    let asked = ["trace", "infer", kernel, "--thread", "m.*|other", "--json"];
    let document = is("trace-infer", &asked);
    assert_eq!(document["chosen_by"], "name");
    assert!(!document["left_out"].as_array().expect("a list").is_empty());
}

#[test]
fn what_is_admitted() {
    let _alone = alone();
    is("exec", &["exec", "--dl", "1ms/100ms", "--dry-run", "--json"]);
    is("exec", &["exec", "--list", "--json"]);
    // The program lists itself.
    let list = [env!("CARGO_BIN_EXE_layland"), "exec", "--list", "--json"];
    let reserved = [&["exec", "--dl", "30ms/100ms", "--name", "lists", "--"][..], &list].concat();
    let output = run(&reserved);
    if output.status.code() == Some(5) {
        return common::skipped("CAP_SYS_NICE, for SCHED_DEADLINE");
    }
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    holds(&schema("exec"), &document, &reserved);
    assert_eq!(document["members"][0]["reserved"][0]["kernel"]["class"], "SCHED_DEADLINE");
    let top =
        [env!("CARGO_BIN_EXE_layland"), "top", "--json", "--interval", "20ms", "--count", "2"];
    let reserved = [&["exec", "--dl", "30ms/100ms", "--name", "tops", "--"][..], &top].concat();
    let output = run(&reserved);
    for line in output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let document: Value = serde_json::from_slice(line).expect("it is JSON");
        holds(&schema("top"), &document, &reserved);
        assert_eq!(document["reserved"][0]["name"], "tops");
    }
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn lists() {
    is("policies", &["policies", "--json"]);
    is("demos", &["demos", "--json"]);
    is("demos", &["demos", "robot", "--json"]);
    is("explain", &["explain", "--json"]);
    is("explain", &["explain", "g-edf", "--json"]);
    is("doctor", &["doctor", "--json", "--latency-for", "0s"]);
    is("lab-list", &["lab", "list", "--json"]);
}

#[test]
fn an_experiment() {
    let folder = folder("schema-lab");
    let args = ["lab", "run", "stevanato2021", "--sets", "1", "-o", name(&folder), "--json"];
    is("lab-run", &args);
    let of = ["stevanato2021", "--sets", "1", "-o", name(&folder), "--json"];
    is("lab-units", &[&["lab", "units"][..], &of].concat());
    is("lab-part", &[&["lab", "run", "--shard", "2/3"][..], &of].concat());
}

/// Validates a run of real threads, its replay, and the output about its trace.
#[test]
fn runs() {
    let _alone = alone();
    let folder = folder("schema-run");
    let (log, trace) = (folder.join("run.log"), folder.join("run.json"));
    let set = folder.join("set.toml");
    let tasks = ["-t", "a=2ms/20ms", "-t", "b=10ms/50ms", "--cpus", "1"];
    assert!(run(&[&["convert", "-o", name(&set)][..], &tasks].concat()).status.success());
    let run_args = ["run", "-p", "p-edf", "--until", "300ms", "--check", "--json"];
    let files = ["--log", name(&log), "-o", name(&trace)];
    let args = [&run_args[..], &[name(&set)], &files].concat();
    if run(&args).status.code() == Some(5) {
        common::skipped("CAP_SYS_NICE");
        return;
    }
    is("run", &args);
    is("run", &["run", "--replay", name(&log), "--json"]);
    let of_set = ["--set", name(&set), "--json"];
    is("trace-check", &[&["trace", "check", name(&trace), "-p", "p-edf"][..], &of_set].concat());
    is("trace-stats", &[&["trace", "stats", name(&trace)][..], &of_set].concat());
    let simulated = folder.join("sim.json");
    run(&["sim", name(&set), "-p", "p-edf", "--until", "300ms", "-o", name(&simulated)]);
    let diff = ["trace", "diff", name(&simulated), name(&trace)];
    let document = is("trace-diff", &[&diff[..], &of_set].concat());
    assert!(document["first"].is_object(), "no run is as its simulation to the nanosecond");
    is("calibrate", &["calibrate", "--duration", "200ms", "--json"]);
}

/// Validates the SCHED_DEADLINE engine: the kernel as the policy, whose own trace is part of the
/// answer, and its root domains.
#[test]
fn runs_of_the_kernel() {
    let _alone = alone();
    let defect = ["demo:push-defect", "-p", "dl", "--stretch", "10x", "--until", "190ms"];
    let tied = ["-t", "a=20ms/100ms", "--cpus", "1", "-p", "p-edf", "--until", "300ms"];
    for (set, is_the_kernel) in [(&defect[..], true), (&tied, false)] {
        let args = [&["run", "--engine", "deadline", "--json"][..], set].concat();
        if run(&args).status.code() == Some(5) {
            common::skipped("SCHED_DEADLINE and cpusets");
            return;
        }
        let document = is("run", &args);
        assert_eq!(document["kernel"].is_object(), is_the_kernel, "{document:#}");
    }
}

/// Returns the subjects that the help lists.
fn subjects() -> Vec<String> {
    let help = String::from_utf8(run(&["schema", "--help"]).stdout).expect("the help is UTF-8");
    let (_, listed) = help.split_once("[possible values: ").expect("the subjects are listed");
    let (listed, _) = listed.split_once(']').expect("the list ends");
    listed.split(',').map(|subject| subject.trim().to_owned()).collect()
}

/// Counts the objects in a schema, and finds those that accept other members than their own, the
/// members without a description, and descriptions that refer to the program. A constant needs no
/// description.
fn look(schema: &Value, of: &str, objects: &mut usize, wrong: &mut Vec<String>) {
    if let Value::Object(members) = &schema["properties"] {
        *objects += 1;
        if schema["additionalProperties"] != false {
            wrong.push(format!("{of} accepts other members"));
        }
        let bare = |schema: &Value| !schema["description"].is_string() && schema["const"].is_null();
        let bare = members.iter().filter(|(_, schema)| bare(schema));
        wrong.extend(bare.map(|(name, _)| format!("{of}/{name} has no description")));
    }
    if let Some(text) = schema["description"].as_str()
        && (text.contains("](") || text.contains("[`"))
    {
        wrong.push(format!("{of} has a link of Rust: {text}"));
    }
    match schema {
        Value::Object(each) => each
            .iter()
            .for_each(|(name, value)| look(value, &format!("{of}/{name}"), objects, wrong)),
        Value::Array(each) => each.iter().for_each(|value| look(value, of, objects, wrong)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_object_is_strict_and_every_member_is_described() {
    let subjects = subjects();
    assert!(subjects.len() > 20, "{subjects:?}");
    let mut wrong = Vec::new();
    for subject in &subjects {
        schema(subject);
        let document = printed(&["schema", subject]).remove(0);
        let mut objects = 0;
        look(&document, subject, &mut objects, &mut wrong);
        assert!(objects > 0, "{subject} has no object");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A schema that accepted everything would pass every test above.
#[test]
fn a_schema_is_strict() {
    let schema = schema("sim");
    let good = printed(&["sim", "demo:dhall", "--json"]).remove(0);
    assert!(schema.is_valid(&good));
    let mut more = good.clone();
    more["results"][0]["summary"]["total"]["colour"] = json!("blue");
    let mut less = good.clone();
    less["results"][0]["summary"].as_object_mut().expect("an object").remove("cpus");
    let mut other = good;
    other["results"][0]["end_ns"] = json!("1s");
    for wrong in [more, less, other] {
        assert!(!schema.is_valid(&wrong), "{wrong:#}");
    }
}
