//! The promises of `layland exec` beside all other users of a CPU: limits of the kernel, threads of
//! others, and changes after the admission.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/exec.rs"]
mod exec;

use exec::*;
use layland_testkit::promises::Campaign;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A child process that is killed when this is dropped.
struct Stranger(Child);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A loop that works for some milliseconds of each period, for a few seconds at most.
const LOOP: &str = "import sys, time\n\
    work, period = (float(word) / 1000 for word in sys.argv[1:3])\n\
    end, wake = time.monotonic() + 20, time.monotonic()\n\
    while time.monotonic() < end:\n  \
      done = time.thread_time() + work\n  \
      while time.thread_time() < done: pass\n  \
      wake += period\n  \
      time.sleep(max(0, wake - time.monotonic()))\n";

/// Starts such a loop with these command words.
fn stranger(words: &[&str], work: &str, period: &str) -> Stranger {
    let (first, rest) = words.split_first().expect("there is a command");
    let mut command = Command::new(first);
    command.args(rest).args(["python3", "-c", LOOP, work, period]);
    Stranger(command.stdin(Stdio::null()).spawn().expect("it starts"))
}

/// Starts a sleeping thread with a reservation of SCHED_DEADLINE in each 20 ms.
fn reserved(runtime: &str) -> Stranger {
    let mut command = Command::new("chrt");
    command.args(["-d", "--sched-runtime", runtime, "--sched-deadline", "20000000"]);
    command.args(["--sched-period", "20000000", "0", "sleep", "20"]);
    Stranger(command.stdin(Stdio::null()).spawn().expect("it starts"))
}

fn class_of(pid: u32) -> String {
    let said = Command::new("chrt").args(["-p", &pid.to_string()]).output().unwrap();
    text(&said.stdout)
}

fn number(path: &str) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn can_fifo() -> bool {
    let tried = Command::new("chrt").args(["-f", "97", "true"]).output();
    let is_so = tried.is_ok_and(|tried| tried.status.success());
    if !is_so {
        common::skipped("chrt, and the right to SCHED_FIFO");
    }
    is_so
}

#[test]
fn what_the_kernel_keeps_is_counted() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let is_off = number("/proc/sys/kernel/sched_rt_runtime_us") == Some(-1);
    if is_off || number("/sys/kernel/debug/sched/fair_server/cpu0/runtime") == Some(0) {
        return common::skipped("real-time throttling or the fair server, as kernels have them");
    }
    let asked = |policy: &str, dl: &str| {
        output(&["exec", "--dl", dl, "-p", policy, "--on-cpus", "0", "--dry-run"])
    };
    // A demand of 980 ms and of 1 s in each second. The latter is a single long job.
    for dl in ["9800us/10ms", "3900ms/4s"] {
        let refused = asked("p-dm", dl);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let why = ["the kernel stops them after", "the kernel's fair server"];
        assert!(why.iter().any(|why| said.contains(why)) && said.contains("too much"), "{said}");
        assert!(said.contains("would fit"), "{said}");
    }
    assert_eq!(asked("p-dm", "8900us/10ms").status.code(), Some(0));
    // A thread that leaves too little time for ordinary ones on any CPU.
    let dense = output(&["exec", "--dl", "98ms/100ms", "--dry-run"]);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
    let has_server = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 12);
    if has_server && std::thread::available_parallelism().map_or(1, usize::from) > 1 {
        assert_eq!(dense.status.code(), Some(1), "{dense:?}");
        assert!(text(&dense.stderr).contains("fair server"), "{dense:?}");
    }
    assert_clean();
}

