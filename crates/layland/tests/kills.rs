//! A few random kills and overlaps: the short form of the campaign `kills` of the test kit. Also
//! repeats overlaps that once left the machine changed.
#![cfg(target_os = "linux")]

mod common;

use layland_testkit::kills::Campaign;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const KILLS: usize = 16;
const OVERLAPS: usize = 4;

/// Locks the machine for one test: the check for leftovers covers the whole machine.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the state that runs share: the limit of real-time threads, and whether the root cpuset
/// balances.
fn shared() -> [String; 2] {
    let files =
        ["/proc/sys/kernel/sched_rt_runtime_us", "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance"];
    files.map(|path| fs::read_to_string(path).unwrap_or_default())
}

#[expect(clippy::disallowed_methods, reason = "a test of processes waits for them")]
fn wait(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Returns the command of a run on one CPU by the kernel's own scheduler.
fn run(policy: &str, duration: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_layland"));
    command.args([
        "run",
        "-t",
        "a=40ms/100ms",
        "-t",
        "b=30ms/150ms",
        "--cpus",
        "1",
        "--engine",
        "deadline",
    ]);
    command.args(["--policy", policy, "--until", duration]).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn overlapping_runs_restore_what_the_first_has_found() {
    let _alone = alone();
    let before = shared();
    // The two policies change different settings. The first run to start is the first or the last
    // to end.
    for policy in ["dl", "p-edf"] {
        for (first, second) in [("1200ms", "2000ms"), ("2000ms", "800ms")] {
            let one = run(policy, first).spawn().expect("it starts");
            wait(400);
            let other = run(policy, second).output().expect("it starts");
            let one = one.wait_with_output().expect("it ends");
            for output in [&one, &other] {
                if output.status.code() == Some(5) {
                    return common::skipped("root and two free CPUs, for SCHED_DEADLINE");
                }
                let code = output.status.code();
                assert!(matches!(code, Some(0 | 1 | 6)), "{policy}: {output:?}");
            }
            assert_eq!(shared(), before, "{policy} for {first}, then {second}");
        }
    }
}

#[test]
fn a_run_without_a_free_cpu_names_who_has_it() {
    let _alone = alone();
    let fifo = |cpu: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_layland"));
        command.args([
            "run",
            "-t",
            "a=1ms/20ms",
            "--cpus",
            "1",
            "-p",
            "p-edf",
            "--until",
            "1500ms",
        ]);
        command.args(["--on-cpus", cpu, "--json"]).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let first = fifo("0").spawn().expect("it starts");
    let pid = first.id();
    wait(700);
    let second = fifo("0").output().expect("it starts");
    let third = fifo("0-1").output().expect("it starts");
    let first = first.wait_with_output().expect("it ends");
    if first.status.code() == Some(5) {
        return common::skipped("CAP_SYS_NICE");
    }
    assert_eq!(second.status.code(), Some(5), "{second:?}");
    let expected = format!(
        "error: another run has CPUs that this one needs: `layland run inline --policy p-edf` \
                            (pid {pid}, CPU 0)"
    );
    assert!(said(&second).contains(&expected), "{}", said(&second));
    assert!(said(&second).contains("--on-cpus"), "{}", said(&second));
    // A run that may choose takes the other CPU.
    if third.status.code() == Some(2) {
        return common::skipped("two CPUs");
    }
    let result: serde_json::Value = serde_json::from_slice(&third.stdout).expect("it is JSON");
    assert_eq!(result["hosts"]["cpus"], serde_json::json!([1]), "{result:#}");
}

#[test]
fn the_machine_is_as_it_was() {
    let _alone = alone();
    // The instant of a kill is random, and can be repeated by its seed.
    #[expect(clippy::disallowed_methods, reason = "a failure can be repeated")]
    let asked = std::env::var("LAYLAND_KILL_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = asked.unwrap_or_else(|| u64::from(std::process::id()));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kills");
    let program = Path::new(env!("CARGO_BIN_EXE_layland"));
    let mut campaign = Campaign::new(program, &folder, seed).expect("the program starts");
    let able = campaign.able();
    for (is_able, needs) in [
        (able.fifo, "SCHED_FIFO"),
        (able.deadline, "root, for SCHED_DEADLINE, cpusets and admission control"),
        (able.tracefs, "tracefs"),
    ] {
        if !is_able {
            common::skipped(needs);
        }
    }
    for _ in 0..KILLS {
        campaign.kill().expect("a run starts");
        campaign.kill_exec().expect("a program starts");
    }
    for _ in 0..OVERLAPS {
        campaign.overlap().expect("a run starts");
    }
    let found = campaign.found();
    let told = format!("again with LAYLAND_KILL_SEED={seed}\n{}", found.table());
    let _ = std::io::stderr().write_all(told.as_bytes());
    assert_eq!(found.wrong, Vec::<String>::new(), "again with LAYLAND_KILL_SEED={seed}");
}
