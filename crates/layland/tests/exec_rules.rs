//! The rules of `layland exec`: one thread has one holder, and requests that the kernel or the
//! rights of the caller do not allow are refused before they are reported as admitted.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/exec.rs"]
mod exec;

use exec::*;
use std::fs;
use std::process::{Child, Command, Output};

fn class_of(pid: u32) -> String {
    let said = Command::new("chrt").args(["-a", "-p", &pid.to_string()]).output().unwrap();
    text(&said.stdout)
}

/// Starts a program that wakes up after every `often` seconds. The kernel moves a sleeping thread
/// to its partition only when it wakes up.
fn sleeper(often: &str) -> Child {
    let own = format!("--pid={}", std::process::id());
    let mut tail = Command::new("tail");
    tail.args(["---disable-inotify", &own, "-s", often, "-f", "/dev/null"]).spawn().unwrap()
}

#[test]
fn a_thread_has_one_holder() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let mut program = sleeper("0.05");
    let pid = program.id().to_string();
    let before = class_of(program.id());
    let policies = if can_part() { &["dl", "p-edf", "p-dm"][..] } else { &["dl", "p-dm"] };
    for first in policies {
        let arguments =
            ["exec", "--dl", "1ms/100ms", "-p", first, "--pid", &pid, "--name", "first"];
        let mut holder = started(&arguments);
        let with_first = class_of(program.id());
        assert_ne!(with_first, before);
        for second in policies {
            // Select the thread by its process, by its name, and with a dry run.
            for more in [&["-q"][..], &["--thread", "tail"], &["--dry-run"]] {
                let arguments = ["exec", "--dl", "2ms/100ms", "-p", second, "--pid", &pid];
                let mut command = layland(&[&arguments[..], more].concat());
                let by_name = more[0] == "--thread";
                let mut child = command.args(["--name", "second"]).spawn().unwrap();
                if by_name {
                    // Another thread with that name may appear, so the command waits.
                    wait_until("it has looked", || {
                        if child.try_wait().unwrap().is_some() {
                            let ended = std::mem::replace(&mut child, sleeper("0.05"));
                            panic!("{first}, {second}: {:?}", ended.wait_with_output());
                        }
                        members().iter().any(|member| member["name"] == "second") || {
                            // Other policies may be incompatible with the first.
                            first != second
                        }
                    });
                    signal(child.id(), "INT");
                }
                let refused = child.wait_with_output().unwrap();
                let said = text(&refused.stderr);
                if !by_name {
                    assert_eq!(refused.status.code(), Some(1), "{first}, {second}: {refused:?}");
                    assert!(said.contains("has a reservation already: that of `first`"), "{said}");
                    assert!(said.contains("layland exec --leave first"), "{said}");
                    assert!(!said.contains("admitted:"), "{said}");
                }
                assert_eq!(class_of(program.id()), with_first, "{first}, then {second}");
            }
        }
        signal(holder.id(), "INT");
        assert_eq!(holder.wait().unwrap().code(), Some(0));
        wait_until("it is as it was", || class_of(program.id()) == before);
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert_clean();
}

#[test]
fn of_many_who_ask_at_once_one_gets_a_thread() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let mut program = Command::new("sleep").arg("120").spawn().unwrap();
    let pid = program.id().to_string();
    let before = class_of(program.id());
    for _ in 0..5 {
        let ask = || layland(&["exec", "--dl", "1ms/100ms", "--pid", &pid]).spawn().unwrap();
        let mut all: Vec<_> = (0..6).map(|_| ask()).collect();
        let mut refused = 0;
        wait_until("all but one are refused", || {
            all.retain_mut(|child| match child.try_wait().unwrap() {
                None => true,
                Some(ended) => {
                    assert_eq!(ended.code(), Some(1));
                    refused += 1;
                    false
                }
            });
            refused == 5
        });
        let [last] = &mut all[..] else { panic!("one has it") };
        wait_until("it has its time", || class_of(program.id()).contains("SCHED_DEADLINE"));
        signal(last.id(), "INT");
        assert_eq!(last.wait().unwrap().code(), Some(0));
        wait_until("it is as it was", || class_of(program.id()) == before);
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert_clean();
}