#[test]
fn real_time_threads_of_others_are_counted() {
    let _alone = alone();
    if !can_reserve() || !can_fifo() {
        return;
    }
    let asked =
        || output(&["exec", "--dl", "5500us/10ms", "-p", "p-dm", "--on-cpus", "0", "--dry-run"]);
    assert_eq!(asked().status.code(), Some(0));
    for class in ["-f", "-r"] {
        let above = stranger(&["taskset", "-c", "0", "chrt", class, "97"], "8", "20");
        wait_until("it has its class", || class_of(above.0.id()).contains("97"));
        let refused = asked();
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let pid = above.0.id();
        assert!(
            said.contains(&format!(" ({pid}, SCHED_")) && said.contains(" 97, used "),
            "{said}"
        );
        drop(above);
    }
    // A thread with a lower priority runs after ours. On the other CPU there is no competing
    // thread.
    let below = stranger(&["taskset", "-c", "0", "chrt", "-f", "5"], "8", "20");
    wait_until("it has its class", || class_of(below.0.id()).contains("priority: 5"));
    assert_eq!(asked().status.code(), Some(0));
    drop(below);
    // The kernel knows the budget of each reservation, even if little of it is used.
    let reserved = reserved("12000000");
    wait_until("it has its class", || class_of(reserved.0.id()).contains("SCHED_DEADLINE"));
    let refused = asked();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(text(&refused.stderr).contains("SCHED_DEADLINE)"), "{refused:?}");
    drop(reserved);
    assert_clean();
}

#[test]
fn the_limit_of_a_control_group_is_counted() {
    let _alone = alone();
    let root = "/sys/fs/cgroup/cpu";
    let group = format!("{root}/layland-test-limit-{}", std::process::id());
    if !can_reserve() || number(&format!("{root}/cpu.rt_runtime_us")).is_none() {
        return common::skipped("RT_GROUP_SCHED, and control groups of version 1");
    }
    if fs::create_dir(&group).is_err() {
        return common::skipped("root, for a control group");
    }
    let asked = |limit: &str| {
        fs::write(format!("{group}/cpu.rt_runtime_us"), limit).unwrap();
        let script = format!("echo $$ > {group}/tasks; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_layland"), "exec", "--dl"]);
        command.args(["3500us/10ms", "-p", "p-dm", "--on-cpus", "0", "--dry-run"]);
        command.env("NO_COLOR", "1").env("COLUMNS", "200").output().unwrap()
    };
    let (refused, admitted) = (asked("300000"), asked("400000"));
    fs::remove_dir(&group).unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(
        said.contains("may use 350 ms of 1 s on CPU 0, and the kernel stops them after 300 ms"),
        "{said}"
    );
    assert!(said.contains(&format!("{group}/cpu.rt_runtime_us")), "{said}");
    assert_eq!(admitted.status.code(), Some(0), "{admitted:?}");
    assert_clean();
}

/// Runs an `exec` whose program sleeps for some seconds. Returns its exit code and messages.
fn with_a_sleeper(
    arguments: &[&str],
    act: impl FnOnce(u32) -> Option<Stranger>,
) -> (Option<i32>, String) {
    let arguments = [&["exec", "--strict"][..], arguments, &["--", "sleep", "5"]].concat();
    let child = started(&arguments);
    let pid = child.id();
    let thread =
        members().iter().find(|member| member["pid"] == pid).unwrap()["reserved"][0]["thread"]
            .as_u64()
            .expect("it has a thread");
    let stranger = act(u32::try_from(thread).unwrap());
    let is_listed = || {
        members()
            .iter()
            .any(|member| member["withdrawn"].as_array().is_some_and(|reasons| !reasons.is_empty()))
    };
    if stranger.is_some() {
        wait_until("the promise is withdrawn", is_listed);
        let listed = text(&output(&["exec", "--list"]).stdout);
        assert!(listed.contains("no longer holds"), "{listed}");
    }
    let ran = child.wait_with_output().unwrap();
    drop(stranger);
    (ran.status.code(), text(&ran.stderr))
}

#[test]
fn what_comes_after_the_admission_withdraws_the_promise() {
    let _alone = alone();
    if !can_reserve() || !can_fifo() {
        return;
    }
    let nothing = |_| None;
    let (code, said) = with_a_sleeper(&["--dl", "10ms/100ms"], nothing);
    assert_eq!((code, said.contains("no longer holds")), (Some(0), false), "{said}");
    // A reservation that the kernel accepts but our tests do not.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus > 5 {
        common::skipped("at most five CPUs, for two reservations that are too many");
    } else {
        let arguments = ["--dl", "85ms/100ms"];
        let (code, said) = with_a_sleeper(&arguments, |_| Some(reserved("17000000")));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("no longer holds: ") && said.contains("did not hold"), "{said}");
    }
    // A thread with a priority above ours.
    let arguments = ["--dl", "5500us/10ms", "-p", "p-dm", "--on-cpus", "0"];
    let above = ["taskset", "-c", "0", "chrt", "-f", "97"];
    let (code, said) = with_a_sleeper(&arguments, |_| Some(stranger(&above, "8", "20")));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(", SCHED_FIFO 97, used "), "{said}");
    assert_clean();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test of processes waits for them")]
