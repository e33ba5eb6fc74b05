//! Every slip that was seen at a first use gets the hint that helps, and no hint guesses a unit.

use crate::process::{folder, layland};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The words of a command line, and what its message contains. `FILE` is a file with the contents.
struct Slip {
    words: &'static [&'static str],
    contents: &'static str,
    code: i32,
    hint: &'static str,
}

const fn slip(words: &'static [&'static str], code: i32, hint: &'static str) -> Slip {
    Slip { words, contents: "", code, hint }
}

const fn within(contents: &'static str, hint: &'static str) -> Slip {
    Slip { words: &["check", "FILE.toml"], contents, code: 3, hint }
}

/// A set with one task, which has this line.
macro_rules! task {
    ($line:literal) => {
        concat!(
            "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nperiod = \"5s\"\n",
            $line,
            "\n"
        )
    };
}

const BY_COMMAS: &str = "separate policies by commas, as in -p g-edf,p-edf";

const SLIPS: &[Slip] = &[
    // Several policies.
    slip(&["sim", "demo:dhall", "-p", "g-edf", "p-edf"], 2, BY_COMMAS),
    slip(&["check", "demo:dhall", "-p", "g-edf", "p-edf:fit=wfd"], 2, BY_COMMAS),
    slip(&["check", "g-edf"], 3, BY_COMMAS),
    slip(&["run", "demo:dhall", "-p", "g-edf", "p-edf"], 2, "`p-edf` is a policy"),
    // Programs and sources in the place of a set.
    slip(&["exec", "./program"], 3, "`layland exec --dl RUNTIME/PERIOD -- ./program` runs"),
    slip(&["run", "program"], 3, "-- ./program` runs a program"),
    slip(&["check", "./script"], 3, "./script is a program and no task set"),
    slip(&["sim", "robot.c"], 3, "this is C source, and not a task set"),
    slip(
        &["exec", "--dl", "2ms/10ms", "./program", "now"],
        2,
        "`layland exec --dl 2ms/10ms -- ./program now`",
    ),
    slip(&["exec", "set.toml", "./program"], 2, "`layland exec set.toml -- ./program`"),
    slip(&["trace", "record", "./program"], 2, "`layland trace record -- ./program`"),
    // Files.
    slip(&["sim", "demo:dhall", "-o", "out.gif"], 2, "charts are written as .svg, .png or .pdf"),
    slip(&["sim", "demo:dhall", "-o", "out.JPG"], 2, "charts are written as .svg, .png or .pdf"),
    slip(&["sim", "demo:dhall", "-o", "out"], 2, "the extension says what to write: .html"),
    slip(&["sim", "dhall"], 3, "the bundled set is called demo:dhall"),
    slip(&["sim", "demo:dahll"], 2, "did you mean `demo:dhall`?"),
    slip(&["sim", "nothing.toml"], 3, "`layland demos` lists the bundled sets"),
    // Keys of a task.
    within(task!("wcet = \"1ms\"\ncpus = \"0\""), "did you mean `affinity`?"),
    within(task!("wcet = \"1ms\"\ncore = 0"), "did you mean `affinity`?"),
    within(task!("wcet = \"1ms\"\nprio = 3"), "did you mean `priority`?"),
    within(task!("C = \"1ms\""), "did you mean `wcet`?"),
    within(task!("runtime = \"1ms\""), "did you mean `budget`?"),
    within(task!("wect = \"1ms\""), "did you mean `wcet`?"),
    // Times.
    within(task!("wcet = \"300 usec\""), "write \"300us\""),
    within(task!("wcet = \"3 microseconds\""), "write \"3us\""),
    within(task!("wcet = \"3msec\""), "write \"3ms\""),
    within(task!("wcet = \"300\""), "add ns, us, ms or s to the number"),
    within(task!("wcet = 300"), "add ns, us, ms or s to the number"),
    within(task!("wcet = \"3m\""), "the units are ns, us, ms and s"),
    slip(&["sim", "demo:dhall", "--until", "2sec"], 2, "write \"2s\""),
    slip(&["sim", "demo:dhall", "--until", "1h"], 2, "write \"3600s\""),
    slip(&["sim", "demo:dhall", "--until", "1.5min"], 2, "write \"90s\""),
    slip(&["sim", "demo:dhall", "--until", "300"], 2, "add ns, us, ms or s to the number"),
    slip(&["check", "-t", "a=300usec/5ms"], 3, "write 300us"),
    slip(&["check", "-t", "a=300/5ms"], 3, "add ns, us, ms or s to the number"),
    slip(&["exec", "--dl", "2/10ms", "--dry-run"], 2, "add ns, us, ms or s to the number"),
    slip(&["exec", "--dl", "10ms/2ms", "--dry-run"], 2, "does not fit into a period of"),
    Slip {
        words: &["check", "FILE.csv"],
        contents: "name,wcet,period\na,300,5000\n",
        code: 3,
        hint: "say it for all columns with --unit",
    },
    Slip {
        words: &["check", "FILE.txt"],
        contents: "300 5000\n20 1000\n",
        code: 3,
        hint: "say which with --unit",
    },
    // Numbers.
    slip(&["check", "demo:dhall", "--cpus", "0"], 2, "write a whole number from 1 to 4096"),
    slip(&["check", "demo:dhall", "--cpus", "two"], 2, "write a whole number from 1 to 4096"),
    slip(&["gen", "-n", "many", "-u", "1"], 2, "write a whole number, at least 0"),
    slip(&["check", "demo:dhall", "--effort", "much"], 2, "write a whole number, at least 0"),
    // Commands and options.
    slip(&["chek", "demo:dhall"], 2, "did you mean `check`?"),
    slip(&["simulate", "demo:dhall"], 2, "the command is called `sim`"),
    slip(&["set.toml"], 2, "`layland check set.toml`"),
    slip(&["sim", "demo:dhall", "--duration", "3s"], 2, "called `--until` here"),
    slip(&["run", "demo:dhall", "--duration=3s"], 2, "called `--until` here"),
    slip(&["check", "demo:dhall", "--threads", "3"], 2, "called `--workers` here"),
    slip(&["check", "demo:dhall", "--margin", "5ms"], 2, "called `--reserve` here"),
    slip(&["exec", "--cpus", "2", "--dl", "1ms/5ms"], 2, "called `--on-cpus` here"),
    slip(&["sim", "demo:dhall", "--cores", "2"], 2, "called `--cpus` here"),
    slip(&["trace", "stats", "x.txt", "--comm", "a"], 2, "called `--thread` here"),
    slip(&["lab", "run", "stevanato2021", "--out", "x"], 2, "called `--output` here"),
    slip(&["exec", "--report", "x.html"], 2, "called `--output` here"),
    slip(&["gen", "-n", "3", "-u", "1", "-p", "5ms"], 2, "called `--periods` here"),
    slip(&["sim", "demo:dhall", "-p", "gedf,edff"], 2, "did you mean"),
];

