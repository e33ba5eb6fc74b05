//! Tests of `layland run` and `layland calibrate` as commands: exit codes, interrupts, and
//! leftovers.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

static CPUS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    CPUS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn layland(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_layland"));
    command.args(arguments);
    command
}

#[expect(clippy::disallowed_methods, reason = "the test waits for another process")]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Returns the output; prints that the test is skipped, and returns `None`, if the machine does not
/// permit the run.
fn output(arguments: &[&str]) -> Option<Output> {
    let output = layland(arguments).output().unwrap();
    if output.status.code() == Some(5) {
        common::skipped("CAP_SYS_NICE");
        return None;
    }
    Some(output)
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}\n{}", String::from_utf8_lossy(&output.stderr));
    })
}

const SET: [&str; 6] = ["run", "-t", "a=2ms/20ms", "-t", "b=10ms/50ms", "--json"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SET.iter().chain(more).copied().collect()
}

#[test]
fn a_run_is_a_result_with_its_overheads() {
    let _alone = alone();
    let arguments = with(&["-p", "p-edf", "--until", "500ms", "--check"]);
    let Some(output) = output(&arguments) else { return };
    let result = json(&output);
    assert_eq!(result["broken_rules"].as_array().map(Vec::len), Some(0), "{result:#}");
    let missed = result["summary"]["total"]["missed"].as_u64().unwrap();
    let code = output.status.code().unwrap();
    match missed {
        0 => assert_eq!(code, 0),
        // Either the machine paused, or the verdict is valid.
        _ => assert!(code == 1 || code == 6, "{code}"),
    }
    for name in ["release latency", "dispatch latency", "decision", "switch", "manager invocation"]
    {
        assert!(result["overheads"][name]["count"].as_u64().unwrap() > 0, "{name}");
    }
    let (asked, got) = (result["asked_ns"].as_i64().unwrap(), result["got_ns"].as_i64().unwrap());
    assert!(asked > 0 && got >= asked, "{asked} {got}");
}

#[test]
fn a_limit_decides_what_fails_of_a_run() {
    let _alone = alone();
    let junit = concat!(env!("CARGO_TARGET_TMPDIR"), "/run.xml");
    let short = ["-p", "p-edf", "--until", "300ms", "--junit", junit, "--fail-on"];
    // No response takes a second in a run of 300 ms, and none takes only a microsecond.
    for (limit, fails) in [("response>1s", false), ("a:response>1us", true), ("misses>99%", false)]
    {
        let Some(output) = output(&with(&[&short[..], &[limit]].concat())) else { return };
        let code = output.status.code().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.contains(&format!("p-edf fails on {limit}")), fails, "{told}");
        // If the machine paused, an exceeded limit is attributed to that.
        assert!(code == i32::from(fails) || code == 6, "{limit}: {code}: {told}");
        let xml = fs::read_to_string(junit).unwrap();
        let failures = format!("tests=\"3\" failures=\"{}\"", u8::from(fails));
        assert!(xml.contains("<testsuite name=\"inline under p-edf\""), "{xml}");
        assert!(xml.contains(&failures), "{xml}");
    }
    fs::remove_file(junit).unwrap();
    let overrun = ["-p", "p-edf", "--until", "300ms", "--overrun", "b=1.5x"];
    let limited = [&overrun[..], &["--fail-on", "b:response>bound"]].concat();
    let Some(output) = output(&with(&limited)) else { return };
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("p-edf fails on b:response>bound: b took "), "{told}");
    assert!(told.contains(", not 12 ms"), "{told}");
}

/// CPUs that decide for themselves, each group of a hierarchy with a lock, and all with one lock.
#[test]
fn dispatchers_on_every_cpu_keep_the_rules_and_replay() {
    let _alone = alone();
    let log = concat!(env!("CARGO_TARGET_TMPDIR"), "/per-cpu.log");
    let per_cpu = ["--cpus", "2", "--manager", "per-cpu", "--until", "200ms"];
    for policy in ["p-edf", "qps", "g-edf"] {
        let more = [&per_cpu[..], &["-p", policy, "--check", "--log", log]].concat();
        let Some(output) = output(&with(&more)) else { return };
        let result = json(&output);
        assert_eq!(result["broken_rules"].as_array().map(Vec::len), Some(0), "{result:#}");
        let replayed = layland(&["run", "--replay", log]).output().unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{policy}: {replayed:?}");
    }
    fs::remove_file(log).unwrap();
    for engine in ["ext", "deadline"] {
        let more = [&per_cpu[..], &["-p", "dl", "--engine", engine]].concat();
        let refused = layland(&with(&more)).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{engine}");
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(told.contains("needs --engine fifo"), "{told}");
    }
}

