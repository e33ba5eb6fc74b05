//! Tests that need a machine: recording, the kernel's SCHED_DEADLINE, the doctor. Without the
//! privileges, a test prints "skipped: needs ..".
//!
//! Long because each test reports what the machine lacks.
#![cfg(target_os = "linux")]

mod common;

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the machine for one test: CPUs can be exclusive to one run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn layland(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_layland"));
    command
        .args(args)
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    layland(args).output().expect("the command starts")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn sample(name: &str) -> String {
    format!("{}/../layland-interchange/tests/kernel/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the state of a finding of the doctor.
fn state(name: &str) -> String {
    let document = json(&run(&["doctor", "--json", "--latency-for", "0s"]));
    let findings = document["findings"].as_array().expect("there are findings");
    let finding = findings.iter().find(|finding| finding["name"] == name).expect("it is examined");
    finding["state"].as_str().expect("it has a state").to_owned()
}

/// Returns true if all of this works here; otherwise prints what is missing.
fn works(names: &[&str]) -> bool {
    // A warning means that something works but makes results worse.
    let lacks = |name: &&str| !matches!(state(name).as_str(), "ok" | "warning");
    let missing: Vec<&str> = names.iter().copied().filter(lacks).collect();
    if !missing.is_empty() {
        common::skipped(&missing.join(", "));
    }
    missing.is_empty()
}

#[expect(clippy::disallowed_methods, reason = "a test of a process waits for it")]
fn wait(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

/// Returns the folders of a process below cpusets and tracefs.
fn left_by(pid: u32) -> Vec<PathBuf> {
    let roots = ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup", "/sys/kernel/tracing/instances"];
    let entries = roots.iter().filter_map(|root| std::fs::read_dir(root).ok()).flatten();
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("layland-{pid}-")))
        .map(|entry| entry.path())
        .collect()
}

const TWO: [&str; 6] = ["-t", "a=20ms/100ms", "-t", "b=20ms/200ms", "--cpus", "1"];

/// Starts a command, kills it, and asserts that nothing is left.
fn kill_after(args: &[&str], milliseconds: u64) {
    let mut child =
        layland(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    wait(milliseconds);
    let pid = child.id();
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    // The guardian needs a moment, and a long one on a busy machine.
    for _ in 0..600 {
        if left_by(pid).is_empty() {
            return;
        }
        wait(50);
    }
    panic!("killed after {milliseconds} ms, it left {:?}", left_by(pid));
}

#[test]
fn a_recording_ends_with_its_command_and_leaves_nothing() {
    let _alone = alone();
    if !works(&["tracefs"]) {
        return;
    }
    let path = file("recorded.txt");
    let name = path.to_str().expect("the path is UTF-8");
    let output = run(&["trace", "record", "-o", name, "--buffer", "16384", "--", "sleep", "0.2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let stats = run(&["trace", "stats", name, "--thread", "^sleep$", "--json"]);
    let document = json(&stats);
    assert_eq!(document["source"]["lost_events"], 0);
    assert_eq!(document["source"]["inferred"], true);
    assert_eq!(document["summary"]["tasks"][0]["name"], "sleep");
    let missing = run(&["trace", "record", "-o", name, "--", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(5));
}

#[test]
fn a_recording_that_is_killed_leaves_nothing() {
    let _alone = alone();
    if !works(&["tracefs"]) {
        return;
    }
    let path = file("killed.txt");
    let name = path.to_str().expect("the path is UTF-8");
    for milliseconds in [20, 150, 400] {
        kill_after(&["trace", "record", "-o", name, "--until", "60s"], milliseconds);
    }
}

#[test]
fn a_run_that_is_killed_leaves_no_cpuset() {
    let _alone = alone();
    if !works(&["SCHED_DEADLINE", "cpusets"]) {
        return;
    }
    let mut args = vec!["run", "--engine", "deadline", "--policy", "p-edf", "--until", "60s"];
    args.extend(TWO);
    // The instant of the kill is random, and can be repeated by its seed.
    #[expect(clippy::disallowed_methods, reason = "a failure can be repeated")]
    let asked = std::env::var("LAYLAND_KILL_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = asked.unwrap_or_else(|| u64::from(std::process::id()));
    let mut state = seed;
    let moments: Vec<u64> = (0..8).map(|_| splitmix(&mut state) % 700).collect();
    let told = format!("killed after {moments:?} ms; again with LAYLAND_KILL_SEED={seed}\n");
    let _ = std::io::stderr().write_all(told.as_bytes());
    for milliseconds in moments {
        kill_after(&args, milliseconds);
    }
}

/// Returns the next number of SplitMix64.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns true if this command exists; otherwise prints that the test is skipped.
fn is_there(command: &str) -> bool {
    let there = Command::new(command).arg("--version").output().is_ok();
    if !there {
        common::skipped(command);
    }
    there
}

/// Two tasks on all of two CPUs, whose root domain is the whole machine.
const ON_TWO: [&str; 13] = [
    "run",
    "-t",
    "a=40ms/100ms",
    "-t",
    "b=20ms/200ms",
    "--cpus",
    "2",
    "--engine",
    "deadline",
    "--policy",
    "g-edf",
    "--until",
    "200ms",
];

/// Returns true if the machine has exactly two CPUs; otherwise prints that the test is skipped.
fn has_two_cpus() -> bool {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let two = online.trim() == "0-1";
    if !two {
        common::skipped("a machine of two CPUs");
    }
    two
}

#[test]
fn no_bandwidth_and_no_capability_are_told_apart() {
    let _alone = alone();
    if !works(&["SCHED_DEADLINE"]) || !has_two_cpus() || !is_there("chrt") {
        return;
    }
    // Other threads reserve 1.6 of the root domain's bandwidth of at most 1.9.
    let hogs: Vec<_> = (0..2)
        .map(|_| {
            let mut chrt = Command::new("chrt");
            chrt.args(["-d", "-T", "800000000", "-D", "1000000000", "-P", "1000000000", "0"]);
            chrt.args(["sleep", "60"]).stderr(Stdio::null()).spawn().expect("chrt starts")
        })
        .collect();
    wait(300);
    let output = run(&ON_TWO);
    for mut hog in hogs {
        let _ = hog.kill();
        let _ = hog.wait();
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(said.contains("admission control refused") && said.contains("(EBUSY)"), "{said}");
    assert!(said.contains("error: task `a`") && said.contains("stop the other"), "{said}");

    let copy = std::env::temp_dir().join(format!("layland-of-anybody-{}", std::process::id()));
    if std::fs::copy(env!("CARGO_BIN_EXE_layland"), &copy).is_err() {
        return common::skipped("a folder for temporary files");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy).args(ON_TWO);
    let output = command.env("NO_COLOR", "1").output();
    let _ = std::fs::remove_file(&copy);
    let Ok(output) = output else { return common::skipped("setpriv") };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.starts_with("setpriv") {
        return common::skipped("root, to be somebody else");
    }
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(said.contains("SCHED_DEADLINE needs CAP_SYS_NICE"), "{said}");
    assert!(!said.contains("EBUSY") && !said.contains("affinity"), "{said}");
}

#[test]
fn clusters_of_the_kernel_keep_their_tasks() {
    let _alone = alone();
    if !works(&["SCHED_DEADLINE", "cpusets"]) || !has_two_cpus() {
        return;
    }
    for size in [1, 2] {
        let (path, policy) = (file(&format!("clusters-{size}.json")), format!("c-edf:size={size}"));
        let name = path.to_str().expect("the path is UTF-8");
        let tasks = ["-t", "a=10ms/100ms", "-t", "b=20ms/200ms", "-t", "c=10ms/100ms"];
        let mut args = vec!["run", "--engine", "deadline", "--policy", &policy, "--cpus", "2"];
        args.extend(tasks);
        args.extend(["--until", "400ms", "-o", name]);
        let output = run(&args);
        assert!(matches!(output.status.code(), Some(0 | 1 | 6)), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let reserved = said.lines().filter(|line| line.contains(": reserves ")).count();
        assert_eq!(reserved, 2 / size, "{said}");
        let text = std::fs::read(&path).expect("the trace was written");
        let trace: Value = serde_json::from_slice(&text).expect("it is JSON");
        assert_eq!(trace["summary"]["total"]["released"], 10, "{policy}");
        let segments = trace["segments"].as_array().expect("there are segments");
        assert!(!segments.is_empty());
        if size == 1 {
            // The cluster of each CPU: a and c share one, b has the other.
            let cpus = |task: usize| -> BTreeSet<u64> {
                let of = segments.iter().filter(|segment| segment["task"] == task);
                of.filter_map(|segment| segment["cpu"].as_u64()).collect()
            };
            let [a, b, c] = [0, 1, 2].map(cpus);
            assert!(a.len() == 1 && a == c && b.len() == 1 && a != b, "{a:?} {b:?} {c:?}");
        }
    }
}

#[test]
fn the_kernel_runs_what_was_simulated() {
    let _alone = alone();
    if !works(&["SCHED_DEADLINE", "cpusets", "tracefs"]) {
        return;
    }
    let (path, set) = (file("run.trace"), file("run.toml"));
    let text = "layland = 1\n[platform]\ncpus = 1\n\
                [[task]]\nname = \"a\"\nperiod = \"100ms\"\nwcet = \"20ms\"\n\
                [[task]]\nname = \"b\"\nperiod = \"200ms\"\nwcet = \"20ms\"\n";
    std::fs::write(&set, text).expect("the file can be written");
    let name = |path: &PathBuf| path.to_str().expect("the path is UTF-8").to_owned();
    let (path, set) = (name(&path), name(&set));
    let output = run(&[
        "run", &set, "--engine", "deadline", "--policy", "p-edf", "--until", "1s", "-o", &path,
        "--json",
    ]);
    // Depending on the machine, deadlines may be missed, and a hypervisor may excuse that. The run
    // itself must succeed.
    assert!(matches!(output.status.code(), Some(0 | 1 | 6)), "{output:?}");
    let document = json(&output);
    assert_eq!(document["summary"]["total"]["released"], 15, "{document}");
    // The kernel's trace contains the same jobs, thanks to the marks.
    let stats = json(&run(&["trace", "stats", &path, "--set", &set, "--json"]));
    assert_eq!(stats["source"]["lost_events"], 0, "{stats}");
    assert_eq!(stats["source"]["inferred"], false);
    assert_eq!(stats["summary"]["total"]["released"], 15, "{stats}");
    let check =
        run(&["trace", "check", &path, "--set", &set, "--policy", "p-edf", "--latency", "200ms"]);
    if check.status.code() == Some(6) && stats["source"]["unrecorded_switches"] != 0 {
        common::skipped("a kernel that records every switch");
        return;
    }
    assert_eq!(check.status.code(), Some(0), "{check:?}");
    // The threads were under SCHED_DEADLINE: their servers are known and are judged.
    let check = json(&run(&[
        "trace",
        "check",
        &path,
        "--set",
        &set,
        "--policy",
        "dl",
        "--latency",
        "200ms",
        "--json",
    ]));
    let threads = check["reservations"]["threads"].as_array().expect("there are threads");
    assert_eq!(threads.len(), 2, "{check}");
    for thread in threads {
        assert!(thread["periods"].as_u64() >= Some(2), "{check}");
        assert_ne!(thread["kept"], "unknown", "{check}");
    }
    // The run equals the simulation, apart from the machine's own latencies, which must appear.
    let simulated = file("simulated.json");
    let simulated = simulated.to_str().expect("the path is UTF-8");
    let output = run(&["sim", &set, "--policy", "p-edf", "--until", "1s", "-o", simulated, "-q"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let diff = |latency: &str| {
        run(&["trace", "diff", simulated, &path, "--set", &set, "--latency", latency, "--json"])
    };
    let (alike, exactly) = (diff("200ms"), diff("0s"));
    assert_eq!(alike.status.code(), Some(0), "{alike:?}");
    let document = json(&alike);
    assert!(document["first"].is_null() && document["jitters"].as_u64() > Some(0), "{document}");
    assert_eq!(document["compared_until_ns"], 1_000_000_000, "{document}");
    assert_eq!(exactly.status.code(), Some(1), "{exactly:?}");
    assert!(!json(&exactly)["first"].is_null());
}

const ADMISSION: &str = "/proc/sys/kernel/sched_rt_runtime_us";

fn admission() -> String {
    std::fs::read_to_string(ADMISSION).unwrap_or_default()
}

const AS_IT_IS: [&str; 8] =
    ["run", "demo:push-defect", "--engine", "deadline", "--policy", "dl", "--stretch", "10x"];

/// Returns true if the kernel itself can be the policy here.
fn can_switch_admission_off() -> bool {
    let is_root = std::fs::OpenOptions::new().write(true).open(ADMISSION).is_ok();
    if !is_root {
        common::skipped("root, to switch admission control off");
    }
    is_root && works(&["SCHED_DEADLINE"])
}

#[test]
fn the_kernel_itself_is_a_policy() {
    let _alone = alone();
    if !can_switch_admission_off() {
        return;
    }
    let before = admission();
    let mut args = AS_IT_IS.to_vec();
    args.extend(["--until", "190ms", "--json"]);
    let output = run(&args);
    if output.status.code() == Some(5) {
        common::skipped("two CPUs");
        return;
    }
    // Tardiness depends on the kernel and the machine; the form of the report does not.
    assert!(matches!(output.status.code(), Some(0 | 1 | 6)), "{output:?}");
    let document = json(&output);
    let kernel = &document["kernel"];
    assert!(kernel["inversions"].is_array(), "{document:#}");
    let tasks = kernel["tasks"].as_array().expect("there are tasks");
    assert_eq!(tasks.len(), 3);
    for task in tasks {
        assert!(task["got_ns"].as_i64().expect("a number") > 0, "{document:#}");
    }
    assert_eq!(admission(), before);
}

#[test]
fn admission_control_is_on_again_after_a_kill() {
    let _alone = alone();
    if !can_switch_admission_off() {
        return;
    }
    let before = admission();
    let mut args = AS_IT_IS.to_vec();
    args.extend(["--until", "60s"]);
    let mut was_off = false;
    for milliseconds in [10, 120, 400, 1000] {
        let mut child =
            layland(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        wait(milliseconds);
        was_off |= admission() != before;
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let mut is_on = admission() == before;
        for _ in 0..600 {
            if is_on {
                break;
            }
            wait(50);
            is_on = admission() == before;
        }
        assert!(is_on, "killed after {milliseconds} ms: {}", admission());
    }
    assert!(was_off, "no run was killed while admission control was off");
}

#[test]
fn an_engine_that_cannot_says_why() {
    let _alone = alone();
    let refused = |args: &[&str], why: &str| {
        let mut all = vec!["run", "--engine", "deadline"];
        all.extend(args);
        let output = run(&all);
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(why), "{why}: {said}");
    };
    refused(
        &["-t", "a=20ms/100ms", "--policy", "g-rm"],
        "SCHED_DEADLINE cannot express this policy",
    );
    refused(&["-t", "a=90ms/100ms", "-t", "b=50ms/100ms"], "at most 0.");
    refused(&["-t", "a=20ms/10s"], "the kernel takes periods of 100 µs to 4.19 s");
    refused(&["-t", "a=20ms/100ms", "--reserve", "90ms"], "more than its deadline");
}

#[test]
fn without_privileges_the_doctor_says_so() {
    let _alone = alone();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    // Copy the program to where others may run it, regardless of the original's location.
    let copy = std::env::temp_dir().join(format!("layland-of-nobody-{}", std::process::id()));
    if std::fs::copy(env!("CARGO_BIN_EXE_layland"), &copy).is_err() {
        common::skipped("a folder for temporary files");
        return;
    }
    let output = command.arg(&copy).args(["doctor", "--json", "--latency-for", "0s"]).output();
    let unable = |output: &Output| {
        output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("setpriv")
    };
    match output {
        Ok(output) if !unable(&output) => {
            assert_eq!(output.status.code(), Some(5), "{output:?}");
            let document = json(&output);
            for finding in document["findings"].as_array().expect("there are findings") {
                let needs = finding["state"] == "needs_privilege" || finding["state"] == "missing";
                assert!(!needs || finding["fix"].is_string(), "{finding}");
            }
        }
        Ok(_) | Err(_) => common::skipped("setpriv and root"),
    }
    let _ = std::fs::remove_file(&copy);
}

// Traces that were recorded elsewhere need no privilege.

#[test]
fn a_trace_of_litmus_is_read_like_any_other() {
    let names = ["litmus.toml", "litmus.json", "litmus.bin", "again.json", "cut.bin"].map(file);
    let [set, simulated, litmus, again, cut] =
        names.each_ref().map(|path| path.to_str().expect("the path is UTF-8"));
    // The second name is longer than LITMUS^RT allows.
    let text = "layland = 1\n[platform]\ncpus = 2\n\
                [[task]]\nname = \"brake\"\nperiod = \"10ms\"\nwcet = \"6ms\"\n\
                [[task]]\nname = \"a-name-that-does-not-fit\"\nperiod = \"10ms\"\nwcet = \"6ms\"\n\
                [[task]]\nname = \"steer\"\nperiod = \"10ms\"\nwcet = \"6ms\"\n";
    std::fs::write(set, text).expect("the file can be written");
    let output = run(&[
        "sim", set, "--policy", "g-edf", "--until", "40ms", "-q", "-o", simulated, "-o", litmus,
    ]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");

    let stats = |name: &str, set: &[&str]| {
        let output = run(&[&["trace", "stats", name, "--json"], set].concat());
        assert!(matches!(output.status.code(), Some(0 | 1 | 6)), "{output:?}");
        json(&output)
    };
    let (ours, theirs) = (stats(simulated, &["--set", set]), stats(litmus, &["--set", set]));
    for key in ["released", "completed", "missed", "preemptions", "migrations", "max_tardiness_ns"]
    {
        assert_eq!(ours["summary"]["total"][key], theirs["summary"]["total"][key], "{key}");
        assert!(!theirs["summary"]["total"][key].is_null(), "{key}");
    }
    assert_eq!(theirs["summary"]["tasks"][1]["name"], "a-name-that-does-not-fit");
    assert_eq!(theirs["source"]["dialect"], "LITMUS^RT");
    assert_eq!(stats(litmus, &[])["summary"]["tasks"][1]["name"], "a-name-that-doe");

    let check = run(&["trace", "check", litmus, "--set", set, "--policy", "g-edf"]);
    assert_eq!(check.status.code(), Some(0), "{check:?}");
    let view = run(&["trace", "view", litmus, "--set", set]);
    assert!(String::from_utf8_lossy(&view.stdout).contains("CPU 1"), "{view:?}");
    let convert = run(&["trace", "convert", litmus, "--set", set, "-o", again]);
    assert_eq!(convert.status.code(), Some(0), "{convert:?}");
    let diff = run(&["trace", "diff", simulated, again, "--set", set]);
    assert_eq!(diff.status.code(), Some(0), "{diff:?}");

    // An invalid trace is reported with the position of the error, and so is a set that does not
    // match the trace.
    let bytes = std::fs::read(litmus).expect("it was written");
    std::fs::write(cut, &bytes[..bytes.len() - 7]).expect("the file can be written");
    let output = run(&["trace", "stats", cut]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("has 17 of 24 bytes"), "{said}");
    let output = run(&["trace", "stats", litmus, "--set", "demo:dhall"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("has the task brake"), "{said}");
}

#[test]
fn every_dialect_is_read() {
    for name in ["tracefs", "trace-cmd", "trace-cmd-plugins", "trace-cmd-raw"] {
        let output = run(&["trace", "stats", &sample(&format!("{name}.txt")), "--json"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        assert_eq!(json(&output)["summary"]["total"]["completed"], 6, "{name}");
    }
    let perf = run(&["trace", "stats", &sample("perf.txt"), "--thread", ".*odd.*|my.*", "--json"]);
    assert_eq!(json(&perf)["source"]["inferred"], true);
    // Without marks and names, the threads of real-time classes are tasks.
    let real_time = run(&["trace", "stats", &sample("perf.txt"), "--json"]);
    let said = String::from_utf8_lossy(&real_time.stderr);
    assert_eq!(real_time.status.code(), Some(0), "{said}");
    assert!(said.contains("these are the threads of real-time classes"), "{said}");
    // A thread has the last of its names, that of its program.
    assert_eq!(json(&real_time)["summary"]["tasks"][1]["name"], "<odd> b");
    let nothing = run(&["trace", "stats", &sample("perf.txt"), "--thread", "nobody"]);
    assert_eq!(nothing.status.code(), Some(3), "{nothing:?}");
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("--thread REGEX"));
}

#[test]
fn lost_events_allow_no_verdict() {
    let output =
        run(&["trace", "stats", &sample("tracefs-overwritten.txt"), "--thread", ".*odd.*|my.*"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("dropped"));
}

#[test]
fn traces_are_converted_and_compared() {
    let (text, moved) = (sample("tracefs.txt"), file("converted.json"));
    let moved = moved.to_str().expect("the path is UTF-8");
    assert_eq!(run(&["trace", "convert", &text, "-o", moved]).status.code(), Some(0));
    let same = run(&["trace", "diff", &text, moved]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    let back = run(&["trace", "convert", moved, "--to", "tracefs"]);
    let path = file("back.txt");
    std::fs::write(&path, &back.stdout).expect("the file can be written");
    let again = run(&["trace", "diff", moved, path.to_str().expect("the path is UTF-8")]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let view = run(&["trace", "view", moved, "--ascii", "--chart", "cpus"]);
    assert!(String::from_utf8_lossy(&view.stdout).contains("CPU 1"), "{view:?}");
}