#[test]
fn who_comes_after_a_killed_one_restores_what_was_before_it() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let mut program = Command::new("sleep").arg("120").spawn().unwrap();
    let pid = program.id().to_string();
    let before = class_of(program.id());
    for _ in 0..8 {
        let mut first = started(&["exec", "--dl", "1ms/100ms", "--pid", &pid]);
        first.kill().unwrap();
        // Ask at once: the guardian may be about to restore the thread.
        let second = ["exec", "--dl", "2ms/100ms", "-p", "p-dm", "--pid", &pid];
        let mut second = started(&second);
        first.wait().unwrap();
        assert!(class_of(program.id()).contains("SCHED_FIFO"), "{}", class_of(program.id()));
        signal(second.id(), "INT");
        assert_eq!(second.wait().unwrap().code(), Some(0));
        wait_until("it is as it was", || class_of(program.id()) == before);
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert_clean();
}

#[test]
fn who_is_joined_for_one_thread_alone_that_is_refused_is_left() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    // SCHED_DEADLINE accepts only threads that may use their whole root domain.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 {
        return common::skipped("two CPUs");
    }
    let mut program = Command::new("taskset").args(["-c", "0", "sleep", "60"]).spawn().unwrap();
    let pid = program.id().to_string();
    let ran = output(&["exec", "--dl", "1ms/100ms", "--pid", &pid]);
    assert_eq!(ran.status.code(), Some(5), "{ran:?}");
    program.kill().unwrap();
    program.wait().unwrap();
    assert_clean();
}

/// Returns the output of `exec` for these arguments, as a dry run and with a program, each prefixed
/// with `before`.
fn asked(before: &[&str], arguments: &[&str]) -> [Output; 2] {
    [&["--dry-run"][..], &["--", "true"]].map(|rest| {
        let words = [before, &[env!("CARGO_BIN_EXE_layland"), "exec"], arguments, rest].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env("NO_COLOR", "1")
            .env("COLUMNS", "200")
            .env("LC_ALL", "C.UTF-8");
        command.output().expect("it starts")
    })
}

/// Asserts that the system refuses both for this reason, and that neither is reported as admitted.
fn assert_refused(said: &[Output; 2], reason: &str) {
    for output in said {
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        let text = text(&output.stderr);
        assert!(text.contains(reason), "{text}");
        assert!(!text.contains("admitted"), "{text}");
    }
}

#[test]
fn what_the_kernel_never_takes_is_refused_first() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    for (reservation, reason) in [
        ("500ns/1ms", "a runtime of 500 ns: the kernel reserves at least 1024 ns"),
        ("1023ns/1ms", "a runtime of 1023 ns: the kernel reserves at least 1024 ns"),
        ("10us/50us", "a period of 50 µs: the kernel takes periods of 100 µs to"),
        ("1ms/5s", "a period of 5 s: the kernel takes periods of 100 µs to"),
    ] {
        assert_refused(&asked(&[], &["--dl", reservation]), reason);
    }
    for reservation in ["1025ns/1ms", "10us/1ms", "1ms/4s"] {
        for output in asked(&[], &["--dl", reservation]) {
            assert_eq!(output.status.code(), Some(0), "{reservation}: {output:?}");
        }
    }
    // The rules of SCHED_DEADLINE do not apply to SCHED_FIFO.
    for output in asked(&[], &["--dl", "1ms/5s", "-p", "p-dm"]) {
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert_clean();
}

#[test]
fn whoever_lacks_a_right_is_told_which_and_how() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let tried = Command::new("setpriv").args(["--bounding-set=-sys_nice", "true"]).status();
    if !tried.is_ok_and(|status| status.success()) {
        return common::skipped("root and setpriv, for a root without CAP_SYS_NICE");
    }
    // As in a container: root without the capability. A real-time limit suffices for SCHED_FIFO
    // only.
    let contained = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-all"];
    assert_refused(&asked(&contained, &["--dl", "1ms/100ms"]), "--cap-add SYS_NICE");
    let fifo = ["--dl", "1ms/100ms", "-p", "p-dm"];
    let limit = |rtprio: &'static str| {
        let limited = [&["prlimit", rtprio][..], &contained].concat();
        asked(&limited, &fifo)
    };
    assert_refused(&limit("--rtprio=0"), "--cap-add SYS_NICE");
    let raised = Command::new("prlimit").args(["--rtprio=99", "true"]).output().unwrap();
    if raised.status.success() {
        for output in limit("--rtprio=99") {
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
    } else {
        common::skipped("CAP_SYS_RESOURCE, for a real-time limit of a root without CAP_SYS_NICE");
    }
    let words = ["doctor", "--latency-for", "0s"];
    let program = env!("CARGO_BIN_EXE_layland");
    let doctor =
        Command::new(contained[0]).args(&contained[1..]).arg(program).args(words).output().unwrap();
    let said = text(&doctor.stdout);
    assert_eq!(doctor.status.code(), Some(5), "{doctor:?}");
    for name in ["SCHED_FIFO", "SCHED_DEADLINE"] {
        let mut lines =
            said.lines().skip_while(|line| !line.starts_with(&format!("refused  {name}")));
        let fix = lines.nth(1).unwrap_or_default();
        assert!(fix.contains("--cap-add SYS_NICE") && fix.contains("rtprio"), "{name}: {said}");
    }
    assert_clean();
}

