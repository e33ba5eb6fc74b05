//! Tests of the command from outside: exit codes, signals, pipes, files, and reproducible output.
//!
//! Long because each promise of the program to a shell is a test.
#![cfg(unix)]

use crate::common;
use crate::process::{folder, layland, name, run};
use serde_json::Value;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = layland(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    std::thread::scope(|scope| {
        // The command may print before it has read everything.
        scope.spawn(move || stdin.write_all(input).expect("the command reads its input"));
        child.wait_with_output().expect("the command ends")
    })
}

/// Returns the standard output of a run that ends with this code and prints nothing to standard
/// error.
#[track_caller]
fn stdout(args: &[&str], code: i32) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    assert_eq!(text(&output.stderr), "", "{args:?}");
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}

// Signals.

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.expect("kill starts").success());
}

/// Waits for at most this many seconds.
#[expect(clippy::disallowed_methods, reason = "a test of a process waits for it")]
fn wait(child: &mut Child, seconds: u64) -> ExitStatus {
    for _ in 0..seconds * 50 {
        if let Some(status) = child.try_wait().expect("the child can be asked") {
            return status;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let _ = child.kill();
    panic!("the command did not end within {seconds} s");
}

#[expect(clippy::disallowed_methods, reason = "the command takes a moment to start")]
fn a_moment() {
    std::thread::sleep(std::time::Duration::from_millis(1000));
}

/// Starts a simulation that would take years.
fn endless(more: &[&str]) -> Child {
    // The schedule recurs, so that the figures of so long a run are known at once otherwise.
    let args = ["sim", "demo:dhall", "--until", "1000000000s", "--engine-loop", "general"];
    start(&[&args, more].concat())
}

/// Starts a command and waits a moment.
fn start(args: &[&str]) -> Child {
    let child = layland(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    a_moment();
    child
}

fn rest(child: &mut Child) -> (String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("UTF-8");
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
    (out, err)
}

#[test]
fn an_interrupt_keeps_and_marks_partial_results() {
    // The recurrence would be decided only much later. A trace up to such a late time would be
    // rejected at once.
    let periods = ["-t", "a=1ms/10.000001ms", "-t", "b=1ms/11.000003ms"];
    let mut child = start(
        &[&["sim", "-p", "g-edf", "--cycle", "1000000000s", "--check"], &periods[..]].concat(),
    );
    signal(&child, "-INT");
    assert_eq!(wait(&mut child, 20).code(), Some(130));
    let (out, err) = rest(&mut child);
    assert!(out.contains("g-edf: INTERRUPTED at"), "{out}");
    assert!(out.contains("g-edf: INTERRUPTED: not checked"), "{out}");
    assert!(out.contains("jobs"), "{out}");
    assert_eq!(err, "");
}

#[test]
fn an_interrupt_marks_the_json() {
    let mut child = endless(&["--json", "--policy", "g-edf,p-edf"]);
    signal(&child, "-INT");
    assert_eq!(wait(&mut child, 20).code(), Some(130));
    let (out, _) = rest(&mut child);
    let result: Value = serde_json::from_str(&out).expect("the output is JSON");
    assert_eq!(result["exit"]["code"], 130);
    for policy in result["results"].as_array().expect("a list") {
        assert_eq!(policy["interrupted"], true);
        assert_eq!(policy["summary"]["interrupted"], true);
        assert!(policy["end_ns"].as_i64().expect("a number") > 0);
    }
}

#[test]
fn an_interrupted_experiment_writes_what_there_is() {
    let folder = folder("interrupted_experiment");
    let args = ["lab", "run", "stevanato2021", "--only", "fig4", "--sets", "1", "--quiet"];
    let endless = ["--horizon", "1000000000s", "--output", name(&folder)];
    let mut child = layland(&[&args[..], &endless].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    a_moment();
    signal(&child, "-INT");
    assert_eq!(wait(&mut child, 20).code(), Some(130));
    let (out, err) = rest(&mut child);
    assert!(out.contains("incomplete: 0 of 15 units are measured"), "{out}");
    assert!(err.starts_with("interrupted: writing what there is"), "{err}");
    for file in ["results.csv", "results.parquet", "figures/fig4.svg", "claims.txt"] {
        assert!(folder.join(file).exists(), "{file}");
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let folder = folder("second_interrupt");
    // After the first interrupt the file is being written.
    let mut child = endless(&["-p", "g-edf", "-o", name(&folder.join("report.html"))]);
    signal(&child, "-INT");
    let mut first = [0; 11];
    child.stderr.as_mut().expect("a pipe").read_exact(&mut first).expect("it says so");
    assert_eq!(&first, b"interrupted");
    if child.try_wait().expect("the child can be asked").is_none() {
        signal(&child, "-INT");
    }
    assert_eq!(wait(&mut child, 5).code(), Some(130));
}

// Pipes.

#[test]
fn standard_input_is_read() {
    let demo = stdout(&["demos", "dhall"], 0);
    let output = run_with_input(&["sim", "-", "--chart", "none"], demo.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("<stdin>: 3 tasks on 2 CPUs"));
}

#[test]
fn empty_standard_input_is_an_error_that_helps() {
    let output = run_with_input(&["sim", "-"], b"\n");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        text(&output.stderr),
        "error: <stdin> is empty\n  help: a task set is expected; `layland demos robot` prints one \
         to start from\n"
    );
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = layland(&["gen", "-n", "20000", "-u", "5", "--generator", "uunifast"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_exact(&mut [0; 7]).expect("there is output");
    drop(pipe);
    assert_eq!(wait(&mut child, 20).code(), Some(0));
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
    assert_eq!(err, "");
}

#[test]
fn a_full_disk_is_the_systems_refusal() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        common::skipped("/dev/full");
        return;
    };
    let output = layland(&["sim", "demo:dhall", "-p", "g-edf"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(5));
    assert!(text(&output.stderr).starts_with("error: failed to write to standard output"));
}

// Reproducible output.

#[test]
fn output_depends_on_nothing_but_the_arguments() {
    let policies = "g-edf,p-edf,p-edf:fit=wfd,g-rm,p-rm,c-edf:size=2,p-dm";
    let made = folder("same_bytes");
    let set = made.join("set.toml");
    let args = ["gen", "-n", "12", "-u", "3.1", "--cpus", "4", "--seed", "7", "-o", name(&set)];
    assert_eq!(stdout(&args, 0), "");
    let all = |threads: &str, run_name: &str| -> Vec<(String, Vec<u8>)> {
        let folder = made.join(run_name);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let (svg, json) = (folder.join("x.svg"), folder.join("x.json"));
        let sim = ["sim", name(&set), "--until", "2s", "-p", policies, "--workers", threads, "-q"];
        let drawn = run(&[&sim[..], &["--check", "-o", name(&svg), "-o", name(&json)]].concat());
        assert!(matches!(drawn.status.code(), Some(0 | 1)), "{drawn:?}");
        let found = run(&[&sim[..], &["--json"]].concat());
        let explored = run(&[&sim[..], &["--explore", "3", "--chart", "both"]].concat());
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
            .expect("the folder can be read")
            .map(|entry| entry.expect("the folder can be read"))
            .map(|entry| {
                let bytes = std::fs::read(entry.path()).expect("the file can be read");
                (entry.file_name().to_string_lossy().into_owned(), bytes)
            })
            .collect();
        files.sort();
        files.push(("text".to_owned(), drawn.stdout));
        files.push(("json".to_owned(), found.stdout));
        files.push(("explored".to_owned(), explored.stdout));
        files
    };
    let (one, eight, again) = (all("1", "one"), all("8", "eight"), all("8", "again"));
    assert!(one.len() > 6, "charts and traces were written");
    for ((first, second), third) in one.iter().zip(&eight).zip(&again) {
        assert_eq!(first.0, second.0);
        assert!(first.1 == second.1, "{} depends on --workers", first.0);
        assert!(second.1 == third.1, "{} differs from run to run", first.0);
    }
    assert_eq!((one.len(), eight.len()), (eight.len(), again.len()));
}

#[test]
fn a_generated_set_can_be_made_again() {
    let made = folder("again");
    let args = "-n 10 -u 2.5 --cpus 4 --seed 42 --first 5 --criticality LO,HI --criticality-factor 1.5..3 \
                --affinity clustered:2 --deadlines constrained:0.5..1 --offsets uniform";
    let args: Vec<&str> = std::iter::once("gen").chain(args.split_whitespace()).collect();
    let first = stdout(&args, 0);
    assert_eq!(first, stdout(&args, 0));
    let set = made.join("set.toml");
    std::fs::write(&set, &first).expect("the file can be written");
    assert_eq!(first, stdout(&["gen", "--again", name(&set)], 0));
    let piped = run_with_input(&["gen", "--again", "-"], first.as_bytes());
    assert_eq!(first, text(&piped.stdout));
    // A set depends only on the seed and its number, not on the number of generated sets.
    let sets = made.join("sets");
    let mut many = args.clone();
    many.extend(["--sets", "2", "-o", name(&sets)]);
    assert_eq!(stdout(&many, 0), "");
    let fifth = std::fs::read_to_string(sets.join("set-00005.toml")).expect("it was written");
    assert_eq!(first, fifth);
    let output = run_with_input(&["sim", "-", "-p", "c-edf", "--json"], first.as_bytes());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
}

/// The generator of the mixed-criticality paper makes one set per seed and number, and its errors
/// name the option.
#[test]
fn levels_in_turn_are_generated() {
    let args = "gen -n 8 -u 0.6 --generator uunifast --periods uniform:100us..10ms \
                --period-granularity 100us --levels 4 --level-factor 2 --seed 7";
    let args: Vec<&str> = args.split_whitespace().collect();
    let made = stdout(&args, 0);
    assert_eq!(made, stdout(&args, 0));
    let file = folder("levels").join("set.toml");
    std::fs::write(&file, &made).expect("the file can be written");
    assert_eq!(made, stdout(&["gen", "--again", name(&file)], 0));
    assert!(made.contains("\"L0\"") && made.contains("\"L3\""), "{made}");
    // A task has one execution time or two. In the latter case the larger is twice the smaller.
    let keeps = stdout(&[&args[..], &["--lowest-keeps"]].concat(), 0);
    assert_ne!(made, keeps);
    for (wrong, option) in [
        (vec!["--levels", "0"], "--levels"),
        (vec!["--levels", "2", "--level-factor", "0.5"], "--level-factor"),
        (vec!["--level-factor", "2"], "--levels"),
        (vec!["--lowest-keeps"], "--levels"),
        (vec!["--levels", "2", "--criticality", "LO,HI"], "--criticality"),
    ] {
        let output = run(&[&["gen", "-n", "4", "-u", "0.5"], &wrong[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(text(&output.stderr).contains(option), "{wrong:?}: {output:?}");
    }
}

// Size.

#[test]
fn a_hundred_thousand_tasks_fit_into_memory() {
    let made = folder("large");
    let set = made.join("large.toml");
    let output = run(&[
        "gen",
        "-n",
        "100000",
        "-u",
        "30",
        "--cpus",
        "32",
        "--generator",
        "uunifast",
        "-o",
        name(&set),
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_layland")])
        .args(["sim", name(&set), "--until", "200ms", "--chart", "none", "--workers", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let status = wait(&mut child, 120);
    let (out, err) = rest(&mut child);
    assert!(matches!(status.code(), Some(0 | 1)), "{status}: {err}");
    assert!(out.contains("100000 tasks on 32 CPUs"), "{out}");
}

// Formats.

#[test]
fn conversions_lose_nothing_that_the_format_has() {
    let made = folder("convert");
    let set = "-t control=1.2ms/5ms/4ms -t log=8ms/20ms@1 -t video=3ms/33.333333ms --cpus 2";
    let set: Vec<&str> = set.split_whitespace().collect();
    let first = stdout(&[&["convert"], &set[..]].concat(), 0);
    let table = made.join("set.csv");
    assert_eq!(stdout(&[&["convert", "-o", name(&table)], &set[..]].concat(), 0), "");
    assert!(std::fs::read_to_string(&table).expect("written").contains("name,"));
    assert_eq!(first, stdout(&["convert", name(&table)], 0));
    let twice = run_with_input(&["convert", "-"], first.as_bytes());
    assert_eq!(first, text(&twice.stdout));
}

#[test]
fn an_rt_app_file_that_was_written_can_be_simulated() {
    let made = folder("rt_app");
    let file = made.join("set.json");
    let args = "convert -t control=1ms/5ms -t log=8ms/20ms --cpus 2 --to rt-app".split_whitespace();
    let written = run(&[&args.collect::<Vec<_>>()[..], &["-o", name(&file)]].concat());
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let args = ["sim", name(&file), "--cpus", "2", "--until", "1s", "--json", "-p", "g-edf"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    // Releases are at 0, 5, .., 1000 ms and at 0, 20, .., 1000 ms.
    assert_eq!(result["results"][0]["summary"]["total"]["released"], 201 + 51);
}

#[test]
fn the_json_of_a_simulation_has_its_members() {
    let output =
        run(&["sim", "demo:three-tasks", "-p", "g-edf,p-edf:fit=ffd", "--check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let members = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(
        members(&result),
        ["layland", "command", "set", "seed", "explore", "results", "exit"]
    );
    assert_eq!(result["command"], "sim");
    assert_eq!(members(&result["set"]), ["name", "tasks", "cpus", "utilization"]);
    assert_eq!(result["set"]["tasks"], 3);
    let ran = &result["results"][0];
    assert_eq!(
        members(ran),
        [
            "policy",
            "end_ns",
            "interrupted",
            "cycle",
            "events",
            "decisions",
            "first_missed_deadline_ns",
            "refused_requests",
            "refused_entries",
            "broken_rules",
            "assignment",
            "summary"
        ]
    );
    assert_eq!(ran["interrupted"], false);
    assert_eq!(ran["broken_rules"], serde_json::json!([]));
    assert_eq!(ran["first_missed_deadline_ns"], 10_000_000);
    assert_eq!(ran["summary"]["total"]["max_tardiness_ns"], 2_000_000);
    assert_eq!(ran["summary"]["tasks"].as_array().expect("a list").len(), 3);
    assert_eq!(members(&result["results"][1]), ["policy", "refused"]);
    assert_eq!(result["exit"], serde_json::json!({ "code": 1, "name": "no" }));
}

#[test]
fn files_that_are_asked_for_are_written() {
    let made = folder("outputs");
    let path = |file: &str| made.join(file);
    let (svg, txt, json) = (path("a.svg"), path("a.txt"), path("a.json"));
    let files = ["-o", name(&svg), "-o", name(&txt), "-o", name(&json)];
    let args = [&["sim", "demo:dhall", "-p", "g-edf"], &files[..]].concat();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1));
    let talk: String =
        [&svg, &txt, &json].iter().map(|path| format!("wrote {}\n", path.display())).collect();
    assert_eq!(text(&output.stderr), talk);
    assert!(std::fs::read_to_string(&svg).expect("written").starts_with("<svg"));
    assert!(std::fs::read_to_string(&txt).expect("written").contains("CPU 0"));
    let trace: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("written")).expect("it is JSON");
    assert_eq!(trace["interrupted"], false);
    assert!(!trace["segments"].as_array().expect("a list").is_empty());
    // Each of several policies has its own files, and -q prints nothing.
    let args = ["sim", "demo:dhall", "-p", "g-edf,p-edf:fit=wfd", "-q", "-o", name(&svg)];
    assert_eq!(text(&run(&args).stderr), "");
    assert!(path("a.g-edf.svg").exists() && path("a.p-edf-fit-wfd.svg").exists());
}

#[test]
fn traces_are_written_for_other_tools() {
    let made = folder("exports");
    let path = |file: &str| made.join(file);
    let mut args = vec!["sim", "demo:dhall", "-q", "--policy", "g-edf"];
    let files = ["a.pftrace", "a.parquet", "a.bin", "a.tex"].map(path);
    files.iter().for_each(|file| args.extend(["-o", name(file)]));
    assert_eq!(run(&args).status.code(), Some(1));
    let bytes = |file: &str| std::fs::read(path(file)).expect("written");
    for table in ["a.jobs.parquet", "a.segments.parquet", "a.marks.parquet"] {
        assert!(bytes(table).starts_with(b"PAR1"), "{table}");
    }
    // A table without its folder still contains the command that made it.
    let toml = stdout(&["convert", "demo:dhall"], 0);
    let hash = format!("{:032x}", twox_hash::XxHash3_128::oneshot(toml.as_bytes()));
    let facts = [
        ("layland.version", env!("CARGO_PKG_VERSION")),
        ("layland.seed", "0"),
        ("layland.command", "sim demo:dhall -q --policy g-edf -o "),
        ("layland.provenance", "utilization 1.309) under g-edf, seed 0"),
        ("layland.set_xxh3_128", &hash),
    ];
    let jobs = bytes("a.jobs.parquet");
    let has = |text: &str| jobs.windows(text.len()).any(|window| window == text.as_bytes());
    for (key, value) in facts {
        assert!(has(key) && has(value), "{key}: {value}");
    }
    assert_eq!(bytes("a.bin").len() % 24, 0);
    let title = b"demo:dhall under g-edf";
    assert!(bytes("a.pftrace").windows(title.len()).any(|window| window == title));
    assert!(bytes("a.tex").ends_with(b"\\end{document}\n"));
}

#[test]
fn sets_go_to_simso_and_back() {
    let made = folder("simso");
    let (xml, toml) = (made.join("set.xml"), made.join("set.toml"));
    stdout(&["convert", "-t", "a=1ms/5ms", "-t", "b=8ms/20ms", "--cpus", "2", "-o", name(&xml)], 0);
    let there = run(&["sim", name(&xml), "--chart", "none", "--json"]);
    assert_eq!(text(&there.stderr), "");
    let there: Value = serde_json::from_slice(&there.stdout).expect("it is JSON");
    // The policy and the length of two hyperperiods are those of the file.
    assert_eq!(there["results"][0]["policy"], "g-edf");
    assert_eq!(there["results"][0]["end_ns"], 40_000_000);
    assert_eq!(run(&["convert", name(&xml), "-o", name(&toml)]).status.code(), Some(0));
    assert!(std::fs::read_to_string(&toml).expect("written").contains("wcet = \"8ms\""));
}

// Explanations and lists.

#[test]
fn lists_are_json_where_asked() {
    for args in [
        &["schema"][..],
        &["policies", "--json"],
        &["policies", "p-edf", "--json"],
        &["demos", "--json"],
        &["demos", "robot", "--json"],
    ] {
        let value: Value = serde_json::from_str(&stdout(args, 0)).expect("the output is JSON");
        assert!(value.is_object(), "{args:?}");
    }
}

#[test]
fn every_demo_can_be_simulated() {
    let demos: Value = serde_json::from_str(&stdout(&["demos", "--json"], 0)).expect("JSON");
    for demo in demos["demos"].as_array().expect("a list") {
        let name = demo["name"].as_str().expect("a name");
        let output = run(&["sim", name, "-p", "g-edf,p-edf,g-rm,p-dm", "--check"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {output:?}");
    }
}

#[test]
fn manual_pages_are_written() {
    let made = folder("man");
    assert_eq!(stdout(&["man", "-o", name(&made)], 0), "");
    for page in ["layland", "layland-sim", "layland-gen", "layland-convert", "layland-policies"] {
        let page = std::fs::read_to_string(made.join(format!("{page}.1"))).expect("written");
        assert!(page.contains(".SH NAME"));
    }
    assert!(stdout(&["man"], 0).contains("Exit codes"));
    assert!(stdout(&["man", "sim"], 0).contains("demo:dhall"));
}

#[test]
fn completions_are_scripts() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&["completions", shell], 0);
        assert!(script.contains("layland") && script.contains("policies"), "{shell}");
    }
    let script = folder("completions").join("layland.bash");
    std::fs::write(&script, stdout(&["completions", "bash"], 0)).expect("written");
    match Command::new("bash").args(["-n", name(&script)]).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => common::skipped("bash"),
    }
}

// Width and colour.

#[test]
fn nothing_is_wider_than_the_terminal() {
    // Sentences under a chart are not broken.
    for width in [80, 100, 200] {
        let args = ["sim", "demo:overload", "-p", "g-edf,g-rm", "--chart", "both", "--per-task"];
        let output = layland(&args).env("COLUMNS", width.to_string()).output().expect("starts");
        for line in text(&output.stdout).lines() {
            assert!(line.chars().count() <= width, "wider than {width}: {line}");
        }
    }
}

#[test]
fn ascii_is_ascii_and_colours_can_be_chosen() {
    let args = ["sim", "demo:overload", "-p", "g-edf,p-edf", "--chart", "both", "--per-task"];
    assert!(run(&[&args[..], &["--ascii"]].concat()).stdout.is_ascii());
    let escapes = |color: &str| {
        let output = run(&[&args[..], &["--color", color]].concat());
        text(&output.stdout).contains('\u{1b}')
    };
    assert!(!escapes("auto") && !escapes("never") && escapes("always"));
}

// Files of other tools.

#[test]
fn the_examples_of_rt_app_are_read_or_refused_at_a_place() {
    let examples = Path::new("/usr/share/doc/rt-app/examples");
    if !examples.is_dir() {
        common::skipped("the examples of the Debian package rt-app");
        return;
    }
    let mut files = Vec::new();
    let mut folders = vec![examples.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(ending) if ending == "json" => files.push(path),
                Some(_) | None => {}
            }
        }
    }
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let file = name(&file);
        let output = run(&["sim", file, "-p", "g-edf,p-edf", "--until", "2s", "--cpus", "8"]);
        let err = text(&output.stderr);
        match output.status.code() {
            Some(0 | 1) => {}
            Some(3) => assert!(names_a_place(&err, file), "{file}: {err}"),
            code => panic!("{file}: exit code {code:?}: {err}"),
        }
    }
}

/// Returns true if `FILE:LINE:COLUMN` occurs.
fn names_a_place(text: &str, file: &str) -> bool {
    text.match_indices(&format!("{file}:")).any(|(at, prefix)| {
        let mut numbers = text[at + prefix.len()..].split(|letter: char| !letter.is_ascii_digit());
        let number = |text: Option<&str>| text.is_some_and(|text| text.parse::<u32>().is_ok());
        number(numbers.next()) && number(numbers.next())
    })
}

// Reports.

#[test]
fn a_report_is_one_file_of_all_policies_and_the_same_every_time() {
    let folder = folder("a_report");
    let write = |file: &str| {
        let path = folder.join(file);
        let args = ["sim", "demo:affinity-defect", "-p", "dl,dl-sp", "--chart", "none", "-o"];
        let output = run(&[&args[..], &[name(&path), "-q"]].concat());
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), ""));
        std::fs::read_to_string(path).expect("the report was written")
    };
    let report = write("a.html");
    assert_eq!(report, write("b.html"));
    assert!(report.contains("dl misses 7 of 20 deadlines (tau1, tau3, tau4 and tau5), by up to 2 ms, while dl-sp meets all 23."));
    assert!(report.contains("although CPU 2, where tau2 may run, was idle for 4 ms of that time."));
}

#[test]
fn a_report_that_is_cut_says_so() {
    let path = folder("a_cut_report").join("cut.html");
    let args = ["sim", "demo:affinity-defect", "-p", "dl", "--chart", "none", "--segments", "4"];
    let output = run(&[&args[..], &["-o", name(&path)]].concat());
    let said = text(&output.stderr);
    let report = std::fs::read_to_string(path).expect("the report was written");
    for told in [&said, &report] {
        assert!(told.contains("of dl show") && told.contains("room for 4 segments"), "{said}");
    }
}
// Checking many sets.

#[test]
fn many_sets_are_checked_alike_on_any_number_of_threads() {
    let folder = folder("check-many");
    let made = name(&folder).to_owned();
    let sets = ["gen", "-n", "6", "-u", "1.6", "--cpus", "2", "--sets", "8", "-o", &made];
    assert_eq!(run(&sets).status.code(), Some(0));
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder can be read")
        .map(|entry| name(&entry.expect("it is an entry").path()).to_owned())
        .collect();
    files.sort();
    assert_eq!(files.len(), 8);
    let check = |threads: &str| {
        let mut args =
            vec!["check", "--json", "--policy", "g-edf,p-edf,p-dm", "--workers", threads];
        args.extend(files.iter().map(String::as_str));
        let output = run(&args);
        assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{output:?}");
        text(&output.stdout)
    };
    let one = check("1");
    assert_eq!(one, check("4"));
    assert_eq!(one.lines().count(), 8);
    for (line, file) in one.lines().zip(&files) {
        let document: Value = serde_json::from_str(line).expect("each line is a document");
        assert_eq!(document["set"]["name"], file.as_str());
        assert_eq!(document["policies"].as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn a_file_may_have_one_set_per_line() {
    let folder = folder("check-lines");
    let path = folder.join("sets.jsonl");
    let set = |run: i64| {
        format!(r#"{{"tasks":{{"a":{{"run":{run},"timer":{{"ref":"t","period":10000}}}}}}}}"#)
    };
    std::fs::write(&path, format!("{}\n\n{}\n", set(4000), set(12000))).expect("it can be written");
    let output = run(&["check", name(&path), "--cpus", "1", "--policy", "g-edf", "--json"]);
    let lines = text(&output.stdout);
    let documents: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(documents.len(), 2, "{output:?}");
    assert_eq!(documents[0]["policies"][0]["verdict"], "yes");
    assert_eq!(documents[1]["policies"][0]["verdict"], "no");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_stream_of_sets_is_generated_and_checked_as_it_comes() {
    let folder = folder("stream");
    let path = folder.join("sets.jsonl");
    let recipe = ["gen", "-n", "6", "-u", "1.6", "--cpus", "2", "--sets", "90", "--seed", "3"];
    let written = run(&[&recipe[..], &["-o", name(&path)]].concat());
    assert!(written.status.success(), "{written:?}");
    let printed = run(&[&recipe[..], &["--to", "jsonl"]].concat());
    let sets = std::fs::read(&path).expect("it is written");
    assert_eq!(printed.stdout, sets);
    assert_eq!(text(&sets).lines().count(), 90);
    // Each line equals the set that a separate file would contain.
    let alone =
        run(&["gen", "-n", "6", "-u", "1.6", "--cpus", "2", "--seed", "3", "--first", "41"]);
    std::fs::write(folder.join("one.toml"), alone.stdout).expect("it can be written");
    let line = text(&sets).lines().nth(41).expect("there are 90").to_owned();
    std::fs::write(folder.join("one.jsonl"), line).expect("it can be written");
    let [toml, json] = ["one.toml", "one.jsonl"].map(|file| {
        let found = run(&["check", name(&folder.join(file)), "-p", "g-edf,p-edf", "--json"]);
        let mut found: Value = serde_json::from_slice(&found.stdout).expect("JSON");
        found["set"]["name"] = Value::Null;
        found
    });
    assert_eq!(toml, json);

    let all = ["check", name(&path), "-p", "g-edf,p-edf", "--workers", "2"];
    let table = run(&all);
    let lines = run(&[&all[..], &["--json"]].concat());
    let documents: Vec<Value> =
        text(&lines.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(documents.len(), 90);
    let table = text(&table.stdout);
    // The table has the first ten rows of each verdict that needs attention.
    let mut so_far = std::collections::BTreeMap::new();
    for (at, document) in documents.iter().enumerate() {
        assert_eq!(document["set"]["name"], format!("{}:{}", name(&path), at + 1));
        for policy in document["policies"].as_array().expect("there are two") {
            let said = |key: &str| policy[key].as_str().unwrap_or("-").to_owned();
            let row = |line: &&str| {
                let cells: Vec<&str> = line.trim_matches(['│', ' ']).split_whitespace().collect();
                cells
                    == [
                        document["set"]["name"].as_str().unwrap_or_default(),
                        &said("policy"),
                        &said("verdict"),
                        &said("decided_by"),
                    ]
            };
            let so_far = so_far.entry(said("verdict")).or_insert(0);
            let is_shown = said("verdict") != "yes" && *so_far < 10;
            *so_far += 1;
            let shown = table.lines().filter(row).count();
            assert_eq!(shown, usize::from(is_shown), "{policy}\n{table}");
        }
    }
    assert!(table.trim_end().ends_with("of 90"), "{table}");
    // The number of threads does not change the bytes. A stream on standard input gives the same
    // answers.
    let one = run(&["check", name(&path), "-p", "g-edf,p-edf", "--workers", "1"]);
    assert_eq!(text(&one.stdout), table);
    let piped =
        run_with_input(&["check", "--from", "jsonl", "-", "-p", "g-edf,p-edf", "--json"], &sets);
    assert_eq!(
        text(&piped.stdout).replace("<stdin>:", &format!("{}:", name(&path))),
        text(&lines.stdout)
    );
}

#[test]
fn what_comes_before_a_broken_line_is_answered() {
    let set =
        r#"{"layland":1,"platform":{"cpus":1},"task":[{"name":"a","period":"5ms","wcet":"1ms"}]}"#;
    let sets = format!("{set}\n{set}\n{set}\n{}\n{set}\n", set.replace("5ms", "5"));
    let output = run_with_input(
        &["check", "--from", "jsonl", "-", "-p", "p-edf", "--json"],
        sets.as_bytes(),
    );
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(text(&output.stdout).lines().count(), 3);
    assert!(text(&output.stderr).contains("<stdin>:4:1:65"), "{output:?}");
    assert!(text(&output.stderr).contains("a time needs a unit"), "{output:?}");
    // The file of certificates is complete or absent.
    let folder = folder("broken-line");
    let (path, proof) = (folder.join("sets.jsonl"), folder.join("proof.jsonl"));
    std::fs::write(&path, &sets).expect("it can be written");
    std::fs::write(&proof, "kept").expect("it can be written");
    let certify = ["check", name(&path), "-p", "p-edf", "--certificate", name(&proof)];
    let output = run(&certify);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(text(&output.stdout).matches(":3 ").count(), 1, "{output:?}");
    assert_eq!(std::fs::read_to_string(&proof).expect("it is there"), "kept");
    let names: Vec<_> = std::fs::read_dir(&folder).expect("it is there").collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let printed = run(&["check", name(&path), "-p", "p-edf", "--certificate", "-"]);
    assert_eq!(printed.status.code(), Some(3), "{printed:?}");
    assert_eq!(text(&printed.stdout).lines().count(), 3);
    std::fs::write(&path, format!("{set}\n{set}\n")).expect("it can be written");
    assert_eq!(run(&certify).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&proof).expect("it is there").lines().count(), 2);
    // Commands that take one set report an error.
    let output =
        run_with_input(&["convert", "--from", "jsonl", "-", "--to", "toml"], sets.as_bytes());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stderr).contains("there is more than one set"), "{output:?}");
}

#[test]
fn a_stream_of_sets_is_simulated_as_each_would_be_alone() {
    let folder = folder("sim-stream");
    let path = folder.join("sets.jsonl");
    let recipe = ["gen", "-n", "6", "-u", "2.7", "--cpus", "3", "--sets", "40", "--seed", "5"];
    let sets = run(&[&recipe[..], &["--to", "jsonl"]].concat()).stdout;
    std::fs::write(&path, &sets).expect("it can be written");
    let how = ["-p", "g-edf,p-edf", "--until", "300ms", "--check"];
    let all = [&["sim", name(&path)], &how[..]].concat();
    let lines = run(&[&all[..], &["--json"]].concat());
    let documents: Vec<Value> =
        text(&lines.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(documents.len(), 40);
    // Each document equals that of the set alone, except for its name.
    let mut exits = Vec::new();
    for (at, (line, document)) in text(&sets).lines().zip(&documents).enumerate() {
        assert_eq!(document["set"]["name"], format!("{}:{}", name(&path), at + 1));
        exits.push(document["exit"]["code"].as_i64());
        if at % 8 == 3 {
            let alone = run_with_input(
                &[&["sim", "--from", "jsonl", "-", "--json"], &how[..]].concat(),
                line.as_bytes(),
            );
            let mut found: Value = serde_json::from_slice(&alone.stdout).expect("JSON");
            found["set"]["name"] = document["set"]["name"].clone();
            assert_eq!(found, *document);
            assert_eq!(alone.status.code().map(i64::from), exits[at]);
        }
    }
    assert!(exits.contains(&Some(0)) && exits.contains(&Some(1)), "{exits:?}");
    assert_eq!(lines.status.code(), Some(1), "the worst of them");
    // The table contains the same results, with any number of threads.
    let table = run(&[&all[..], &["--workers", "3"]].concat());
    assert_eq!(table.stdout, run(&[&all[..], &["--workers", "1"]].concat()).stdout);
    let table = text(&table.stdout);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.trim_matches(['│', ' ']).split_whitespace().collect())
        .filter(|cells: &Vec<&str>| cells.first().is_some_and(|cell| cell.starts_with(name(&path))))
        .collect();
    // Of many sets, the first ten rows with a miss are shown, and the first ten without an answer.
    let results = documents.iter().flat_map(|document| {
        let name = document["set"]["name"].as_str().unwrap_or_default();
        let results = document["results"].as_array().expect("there are two");
        results.iter().map(move |result| (name, result))
    });
    let mut met = [0, 0, 0];
    let (mut rows, mut late, mut refused) = (rows.into_iter(), 0, 0);
    for (set, result) in results {
        let policy = result["policy"].as_str().unwrap_or_default();
        let total = &result["summary"]["total"];
        let cells = match total["missed"].as_u64() {
            Some(missed) => {
                met[usize::from(missed > 0)] += usize::from(policy == "g-edf");
                late += usize::from(missed > 0);
                let released = total["released"].as_u64().unwrap_or_default();
                (missed > 0 && late <= 10).then(|| [released.to_string(), missed.to_string()])
            }
            None => {
                refused += 1;
                (refused <= 10).then(|| ["refused".to_owned(), "-".to_owned()])
            }
        };
        if let Some(cells) = cells {
            let row = rows.next().expect("a row for it");
            assert_eq!(row[..2], [set, policy]);
            assert_eq!(row[2..4], cells);
        }
    }
    assert_eq!(rows.next(), None, "{table}");
    let [all_met, missed, _] = met;
    let counts = format!("g-edf: {all_met} met every deadline, {missed} did not, 0 refused, of 40");
    assert!(table.contains(&counts), "{counts}\n{table}");
    // Test a stream on standard input, several files, and limits.
    let piped = [&["sim", "--from", "jsonl", "-", "--json"], &how[..]].concat();
    let piped = run_with_input(&piped, &sets);
    assert_eq!(
        text(&piped.stdout).replace("<stdin>:", &format!("{}:", name(&path))),
        text(&lines.stdout)
    );
    let files = ["demo:robot", "demo:dhall", name(&path)];
    let several = run(&[&["sim", "-p", "g-edf", "--until", "50ms"], &files[..]].concat());
    let several = text(&several.stdout);
    assert!(several.contains("demo:dhall ") && several.trim_end().ends_with("of 42"), "{several}");
    let packed = ["sim", name(&path), "-p", "p-edf:fit=ffd", "--until", "300ms"];
    let limited = run(&[&packed[..], &["--fail-on", "misses>1000000"]].concat());
    assert_eq!(limited.status.code(), Some(1), "it refuses some: {limited:?}");
    let limited = ["sim", name(&path), "--until", "300ms", "--fail-on", "misses>1000000"];
    assert_eq!(run(&limited).status.code(), Some(0));
}

#[test]
fn what_comes_before_a_broken_line_is_simulated() {
    let set =
        r#"{"layland":1,"platform":{"cpus":1},"task":[{"name":"a","period":"5ms","wcet":"1ms"}]}"#;
    let sets = format!("{set}\n\n{set}\n{set}\n{}\n{set}\n", set.replace("5ms", "5"));
    let sim = |more: &[&str], sets: &str| {
        let args = [&["sim", "--from", "jsonl", "-", "--until", "10ms"], more].concat();
        run_with_input(&args, sets.as_bytes())
    };
    for threads in ["1", "2", "7"] {
        let output = sim(&["--json", "--workers", threads], &sets);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(text(&output.stdout).lines().count(), 3);
        assert!(text(&output.stderr).contains("<stdin>:5:1:65"), "{output:?}");
        let said = text(&output.stderr).matches("a time needs a unit").count();
        assert_eq!(said, 1, "{output:?}");
    }
    let output = sim(&[], &sets);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stdout).contains("3 met every deadline, 0 did not, 0 refused, of 3"));
    // A set that cannot be simulated as requested also ends the stream, and the error names it.
    let task = |name: &str, period: &str| {
        format!(r#"{{"name":"{name}","period":"{period}","wcet":"1ns"}}"#)
    };
    let tasks = [("a", "999999937ns"), ("b", "999999929ns"), ("c", "999999893ns")]
        .map(|(name, period)| task(name, period));
    let endless =
        format!(r#"{{"layland":1,"platform":{{"cpus":1}},"task":[{}]}}"#, tasks.join(","));
    let sets = format!("{set}\n{endless}\n{set}\n");
    let args = ["sim", "--from", "jsonl", "-", "--hyperperiods", "1", "--json"];
    let output = run_with_input(&args, sets.as_bytes());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert!(text(&output.stderr).contains("error: <stdin>:2: "), "{output:?}");
    // Options that show a single set are rejected before any simulation.
    for (more, what) in [
        (&["-o", "x.svg"][..], "-o writes files of one set"),
        (&["--chart", "cpus"], "--chart shows one set"),
        (&["--window", "0ms..1ms"], "--window is of the charts"),
        (&["--per-task"], "--per-task shows the tasks"),
        (&["--junit", "x.xml"], "--junit writes a file"),
    ] {
        let output = sim(more, &format!("{set}\n{set}\n"));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(output.stdout.is_empty() && text(&output.stderr).contains(what), "{output:?}");
    }
    assert_eq!(sim(&["--chart", "none"], &format!("{set}\n{set}\n")).status.code(), Some(0));
}

#[test]
fn a_report_of_guarantees_has_the_chains() {
    let path = folder("a_report_of_chains").join("stop.html");
    let set = "../../docs/guide/chains.in/stop.toml";
    let output = run(&["check", set, "-p", "p-rm", "-o", name(&path)]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let html = std::fs::read_to_string(path).expect("the report is written");
    for said in ["Cause-effect chains", "stop (let)", "= 45 ms", ">LET<"] {
        assert!(html.contains(said), "{said}");
    }
}

#[test]
fn a_report_of_guarantees_says_what_the_table_says() {
    let folder = folder("a_report_of_guarantees");
    let write = |file: &str| {
        let path = folder.join(file);
        let policies = "g-edf,p-edf,dl-sp,g-fp";
        let args = ["check", "demo:dhall", "-p", policies, "-o", name(&path)];
        let output = run(&args);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.starts_with("wrote ") && said.lines().count() == 1, "{said}");
        // The table on standard output is the same with and without a report.
        assert_eq!(output.stdout, run(&args[..4]).stdout);
        std::fs::read_to_string(path).expect("the report is written")
    };
    let html = write("a.html");
    assert_eq!(html, write("b.html"));
    for said in [
        "Every deadline is guaranteed under p-edf.",
        "The set is refused by g-fp.",
        "Not every deadline can be kept under g-edf and dl-sp.",
        // A run that misses decides if no test does.
        "in the densest run job 1 of `heavy` arrives at 0, is due at 11 ms, and completes at 12 ms",
        "a run in which the policy misses a deadline",
        // The bounds, with their analyses, and the distance to the limit.
        "<b>≤ 3.67 ms late</b> <span class=\"note\">CVA-REDUCED</span>",
        "× 1.100",
        // The report contains every test, even after one has decided, with its authors.
        "FF-DBF",
        "S. Baruah",
    ] {
        assert!(html.contains(said), "{said}");
    }
}

#[test]
fn a_report_of_guarantees_is_of_one_set() {
    let output = run(&["check", "demo:dhall", "demo:constrained", "-o", "x.html"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("a report shows one set, and there are several"));
    let output = run(&["check", "demo:dhall", "-o", "x.svg"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(".html for a report"), "{}", text(&output.stderr));
}

// Refusals point at the file.

#[test]
fn a_refusal_names_the_line_of_the_task() {
    let folder = folder("refusal_places");
    let [toml, csv, rtapp, schedcat] =
        ["set.toml", "set.csv", "set.json", "set.xml"].map(|name| folder.join(name));
    let text = "layland = 1\n[platform]\ncpus = 2\n\n[[task]]\nname = \"free\"\nperiod = \"10ms\"\n\
                wcet = \"1ms\"\n\n[[task]]\nname = \"tied\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n\
                affinity = \"0\"\n";
    std::fs::write(&toml, text).expect("the file can be written");
    std::fs::write(&csv, "name,period,wcet,affinity\nfree,10ms,1ms,0-1\ntied,10ms,1ms,0\n")
        .expect("the file can be written");
    let thread = |name: &str, cpus: &str| {
        format!(
            "    \"{name}\": {{ \"run\": 1000, \"timer\": {{ \"ref\": \"u\", \"period\": 10000 }}{cpus} }}"
        )
    };
    let threads = [thread("free", ""), thread("tied", ", \"cpus\": [0]")].join(",\n");
    std::fs::write(&rtapp, format!("{{\n  \"tasks\": {{\n{threads}\n  }}\n}}\n"))
        .expect("the file can be written");
    let tasks = "<taskset>\n<task id='free' period='10000' wcet='1000'/>\n  \
                 <task id='tied' period='10000' wcet='1000' partition='0'/>\n</taskset>\n";
    std::fs::write(&schedcat, tasks).expect("the file can be written");
    for (file, line, task) in [
        (&toml, ":10:", "tied"),
        (&csv, ":3:", "tied"),
        (&rtapp, ":4:", "tied"),
        (&schedcat, ":3:3", "Ttied"),
    ] {
        let place = format!("({}{line}", name(file));
        let set = [name(file), "--cpus", "2"];
        let sim = run(&[&["sim"][..], &set, &["-p", "g-edf", "-q", "--chart", "none"]].concat());
        assert_eq!(sim.status.code(), Some(1), "{sim:?}");
        let reason = format!("task `{task}` may run on CPU 0 only");
        assert!(text_of(&sim).contains(&reason), "{sim:?}");
        // The output breaks long lines at word ends.
        assert!(text_of(&sim).replace('\n', "").contains(&place), "{place} {sim:?}");
        let args = [&["check"][..], &set, &["-p", "g-edf", "--json"]].concat();
        let check: Value = serde_json::from_slice(&run(&args).stdout).expect("it is JSON");
        let refused = check["policies"][0]["refused"].as_str().expect("it is refused");
        assert!(refused.contains(&place), "{refused}");
    }
    // A bundled set is not a file of the user, and a task on the command line has no line number.
    let inline = run(&["sim", "-t", "a=1ms/10ms@0", "--cpus", "2", "-p", "g-edf", "-q"]);
    assert_eq!(inline.status.code(), Some(1), "{inline:?}");
    assert!(!text_of(&inline).contains("(inline"), "{inline:?}");
}

/// Returns the standard output and standard error of a command.
fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_chart_for_latex_is_a_document() {
    let folder = folder("latex");
    let tex = folder.join("chart.tex");
    let set = ["sim", "demo:affinity-defect", "-p", "dl", "-q", "--chart", "none"];
    assert_eq!(run(&[&set[..], &["-o", name(&tex)]].concat()).status.code(), Some(1));
    // The test needs pdflatex, and the class that puts a picture on a page of its own.
    let class = Command::new("kpsewhich").arg("standalone.cls").output();
    if !class.is_ok_and(|found| found.status.success()) {
        return common::skipped(
            "pdflatex and standalone.cls (texlive-latex-extra, texlive-pictures)",
        );
    }
    let mut latex = Command::new("pdflatex");
    latex.args(["-interaction=nonstopmode", "-halt-on-error", "chart.tex"]).current_dir(&folder);
    let Ok(output) = latex.output() else { return common::skipped("pdflatex") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let pdf = std::fs::read(folder.join("chart.pdf")).expect("there is a PDF");
    assert!(pdf.starts_with(b"%PDF"));
}
