//! Tests of `layland exec` with shell programs: how the kernel schedules their threads, which
//! programs are refused, and that nothing is left behind, however they end.
//!
//! Long because each thing that a program does to its threads has its own test.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/exec.rs"]
mod exec;

use exec::*;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

#[test]
fn a_program_starts_with_its_reservation_and_passes_its_code_on() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let script = "chrt -p $$; cat; exit 7";
    let mut child =
        layland(&["exec", "--dl", "2ms/20ms", "--deadline", "15ms", "--", "sh", "-c", script]);
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"what it reads\n").unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(7), "{ran:?}");
    let (out, said) = (text(&ran.stdout), text(&ran.stderr));
    assert!(out.contains("SCHED_DEADLINE"), "{out}");
    assert!(out.contains("2000000/15000000/20000000"), "{out}");
    assert!(out.contains("what it reads"), "{out}");
    assert!(said.contains("admitted: sh, 2 ms of every 20 ms on CPUs"), "{said}");
    assert!(said.contains("SCHED_DEADLINE 2ms/15ms/20ms on CPUs"), "{said}");
    assert_clean();
}

#[test]
fn what_cannot_be_executed_is_said_as_shells_do() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let missing = output(&["exec", "--dl", "2ms/20ms", "--", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127), "{missing:?}");
    assert!(text(&missing.stderr).contains("failed to execute no-such-program"), "{missing:?}");
    let folder = output(&["exec", "--dl", "2ms/20ms", "--", "/"]);
    assert_eq!(folder.status.code(), Some(126), "{folder:?}");
    let killed = output(&["exec", "--dl", "2ms/20ms", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status.code(), Some(128 + 9), "{killed:?}");
    assert_clean();
}

#[test]
fn who_does_not_fit_is_refused_with_what_would() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    if !can_part() {
        return;
    }
    // All threads on CPU 0, regardless of the number of CPUs.
    let too_much = output(&["exec", "--dl", "99ms/100ms", "--on-cpus", "0", "--dry-run"]);
    assert_eq!(too_much.status.code(), Some(1), "{too_much:?}");
    let said = text(&too_much.stderr);
    assert!(said.contains("99 ms of every 100 ms cannot be guaranteed under dl"), "{said}");
    assert!(said.contains("a runtime of") && said.contains("would fit"), "{said}");
    let of = |name: &'static str, runtime: &'static str, time: &'static str| {
        ["exec", "--dl", runtime, "--on-cpus", "0", "--name", name, "--", "sleep", time]
    };
    let mut first = started(&of("first", "60ms/100ms", "30"));
    let second = of("second", "85ms/100ms", "0");
    let refused = output(&second);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    // If another policy has the same CPUs, the message names it with its members.
    let other = output(&["exec", "--dl", "1ms/100ms", "--", "sleep", "0"]);
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    assert!(text(&other.stderr).contains("under another policy: `first`"), "{other:?}");
    let same = output(&["exec", "--dl", "1ms/100ms", "--name", "first", "--", "sleep", "0"]);
    assert_eq!(same.status.code(), Some(2), "{same:?}");
    // The same request is admitted after the first program has left.
    let asked = output(&["exec", "--leave", "first"]);
    assert_eq!(asked.status.code(), Some(0), "{asked:?}");
    wait_until("the first gives back what it has", || members().is_empty());
    let second = output(&second);
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    // The first program goes on as an ordinary one until it is stopped.
    signal(first.id(), "TERM");
    assert_eq!(first.wait().unwrap().code(), Some(128 + 15));
    let nobody = output(&["exec", "--leave", "first"]);
    assert_eq!(nobody.status.code(), Some(2), "{nobody:?}");
    assert_clean();
}

#[test]
fn each_gets_a_cpu_of_its_own() {
    let _alone = alone();
    if !can_reserve() || !can_part() {
        return;
    }
    let arguments = |name| {
        ["exec", "--dl", "20ms/100ms", "--policy", "p-edf", "--name", name, "--", "sleep", "30"]
    };
    let mut first = started(&arguments("first"));
    let mut second = started(&arguments("second"));
    let found = members();
    for member in &found {
        assert_eq!(member["cpus"].as_array().unwrap().len(), 1, "{found:?}");
        let kernel = &member["reserved"][0]["kernel"];
        assert_eq!(kernel["class"], "SCHED_DEADLINE", "{found:?}");
        assert_eq!(kernel["cpus"], member["cpus"][0].to_string(), "{found:?}");
    }
    assert_eq!(found.len(), 2);
    // Both fit on one CPU, which they share until the last of them leaves.
    assert_eq!(found[0]["cpus"], found[1]["cpus"]);
    signal(first.id(), "TERM");
    first.wait().unwrap();
    assert_eq!(members().len(), 1);
    signal(second.id(), "TERM");
    second.wait().unwrap();
    assert_clean();
}

