//! `layland exec` and the rules of who may have what: one thread has one holder, and what the kernel and the rights of
//! the caller do not allow is refused before anybody is told that it is admitted.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/exec.rs"]
mod exec;

use exec::*;
use std::process::Command;

fn class_of(pid: u32) -> String {
    let said = Command::new("chrt").args(["-a", "-p", &pid.to_string()]).output().unwrap();
    text(&said.stdout)
}

#[test]
fn a_thread_has_one_holder() {
    let _alone = alone();
    if !can_reserve() {
        return;
    }
    let mut program = Command::new("sleep").arg("120").spawn().unwrap();
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
            // By the process, by the name of the thread, and only as a question.
            for more in [&["-q"][..], &["--thread", "sleep"], &["--dry-run"]] {
                let arguments = ["exec", "--dl", "2ms/100ms", "-p", second, "--pid", &pid];
                let mut command = layland(&[&arguments[..], more].concat());
                let by_name = more[0] == "--thread";
                let child = command.args(["--name", "second"]).spawn().unwrap();
                if by_name {
                    // Another thread of that name may come, so that it waits.
                    wait_until("it has looked", || {
                        members().iter().any(|member| member["name"] == "second") || {
                            // Other policies may not be beside the first at all.
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
        // At once: its guardian may be about to give the thread back what it was.
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
    // SCHED_DEADLINE takes no thread that may not use all of its root domain.
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