/// Returns true if a text has a number with a unit of time.
fn has_a_time(text: &str) -> bool {
    let words = text.split(|char: char| !char.is_alphanumeric() && char != '.');
    let mut numbers = words.filter(|word| word.starts_with(|char: char| char.is_ascii_digit()));
    numbers.any(|word| ["ns", "us", "ms", "s"].iter().any(|unit| word.ends_with(unit)))
}

#[test]
fn every_slip_gets_its_hint() {
    let folder = folder("slips");
    let here = |name: &str| folder.join(name);
    let write =
        |name: &str, contents: &[u8]| fs::write(here(name), contents).expect("it is a file");
    write("program", b"\x7fELF\x02\x01\x01\0\0\0\xd0\xb0");
    write("script", b"#!/bin/sh\nexit 0\n");
    write("robot.c", b"int main(void) { return 0; }\n");
    let set = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nwcet = \"1ms\"\nperiod = \"5ms\"\n";
    write("set.toml", set.as_bytes());
    for program in ["program", "script"] {
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(here(program), executable).expect("it is there");
    }
    let mut missed = Vec::new();
    for Slip { words, contents, code, hint } in SLIPS {
        let words: Vec<String> = words.iter().map(|word| word.replace("FILE", "case")).collect();
        if let Some(name) = words.iter().find(|word| word.starts_with("case")) {
            write(name, contents.as_bytes());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run_in(&folder, &words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // A narrow message breaks its lines.
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if output.status.code() != Some(*code) || !flat.contains(hint) {
            missed.push(format!("{words:?}: {:?} and {said}", output.status.code()));
        }
        let is_about_a_unit = hint.starts_with("add ns") || hint.starts_with("the units are");
        let asked: Vec<&str> = said.lines().filter(|line| line.contains("help:")).collect();
        if is_about_a_unit && asked.iter().any(|line| has_a_time(line)) {
            missed.push(format!("{words:?} guesses: {asked:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

fn run_in(folder: &Path, words: &[&str]) -> std::process::Output {
    let mut command = layland(words);
    command.current_dir(folder).env("NO_COLOR", "1").env("COLUMNS", "200");
    command.output().expect("the command starts")
}
