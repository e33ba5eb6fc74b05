//! `layland exec` detects the end of every program, regardless of its process group and session,
//! and forwards the signals that the program would otherwise get.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/exec.rs"]
mod exec;

use exec::*;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Returns the exit code of an `exec`, or `None` if it does not end within some seconds. It is then
/// killed.
#[expect(clippy::disallowed_methods, reason = "a test of processes waits for them")]
fn code_of(mut child: Child) -> Option<i32> {
    for _ in 0..2_000 {
        if let Some(ended) = child.try_wait().unwrap() {
            return ended.code();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn asked(policy: &str, program: &[&str]) -> Command {
    // Python takes some 50 ms of processor time to start. This budget lets it finish long before
    // the timeout.
    let arguments = ["exec", "-q", "--dl", "20ms/100ms", "-p", policy, "--"];
    let mut command = layland(&[&arguments[..], program].concat());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn start(policy: &str, program: &[&str]) -> Child {
    asked(policy, program).spawn().unwrap()
}

/// Returns the exit code and the messages of an `exec`.
fn end_of(policy: &str, program: &[&str]) -> (Option<i32>, String) {
    // Use a file: processes that the program leaves behind would keep a pipe open.
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-ends.txt");
    let file = fs::File::create(&path).unwrap();
    let code = code_of(asked(policy, program).stderr(file).spawn().unwrap());
    (code, fs::read_to_string(&path).unwrap())
}

fn has(program: &str) -> bool {
    let found = Command::new("which").arg(program).output().expect("which is there");
    if !found.status.success() {
        common::skipped(program);
    }
    found.status.success()
}

/// A wrapper like `sudo`: its program has a session of its own, and the wrapper ends when the
/// program does.
const WRAPPER: &str = "import os, sys\n\
    child = os.fork()\n\
    if child == 0:\n  os.setsid()\n  os.execvp('sh', ['sh', '-c', 'sleep 0.1; exit 9'])\n\
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n";
/// A server that leaves the session of the terminal, but stays in the foreground.
const SERVER: &str = "import os, sys, time\nos.setsid()\ntime.sleep(0.1)\nsys.exit(7)\n";
/// A program that creates only a process group.
const GROUP: &str = "import os, sys\nos.setpgid(0, 0)\nsys.exit(8)\n";
/// A program that is killed in a session of its own.
const KILLED: &str = "import os\nos.setsid()\nos.kill(os.getpid(), 9)\n";
/// A program that moves itself to the background, as servers did before systemd.
const DAEMON: &str = "import os, time\n\
    if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    time.sleep(0.3)\n  os._exit(1)\n\
    os.wait()\nos._exit(6)\n";

#[test]
fn every_end_is_seen() {
    let _alone = alone();
    if !can_reserve() || !has("python3") || !has("bash") {
        return;
    }
    let programs: [(&[&str], i32); 16] = [
        (&["true"], 0),
        (&["timeout", "5", "true"], 0),
        (&["timeout", "5", "sh", "-c", "exit 3"], 3),
        (&["timeout", "0.2", "sleep", "60"], 124),
        (&["timeout", "-s", "KILL", "0.2", "sleep", "60"], 137),
        (&["setsid", "true"], 0),
        (&["setsid", "sh", "-c", "exit 4"], 4),
        (&["setsid", "-w", "sh", "-c", "exit 5"], 5),
        (&["setsid", "timeout", "5", "setsid", "-w", "sh", "-c", "exit 2"], 2),
        (&["bash", "-c", "set -m; sleep 0.1 & fg; (exit 11) & wait $!; exit 12"], 12),
        (&["sh", "-c", "(setsid sleep 0.2 &); exit 6"], 6),
        (&["python3", "-c", WRAPPER], 9),
        (&["python3", "-c", SERVER], 7),
        (&["python3", "-c", GROUP], 8),
        (&["python3", "-c", KILLED], 128 + 9),
        (&["python3", "-c", DAEMON], 6),
    ];
    // Root domains behave in the same way for all programs, and take longer.
    let few = if can_part() { 4 } else { 0 };
    for (policy, count) in [("dl", programs.len()), ("p-dm", programs.len()), ("p-edf", few)] {
        for (program, code) in programs.into_iter().take(count) {
            let (found, said) = end_of(policy, program);
            assert_eq!(found, Some(code), "{program:?} under {policy}: {said}");
        }
    }
    assert_clean();
}

#[test]
fn a_caller_that_ignores_the_ends_of_children_sees_one() {
    let _alone = alone();
    if !can_reserve() || !has("python3") {
        return;
    }
    // If a process ignores SIGCHLD, the kernel reaps its children without notification. The program
    // must inherit the state of both signals from its caller: bits 13 and 17, counted from 1.
    let ignores = "import os, signal, sys\n\
        if sys.argv[1] == 'ignored':\n  for s in (signal.SIGCHLD, signal.SIGPIPE): signal.signal(s, signal.SIG_IGN)\n\
        else:\n  signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n\
        os.execv(sys.argv[2], sys.argv[2:])\n";
    for (how, mask) in [("ignored", 1 << 12 | 1 << 16), ("default", 0)] {
        let mut command = Command::new("python3");
        command.args(["-c", ignores, how, env!("CARGO_BIN_EXE_layland")]);
        command.args(["exec", "-q", "--dl", "1ms/100ms", "--", "setsid"]);
        command.args(["grep", "SigIgn", "/proc/self/status"]).stdout(Stdio::piped());
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{how}: {ran:?}");
        let said = text(&ran.stdout);
        let found = said.trim().strip_prefix("SigIgn:").map(str::trim);
        let found = found.and_then(|bits| u64::from_str_radix(bits, 16).ok());
        // Python itself ignores other signals.
        let found = found.map(|bits| bits & (1 << 12 | 1 << 16));
        assert_eq!(found, Some(mask), "{how}: {said}");
    }
    assert_clean();
}

#[test]
fn orphans_are_buried() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let script = "for i in 1 2 3 4 5; do (setsid sleep 4 &); done; sleep 60";
    let child = started(&["exec", "-q", "--dl", "1ms/100ms", "--", "sh", "-c", script]);
    let own = child.id();
    let children = || {
        let list = fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
        list.unwrap_or_default().split_whitespace().count()
    };
    // The shell, the guardian, and five orphans.
    wait_until("the orphans come", || children() == 7);
    wait_until("the orphans are buried", || children() == 2);
    signal(own, "TERM");
    assert_eq!(code_of(child), Some(128 + 15));
    assert_clean();
}

/// Programs that `docker exec` starts are in a process group and a session of its caller, which
/// have no number inside.
#[test]
fn signals_come_to_a_container_whose_group_is_outside() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let contained = |program: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-pf", "--mount-proc", "--kill-child"]);
        command.args(["env", "--default-signal=INT,HUP,QUIT", env!("CARGO_BIN_EXE_layland")]);
        command.args(["exec", "-q", "--dl", "1ms/100ms", "--name", "inside", "--"]).args(program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    let tried = contained(&["true"]).map(code_of);
    if !matches!(tried, Ok(Some(0))) {
        return common::skipped("unshare, for a PID namespace");
    }
    for name in ["TERM", "INT", "HUP"] {
        let child = contained(&["sleep", "60"]).unwrap();
        wait_until("it is admitted", || members().len() == 1);
        let above = child.id();
        let inside = fs::read_to_string(format!("/proc/{above}/task/{above}/children")).unwrap();
        signal(inside.trim().parse().unwrap(), name);
        let code = code_of(child);
        assert!(code.is_some_and(|code| code > 128), "{name}: {code:?}");
    }
    assert_clean();
}

#[test]
fn whoever_stops_it_stops_a_program_of_any_group() {
    let _alone = alone();
    if !can_reserve() || !has("python3") {
        return;
    }
    let server = SERVER.replace("0.1", "60");
    let programs: [&[&str]; 4] = [
        &["sleep", "60"],
        &["setsid", "sleep", "60"],
        &["timeout", "60", "sleep", "60"],
        &["python3", "-c", &server],
    ];
    for program in programs {
        for name in ["TERM", "INT", "HUP"] {
            let child = start("dl", program);
            // Wait until the process is the program, and no longer the one that waits to execute
            // it.
            let own = fs::canonicalize(env!("CARGO_BIN_EXE_layland")).unwrap();
            let is_there = |pid: i64| {
                fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program != own)
            };
            wait_until("the program runs", || {
                members().iter().any(|member| {
                    let thread = member["reserved"][0]["thread"].as_i64();
                    thread.is_some_and(is_there)
                })
            });
            signal(child.id(), name);
            assert!(code_of(child).is_some(), "{program:?} goes on after SIG{name}");
            wait_until("nothing is left", || members().is_empty() && left().is_empty());
        }
    }
}

/// Returns true if one of our partitions has a thread.
fn has_partition_a_thread() -> bool {
    let folders = fs::read_dir("/sys/fs/cgroup/cpuset").into_iter();
    let folders = folders.chain(fs::read_dir("/sys/fs/cgroup")).flatten().flatten();
    let ours = folders
        .filter(|folder| folder.file_name().to_string_lossy().starts_with("layland-cpus-"))
        .map(|folder| folder.path());
    let lists = ours.flat_map(|path| [path.join("tasks"), path.join("cgroup.procs")]);
    lists.map(|list| fs::read_to_string(list).unwrap_or_default()).any(|list| !list.is_empty())
}

#[test]
fn a_signal_before_the_first_instruction_comes_to_the_program() {
    let _alone = alone();
    if !can_reserve() || !can_part() {
        return;
    }
    // The thread is in its partition, and waits until the kernel reports it there. Then it executes
    // the program, which would run for ever.
    for round in 0..12 {
        let child = start("p-edf", &["sh", "-c", "while :; do :; done"]);
        let mut rounds = 0;
        wait_until("it is moved", || {
            rounds += 1;
            rounds > 400 || has_partition_a_thread()
        });
        let name = ["HUP", "TERM", "INT"][round % 3];
        signal(child.id(), name);
        assert!(code_of(child).is_some(), "round {round}: goes on after SIG{name}");
    }
    wait_until("nothing is left", || members().is_empty() && left().is_empty());
}

#[test]
fn a_child_may_outlive_a_program_with_a_partition() {
    let _alone = alone();
    if !can_reserve() || !can_part() {
        return;
    }
    let script = "setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $!; exit 3";
    for end in [None, Some("TERM"), Some("KILL")] {
        let script =
            script.replace("exit 3", if end.is_some() { "exec sleep 60" } else { "exit 3" });
        let arguments =
            ["exec", "-q", "--dl", "1ms/100ms", "-p", "p-edf", "--", "sh", "-c", &script];
        let mut running = layland(&arguments).spawn().unwrap();
        let mut said = String::new();
        let mut lines = std::io::BufReader::new(running.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut lines, &mut said).unwrap();
        let child: u32 = said.trim().parse().unwrap();
        if let Some(name) = end {
            signal(running.id(), name);
        }
        let ran = running.wait_with_output().unwrap();
        let wanted = match end {
            None => Some(3),
            Some("TERM") => Some(128 + 15),
            Some(_) => None,
        };
        assert_eq!(ran.status.code(), wanted, "{ran:?}");
        // If the `exec` was killed, its guardian undoes the changes.
        assert!(end == Some("KILL") || left().is_empty(), "{:?}", left());
        wait_until("nothing is left", || left().is_empty());
        assert!(!text(&ran.stderr).contains("refuses"), "{end:?}: {ran:?}");
        let group = fs::read_to_string(format!("/proc/{child}/cgroup")).expect("it lives");
        assert!(!group.contains("layland"), "{group}");
        signal(child, "KILL");
    }
    assert_clean();
}

/// Runs a program on a new pseudoterminal, acts once when the program has reported that it is
/// ready, and prints how it ended.
const TERMINAL: &str = r#"
import os, pty, select, signal, sys, time
act, command = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    # Whoever runs the tests may ignore them.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT): signal.signal(number, signal.SIG_DFL)
    os.execv(command[0], command)
seen, done, until = b"", False, time.time() + 20
while time.time() < until:
    if terminal is not None and select.select([terminal], [], [], 0.05)[0]:
        try: seen += os.read(terminal, 4096)
        except OSError: pass
    if not done and b"ready" in seen:
        done = True
        if act == "hang up": os.close(terminal); terminal = None
        else: os.write(terminal, b"\x03")
    elif terminal is None: time.sleep(0.05)
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended: print(os.waitstatus_to_exitcode(status)); sys.exit()
os.kill(pid, 9)
print("goes on")
"#;

#[test]
fn a_program_hears_the_terminal_as_without_us() {
    let _alone = alone();
    if !can_reserve() || !has("python3") {
        return;
    }
    let handles = "trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done";
    let script = "echo ready; sleep 60; true";
    // The code of a program that a signal has killed, or its own code.
    let cases: [(&str, &[&str], &str); 6] = [
        ("interrupt", &["sh", "-c", "echo ready; exec sleep 60"], "130"),
        ("interrupt", &["sh", "-c", handles], "9"),
        // `timeout` leaves the process group to which the terminal sends Ctrl-C.
        ("interrupt", &["timeout", "60", "sh", "-c", "echo ready; exec sleep 60"], "130"),
        // A closed terminal sends a signal only to the leader of the session, which is `exec`.
        ("hang up", &["sh", "-c", script], "129"),
        ("hang up", &["setsid", "sh", "-c", script], "129"),
        ("hang up", &["timeout", "60", "sh", "-c", script], "129"),
    ];
    for (act, program, wanted) in cases {
        let arguments = ["-c", TERMINAL, act, env!("CARGO_BIN_EXE_layland")];
        let mut command = Command::new("python3");
        command.args(arguments).args(["exec", "-q", "--dl", "1ms/100ms", "--"]).args(program);
        let ran = command.output().unwrap();
        assert_eq!(text(&ran.stdout).trim(), wanted, "{act}: {program:?} {ran:?}");
        wait_until("nothing is left", || members().is_empty() && left().is_empty());
    }
}
