//! One experiment by several processes that share a folder gives the same bytes as one process,
//! even if processes are killed.

use crate::process::{folder, layland, name, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EXPERIMENT: &str = r#"
lab = 1
title = "a sweep"
sets = 40
seed = 5
horizon = "5s"
block = 4

[generator]
cpus = 4
tasks = 12
periods = "log:10ms..100ms"

[[series]]
name = "g-edf"
policy = "g-edf"
[[series]]
name = "p-edf"
policy = "p-edf:fit=ffd"

[[grid]]
name = "load"
utilization = ["2.0", "3.0", "3.8"]

[[figure]]
name = "accepted"
grid = "load"
x = "utilization"
y = "accepted"
statistic = "mean"
"#;

/// Returns the file of an experiment, a folder with its results by one process, and an empty folder
/// for others.
fn prepared(test: &str) -> (PathBuf, PathBuf, PathBuf) {
    let folder = folder(test);
    let (file, one, many) = (folder.join("sweep.toml"), folder.join("one"), folder.join("many"));
    std::fs::write(&file, EXPERIMENT).expect("the folder can be written");
    lab("run", &file, &one, &["--quiet"]);
    (file, one, many)
}

#[track_caller]
fn lab(what: &str, file: &Path, out: &Path, options: &[&str]) -> String {
    let args = [&["lab", what, name(file), "--output", name(out)][..], options].concat();
    let output = run(&args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// Returns every file below a folder, except those of a process that was killed while it wrote.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_none_or(|ending| ending != "part") {
                let name = path.strip_prefix(folder).expect("it is below it").to_owned();
                found.insert(name, std::fs::read(&path).expect("the file can be read"));
            }
        }
    }
    found
}

#[track_caller]
fn assert_same(one: &Path, many: &Path) {
    let (one, many) = (files(one), files(many));
    assert_eq!(one.keys().collect::<Vec<_>>(), many.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(*bytes == many[name], "{} differs", name.display());
    }
}

fn units(file: &Path, out: &Path) -> Vec<Value> {
    let told = lab("units", file, out, &["--json"]);
    let document: Value = serde_json::from_str(&told).expect("it is JSON");
    let units = document["units"].as_array().expect("a list").clone();
    let done = units.iter().filter(|unit| unit["is_done"] == true).count();
    assert_eq!(document["done"], done);
    units
}

#[test]
fn results_are_not_replaced_by_those_of_fewer_sets() {
    let (file, one, _) = prepared("sweep-fewer");
    let before = files(&one);
    for what in ["run", "paper"] {
        let args = ["lab", what, name(&file), "--output", name(&one), "--sets", "8"];
        let output = run(&args);
        let err = String::from_utf8(output.stderr).expect("it is text");
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains("has the results of 40 sets per point, and those of 8"), "{err}");
        assert!(err.contains("--sets 40") && err.contains("--output"), "{err}");
        assert!(files(&one) == before, "the results are kept");
    }
    // As many and more are added, and --fresh says that the old ones go.
    lab("run", &file, &one, &["--quiet", "--sets", "44"]);
    lab("run", &file, &one, &["--quiet", "--sets", "8", "--fresh"]);
    let claims = std::fs::read_to_string(one.join("claims.txt")).expect("they are written");
    assert!(claims.contains("8 sets per point"), "{claims}");
}

#[test]
fn parts_make_the_whole() {
    let (file, one, many) = prepared("sweep-parts");
    assert!(units(&file, &many).iter().all(|unit| unit["is_done"] == false));
    for (part, units_done) in [("3/3", 10), ("1/3", 20), ("2/3", 30)] {
        let told = lab("run", &file, &many, &["--shard", part, "--json"]);
        let document: Value = serde_json::from_str(&told).expect("it is JSON");
        assert_eq!((&document["units"], &document["done"]), (&10.into(), &10.into()), "{told}");
        let done = units(&file, &many).iter().filter(|unit| unit["is_done"] == true).count();
        assert_eq!(done, units_done);
        // A part draws nothing.
        assert_eq!(std::fs::read_dir(&many).expect("the folder is there").count(), 1);
    }
    lab("run", &file, &many, &["--quiet"]);
    assert_same(&one, &many);
}