#[test]
fn priorities_follow_who_comes() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let arguments = |name, period| {
        [
            "exec",
            "--dl",
            period,
            "--policy",
            "p-dm",
            "--on-cpus",
            "0",
            "--name",
            name,
            "--",
            "sleep",
            "30",
        ]
    };
    let mut slow = started(&arguments("slow", "10ms/200ms"));
    let fast = started(&arguments("fast", "1ms/20ms"));
    let priority = |name: &str| {
        let members = members();
        let found = members.iter().find(|member| member["name"] == name);
        found.map_or(0, |member| member["reserved"][0]["kernel"]["priority"].as_i64().unwrap_or(0))
    };
    assert_eq!((priority("fast"), priority("slow")), (90, 89));
    signal(fast.id(), "TERM");
    let ended = fast.wait_with_output().unwrap();
    assert_eq!(priority("slow"), 90, "{ended:?}");
    signal(slow.id(), "TERM");
    slow.wait().unwrap();
    assert_clean();
}

#[test]
fn programs_of_one_priority_share_one_of_the_kernel() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("layland-shared-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let set = |name: &str, priority: u32| {
        let path = folder.join(format!("{name}.toml"));
        let task = format!(
            "priority = {priority}\nthread = \"main\"\nperiod = \"50ms\"\nwcet = \"2ms\"\n"
        );
        let set = format!("layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"{name}\"\n{task}");
        fs::write(&path, set).unwrap();
        path.display().to_string()
    };
    let mut running = Vec::new();
    for (name, priority) in [("low", 7), ("left", 3), ("right", 3)] {
        let path = set(name, priority);
        let arguments =
            ["exec", &path, "-p", "p-fp", "--on-cpus", "0", "--name", name, "--", "sleep", "30"];
        running.push((name, started(&arguments)));
    }
    let found = || -> Vec<(String, i64, i64)> {
        let of = |member: &serde_json::Value| {
            let reserved = &member["reserved"][0];
            let thread = reserved["thread"].as_i64().expect("it has a thread");
            // Compare the kernel's priority with ours.
            let chrt = Command::new("chrt").args(["-p", &thread.to_string()]).output().unwrap();
            let said = text(&chrt.stdout);
            assert!(said.contains("SCHED_FIFO"), "{said}");
            let real = said.trim().rsplit(' ').next().and_then(|word| word.parse().ok());
            let name = member["name"].as_str().expect("it has a name").to_owned();
            (name, reserved["kernel"]["priority"].as_i64().unwrap(), real.expect("a priority"))
        };
        let mut found: Vec<_> = members().iter().map(of).collect();
        found.sort();
        found
    };
    let wanted = |all: &[(&str, i64)]| -> Vec<(String, i64, i64)> {
        all.iter().map(|&(name, priority)| (name.to_owned(), priority, priority)).collect()
    };
    assert_eq!(found(), wanted(&[("left", 90), ("low", 89), ("right", 90)]));
    // The level exists as long as one task has it.
    for (name, left) in [("left", &[("low", 89), ("right", 90)][..]), ("right", &[("low", 90)])] {
        let index = running.iter().position(|(of, _)| *of == name).unwrap();
        let (_, mut child) = running.remove(index);
        signal(child.id(), "TERM");
        child.wait().unwrap();
        assert_eq!(found(), wanted(left));
    }
    let (_, mut low) = running.remove(0);
    signal(low.id(), "TERM");
    low.wait().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_clean();
}