fn a_change_from_outside_withdraws_the_promise() {
    let _alone = alone();
    if !can_reserve() || !can_fifo() {
        return;
    }
    let arguments = ["--dl", "1ms/100ms", "-p", "p-dm", "--on-cpus", "0"];
    let changes: [&[&str]; 2] = [&["chrt", "-o", "-p", "0"], &["taskset", "-pc", "1"]];
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    for change in changes.into_iter().take(cpus) {
        let (code, said) = with_a_sleeper(&arguments, |thread| {
            let (first, rest) = change.split_first().unwrap();
            let mut command = Command::new(first);
            let done = command.args(rest).arg(thread.to_string()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
            std::thread::sleep(Duration::from_secs(2));
            None
        });
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("was SCHED_FIFO 90 on CPU 0"), "{change:?}: {said}");
        assert!(said.contains("and has been made"), "{said}");
    }
    assert_clean();
}

#[test]
fn a_reservation_without_a_thread_is_named() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    for (more, code) in [(&["--strict"][..], 1), (&[], 0)] {
        let arguments = ["exec", "--dl", "1ms/100ms", "--thread", "nobody"];
        let ran = output(&[&arguments[..], more, &["--", "true"]].concat());
        assert_eq!(ran.status.code(), Some(code), "{ran:?}");
        let said = text(&ran.stderr);
        assert!(said.contains("no thread had what was reserved for true"), "{said}");
    }
    // A program that has failed keeps its own exit code.
    let failed = ["exec", "--strict", "--dl", "1ms/100ms", "--thread", "nobody", "--", "sh", "-c"];
    let ran = output(&[&failed[..], &["exit 7"]].concat());
    assert_eq!(ran.status.code(), Some(7), "{ran:?}");
    assert_clean();
}

/// A program that determines the time of its budget by using it up, and from then on wakes up
/// half-way between its deadline and the end of its period. It prints the number of late jobs.
const OUT_OF_PHASE: &str = "import time\n\
    period, deadline, work, late = 0.02, 0.008, 0.003, 0\n\
    now = last = time.monotonic()\n\
    while now - last < 0.01: last, now = now, time.monotonic()\n\
    wake = now + (deadline + period) / 2\n\
    for job in range(250):\n  \
      time.sleep(max(0, wake - time.monotonic()))\n  \
      done = time.thread_time() + work\n  \
      while time.thread_time() < done: pass\n  \
      late += time.monotonic() - wake > deadline\n  \
      wake += period\n\
    print(late)\n";

#[test]
fn a_reservation_out_of_phase_begins_anew() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let reservation = ["exec", "--dl", "6ms/20ms", "--deadline", "8ms"];
    let ran = output(&[&reservation[..], &["--", "python3", "-c", OUT_OF_PHASE]].concat());
    let (late, said) = (text(&ran.stdout), text(&ran.stderr));
    assert!(said.contains("its reservation begins again"), "{late}: {said}");
    // Without help, all 250 jobs would be late. The problem is detected within two seconds, or a
    // hundred jobs.
    let late: u32 = late.trim().parse().unwrap_or_else(|_| panic!("{ran:?}"));
    assert!(late < 200, "{late} late: {said}");
    assert_clean();
}

/// The kernel's debugfs in a folder of this test, until it is dropped.
struct Debugfs(std::path::PathBuf);

impl Debugfs {
    fn mounted() -> Option<Debugfs> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-promises-debugfs");
        fs::create_dir_all(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "debugfs", "none"]).arg(&folder).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Debugfs(folder))
    }

    /// The kernel's sum of what is reserved, in units of 2^-20 of a CPU.
    fn total(&self) -> Option<i64> {
        let text = fs::read_to_string(self.0.join("sched/debug")).ok()?;
        let line = text.lines().find(|line| line.contains("dl_bw->total_bw"))?;
        line.rsplit_once(':')?.1.trim().parse().ok()
    }
}