#[test]
fn units_are_measured_by_name() {
    let (file, one, many) = prepared("sweep-units");
    let names = |units: &[Value]| {
        let names = units.iter().map(|unit| unit["name"].as_str().expect("a name").to_owned());
        names.collect::<Vec<_>>()
    };
    let all = units(&file, &many);
    assert_eq!(all[7]["at"]["utilization"], "2.0");
    assert_eq!(all[7]["sets"], serde_json::json!([28, 32]));
    let some: Vec<String> = names(&all).into_iter().step_by(4).collect();
    lab("run", &file, &many, &["--quiet", "--units", &some.join(",")]);
    let done: Vec<Value> =
        units(&file, &many).into_iter().filter(|unit| unit["is_done"] == true).collect();
    assert_eq!(names(&done), some);
    // A damaged shard is not a result.
    let damaged = many.join("shards").join(format!("{}.json", some[0]));
    std::fs::write(&damaged, "{").expect("the file can be written");
    assert_eq!(units(&file, &many)[0]["is_done"], false);
    lab("run", &file, &many, &["--quiet"]);
    assert_same(&one, &many);
    // Other systems form other units.
    let other = lab("units", &file, &many, &["--seed", "6", "--json"]);
    let other: Value = serde_json::from_str(&other).expect("it is JSON");
    let other = names(other["units"].as_array().expect("a list"));
    assert!(names(&all).iter().all(|name| !other.contains(name)));
}

#[test]
fn what_a_killed_process_leaves_others_do() {
    let (file, one, many) = prepared("sweep-killed");
    let part = |part: &str| {
        let args = ["lab", "run", name(&file), "--output", name(&many), "--shard", part];
        let mut command = layland(&[&args[..], &["--until-done", "--workers", "1"]].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    };
    let mut killed = part("1/2");
    while std::fs::read_dir(many.join("shards")).map_or(0, Iterator::count) < 2 {
        assert!(killed.try_wait().expect("it is a child").is_none(), "it ended early");
        std::thread::yield_now();
    }
    killed.kill().expect("it is a child");
    killed.wait().expect("it is a child");
    let missing = units(&file, &many).iter().filter(|unit| unit["is_done"] == false).count();
    assert!(missing > 0, "it was killed too late");
    assert!(part("2/2").wait().expect("it is a child").success());
    assert!(units(&file, &many).iter().all(|unit| unit["is_done"] == true));
    lab("run", &file, &many, &["--quiet"]);
    assert_same(&one, &many);
}

#[test]
fn an_array_of_slurm_runs_these_commands() {
    let (file, one, many) = prepared("sweep-slurm");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sweep/sweep.sbatch");
    let program = Path::new(env!("CARGO_BIN_EXE_layland"));
    let path = format!("{}:/usr/bin:/bin", name(program.parent().expect("it is in a folder")));
    let job = |number: Option<&str>| {
        let mut command = Command::new("bash");
        command.arg(&script).args([name(&file), name(&many), "3"]);
        command
            .env("PATH", &path)
            .env("SLURM_CPUS_PER_TASK", "1")
            .env_remove("SLURM_ARRAY_TASK_ID");
        command.envs(number.map(|number| ("SLURM_ARRAY_TASK_ID", number)));
        command.output().expect("bash starts")
    };
    for number in ["2", "3", "1"] {
        let output = job(Some(number));
        assert!(output.status.success(), "{output:?}");
    }
    assert!(units(&file, &many).iter().all(|unit| unit["is_done"] == true));
    let outside = job(None);
    assert!(!outside.status.success() && text_of(&outside.stderr).contains("sbatch --array"));
    lab("run", &file, &many, &["--quiet"]);
    assert_same(&one, &many);
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_part_that_is_none_is_refused() {
    let (file, _, many) = prepared("sweep-wrong");
    for (options, what) in [
        (&["--shard", "0/3"][..], "the first part is 1"),
        (&["--shard", "4/3"], "there are 3 parts"),
        (&["--shard", "1"], "write PART/PARTS, as in 3/200"),
        (&["--units", "abc"], "no unit is named abc"),
        (&["--until-done"], "required"),
        (&["--shard", "1/2", "--units", "abc"], "cannot be used with"),
        (&["--shard", "1/2", "--fresh"], "cannot be used with"),
    ] {
        let args = [&["lab", "run", name(&file), "--output", name(&many)][..], options].concat();
        let output = run(&args);
        let told = text_of(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {told}");
        assert!(told.contains(what), "{options:?}: {told}");
    }
}