#[test]
fn new_threads_and_processes_are_followed() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    // A shell and three processes that it starts; a fourth starts when the third is over.
    let script = "sleep 20 & sleep 20 & sleep 1; sleep 20 & wait";
    let arguments =
        ["exec", "--dl", "1ms/100ms", "--thread", ".*", "--name", "s", "--", "sh", "-c", script];
    let child = layland(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let reserved = || {
        let member = members().into_iter().next();
        member.and_then(|member| member["reserved"].as_array().cloned()).unwrap_or_default()
    };
    let with_time = || {
        let reserved = reserved();
        reserved.iter().filter(|of| of["kernel"]["class"] == "SCHED_DEADLINE").count()
    };
    wait_until("there are four", || with_time() == 4);
    pause(Duration::from_millis(1300));
    wait_until("the third was followed by a fourth", || with_time() == 4);
    // No other process has a reservation, in particular not the one that watches over the program.
    assert_eq!(reserved().len(), 4);
    signal(child.id(), "TERM");
    let said = child.wait_with_output().unwrap().stderr;
    let said = String::from_utf8_lossy(&said);
    // One table, and a line for each later thread below it.
    assert_eq!(said.matches("the kernel says").count(), 1, "{said}");
    assert!(said.matches("budgets are enforced by the tick").count() <= 1, "{said}");
    assert!(said.contains("sleep (") && said.matches("SCHED_DEADLINE").count() >= 4, "{said}");
    assert_clean();
}

#[test]
fn the_tasks_of_a_set_name_threads() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec");
    fs::create_dir_all(&folder).unwrap();
    let set = folder.join("set.toml");
    let tasks = "layland = 1\n[platform]\ncpus = 2\n\
                 [[task]]\nname = \"shell\"\nperiod = \"100ms\"\nwcet = \"2ms\"\nthread = \"main\"\n\
                 [[task]]\nname = \"sleep\"\nperiod = \"50ms\"\nwcet = \"1ms\"\ndeadline = \"40ms\"\n";
    fs::write(&set, tasks).unwrap();
    let set = set.to_str().unwrap();
    let mut child = started(&["exec", set, "--name", "x", "--", "sh", "-c", "sleep 20; true"]);
    let members = members();
    let kernel = |index: usize| &members[0]["reserved"][index]["kernel"];
    assert_eq!(members[0]["reserved"][0]["name"], "x/shell");
    assert_eq!(
        (&kernel(0)["period_ns"], &kernel(1)["period_ns"]),
        (&100_000_000.into(), &50_000_000.into())
    );
    assert_eq!(kernel(1)["deadline_ns"], 40_000_000);
    signal(child.id(), "TERM");
    child.wait().unwrap();
    fs::write(folder.join("bad.toml"), tasks.replace("\"main\"", "\"(\"")).unwrap();
    let bad = folder.join("bad.toml");
    let bad = output(&["exec", bad.to_str().unwrap(), "--", "true"]);
    assert_eq!(bad.status.code(), Some(3), "{bad:?}");
    assert!(text(&bad.stderr).contains("bad.toml:4:1"), "{bad:?}");
    assert_clean();
}

#[test]
fn a_program_that_runs_is_joined_and_left_as_it_was() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    // The program has a class and a nice value of its own.
    let mut program =
        Command::new("nice").args(["-n", "5", "chrt", "-b", "0", "sleep", "60"]).spawn().unwrap();
    let of = |pid: u32| {
        text(&Command::new("chrt").args(["-p", &pid.to_string()]).output().unwrap().stdout)
    };
    wait_until("it is what it says", || of(program.id()).contains("SCHED_BATCH"));
    let before = of(program.id());
    let pid = program.id().to_string();
    for end in ["INT", "TERM", "KILL"] {
        let mut child = started(&["exec", "--dl", "1ms/50ms", "--pid", &pid, "--name", "joined"]);
        assert!(of(program.id()).contains("SCHED_DEADLINE"));
        signal(child.id(), end);
        let code = child.wait().unwrap().code();
        assert!(end == "KILL" || code == Some(0), "{end}: {code:?}");
        // If the `exec` was killed, the guardian restores the class.
        wait_until("it is as it was", || of(program.id()) == before);
        wait_until("the register is empty", || members().is_empty());
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert_eq!(stat.rsplit_once(')').unwrap().1.split_whitespace().nth(16), Some("5"));
    program.kill().unwrap();
    program.wait().unwrap();
    let gone = output(&["exec", "--dl", "1ms/50ms", "--pid", &pid]);
    assert_eq!(gone.status.code(), Some(2), "{gone:?}");
    wait_until("nothing is left", || left().is_empty());
}

/// A control group for a test, which is removed with it.
struct TestGroup(std::path::PathBuf);

impl TestGroup {
    const NAME: &str = "test-of-layland";