impl Drop for Debugfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Some kernels recount when a limit is read, and forget threads that sleep. `exec`, which looks at
/// the machine every second, must not make them do so.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test waits for what happens every second")]
fn the_kernel_counts_a_reservation_until_its_end() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let Some(debugfs) = Debugfs::mounted() else { return common::skipped("debugfs, as root") };
    // The kernel takes back what an ended thread has reserved up to one period later: here that of
    // `can_reserve`. If it recounts before that time, it subtracts what the new sum does not hold.
    std::thread::sleep(Duration::from_millis(500));
    // A recount, where this causes one, corrects the sum after other tests.
    let _ = number("/proc/sys/kernel/sched_rt_runtime_us");
    let Some(before) = debugfs.total() else {
        return common::skipped("sched/debug in debugfs (CONFIG_SCHED_DEBUG)");
    };
    let mut program = Command::new(env!("CARGO_BIN_EXE_layland"))
        .args(["exec", "--dl", "2ms/10ms", "-q", "--", "sleep", "4"])
        .spawn()
        .unwrap();
    let fifth = (1 << 20) / 5;
    let is_counted = || debugfs.total().is_some_and(|now| (now - before - fifth).abs() <= 1);
    wait_until("it is reserved", is_counted);
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(is_counted(), "{before} before, {:?} after some seconds", debugfs.total());
    assert!(program.wait().unwrap().success());
    wait_until("it is given back", || debugfs.total() == Some(before));
    assert_clean();
}

#[test]
fn admitted_is_said_when_the_time_is_reserved() {
    let _alone = alone();
    if !can_reserve() || !can_part() {
        return;
    }
    // The kernel moves a sleeping thread to its partition when it wakes up: this one does after
    // three seconds.
    let script = "sleep 3; sleep 60";
    let mut program =
        Command::new("taskset").args(["-c", "0", "sh", "-c", script]).spawn().unwrap();
    let pid = program.id();
    wait_until("it sleeps", || {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.is_ok_and(|children| !children.trim().is_empty())
    });
    let reservation = ["exec", "--dl", "1ms/100ms", "-p", "p-edf", "--pid", &pid.to_string()];
    let child = started(&reservation);
    signal(child.id(), "INT");
    let ran = child.wait_with_output().unwrap();
    let said = text(&ran.stderr);
    let will = said.find(&format!("time will be reserved when thread `sh` ({pid}) wakes up"));
    let is = said.find("admitted: sh, 1 ms of every 100 ms");
    assert!(is.is_some() && will < is, "{said}");
    let is_v1 = fs::metadata("/sys/fs/cgroup/cpuset/tasks").is_ok();
    assert!(will.is_some() || !is_v1, "{said}");
    program.kill().unwrap();
    program.wait().unwrap();
    assert_clean();
}

#[test]
fn a_thread_that_yields_is_named() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    // The program waits for a time by yielding, as a spinning mutex does.
    let script = "import os, time\n\
        end = time.monotonic() + 4\n\
        while time.monotonic() < end: os.sched_yield()\n";
    let ran = output(&["exec", "--dl", "5ms/50ms", "--", "python3", "-c", script]);
    let said = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("it calls sched_yield").count(), 1, "{said}");
    // A program that uses up its budget does not cause this warning.
    let script = script.replace("os.sched_yield()", "pass");
    let ran = output(&["exec", "--dl", "5ms/50ms", "--", "python3", "-c", &script]);
    assert!(!text(&ran.stderr).contains("sched_yield"), "{ran:?}");
    assert_clean();
}

/// This is the short form of the campaign `promises` of the test kit.
#[test]
fn no_promise_is_broken_in_silence() {
    let _alone = alone();
    if !can_reserve() || !can_part() || !can_fifo() {
        return;
    }
    let mut campaign = Campaign::new(env!("CARGO_BIN_EXE_layland").as_ref(), 5);
    for _ in 0..5 {
        campaign.set().unwrap();
    }
    let found = campaign.found();
    assert!(found.broken.is_empty(), "{:#?}", found.broken);
    assert_eq!(found.rows.len(), 5);
    let admitted: u64 = found.rows.values().map(|row| row.admitted).sum();
    assert!(admitted >= 3, "{found:?}");
    assert_clean();
}
