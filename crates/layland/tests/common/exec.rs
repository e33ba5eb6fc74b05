//! Helpers of the tests of `layland exec`.

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Locks the machine for one test: admission applies to the whole machine.
pub(crate) fn alone() -> Alone {
    static ALONE: Mutex<()> = Mutex::new(());
    Alone { _guard: ALONE.lock().unwrap_or_else(PoisonError::into_inner) }
}

/// Ensures that no other test of this program admits anything. When a test fails, its remaining
/// members are ended, so that the following tests find a free machine.
pub(crate) struct Alone {
    _guard: MutexGuard<'static, ()>,
}

impl Drop for Alone {
    #[expect(clippy::disallowed_methods, reason = "a test of processes waits for them")]
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let own = |member: &serde_json::Value| {
            let pid = member["pid"].as_u64()? as u32;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
            (parent == std::process::id().to_string()).then_some(pid)
        };
        // The members may take long to leave, but a second panic must not occur here.
        for _ in 0..200 {
            let left: Vec<u32> = members().iter().filter_map(own).collect();
            if left.is_empty() {
                return;
            }
            for pid in left {
                let _ = Command::new("kill").arg(pid.to_string()).status();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

pub(crate) fn layland(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    // Programs inherit ignored signals, for example from `nohup` or from shells in the background.
    // These programs must end by the signals.
    command.args(["--default-signal=INT,HUP,QUIT", env!("CARGO_BIN_EXE_layland")]);
    command.args(arguments).env("NO_COLOR", "1").env("COLUMNS", "200").env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn output(arguments: &[&str]) -> Output {
    layland(arguments).output().expect("it starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[expect(clippy::disallowed_methods, reason = "a test of processes waits for them")]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..4_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let (members, left) = (members(), left());
    panic!("{what}: not within 20 s; admitted: {members:?}; left by runs: {left:?}");
}

/// Returns true if this machine lets us reserve time. Otherwise prints that the test is skipped.
pub(crate) fn can_reserve() -> bool {
    let tried = output(&["exec", "--dl", "1ms/100ms", "-q", "--", "true"]);
    match tried.status.code() {
        Some(0) => true,
        Some(5) if text(&tried.stderr).contains("CAP_SYS_NICE") => {
            crate::common::skipped("CAP_SYS_NICE, for SCHED_DEADLINE");
            false
        }
        _ => panic!("{tried:?}"),
    }
}

pub(crate) fn can_part() -> bool {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let tried = output(&["exec", "--dl", "1ms/100ms", "--policy", "p-edf", "-q", "--", "true"]);
    let is_so = cpus > 1 && tried.status.code() == Some(0);
    if !is_so {
        crate::common::skipped("root, cpusets and two CPUs, for root domains");
    }
    is_so
}

/// Asserts that the register has no members, and that no cpuset is left.
pub(crate) fn assert_clean() {
    assert_eq!(left(), Vec::<String>::new());
}

/// Returns the entries of the register, and the cpusets.
pub(crate) fn left() -> Vec<String> {
    const OURS: [&str; 7] =
        ["admitted-", "threads-", "leave-", "reserved", "run-", "setting-", "layland-"];
    ["/run/layland", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .filter(|entry| {
            OURS.iter().any(|name| entry.file_name().to_string_lossy().starts_with(name))
        })
        .map(|entry| entry.path().display().to_string())
        .collect()
}

/// Returns the members as JSON.
pub(crate) fn members() -> Vec<serde_json::Value> {
    let listed = output(&["exec", "--list", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("it is JSON");
    document["members"].as_array().expect("there is a list").clone()
}

/// Starts an `exec` in the background, and waits until each of its reservations has a thread.
pub(crate) fn started(arguments: &[&str]) -> Child {
    let mut child = Some(layland(arguments).spawn().expect("it starts"));
    let pid = child.as_ref().map(Child::id).expect("it started");
    wait_until("it is admitted", || {
        let ended = |child: &mut Child| child.try_wait().expect("it is ours").is_some();
        if let Some(child) = child.take_if(ended) {
            panic!("it ended: {:?}", child.wait_with_output());
        }
        members().iter().any(|member| {
            let reserved = member["reserved"].as_array().expect("a list");
            // A thread that was moved to a partition gets its class only after it has run there.
            let has_class = |of: &serde_json::Value| {
                ["SCHED_DEADLINE", "SCHED_FIFO"].iter().any(|class| of["kernel"]["class"] == *class)
            };
            member["pid"] == pid && reserved.iter().all(has_class)
        })
    });
    child.expect("it runs")
}

pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.expect("kill is there").success());
}
