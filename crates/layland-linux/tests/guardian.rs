//! What a run changed is undone when the run is killed.

use layland_linux::undo::{Guardian, Undo};
use layland_model::Duration;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CHILD: &str = "LAYLAND_GUARDIAN_TEST";

/// Not a test of its own: what the killed process does.
#[test]
#[expect(clippy::zombie_processes, reason = "the guardian ends what is started here")]
fn child() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let folder = PathBuf::from(folder);
    let mut guardian = Guardian::start(Duration::from_secs(60)).unwrap();
    let sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    guardian.remember(&Undo::Kill(sleeper.id())).unwrap();
    guardian.remember(&Undo::restore(&folder.join("knob")).unwrap()).unwrap();
    guardian.remember(&Undo::Remove(folder.join("cpuset"))).unwrap();
    guardian.remember(&Undo::Remove(folder.join("left-over"))).unwrap();
    std::fs::write(folder.join("knob"), "changed").unwrap();
    std::fs::create_dir(folder.join("cpuset")).unwrap();
    std::fs::write(folder.join("left-over"), "x").unwrap();
    println!("\nready {}", sleeper.id());
    std::thread::park();
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("not within 30 s: {what}");
}

fn is_alive(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = state.rsplit_once(')').map_or("", |(_, rest)| rest.trim_start());
    !after_name.is_empty() && !after_name.starts_with('Z')
}

/// A run that is killed, or ends by itself without a word.
fn killed(signal: &str, folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("knob"), "as it was\n").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.find_map(|line| line.unwrap().strip_prefix("ready ").map(str::to_owned));
    let sleeper: u32 = ready.expect("the child says that it is ready").parse().unwrap();
    assert!(folder.join("cpuset").is_dir() && is_alive(sleeper));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    child.wait().unwrap();
    let knob = || std::fs::read_to_string(folder.join("knob")).unwrap_or_default();
    eventually("the knob is as it was", || knob() == "as it was\n");
    eventually("the folder is gone", || !folder.join("cpuset").exists());
    eventually("the file is gone", || !folder.join("left-over").exists());
    eventually("the process is gone", || !is_alive(sleeper));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_killed_run_is_undone() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    killed("-KILL", &folder.join("guardian-kill"));
    killed("-TERM", &folder.join("guardian-term"));
}

#[test]
fn a_run_that_ends_well_is_left_alone() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guardian-dismiss");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let knob = folder.join("knob");
    std::fs::write(&knob, "before").unwrap();
    let mut guardian = Guardian::start(Duration::from_secs(60)).unwrap();
    guardian.remember(&Undo::restore(&knob).unwrap()).unwrap();
    std::fs::write(&knob, "after").unwrap();
    guardian.dismiss();
    drop(guardian);
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), "after");
    std::fs::remove_dir_all(folder).unwrap();
}
