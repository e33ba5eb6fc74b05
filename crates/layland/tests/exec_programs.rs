//! Tests of `layland exec` with real programs: cyclictest, rt-app, Python loops, and two
//! cooperating processes.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/exec.rs"]
mod exec;

use exec::*;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Returns true if a program of a package is installed; otherwise prints that the test is skipped.
fn has(program: &str, package: &str) -> bool {
    let found = Command::new("which").arg(program).output().expect("which is there");
    if !found.status.success() {
        common::skipped(&format!("{program} (the package {package})"));
    }
    found.status.success()
}

/// Ordinary threads that keep every CPU busy until they are dropped.
struct Noise(Child);

impl Noise {
    fn start() -> Noise {
        let mut noise = Command::new("stress-ng");
        noise.args(["--cpu", "0", "--timeout", "60"]).stdout(Stdio::null()).stderr(Stdio::null());
        Noise(noise.spawn().expect("it starts"))
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        signal(self.0.id(), "INT");
        let _ = self.0.wait();
    }
}

#[test]
fn cyclictest_keeps_its_class_beside_noise() {
    let _alone = alone();
    if !can_reserve() || !has("cyclictest", "rt-tests") || !has("stress-ng", "stress-ng") {
        return;
    }
    if !can_part() {
        return;
    }
    let _noise = Noise::start();
    // cyclictest requires an ordinary class at its start, and ties its second thread to a CPU:
    // SCHED_DEADLINE accepts such a thread only if that CPU is a root domain of its own.
    let mut program = Command::new("cyclictest");
    program.args(["-q", "-D", "2", "-i", "5000", "--policy", "other"]).stdout(Stdio::piped());
    let program = program.spawn().unwrap();
    let threads = format!("/proc/{}/task", program.id());
    wait_until("it has two threads", || fs::read_dir(&threads).is_ok_and(|all| all.count() == 2));
    let pid = program.id().to_string();
    let arguments =
        ["exec", "--dl", "500us/5ms", "-p", "p-edf", "--thread", "cyclictest", "--pid", &pid];
    let child = layland(&arguments).spawn().unwrap();
    wait_until("both threads have it", || {
        let members = members();
        let reserved = members.first().and_then(|member| member["reserved"].as_array().cloned());
        let all = reserved.iter().flatten();
        all.filter(|of| of["kernel"]["class"] == "SCHED_DEADLINE").count() == 2
    });
    let ran = program.wait_with_output().unwrap();
    assert!(ran.status.success() && text(&ran.stdout).contains("T: 0"), "{ran:?}");
    let followed = child.wait_with_output().unwrap();
    assert_eq!(followed.status.code(), Some(0), "{followed:?}");
    assert_clean();
}

#[test]
fn rt_app_gets_what_its_file_says() {
    let _alone = alone();
    if !can_reserve() || !has("rt-app", "rt-app") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rt-app");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("two.json");
    let logs = folder.to_str().unwrap();
    let threads = r#"{
      "tasks": {
        "fast": { "loop": -1, "run": 2000, "timer": { "ref": "fast", "period": 20000 } },
        "slow": { "loop": -1, "run": 5000, "timer": { "ref": "slow", "period": 100000 } }
      },
      "global": { "duration": 2, "default_policy": "SCHED_OTHER", "calibration": "CPU0", "logdir": "LOGS" }
    }"#;
    fs::write(&file, threads.replace("LOGS", logs)).unwrap();
    let file = file.to_str().unwrap();
    // The same file is the task set and the program's own configuration, so that both have the same
    // times.
    let mut child =
        layland(&["exec", file, "--name", "app", "--", "rt-app", file]).spawn().unwrap();
    let mut seen = Vec::new();
    wait_until("both threads have it", || {
        if let Some(member) = members().first() {
            let reserved = member["reserved"].as_array().unwrap();
            seen =
                reserved.iter().map(|of| of["kernel"]["period_ns"].as_u64().unwrap_or(0)).collect();
        }
        seen == [20_000_000, 100_000_000] || child.try_wait().unwrap().is_some()
    });
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert_eq!(seen, [20_000_000, 100_000_000], "{ran:?}");
    assert_clean();
}