#[test]
fn a_thread_that_may_not_use_its_root_domain_is_refused_first() {
    let _alone = alone();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if !can_reserve() {
        return;
    }
    if cpus < 2 {
        return common::skipped("two CPUs");
    }
    let tied = ["taskset", "-c", "0"];
    assert_refused(&asked(&tied, &["--dl", "1ms/100ms"]), "without taskset");
    // A CPU of its own is still available from there.
    if can_part() {
        for output in asked(&tied, &["--dl", "1ms/100ms", "-p", "p-edf"]) {
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
    }
    let mut program = Command::new("taskset").args(["-c", "0", "sleep", "60"]).spawn().unwrap();
    let pid = program.id().to_string();
    wait_until("it is tied", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains("Cpus_allowed_list:\t0\n")
    });
    for more in [&["--dry-run"][..], &["-q"]] {
        let ran = output(&[&["exec", "--dl", "1ms/100ms", "--pid", &pid], more].concat());
        assert_eq!(ran.status.code(), Some(5), "{ran:?}");
        assert!(!text(&ran.stderr).contains("admitted"), "{ran:?}");
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert_clean();
}

#[test]
fn threads_that_do_the_work_without_a_reservation_are_named() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let busy = "(ulimit -t 1; while :; do :; done) & wait; sleep 0.3";
    let ran = output(&["exec", "--dl", "1ms/100ms", "--", "sh", "-c", busy]);
    let said = text(&ran.stderr);
    assert!(said.contains("every deadline of its first thread"), "{said}");
    assert!(said.contains("threads without a reservation do the work: `sh` ("), "{said}");
    assert!(said.contains("--thread 'sh'"), "{said}");
    // A program that works itself, and one all of whose threads were named.
    let ran =
        output(&["exec", "--dl", "20ms/100ms", "--", "sh", "-c", "timeout 0.5 cat; exec true"]);
    assert!(!text(&ran.stderr).contains("do the work"), "{ran:?}");
    let all = ["exec", "--dl", "20ms/100ms", "--thread", "sh", "--", "sh", "-c", busy];
    let ran = output(&all);
    assert!(!text(&ran.stderr).contains("do the work"), "{ran:?}");
    assert_clean();
}

/// Returns the doctor's judgement of the bandwidth that the kernel counts as reserved. Other
/// programs may have reservations.
fn account() -> String {
    let said = text(&output(&["doctor", "--latency-for", "0s"]).stdout);
    said.lines().find(|line| line.contains(" account ")).unwrap_or_default().to_owned()
}

#[test]
fn the_kernel_counts_nothing_that_was_given_back() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    if !account().starts_with("ok") {
        return common::skipped(
            "debugfs in /sys/kernel/debug, and a kernel that counts right so far",
        );
    }
    // The kernel does not wait for a thread that sleeps for longer than its period: if another
    // process changes its class, existing kernels keep its bandwidth in the sum.
    let mut program = sleeper("1");
    let pid = program.id().to_string();
    let policies = if can_part() { &["dl", "p-edf"][..] } else { &["dl"] };
    for policy in policies {
        for end in ["INT", "KILL"] {
            let arguments = ["exec", "--dl", "40ms/200ms", "-p", policy, "--pid", &pid];
            let mut child = started(&arguments);
            let mut rounds = 0;
            wait_until("its zero-lag time is over", || {
                rounds += 1;
                rounds > 100
            });
            signal(child.id(), end);
            child.wait().unwrap();
            wait_until("it is given back", || members().is_empty() && left().is_empty());
            let said = account();
            assert!(said.starts_with("ok"), "{policy}, {end}: {said}");
        }
    }
    program.kill().unwrap();
    program.wait().unwrap();
}

