//! Tests of the daemon on a kernel without sched_ext: its capabilities, what it leaves unchanged,
//! and which clients it answers.
#![cfg(all(target_os = "linux", feature = "ext"))]
#![expect(
    clippy::disallowed_methods,
    reason = "a test plays the daemon, and may be asked to last longer"
)]

use crate::common;
use layland_testkit::messages::{Daemon, ask, flood, messages, question};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

const LAYLAND: &str = env!("CARGO_BIN_EXE_layland");

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("layland-daemon-{}-{name}", std::process::id()))
}

fn start(name: &str, more: &[&str]) -> Daemon {
    Daemon::start(Path::new(LAYLAND), &folder(name), more).expect("it listens")
}

fn ends(daemon: Daemon, name: &str) {
    daemon.end().expect("it ends");
    fs::remove_dir_all(folder(name)).expect("it is ours");
}

/// Returns a line of the status of a process.
fn status(process: u32, key: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_else(|| panic!("no {key}")).trim().to_owned()
}

#[test]
fn the_daemon_keeps_what_it_uses_of_its_capabilities() {
    // CAP_DAC_READ_SEARCH, CAP_IPC_LOCK, CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_PERFMON, CAP_BPF.
    const USED: u64 = 1 << 2 | 1 << 14 | 1 << 19 | 1 << 23 | 1 << 38 | 1 << 39;
    let daemon = start("capabilities", &[]);
    for key in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
        let has = u64::from_str_radix(&status(daemon.pid(), key), 16).expect("it is a set");
        assert_eq!(has & !USED, 0, "{key} {has:x}");
    }
    assert_eq!(status(daemon.pid(), "NoNewPrivs:"), "1");
    if status(std::process::id(), "CapEff:").trim_start_matches('0').is_empty() {
        common::skipped("root");
    } else {
        // Processes that it starts cannot have more capabilities either.
        let bound = u64::from_str_radix(&status(daemon.pid(), "CapBnd:"), 16).expect("a set");
        assert_eq!(bound & !USED, 0, "{bound:x}");
    }
    // The unit grants exactly these capabilities.
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/laylandd.service");
    let unit = fs::read_to_string(unit).expect("it is there");
    let granted = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let mut granted: Vec<&str> = granted.expect("it is bounded").split(' ').collect();
    granted.sort_unstable();
    let used = [
        "CAP_BPF",
        "CAP_DAC_READ_SEARCH",
        "CAP_IPC_LOCK",
        "CAP_PERFMON",
        "CAP_SYS_NICE",
        "CAP_SYS_PTRACE",
    ];
    assert_eq!(granted, used);
    ends(daemon, "capabilities");
}

#[test]
fn nothing_but_a_socket_is_removed_for_a_socket() {
    let folder = folder("precious");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let file = folder.join("mine.toml");
    fs::write(&file, "precious").expect("it can be written");
    let daemon = Command::new(LAYLAND)
        .args(["daemon", "--on-cpus", "0", "--socket"])
        .arg(&file)
        .output()
        .expect("it runs");
    assert_eq!(daemon.status.code(), Some(5));
    let said = String::from_utf8_lossy(&daemon.stderr);
    assert!(said.contains("which is left alone"), "{said}");
    assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("precious"));
    fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn root_chooses_the_policy_and_a_question_starts_no_process() {
    let daemon = start("policy", &["--policy", "apedf"]);
    let mut stream = daemon.knock(2001).expect("it listens");
    for policy in ["dl-sp", "dl", "a2pedf"] {
        let answer = ask(&mut stream, &question(policy, None)).expect("it answers");
        assert_eq!(answer["message"], "the policy of this machine is apedf", "{answer}");
    }
    let answer = ask(&mut stream, &question("apedf", None)).expect("it answers");
    // If another run occupies the CPU, the request is refused.
    assert!(["admitted", "refused"].contains(&answer["answer"].as_str().unwrap_or("")), "{answer}");
    // Field 11 of the file counts the page faults of children that were waited for: every child has
    // some.
    let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).expect("it is there");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", daemon.pid()));
    assert_eq!((fields[8], children.unwrap_or_default().as_str()), ("0", ""));
    ends(daemon, "policy");
}

#[test]
fn a_daemon_that_does_not_answer_has_not_nothing() {
    use std::io::{BufRead, BufReader, Write};
    let folder = folder("silent");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let socket = folder.join("daemon.socket");
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket can be made");
    // The listener answers like a daemon with too many connections.
    let refuses = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("somebody knocks");
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).expect("it asks");
        let refusal = r#"{"answer":"refused","exit":5,"message":"too many programs are connected","help":null}"#;
        writeln!(&stream, "{refusal}").expect("it is told");
    });
    let listed = Command::new(LAYLAND).args(["exec", "--list", "--socket"]).arg(&socket).output();
    let listed = listed.expect("it runs");
    refuses.join().expect("it was asked");
    let said = String::from_utf8_lossy(&listed.stderr);
    assert_eq!(listed.status.code(), Some(5), "{said}");
    assert!(said.contains("too many programs are connected"), "{said}");
    fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn five_users_at_once_are_answered_whatever_they_say() {
    let daemon = start("messages", &[]);
    let users = [2001, 2002, 2003, 2004, 2005];
    messages(&daemon, &users, 500, 1).expect("everybody is answered");
    let before = daemon.size().expect("it lives");
    let all = std::env::var("LAYLAND_MESSAGES").map_or(Ok(2_000), |count| count.parse());
    let all: u64 = all.expect("LAYLAND_MESSAGES is a number");
    let mut sent = 0;
    while sent < all {
        let told = messages(&daemon, &users, 10_000.min(all - sent), 2 + sent);
        let told = told.expect("everybody is answered");
        assert!(told.wrong.is_empty(), "{:?}", told.wrong);
        assert!(told.answers > told.sent / 2, "{told:?}");
        sent += told.sent;
        eprintln!("{sent} messages: {told:?}, {:?}", daemon.size());
    }
    let after = daemon.size().expect("it lives");
    assert!(after.memory < before.memory + 4_096, "{before:?} {after:?}");
    assert!(after.files <= before.files + 8, "{before:?} {after:?}");
    ends(daemon, "messages");
}

#[test]
fn a_flood_keeps_neither_others_nor_the_end_waiting() {
    let daemon = start("flood", &[]);
    let delays = flood(&daemon, 64, 20).expect("everybody is answered");
    // The request is answered in its turn, after one of the flood. The delay depends on the other
    // load of this machine: the flood alone had more than a thousand requests before it.
    let longest = delays.of_other.last().expect("there are some");
    eprintln!("{delays:?}");
    assert!(longest.as_secs() < 10, "{delays:?}");
    ends(daemon, "flood");
}

#[test]
fn the_unit_is_hardened() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/laylandd.service");
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--no-pager", "--threshold=30"])
        .arg(unit)
        .output();
    let judged = match judged {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return common::skipped("systemd-analyze");
        }
        other => other.expect("systemd-analyze runs"),
    };
    let said = String::from_utf8_lossy(&judged.stdout);
    let score = said.lines().find(|line| line.contains("Overall exposure level"));
    let score =
        score.and_then(|line| line.split(':').nth(1)?.split_whitespace().next()?.parse().ok());
    let score: f64 = score.unwrap_or_else(|| panic!("no score: {said}"));
    assert!(judged.status.success() && score <= 3.0, "{said}");
}