#[test]
fn an_overrun_misses_deadlines() {
    let _alone = alone();
    let more = ["-p", "p-edf", "--until", "400ms", "--overrun", "b=6x", "--seed", "3"];
    let Some(output) = output(&with(&more)) else { return };
    let code = output.status.code();
    assert!(code == Some(1) || code == Some(6), "{code:?}");
    assert!(json(&output)["summary"]["total"]["missed"].as_u64().unwrap() > 0);
}

#[test]
fn what_cannot_run_is_refused_with_the_reason() {
    let code = |arguments: &[&str]| {
        let output = layland(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (exit, text) = code(&with(&["--overrun", "c=2x"]));
    assert!(exit == 2 && text.contains("there is no task `c`"), "{exit} {text}");
    let (exit, text) = code(&with(&["--overrun", "c"]));
    assert!(exit == 2 && text.contains("write TASK=FACTORx"), "{exit} {text}");
    let (exit, text) = code(&with(&["-p", "dl:grub_pa=on"]));
    assert!(exit == 3 && text.contains("sets the speeds of CPUs"), "{exit} {text}");
    let (exit, text) = code(&with(&["--cpus", "4096", "-p", "p-edf"]));
    assert!(exit == 5 && text.contains("the platform has 4096 CPUs"), "{exit} {text}");
    let (exit, text) = code(&["run", "--replay", "no-such-file"]);
    assert!(exit == 3 && text.contains("failed to read no-such-file"), "{exit} {text}");
}

#[test]
fn without_the_right_it_says_what_it_needs() {
    // Copy the program to where others may run it, regardless of the original's location.
    let copy = std::env::temp_dir().join(format!("layland-run-of-nobody-{}", std::process::id()));
    fs::copy(env!("CARGO_BIN_EXE_layland"), &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy);
    let output = command.args(with(&["-p", "p-edf", "--until", "100ms"])).output();
    fs::remove_file(&copy).unwrap();
    let Ok(output) = output else { return common::skipped("setpriv") };
    let text = String::from_utf8_lossy(&output.stderr);
    if output.stdout.is_empty() && text.starts_with("setpriv") {
        return common::skipped("root, to be somebody else");
    }
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.starts_with("error: no real-time priority"), "{text}");
    assert!(text.contains("need CAP_SYS_NICE or rtprio >= 99"), "{text}");
}

#[test]
fn throttling_is_foreseen() {
    let _alone = alone();
    let number = |name: &str| -> Option<i64> {
        fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
    };
    let (runtime, period) = (number("sched_rt_runtime_us"), number("sched_rt_period_us"));
    let share = runtime.zip(period).filter(|(runtime, _)| *runtime >= 0);
    if share.is_none_or(|(runtime, period)| runtime * 100 >= period * 98) {
        return common::skipped("throttling of real-time threads");
    }
    let run = |task: &str| {
        layland(&["run", "-t", task, "--cpus", "1", "-p", "p-edf", "--until", "50ms"])
            .output()
            .unwrap()
    };
    let (full, light) = (run("a=98ms/100ms"), run("a=20ms/100ms"));
    if full.status.code() == Some(5) {
        return common::skipped("CAP_SYS_NICE");
    }
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said(&full).contains("CPU 0 will be busy for 0.980 of the time"), "{}", said(&full));
    assert!(said(&full).contains("expect pauses of") && said(&full).contains("help: give it less"));
    assert!(!said(&light).contains("expect pauses of"), "{}", said(&light));
}

#[test]
fn a_limit_on_processes_is_told() {
    let _alone = alone();
    let group = std::path::Path::new("/sys/fs/cgroup/pids")
        .join(format!("layland-test-{}", std::process::id()));
    if fs::create_dir(&group).is_err() {
        return common::skipped("root, and the pids cgroup of version 1");
    }
    let run = "echo $$ > $0/cgroup.procs && exec \"$@\"";
    for most in ["2", "3", "4", "6"] {
        fs::write(group.join("pids.max"), most).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", run]).arg(&group).arg(env!("CARGO_BIN_EXE_layland"));
        let output = command.args(with(&["-p", "p-edf", "--until", "50ms"])).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "pids.max = {most}: {said}");
        assert!(said.contains("see ulimit -u, and pids.max"), "pids.max = {most}: {said}");
    }
    for _ in 0..500 {
        if fs::remove_dir(&group).is_ok() {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("processes are left in {}", group.display());
}

#[test]
fn a_parent_that_may_not_fork_is_told() {
    let _alone = alone();
    let mut command = Command::new("chrt");
    command.args(["-d", "-T", "10000000", "-D", "100000000", "-P", "100000000", "0"]);
    command.arg(env!("CARGO_BIN_EXE_layland")).args(with(&["-p", "p-edf", "--until", "50ms"]));
    let Ok(output) = command.output() else { return common::skipped("chrt") };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.starts_with("chrt") {
        return common::skipped("SCHED_DEADLINE");
    }
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("start layland as an ordinary process, without chrt -d"), "{said}");
}