    /// Creates the group in the first hierarchy that accepts it.
    fn make() -> Option<TestGroup> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let places = fields.filter(|line| ["cgroup", "cgroup2"].contains(&line[2]));
        let folders = places.map(|line| Path::new(line[1]).join(TestGroup::NAME));
        // A new cpuset of version 1 has no CPU, and accepts no process.
        let takes = |folder: &std::path::PathBuf| {
            let made = fs::create_dir_all(folder).is_ok();
            made && (!folder.join("cpuset.cpus").exists() || fs::remove_dir(folder).is_err())
        };
        folders.into_iter().find(takes).map(TestGroup)
    }

    fn add(&self, process: u32) {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).unwrap();
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn the_processes_of_a_control_group_are_followed() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let Some(group) = TestGroup::make() else { return common::skipped("root and control groups") };
    let start = || Command::new("sleep").arg("60").spawn().unwrap();
    let threads = || -> Vec<u64> {
        let all = members();
        let reserved = all.iter().flat_map(|member| member["reserved"].as_array().unwrap());
        reserved.filter_map(|of| of["thread"].as_u64()).collect()
    };
    let mut first = start();
    group.add(first.id());
    let follow = ["exec", "--dl", "1ms/50ms", "--cgroup", TestGroup::NAME];
    let mut child = layland(&follow).spawn().unwrap();
    wait_until("the first has it", || threads() == [u64::from(first.id())]);
    assert_eq!(members()[0]["name"], TestGroup::NAME);
    // A restarted service has another process.
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = start();
    group.add(second.id());
    wait_until("the second has it", || threads() == [u64::from(second.id())]);
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Name the group in the task of a set.
    let set = Path::new(env!("CARGO_TARGET_TMPDIR")).join("group.toml");
    let task =
        "name = \"a\"\nperiod = \"50ms\"\nwcet = \"1ms\"\nthread = \"cgroup:test-of-layland\"";
    fs::write(&set, format!("layland = 1\n[platform]\ncpus = 2\n[[task]]\n{task}\n")).unwrap();
    let mut child = started(&["exec", set.to_str().unwrap()]);
    assert_eq!(threads(), [u64::from(second.id())]);
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    second.kill().unwrap();
    second.wait().unwrap();
    let nowhere = output(&["exec", "--dl", "1ms/50ms", "--cgroup", "no/such.service"]);
    assert_eq!(nowhere.status.code(), Some(2), "{nowhere:?}");
    assert_clean();
}

/// Returns a command in a separate PID namespace, as in a container.
fn contained(arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-pf", "--mount-proc", "--kill-child", env!("CARGO_BIN_EXE_layland")]);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn containers_share_the_register() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let tried = contained(&["exec", "--dl", "1ms/100ms", "-q", "--", "true"]).output().unwrap();
    if !tried.status.success() {
        return common::skipped("unshare, for a PID namespace");
    }
    let inside =
        ["exec", "--dl", "20ms/100ms", "-p", "p-dm", "--name", "inside", "--", "sleep", "60"];
    let mut child = contained(&inside).spawn().unwrap();
    wait_until("it is admitted", || members().len() == 1);
    let member = &members()[0];
    // The thread's number inside the container belongs to another thread here.
    assert_eq!((&member["is_elsewhere"], &member["name"]), (&true.into(), &"inside".into()));
    assert!(member["reserved"][0]["thread"].is_null(), "{member}");
    let beside = output(&["exec", "--dl", "5ms/50ms", "-p", "p-dm", "--", "true"]);
    assert_eq!(beside.status.code(), Some(5), "{beside:?}");
    assert!(text(&beside.stderr).contains("another PID namespace"), "{beside:?}");
    let asked = output(&["exec", "--leave", "inside"]);
    assert_eq!(asked.status.code(), Some(0), "{asked:?}");
    wait_until("it has left", || members().is_empty());
    // Killing a container also kills the guardian, so that the entry of the run remains.
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the doctor cleans up", || {
        let cleaned = output(&["doctor", "--clean"]);
        cleaned.status.success() && left().is_empty()
    });
}

/// Runs a command as an ordinary user, with or without the capability.
fn as_nobody(capability: bool, arguments: &[&str]) -> Output {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    if capability {
        command.args(["--inh-caps=+sys_nice", "--ambient-caps=+sys_nice"]);
    }
    // The user may not have access to the folder of the program.
    let copy = std::env::temp_dir().join(format!("layland-of-nobody-{}", std::process::id()));
    fs::copy(env!("CARGO_BIN_EXE_layland"), &copy).unwrap();
    let answer = command.arg(&copy).args(arguments).current_dir("/").output().unwrap();
    fs::remove_file(copy).unwrap();
    answer
}