#[test]
fn a_program_gets_the_capability_when_that_is_asked_for_alone() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let copy = std::env::temp_dir().join(format!("layland-ambient-{}", std::process::id()));
    fs::copy(env!("CARGO_BIN_EXE_layland"), &copy).unwrap();
    let ran = |more: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.args(["--inh-caps=+sys_nice", "--ambient-caps=+sys_nice"]).arg(&copy);
        command.args(["exec", "-q", "--dl", "1ms/100ms"]).args(more);
        command.args(["--", "grep", "CapEff", "/proc/self/status"]).current_dir("/");
        command.output().unwrap()
    };
    let (without, with) = (ran(&[]), ran(&["--keep-capability"]));
    fs::remove_file(&copy).unwrap();
    if without.status.code() == Some(127) {
        return common::skipped("root and setpriv, to be somebody else");
    }
    assert_eq!(text(&without.stdout).trim(), "CapEff:\t0000000000000000", "{without:?}");
    assert_eq!(text(&with.stdout).trim(), "CapEff:\t0000000000800000", "{with:?}");
}

#[test]
fn a_folder_that_somebody_else_has_made_is_named() {
    let _alone = alone();
    let user = 65_533;
    let folder = format!("/tmp/layland-{user}");
    let copy = std::env::temp_dir().join(format!("layland-squatted-{}", std::process::id()));
    if fs::create_dir(&folder).is_err() {
        return common::skipped("a user without a register");
    }
    fs::copy(env!("CARGO_BIN_EXE_layland"), &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65533", "--regid", "65533", "--clear-groups"]).arg(&copy);
    let ran = command.args(["exec", "--list"]).current_dir("/").output().unwrap();
    fs::remove_dir(&folder).unwrap();
    fs::remove_file(&copy).unwrap();
    if ran.status.code() == Some(127) {
        return common::skipped("root and setpriv, to be somebody else");
    }
    let said = text(&ran.stderr).replace('\n', " ");
    assert_eq!(ran.status.code(), Some(5), "{ran:?}");
    assert!(said.contains("/tmp/layland-65533: it belongs to user 0"), "{said}");
    assert!(said.contains("/run/user/65533/layland: No such file"), "{said}");
}

/// The assignment of `check` is the one of `exec`, whatever the order of the tasks.
#[test]
fn a_set_is_reserved_where_check_puts_it() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    if online.trim().parse::<layland_model::CpuSet>().unwrap().len() < 2 {
        return common::skipped("two CPUs");
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-together");
    fs::create_dir_all(&folder).unwrap();
    let set = folder.join("set.toml");
    let tasks = [("a", 10), ("b", 10), ("c", 22), ("d", 43)].map(|(name, ms)| {
        format!("[[task]]\nname = \"{name}\"\nwcet = \"{ms}ms\"\nperiod = \"100ms\"\n")
    });
    let text_of_set = format!("layland = 1\n[platform]\ncpus = 2\n{}", tasks.concat());
    fs::write(&set, text_of_set).unwrap();
    let set = set.to_str().unwrap();
    for policy in ["p-dm", "p-rm"] {
        let checked = output(&["check", set, "-p", policy, "--json"]);
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
        let checked: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
        let assignment = checked["policies"][0]["assignment"].as_array().unwrap().clone();
        let admitted = output(&[
            "exec",
            set,
            "-p",
            policy,
            "--on-cpus",
            "0-1",
            "--name",
            "x",
            "--dry-run",
            "--json",
        ]);
        assert_eq!(admitted.status.code(), Some(0), "{admitted:?}");
        let admitted: serde_json::Value = serde_json::from_slice(&admitted.stdout).unwrap();
        let places = admitted["would_be_admitted"].as_array().unwrap();
        assert_eq!(places.len(), 4, "{admitted}");
        for (place, assigned) in places.iter().zip(&assignment) {
            assert_eq!(place["cpus"], assigned["cpu"].to_string(), "{policy}: {admitted}");
        }
    }
}