#[test]
fn a_log_replays() {
    let _alone = alone();
    let log = concat!(env!("CARGO_TARGET_TMPDIR"), "/run.log");
    let more = ["-p", "dl", "--until", "300ms", "--log", log];
    let Some(output) = output(&with(&more)) else { return };
    assert!([0, 1, 6].contains(&output.status.code().unwrap()));
    let replayed = layland(&["run", "--replay", log, "--json"]).output().unwrap();
    assert_eq!(replayed.status.code(), Some(0));
    let result = json(&replayed);
    assert!(result["decisions"].as_u64().unwrap() > 10, "{result}");
    // Replay detects a single changed decision.
    let text = fs::read_to_string(log).unwrap();
    let run = r#""what":"run","cpu":0,"job":{"task":1,"seq":0}"#;
    let (before, after) = text.split_once(run).unwrap();
    fs::write(log, format!("{before}{}{after}", run.replace("\"task\":1", "\"task\":0"))).unwrap();
    let replayed = layland(&["run", "--replay", log]).output().unwrap();
    assert_eq!(replayed.status.code(), Some(1));
    fs::write(log, format!("{before}{}{after}", run.replace("run", "walk"))).unwrap();
    let replayed = layland(&["run", "--replay", log]).output().unwrap();
    assert_eq!(replayed.status.code(), Some(3));
    fs::remove_file(log).unwrap();
}

fn start(more: &[&str]) -> Child {
    let mut command = layland(&with(more));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the children of this process. The guardian is one of them.
fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(own) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let parent = rest.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        if parent == Some(pid) {
            found.push(own);
        }
    }
    found
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Returns the number of real-time threads of a process.
fn real_time_threads(pid: u32) -> usize {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    // A zombie still shows its class until its parent waits for it, but no longer runs.
    let is_real_time = |stat: String| {
        let Some((_, rest)) = stat.rsplit_once(')') else { return false };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        !matches!(fields.first(), Some(&"Z")) && matches!(fields.get(38), Some(&("1" | "6")))
    };
    let stats = tasks.flatten().map(|task| fs::read_to_string(task.path().join("stat")));
    stats.flatten().filter(|stat| is_real_time(stat.clone())).count()
}

#[test]
fn nothing_is_left_of_a_killed_run() {
    let _alone = alone();
    let mut was_real_time = 0;
    // Instants from the start of the process to the middle of the run, in milliseconds.
    for pause in [1, 7, 23, 60, 110, 190, 320, 700] {
        let mut child = start(&["-p", "p-edf", "--until", "20s"]);
        sleep(Duration::from_millis(pause));
        let mut pids = children(child.id());
        was_real_time += real_time_threads(child.id());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        if status.code() == Some(5) {
            common::skipped("CAP_SYS_NICE");
            return;
        }
        assert_eq!(status.code(), None, "it ended by itself");
        pids.push(child.id());
        let mut left = pids.clone();
        for _ in 0..1500 {
            left.retain(|&pid| is_alive(pid));
            if left.is_empty() {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        assert!(left.is_empty(), "after {pause} ms there are left: {left:?} of {pids:?}");
        assert_eq!(pids.iter().map(|&pid| real_time_threads(pid)).sum::<usize>(), 0);
    }
    assert!(was_real_time > 0, "no run was killed while it was running");
}

#[test]
fn an_interrupt_keeps_what_there_is() {
    let _alone = alone();
    let child = start(&["-p", "p-edf", "--until", "20s"]);
    sleep(Duration::from_millis(1500));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    if output.status.code() == Some(5) {
        common::skipped("CAP_SYS_NICE");
        return;
    }
    assert_eq!(output.status.code(), Some(130));
    let result = json(&output);
    assert_eq!(result["interrupted"], true);
    assert!(result["end_ns"].as_i64().unwrap() < 20_000_000_000);
    assert!(result["summary"]["total"]["completed"].as_u64().unwrap() > 0, "{result:#}");
}

#[test]
fn a_calibration_is_a_section_that_the_simulator_reads() {
    let _alone = alone();
    let Some(output) = output(&["calibrate", "--duration", "200ms"]) else { return };
    assert_eq!(output.status.code(), Some(0));
    let section = String::from_utf8(output.stdout).unwrap();
    assert!(section.contains("context_switch = \""), "{section}");
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/calibrated.toml");
    let set = format!(
        "layland = 1\n[platform]\ncpus = 1\n{section}\n[[task]]\nname = \"a\"\nperiod = \"20ms\"\nwcet = \"5ms\"\n"
    );
    fs::write(file, set).unwrap();
    let simulated = layland(&["sim", file, "-p", "p-edf", "--json"]).output().unwrap();
    assert_eq!(simulated.status.code(), Some(0), "{simulated:?}");
    fs::remove_file(file).unwrap();
}