#[test]
fn a_user_needs_the_capability_and_no_root() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let without = as_nobody(false, &["exec", "--dl", "1ms/100ms", "--", "true"]);
    if without.status.code() == Some(127) {
        return common::skipped("root and setpriv, to be somebody else");
    }
    assert_eq!(without.status.code(), Some(5), "{without:?}");
    assert!(text(&without.stderr).contains("AmbientCapabilities=CAP_SYS_NICE"), "{without:?}");
    let reserve = ["exec", "--dl", "1ms/100ms", "--", "sh", "-c", "chrt -p $$"];
    let with = as_nobody(true, &reserve);
    assert_eq!(with.status.code(), Some(0), "{with:?}");
    assert!(text(&with.stdout).contains("SCHED_DEADLINE"), "{with:?}");
    // A user's register is separate, but root's reservations still count.
    let mut of_root = started(&["exec", "--dl", "60ms/100ms", "--", "sleep", "60"]);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let refused = as_nobody(true, &["exec", "--dl", "95ms/100ms", "--", "true"]);
    assert_eq!(refused.status.code(), Some(if cpus < 3 { 1 } else { 0 }), "{refused:?}");
    signal(of_root.id(), "TERM");
    of_root.wait().unwrap();
    assert_clean();
}

#[test]
fn a_program_ends_with_whoever_looks_after_it() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let mut child =
        layland(&["exec", "--dl", "1ms/50ms", "--", "sh", "-c", "echo $$; exec sleep 60"])
            .spawn()
            .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let program = format!("/proc/{}", line.trim());
    assert!(Path::new(&program).exists());
    signal(child.id(), "KILL");
    child.wait().unwrap();
    wait_until("the program has ended", || !Path::new(&program).exists());
    wait_until("nothing is left", || members().is_empty() && left().is_empty());
}

#[test]
fn nothing_is_left_whenever_it_is_killed() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    // The number of kills and the seed can be set: LAYLAND_EXEC_KILLS=500.
    #[expect(clippy::disallowed_methods, reason = "a longer run is asked for so")]
    let asked = std::env::var("LAYLAND_EXEC_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: u32 = asked.unwrap_or(20);
    let policies = if can_part() { &["dl", "p-edf", "p-dm"][..] } else { &["dl", "p-dm"] };
    let mut random = u64::from(std::process::id());
    for kill in 0..kills {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let policy = policies[kill as usize % policies.len()];
        let script = "sleep 5 & sleep 5 & wait";
        let arguments = [
            "exec", "--dl", "1ms/50ms", "--thread", "sleep", "-p", policy, "--", "sh", "-c", script,
        ];
        let mut child = layland(&arguments).spawn().unwrap();
        pause(Duration::from_millis((random >> 33) % 400));
        let name = ["KILL", "TERM", "INT", "HUP"][(random >> 60) as usize % 4];
        if child.try_wait().unwrap().is_none() {
            signal(child.id(), name);
        }
        child.wait().unwrap();
        let told = format!("kill {kill}, {name} under {policy}");
        wait_until(&told, || members().is_empty() && left().is_empty());
    }
}

/// Linux 6.18 subtracts the bandwidth of a thread at its zero-lag time, even if its root domain was
/// rebuilt since and has forgotten that bandwidth. The sum was then below zero, and every request
/// was refused.
#[test]
fn what_a_guardian_gives_back_can_be_had() {
    let _alone = alone();
    if !can_reserve() || !can_part() {
        return;
    }
    for _ in 0..4 {
        let busy = "while :; do :; done";
        let arguments = ["exec", "--dl", "300ms/1s", "-p", "p-edf", "--", "sh", "-c", busy];
        let mut child = started(&arguments);
        pause(Duration::from_millis(400));
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("it is taken back", || members().is_empty() && left().is_empty());
        let reserve = ["-d", "-T", "1000000", "-D", "100000000", "-P", "100000000", "0", "true"];
        let answer = Command::new("chrt").args(reserve).output().expect("util-linux is there");
        assert!(answer.status.success(), "{answer:?}");
    }
}

#[expect(clippy::disallowed_methods, reason = "when something is killed is the point")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