#[test]
fn top_shows_what_a_loop_uses() {
    let _alone = alone();
    if !can_reserve() || !has("python3", "python3") {
        return;
    }
    // The program needs 5 ms of every 50 ms; 10 ms are reserved.
    let script = "import time\n\
        next = time.monotonic()\n\
        while True:\n  \
          end = time.thread_time() + 0.005\n  \
          while time.thread_time() < end: pass\n  \
          next += 0.05\n  \
          time.sleep(max(0, next - time.monotonic()))\n";
    let arguments = ["exec", "--dl", "10ms/50ms", "--name", "loop", "--", "python3", "-c", script];
    let mut child = started(&arguments);
    let shown = output(&["top", "--json", "--interval", "1s", "--count", "3"]);
    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
    let lines: Vec<serde_json::Value> =
        text(&shown.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{shown:?}");
    let last = &lines[2]["reserved"][0];
    let used = last["used_of_reserved"].as_f64().expect("it has run");
    assert!((0.3..0.8).contains(&used), "{last}");
    if last["jobs"].is_null() {
        common::skipped("tracefs, for response times");
    } else {
        assert!((15..=21).contains(&last["jobs"].as_u64().unwrap()), "{last}");
        assert!(last["response_p50_ns"].as_i64() >= Some(4_000_000), "{last}");
    }
    let picture = output(&["top", "--ascii", "--interval", "300ms", "--count", "1"]);
    assert!(text(&picture.stdout).contains("CPU 0"), "{picture:?}");
    signal(child.id(), "TERM");
    child.wait().unwrap();
    assert_clean();
}

/// A source that makes a block of sound every 10 ms, and a sink that plays it, in separate
/// processes. Late blocks would be audible.
const PIPELINE: &str = r#"
import os, sys, time
def called(name): open("/proc/self/comm", "w").write(name)
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
read, write = os.pipe()
if os.fork() == 0:
    called("sink")
    os.close(write)
    latest = 0
    while block := os.read(read, 16):
        work(0.0005)
        latest = max(latest, time.monotonic_ns() - int(block))
    os.write(1, f"latest {latest}".encode())
    os._exit(0)
called("source")
os.close(read)
time.sleep(1)
next = time.monotonic_ns()
for _ in range(150):
    work(0.0005)
    os.write(write, f"{next:<16}".encode())
    next += 10_000_000
    time.sleep(max(0, next - time.monotonic_ns()) / 1e9)
os.close(write)
os.wait()
"#;

#[test]
fn sound_goes_through_two_processes() {
    let _alone = alone();
    if !can_reserve() || !has("python3", "python3") || !has("stress-ng", "stress-ng") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sound");
    fs::create_dir_all(&folder).unwrap();
    let (set, program) = (folder.join("sound.toml"), folder.join("sound.py"));
    let task = |name| format!("[[task]]\nname = \"{name}\"\nperiod = \"10ms\"\nwcet = \"2ms\"\n");
    let tasks = task("source") + &task("sink");
    fs::write(&set, format!("layland = 1\n[platform]\ncpus = 2\n{tasks}")).unwrap();
    fs::write(&program, PIPELINE).unwrap();
    let (set, program) = (set.to_str().unwrap(), program.to_str().unwrap());
    let seen = folder.join("seen.json");
    let mut arguments = vec!["exec", set, "--name", "sound"];
    let traced = can_trace();
    if traced {
        arguments.extend(["--output", seen.to_str().unwrap()]);
    }
    arguments.extend(["--", "python3", program]);
    let _noise = Noise::start();
    let ran = layland(&arguments).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let told = text(&ran.stderr);
    // Each got its reservation when it had its name.
    for name in ["source", "sink"] {
        assert!(told.contains(&format!("{name} (")), "{told}");
    }
    let latest = text(&ran.stdout).strip_prefix("latest ").map(|ns| ns.parse::<i64>().unwrap());
    assert!(latest.is_some(), "{ran:?}");
    if traced {
        let seen: serde_json::Value = serde_json::from_slice(&fs::read(&seen).unwrap()).unwrap();
        assert_eq!(seen["tasks"], serde_json::json!(["sound/source", "sound/sink"]));
        for task in [0, 1] {
            let jobs = seen["jobs"].as_array().unwrap().iter();
            let of_task = jobs.filter(|job| job["task"] == task).count();
            assert!(of_task >= 140, "{of_task} jobs of task {task}");
        }
    }
    assert_clean();
}

#[test]
fn a_report_counts_budgets_that_were_used_up() {
    let _alone = alone();
    if !can_reserve() || !has("python3", "python3") || !can_trace() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-report");
    fs::create_dir_all(&folder).unwrap();
    let (page, trace) = (folder.join("x.html"), folder.join("x.json"));
    // 20 ms of work with 8 ms of every 40 ms takes two further periods.
    let script =
        "import time\nend = time.thread_time() + 0.02\nwhile time.thread_time() < end: pass\n";
    let (page, trace) = (page.to_str().unwrap(), trace.to_str().unwrap());
    let arguments = [
        "exec", "--dl", "8ms/40ms", "--name", "busy", "-o", page, "-o", trace, "--", "python3",
        "-c", script,
    ];
    let ran = output(&arguments);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let seen: serde_json::Value = serde_json::from_slice(&fs::read(trace).unwrap()).unwrap();
    let marks = seen["marks"].as_array().unwrap().iter();
    let used_up = marks.filter(|mark| mark["kind"] == "budget_exhausted").count();
    assert!(used_up >= 1, "{seen}");
    assert!(text(&fs::read(page).unwrap()).contains("its budget was used up"));
    // At least three periods, of which all but the last are late relative to their arrivals.
    let said = text(&ran.stderr);
    let row = said.lines().find(|line| line.contains(" busy ")).unwrap_or_default();
    let figures: Vec<u32> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [jobs, late, exhausted] = figures[..] else { panic!("{said}") };
    assert!(jobs >= 3 && late >= 1 && late < jobs, "{said}");
    assert_eq!(exhausted as usize, used_up, "{said}");
    let nowhere = output(&["exec", "--dl", "8ms/40ms", "-o", "nowhere/x.html", "--", "true"]);
    assert_eq!(nowhere.status.code(), Some(5), "{nowhere:?}");
    assert_clean();
}

#[test]
fn jobs_are_counted_without_a_file_to_be_written() {
    let _alone = alone();
    if !can_reserve() || !has("python3", "python3") || !can_trace() {
        return;
    }
    // Fifty jobs; the count begins a second after the first reservation.
    let script = "import time\nnext = time.monotonic()\nfor job in range(50):\n  \
        end = time.thread_time() + 0.005\n  \
        while time.thread_time() < end: pass\n  \
        next += 0.05\n  \
        time.sleep(max(0, next - time.monotonic()))\n";
    let ran =
        output(&["exec", "--dl", "20ms/50ms", "--name", "loop", "--", "python3", "-c", script]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let said = text(&ran.stderr);
    let row = said.lines().find(|line| line.contains(" loop ")).unwrap_or_default();
    let figures: Vec<u32> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [jobs, late, _] = figures[..] else { panic!("{said}") };
    assert!((15..=45).contains(&jobs) && late < jobs, "{said}");
    // A program that leaves during the recording leaves nothing behind, and its summary is printed
    // when it ends.
    let mut child = started(&["exec", "--dl", "20ms/50ms", "--name", "left", "--", "sleep", "60"]);
    let is_recorded = || {
        let folder = layland_linux::tracefs::root().expect("it is there").join("instances");
        let instances = fs::read_dir(folder).into_iter().flatten().flatten();
        instances.filter(|at| at.file_name().to_string_lossy().starts_with("layland-")).count() > 0
    };
    wait_until("it is recorded", is_recorded);
    assert_eq!(output(&["exec", "--leave", "left"]).status.code(), Some(0));
    wait_until("it has left", || members().is_empty() && left().is_empty());
    assert!(!is_recorded());
    child.kill().unwrap();
    child.wait().unwrap();
    let quiet = output(&["exec", "-q", "--dl", "20ms/50ms", "--", "sleep", "1.5"]);
    assert_eq!(text(&quiet.stderr), "");
    assert_clean();
}

/// The kernel's trace uses the thread numbers of the outermost namespace, so that a recording from
/// inside would not match any thread.
#[test]
fn a_container_with_numbers_of_its_own_records_nothing() {
    let _alone = alone();
    if !can_reserve() || !can_trace() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-contained");
    fs::create_dir_all(&folder).unwrap();
    let page = folder.join("x.html");
    let contained = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-pf", "--mount-proc", env!("CARGO_BIN_EXE_layland"), "exec", "-q"]);
        command.args(["--dl", "1ms/100ms"]).args(options).args(["--", "true"]).output()
    };
    if !contained(&[]).is_ok_and(|ran| ran.status.success()) {
        return common::skipped("unshare, for a PID namespace");
    }
    let ran = contained(&["-o", page.to_str().unwrap()]).unwrap();
    assert_eq!(ran.status.code(), Some(5), "{ran:?}");
    assert!(text(&ran.stderr).contains("docker run --pid=host"), "{ran:?}");
    assert!(!page.exists());
    assert_clean();
}

/// No test judges the measured latencies.
#[test]
fn the_script_compares_classes() {
    let _alone = alone();
    let programs = [("rt-app", "rt-app"), ("cyclictest", "rt-tests"), ("stress-ng", "stress-ng")];
    let are_there = programs.iter().all(|(program, package)| has(program, package));
    if !can_reserve() || !can_part() || !are_there || !has("python3", "python3") {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/compare");
    let compared = Command::new("python3")
        .args([script, "classes", "--program", env!("CARGO_BIN_EXE_layland")])
        .args(["--rounds", "1", "--seconds", "2", "--class", "fair class", "--class", "exec p-edf"])
        .output()
        .unwrap();
    assert!(compared.status.success(), "{compared:?}");
    let said = text(&compared.stdout);
    for row in ["| fair class |", "| exec p-edf |"] {
        assert_eq!(said.matches(row).count(), 2, "{said}");
    }
    wait_until("the last one has left", || members().is_empty());
    assert_clean();
}

/// Returns true if the kernel's trace can be recorded.
fn can_trace() -> bool {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-can-trace.json");
    let tried =
        output(&["exec", "--dl", "1ms/100ms", "-q", "-o", folder.to_str().unwrap(), "--", "true"]);
    if tried.status.code() == Some(5) {
        common::skipped("tracefs, for what the kernel says of a program");
    }
    tried.status.code() == Some(0)
}
